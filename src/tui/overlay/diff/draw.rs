//! How the changes are drawn: title with its switches, file list, hunks, footer.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::super::{Frame, draw_rows, footer_of};
use super::{DiffView, Whole};
use crate::protocol::{DiffScope, FileDiff, FileStatus, Hunk};
use crate::tui::cells::extension;
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::term::sanitise::Safe;
use crate::tui::text;
use crate::tui::text::Styled;
use crate::tui::text::diff::{Form, Layout, Shape};
use crate::tui::text::markdown::Page;
use crate::tui::view::row::Row;

/// Width of the file list, and columns from which on there is one.
const LIST: u16 = 26;
const WITH_LIST: u16 = 80;

impl DiffView {
    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        self.title(state).draw(frame.title, buf);
        let all: [(&[Action], &str); 6] = [
            (&[Action::HunkUp, Action::HunkDown], "hunk"),
            (&[Action::FileBefore, Action::FileAfter], "file"),
            (&[Action::DiffUndo], "undo hunk"),
            (&[Action::DiffComment], "comment"),
            (&[Action::DiffOpen], "open in editor"),
            (&[Action::DiffCopy], "copy"),
        ];
        let none: [(&[Action], &str); 2] = [
            (&[Action::DiffScopeNext], "turn, session or step"),
            (&[Action::DiffHead], "compare with the last commit"),
        ];
        let hints = if self.report.files.is_empty() {
            &none[..]
        } else {
            &all[..]
        };
        // As in the reference the keys stand one row above the last one.
        let rows = u16::from(area.height >= 20);
        let foot = Rect {
            y: frame.footer.y.saturating_sub(rows),
            ..frame.footer
        };
        let top = area.y + frame.title.height;
        let bottom = foot.y.saturating_sub(u16::from(area.height >= 8));
        if bottom <= top {
            return None;
        }
        let listed = area.width >= WITH_LIST;
        rules(state, area, (top, bottom), listed, buf);
        if bottom == foot.y {
            // In a low window the keys have the rule's row.
            crate::tui::view::clear(foot, buf);
        }
        footer_of(state, hints, Action::DiffClose).draw(foot, buf);
        let (y, height) = (top + 1, bottom.saturating_sub(top + 1));
        let mut right = Rect {
            x: frame.body.x,
            width: frame.body.width,
            y,
            height,
        };
        if listed {
            let left = Rect {
                x: area.x + 2,
                width: LIST - 2,
                y,
                height,
            };
            self.list(state, left, buf);
            right.x = area.x + LIST + 3;
            right.width = frame.body.right().saturating_sub(right.x);
        }
        self.hunks(state, right, buf);
        None
    }

    /// `Changes  3 files  +61 −18           this turn ▾   vs HEAD   split   wrap off`.
    fn title(&self, state: &State) -> Row {
        let theme = &state.theme;
        let files = &self.report.files;
        let (added, removed) = files
            .iter()
            .fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
        let head = self.report.scope == DiffScope::Head;
        let scope = match self.before {
            DiffScope::Turn | DiffScope::Head => "this turn ",
            DiffScope::Session => "this session ",
            DiffScope::Step => "last step ",
        };
        let count = format!(
            "{} file{}",
            files.len(),
            if files.len() == 1 { "" } else { "s" }
        );
        let row = Row::new()
            .fixed("Changes", theme.bold())
            .gap(2)
            .text(&count, theme.dim())
            .gap(2)
            .text(&format!("+{added}"), theme.good())
            .text(&format!(" {}{removed}", theme.glyphs.minus), theme.bad());
        if state.is_narrow() {
            let what = if head { "vs HEAD " } else { scope };
            return row
                .right(what, theme.accent())
                .right(theme.glyphs.open, theme.accent());
        }
        // A switch that is on is bold; the letter that turns it is yours to press.
        let on = |on: bool| if on { theme.bold() } else { theme.dim() };
        let scope_style = if head { theme.dim() } else { theme.accent() };
        row.right(scope, scope_style)
            .right(theme.glyphs.open, scope_style)
            .right("   ", theme.default())
            .right("v", theme.accent())
            .right("s HEAD", on(head))
            .right("   ", theme.default())
            .right("s", theme.accent())
            .right("plit", on(self.split))
            .right("   ", theme.default())
            .right("w", theme.accent())
            .right(if self.wrap { "rap on" } else { "rap off" }, on(self.wrap))
    }

    fn list(&self, state: &State, area: Rect, buf: &mut Cells) {
        let theme = &state.theme;
        let mut rows = Vec::new();
        for (at, file) in self.report.files.iter().enumerate() {
            rows.push(name(state, file, at == self.file, usize::from(area.width)));
            rows.push(counts(state, file));
        }
        // The count of what was seen keeps its place below; the list moves under the selection.
        let room = usize::from(area.height).saturating_sub(2);
        let last = rows.len().saturating_sub(room);
        let skip = (2 * self.file + 2).saturating_sub(room).min(last);
        rows.drain(..skip);
        rows.truncate(room);
        rows.push(Row::new());
        if self.seen.is_empty() {
            return draw_rows(rows.iter(), area, buf);
        }
        let seen = self.seen.iter().filter(|seen| **seen).count();
        let text = format!(" {seen} of {} seen", self.seen.len());
        rows.push(
            Row::new()
                .fixed(theme.glyphs.done, theme.good())
                .text(&text, theme.dim()),
        );
        draw_rows(rows.iter(), area, buf);
    }

    fn hunks(&self, state: &State, area: Rect, buf: &mut Cells) {
        let theme = &state.theme;
        let line = |y: u16| Rect {
            y: area.y + y,
            height: area.height.saturating_sub(y).min(1),
            ..area
        };
        let Some(file) = self.current() else {
            let none = match self.report.scope {
                DiffScope::Turn => "Nothing was changed in this turn.",
                DiffScope::Session => "Nothing was changed in this session.",
                DiffScope::Step => "Nothing was changed in the last step.",
                DiffScope::Head => "Nothing differs from the last commit.",
            };
            let text = self.report.notes.first().map_or(none, String::as_str);
            Row::new().text(text, theme.dim()).draw(line(0), buf);
            return;
        };
        let place = match file.hunks.len() {
            0 => String::new(),
            1 => "1 hunk".to_owned(),
            count => format!("{} of {count} hunks", self.hunk + 1),
        };
        Row::new()
            .text(&file.path, theme.bold())
            .right(&place, theme.dim())
            .draw(line(0), buf);
        if file.binary || file.hunks.is_empty() {
            let text = if file.binary {
                "Not a text: its lines cannot be shown."
            } else {
                "Only its mode or kind changed."
            };
            Row::new().fixed(text, theme.dim()).draw(line(2), buf);
            return;
        }
        let body = Rect {
            y: (area.y + 2).min(area.bottom()),
            height: area.height.saturating_sub(2),
            ..area
        };
        for (at, row) in self.rows(state, file, body).iter().enumerate() {
            row.draw((body.x, body.y + at as u16), body.width, buf);
        }
    }

    /// The rows of the shown lines, no more than there is room for.
    fn rows(&self, state: &State, file: &FileDiff, body: Rect) -> Vec<text::Row> {
        let theme = &state.theme;
        let page = Page {
            theme,
            highlights: state.transcript.highlights(),
            links: None,
            left: 0,
            measure: usize::from(body.width),
            room: usize::from(body.width),
        };
        let form = match body.width {
            ..60 => Form::Slim,
            _ if self.split => Form::Split,
            _ => Form::Screen,
        };
        let shape = Shape {
            form,
            broken: self.wrap,
        };
        let shown = self.shown();
        let layout = Layout::of(shown, extension(&file.path), shape, &page);
        let most = usize::from(body.height);
        // The end of the file stands at the end of the screen, not above it.
        let top = self.top.min(self.all_items().saturating_sub(most));
        let mut rows = Vec::with_capacity(most);
        let mut at = 0;
        for (n, hunk) in shown.iter().enumerate() {
            let next = at + Self::items(hunk);
            if next > top && rows.len() < most {
                let from = top.saturating_sub(at);
                if from == 0 {
                    rows.push(self.heading(state, n, hunk));
                }
                layout.part(hunk, (from.saturating_sub(1), most), &mut rows);
            }
            at = next;
        }
        let folded = self.folded();
        if folded > 0 && !matches!(self.whole, Some(Whole::Here(_))) {
            rows.push(text::Row::BLANK);
            rows.push(self.fold_row(state, folded, usize::from(body.width)));
        }
        rows.truncate(most);
        rows
    }

    fn heading(&self, state: &State, n: usize, hunk: &Hunk) -> text::Row {
        let theme = &state.theme;
        let whole = matches!(self.whole, Some(Whole::Here(_)));
        let many = self.current().is_some_and(|file| file.hunks.len() > 1);
        let style = if n == self.hunk && many && !whole {
            theme.bold()
        } else {
            theme.dim()
        };
        let mut line = Styled::new();
        if whole {
            line.fixed("the whole file", theme.dim());
        } else {
            line.fixed("@@ ", style);
            let first = hunk.lines.iter().find_map(|line| line.new.or(line.old));
            match first {
                Some(first) if hunk.heading.trim().is_empty() => {
                    line.push(&Safe::strip(&format!("line {first}")), style);
                }
                _ => line.push(&Safe::strip(&hunk.heading), style),
            }
        }
        text::Row {
            line,
            ..text::Row::BLANK
        }
    }

    fn fold_row(&self, state: &State, folded: u32, width: usize) -> text::Row {
        let theme = &state.theme;
        let mut line = Styled::new();
        line.fixed(theme.glyphs.hidden, theme.dim());
        line.pad(1);
        let words = if folded == 1 {
            "1 unchanged line".to_owned()
        } else {
            format!("{folded} unchanged lines")
        };
        line.push(&Safe::strip(&words), theme.dim());
        let key = state.keys.key(Action::DiffShow);
        let says = if matches!(self.whole, Some(Whole::Wanted)) {
            " is reading them"
        } else {
            " to show"
        };
        let hint = key.chars().count() + says.len();
        line.pad(width.saturating_sub(line.columns() + hint).max(2));
        line.push(&Safe::strip(&key), theme.accent());
        line.fixed(says, theme.dim());
        text::Row {
            line,
            ..text::Row::BLANK
        }
    }
}

