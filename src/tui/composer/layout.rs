//! The text on rows: wrapped to a width, with the column of every place the cursor can stand on.
//!
//! The composer asks for it to draw and to go up and down. Pure; how wide a grapheme is shown is the
//! caller's to say, because a paste chip is one character of the text.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One row of wrapped text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The bytes it shows.
    pub range: Range<usize>,
    /// Byte offset and column of every place the cursor can stand on in this row.
    pub cells: Vec<(usize, usize)>,
}

impl Row {
    const fn at(byte: usize) -> Self {
        Self {
            range: byte..byte,
            cells: Vec::new(),
        }
    }
}

/// Wraps text to `width` columns, at words where it can; `shown` gives the width of a grapheme.
pub fn layout(text: &str, width: usize, shown: impl Fn(&str) -> usize) -> Vec<Row> {
    let width = width.max(2);
    let mut rows = vec![Row::at(0)];
    let mut col = 0;
    // The cell after the row's last space: where it may be broken.
    let mut gap: Option<usize> = None;
    for (at, grapheme) in text.grapheme_indices(true) {
        if grapheme == "\n" || grapheme == "\r\n" {
            if let Some(row) = rows.last_mut() {
                row.cells.push((at, col));
                row.range.end = at;
            }
            rows.push(Row::at(at + grapheme.len()));
            (col, gap) = (0, None);
            continue;
        }
        let wide = shown(grapheme).min(width);
        if grapheme == " " && col + wide > width {
            gap = None;
        }
        while col > 0 && col + wide > width {
            col = break_row(&mut rows, gap.take(), (at, col));
        }
        if let Some(row) = rows.last_mut() {
            row.cells.push((at, col));
            row.range.end = at + grapheme.len();
            col += wide;
            if grapheme == " " {
                gap = Some(row.cells.len());
            }
        }
    }
    if col >= width {
        // The cursor needs a place after a full row.
        rows.push(Row::at(text.len()));
        col = 0;
    }
    if let Some(row) = rows.last_mut() {
        row.cells.push((text.len(), col));
    }
    rows
}

/// Moves what stands after the gap (nothing, without one) into a row of its own; gives its columns.
fn break_row(rows: &mut Vec<Row>, gap: Option<usize>, end: (usize, usize)) -> usize {
    let Some(row) = rows.last_mut() else { return 0 };
    let whole = row.cells.len();
    let moved = row.cells.split_off(
        gap.filter(|cell| (1..whole).contains(cell))
            .unwrap_or(whole),
    );
    let (from, base) = moved.first().copied().unwrap_or(end);
    row.range.end = from;
    let cells = moved
        .into_iter()
        .map(|(byte, col)| (byte, col - base))
        .collect();
    rows.push(Row {
        cells,
        ..Row::at(from)
    });
    end.1 - base
}

/// Row and column of a byte offset in a layout.
pub fn position(rows: &[Row], at: usize) -> (usize, usize) {
    for (index, row) in rows.iter().enumerate() {
        if let Some((_, col)) = row.cells.iter().find(|(byte, _)| *byte == at) {
            return (index, *col);
        }
    }
    (rows.len().saturating_sub(1), 0)
}

/// Columns that a grapheme takes when it is shown as itself.
pub fn grapheme_width(grapheme: &str) -> usize {
    if grapheme == "\t" {
        4
    } else {
        grapheme.width().min(2)
    }
}
