//! Wrapping: a line of styled text to rows of a width.
//!
//! Breaks at spaces and between wide characters; words that are too long are broken by grapheme.
//! Every kind of cell goes through here.

use super::row::{Join, Row, Styled};
use super::width::Graphemes;

/// What stands before the text of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The text.
    pub line: Styled,
    /// How much of it is never copied, in bytes.
    pub gutter: usize,
}

impl Prefix {
    /// Columns of nothing, not copied.
    pub fn blank(columns: usize) -> Self {
        let mut line = Styled::new();
        line.pad(columns);
        Self {
            gutter: line.len(),
            line,
        }
    }

    /// All of it is gutter.
    pub fn gutter(line: Styled) -> Self {
        Self {
            gutter: line.len(),
            line,
        }
    }
}

/// A piece of a line: its bytes and how it goes on from the piece before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// First byte and the byte after the last.
    pub range: std::ops::Range<usize>,
    /// How it goes on.
    pub join: Join,
}

/// Where a text is to be broken: `first` columns for the first piece, `rest` for the others (at
/// least 1 each is used). Gives at least one piece.
pub fn pieces(text: &str, first: usize, rest: usize) -> Vec<Piece> {
    let mut breaker = Breaker {
        pieces: Vec::new(),
        start: 0,
        join: Join::Line,
        column: 0,
        place: None,
    };
    let mut limit = first.max(1);
    let rest = rest.max(1);
    let mut spaces_from = None;
    for g in Graphemes::new(text) {
        let width = usize::from(g.width);
        if g.end == g.start + 1 && text.as_bytes()[g.start] == b' ' {
            let from = *spaces_from.get_or_insert(g.start);
            breaker.column += width;
            if from > breaker.start || breaker.column > limit {
                // Indentation wider than the row is cut to the row.
                let end = if from > breaker.start {
                    from
                } else {
                    from + limit
                };
                breaker.place = Some(Place {
                    end,
                    next: g.end,
                    column: breaker.column,
                });
            }
            continue;
        }
        spaces_from = None;
        while breaker.column + width > limit && g.start > breaker.start {
            breaker.break_before(g.start);
            limit = rest;
        }
        if width == 2 && g.start > breaker.start && breaker.place.is_none_or(|p| p.next < g.start) {
            breaker.place = Some(Place {
                end: g.start,
                next: g.start,
                column: breaker.column,
            });
        }
        breaker.column += width;
        if width == 2 {
            breaker.place = Some(Place {
                end: g.end,
                next: g.end,
                column: breaker.column,
            });
        }
    }
    breaker.finish(text)
}

/// Where the line may be broken: the row ends at `end`, the next one begins at `next`, and `column`
/// columns are then behind it.
#[derive(Debug, Clone, Copy)]
struct Place {
    end: usize,
    next: usize,
    column: usize,
}

struct Breaker {
    pieces: Vec<Piece>,
    start: usize,
    join: Join,
    column: usize,
    place: Option<Place>,
}

impl Breaker {
    fn break_before(&mut self, at: usize) {
        let (end, next, column) = match self.place.take() {
            Some(place) if place.end > self.start => (place.end, place.next, place.column),
            _ => (at, at, self.column),
        };
        self.pieces.push(Piece {
            range: self.start..end,
            join: self.join,
        });
        self.join = if next > end {
            Join::Space
        } else {
            Join::Nothing
        };
        self.start = next;
        self.column -= column;
    }

    fn finish(mut self, text: &str) -> Vec<Piece> {
        let end = text.trim_end_matches(' ').len();
        if self.start < end || self.pieces.is_empty() {
            self.pieces.push(Piece {
                range: self.start.min(end)..end,
                join: self.join,
            });
        }
        self.pieces
    }
}

/// A text in pieces of so many columns, broken at words; blanks at their ends are left out.
pub fn broken(text: &str, room: usize) -> Vec<&str> {
    let pieces = pieces(text, room, room).into_iter();
    let lines = pieces.filter_map(|piece| text.get(piece.range));
    lines.map(str::trim_end).collect()
}

/// Wraps a line into rows of at most `width` columns, prefixes included.
pub fn wrap(line: &Styled, first: &Prefix, rest: &Prefix, width: usize) -> Vec<Row> {
    let room = |prefix: &Prefix| width.saturating_sub(prefix.line.columns());
    let pieces = pieces(line.as_str(), room(first), room(rest));
    rows(line, &pieces, first, rest)
}

/// Breaks a line of code or output by columns alone; spaces are kept.
pub fn chop(line: &Styled, first: &Prefix, rest: &Prefix, width: usize) -> Vec<Row> {
    let room = |prefix: &Prefix| width.saturating_sub(prefix.line.columns()).max(1);
    let mut limit = room(first);
    let mut pieces = Vec::new();
    let (mut start, mut used) = (0, 0);
    let mut join = Join::Line;
    if line.len() > limit {
        for g in Graphemes::new(line.as_str()) {
            let columns = usize::from(g.width);
            if used + columns > limit && g.start > start {
                pieces.push(Piece {
                    range: start..g.start,
                    join,
                });
                join = Join::Nothing;
                (start, used) = (g.start, 0);
                limit = room(rest);
            }
            used += columns;
        }
    }
    pieces.push(Piece {
        range: start..line.len(),
        join,
    });
    rows(line, &pieces, first, rest)
}

fn rows(line: &Styled, pieces: &[Piece], first: &Prefix, rest: &Prefix) -> Vec<Row> {
    pieces
        .iter()
        .enumerate()
        .map(|(n, piece)| {
            let prefix = if n == 0 { first } else { rest };
            let mut row = Styled::new();
            row.extend(&prefix.line);
            row.extend_part(line, piece.range.clone());
            Row {
                line: row,
                gutter: prefix.gutter,
                join: piece.join,
                ..Row::BLANK
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
