//! The changes of the worktree: files at the left, hunks at the right.
//!
//! Here are the report, the place in it and the keys; `draw` shows it. A place is counted in items
//! (a heading, a line, a blank), so it holds at any width. What a key changes in files is the
//! agent's work: it is asked with an `Op` and answers with another report.

mod draw;

use super::{Intent, Outcome};
use crate::protocol::{DiffReport, DiffScope, FileDiff, Hunk, LineKind, Op};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};

/// A report and the place in it.
#[derive(Debug, Clone)]
pub struct DiffView {
    report: DiffReport,
    /// What was shown before the last commit was compared with.
    before: DiffScope,
    file: usize,
    hunk: usize,
    /// The first item on screen.
    top: usize,
    seen: Vec<bool>,
    split: bool,
    wrap: bool,
    /// All lines of the file, once they were asked for.
    whole: Option<Whole>,
}

/// A file with its unchanged lines.
#[derive(Debug, Clone)]
enum Whole {
    /// Asked for.
    Wanted,
    /// There: all lines as one hunk.
    Here(Hunk),
}

impl DiffView {
    /// From the agent's answer.
    pub fn new(report: DiffReport) -> Self {
        let mut view = Self {
            before: report.scope,
            seen: vec![false; report.files.len()],
            report,
            file: 0,
            hunk: 0,
            top: 0,
            split: false,
            wrap: false,
            whole: None,
        };
        view.look();
        view
    }

    /// Another report in place of this one; the place stays where the same file is still there.
    pub fn show(&mut self, report: DiffReport) {
        let old = std::mem::replace(&mut self.report, report);
        let unchanged = |file: &FileDiff| {
            old.files
                .iter()
                .position(|o| o.path == file.path && o.hunks == file.hunks)
        };
        let seen = std::mem::take(&mut self.seen);
        let was_seen = |file| unchanged(file).is_some_and(|at| seen.get(at) == Some(&true));
        self.seen = self.report.files.iter().map(was_seen).collect();
        let path = old.files.get(self.file).map(|file| &file.path);
        let place = self.report.files.iter().position(|f| Some(&f.path) == path);
        self.whole = None;
        self.file = place.unwrap_or(0);
        let last = self
            .current()
            .map_or(0, |f| f.hunks.len().saturating_sub(1));
        let hunk = if place.is_some() { self.hunk } else { 0 };
        self.hunk = hunk.min(last);
        self.top = self.item_of(self.hunk);
        if self.report.scope != DiffScope::Head {
            self.before = self.report.scope;
        }
        self.look();
    }

    /// The lines of one file came, unchanged ones too.
    pub fn whole_came(&mut self, file: &FileDiff) {
        let here = self.current().is_some_and(|f| f.path == file.path);
        if let (true, Some(Whole::Wanted), [hunk]) = (here, &self.whole, file.hunks.as_slice()) {
            self.whole = Some(Whole::Here(hunk.clone()));
            self.top = self.item_of(self.hunk).saturating_sub(3);
        }
    }

    fn look(&mut self) {
        if let Some(seen) = self.seen.get_mut(self.file) {
            *seen = true;
        }
    }

    fn current(&self) -> Option<&FileDiff> {
        self.report.files.get(self.file)
    }

    /// What is shown of the file: its hunks, or all of it as one.
    fn shown(&self) -> &[Hunk] {
        match (&self.whole, self.current()) {
            (Some(Whole::Here(hunk)), _) => std::slice::from_ref(hunk),
            (_, Some(file)) => &file.hunks,
            (_, None) => &[],
        }
    }

    /// Items of a shown hunk: its heading, its lines.
    fn items(hunk: &Hunk) -> usize {
        hunk.lines.len() + 1
    }

    fn all_items(&self) -> usize {
        self.shown().iter().map(Self::items).sum::<usize>() + 2
    }

    /// Where a hunk of the report begins among the items that are shown.
    fn item_of(&self, hunk: usize) -> usize {
        if let Some(Whole::Here(whole)) = &self.whole {
            let first = self
                .current()
                .and_then(|file| file.hunks.get(hunk)?.lines.first());
            let at = first.and_then(|first| {
                whole
                    .lines
                    .iter()
                    .position(|l| (l.old, l.new, l.kind) == (first.old, first.new, first.kind))
            });
            return at.map_or(0, |at| at + 1);
        }
        self.shown().iter().take(hunk).map(Self::items).sum()
    }

    fn go_file(&mut self, delta: isize) {
        let last = self.report.files.len().saturating_sub(1);
        let file = self.file.saturating_add_signed(delta).min(last);
        if file != self.file {
            self.whole = None;
            self.file = file;
            (self.hunk, self.top) = (0, 0);
        }
        self.look();
    }

