//! Vim's keys as a layer over the buffer: normal, insert and visual mode.
//!
//! `update::keys` asks it before the key table; what it does not know passes on, so that Enter, the
//! control keys and the lists above the composer work as ever. Off by default (⚙ `ui.vim`, `/vim`).
//! The text and its undo steps are the buffer's; here are modes, pending keys and the register.

mod motion;
mod object;
mod parse;
mod perform;

use std::ops::Range;

use super::buffer::Buffer;
use crate::tui::input::{Code, Key, Mods};
use motion::{Find, next};
use parse::{Action, Command, Operator, Parsed, REDO, parse};

/// What the keys mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// They are text.
    #[default]
    Insert,
    /// They are commands.
    Normal,
    /// They move the end of a selection, or do something to it.
    Visual {
        /// Where it began.
        anchor: usize,
        /// Whole lines.
        lines: bool,
    },
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is not vim's: the key table has it.
    Pass,
    /// It was done, or waits for the next one.
    Done,
    /// Over the first or last line: the prompt before (true) or after.
    History(bool),
}

#[derive(Debug, Clone, Default)]
struct Register {
    text: String,
    lines: bool,
}

/// The last change, for `.`.
#[derive(Debug, Clone, Default)]
struct Change {
    keys: Vec<char>,
    inserted: String,
}

/// An insertion that a command began.
#[derive(Debug, Clone, Copy)]
struct Inserting {
    start: usize,
    /// Bytes after the cursor when it began.
    tail: usize,
    count: usize,
    /// Each repetition is a line of its own (`o`, `O`).
    line: bool,
}

/// Modes, pending keys, register.
#[derive(Debug, Clone, Default)]
pub struct Vim {
    mode: Mode,
    keys: Vec<char>,
    goal: Option<usize>,
    find: Option<Find>,
    register: Register,
    last: Option<Change>,
    inserting: Option<Inserting>,
}

