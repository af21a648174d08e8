//! Pictures that the terminal holds: what it must be told so that it shows those of this frame.
//!
//! The painter asks with every frame. Kitty is handed each picture once; the characters that stand
//! for it are text and move like text. Where pixels are painted over cells (iTerm2, sixel), a picture
//! is painted when it has stood still for a moment, whole; the cells under it hold half-blocks, which
//! are seen while it moves, and are drawn again where it stood. So a picture costs its bytes once for
//! each place where it comes to rest, never once a frame. Pure: makes bytes, writes nothing.

use std::sync::Arc;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::protocol::Millis;
use crate::tui::picture::Made;
use crate::tui::picture::way::Way;

/// A picture that is painted has stood still for so long.
const REST: Millis = 120;

/// Pictures that kitty keeps for us; those out of sight go first.
const HELD: usize = 24;

/// Stands in no text: the last private character.
const NOTHING: &str = "\u{10fffd}";

/// A picture on the screen.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Which.
    pub made: Arc<Made>,
    /// The cells where it stands; fewer rows than it has if it is cut by an edge.
    pub area: Rect,
    /// All of it is there, with nothing over it.
    pub whole: bool,
}

/// What the terminal holds.
#[derive(Debug, Default)]
pub(super) struct Gallery {
    /// Numbers of the pictures that kitty has, the longest unseen first.
    handed: Vec<u32>,
    /// Pictures painted over cells.
    painted: Vec<(u32, Rect)>,
    /// Pictures that are not painted yet, and since when they stand there.
    resting: Vec<(u32, Rect, Millis)>,
    /// To be written in front of the cells.
    before: String,
    /// To be written behind them.
    after: String,
    /// Areas whose cells are to be drawn again.
    bare: Vec<Rect>,
}

impl Gallery {
    /// Learns what the next frame shows. Gives when a picture will have rested long enough.
    pub(super) fn plan(&mut self, seen: &[Seen], screen: Rect, now: Millis) -> Option<Millis> {
        self.after.clear();
        self.hand_over(seen);
        let paints = |seen: &&Seen| {
            // A sixel in the last row would scroll the screen.
            seen.made.way.paints() && seen.whole && seen.area.bottom() < screen.bottom()
        };
        let wanted: Vec<(u32, Rect, &Seen)> = seen
            .iter()
            .filter(paints)
            .map(|seen| (seen.made.id, seen.area, seen))
            .collect();
        let bare = &mut self.bare;
        self.painted.retain(|(id, area)| {
            let stays = wanted.iter().any(|(i, a, _)| (i, a) == (id, area));
            if !stays {
                bare.push(*area);
            }
            stays
        });
        let mut next = None::<Millis>;
        let mut resting = Vec::new();
        for (id, area, seen) in wanted {
            if self.painted.contains(&(id, area)) {
                continue;
            }
            let known = self.resting.iter().find(|(i, a, _)| (*i, *a) == (id, area));
            let since = known.map_or(now, |(_, _, since)| *since);
            if now - since >= REST {
                let (row, column) = (area.y + 1, area.x + 1);
                self.after.push_str(&format!("\x1b[0m\x1b[{row};{column}H"));
                self.after.push_str(&seen.made.escape);
                self.painted.push((id, area));
            } else {
                next = Some(next.map_or(since + REST, |at| at.min(since + REST)));
                resting.push((id, area, since));
            }
        }
        self.resting = resting;
        next
    }

    fn hand_over(&mut self, seen: &[Seen]) {
        for seen in seen.iter().filter(|seen| seen.made.way == Way::Kitty) {
            let id = seen.made.id;
            if let Some(at) = self.handed.iter().position(|known| *known == id) {
                self.handed.remove(at);
            } else {
                self.before.push_str(&seen.made.escape);
            }
            self.handed.push(id);
        }
        while self.handed.len() > HELD {
            let old = self.handed.remove(0);
            self.before.push_str(&forget(old));
        }
    }

    /// What to write in front of the cells.
    pub(super) fn before(&mut self) -> String {
        std::mem::take(&mut self.before)
    }

    /// What to write behind the cells.
    pub(super) fn after(&self) -> &str {
        &self.after
    }

