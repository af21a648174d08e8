//! Vim's grammar: `[count] [operator] [count] motion`, read from the keys typed so far.
//!
//! The whole command is read anew with each key, so there is no half-remembered state: what is
//! typed is unfinished, wrong, or a command.

use super::motion::{Find, Motion};
use super::object::{Object, ObjectKind};

/// What is done to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
    /// `gu`, `gU`, `g~`.
    Case(Case),
}

/// How letters change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    Upper,
    Swap,
}

/// What an operator is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Motion(Motion),
    Object(Object),
    Lines,
}

/// Where insert mode begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Insert {
    Here,
    After,
    LineStart,
    LineEnd,
    Below,
    Above,
}

/// A whole command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Move(Motion),
    Operate(Operator, Target),
    Insert(Insert),
    Replace(char),
    SwapCase,
    /// True for before the cursor.
    Put(bool),
    Undo,
    Redo,
    Join,
    /// True for whole lines.
    Visual(bool),
    /// The object becomes the selection (visual mode).
    Select(Object),
    /// To the other end of the selection (visual mode).
    OtherEnd,
    /// What the operator does to the selection (visual mode); true for whole lines.
    OnSelection(Operator, bool),
    Repeat,
}

/// A command with its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) count: Option<usize>,
    pub(super) action: Action,
}

/// What the keys so far are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    More,
    Wrong,
    Whole(Command),
}

/// Counts stop growing here: nobody means more.
const MOST: usize = 9_999;
/// ctrl+r among the keys.
pub(super) const REDO: char = '\u{12}';

struct Keys<'a>(&'a [char]);

impl Keys<'_> {
    fn next(&mut self) -> Option<char> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn count(&mut self) -> Option<usize> {
        let mut count = None;
        while let Some(digit) = self.0.first().and_then(|c| c.to_digit(10)) {
            if digit == 0 && count.is_none() {
                break;
            }
            self.next();
            count = Some((count.unwrap_or(0) * 10 + digit as usize).min(MOST));
        }
        count
    }
}

/// What is wrong with keys: they end too soon, or mean nothing.
enum Stop {
    More,
    Wrong,
}

/// Reads the keys of a command.
pub(super) fn parse(keys: &[char], visual: bool) -> Parsed {
    let mut keys = Keys(keys);
    let first = keys.count();
    let mut count = first;
    match action(&mut keys, visual, &mut count) {
        Ok(action) => Parsed::Whole(Command { count, action }),
        Err(Stop::More) => Parsed::More,
        Err(Stop::Wrong) => Parsed::Wrong,
    }
}

fn action(keys: &mut Keys<'_>, visual: bool, count: &mut Option<usize>) -> Result<Action, Stop> {
    let key = keys.next().ok_or(Stop::More)?;
    if visual && let Some(action) = on_selection(key, keys)? {
        return Ok(action);
    }
    let operate = |operator, motion| Ok(Action::Operate(operator, Target::Motion(motion)));
    match key {
        'd' => operator(Operator::Delete, key, keys, count),
        'c' => operator(Operator::Change, key, keys, count),
        'y' => operator(Operator::Yank, key, keys, count),
        'g' if matches!(keys.0.first(), Some('u' | 'U' | '~')) => {
            let letter = keys.next().ok_or(Stop::More)?;
            operator(Operator::Case(case(letter)), letter, keys, count)
        }
        'x' => operate(Operator::Delete, Motion::Right),
        'X' => operate(Operator::Delete, Motion::Left),
        's' => operate(Operator::Change, Motion::Right),
        'D' => operate(Operator::Delete, Motion::LineEnd),
        'C' => operate(Operator::Change, Motion::LineEnd),
        'S' => Ok(Action::Operate(Operator::Change, Target::Lines)),
        'Y' => Ok(Action::Operate(Operator::Yank, Target::Lines)),
        'i' => Ok(Action::Insert(Insert::Here)),
        'a' => Ok(Action::Insert(Insert::After)),
        'I' => Ok(Action::Insert(Insert::LineStart)),
        'A' => Ok(Action::Insert(Insert::LineEnd)),
        'o' => Ok(Action::Insert(Insert::Below)),
        'O' => Ok(Action::Insert(Insert::Above)),
        'r' => keys.next().map(Action::Replace).ok_or(Stop::More),
        '~' => Ok(Action::SwapCase),
        'p' => Ok(Action::Put(false)),
        'P' => Ok(Action::Put(true)),
        'u' => Ok(Action::Undo),
        REDO => Ok(Action::Redo),
        'J' => Ok(Action::Join),
        'v' => Ok(Action::Visual(false)),
        'V' => Ok(Action::Visual(true)),
        '.' => Ok(Action::Repeat),
        _ => motion(key, keys).map(Action::Move),
    }
}

