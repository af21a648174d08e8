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
    let window = window(state, area.height);
    let (glyph, style) = if window.above > 0 {
        (theme.glyphs.hidden, theme.dim())
    } else {
        (glyph, style)
    };
    buf.set_stringn(
        area.x + margin,
        area.y,
        glyph,
        usize::from(area.width.saturating_sub(margin)),
        style,
    );
    let left = (area.x + margin + 2).min(area.right());
    let inner = Rect {
        x: left,
        width: area.right() - left,
        ..area
    };
    if state.composer.is_empty() {
        if !state.has_begun() {
            let hint = Row::new().fixed("Ask, or describe a change", theme.dim());
            hint.draw(inner, buf);
        }
        return Some(Position::new(left.min(area.right() - 1), area.y));
    }
    let (row, col) = text(state, inner, &window, buf);
    hidden_rows(state, area, &window, buf);
    // The `!` of a shell command is the sign before it.
    let col = if shell && window.above == 0 && row == 0 {
        col.checked_sub(1).map_or(-2, |col| col as isize)
    } else {
        col as isize
    };
    let x = usize::from(left).saturating_add_signed(col);
    let x = x.min(usize::from(area.right()) - 1);
    Some(Position::new(x as u16, area.y + row))
}

/// The byte of the text that a column and row of the composer's place show; the nearest one.
pub fn byte_at(state: &State, (col, row): (u16, u16), height: u16) -> usize {
    let window = window(state, height);
    let at = (window.above + usize::from(row)).min(window.rows.len().saturating_sub(1));
    let Some(line) = window.rows.get(at) else {
        return 0;
    };
    // The sign and its blank stand before the text; of a shell command the sign is its first letter.
    let shell = usize::from(state.composer.is_shell() && at == 0);
    let col = (usize::from(col) + shell).saturating_sub(2);
    let before = line.cells.iter().take_while(|(_, column)| *column <= col);
    let found = before.last().or(line.cells.first());
    found.map_or(line.range.end, |(byte, _)| *byte)
}

/// What of the text is on screen.
struct Window {
    rows: Vec<Line>,
    /// The cursor's row and column.
    cursor: (usize, usize),
    /// Rows hidden above and below.
    above: usize,
    below: usize,
}

fn window(state: &State, height: u16) -> Window {
    let rows = state.composer.rows(state.composer_width());
    let cursor = position(&rows, state.composer.buffer.cursor());
    let height = usize::from(height);
    let above = (cursor.0 + 1).saturating_sub(height);
    Window {
        below: rows.len().saturating_sub(above + height),
        rows,
        cursor,
        above,
    }
}

/// Says at the right edge how much of a long text is above and below, where it leaves room.
fn hidden_rows(state: &State, area: Rect, window: &Window, buf: &mut Cells) {
    let margin = if state.is_narrow() { 0 } else { 2 };
    let edges = [
        (window.above, "above", area.y),
        (window.below, "below", area.bottom().saturating_sub(1)),
    ];
    for (count, word, y) in edges.into_iter().filter(|edge| edge.0 > 0) {
        let rows = if count == 1 { "row" } else { "rows" };
        let text = format!("  {count} {rows} {word}");
        let width = text.len() as u16;
        let x = area.right().saturating_sub(margin + width).max(area.x);
        let free = (x..area.right()).all(|x| buf[(x, y)].symbol() == " ");
        if free {
            buf.set_stringn(x, y, &text, usize::from(width), state.theme.dim());
        }
    }
}

/// Draws the rows around the cursor; gives its row and column.
fn text(state: &State, area: Rect, window: &Window, buf: &mut Cells) -> (u16, usize) {
    let buffer = &state.composer.buffer;
    let (row, col) = window.cursor;
    let height = usize::from(area.height);
    let first = window.above;
    let selection = state.composer.selection();
    for (at, line) in window.rows.iter().skip(first).take(height).enumerate() {
        let text = buffer.text().get(line.range.clone()).unwrap_or_default();
        let shell = state.composer.is_shell() && at + first == 0;
        let text = text.get(usize::from(shell)..).unwrap_or_default();
        let y = area.y + at as u16;
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        line_row(state, text).draw(place, buf);
        if let Some(selected) = &selection {
            reverse(line, selected, place, state.theme.reverse(), buf);
        }
    }
    ((row - first) as u16, col)
}

/// Marks the selected part of a row; an empty selected line shows as one cell.
fn reverse(line: &Line, selected: &Range<usize>, place: Rect, style: Style, buf: &mut Cells) {
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
    let first = popup.first();
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
