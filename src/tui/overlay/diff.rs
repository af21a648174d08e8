//! The changes of the worktree: files at the left, hunks at the right.

use std::ops::Range;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};

use super::{Frame, Intent, Outcome, footer};
use crate::protocol::{DiffLine, DiffReport, DiffScope, FileDiff, FileStatus, Hunk, LineKind, Op};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::text::intraline;
use crate::tui::view::row::Row;

/// Width of the file list, and columns from which on there is one.
const LIST: u16 = 26;
const SPLIT: u16 = 80;

/// A report and the place in it.
#[derive(Debug, Clone)]
pub struct DiffView {
    report: DiffReport,
    file: usize,
    hunk: usize,
    top: usize,
    seen: Vec<bool>,
}

impl DiffView {
    /// From the agent's answer.
    pub fn new(report: DiffReport) -> Self {
        let mut view = Self {
            report,
            file: 0,
            hunk: 0,
            top: 0,
            seen: Vec::new(),
        };
        view.seen = vec![false; view.report.files.len()];
        view.look();
        view
    }

    /// Another report in place of this one.
    pub fn show(&mut self, report: DiffReport) {
        *self = Self::new(report);
    }

    fn look(&mut self) {
        if let Some(seen) = self.seen.get_mut(self.file) {
            *seen = true;
        }
    }

    fn current(&self) -> Option<&FileDiff> {
        self.report.files.get(self.file)
    }

    fn go_file(&mut self, delta: isize) {
        let last = self.report.files.len().saturating_sub(1);
        self.file = self.file.saturating_add_signed(delta).min(last);
        (self.hunk, self.top) = (0, 0);
        self.look();
    }

