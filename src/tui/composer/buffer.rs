//! The text being written: cursor, motions by grapheme and word, kill ring, undo by edit group.
//!
//! `composer` drives it; one-line fields of overlays use it too. A paste chip is one private-use
//! character in the text, so motions, deletions and undo treat it as one thing; `layout` asks the
//! caller how to show such a character. Pure: no clock, no I/O.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

pub use super::layout::{Row, grapheme_width, layout, position};
use super::undo::Undo;

/// Chips are the characters from here on (a plane that no text uses); the offset is the chip's id.
pub const CHIP_BASE: u32 = 0xf_0000;
const CHIP_END: u32 = 0xf_fffd;
const KILLS: usize = 30;

/// The id of the chip that this character stands for.
pub fn chip_id(c: char) -> Option<usize> {
    let code = u32::from(c);
    (CHIP_BASE..=CHIP_END)
        .contains(&code)
        .then(|| (code - CHIP_BASE) as usize)
}

/// What the last edit was, so that edits of one kind are undone together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Group {
    #[default]
    None,
    Typing,
    Deleting,
    Killing,
    Yank(usize, usize),
}

/// Editable text with a cursor.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
    goal: Option<usize>,
    undo: Undo,
    group: Group,
    kills: Vec<String>,
}

impl Buffer {
    /// The text, chips as private-use characters.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte offset of the cursor, on a grapheme boundary.
    pub const fn cursor(&self) -> usize {
        self.cursor
    }

    /// True if nothing is written.
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces everything; the cursor goes to the end. Can be undone.
    pub fn set(&mut self, text: &str) {
        self.remember(Group::None);
        self.splice(0..self.text.len(), text);
    }

    /// What was cut, the newest last.
    pub fn kills(&self) -> &[String] {
        &self.kills
    }

