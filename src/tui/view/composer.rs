//! The composer and the list above it.

use std::ops::Range;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use super::row::Row;
use crate::tui::composer::buffer::chip_id;
use crate::tui::composer::layout::{Row as Line, position};
use crate::tui::composer::popup::{Kind, Popup, ROWS};
use crate::tui::state::State;
use crate::tui::term::sanitise::Safe;

/// Rows that the text wants; at least one.
pub fn height(state: &State) -> u16 {
    let rows = state.composer.rows(state.composer_width()).len();
    u16::try_from(rows).unwrap_or(u16::MAX).max(1)
}

/// Draws the visible rows; gives the place of the cursor.
pub fn draw(state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let theme = &state.theme;
    let margin = if state.is_narrow() { 0 } else { 2 };
    let shell = state.composer.is_shell();
    let (glyph, style) = if shell {
        ("!", theme.amber())
    } else {
        (theme.glyphs.prompt, theme.accent())
    };
    let sign = |glyph: &str, style: Style, buf: &mut Cells| {
        let room = usize::from(area.width.saturating_sub(margin));
        buf.set_stringn(area.x + margin, area.y, glyph, room, style);
    };
    let left = (area.x + margin + 2).min(area.right());
    let inner = Rect {
        x: left,
        width: area.right() - left,
        ..area
    };
    if state.composer.is_empty() {
        sign(glyph, style, buf);
        if !state.has_begun() {
            let hint = Row::new().fixed("Ask, or describe a change", theme.dim());
            hint.draw(inner, buf);
        }
        return Some(Position::new(left.min(area.right() - 1), area.y));
    }
    let (row, col, hidden) = text(state, inner, buf);
    if hidden.0 == 0 {
        sign(glyph, style, buf);
    } else {
        sign(theme.glyphs.hidden, theme.dim(), buf);
        let mark = counted(hidden.0, "above");
        mark_right(state, &mark, Rect { height: 1, ..inner }, buf);
    }
    if hidden.1 > 0 && area.height > 1 {
        let last = Rect {
            y: area.bottom() - 1,
            height: 1,
            ..inner
        };
        mark_right(state, &counted(hidden.1, "below"), last, buf);
    }
    let x = (usize::from(left) + col).min(usize::from(area.right()) - 1);
    Some(Position::new(x as u16, area.y + row))
}

/// The word in the hairline over a shell command.
pub fn label(state: &State, line: Rect, buf: &mut Cells) {
    if state.composer.is_shell() && line.width >= 20 {
        let at = line.x + if state.is_narrow() { 2 } else { 4 };
        buf.set_string(at, line.y, " shell ", state.theme.amber());
    }
}

/// `19 rows above`.
fn counted(rows: usize, place: &str) -> String {
    let noun = if rows == 1 { "row" } else { "rows" };
    format!("{rows} {noun} {place}")
}

/// Says at the right edge of a row that there is more text than is shown.
fn mark_right(state: &State, mark: &str, row: Rect, buf: &mut Cells) {
    let width = mark.len() as u16 + 2;
    if row.width > width + 8 {
        let at = Rect {
            x: row.right() - width,
            width,
            ..row
        };
        super::clear(at, buf);
        Row::new().right(mark, state.theme.dim()).draw(at, buf);
    }
}

/// Draws the rows around the cursor; gives its row and column, and how many rows are hidden above
/// and below.
fn text(state: &State, area: Rect, buf: &mut Cells) -> (u16, usize, (usize, usize)) {
    let buffer = &state.composer.buffer;
    let rows = state.composer.rows(state.composer_width());
    let (row, col) = position(&rows, buffer.cursor());
    let height = usize::from(area.height);
    let first = (row + 1).saturating_sub(height);
    let selection = state.composer.selection();
    // The sign before a shell command is the `!` that was typed.
    let sign = usize::from(state.composer.is_shell());
    for (at, line) in rows.iter().skip(first).take(height).enumerate() {
        let text = buffer.text().get(line.range.clone()).unwrap_or_default();
        let y = area.y + at as u16;
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        let taken = if first + at == 0 { sign } else { 0 };
        let shown = text.get(taken..).unwrap_or_default();
        line_row(state, shown).draw(place, buf);
        if let Some(selected) = &selection {
            let style = state.theme.reverse();
            reverse((line, taken), selected, place, style, buf);
        }
    }
    let col = col.saturating_sub(if row == 0 { sign } else { 0 });
    let below = rows.len().saturating_sub(first + height);
    ((row - first) as u16, col, (first, below))
}

/// Marks the selected part of a row; an empty selected line shows as one cell.
fn reverse(
    (line, taken): (&Line, usize),
    selected: &Range<usize>,
    place: Rect,
    style: Style,
    buf: &mut Cells,
) {
    let column = |byte: usize| {
        let after = line.cells.iter().find(|(at, _)| *at >= byte);
        after.map_or_else(
            || line.cells.last().map_or(0, |(_, col)| col + 1),
            |(_, col)| *col,
        )
    };
    if selected.start > line.range.end || selected.end < line.range.start {
        return;
    }
    let from = column(selected.start.max(line.range.start));
    let to = column(selected.end).max(from + 1);
    let (from, to) = (from.saturating_sub(taken), to.saturating_sub(taken));
    for x in from..to.min(usize::from(place.width)) {
        buf[(place.x + x as u16, place.y)].set_style(style);
    }
}

fn line_row(state: &State, text: &str) -> Row {
    let theme = &state.theme;
    let mut row = Row::new();
    let mut plain = String::new();
    for grapheme in text.graphemes(true) {
        match grapheme.chars().next().and_then(chip_id) {
            Some(id) => {
                row = row.text(&std::mem::take(&mut plain), theme.default());
                row = row.text(&state.composer.chip_label(id), theme.accent());
            }
            None if grapheme == "\t" => plain.push_str("    "),
            None => plain.push_str(grapheme),
        }
    }
    row.safe(Safe::strip(&plain), theme.default())
}

/// Rows of the list above the composer.
pub fn popup_rows(state: &State) -> Vec<Row> {
    let Some(popup) = &state.composer.popup else {
        return Vec::new();
    };
    let theme = &state.theme;
    if popup.items.is_empty() {
        let text = match (popup.kind, popup.query.is_empty()) {
            (Kind::Skills, _) => "no skill matches",
            (_, true) => "type to find a file",
            _ => "no file matches",
        };
        return vec![Row::new().gap(2).fixed(text, theme.dim())];
    }
    let count = popup.items.len();
    let first = (popup.selected + 1).saturating_sub(ROWS);
    let mut rows: Vec<Row> = (first..count.min(first + ROWS))
        .map(|at| popup_row(state, popup, at))
        .collect();
    if count > ROWS
        && let Some(last) = rows.pop()
    {
        rows.push(last.right(&format!("{} of {count}", popup.selected + 1), theme.dim()));
    }
    rows
}

fn popup_row(state: &State, popup: &Popup, at: usize) -> Row {
    let theme = &state.theme;
    let item = &popup.items[at];
    let selected = at == popup.selected;
    let style = if selected { theme.bold() } else { Style::new() };
    let sign = match popup.kind {
        Kind::Commands => "/",
        Kind::Skills => "$",
        Kind::Files => "",
    };
    let row = if selected {
        Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
    } else {
        Row::new().gap(2)
    };
    let row = row
        .text(sign, style)
        .marked(&item.name, &item.marks, style, theme.reverse());
    if item.detail.is_empty() {
        row
    } else {
        row.to(18).text(&item.detail, theme.dim())
    }
}