    fn go_hunk(&mut self, delta: isize) {
        let Some(file) = self.report.files.get(self.file) else {
            return;
        };
        let last = file.hunks.len().saturating_sub(1);
        let hunk = self.hunk.saturating_add_signed(delta).min(last);
        // A hunk begins with its heading's row, a blank row follows each.
        self.top = file
            .hunks
            .iter()
            .take(hunk)
            .map(|h| h.lines.len() + 2)
            .sum();
        self.hunk = hunk;
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        let rows = self
            .current()
            .map_or(0, |f| f.hunks.iter().map(|h| h.lines.len() + 2).sum());
        self.top = self
            .top
            .saturating_add_signed(delta)
            .min(rows.saturating_sub(1));
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Diff, Context::Global], key) {
            Some(Action::HunkUp) => self.go_hunk(-1),
            Some(Action::HunkDown) => self.go_hunk(1),
            Some(Action::FileBefore) => self.go_file(-1),
            Some(Action::FileAfter) => self.go_file(1),
            Some(Action::PageUp) => self.scroll(-20),
            Some(Action::PageDown) => self.scroll(20),
            Some(Action::DiffScopeNext) => {
                let next = match self.report.scope {
                    DiffScope::Turn => DiffScope::Session,
                    DiffScope::Session => DiffScope::Step,
                    DiffScope::Step => DiffScope::Turn,
                };
                return Outcome::Emit(vec![Intent::Op(Op::Diff(next))]);
            }
            Some(Action::DiffOpen) => return Outcome::Emit(self.open()),
            Some(Action::DiffCopy) => return Outcome::Emit(self.copy()),
            Some(Action::DiffComment) => return Outcome::Close(self.comment()),
            Some(Action::DiffClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    fn hunk(&self) -> Option<(&FileDiff, &Hunk)> {
        let file = self.current()?;
        Some((file, file.hunks.get(self.hunk)?))
    }

    fn line(&self) -> Option<u32> {
        let (_, hunk) = self.hunk()?;
        let changed = hunk.lines.iter().find(|l| l.kind != LineKind::Context);
        changed
            .or(hunk.lines.first())
            .and_then(|line| line.new.or(line.old))
    }

    fn open(&self) -> Vec<Intent> {
        let Some(file) = self.current() else {
            return Vec::new();
        };
        vec![Intent::OpenFile {
            path: file.path.clone(),
            line: self.line(),
        }]
    }

    fn copy(&self) -> Vec<Intent> {
        let Some((_, hunk)) = self.hunk() else {
            return Vec::new();
        };
        let mut text = String::new();
        for line in &hunk.lines {
            text.push(match line.kind {
                LineKind::Context => ' ',
                LineKind::Added => '+',
                LineKind::Removed => '-',
            });
            text.push_str(&line.text);
            text.push('\n');
        }
        vec![Intent::Copy(text)]
    }

    fn comment(&self) -> Vec<Intent> {
        let Some(file) = self.current() else {
            return Vec::new();
        };
        let line = self
            .line()
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        vec![Intent::Quote(format!("{}{line} ", file.path))]
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        self.title(state).draw(frame.title, buf);
        let theme = &state.theme;
        let top = area.y + frame.title.height;
        let bottom = frame.footer.y.saturating_sub(u16::from(area.height >= 8));
        if bottom <= top {
            return None;
        }
        let split = area.width >= SPLIT;
        for (y, joint) in [(top, "┬"), (bottom, "┴")] {
            for x in area.x..area.right() {
                let glyph = if split && x == area.x + LIST {
                    joint
                } else {
                    theme.glyphs.free
                };
                buf.set_string(x, y, glyph, theme.dim());
            }
        }
        let (y, height) = (top + 1, bottom.saturating_sub(top + 1));
        let mut right = Rect {
            x: frame.body.x,
            width: frame.body.width,
            y,
            height,
        };
        if split {
            for row in y..y + height {
                buf.set_string(area.x + LIST, row, theme.glyphs.column, theme.dim());
            }
            let left = Rect {
                x: area.x + 2,
                width: LIST - 2,
                y,
                height,
            };
            super::draw_rows(self.list(state).iter(), left, buf);
            right.x = area.x + LIST + 3;
            right.width = frame.body.right().saturating_sub(right.x);
        }
        self.hunks(state, right, buf);
        let hints = [
            (Action::HunkDown, "hunk"),
            (Action::FileAfter, "file"),
            (Action::DiffComment, "comment"),
            (Action::DiffOpen, "open in editor"),
            (Action::DiffCopy, "copy"),
            (Action::DiffScopeNext, "scope"),
        ];
        footer(state, &hints, Action::DiffClose).draw(frame.footer, buf);
        None
    }

    fn title(&self, state: &State) -> Row {
        let theme = &state.theme;
        let files = &self.report.files;
        let (added, removed) = files
            .iter()
            .fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
        let scope = match self.report.scope {
            DiffScope::Turn => "this turn ▾",
            DiffScope::Session => "this session ▾",
            DiffScope::Step => "last step ▾",
        };
        let count = format!(
            "{} file{}",
            files.len(),
            if files.len() == 1 { "" } else { "s" }
        );
        Row::new()
            .fixed("Changes", theme.bold())
            .gap(2)
            .text(&count, theme.dim())
            .gap(2)
            .text(&format!("+{added}"), theme.good())
            .text(&format!(" {}{removed}", theme.glyphs.minus), theme.bad())
            .right(scope, theme.accent())
    }

    fn list(&self, state: &State) -> Vec<Row> {
        let theme = &state.theme;
        let mut rows = Vec::new();
        for (at, file) in self.report.files.iter().enumerate() {
            let letter = match file.status {
                FileStatus::Added => "A ",
                FileStatus::Modified => "M ",
                FileStatus::Deleted => "D ",
                FileStatus::TypeChanged => "T ",
            };
            let selected = at == self.file;
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
            rows.push(row.fixed(letter, theme.dim()).text(&file.path, style));
            let mut counts = Row::new().gap(4);
            if file.added > 0 {
                counts = counts.text(&format!("+{}", file.added), theme.good());
            }
            if file.removed > 0 {
                let gap = if file.status == FileStatus::Modified && file.added < 10 {
                    "  "
                } else {
                    " "
                };
                let gap = if file.added > 0 { gap } else { "" };
                counts = counts.text(
                    &format!("{gap}{}{}", theme.glyphs.minus, file.removed),
                    theme.bad(),
                );
            }
            rows.push(counts);
        }
        rows.push(Row::new());
        let seen = self.seen.iter().filter(|seen| **seen).count();
        let text = format!(" {seen} of {} seen", self.seen.len());
        rows.push(
            Row::new()
                .fixed(theme.glyphs.done, theme.good())
                .text(&text, theme.dim()),
        );
        rows
    }

    fn hunks(&self, state: &State, area: Rect, buf: &mut Cells) {
        let theme = &state.theme;
        let Some(file) = self.current() else {
            let text = self
                .report
                .notes
                .first()
                .map_or("Nothing was changed.", String::as_str);
            Row::new().text(text, theme.dim()).draw(
                Rect {
                    height: area.height.min(1),
                    ..area
                },
                buf,
            );
            return;
        };
        let place = match file.hunks.len() {
            0 => String::new(),
            count => format!("{} of {count} hunks", self.hunk + 1),
        };
        let head = Row::new()
            .text(&file.path, theme.bold())
            .right(&place, theme.dim());
        head.draw(
            Rect {
                height: area.height.min(1),
                ..area
            },
            buf,
        );
        let body = Rect {
            y: (area.y + 2).min(area.bottom()),
            height: area.height.saturating_sub(2),
            ..area
        };
        let mut rows: Vec<Row> = Vec::new();
        let wanted = usize::from(body.height);
        if file.binary {
            rows.push(Row::new().fixed("Binary file.", theme.dim()));
        }
        let mut at = 0;
        for hunk in &file.hunks {
            let next = at + hunk.lines.len() + 2;
            if next > self.top && rows.len() < wanted {
                let mut part = hunk_rows(state, hunk, usize::from(body.width));
                part.drain(..self.top.saturating_sub(at).min(part.len()));
                rows.append(&mut part);
            }
            at = next;
        }
        super::draw_rows(rows.iter(), body, buf);
    }
}

fn hunk_rows(state: &State, hunk: &Hunk, width: usize) -> Vec<Row> {
    let theme = &state.theme;
    let mut rows = vec![
        Row::new()
            .fixed("@@ ", theme.dim())
            .text(&hunk.heading, theme.dim()),
    ];
    let emphasis = theme.bold().add_modifier(Modifier::UNDERLINED);
    let words = changed_words(&hunk.lines);
    for (line, words) in hunk.lines.iter().zip(words) {
        let number = |n: Option<u32>| n.map_or(String::new(), |n| n.to_string());
        let (sign, style, tint) = match line.kind {
            LineKind::Context => (" ", theme.default(), theme.default()),
            LineKind::Added => (theme.glyphs.plus, theme.good(), theme.tint_added()),
            LineKind::Removed => (theme.glyphs.minus, theme.bad(), theme.tint_removed()),
        };
        let numbers = format!("{:>4} {:>4}  ", number(line.old), number(line.new));
        let row = Row::new()
            .text(&numbers, theme.dim().patch(tint))
            .text(sign, style.patch(tint));
        let row = row.text("   ", tint);
        let row = words_row(row, &line.text, &words, (tint, emphasis.patch(tint)));
        let fill = width.saturating_sub(row.width());
        let plain = line.kind == LineKind::Context;
        rows.push(if plain {
            row
        } else {
            row.text(&" ".repeat(fill), tint)
        });
    }
    rows.push(Row::new());
    rows
}

/// The changed words of each line: removed and added lines that face each other are compared.
fn changed_words(lines: &[DiffLine]) -> Vec<Vec<Range<usize>>> {
    let mut words = vec![Vec::new(); lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind| {
            let after = lines.get(from..).unwrap_or_default();
            after.iter().take_while(|line| line.kind == kind).count()
        };
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            (words[old], words[new]) = intraline::ranges(&lines[old].text, &lines[new].text);
        }
        at += (removed + added).max(1);
    }
    words
}

/// A line with its changed words marked; tabs are four columns.
fn words_row(row: Row, text: &str, words: &[Range<usize>], styles: (Style, Style)) -> Row {
    let piece = |from: usize, to: usize| {
        let piece = text.get(from..to).unwrap_or_default();
        piece.replace('\t', "    ")
    };
    let mut at = 0;
    let mut row = row;
    for word in words {
        row = row
            .text(&piece(at, word.start), styles.0)
            .text(&piece(word.start, word.end), styles.1);
        at = word.end;
    }
    row.text(&piece(at, text.len()), styles.0)
}