    /// True while painted pixels may stand on the screen: rows must not be moved by the terminal,
    /// because not all of them move such pixels along.
    pub(super) fn paints(&self) -> bool {
        !self.painted.is_empty() || !self.bare.is_empty()
    }

    /// Makes the cells where a painted picture stood differ from everything, so that they are drawn.
    pub(super) fn uncover(&mut self, shown: &mut Buffer) {
        let mut nothing = Cell::EMPTY;
        nothing.set_symbol(NOTHING).set_fg(Color::Rgb(1, 2, 3));
        for area in self.bare.drain(..) {
            let area = area.intersection(shown.area);
            for y in area.y..area.bottom() {
                for x in area.x..area.right() {
                    shown[(x, y)] = nothing.clone();
                }
            }
        }
    }

    /// The screen was cleared: what was painted is gone.
    pub(super) fn cleared(&mut self) {
        self.painted.clear();
        self.resting.clear();
        self.bare.clear();
        self.after.clear();
    }

    /// What the terminal holds is not known any more.
    pub(super) fn lost(&mut self) {
        self.cleared();
        self.handed.clear();
        self.before.clear();
    }

    /// Takes back what kitty was handed: written when the screen is left.
    pub(super) fn farewell(&self) -> String {
        self.handed.iter().map(|id| forget(*id)).collect()
    }
}

fn forget(id: u32) -> String {
    format!("\x1b_Ga=d,d=I,i={id},q=2\x1b\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(way: Way, id: u32, y: u16) -> Seen {
        let made = Made {
            id,
            way,
            cols: 4,
            rows: 2,
            pixels: (40, 40),
            halves: vec![[0; 3]; 16],
            escape: format!("<{id}>"),
        };
        Seen {
            made: Arc::new(made),
            area: Rect::new(4, y, 4, 2),
            whole: true,
        }
    }

    const SCREEN: Rect = Rect::new(0, 0, 80, 24);

    #[test]
    fn kitty_is_handed_each_picture_once_and_forgets_the_oldest() {
        let mut gallery = Gallery::default();
        for y in [3, 5, 9] {
            gallery.plan(&[seen(Way::Kitty, 7, y)], SCREEN, 0);
        }
        assert_eq!(gallery.before(), "<7>");
        for id in 100..130 {
            gallery.plan(&[seen(Way::Kitty, id, 3)], SCREEN, 0);
        }
        let bytes = gallery.before();
        assert!(
            bytes.contains("i=7,") && !bytes.contains("i=129,"),
            "{bytes}"
        );
        assert_eq!(gallery.handed.len(), HELD);
        assert_eq!(gallery.farewell().matches("a=d").count(), HELD);
    }

    #[test]
    fn a_picture_is_painted_once_it_rests_and_uncovered_when_it_moves() {
        let mut gallery = Gallery::default();
        let mut shown = Buffer::empty(SCREEN);
        let here = [seen(Way::Sixel, 7, 3)];
        assert_eq!(gallery.plan(&here, SCREEN, 1_000), Some(1_000 + REST));
        assert_eq!(gallery.after(), "");
        assert_eq!(gallery.plan(&here, SCREEN, 1_000 + REST), None);
        assert_eq!(gallery.after(), "\x1b[0m\x1b[4;5H<7>");
        gallery.plan(&here, SCREEN, 2_000);
        assert_eq!(gallery.after(), "", "it stands there already");
        assert!(gallery.paints());
        gallery.plan(&[seen(Way::Sixel, 7, 4)], SCREEN, 2_010);
        gallery.uncover(&mut shown);
        assert_eq!(shown[(4, 3)].symbol(), NOTHING);
        assert_eq!(shown[(8, 3)].symbol(), " ");
        assert!(!gallery.paints());
    }

    #[test]
    fn a_picture_that_is_cut_or_covered_or_in_the_last_row_is_not_painted() {
        let mut gallery = Gallery::default();
        let mut cut = seen(Way::Iterm, 7, 3);
        cut.whole = false;
        for picture in [cut, seen(Way::Iterm, 8, 22)] {
            gallery.plan(std::slice::from_ref(&picture), SCREEN, 0);
            assert_eq!(gallery.plan(&[picture], SCREEN, 10_000), None);
            assert_eq!(gallery.after(), "");
        }
    }
}
