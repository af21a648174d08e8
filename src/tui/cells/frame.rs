//! Where things stand in a cell: margins, the header row, the rows below it.
//!
//! Used by every cell, so that all of them line up.

use ratatui::style::Style;

use crate::protocol::Millis;
use crate::tui::picture::Pictures;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::highlight::Highlights;
use crate::tui::text::link::Links;
use crate::tui::text::markdown::Page;
use crate::tui::text::wrap::{self, Prefix};
use crate::tui::text::{Row, Styled};
use crate::tui::theme::Theme;

/// Columns below which there are no margins.
const NARROW: u16 = 80;

/// Columns of prose at most: longer lines are hard to read.
const MEASURE: usize = 92;

/// The columns of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// All of them.
    pub width: usize,
    /// Where glyphs stand.
    pub glyph: usize,
    /// Where text stands.
    pub text: usize,
    /// Where the right part ends (exclusive).
    pub right: usize,
    /// True below 80 columns.
    pub narrow: bool,
}

impl Geometry {
    /// The columns of a screen of that width.
    pub fn of(width: u16) -> Self {
        let narrow = width < NARROW;
        let width = usize::from(width);
        if narrow {
            Self {
                width,
                glyph: 0,
                text: 2.min(width),
                right: width,
                narrow,
            }
        } else {
            Self {
                width,
                glyph: 2,
                text: 4,
                right: width - 2,
                narrow,
            }
        }
    }

    /// Columns from the text column to the right edge.
    pub const fn room(&self) -> usize {
        self.right.saturating_sub(self.text)
    }

    /// Columns that prose uses.
    pub fn measure(&self) -> usize {
        self.room().min(MEASURE)
    }
}

/// All that a layout depends on besides the cell.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The columns.
    pub geometry: Geometry,
    /// Styles and glyphs.
    pub theme: &'a Theme,
    /// Finished highlighting.
    pub highlights: &'a Highlights,
    /// Addresses.
    pub links: &'a Links,
    /// Pictures, as far as they are known.
    pub pictures: &'a Pictures,
    /// The time.
    pub now: Millis,
    /// The spinner's tick.
    pub spinner: usize,
    /// False: nothing moves.
    pub motion: bool,
    /// True if all of it is to be shown.
    pub unfolded: bool,
    /// The key that unfolds.
    pub key: &'a str,
    /// The key that shows all of an output.
    pub output_key: &'a str,
}

impl<'a> Cx<'a> {
    /// The page that prose of a cell stands on.
    pub fn page(&self) -> Page<'a> {
        Page {
            theme: self.theme,
            highlights: self.highlights,
            links: Some(self.links),
            left: self.geometry.text,
            measure: self.geometry.measure(),
            room: self.geometry.room(),
        }
    }

    /// The spinner's sign, in accent.
    pub fn spin(&self) -> (&'static str, Style) {
        (
            self.theme.glyphs.spin(self.spinner, self.motion),
            self.theme.accent(),
        )
    }

    /// `✗ Ran cargo test                exit 101   6.4s`. The title gives way to the right parts,
    /// of which a narrow screen keeps the first.
    pub fn header(&self, glyph: (&'static str, Style), title: Styled, right: &[Styled]) -> Row {
        let geometry = &self.geometry;
        let mut line = Styled::new();
        line.pad(geometry.glyph);
        line.fixed(glyph.0, glyph.1);
        line.pad(1);
        let gutter = line.len();
        let mut end = Styled::new();
        let kept = if geometry.narrow {
            right.len().min(1)
        } else {
            right.len()
        };
        for part in right.iter().take(kept).filter(|part| !part.is_empty()) {
            if !end.is_empty() {
                end.pad(3);
            }
            end.extend(part);
        }
        let room = geometry.room();
        let wanted = end.columns();
        if wanted == 0 || wanted + 12 > room {
            line.extend(&title.fit(room));
            return Row {
                line,
                gutter,
                ..Row::BLANK
            };
        }
        line.extend(&title.fit(room - wanted - 2));
        let at = line.len();
        let used = line.columns();
        line.pad(geometry.right.saturating_sub(used + wanted));
        line.extend(&end);
        Row {
            line,
            gutter,
            right: Some(at),
            ..Row::BLANK
        }
    }

    /// The bar before what stands below a header.
    pub fn bar(&self) -> Styled {
        let mut bar = Styled::new();
        bar.pad(self.geometry.text);
        bar.fixed(self.theme.glyphs.bar, self.theme.dim());
        bar.pad(1);
        bar
    }

    /// A row below the header, behind a bar: `│ text`.
    pub fn output(&self, pieces: &[(Safe, Style)], rows: &mut Vec<Row>) {
        let dim = self.theme.dim();
        let first = self.bar();
        let mut line = Styled::new();
        for (text, style) in pieces {
            line.push(text, dim.patch(self.theme.fit(*style)));
        }
        let first = Prefix::gutter(first);
        let room = self.geometry.right.saturating_sub(first.line.columns());
        if self.unfolded {
            rows.extend(wrap::chop(
                &line,
                &first,
                &first.clone(),
                self.geometry.right,
            ));
        } else {
            let line = line.fit(room);
            rows.extend(wrap::chop(
                &line,
                &first,
                &first.clone(),
                self.geometry.right,
            ));
        }
    }

    /// `┊ 38 more lines                    ctrl+e`.
    pub fn hidden(&self, words: &Styled, with_key: bool) -> Row {
        self.hidden_by(words, if with_key { self.key } else { "" })
    }

    /// The same for lines that the cell does not hold: `┊ 200 more lines         alt+o`.
    pub fn lost(&self, words: &Styled) -> Row {
        self.hidden_by(words, self.output_key)
    }

    fn hidden_by(&self, words: &Styled, key: &str) -> Row {
        let dim = self.theme.dim();
        let mut line = Styled::new();
        line.pad(self.geometry.text);
        line.fixed(self.theme.glyphs.hidden, dim);
        line.pad(1);
        line.extend(words);
        let gutter = line.len();
        let used = line.columns();
        if !key.is_empty() && used + key.len() + 2 <= self.geometry.right {
            line.pad(self.geometry.right - used - key.len());
            line.push(&Safe::strip(key), dim);
        }
        Row {
            line,
            gutter,
            right: Some(gutter),
            ..Row::BLANK
        }
    }

    /// Prose of a cell, wrapped in one style.
    pub fn prose(&self, text: &str, style: Style, rows: &mut Vec<Row>) {
        let prefix = Prefix::blank(self.geometry.text);
        let width = self.geometry.text + self.geometry.measure();
        for line in Safe::lines(text) {
            rows.extend(wrap::wrap(
                &Styled::of(&line, style),
                &prefix,
                &prefix,
                width,
            ));
        }
    }

    /// A dim piece of text.
    pub fn dim(&self, text: &Safe) -> Styled {
        Styled::of(text, self.theme.dim())
    }
}