const fn case(letter: char) -> Case {
    match letter {
        'u' => Case::Lower,
        'U' => Case::Upper,
        _ => Case::Swap,
    }
}

/// Keys that mean something else while something is selected.
fn on_selection(key: char, keys: &mut Keys<'_>) -> Result<Option<Action>, Stop> {
    let on = |operator, lines| Ok(Some(Action::OnSelection(operator, lines)));
    match key {
        'd' | 'x' => on(Operator::Delete, false),
        'D' | 'X' => on(Operator::Delete, true),
        'c' | 's' => on(Operator::Change, false),
        'C' | 'S' | 'R' => on(Operator::Change, true),
        'y' => on(Operator::Yank, false),
        'Y' => on(Operator::Yank, true),
        'u' => on(Operator::Case(Case::Lower), false),
        'U' => on(Operator::Case(Case::Upper), false),
        '~' => on(Operator::Case(Case::Swap), false),
        'o' | 'O' => Ok(Some(Action::OtherEnd)),
        'i' | 'a' => object(key, keys).map(|object| Some(Action::Select(object))),
        _ => Ok(None),
    }
}

fn operator(
    operator: Operator,
    twice: char,
    keys: &mut Keys<'_>,
    count: &mut Option<usize>,
) -> Result<Action, Stop> {
    if let Some(more) = keys.count() {
        *count = Some((count.unwrap_or(1) * more).min(MOST));
    }
    let key = keys.next().ok_or(Stop::More)?;
    let target = match key {
        _ if key == twice => Target::Lines,
        'i' | 'a' => Target::Object(object(key, keys)?),
        _ => Target::Motion(motion(key, keys)?),
    };
    Ok(Action::Operate(operator, target))
}

fn object(key: char, keys: &mut Keys<'_>) -> Result<Object, Stop> {
    let kind = keys.next().ok_or(Stop::More)?;
    let kind = ObjectKind::of(kind).ok_or(Stop::Wrong)?;
    let around = key == 'a';
    Ok(Object { kind, around })
}

fn motion(key: char, keys: &mut Keys<'_>) -> Result<Motion, Stop> {
    Ok(match key {
        'h' => Motion::Left,
        'l' | ' ' => Motion::Right,
        'k' => Motion::Up,
        'j' => Motion::Down,
        '0' => Motion::LineStart,
        '^' | '_' => Motion::FirstWord,
        '$' => Motion::LineEnd,
        'G' => Motion::Last,
        'w' => Motion::Word(false),
        'W' => Motion::Word(true),
        'e' => Motion::End(false),
        'E' => Motion::End(true),
        'b' => Motion::Back(false),
        'B' => Motion::Back(true),
        ';' => Motion::Again(false),
        ',' => Motion::Again(true),
        '%' => Motion::Match,
        '{' => Motion::ParagraphUp,
        '}' => Motion::ParagraphDown,
        'f' | 'F' | 't' | 'T' => Motion::Find(Find {
            what: keys.next().ok_or(Stop::More)?,
            forward: key.is_lowercase(),
            till: key.eq_ignore_ascii_case(&'t'),
        }),
        'g' => match keys.next().ok_or(Stop::More)? {
            'g' => Motion::First,
            'e' => Motion::BackEnd(false),
            'E' => Motion::BackEnd(true),
            'j' => Motion::Down,
            'k' => Motion::Up,
            _ => return Err(Stop::Wrong),
        },
        _ => return Err(Stop::Wrong),
    })
}
