//! Keys while a question is open.
//!
//! The guard: a question that appears while the user types must not take a key for an answer. Such
//! keys go on into the draft; the draft stays, hidden, and comes back.

use super::super::composer::buffer::Buffer;
use super::super::input::{Code, Key};
use super::super::keymap::{Action, Context};
use super::super::state::State;
use super::super::state::asks::{Field, KEY_GUARD_MS, OpenAsk, Pick, Purpose};
use super::super::view;
use super::{Effect, compose, keys, layers};
use crate::protocol::{Answer, AskBody, Millis, Op};

/// A key while a question is on screen.
pub(super) fn key(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    let Some(open) = state.asks.current() else {
        return Vec::new();
    };
    if open.field.is_some() {
        return field_key(state, key, now);
    }
    let fresh = open.shown.is_none_or(|at| now - at < KEY_GUARD_MS);
    let typing = state.times.typed.is_some_and(|at| now - at < KEY_GUARD_MS);
    if typing && (key.text().is_some() || matches!(key.code, Code::Backspace | Code::Enter)) {
        return into_draft(state, key, now);
    }
    let global = state.keys.action(&[Context::Global], key);
    if fresh && global != Some(Action::Cancel) {
        return Vec::new();
    }
    let contexts: &[Context] = match open.ask.body {
        AskBody::DoomLoop { .. } => &[Context::Loop, Context::Ask, Context::Global],
        _ => &[Context::Ask, Context::Global],
    };
    if let Some(action) = state.keys.action(contexts, key) {
        return act(state, action, now);
    }
    if let (Some(number), AskBody::Question { .. }) =
        (key.text().and_then(|c| c.to_digit(10)), &open.ask.body)
    {
        return choose(state, (number as usize).wrapping_sub(1), now);
    }
    Vec::new()
}

fn into_draft(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    match key.code {
        Code::Backspace => compose::act(state, Action::DeleteBack, now),
        Code::Enter => {
            // Not an answer, and not sent unseen either.
            state.times.typed = Some(now);
            Vec::new()
        }
        _ => match key.text() {
            Some(c) => compose::typed(state, c.encode_utf8(&mut [0; 4]), now),
            None => Vec::new(),
        },
    }
}

fn act(state: &mut State, action: Action, now: Millis) -> Vec<Effect> {
    let page = (usize::from(state.terminal.size.1) / 2).cast_signed();
    let Some(open) = state.asks.current_mut() else {
        return Vec::new();
    };
    let count = open.choices().len();
    let scroll = |open: &mut OpenAsk, by: isize| {
        let to = open.scroll.saturating_add_signed(by);
        open.scroll = to.min(open.most_scroll.get());
    };
    match action {
        Action::AskUp if open.full => scroll(open, -1),
        Action::AskDown if open.full => scroll(open, 1),
        Action::AskUp => open.selected = (open.selected + count - 1) % count.max(1),
        Action::AskDown => open.selected = (open.selected + 1) % count.max(1),
        Action::PageUp if open.full => scroll(open, -page),
        Action::PageDown if open.full => scroll(open, page),
        Action::Top if open.full => open.scroll = 0,
        Action::Bottom if open.full => scroll(open, 100_000),
        Action::PageUp | Action::PageDown => return keys::scroll(state, action),
        Action::AskFull => open.full = !open.full,
        Action::AskNext => state.asks.next(now),
        Action::AskAccept => {
            let selected = open.selected;
            return choose(state, selected, now);
        }
        Action::AskClose if open.full => open.full = false,
        Action::AskClose | Action::Cancel => {
            return answer(
                state,
                Answer::No {
                    message: String::new(),
                },
                now,
            );
        }
        letter => {
            let at = open.choices().iter().position(|c| c.action == Some(letter));
            return at.map_or_else(Vec::new, |at| choose(state, at, now));
        }
    }
    Vec::new()
}

fn choose(state: &mut State, at: usize, now: Millis) -> Vec<Effect> {
    let shows = view::question_fits(state);
    let Some(open) = state.asks.current_mut() else {
        return Vec::new();
    };
    let Some(choice) = open.choices().into_iter().nth(at) else {
        return Vec::new();
    };
    open.selected = at;
    match choice.pick {
        // What does not show is not approved.
        Pick::Answer(Answer::Once | Answer::Always { .. }) if !shows => Vec::new(),
        Pick::Answer(given) => answer(state, given, now),
        Pick::Write(purpose) => {
            open.field = Some(field(open, purpose));
            Vec::new()
        }
    }
}

fn field(open: &OpenAsk, purpose: Purpose) -> Field {
    let mut field = Field {
        purpose,
        text: Buffer::default(),
        problem: "",
    };
    if purpose == Purpose::Pattern {
        field.text.insert(&open.grant().unwrap_or_default());
    }
    field
}

/// Answers the question on screen; it leaves the screen at once.
fn answer(state: &mut State, answer: Answer, now: Millis) -> Vec<Effect> {
    let Some(id) = state.asks.current().map(|open| open.ask.id) else {
        return Vec::new();
    };
    state.asks.close(id, now);
    vec![Effect::Op(Op::Answer { ask: id, answer })]
}

fn field_key(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    let Some(open) = state.asks.current_mut() else {
        return Vec::new();
    };
    let Some(field) = &mut open.field else {
        return Vec::new();
    };
    match key.code {
        Code::Esc => open.field = None,
        Code::Enter => {
            let text = field.text.text().trim().to_owned();
            let purpose = field.purpose;
            match purpose {
                Purpose::Pattern => {
                    let problem = open.problem_with(&text);
                    if text.is_empty() || problem.is_empty() {
                        open.field = None;
                        open.pattern = (!text.is_empty()).then_some(text);
                    } else if let Some(field) = &mut open.field {
                        field.problem = problem;
                    }
                }
                Purpose::Say => return answer(state, Answer::No { message: text }, now),
                Purpose::Answer => return answer(state, Answer::Text { text }, now),
            }
        }
        _ => {
            field.problem = "";
            layers::edit_line(&mut field.text, key, &state.keys);
        }
    }
    Vec::new()
}
