//! `Styled` and `Row`: text with style, and one row of a layout.
//!
//! Made by wrap, Markdown, diff and the cells; drawn and copied by the transcript. Text gets in as
//! `Safe` or as a literal only.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::width;
use crate::tui::term::sanitise::Safe;

/// Text in runs of one style each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Styled {
    text: String,
    /// End of each run in bytes, and its style.
    runs: Vec<(u32, Style)>,
}

impl Styled {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            text: String::new(),
            runs: Vec::new(),
        }
    }

    /// One run.
    pub fn of(text: &Safe, style: Style) -> Self {
        let mut line = Self::new();
        line.push(text, style);
        line
    }

    /// Appends text.
    pub fn push(&mut self, text: &Safe, style: Style) {
        self.append(text.as_str(), style);
    }

    /// Appends a literal.
    pub fn fixed(&mut self, text: &'static str, style: Style) {
        self.append(text, style);
    }

    /// Appends spaces.
    pub fn pad(&mut self, columns: usize) {
        self.repeat(' ', columns, Style::new());
    }

    /// Appends a sign of this program so often.
    pub fn repeat(&mut self, sign: char, times: usize, style: Style) {
        if times > 0 {
            self.text.extend(std::iter::repeat_n(sign, times));
            self.close(style);
        }
    }

    /// Appends another line.
    pub fn extend(&mut self, other: &Self) {
        for (text, style) in other.runs() {
            self.append(text, style);
        }
    }

    /// Appends a part of another line, by bytes.
    pub fn extend_part(&mut self, other: &Self, part: std::ops::Range<usize>) {
        let mut start = 0;
        for (end, style) in &other.runs {
            let end = *end as usize;
            let from = start.max(part.start);
            let to = end.min(part.end);
            if from < to
                && let Some(text) = other.text.get(from..to)
            {
                self.append(text, *style);
            }
            start = end;
        }
    }

    fn append(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.close(style);
        }
    }

    fn close(&mut self, style: Style) {
        let end = self.text.len() as u32;
        match self.runs.last_mut() {
            Some((last, same)) if *same == style => *last = end,
            _ => self.runs.push((end, style)),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        width::columns(&self.text)
    }

    /// The runs in order.
    pub fn runs(&self) -> impl Iterator<Item = (&str, Style)> {
        let mut start = 0;
        self.runs.iter().map(move |(end, style)| {
            let text = self.text.get(start..*end as usize).unwrap_or_default();
            start = *end as usize;
            (text, *style)
        })
    }

    /// Lays a style over all of it: what it leaves open stays.
    #[must_use]
    pub fn patched(mut self, over: Style) -> Self {
        for (_, style) in &mut self.runs {
            *style = style.patch(over);
        }
        self
    }

    /// Makes all of it faint; where faint ink is a colour, what has one already keeps its own.
    #[must_use]
    pub fn faded(mut self, dim: Style) -> Self {
        for (_, style) in &mut self.runs {
            if dim.fg.is_none() || style.fg.is_none() {
                *style = style.patch(dim);
            }
        }
        self
    }

    /// Lays a style over some bytes.
    pub fn patch_part(&mut self, part: std::ops::Range<usize>, over: Style) {
        let mut changed = Self::new();
        let mut start = 0;
        for (text, style) in self.runs() {
            let end = start + text.len();
            let from = part.start.clamp(start, end) - start;
            let to = part.end.clamp(start, end) - start;
            for (piece, style) in [
                (text.get(..from), style),
                (text.get(from..to), style.patch(over)),
                (text.get(to.max(from)..), style),
            ] {
                changed.append(piece.unwrap_or_default(), style);
            }
            start = end;
        }
        *self = changed;
    }

    /// What fits into so many columns, with `…` if that is not all.
    #[must_use]
    pub fn fit(self, columns: usize) -> Self {
        if self.columns() <= columns {
            return self;
        }
        let (bytes, _) = width::fitting(&self.text, columns.saturating_sub(1));
        let mut cut = Self::new();
        cut.extend_part(&self, 0..bytes);
        if columns > 0 {
            let style = self.runs.last().map_or(Style::new(), |(_, style)| *style);
            cut.fixed("…", style);
        }
        cut
    }

    /// Bytes of memory.
    pub fn weight(&self) -> usize {
        self.text.capacity() + self.runs.capacity() * size_of::<(u32, Style)>()
    }
}

/// How a row goes on from the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Join {
    /// It begins a line.
    #[default]
    Line,
    /// The line was wrapped at a space.
    Space,
    /// The line was broken inside a word.
    Nothing,
}

/// A row of a picture: which picture, and which of its rows. It stands behind the gutter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureRow {
    /// Its number.
    pub id: u32,
    /// From 0.
    pub row: u16,
    /// The column where it begins.
    pub column: u16,
}

/// One row of a layout, with all columns of its margin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// What it shows.
    pub line: Styled,
    /// Bytes at its start that are never copied: margin, signs, line numbers.
    pub gutter: usize,
    /// Byte where the part at the right edge begins, its padding included.
    pub right: Option<usize>,
    /// How it goes on from the row before.
    pub join: Join,
    /// Laid behind the whole width.
    pub fill: Option<Style>,
    /// Set if a picture shows here: such rows are no text.
    pub picture: Option<PictureRow>,
}

