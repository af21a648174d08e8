//! An image or a document: its name, kind and size, and the picture itself where the terminal shows
//! pictures.
//!
//! The rows of a picture are half-blocks, or kitty's placeholders: text as far as scrolling, moving
//! and covering go. Where pixels are painted over cells, the half-blocks stand under them.

use ratatui::style::{Color, Style};

use super::frame::Cx;
use crate::protocol::{FilePart, FileSource, PartId};
use crate::tui::picture::way::Way;
use crate::tui::picture::{self, Look, Made};
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{PictureRow, Row, Styled};

/// Stands for one cell of a picture (kitty).
const PLACEHOLDER: char = '\u{10EEEE}';

/// The marks that number a picture's rows and columns, from 0 (kitty's table).
const MARKS: [char; 30] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}',
    '\u{346}', '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35b}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}',
];

/// An image or a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCell {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// True if the user attached it.
    pub attached: bool,
    /// Where its bytes are.
    pub source: FileSource,
    /// The call that brought it, and which of its files it is.
    pub of: Option<(PartId, usize)>,
}

impl FileCell {
    /// The cell of a file.
    pub fn of(file: &FilePart, attached: bool) -> Self {
        Self {
            name: file.name.clone(),
            mime: file.mime.clone(),
            attached,
            source: file.source.clone(),
            of: None,
        }
    }

    /// True if a picture can be shown.
    pub fn is_picture(&self) -> bool {
        self.mime.starts_with("image/")
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let look = if self.is_picture() {
            cx.pictures.look(&self.source, most(cx))
        } else {
            Look::Words
        };
        let mut title = Styled::new();
        let kind = if self.is_picture() { "Image " } else { "File " };
        title.fixed(kind, theme.dim());
        title.push(&Safe::strip(&self.name), theme.default());
        let kind = self.mime.rsplit('/').next().unwrap_or_default();
        let mut right = vec![cx.dim(&Safe::strip(kind))];
        match &look {
            Look::Ready(made) => {
                let (width, height) = made.pixels;
                let size = Safe::strip(&format!("{width}×{height}"));
                right.insert(0, cx.dim(&size));
            }
            Look::Failed(why) => {
                let why = format!("not shown: {why}");
                right.insert(0, Styled::of(&Safe::strip(&why), theme.amber()));
            }
            Look::Words | Look::Coming => {}
        }
        let mut rows = vec![cx.header((theme.glyphs.file, theme.dim()), title, &right)];
        if let Look::Ready(made) = look {
            rows.extend((0..made.rows).map(|row| picture_row(&made, row, cx)));
        }
        if self.attached {
            for row in &mut rows {
                row.fill = Some(theme.tint_user());
            }
        }
        rows
    }
}

/// Columns and rows that the picture may take.
fn most(cx: &Cx<'_>) -> (u16, u16) {
    let room = u16::try_from(cx.geometry.room()).unwrap_or(u16::MAX);
    if cx.unfolded {
        return (room, picture::UNFOLDED_ROWS);
    }
    (picture::FOLDED.0.min(room), picture::FOLDED.1)
}

fn picture_row(made: &Made, row: u16, cx: &Cx<'_>) -> Row {
    let mut line = Styled::new();
    line.pad(cx.geometry.text);
    if made.way == Way::Kitty {
        let [_, r, g, b] = made.id.to_be_bytes();
        let style = Style::new().fg(Color::Rgb(r, g, b));
        line.repeat(PLACEHOLDER, 1, style);
        // The first one says row and column; each of the others stands one further than its left.
        line.repeat(MARKS[usize::from(row) % MARKS.len()], 1, style);
        line.repeat(MARKS[0], 1, style);
        line.repeat(PLACEHOLDER, usize::from(made.cols) - 1, style);
    } else {
        let cols = usize::from(made.cols);
        let half = |n: usize| made.halves.iter().skip((usize::from(row) * 2 + n) * cols);
        for (upper, lower) in half(0).zip(half(1)).take(cols) {
            let colour = |[r, g, b]: [u8; 3]| Color::Rgb(r, g, b);
            let style = Style::new().fg(colour(*upper)).bg(colour(*lower));
            line.repeat('▀', 1, cx.theme.paint(style));
        }
    }
    Row {
        gutter: line.len(),
        line,
        picture: Some(PictureRow {
            id: made.id,
            row,
            column: cx.geometry.text as u16,
        }),
        ..Row::BLANK
    }
}
