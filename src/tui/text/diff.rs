//! Diffs: a unified diff → hunks → numbered rows.
//!
//! Used by the edit cells, the diff overlay and the permission prompt. Words that changed inside a
//! line are bold and underlined; the code keeps its syntax colours.

mod split;

use std::ops::Range;
use std::sync::Arc;

use ratatui::style::{Modifier, Style};

use super::highlight;
use super::intraline;
use super::markdown::{Page, code};
use super::row::{Row, Styled};
use super::wrap::{self, Prefix};
use crate::protocol::{DiffLine, Hunk, LineKind};
use crate::tui::term::sanitise::{Safe, TAB};

/// Columns of a line number at least.
const NUMBER: usize = 3;

/// The same where the whole screen shows a diff.
const WIDE: usize = 4;

/// Columns of a change that are to be seen at least.
const SIGHT: usize = 12;

/// Lines of a hunk beyond which it has no syntax colours.
const COLOURED: usize = 2_000;

/// The columns of a diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// Both numbers, as in a cell.
    #[default]
    Cell,
    /// One number and no context lines, for narrow screens.
    Narrow,
    /// One number, for narrow columns.
    Slim,
    /// Both numbers in wider columns, for the whole screen.
    Screen,
    /// Before and after side by side.
    Split,
}

/// How a diff is laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// Its columns.
    pub form: Form,
    /// Long lines are broken into rows; else they are cut.
    pub broken: bool,
}

impl Shape {
    const fn is_narrow(self) -> bool {
        matches!(self.form, Form::Narrow)
    }
}

/// A unified diff that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// Its hunks, as far as they are kept.
    pub hunks: Vec<Hunk>,
    /// Lines that are not kept.
    pub dropped: usize,
    /// The file that begins at each of these hunks, with `A`, `M` or `D`; empty if none is named.
    pub files: Vec<(usize, char, String)>,
}

/// Reads a unified diff; what is no hunk is skipped. At most `limit` lines are kept.
pub fn parse(text: &str, limit: usize) -> Parsed {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut files: Vec<(usize, char, String)> = Vec::new();
    let mut before = "";
    let (mut old, mut new, mut left_old, mut left_new) = (0, 0, 0, 0);
    let (mut kept, mut dropped) = (0, 0);
    for line in text.lines() {
        if left_old == 0 && left_new == 0 {
            if let Some(path) = line.strip_prefix("--- ") {
                before = path;
            } else if let Some(after) = line.strip_prefix("+++ ") {
                let (kind, path) = match (before, after) {
                    ("/dev/null", path) => ('A', path),
                    (path, "/dev/null") => ('D', path),
                    (_, path) => ('M', path),
                };
                let bare = path
                    .split_once('/')
                    .filter(|(side, _)| matches!(*side, "a" | "b"));
                files.push((hunks.len(), kind, bare.map_or(path, |(_, p)| p).to_owned()));
            }
            if let Some(head) = line.strip_prefix("@@ ")
                && let Some((from, to, heading)) = header(head)
            {
                (old, left_old) = from;
                (new, left_new) = to;
                hunks.push(Hunk {
                    heading: heading.to_owned(),
                    lines: Vec::new(),
                });
            }
            continue;
        }
        let (kind, text) = match line.split_at_checked(1) {
            Some(("+", text)) => (LineKind::Added, text),
            Some(("-", text)) => (LineKind::Removed, text),
            Some(("\\", _)) => continue,
            Some((" ", text)) => (LineKind::Context, text),
            _ => (LineKind::Context, line),
        };
        let in_old = kind != LineKind::Added;
        let in_new = kind != LineKind::Removed;
        let mut entry = DiffLine {
            kind,
            old: None,
            new: None,
            text: text.to_owned(),
        };
        if in_old {
            entry.old = Some(old);
            old = old.saturating_add(1);
            left_old = left_old.saturating_sub(1);
        }
        if in_new {
            entry.new = Some(new);
            new = new.saturating_add(1);
            left_new = left_new.saturating_sub(1);
        }
        if kept >= limit {
            dropped += 1;
        } else if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(entry);
            kept += 1;
        }
    }
    // Hunks without lines are at the end: what came after the limit.
    hunks.retain(|hunk| !hunk.lines.is_empty());
    files.retain(|(at, ..)| *at < hunks.len());
    Parsed {
        hunks,
        dropped,
        files,
    }
}

/// First line and number of lines.
type Lines = (u32, u32);

