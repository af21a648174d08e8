//! What vim's commands do to the buffer.
//!
//! `vim` hands over whole commands; ranges come from `motion` and `object`. Every edit goes through
//! the buffer, so that undo, the kill ring and grapheme boundaries stay its own.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::motion::{
    self, Class, From, Motion, Shape, class, first_word, go, line, next, part, prev, resting,
};
use super::object;
use super::parse::{Action, Case, Command, Insert, Operator, Target};
use super::{Answer, Buffer, Inserting, Mode, Register, Vim};

/// The bytes an operator takes, and whether they are whole lines.
type Taken = (Range<usize>, bool);

impl Vim {
    pub(super) fn perform(&mut self, command: Command, buffer: &mut Buffer) -> Answer {
        let Command { count, action } = command;
        let times = count.unwrap_or(1);
        match action {
            Action::Move(motion) => return self.move_by(motion, count, buffer),
            Action::Operate(operator, target) => {
                if let Some(taken) = self.taken(operator, target, count, buffer) {
                    self.apply(operator, taken, buffer);
                }
            }
            Action::Insert(place) => self.insert(place, times, buffer),
            Action::Replace(letter) => self.replace(letter, times, buffer),
            Action::SwapCase => swap_case(times, buffer),
            Action::Put(before) => self.put(before, times, buffer),
            Action::Undo => (0..times).for_each(|_| buffer.undo()),
            Action::Redo => (0..times).for_each(|_| buffer.redo()),
            Action::Join => self.join(times, buffer),
            Action::Visual(lines) => self.toggle_visual(lines, buffer),
            Action::Select(object) => self.select(object, times, buffer),
            Action::OtherEnd => {
                if let Mode::Visual { anchor, lines } = self.mode {
                    let anchor_then = buffer.cursor();
                    buffer.move_to(anchor);
                    self.mode = Mode::Visual {
                        anchor: anchor_then,
                        lines,
                    };
                }
            }
            Action::OnSelection(operator, lines) => self.on_selection(operator, lines, buffer),
            // `command` has handled it.
            Action::Repeat => {}
        }
        if self.mode != Mode::Insert {
            let at = resting(buffer.text(), buffer.cursor());
            if at != buffer.cursor() {
                buffer.move_to(at);
            }
        }
        self.goal = None;
        Answer::Done
    }

    fn from(&self, count: Option<usize>, buffer: &Buffer) -> From {
        let at = buffer.cursor();
        let column = || motion::column(buffer.text(), at);
        From {
            at,
            count,
            goal: self.goal.unwrap_or_else(column),
            find: self.find,
        }
    }

    fn move_by(&mut self, motion: Motion, count: Option<usize>, buffer: &mut Buffer) -> Answer {
        if let Motion::Find(find) = motion {
            self.find = Some(find);
        }
        let from = self.from(count, buffer);
        let vertical = matches!(motion, Motion::Up | Motion::Down);
        self.goal = match motion {
            _ if vertical => Some(from.goal),
            Motion::LineEnd => Some(usize::MAX),
            _ => None,
        };
        match go(buffer.text(), motion, from) {
            Some((to, _)) => {
                let to = resting(buffer.text(), to);
                buffer.move_to(to);
                Answer::Done
            }
            None if vertical && self.mode == Mode::Normal => Answer::History(motion == Motion::Up),
            None => Answer::Done,
        }
    }

    /// What an operator takes; none if its motion leads nowhere.
    fn taken(
        &mut self,
        operator: Operator,
        target: Target,
        count: Option<usize>,
        buffer: &Buffer,
    ) -> Option<Taken> {
        let (text, at) = (buffer.text(), buffer.cursor());
        let times = count.unwrap_or(1);
        match target {
            Target::Lines => {
                let mut range = line(text, at);
                for _ in 1..times {
                    if range.end < text.len() {
                        range.end = line(text, range.end + 1).end;
                    }
                }
                Some((range, true))
            }
            Target::Object(object) => object::find(text, at, object, times),
            Target::Motion(motion) => {
                if let Motion::Find(find) = motion {
                    self.find = Some(find);
                }
                if let (Operator::Change, Motion::Word(big)) = (operator, motion)
                    && !matches!(class(text, at, big), Class::Blank | Class::Out)
                {
                    return Some((at..motion::change_end(text, at, big, times), false));
                }
                let (to, shape) = go(text, motion, self.from(count, buffer))?;
                Some(passed(text, at, (to, shape), motion))
            }
        }
    }

