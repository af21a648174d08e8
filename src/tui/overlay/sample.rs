//! What a theme looks like: some rows of a conversation below the list of themes.
//!
//! The theme picker draws it, so that a theme can be judged before it is chosen.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::draw_rows;
use crate::protocol::ContextGauge;
use crate::tui::state::State;
use crate::tui::view::row::Row;
use crate::tui::view::status;

/// The context line of the sample.
const GAUGE: ContextGauge = ContextGauge {
    used: 40,
    pruned: 8,
    window: 100,
    compact_at: 80,
};

/// Rows of the list that stay however small the window is.
const LISTED: u16 = 4;

/// Draws it at the end of an area; gives the room that is left for the list.
pub(super) fn draw(state: &State, area: Rect, entries: u16, buf: &mut Cells) -> Rect {
    let rows = rows(state);
    let needed = rows.len() as u16 + 3;
    if area.height < entries.min(LISTED) + needed {
        return area;
    }
    let list = Rect {
        height: entries.min(area.height - needed),
        ..area
    };
    let line = Rect {
        y: list.bottom() + 1,
        height: 1,
        ..area
    };
    status::context_line(state, GAUGE, line, buf);
    for (at, (row, tint)) in rows.iter().enumerate() {
        let place = Rect {
            y: line.y + 2 + at as u16,
            height: 1,
            ..area
        };
        buf.set_style(place, *tint);
        draw_rows(std::iter::once(row), place, buf);
    }
    list
}

fn rows(state: &State) -> [(Row, Style); 8] {
    let theme = &state.theme;
    let glyphs = &theme.glyphs;
    let (plain, dim) = (theme.default(), theme.dim());
    let sign = |glyph: (&'static str, Style), text: &'static str, style| {
        let row = Row::new().gap(2).fixed(glyph.0, glyph.1).gap(1);
        row.fixed(text, style)
    };
    let prompt = sign(
        (glyphs.prompt, theme.accent()),
        "Why does the resize test flake?",
        plain,
    );
    let answer = "The reflow runs while replay is still filling the list.";
    let done = sign((glyphs.done, theme.good()), "Ran cargo test -p pager", dim);
    let failed = "Ran cargo test -p pager resize";
    let failed = sign((glyphs.failed, theme.bad()), failed, plain);
    let removed = sign((glyphs.minus, theme.bad()), "  self.reflow(width);", plain);
    let added = "  self.reflow_after_replay = Some(width);";
    let added = sign((glyphs.plus, theme.good()), added, plain);
    let thought = sign(
        (glyphs.thought, dim),
        "replay must finish first",
        theme.thought(),
    );
    let ask = sign(
        (glyphs.ask, theme.amber()),
        "Run this command",
        theme.bold(),
    );
    [
        (prompt, theme.tint_user()),
        (Row::new().gap(4).fixed(answer, plain), Style::new()),
        (done.right("exit 0   6.4s", dim), Style::new()),
        (failed.right("exit 101   6.4s", theme.bad()), Style::new()),
        (removed, theme.tint_removed()),
        (added, theme.tint_added()),
        (thought, Style::new()),
        (ask, Style::new()),
    ]
}