/// `-41,3 +41,6 @@ heading`: starts and counts.
fn header(text: &str) -> Option<(Lines, Lines, &str)> {
    let (ranges, heading) = text.split_once("@@").unwrap_or((text, ""));
    let mut parts = ranges.split_whitespace();
    let range = |part: &str| {
        let (start, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let old = range(parts.next()?.strip_prefix('-')?)?;
    let new = range(parts.next()?.strip_prefix('+')?)?;
    Some((old, new, heading.trim()))
}

/// Lines added and removed.
pub fn count(hunks: &[Hunk]) -> (u32, u32) {
    let of = |kind| {
        hunks
            .iter()
            .flat_map(|h| &h.lines)
            .filter(|line| line.kind == kind)
            .count() as u32
    };
    (of(LineKind::Added), of(LineKind::Removed))
}

/// Lays out hunks as numbered rows; `language` is a file name or extension for the colours.
pub fn rows(hunks: &[Hunk], language: &str, shape: Shape, page: &Page<'_>) -> Vec<Row> {
    let layout = Layout::of(hunks, language, shape, page);
    let mut rows = Vec::new();
    let mut last: Option<u32> = None;
    for hunk in hunks {
        let first = hunk.lines.iter().find_map(|line| line.new);
        if let (Some(last), Some(first), false) = (last, first, shape.is_narrow()) {
            rows.push(layout.gap(first.saturating_sub(last + 1)));
        }
        layout.part(hunk, (0, usize::MAX), &mut rows);
        last = hunk.lines.iter().rev().find_map(|line| line.new).or(last);
    }
    rows
}

/// What all lines of a file's diff share: columns of numbers, the margin they have in common.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    language: &'a str,
    shape: Shape,
    page: &'a Page<'a>,
    digits: usize,
    /// Columns that every line is indented by: not shown.
    margin: usize,
}

impl<'a> Layout<'a> {
    /// For these hunks of one file.
    pub fn of(hunks: &[Hunk], language: &'a str, shape: Shape, page: &'a Page<'a>) -> Self {
        let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
        let digits = lines()
            .filter_map(|line| line.old.max(line.new))
            .max()
            .map_or(0, |n| n.to_string().len());
        let margin = lines()
            .filter(|line| !line.text.trim().is_empty())
            .map(|line| indentation(&line.text))
            .min()
            .unwrap_or(0);
        Self {
            language,
            shape,
            page,
            digits: digits.max(if shape.form == Form::Screen {
                WIDE
            } else {
                NUMBER
            }),
            margin,
        }
    }

    fn gap(&self, lines: u32) -> Row {
        let theme = self.page.theme;
        let mut line = Styled::new();
        line.pad(self.page.left);
        line.fixed(theme.glyphs.hidden, theme.dim());
        if lines > 0 {
            line.fixed(" ", theme.dim());
            line.push(&Safe::from(u64::from(lines)), theme.dim());
            line.fixed(
                if lines == 1 {
                    " unchanged line"
                } else {
                    " unchanged lines"
                },
                theme.dim(),
            );
        }
        Row {
            gutter: line.len(),
            line,
            ..Row::BLANK
        }
    }

    /// Lines of a hunk, from one of them on, until there are so many rows.
    pub fn part(&self, hunk: &Hunk, (from, most): (usize, usize), rows: &mut Vec<Row>) {
        if self.shape.form == Form::Split {
            return self.facing(hunk, (from, most), rows);
        }
        let paint = Paint::of(self, hunk);
        for (at, line) in hunk.lines.iter().enumerate().skip(from) {
            if rows.len() >= most {
                return;
            }
            if !(self.shape.is_narrow() && line.kind == LineKind::Context) {
                let differs = paint.differs.get(at).copied().flatten();
                self.line(line, (paint.code(self, hunk, at), differs), rows);
            }
        }
    }

    /// One line; `differs` is the byte at which it begins to differ from its other side.
    fn line(&self, line: &DiffLine, (code, differs): (Styled, Option<usize>), rows: &mut Vec<Row>) {
        let (sign, ink, tint) = self.sign(line.kind);
        let mut gutter = Styled::new();
        gutter.pad(self.page.left);
        if matches!(self.shape.form, Form::Narrow | Form::Slim) {
            self.number(&mut gutter, line.new.or(line.old));
            gutter.pad(1);
            gutter.fixed(sign, ink);
            gutter.pad(1);
        } else {
            self.number(&mut gutter, line.old);
            gutter.pad(1);
            self.number(&mut gutter, line.new);
            gutter.pad(2);
            gutter.fixed(sign, ink);
            gutter.pad(3);
        }
        let width = self.page.left + self.page.room;
        let rest = Prefix::blank(gutter.columns());
        let room = width.saturating_sub(gutter.columns());
        let first = Prefix::gutter(gutter);
        let code = if self.shape.broken {
            code
        } else {
            self.in_sight(line, code, differs, room)
        };
        let fill = (line.kind != LineKind::Context).then_some(tint);
        rows.extend(
            wrap::chop(&code, &first, &rest, width)
                .into_iter()
                .map(|row| Row { fill, ..row }),
        );
    }

    /// A line in the room there is: where its change lies beyond the edge, its beginning gives way.
    fn in_sight(
        &self,
        line: &DiffLine,
        code: Styled,
        differs: Option<usize>,
        room: usize,
    ) -> Styled {
        let before = differs.and_then(|at| line.text.get(..at));
        let column = before
            .map_or(0, super::width::columns)
            .saturating_sub(self.margin);
        let tabs = line.text.contains('\t');
        if tabs || code.columns() <= room || column + SIGHT <= room {
            return code.fit(room);
        }
        // The change stands in the middle of the row.
        let skip = super::width::fitting(code.as_str(), column.saturating_sub(room / 2)).0;
        let mut shown = Styled::new();
        shown.fixed("…", self.page.theme.dim());
        shown.extend_part(&code, skip..code.len());
        shown.fit(room)
    }

    fn sign(&self, kind: LineKind) -> (&'static str, Style, Style) {
        let theme = self.page.theme;
        match kind {
            LineKind::Added => (theme.glyphs.plus, theme.good(), theme.tint_added()),
            LineKind::Removed => (theme.glyphs.minus, theme.bad(), theme.tint_removed()),
            LineKind::Context => (" ", theme.dim(), Style::new()),
        }
    }

    fn number(&self, line: &mut Styled, number: Option<u32>) {
        let Some(number) = number else {
            return line.pad(self.digits);
        };
        let text = Safe::from(u64::from(number));
        line.pad(self.digits.saturating_sub(text.as_str().len()));
        line.push(&text, self.page.theme.dim());
    }
}

/// The colours of a hunk's two sides, and its changed words.
struct Paint {
    before: Option<Arc<highlight::Painted>>,
    after: Option<Arc<highlight::Painted>>,
    marks: Vec<Vec<Range<usize>>>,
    /// Where each changed line begins to differ from its other side.
    differs: Vec<Option<usize>>,
    /// The line of its side, for each line of the hunk.
    places: Vec<usize>,
}

impl Paint {
    fn of(layout: &Layout<'_>, hunk: &Hunk) -> Self {
        let side = |without: LineKind| {
            if hunk.lines.len() > COLOURED {
                return None;
            }
            let mut text = String::new();
            for line in hunk.lines.iter().filter(|line| line.kind != without) {
                text.push_str(&line.text);
                text.push('\n');
            }
            let key = highlight::key(layout.language, &text);
            layout.page.highlights.get(key, layout.language, || text)
        };
        let (mut old, mut new) = (0, 0);
        let place = |line: &DiffLine| {
            let place = if line.kind == LineKind::Removed {
                old
            } else {
                new
            };
            old += usize::from(line.kind != LineKind::Added);
            new += usize::from(line.kind != LineKind::Removed);
            place
        };
        let (marks, differs) = marks(&hunk.lines);
        Self {
            before: side(LineKind::Added),
            after: side(LineKind::Removed),
            places: hunk.lines.iter().map(place).collect(),
            marks,
            differs,
        }
    }

    /// The code of a line: coloured, changed words marked, without the common margin.
    fn code(&self, layout: &Layout<'_>, hunk: &Hunk, at: usize) -> Styled {
        let Some(line) = hunk.lines.get(at) else {
            return Styled::new();
        };
        let painted = match line.kind {
            LineKind::Removed => &self.before,
            LineKind::Added | LineKind::Context => &self.after,
        };
        let place = self.places.get(at).copied().unwrap_or_default();
        let runs = painted.as_deref().and_then(|p| p.line(place));
        let mut code = code::styled(&line.text, runs, layout.page);
        // Where a byte of the line is shown: tabs have become blanks, other things are gone.
        let shown_at = |byte: usize| {
            let before = line.text.get(..byte).unwrap_or(&line.text);
            Safe::strip(before).as_str().len()
        };
        for range in self.marks.get(at).into_iter().flatten() {
            let over = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
            code.patch_part(shown_at(range.start)..shown_at(range.end), over);
        }
        let mut shown = Styled::new();
        let cut = super::width::fitting(code.as_str(), layout.margin).0;
        shown.extend_part(&code, cut..code.len());
        if line.kind == LineKind::Context {
            shown.faded(layout.page.theme.dim())
        } else {
            shown
        }
    }
}

/// Columns of white space at the start, tabs expanded.
fn indentation(text: &str) -> usize {
    let mut columns = 0;
    for c in text.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += TAB - columns % TAB,
            _ => break,
        }
    }
    columns
}

/// The changed words of each line, and where it begins to differ: runs of removed lines against the
/// added lines that follow.
fn marks(lines: &[DiffLine]) -> (Vec<Vec<Range<usize>>>, Vec<Option<usize>>) {
    let mut marks = vec![Vec::new(); lines.len()];
    let mut differs = vec![None; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind: LineKind| {
            lines[from..]
                .iter()
                .take_while(|line| line.kind == kind)
                .count()
        };
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        for n in 0..removed.min(added) {
            let (old, new) = (at + n, at + removed + n);
            let (a, b) = intraline::ranges(&lines[old].text, &lines[new].text);
            marks[old] = a;
            marks[new] = b;
            let same = intraline::common(&lines[old].text, &lines[new].text);
            (differs[old], differs[new]) = (Some(same), Some(same));
        }
        at += (removed + added).max(1);
    }
    (marks, differs)
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
