//! A question to the user: what, in full and bold; what the model says; what we see; the choices.
//!
//! What is to be approved is shown byte for byte: hidden characters are written out in red, nothing
//! is cut without a mark and a way to see all of it (ctrl+f).

mod answers;
mod body;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

use self::answers::choices;
use self::body::{facts, subject};
use super::row::Row;
use crate::protocol::AskBody;
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::state::asks::OpenAsk;

/// Rows of the subject shown when the question is not full screen, even if little room is left.
const SUBJECT_ROWS: usize = 8;
/// Rows that the conversation keeps above a question.
const ABOVE: usize = 6;
const LABEL: usize = 5;
const CHOICE: usize = 8;
const DETAIL: usize = 25;

/// A question laid out: its rows above the footer, and where the cursor stands if a text is written.
#[derive(Debug, Default)]
pub struct Sheet {
    rows: Vec<Row>,
    /// What each row before the choices is, for windows that cannot hold all of them.
    kinds: Vec<Kind>,
    cursor: Option<(usize, usize)>,
    /// Rows of the choices at the end, which must stay when the screen is small.
    tail: usize,
}

/// What a row before the choices is; what is needed least is left out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The beginning of what is to be approved.
    Begins,
    /// What dunlin found out about it.
    Ours,
    /// The rest of what is to be approved.
    Subject,
    /// What kind of question it is.
    Heading,
    /// What the model says.
    Says,
    /// Nothing.
    Blank,
}

/// A row of a question as it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drawn {
    Row(usize),
    /// So many rows are left out here.
    More(usize),
}

impl Sheet {
    /// Rows it wants, footer and the blank above it included.
    pub fn height(&self) -> usize {
        self.rows.len() + 2
    }

    /// The rows for so much room, the footer's taken off; none if what is to be approved cannot be
    /// shown beside the answers.
    fn plan(&self, space: usize) -> Option<Vec<Drawn>> {
        if self.rows.len() <= space {
            return Some((0..self.rows.len()).map(Drawn::Row).collect());
        }
        let before = self.kinds.len();
        let room = space.checked_sub(self.tail).filter(|room| *room > 0)?;
        let mut order: Vec<usize> = (0..before).collect();
        order.sort_by_key(|at| (self.kinds[*at], *at));
        let content = self
            .kinds
            .iter()
            .filter(|kind| **kind != Kind::Blank)
            .count();
        let subject = self
            .kinds
            .iter()
            .filter(|k| matches!(k, Kind::Begins | Kind::Subject));
        let (room, mark) = match content > room {
            // One row of a command that has no other may stand alone, without a mark.
            true if room == 1 && subject.count() == 1 => (room, false),
            true if room == 1 => return None,
            true => (room - 1, true),
            false => (room, false),
        };
        let mut kept: Vec<usize> = order.into_iter().take(room).collect();
        kept.sort_unstable();
        let last_subject = kept
            .iter()
            .rposition(|at| matches!(self.kinds[*at], Kind::Begins | Kind::Subject));
        let mut drawn: Vec<Drawn> = kept.iter().map(|at| Drawn::Row(*at)).collect();
        if mark {
            let hidden = content
                - kept
                    .iter()
                    .filter(|at| self.kinds[**at] != Kind::Blank)
                    .count();
            drawn.insert(last_subject.map_or(0, |at| at + 1), Drawn::More(hidden));
        }
        drawn.extend((before..self.rows.len()).map(Drawn::Row));
        Some(drawn)
    }

    fn footer(&self, room: usize) -> usize {
        usize::from(room > self.tail + 2)
    }

    /// True if in so many rows what is to be approved is shown: else nothing may be approved.
    pub fn fits(&self, room: usize) -> bool {
        self.plan(room - self.footer(room).min(room)).is_some()
    }

    /// Draws into `area`; if it is too small, what is needed least gives way, with a mark.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let room = usize::from(area.height);
        let footer = self.footer(room);
        let Some(rows) = self.plan(room - footer) else {
            return too_small(state, area, buf);
        };
        let mut cursor = None;
        for (n, drawn) in rows.into_iter().enumerate() {
            let y = area.y + n as u16;
            if y >= area.bottom() {
                break;
            }
            let line = Rect {
                y,
                height: 1,
                ..area
            };
            match drawn {
                Drawn::More(hidden) => more(state, hidden).draw(line, buf),
                Drawn::Row(at) => {
                    if let Some(row) = self.rows.get(at) {
                        row.draw(line, buf);
                    }
                    if let Some((row_at, col)) = self.cursor
                        && row_at == at
                    {
                        let x = (usize::from(area.x) + col).min(usize::from(area.right()) - 1);
                        cursor = Some(Position::new(x as u16, y));
                    }
                }
            }
        }
        if footer > 0 {
            foot(state).draw(
                Rect {
                    y: area.bottom() - 1,
                    height: 1,
                    ..area
                },
                buf,
            );
        }
        cursor
    }
}

/// Where the command has no room, no answer but no has one.
fn too_small(state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
    let theme = &state.theme;
    let no = state.keys.key(Action::AskClose);
    let rows = [
        Row::new().fixed("Window too small", theme.amber()),
        Row::new().fixed("to show what is asked.", theme.dim()),
        Row::new()
            .text(&no, theme.accent())
            .gap(1)
            .fixed("no", theme.dim()),
    ];
    super::rows(&rows, area, buf);
    None
}