/// The rules above and below, with the joints of the column between list and hunks.
fn rules(state: &State, area: Rect, (top, bottom): (u16, u16), listed: bool, buf: &mut Cells) {
    let theme = &state.theme;
    let joints = if theme.glyphs.free.is_ascii() {
        ["+", "+"]
    } else {
        ["┬", "┴"]
    };
    for (y, joint) in [top, bottom].into_iter().zip(joints) {
        for x in area.x..area.right() {
            let crosses = listed && x == area.x + LIST;
            let glyph = if crosses { joint } else { theme.glyphs.free };
            buf.set_string(x, y, glyph, theme.dim());
        }
    }
    if listed {
        for y in top + 1..bottom {
            buf.set_string(area.x + LIST, y, theme.glyphs.column, theme.dim());
        }
    }
}

/// `❯ M src/reflow.rs`; a long path loses its beginning, not its name.
fn name(state: &State, file: &FileDiff, selected: bool, width: usize) -> Row {
    let theme = &state.theme;
    let letter = match file.status {
        FileStatus::Added => "A ",
        FileStatus::Modified => "M ",
        FileStatus::Deleted => "D ",
        FileStatus::TypeChanged => "T ",
    };
    let row = if selected {
        Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
    } else {
        Row::new().gap(2)
    };
    let style = if selected {
        theme.bold()
    } else {
        theme.default()
    };
    let ink = match file.status {
        FileStatus::Added => theme.good(),
        FileStatus::Deleted => theme.bad(),
        FileStatus::Modified | FileStatus::TypeChanged => theme.dim(),
    };
    let row = row.fixed(letter, ink);
    let room = width.saturating_sub(row.width() + 1);
    row.text(&shortened(&file.path, room), style)
}

/// The end of a path that fits, after `…`.
fn shortened(path: &str, columns: usize) -> String {
    let safe = Safe::strip(path);
    let text = safe.as_str();
    if text::width::columns(text) <= columns {
        return text.to_owned();
    }
    let mut end = String::new();
    for c in text.chars().rev() {
        if text::width::columns(&end) + 2 >= columns {
            break;
        }
        end.insert(0, c);
    }
    format!("…{end}")
}

/// `+44 −15`; removed lines stand in one column where they fit.
fn counts(state: &State, file: &FileDiff) -> Row {
    let theme = &state.theme;
    let mut counts = Row::new().gap(4);
    if file.added > 0 || file.removed == 0 {
        counts = counts.text(&format!("+{}", file.added), theme.good());
    }
    if file.removed > 0 {
        if file.added > 0 {
            counts = counts.to(8);
        }
        let removed = format!("{}{}", theme.glyphs.minus, file.removed);
        counts = counts.text(&removed, theme.bad());
    }
    counts
}