    /// Takes everything out, undo steps too; the kill ring stays.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        self.goal = None;
        self.group = Group::None;
        self.undo.clear();
        std::mem::take(&mut self.text)
    }

    /// Puts the cursor at this byte, or at the end of the grapheme it lies within.
    pub fn move_to(&mut self, at: usize) {
        self.cursor = at;
        self.settle();
        self.moved();
    }

    /// The cursor never stands within a grapheme: an edit may have joined what is around it.
    fn settle(&mut self) {
        let mut at = self.cursor.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        let mut graphemes = GraphemeCursor::new(at, self.text.len(), true);
        if graphemes.is_boundary(&self.text, 0) != Ok(true) {
            let next = graphemes.next_boundary(&self.text, 0);
            at = next.ok().flatten().unwrap_or(self.text.len());
        }
        self.cursor = at;
    }

    /// The one way the text changes: recorded for undo, the cursor behind what was put in.
    fn splice(&mut self, range: Range<usize>, text: &str) {
        let removed = self.text.get(range.clone()).unwrap_or_default().to_owned();
        if removed.is_empty() && text.is_empty() {
            return;
        }
        self.undo.record(range.clone(), &removed, text);
        self.text.replace_range(range.clone(), text);
        self.cursor = range.start + text.len();
        self.settle();
    }

    /// All edits up to `release` are one undo step.
    pub fn hold(&mut self) {
        self.group = Group::None;
        self.undo.hold(self.cursor);
    }

    /// Ends what `hold` began.
    pub fn release(&mut self) {
        self.group = Group::None;
        self.undo.release();
    }

    /// Types text at the cursor.
    pub fn insert(&mut self, text: &str) {
        if text.chars().any(char::is_whitespace) && self.group == Group::Typing {
            // A word is one undo step.
            self.group = Group::None;
        }
        self.remember(Group::Typing);
        self.splice(self.cursor..self.cursor, text);
    }

    /// Puts `text` in place of these bytes, as an undo step of its own.
    pub fn replace(&mut self, range: Range<usize>, text: &str) {
        self.remember(Group::None);
        self.splice(range, text);
    }

    fn remember(&mut self, group: Group) {
        if group == Group::None || group != self.group {
            self.undo.begin(self.cursor);
        }
        self.group = group;
        self.goal = None;
    }

    fn moved(&mut self) {
        self.group = Group::None;
        self.goal = None;
    }

    /// Takes the last edit group back.
    pub fn undo(&mut self) {
        if let Some(cursor) = self.undo.undo(&mut self.text) {
            self.move_to(cursor);
        }
    }

    /// Brings back what undo took.
    pub fn redo(&mut self) {
        if let Some(cursor) = self.undo.redo(&mut self.text) {
            self.move_to(cursor);
        }
    }

    fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn grapheme_left(&self) -> usize {
        self.cursor
            - self
                .before()
                .graphemes(true)
                .next_back()
                .map_or(0, str::len)
    }

    fn grapheme_right(&self) -> usize {
        self.cursor + self.after().graphemes(true).next().map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let words = self.before().split_word_bound_indices();
        let is_word = |(_, word): &(usize, &str)| is_word(word);
        words.rev().find(is_word).map_or(0, |(at, _)| at)
    }

    fn word_right(&self) -> usize {
        let words = self.after().split_word_bound_indices();
        let found = words.into_iter().find(|(_, word)| is_word(word));
        found.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after()
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    /// One grapheme left.
    pub fn left(&mut self) {
        self.move_to(self.grapheme_left());
    }

    /// One grapheme right.
    pub fn right(&mut self) {
        self.move_to(self.grapheme_right());
    }

    /// To the start of the word before.
    pub fn left_word(&mut self) {
        self.move_to(self.word_left());
    }

    /// To the end of the word after.
    pub fn right_word(&mut self) {
        self.move_to(self.word_right());
    }

    /// To the start of the line.
    pub fn home(&mut self) {
        self.move_to(self.line_start());
    }

    /// To the end of the line.
    pub fn end(&mut self) {
        self.move_to(self.line_end());
    }

    /// Deletes the grapheme before the cursor.
    pub fn delete_back(&mut self) {
        let from = self.grapheme_left();
        if from < self.cursor {
            self.remember(Group::Deleting);
            self.splice(from..self.cursor, "");
        }
    }

    /// Deletes the grapheme after the cursor.
    pub fn delete_forward(&mut self) {
        let to = self.grapheme_right();
        if to > self.cursor {
            self.remember(Group::Deleting);
            self.splice(self.cursor..to, "");
        }
    }

    /// Cuts the word before.
    pub fn kill_word_back(&mut self) {
        self.kill(self.word_left()..self.cursor, true);
    }

    /// Cuts the word after.
    pub fn kill_word_forward(&mut self) {
        self.kill(self.cursor..self.word_right(), false);
    }

    /// Cuts to the end of the line; at the end, the line break.
    pub fn kill_to_end(&mut self) {
        let end = self.line_end();
        let end = if end == self.cursor {
            self.grapheme_right()
        } else {
            end
        };
        self.kill(self.cursor..end, false);
    }

    /// Cuts to the start of the line; at the start, the line break before.
    pub fn kill_to_start(&mut self) {
        let start = self.line_start();
        let start = if start == self.cursor {
            self.grapheme_left()
        } else {
            start
        };
        self.kill(start..self.cursor, true);
    }

    fn kill(&mut self, range: Range<usize>, backwards: bool) {
        let Some(cut) = self.text.get(range.clone()).filter(|cut| !cut.is_empty()) else {
            return;
        };
        let cut = cut.to_owned();
        let joins = self.group == Group::Killing;
        self.remember(Group::None);
        self.group = Group::Killing;
        match self.kills.last_mut() {
            Some(last) if joins && backwards => last.insert_str(0, &cut),
            Some(last) if joins => last.push_str(&cut),
            _ => self.kills.push(cut),
        }
        if self.kills.len() > KILLS {
            self.kills.remove(0);
        }
        self.splice(range, "");
    }

    /// Cuts these bytes into the kill ring, as an undo step of its own.
    pub fn cut(&mut self, range: Range<usize>) {
        self.group = Group::None;
        self.kill(range, false);
        self.group = Group::None;
    }

    /// Puts back what was cut last.
    pub fn yank(&mut self) {
        if let Some(newest) = self.kills.len().checked_sub(1) {
            self.put(self.cursor..self.cursor, newest);
        }
    }

    /// After a yank: what was cut before that instead.
    pub fn yank_pop(&mut self) {
        if let Group::Yank(from, which) = self.group {
            let older = which.checked_sub(1).unwrap_or(self.kills.len() - 1);
            self.put(from..self.cursor, older);
        }
    }

    fn put(&mut self, range: Range<usize>, which: usize) {
        let text = self.kills[which].clone();
        let from = range.start;
        self.replace(range, &text);
        self.group = Group::Yank(from, which);
    }

    /// Swaps the graphemes around the cursor.
    pub fn transpose(&mut self) {
        let at = if self.cursor == self.line_end() {
            self.grapheme_left()
        } else {
            self.cursor
        };
        let here = Self {
            text: self.text.clone(),
            cursor: at,
            ..Self::default()
        };
        let (from, to) = (here.grapheme_left(), here.grapheme_right());
        let (Some(left), Some(right)) = (self.text.get(from..at), self.text.get(at..to)) else {
            return;
        };
        if !left.is_empty() && !right.is_empty() && !left.contains('\n') && right != "\n" {
            let swapped = format!("{right}{left}");
            self.replace(from..to, &swapped);
        }
    }

    /// One row up in this layout; false at the first row.
    pub fn up(&mut self, rows: &[Row]) -> bool {
        let (row, col) = position(rows, self.cursor);
        row > 0 && self.go_row(rows, row - 1, col)
    }

    /// One row down in this layout; false at the last row.
    pub fn down(&mut self, rows: &[Row]) -> bool {
        let (row, col) = position(rows, self.cursor);
        row + 1 < rows.len() && self.go_row(rows, row + 1, col)
    }

    fn go_row(&mut self, rows: &[Row], row: usize, col: usize) -> bool {
        let goal = self.goal.unwrap_or(col);
        let cells = &rows[row].cells;
        let spot = cells.iter().rev().find(|(_, at_col)| *at_col <= goal);
        self.cursor = spot.map_or(rows[row].range.start, |(at, _)| *at);
        self.group = Group::None;
        self.goal = Some(goal);
        true
    }
}

fn is_word(word: &str) -> bool {
    word.chars()
        .any(|c| c.is_alphanumeric() || c == '_' || chip_id(c).is_some())
}

#[cfg(test)]
#[path = "buffer_tests.rs"]
mod tests;