/// `┊ 12 more rows                 ctrl+f`, or the key that goes on where all of the window is used.
fn more(state: &State, hidden: usize) -> Row {
    let full = state.asks.current().is_some_and(|open| open.full);
    let action = if full {
        Action::PageDown
    } else {
        Action::AskFull
    };
    let noun = if hidden == 1 { "row" } else { "rows" };
    let text = format!("{} {hidden} more {noun}", state.theme.glyphs.hidden);
    let row = Row::new().gap(4).text(&text, state.theme.amber());
    row.right(&state.keys.key(action), state.theme.accent())
}

/// Lays a question out for rows of `width` columns (margins taken off already).
pub fn sheet(state: &State, open: &OpenAsk, width: usize) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.rows.push(heading(state, open));
    sheet.rows.push(Row::new());
    sheet.kinds.extend([Kind::Heading, Kind::Blank]);
    let mut below = Vec::new();
    facts(state, open, width, &mut below);
    let mut after = Sheet::default();
    choices(state, open, width, &mut after);
    // Heading, blanks, footer and hairline take six rows; the subject may have the rest.
    let fixed = below.len() + after.rows.len() + 6;
    let room = usize::from(state.terminal.size.1).saturating_sub(fixed);
    let most = if open.full {
        room.max(2)
    } else {
        room.saturating_sub(ABOVE).max(SUBJECT_ROWS)
    };
    subject(state, open, (width, most), &mut sheet);
    if below.is_empty() {
        sheet.rows.pop();
        sheet.kinds.pop();
    }
    sheet.kinds.extend(below.iter().map(|(kind, _)| *kind));
    sheet.rows.extend(below.into_iter().map(|(_, row)| row));
    sheet.rows.push(Row::new());
    sheet.kinds.push(Kind::Blank);
    let before = sheet.rows.len();
    sheet.tail = after.rows.len();
    sheet.cursor = after.cursor.map(|(row, col)| (row + before, col));
    sheet.rows.append(&mut after.rows);
    sheet
}

fn heading(state: &State, open: &OpenAsk) -> Row {
    let theme = &state.theme;
    let every = match &open.ask.body {
        AskBody::DoomLoop { again: 0, .. } => String::new(),
        AskBody::DoomLoop { again: 1, .. } => "asked at every repeat".to_owned(),
        AskBody::DoomLoop { again, .. } => format!("asked once per {again} repeats"),
        _ => String::new(),
    };
    let (glyph, text, right) = match &open.ask.body {
        AskBody::Permission { heading, .. } => (theme.glyphs.ask, heading.as_str(), ""),
        AskBody::DoomLoop { .. } => (theme.glyphs.warn, "Looks like a loop", every.as_str()),
        AskBody::Budget { .. } => (theme.glyphs.warn, "A limit is reached", ""),
        AskBody::Question { .. } => (theme.glyphs.ask, "A question for you", ""),
    };
    let row = Row::new()
        .fixed(glyph, theme.amber())
        .gap(2)
        .text(text, theme.default());
    let (place, count) = state.asks.place();
    let own = state
        .session
        .info
        .as_ref()
        .is_none_or(|info| info.id == open.ask.session);
    let mut words = Vec::new();
    if !own {
        words.push("from a subagent".to_owned());
    }
    if !right.is_empty() {
        words.push(right.to_owned());
    }
    if count > 1 {
        words.push(format!("{place} of {count}"));
    }
    row.right(&words.join("   "), theme.dim())
}

fn foot(state: &State) -> Row {
    let theme = &state.theme;
    let Some(open) = state.asks.current() else {
        return Row::new();
    };
    let keys = &state.keys;
    let no = match (&open.field, &open.ask.body) {
        (Some(_), _) => "back",
        (None, AskBody::DoomLoop { .. } | AskBody::Budget { .. }) => "stop",
        (None, _) => "no",
    };
    let mut row = Row::new();
    if open.field.is_none() {
        row = row.fixed("↑↓", theme.accent()).gap(1);
    }
    row = row.text(&keys.key(Action::AskAccept), theme.accent());
    let mut hints = vec![(keys.key(Action::AskClose), no)];
    if matches!(open.ask.body, AskBody::Permission { .. }) && open.field.is_none() {
        let what = if open.full { "smaller" } else { "full screen" };
        hints.push((keys.key(Action::AskFull), what));
        if open.full && open.most_scroll.get() > 0 {
            let pages = [Action::PageUp, Action::PageDown].map(|action| keys.key(action));
            hints.push((pages.join(" "), "page"));
        }
    }
    if state.asks.place().1 > 1 {
        hints.push((keys.key(Action::AskNext), "next"));
    }
    // What does not fit is left out as a whole.
    let margins = if state.is_narrow() { 0 } else { 4 };
    let room = usize::from(state.terminal.size.0).saturating_sub(margins);
    for (key, says) in hints {
        if row.width() + 3 + key.width() + 1 + says.len() <= room {
            row = row
                .gap(3)
                .text(&key, theme.accent())
                .text(&format!(" {says}"), theme.dim());
        }
    }
    let status = state.status.as_ref();
    let who = status.map(|s| format!("{} {} {}", s.agent, theme.glyphs.dot, s.mode.name()));
    let who = who.unwrap_or_default();
    if row.width() + 3 + who.width() > room {
        return row;
    }
    row.right(&who, theme.dim())
}