impl Row {
    /// A blank row.
    pub const BLANK: Self = Self {
        line: Styled::new(),
        gutter: 0,
        right: None,
        join: Join::Line,
        fill: None,
        picture: None,
    };

    /// Draws it from column `x` on, at most `width` columns.
    pub fn draw(&self, (x, y): (u16, u16), width: u16, buf: &mut Buffer) {
        if let Some(fill) = self.fill {
            buf.set_style(ratatui::layout::Rect::new(x, y, width, 1), fill);
        }
        let (mut at, end) = (x, x.saturating_add(width));
        for (text, style) in self.line.runs() {
            if at >= end {
                break;
            }
            at = put(buf, (at, y), text, end, style);
        }
    }

    /// What a selection of these columns copies: no gutter, the space before the right part
    /// shortened.
    pub fn copy(&self, columns: std::ops::Range<usize>) -> String {
        let text = self.line.as_str();
        let from = width::byte_at(text, columns.start).max(self.gutter);
        let to = width::byte_at(text, columns.end).max(from);
        let cut = |range| text.get(range).unwrap_or_default();
        match self.right {
            Some(right) if from < right && to > right => {
                let tail = cut(right..to).trim_start();
                let gap = if tail.is_empty() { "" } else { "  " };
                format!("{}{gap}{tail}", cut(from..right).trim_end())
            }
            _ => cut(from..to).trim_end().to_owned(),
        }
    }

    /// What the row says without its gutter.
    pub fn content(&self) -> &str {
        self.line.as_str().get(self.gutter..).unwrap_or_default()
    }

    /// Bytes of memory.
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.line.weight()
    }
}

/// Puts text up to a column, gives the column after it. Nearly all text is ASCII: it needs no search
/// for graphemes, which is most of what a frame would cost.
fn put(buf: &mut Buffer, (x, y): (u16, u16), text: &str, end: u16, style: Style) -> u16 {
    let room = usize::from(end.min(buf.area.right()).saturating_sub(x));
    let shown = text.get(..room.min(text.len())).unwrap_or_default();
    let plain = text.is_ascii() && !shown.bytes().any(|b| b.is_ascii_control());
    if !plain || shown.is_empty() {
        return buf.set_stringn(x, y, text, room, style).0;
    }
    let first = buf.index_of(x, y);
    let cells = buf.content.iter_mut().skip(first);
    for (at, cell) in cells.take(shown.len()).enumerate() {
        cell.set_symbol(shown.get(at..=at).unwrap_or_default());
        cell.set_style(style);
    }
    x + shown.len() as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Modifier;

    fn styled(pieces: &[(&'static str, Style)]) -> Styled {
        let mut line = Styled::new();
        for (text, style) in pieces {
            line.fixed(text, *style);
        }
        line
    }

    #[test]
    fn fit_cuts_by_columns_and_says_so() {
        let line = styled(&[("日本", Style::new()), ("語", Style::new().bold())]);
        assert_eq!(line.clone().fit(6).as_str(), "日本語");
        assert_eq!(line.clone().fit(5).as_str(), "日本…");
        assert_eq!(line.clone().fit(4).as_str(), "日…");
        assert_eq!(line.fit(0).as_str(), "");
    }

    #[test]
    fn a_patch_touches_its_bytes_only() {
        let mut line = styled(&[("abc", Style::new()), ("def", Style::new().italic())]);
        line.patch_part(2..4, Style::new().bold());
        let runs: Vec<_> = line.runs().map(|(t, s)| (t, s.add_modifier)).collect();
        assert_eq!(
            runs,
            [
                ("ab", Modifier::empty()),
                ("c", Modifier::BOLD),
                ("d", Modifier::BOLD | Modifier::ITALIC),
                ("ef", Modifier::ITALIC),
            ]
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

        #[test]
        fn the_short_way_draws_what_the_library_draws(
            text in "[ -~]{0,12}[a-zé日👍\u{1}]{0,3}[ -~]{0,6}",
            x in 0_u16..12,
            end in 0_u16..24,
        ) {
            let area = ratatui::layout::Rect::new(0, 0, 20, 2);
            let (mut mine, mut theirs) = (Buffer::empty(area), Buffer::empty(area));
            let style = Style::new().bold();
            let room = usize::from(end.saturating_sub(x));
            let at = put(&mut mine, (x, 1), &text, end, style);
            let to = theirs.set_stringn(x, 1, &text, room, style).0;
            proptest::prop_assert_eq!((at, mine), (to, theirs));
        }
    }

    #[test]
    fn copying_leaves_the_gutter_and_shortens_the_gap() {
        let row = Row {
            line: styled(&[
                ("  ✗ ", Style::new()),
                ("Ran x", Style::new()),
                ("        6.4s", Style::new()),
            ]),
            gutter: "  ✗ ".len(),
            right: Some("  ✗ Ran x".len()),
            ..Row::BLANK
        };
        assert_eq!(row.copy(0..100), "Ran x  6.4s");
        assert_eq!(row.copy(0..9), "Ran x");
        assert_eq!(row.copy(8..100), "x  6.4s");
        assert_eq!(row.copy(0..2), "");
    }
}
