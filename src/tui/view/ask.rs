//! A question to the user: what, in full and bold; what the model says; what we see; the choices.
//!
//! What is to be approved is shown byte for byte: hidden characters are written out in red, nothing
//! is cut without a mark and a way to see all of it (ctrl+f).

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::row::{Row, fit};
use crate::protocol::AskBody;
use crate::tui::composer::buffer::{grapheme_width, layout, position};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::state::asks::{Choice, OpenAsk, Purpose};
use crate::tui::term::sanitise::Safe;

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
    cursor: Option<(usize, usize)>,
    /// Rows of the choices at the end, which must stay when the screen is small.
    tail: usize,
}

impl Sheet {
    /// Rows it wants, footer and the blank above it included.
    pub fn height(&self) -> usize {
        self.rows.len() + 2
    }

    /// Draws into `area`; if it is too small, the middle gives way, with a mark.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let room = usize::from(area.height);
        let footer = usize::from(room > self.tail + 2);
        let space = room - footer;
        let body = self.rows.len();
        let skip = body.saturating_sub(space);
        // Cut between the subject and the choices, never silently.
        let cut_at = body.saturating_sub(self.tail).saturating_sub(skip);
        let mut cursor = None;
        let mut y = area.y;
        for (at, row) in self.rows.iter().enumerate() {
            if skip > 0 && at >= cut_at && at < cut_at + skip {
                continue;
            }
            if y >= area.bottom() {
                break;
            }
            let line = Rect {
                y,
                height: 1,
                ..area
            };
            if skip > 0 && at == cut_at.saturating_sub(1) && at > 0 {
                let more = format!("┊ {} more rows", skip + 1);
                let key = state.keys.key(Action::AskFull);
                let row = Row::new().gap(6).text(&more, state.theme.amber());
                row.right(&key, state.theme.accent()).draw(line, buf);
            } else {
                row.draw(line, buf);
            }
            if let Some((row_at, col)) = self.cursor
                && row_at == at
            {
                let x = (usize::from(area.x) + col).min(usize::from(area.right()) - 1);
                cursor = Some(Position::new(x as u16, y));
            }
            y += 1;
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

/// Lays a question out for rows of `width` columns (margins taken off already).
pub fn sheet(state: &State, open: &OpenAsk, width: usize) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.rows.push(heading(state, open));
    sheet.rows.push(Row::new());
    let mut below = Vec::new();
    facts(state, open, width, &mut below);
    let mut after = Sheet::default();
    choices(state, open, width, &mut after);
    // Heading, blanks, footer and hairline take six rows; the subject may have the rest.
    let taken = below.len() + after.rows.len() + ABOVE + 6;
    let room = usize::from(state.terminal.size.1).saturating_sub(taken);
    subject(
        state,
        open,
        (width, room.max(SUBJECT_ROWS)),
        &mut sheet.rows,
    );
    if below.is_empty() {
        sheet.rows.pop();
    }
    sheet.rows.append(&mut below);
    sheet.rows.push(Row::new());
    let before = sheet.rows.len();
    sheet.tail = after.rows.len();
    sheet.cursor = after.cursor.map(|(row, col)| (row + before, col));
    sheet.rows.append(&mut after.rows);
    sheet
}

fn heading(state: &State, open: &OpenAsk) -> Row {
    let theme = &state.theme;
    let (glyph, text, right) = match &open.ask.body {
        AskBody::Permission { heading, .. } => (theme.glyphs.ask, heading.as_str(), ""),
        AskBody::DoomLoop { .. } => (
            theme.glyphs.warn,
            "Looks like a loop",
            "asked once per 3 repeats",
        ),
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

/// What is to be approved, wrapped, hidden characters written out.
fn subject(state: &State, open: &OpenAsk, space: (usize, usize), rows: &mut Vec<Row>) {
    let (width, most) = space;
    let theme = &state.theme;
    let (text, diff) = match &open.ask.body {
        AskBody::Permission { subject, diff, .. } => (subject, diff.as_str()),
        AskBody::DoomLoop { subject, .. } => (subject, ""),
        AskBody::Budget { message } => (message, ""),
        AskBody::Question { question, .. } => (question, ""),
    };
    let mut lines: Vec<Row> = Vec::new();
    for line in text.lines() {
        wrapped(
            line,
            width.saturating_sub(4),
            (theme.bold(), theme.bad()),
            &mut lines,
        );
    }
    if !diff.is_empty() {
        lines.push(Row::new());
        for line in diff
            .lines()
            .filter(|line| !line.starts_with("+++") && !line.starts_with("---"))
        {
            let style = match line.as_bytes().first() {
                Some(b'+') => theme.good(),
                Some(b'-') => theme.bad(),
                _ => theme.dim(),
            };
            wrapped(
                line,
                width.saturating_sub(4),
                (style, theme.bad().patch(theme.reverse())),
                &mut lines,
            );
        }
    }
    if !open.full && lines.len() > most {
        let hidden = lines.len() - most + 1;
        lines.truncate(most - 1);
        let key = state.keys.key(Action::AskFull);
        let mark = Row::new()
            .gap(4)
            .text(&format!("┊ {hidden} more rows"), theme.amber());
        lines.push(mark.right(&key, theme.accent()));
    }
    let scroll = if open.full {
        open.scroll.min(lines.len().saturating_sub(1))
    } else {
        0
    };
    rows.extend(lines.into_iter().skip(scroll));
    rows.push(Row::new());
}

/// One line in as many rows as it takes.
fn wrapped(line: &str, width: usize, styles: (Style, Style), rows: &mut Vec<Row>) {
    let mut row = Row::new().gap(4);
    let mut used = 0;
    for (piece, odd) in Safe::reveal(line) {
        let style = if odd { styles.1 } else { styles.0 };
        let mut rest = piece.as_str();
        while !rest.is_empty() {
            let mut take = fit(rest, width.max(2) - used.min(width.max(2)));
            if take.is_empty() && used == 0 {
                take = rest.graphemes(true).next().unwrap_or(rest);
            }
            row = row.safe(Safe::strip(take), style);
            used += take.width();
            rest = rest.get(take.len()..).unwrap_or_default();
            if !rest.is_empty() {
                rows.push(std::mem::replace(&mut row, Row::new().gap(4)));
                used = 0;
            }
        }
    }
    rows.push(row);
}

fn facts(state: &State, open: &OpenAsk, width: usize, rows: &mut Vec<Row>) {
    let theme = &state.theme;
    let mut facts: Vec<(String, String, Style)> = Vec::new();
    match &open.ask.body {
        AskBody::Permission {
            says, sees, place, ..
        } => {
            if !says.is_empty() {
                let quoted = format!(
                    "“{}”",
                    says.split_whitespace().collect::<Vec<_>>().join(" ")
                );
                facts.push(("says".to_owned(), quoted, theme.thought()));
            }
            if !sees.is_empty() {
                facts.push(("sees".to_owned(), sees.join(", "), theme.default()));
            }
            if !place.is_empty() {
                facts.push(("where".to_owned(), place.clone(), theme.default()));
            }
        }
        AskBody::DoomLoop { facts: given, .. } => facts.extend(
            given
                .iter()
                .map(|(label, text)| (label.clone(), text.clone(), theme.default())),
        ),
        AskBody::Budget { .. } | AskBody::Question { .. } => {}
    }
    if facts.is_empty() {
        return;
    }
    let label = facts
        .iter()
        .map(|(label, ..)| label.width() + 1)
        .max()
        .unwrap_or(0)
        .max(8);
    let column = LABEL - 2 + label;
    for (name, text, style) in facts {
        let room = width.saturating_sub(column).max(8);
        for (at, line) in layout(&text, room, grapheme_width).iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            let piece = text.get(line.range.clone()).unwrap_or_default();
            rows.push(
                Row::new()
                    .gap(LABEL - 2)
                    .text(name, theme.dim())
                    .to(column)
                    .text(piece, style),
            );
        }
    }
}

fn choices(state: &State, open: &OpenAsk, width: usize, sheet: &mut Sheet) {
    let theme = &state.theme;
    let all = open.choices();
    let question = matches!(open.ask.body, AskBody::Question { .. });
    let detail = all
        .iter()
        .filter(|c| !c.detail.is_empty())
        .map(|c| CHOICE - 2 + c.label.width() + 2)
        .max()
        .unwrap_or(0)
        .max(DETAIL - 2);
    for (at, choice) in all.iter().enumerate() {
        let key = match choice.action {
            Some(action) => state.keys.key(action),
            None if question && at < 9 => (at + 1).to_string(),
            None => String::new(),
        };
        let selected = at == open.selected && open.field.is_none();
        sheet
            .rows
            .push(choice_row(state, choice, (&key, selected, detail)));
        if choice.action == Some(Action::AskOnce) && !open.withheld().is_empty() {
            let text = format!("not offered: {}", open.withheld());
            sheet
                .rows
                .push(Row::new().gap(CHOICE - 2).text(&text, theme.dim()));
        }
    }
    if let Some(field) = &open.field {
        let label = match field.purpose {
            Purpose::Say => "tell the model",
            Purpose::Pattern => "pattern",
            Purpose::Answer => "answer",
        };
        let row = Row::new()
            .gap(1)
            .fixed(theme.glyphs.prompt, theme.accent())
            .gap(1);
        let row = row.text(label, theme.dim()).gap(2);
        let start = row.width();
        let room = width.saturating_sub(start + 1).max(4);
        let lines = layout(field.text.text(), room, grapheme_width);
        let (line, col) = position(&lines, field.text.cursor());
        let shown = field
            .text
            .text()
            .get(lines[line].range.clone())
            .unwrap_or_default();
        sheet.rows.push(Row::new());
        sheet.rows.push(row.text(shown, theme.default()));
        sheet.cursor = Some((sheet.rows.len() - 1, start + col));
    }
}

fn choice_row(state: &State, choice: &Choice, place: (&str, bool, usize)) -> Row {
    let (key, selected, detail) = place;
    let theme = &state.theme;
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let row = if selected {
        Row::new()
            .gap(1)
            .fixed(theme.glyphs.prompt, theme.accent())
            .gap(1)
    } else {
        Row::new().gap(3)
    };
    let row = row
        .text(key, theme.accent())
        .to(CHOICE - 2)
        .text(&choice.label, style);
    let row = if choice.detail.is_empty() {
        row
    } else {
        row.to(detail).text(&choice.detail, theme.default())
    };
    if choice.note.is_empty() {
        row
    } else {
        row.gap(6).text(&choice.note, theme.dim())
    }
}

fn foot(state: &State) -> Row {
    let theme = &state.theme;
    let Some(open) = state.asks.current() else {
        return Row::new();
    };
    let keys = &state.keys;
    let no = match (&open.field, &open.ask.body) {
        (Some(_), _) => " back",
        (None, AskBody::DoomLoop { .. } | AskBody::Budget { .. }) => " stop",
        (None, _) => " no",
    };
    let mut row = Row::new();
    if open.field.is_none() {
        row = row.fixed("↑↓", theme.accent()).gap(1);
    }
    row = row
        .text(&keys.key(Action::AskAccept), theme.accent())
        .gap(3);
    row = row
        .text(&keys.key(Action::AskClose), theme.accent())
        .fixed(no, theme.dim());
    if matches!(open.ask.body, AskBody::Permission { .. }) && open.field.is_none() {
        let what = if open.full {
            " smaller"
        } else {
            " full screen"
        };
        row = row
            .gap(3)
            .text(&keys.key(Action::AskFull), theme.accent())
            .fixed(what, theme.dim());
    }
    if state.asks.place().1 > 1 {
        row = row
            .gap(3)
            .text(&keys.key(Action::AskNext), theme.accent())
            .fixed(" next", theme.dim());
    }
    let who = state
        .status
        .as_ref()
        .map(|s| format!("{} · {}", s.agent, s.mode.name()));
    row.right(&who.unwrap_or_default(), theme.dim())
}