    fn go_hunk(&mut self, delta: isize) {
        let Some(file) = self.current() else { return };
        let last = file.hunks.len().saturating_sub(1);
        let hunk = self.hunk.saturating_add_signed(delta).min(last);
        if hunk == self.hunk {
            // At the ends the arrows go on by lines.
            return self.scroll(delta);
        }
        self.hunk = hunk;
        self.top = self.item_of(hunk);
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        let last = self.all_items().saturating_sub(1);
        self.top = self.top.saturating_add_signed(delta).min(last);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Diff, Context::Global], key) {
            Some(Action::HunkUp) => self.go_hunk(-1),
            Some(Action::HunkDown) => self.go_hunk(1),
            Some(Action::FileBefore) => self.go_file(-1),
            Some(Action::FileAfter) => self.go_file(1),
            Some(Action::LineUp) => self.scroll(-1),
            Some(Action::LineDown) => self.scroll(1),
            Some(Action::PageUp) => self.scroll(-20),
            Some(Action::PageDown) => self.scroll(20),
            Some(Action::DiffSplit) => self.split = !self.split,
            Some(Action::DiffWrap) => self.wrap = !self.wrap,
            Some(Action::DiffScopeNext) => {
                let next = match self.before {
                    DiffScope::Turn => DiffScope::Session,
                    DiffScope::Session => DiffScope::Step,
                    DiffScope::Step | DiffScope::Head => DiffScope::Turn,
                };
                return Outcome::Emit(vec![Intent::Op(Op::Diff(next))]);
            }
            Some(Action::DiffHead) => {
                let next = match self.report.scope {
                    DiffScope::Head => self.before,
                    _ => DiffScope::Head,
                };
                return Outcome::Emit(vec![Intent::Op(Op::Diff(next))]);
            }
            Some(Action::DiffShow) => return self.fold(),
            Some(Action::DiffUndo) => return self.undo(),
            Some(Action::DiffOpen) => return Outcome::Emit(self.open()),
            Some(Action::DiffCopy) => return Outcome::Emit(self.copy()),
            Some(Action::DiffComment) => return Outcome::Close(self.comment()),
            Some(Action::DiffClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Lines of the current file that are in no hunk.
    fn folded(&self) -> u32 {
        let Some(file) = self.current() else { return 0 };
        let shown = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        let shown = shown.filter(|line| line.kind != LineKind::Removed).count();
        file.lines
            .saturating_sub(u32::try_from(shown).unwrap_or(u32::MAX))
    }

    /// Shows the unchanged lines too, or folds them again.
    fn fold(&mut self) -> Outcome {
        if self.whole.take().is_some() {
            self.top = self.item_of(self.hunk);
            return Outcome::Consumed;
        }
        let Some(file) = self.current().filter(|_| self.folded() > 0) else {
            return Outcome::Consumed;
        };
        let op = Op::DiffFile {
            scope: self.report.scope,
            path: file.path.clone(),
        };
        self.whole = Some(Whole::Wanted);
        Outcome::Emit(vec![Intent::Op(op)])
    }

    fn undo(&self) -> Outcome {
        let Some((file, hunk)) = self.hunk() else {
            return Outcome::Consumed;
        };
        Outcome::Emit(vec![Intent::Op(Op::UndoHunk {
            scope: self.report.scope,
            path: file.path.clone(),
            hunk: hunk.clone(),
        })])
    }

    fn hunk(&self) -> Option<(&FileDiff, &Hunk)> {
        let file = self.current()?;
        Some((file, file.hunks.get(self.hunk)?))
    }

    /// First and last changed line of the hunk, as the file has them now.
    fn lines(&self) -> Option<(u32, u32)> {
        let (_, hunk) = self.hunk()?;
        let changed = hunk.lines.iter().filter(|l| l.kind == LineKind::Added);
        let mut numbers = changed.filter_map(|line| line.new);
        let first = numbers.next();
        if let Some(first) = first {
            return Some((first, numbers.next_back().unwrap_or(first)));
        }
        let near = hunk.lines.iter().find(|l| l.kind == LineKind::Removed);
        let line = near.or(hunk.lines.first())?;
        let line = line.new.or(line.old)?;
        Some((line, line))
    }

    fn open(&self) -> Vec<Intent> {
        let Some(file) = self.current() else {
            return Vec::new();
        };
        vec![Intent::OpenFile {
            path: file.path.clone(),
            line: self.lines().map(|(first, _)| first),
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

    /// The place as the composer attaches it: `@src/reflow.rs:40-43 `.
    fn comment(&self) -> Vec<Intent> {
        let Some(file) = self.current() else {
            return Vec::new();
        };
        let gone = file.status == crate::protocol::FileStatus::Deleted;
        let text = match self.lines() {
            Some((first, last)) if !gone && first == last => format!("@{}:{first} ", file.path),
            Some((first, last)) if !gone => format!("@{}:{first}-{last} ", file.path),
            _ => format!("{} ", file.path),
        };
        vec![Intent::Quote(text)]
    }
}