    fn apply(&mut self, operator: Operator, (range, lines): Taken, buffer: &mut Buffer) {
        let at = buffer.cursor();
        match operator {
            Operator::Yank => {
                self.keep(&range, lines, buffer);
                if !(lines && range.contains(&at)) || range.start < line(buffer.text(), at).start {
                    buffer.move_to(range.start);
                }
            }
            Operator::Delete => {
                self.keep(&range, lines, buffer);
                let whole = if lines {
                    with_break(buffer.text(), &range)
                } else {
                    range
                };
                buffer.cut(whole);
                if lines {
                    let to = first_word(buffer.text(), line(buffer.text(), buffer.cursor()).start);
                    buffer.move_to(to);
                }
            }
            Operator::Change => {
                self.keep(&range, lines, buffer);
                buffer.hold();
                let start = range.start;
                buffer.cut(range);
                buffer.move_to(start);
                self.begin_insert(1, false, buffer);
            }
            Operator::Case(case) => {
                let changed = in_case(part(buffer.text(), range.clone()), case);
                let start = range.start;
                buffer.replace(range, &changed);
                buffer.move_to(start);
            }
        }
    }

    fn keep(&mut self, range: &Range<usize>, lines: bool, buffer: &Buffer) {
        let text = part(buffer.text(), range.clone()).to_owned();
        if lines || !text.is_empty() {
            self.register = Register { text, lines };
        }
    }

    fn begin_insert(&mut self, count: usize, line: bool, buffer: &Buffer) {
        self.mode = Mode::Insert;
        self.inserting = Some(Inserting {
            start: buffer.cursor(),
            tail: buffer.text().len() - buffer.cursor(),
            count,
            line,
        });
    }

    fn insert(&mut self, place: Insert, count: usize, buffer: &mut Buffer) {
        buffer.hold();
        let (text, at) = (buffer.text(), buffer.cursor());
        let here = line(text, at);
        let to = match place {
            Insert::Here => at,
            Insert::After if at < here.end => next(text, at),
            Insert::After => at,
            Insert::LineStart => {
                let blank = part(text, here.clone()).find(|c: char| !c.is_whitespace());
                here.start + blank.unwrap_or(here.len())
            }
            Insert::LineEnd | Insert::Below => here.end,
            Insert::Above => here.start,
        };
        buffer.move_to(to);
        if matches!(place, Insert::Below | Insert::Above) {
            buffer.insert("\n");
        }
        if place == Insert::Above {
            buffer.move_to(to);
        }
        let line = matches!(place, Insert::Below | Insert::Above);
        self.begin_insert(count, line, buffer);
    }

    fn replace(&mut self, letter: char, count: usize, buffer: &mut Buffer) {
        if let Some(range) = self.selection(buffer) {
            let changed: String = part(buffer.text(), range.clone())
                .graphemes(true)
                .map(|g| if g == "\n" { '\n' } else { letter })
                .collect();
            let start = range.start;
            buffer.replace(range, &changed);
            buffer.move_to(start);
            self.mode = Mode::Normal;
            return;
        }
        let at = buffer.cursor();
        let rest = part(buffer.text(), at..line(buffer.text(), at).end);
        if rest.graphemes(true).count() < count {
            return;
        }
        let length: usize = rest.graphemes(true).take(count).map(str::len).sum();
        let with: String = std::iter::repeat_n(letter, count).collect();
        let last = at + with.len() - letter.len_utf8();
        buffer.replace(at..at + length, &with);
        buffer.move_to(last);
    }

    fn put(&mut self, before: bool, count: usize, buffer: &mut Buffer) {
        let Register { text: kept, lines } = self.register.clone();
        if let Some(range) = self.selection(buffer) {
            let whole = matches!(self.mode, Mode::Visual { lines: true, .. });
            self.keep(&range, whole, buffer);
            let text = match (lines, whole) {
                (true, false) => format!("\n{kept}\n"),
                _ => kept,
            };
            let start = range.start;
            buffer.replace(range, &text);
            buffer.move_to(start);
            self.mode = Mode::Normal;
            return;
        }
        if kept.is_empty() && !lines {
            return;
        }
        let (text, at) = (buffer.text(), buffer.cursor());
        let here = line(text, at);
        if lines {
            let all = vec![kept.as_str(); count].join("\n");
            let start = if before {
                buffer.replace(here.start..here.start, &format!("{all}\n"));
                here.start
            } else {
                buffer.replace(here.end..here.end, &format!("\n{all}"));
                here.end + 1
            };
            let to = first_word(buffer.text(), start);
            buffer.move_to(to);
            return;
        }
        let to = if before || at >= here.end {
            at
        } else {
            next(text, at)
        };
        buffer.replace(to..to, &kept.repeat(count));
        let last = prev(buffer.text(), buffer.cursor());
        buffer.move_to(last);
    }