impl Vim {
    /// What the keys mean now.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The mode's word for the footer.
    pub const fn word(&self) -> &'static str {
        match self.mode {
            Mode::Insert => "insert",
            Mode::Normal => "normal",
            Mode::Visual { lines: false, .. } => "visual",
            Mode::Visual { lines: true, .. } => "visual line",
        }
    }

    /// The keys of an unfinished command, for the footer.
    pub fn pending(&self) -> String {
        self.keys.iter().filter(|c| !c.is_control()).collect()
    }

    /// The text was sent or replaced: the next one is written.
    pub fn reset(&mut self) {
        self.mode = Mode::Insert;
        self.keys.clear();
        self.inserting = None;
        self.goal = None;
    }

    /// The text was replaced from outside: nothing is selected any more.
    pub fn deselect(&mut self) {
        self.keys.clear();
        self.inserting = None;
        if matches!(self.mode, Mode::Visual { .. }) {
            self.mode = Mode::Normal;
        }
    }

    /// The selected bytes, if something is selected.
    pub fn selection(&self, buffer: &Buffer) -> Option<Range<usize>> {
        let Mode::Visual { anchor, lines } = self.mode else {
            return None;
        };
        let text = buffer.text();
        // Keys that are not vim's may have changed the text since.
        let mut anchor = anchor.min(text.len());
        while !text.is_char_boundary(anchor) {
            anchor -= 1;
        }
        let (from, to) = (anchor.min(buffer.cursor()), anchor.max(buffer.cursor()));
        Some(if lines {
            motion::line(text, from).start..motion::line(text, to).end
        } else {
            from..next(text, to)
        })
    }

    /// A key.
    pub fn key(&mut self, key: Key, buffer: &mut Buffer) -> Answer {
        let bracket = Key::new(Code::Char('['), Mods::CTRL);
        let escape = key == Key::plain(Code::Esc) || key == bracket;
        if self.mode == Mode::Insert {
            return if escape {
                self.leave_insert(buffer)
            } else {
                Answer::Pass
            };
        }
        if escape {
            return self.escape();
        }
        let Some(letter) = letter(key) else {
            self.keys.clear();
            return Answer::Pass;
        };
        if buffer.is_empty()
            && self.keys.is_empty()
            && matches!(letter, '/' | '!' | '@' | '$' | '?')
        {
            // There is nothing to move in: these begin a command, a mention, help.
            self.mode = if letter == '?' {
                self.mode
            } else {
                Mode::Insert
            };
            return Answer::Pass;
        }
        self.keys.push(letter);
        match parse(&self.keys, matches!(self.mode, Mode::Visual { .. })) {
            Parsed::More => Answer::Done,
            Parsed::Wrong => {
                self.keys.clear();
                Answer::Done
            }
            Parsed::Whole(command) => self.command(command, buffer),
        }
    }

    fn escape(&mut self) -> Answer {
        if !self.keys.is_empty() {
            self.keys.clear();
            return Answer::Done;
        }
        if matches!(self.mode, Mode::Visual { .. }) {
            self.mode = Mode::Normal;
            return Answer::Done;
        }
        Answer::Pass
    }

    /// Insert mode ends. On an empty text the key goes on: it may stop a turn.
    fn leave_insert(&mut self, buffer: &mut Buffer) -> Answer {
        let empty = buffer.is_empty();
        self.end_insert(buffer);
        if empty { Answer::Pass } else { Answer::Done }
    }

    fn end_insert(&mut self, buffer: &mut Buffer) {
        if let Some(begun) = self.inserting.take() {
            let end = buffer.text().len().saturating_sub(begun.tail);
            let typed = buffer.text().get(begun.start..end).unwrap_or_default();
            let typed = typed.to_owned();
            let again = if begun.line {
                format!("\n{typed}")
            } else {
                typed.clone()
            };
            buffer.insert(&again.repeat(begun.count.saturating_sub(1)));
            if let Some(last) = &mut self.last {
                last.inserted = typed;
            }
        }
        buffer.release();
        self.mode = Mode::Normal;
        let (text, at) = (buffer.text(), buffer.cursor());
        if at > motion::line(text, at).start {
            let back = motion::prev(text, at);
            buffer.move_to(back);
        }
    }

    /// Does a whole command and remembers it for `.` if it changes the text.
    fn command(&mut self, command: Command, buffer: &mut Buffer) -> Answer {
        let keys = std::mem::take(&mut self.keys);
        if command.action == Action::Repeat {
            self.again(command.count, buffer);
            return Answer::Done;
        }
        let visual = matches!(self.mode, Mode::Visual { .. });
        if !visual && changes(command.action) {
            let inserted = String::new();
            self.last = Some(Change { keys, inserted });
        }
        self.perform(command, buffer)
    }

    fn again(&mut self, count: Option<usize>, buffer: &mut Buffer) {
        let Some(last) = self.last.clone() else {
            return;
        };
        let Parsed::Whole(mut command) = parse(&last.keys, false) else {
            return;
        };
        command.count = count.or(command.count);
        self.perform(command, buffer);
        if self.mode == Mode::Insert {
            buffer.insert(&last.inserted);
            self.end_insert(buffer);
        }
    }
}

/// The letter of a key in normal mode; none if it is not vim's.
fn letter(key: Key) -> Option<char> {
    if let Some(c) = key.text() {
        return Some(c);
    }
    if key == Key::new(Code::Char('r'), Mods::CTRL) {
        return Some(REDO);
    }
    if key.mods != Mods::NONE {
        return None;
    }
    Some(match key.code {
        Code::Left | Code::Backspace => 'h',
        Code::Right => 'l',
        Code::Up => 'k',
        Code::Down => 'j',
        Code::Home => '0',
        Code::End => '$',
        Code::Delete => 'x',
        _ => return None,
    })
}

const fn changes(action: Action) -> bool {
    match action {
        Action::Operate(operator, _) => !matches!(operator, Operator::Yank),
        Action::Insert(_)
        | Action::Replace(_)
        | Action::SwapCase
        | Action::Put(_)
        | Action::Join => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "vim_tests.rs"]
mod tests;
