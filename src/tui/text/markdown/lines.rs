//! The rows that the Markdown writer puts out: gaps between blocks, and what stands before each row.
//!
//! Half of the writer: its other half says what is in the rows.

use ratatui::style::Style;

use super::{Frame, Writer, code};
use crate::tui::text::row::{Row, Styled};
use crate::tui::text::wrap::{self, Prefix};

impl Writer<'_> {
    /// A block begins: what stood open before it (the text of a tight item) is written.
    pub(super) fn open_block(&mut self) {
        self.flush();
        if self.gap && !self.rows.is_empty() {
            let blank = self.prefix(false);
            self.rows.push(Row {
                gutter: blank.line.len(),
                line: blank.line,
                ..Row::BLANK
            });
        }
        self.gap = false;
    }

    pub(super) fn close_block(&mut self) {
        self.gap = true;
    }

    /// An item without text still shows its marker.
    pub(super) fn empty_item(&mut self) {
        if let Some(Frame::Item {
            marker: Some(_), ..
        }) = self.frames.last()
        {
            let prefix = self.prefix(true);
            self.rows.push(Row {
                gutter: prefix.gutter,
                line: prefix.line,
                ..Row::BLANK
            });
        }
    }

    /// Columns of the containers' prefixes.
    pub(super) fn depth(&self) -> usize {
        self.frames
            .iter()
            .map(|frame| match frame {
                Frame::Quote => 2,
                Frame::List { .. } => 0,
                Frame::Item { indent, .. } => *indent,
            })
            .sum()
    }

    /// What stands before the next row; the first row of an item takes its marker.
    fn prefix(&mut self, take: bool) -> Prefix {
        let theme = self.page.theme;
        let mut line = Styled::new();
        line.pad(self.page.left);
        let mut gutter = line.len();
        let mut all_gutter = true;
        for frame in &mut self.frames {
            match frame {
                Frame::Quote => {
                    line.fixed(theme.glyphs.bar, theme.dim());
                    line.fixed(" ", Style::new());
                }
                Frame::List { .. } => continue,
                Frame::Item { marker, indent } => match marker.take_if(|_| take) {
                    Some(marker) => {
                        line.extend(&marker);
                        all_gutter = false;
                    }
                    None => line.pad(*indent),
                },
            }
            if all_gutter {
                gutter = line.len();
            }
        }
        Prefix { line, gutter }
    }

    /// Writes the open line, wrapped as prose.
    pub(super) fn flush(&mut self) {
        if self.line.is_empty() || self.table.is_some() {
            return;
        }
        if self.gap {
            self.gap = false;
            if !self.rows.is_empty() {
                let blank = self.prefix(false);
                self.rows.push(Row {
                    gutter: blank.line.len(),
                    line: blank.line,
                    ..Row::BLANK
                });
            }
        }
        let line = std::mem::take(&mut self.line);
        let first = self.prefix(true);
        let rest = self.prefix(false);
        let width = self.page.left + self.page.measure;
        self.rows.extend(wrap::wrap(&line, &first, &rest, width));
    }

    /// Writes a line that is already laid out.
    pub(super) fn whole(&mut self, line: &Styled) {
        let prefix = self.prefix(true);
        let mut row = prefix.line;
        row.extend(line);
        self.rows.push(Row {
            line: row,
            gutter: prefix.gutter,
            ..Row::BLANK
        });
    }

    pub(super) fn code_block(&mut self, language: &str, text: &str) {
        let lines = code::lines(language, text, self.page);
        let width = self.page.left + self.page.room;
        for line in lines {
            let mut first = self.prefix(true);
            let mut rest = self.prefix(false);
            code::indent(&mut first, self.page, false);
            code::indent(&mut rest, self.page, true);
            self.rows.extend(wrap::chop(&line, &first, &rest, width));
        }
    }
}
