//! The transcript: a list of cells, the place in it that is on screen, selection and search.
//!
//! The view renders it, `update` applies events and keys to it. Pure: no I/O, no clock (`now` is
//! passed in), no thread before `poll_highlights`. Memory is bounded by what cells keep (a few KB of
//! a tool's output) and by `MEMORY`: beyond it the oldest messages are dropped while they are far
//! from the screen, and asked for again (`wants_older`) when they come near.

mod apply;
mod calls;
mod compaction;
mod find;
pub mod folds;
mod layouts;
mod list;
mod moves;
mod render;
mod retries;
mod select;
mod standing;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::protocol::{AskId, Event, MessageId, Millis, NoticeLevel, PartId, Phase, TurnEnd};
use crate::tui::cells::Cell;
use crate::tui::picture::{Canvas, Pictures};
use crate::tui::scroll::anchor::{Move, Position, Unit};
use crate::tui::scroll::find::Find;
use crate::tui::scroll::select::Selection;
use crate::tui::term::gallery::Seen;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::cache::Cache;
use crate::tui::text::highlight::{Highlights, Worker};
use crate::tui::text::link::Links;
use crate::tui::theme::Theme;

/// Bytes of cells beyond which the oldest messages are dropped.
const MEMORY: usize = 24 * 1024 * 1024;

/// Cells that are never dropped for memory.
const KEPT_CELLS: usize = 400;

/// Events between two looks at the memory.
const LOOK_EVERY: u32 = 512;

/// How a frame is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Styles and glyphs.
    pub theme: &'a Theme,
    /// The time, for running durations and countdowns.
    pub now: Millis,
    /// The spinner's tick.
    pub spinner: usize,
    /// False: nothing moves.
    pub motion: bool,
    /// The key that shows hidden lines, e.g. `ctrl+e`.
    pub unfold_key: &'a str,
    /// The key that shows all of an output, e.g. `alt+o`.
    pub output_key: &'a str,
}

impl<'a> Look<'a> {
    /// A look with motion and the default keys.
    pub const fn new(theme: &'a Theme, now: Millis) -> Self {
        Self {
            theme,
            now,
            spinner: 2,
            motion: true,
            unfold_key: "ctrl+e",
            output_key: "alt+o",
        }
    }
}

/// What a frame showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// True if the newest row is on screen.
    pub at_bottom: bool,
    /// When scrolled up: first line of the prompt that the top row stands under, already drawn in
    /// the area's first row.
    pub sticky: Option<Safe>,
    /// True if something on screen changes with time (spinner, seconds): ask for a tick.
    pub animating: bool,
    /// True if something came since the bottom was left.
    pub new_activity: bool,
}

/// The transcript.
#[derive(Debug, Default)]
pub struct Transcript {
    list: list::List,
    cache: Cache,
    highlights: Highlights,
    worker: Worker,
    links: Links,
    pictures: Pictures,
    /// The pictures of the last frame, from the top.
    seen: Vec<Seen>,
    position: Position,
    moves: Vec<Move>,
    selection: Option<Selection>,
    find: Option<Find>,
    /// What each row of the last area showed: unit and row; no row for a gap.
    screen: Vec<Option<(Unit, Option<usize>)>>,
    area: Rect,
    last_width: u16,
    /// The key that hidden rows name, as of the last frame.
    key: String,
    theme: Option<Theme>,
    theme_version: u32,
    new_activity: bool,
    near_top: bool,
    /// True if there is history before what is loaded.
    older: bool,
    /// The message for which older history was asked.
    asked_older: Option<MessageId>,
    asks: HashMap<AskId, PartId>,
    events: u32,
}