    fn join(&mut self, count: usize, buffer: &mut Buffer) {
        let mut joins = count.max(2) - 1;
        if let Some(range) = self.selection(buffer) {
            joins = part(buffer.text(), range.clone())
                .matches('\n')
                .count()
                .max(1);
            buffer.move_to(range.start);
            self.mode = Mode::Normal;
        }
        buffer.hold();
        for _ in 0..joins {
            let text = buffer.text();
            let end = line(text, buffer.cursor()).end;
            let Some(below) = text.get(end + 1..) else {
                break;
            };
            let blank = below.len() - below.trim_start_matches([' ', '\t']).len();
            let bare = part(below, blank..).is_empty()
                || part(below, blank..).starts_with(['\n', ')'])
                || part(text, ..end).ends_with([' ', '\n'])
                || end == 0;
            let with = if bare { "" } else { " " };
            buffer.replace(end..end + 1 + blank, with);
            buffer.move_to(end);
        }
        buffer.release();
    }

    fn toggle_visual(&mut self, lines: bool, buffer: &Buffer) {
        self.mode = match self.mode {
            Mode::Visual { lines: now, .. } if now == lines => Mode::Normal,
            Mode::Visual { anchor, .. } => Mode::Visual { anchor, lines },
            _ => Mode::Visual {
                anchor: buffer.cursor(),
                lines,
            },
        };
    }

    fn select(&mut self, object: object::Object, count: usize, buffer: &mut Buffer) {
        let found = object::find(buffer.text(), buffer.cursor(), object, count);
        if let Some((range, lines)) = found.filter(|(range, _)| !range.is_empty()) {
            self.mode = Mode::Visual {
                anchor: range.start,
                lines,
            };
            let last = prev(buffer.text(), range.end);
            buffer.move_to(last);
        }
    }

    fn on_selection(&mut self, operator: Operator, lines: bool, buffer: &mut Buffer) {
        let Some(mut range) = self.selection(buffer) else {
            return;
        };
        let whole = lines || matches!(self.mode, Mode::Visual { lines: true, .. });
        if whole {
            let text = buffer.text();
            range = line(text, range.start).start..line(text, prev(text, range.end)).end;
        }
        self.mode = Mode::Normal;
        self.apply(operator, (range.clone(), whole), buffer);
        if operator == Operator::Yank {
            buffer.move_to(range.start);
        }
    }
}

/// What a motion passed over, as vim counts it.
fn passed(text: &str, at: usize, (to, shape): (usize, Shape), motion: Motion) -> Taken {
    let (from, upto) = (at.min(to), at.max(to));
    match shape {
        Shape::Lines => (line(text, from).start..line(text, upto).end, true),
        Shape::Inclusive => (from..next(text, upto), false),
        Shape::Exclusive if matches!(motion, Motion::Word(_)) => {
            // The last word of a line ends the range, not the first of the next line.
            let words = part(text, from..upto).trim_end_matches(char::is_whitespace);
            let after = part(text, from + words.len()..upto);
            let end = match after.find('\n') {
                Some(offset) if upto > line(text, from).end => from + words.len() + offset,
                _ => upto,
            };
            (from..end, false)
        }
        Shape::Exclusive => (from..upto, false),
    }
}

/// Lines with one line break: the one after them, or the one before at the end of the text.
fn with_break(text: &str, range: &Range<usize>) -> Range<usize> {
    if range.end < text.len() {
        range.start..range.end + 1
    } else {
        range.start.saturating_sub(1)..range.end
    }
}

fn in_case(text: &str, case: Case) -> String {
    match case {
        Case::Lower => text.to_lowercase(),
        Case::Upper => text.to_uppercase(),
        Case::Swap => text
            .chars()
            .flat_map(|c| {
                let swapped: Vec<char> = if c.is_uppercase() {
                    c.to_lowercase().collect()
                } else {
                    c.to_uppercase().collect()
                };
                swapped
            })
            .collect(),
    }
}

fn swap_case(count: usize, buffer: &mut Buffer) {
    let at = buffer.cursor();
    let rest = part(buffer.text(), at..line(buffer.text(), at).end);
    let length: usize = rest.graphemes(true).take(count).map(str::len).sum();
    let swapped = in_case(part(rest, ..length), Case::Swap);
    buffer.replace(at..at + length, &swapped);
}