/// True for a cell that shows nothing (yet).
fn is_hidden(cell: &Cell) -> bool {
    match cell {
        Cell::Answer(answer) => answer.stream.is_blank(),
        Cell::Prompt(prompt) => prompt.text.trim().is_empty(),
        Cell::Thought(thought) => {
            thought.text.trim().is_empty()
                && thought.end.is_some_and(|end| end - thought.start < 1000)
        }
        _ => false,
    }
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event in; events that say nothing to a transcript are ignored.
    pub fn apply(&mut self, event: &Event, now: Millis) {
        if self.take(event, now) && self.position != Position::Latest {
            self.new_activity = true;
        }
        self.events += 1;
        if self.events >= LOOK_EVERY {
            self.events = 0;
            self.bound_memory();
        }
    }

    /// True if the event added or changed something at the end.
    fn take(&mut self, event: &Event, now: Millis) -> bool {
        let list = &mut self.list;
        match event {
            Event::SessionStarted { .. } => {
                self.clear();
                return false;
            }
            Event::History {
                messages,
                parts,
                first,
            } => {
                self.history(messages, parts, *first);
                return false;
            }
            Event::MessageCreated { message } | Event::MessageUpdated { message } => {
                apply::message(list, message);
            }
            Event::PartUpdated { part } => apply::part(list, part),
            Event::PartDelta { part, delta, .. } => return apply::delta(list, *part, delta),
            Event::Retry { attempt, error, .. } => retries::retry(list, *attempt, error, None),
            Event::Compacted {
                before_tokens,
                after_tokens,
                ..
            } => {
                let (before, after) = (*before_tokens, *after_tokens);
                compaction::figures(list, compaction::Figures::Done { before, after, now });
            }
            Event::Pruned {
                count,
                tokens_saved,
            } => {
                let text = format!(
                    "Pruned {count} old tool {} from the context, about {tokens_saved} tokens. /context brings them back.",
                    if *count == 1 { "result" } else { "results" },
                );
                apply::notice(list, NoticeLevel::Info, &text);
            }
            Event::Notice { level, text } => apply::notice(list, *level, text),
            Event::Error { error } => apply::failure(list, error),
            Event::TurnFinished { reason } => {
                apply::close(list, now);
                if let Some(text) = end_words(*reason) {
                    apply::notice(list, NoticeLevel::Warning, text);
                }
            }
            Event::BranchChanged { tip, .. } => {
                apply::branch(list, *tip);
                self.selection = None;
            }
            Event::Status(status) => {
                if let Phase::Compacting { messages, tokens } = status.phase {
                    let output = status.turn_output;
                    let running = compaction::Figures::Running {
                        messages,
                        tokens,
                        output,
                    };
                    compaction::figures(list, running);
                }
                return false;
            }
            Event::Asked { ask } => {
                let Some(part) = ask.part else { return false };
                self.asks.insert(ask.id, part);
                calls::asked(list, part, Some(&ask.body));
            }
            Event::AskClosed { ask } => {
                let Some(part) = self.asks.remove(ask) else {
                    return false;
                };
                calls::asked(list, part, None);
            }
            _ => return false,
        }
        true
    }

    fn history(
        &mut self,
        messages: &[crate::protocol::Message],
        parts: &[crate::protocol::Part],
        first: bool,
    ) {
        let page = apply::page(&self.list, messages, parts);
        let newest = self.list.iter().rev().find_map(|entry| entry.message);
        let begins = messages.iter().map(|message| message.id).min();
        if let (Some(newest), Some(begins)) = (newest, begins)
            && begins > newest
        {
            // A redo brings messages back that come after what is there.
            let older = std::mem::replace(&mut self.list, page);
            self.list.prepend(older);
        } else {
            self.list.prepend(page);
            self.older = !first;
        }
        self.asked_older = None;
    }

    /// Drops the oldest messages if too much is held and the screen is far from them.
    fn bound_memory(&mut self) {
        if self.position == Position::Latest
            && self.list.len() > KEPT_CELLS
            && self.list.weight() > MEMORY
        {
            let left = (self.list.len() / 2).max(KEPT_CELLS);
            self.list.drop_oldest(left);
            self.older = true;
            self.selection = None;
        }
    }

    /// Bytes held by cells and layouts, about.
    pub fn weight(&self) -> usize {
        self.list.weight() + self.cache.size().1 + self.pictures.weight()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        let worker = std::mem::take(&mut self.worker);
        let pictures = std::mem::take(&mut self.pictures);
        let links = self.links.clone();
        *self = Self {
            worker,
            links,
            pictures,
            ..Self::default()
        };
    }

    /// True if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.list.iter().all(|entry| is_hidden(&entry.cell))
    }

    /// Draws what is visible; the newest row stands at the bottom of `area`.
    pub fn render(&mut self, area: Rect, buf: &mut Buffer, look: &Look<'_>) -> Rendered {
        self.draw(area.intersection(buf.area), buf, look)
    }

    /// Scrolls by rows; negative is up.
    pub fn scroll_lines(&mut self, delta: i32) {
        if let Some(Move::Rows(rows)) = self.moves.last_mut() {
            *rows = rows.saturating_add(delta);
        } else {
            self.moves.push(Move::Rows(delta));
        }
    }

    /// Scrolls by screens (less two rows); negative is up.
    pub fn page(&mut self, delta: i32) {
        self.moves.push(Move::Pages(delta));
    }

    /// To the first row of what is loaded.
    pub fn to_top(&mut self) {
        self.moves = vec![Move::Top];
    }

    /// To the newest row, and stays there.
    pub fn to_bottom(&mut self) {
        self.moves.clear();
        self.position = Position::Latest;
    }

    /// True if it stays at the newest row.
    pub fn is_at_bottom(&self) -> bool {
        self.position == Position::Latest && self.moves.is_empty()
    }

    /// To the prompt before (negative) or after (positive) the top row.
    pub fn jump_prompt(&mut self, delta: i32) {
        if delta != 0 {
            self.moves.push(Move::Prompt(delta));
        }
    }

    fn cell_at(&self, row: u16) -> Option<usize> {
        let (unit, _) = (*self.screen.get(usize::from(row))?)?;
        self.list.index(unit.cell)
    }

    /// The oldest loaded message, once, when the top of what is loaded comes near and there is more
    /// before it: send `Op::LoadOlder`.
    pub fn wants_older(&mut self) -> Option<MessageId> {
        if !self.older || !self.near_top {
            return None;
        }
        let oldest = self.list.oldest()?;
        if self.asked_older == Some(oldest) {
            return None;
        }
        self.asked_older = Some(oldest);
        Some(oldest)
    }

    /// Finished highlighting, which overlays share.
    pub const fn highlights(&self) -> &Highlights {
        &self.highlights
    }

    /// How pictures are shown on this terminal.
    pub fn set_canvas(&mut self, canvas: Canvas) {
        self.pictures.set_canvas(canvas);
    }

    /// The addresses that its text leads to.
    pub const fn links(&self) -> &Links {
        &self.links
    }

    /// The pictures that wait for their bytes.
    pub const fn pictures(&mut self) -> &mut Pictures {
        &mut self.pictures
    }

    /// The pictures that the last frame shows, from the top.
    pub fn seen(&self) -> &[Seen] {
        &self.seen
    }

    /// Takes in highlighting results and pictures, and hands new work to the workers, which start with
    /// the first piece of work. Call after a frame and on `wake`; `calm`: no turn runs. True: draw
    /// again.
    pub fn poll_highlights(&mut self, calm: bool) -> bool {
        let pictures = self.pictures.poll();
        self.worker.poll(&mut self.highlights, calm) || pictures
    }

    /// Called from the workers' threads when results are ready.
    pub fn set_waker(&mut self, wake: Arc<dyn Fn() + Send + Sync>) {
        self.pictures.set_waker(Arc::clone(&wake));
        self.worker.set_waker(wake);
    }

    /// Wakes whom the other transcript wakes, and shows pictures as it does.
    pub fn wake_like(&mut self, other: &Self) {
        self.worker.wake_like(&other.worker);
        self.links = other.links.clone();
        self.pictures.wake_like(&other.pictures);
        self.pictures.set_canvas(other.pictures.canvas());
    }
}

/// What the end of a turn says, where the messages do not.
const fn end_words(reason: TurnEnd) -> Option<&'static str> {
    match reason {
        TurnEnd::DoomLoop => Some("The turn was stopped: the same calls came again and again."),
        TurnEnd::Budget => Some("The turn was stopped: a budget or the step limit is reached."),
        TurnEnd::Refused => Some("The turn ended with your refusal. Say what to do instead."),
        TurnEnd::Done | TurnEnd::Interrupted | TurnEnd::Error => None,
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
