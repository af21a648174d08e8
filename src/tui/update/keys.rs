//! From a key to an action, and to whoever is on top: question, overlay, list, composer.
//!
//! Text goes to the composer unless an overlay takes it. What an action does is in `compose`,
//! `asks` and `layers`.

use super::super::composer::attach;
use super::super::composer::burst::Enter;
use super::super::composer::vim;
use super::super::input::{Code, Key};
use super::super::keymap::{Action, Context};
use super::super::overlay::palette::palette;
use super::super::overlay::{self, Overlay};
use super::super::state::State;
use super::super::transcript::folds::Whole;
use super::{Effect, asks, compose, layers, subagents};
use crate::protocol::{DiffScope, Millis, NoticeLevel, Op, Phase};

/// Said when text was put aside.
pub(super) const ASIDE: &str = "Put aside: ↑ brings it back.";
/// Two presses within this time are a double.
const DOUBLE_MS: Millis = 500;
/// An Esc this soon after an overlay closed was meant for it: it stops no turn.
const CLOSING_MS: Millis = 400;
/// A second ctrl+c within this time quits.
const QUIT_MS: Millis = 2_000;

/// A key was pressed.
pub(super) fn key(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    // An Enter that was held back is decided by what follows it: text makes it a line break.
    let mut effects = Vec::new();
    if key.text().is_none() && key.code != Code::Enter && state.composer.fold_burst(now, true) {
        effects.extend(compose::changed(state));
    }
    if key.text().is_none() && key.code != Code::Enter && state.composer.burst.due(now, true) {
        effects.extend(enter(state, now));
    }
    effects.extend(routed(state, key, now));
    effects
}

fn routed(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    let global = state.keys.action(&[Context::Global], key);
    if state.closing {
        let leave = matches!(global, Some(Action::Cancel | Action::Quit));
        return if leave {
            vec![Effect::Exit(0)]
        } else {
            Vec::new()
        };
    }
    if let Some(action @ (Action::Suspend | Action::Redraw | Action::PrintTranscript)) = global {
        return act(state, action, now);
    }
    if state.asks.current().is_some() {
        return asks::key(state, key, now);
    }
    if !state.overlays.is_empty() {
        return layers::key(state, key, now);
    }
    if let Some(effects) = vim_key(state, key, now) {
        return effects;
    }
    let contexts = contexts(state);
    match state.keys.action(&contexts, key) {
        // The paste that it follows becomes one thing first.
        Some(Action::Submit | Action::PopupRun) if state.composer.burst.is_over(now) => {
            state.composer.fold_burst(now, true);
            enter(state, now)
        }
        Some(Action::Submit | Action::PopupRun) => match state.composer.burst.enter(now) {
            Enter::Act => enter(state, now),
            Enter::Break => compose::typed(state, "\n", now),
            Enter::Hold => Vec::new(),
        },
        Some(Action::RetryNow | Action::OtherModel | _)
            if key.text().is_some() && !state.composer.is_empty() =>
        {
            text(state, key, now)
        }
        Some(action) => act(state, action, now),
        None => text(state, key, now),
    }
}

/// Vim's keys, if they are switched on and the list above the composer does not want this one.
fn vim_key(state: &mut State, key: Key, now: Millis) -> Option<Vec<Effect>> {
    let listed =
        state.composer.popup.is_some() && state.keys.action(&[Context::Popup], key).is_some();
    let retrying = matches!(state.phase(), Phase::Retrying { .. }) && state.composer.is_empty();
    let composer = &mut state.composer;
    let layer = composer.vim.as_mut().filter(|_| !listed && !retrying)?;
    match layer.key(key, &mut composer.buffer) {
        vim::Answer::Pass => None,
        vim::Answer::Done => {
            state.times.typed = Some(now);
            if state.transcript.has_selection() {
                state.transcript.clear_selection();
            }
            Some(compose::changed(state))
        }
        vim::Answer::History(older) => {
            let action = if older { Action::Up } else { Action::Down };
            Some(compose::act(state, action, now))
        }
    }
}

/// The contexts a key is looked up in while nothing lies over the composer.
fn contexts(state: &State) -> Vec<Context> {
    let mut contexts = Vec::with_capacity(5);
    if state.composer.popup.is_some() {
        contexts.push(Context::Popup);
    }
    if matches!(state.phase(), Phase::Retrying { .. }) && state.composer.is_empty() {
        contexts.push(Context::Retrying);
    }
    let queued = !state.queue.guidance.is_empty() || !state.queue.follow_ups.is_empty();
    if state.is_running() || queued {
        contexts.push(Context::Running);
    }
    contexts.extend([Context::Composer, Context::Global]);
    contexts
}

fn text(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    let Some(c) = key.text() else {
        return Vec::new();
    };
    if state.composer.commands_text() && c != '?' {
        return Vec::new();
    }
    if c == '?' && state.composer.is_empty() {
        state.overlays.push(overlay::help(&state.keys));
        return compose::knows(state, "?");
    }
    let cursor = state.composer.buffer.cursor();
    if state.composer.burst.typed(now, cursor) {
        compose::typed(state, "\n", now);
    }
    compose::typed(state, c.encode_utf8(&mut [0; 4]), now)
}

/// Enter, and it is meant: takes the list's entry, or sends.
pub(super) fn enter(state: &mut State, now: Millis) -> Vec<Effect> {
    if state.composer.popup.is_some() {
        return compose::accept_popup(state, true, now);
    }
    if state.composer.open_chip() {
        return compose::changed(state);
    }
    compose::submit(state, crate::protocol::Delivery::Guidance, now)
}

/// Text was pasted.
pub(super) fn paste(state: &mut State, text: &str, now: Millis) -> Vec<Effect> {
    if let Some(field) = state.asks.current_mut().and_then(|ask| ask.field.as_mut()) {
        field.text.insert(&text.replace('\n', " "));
        return Vec::new();
    }
    if state.asks.current().is_none()
        && let Some(top) = state.overlays.last_mut()
    {
        let wanted = top.paste(&text.replace('\n', " "));
        return wanted.map(Effect::Op).into_iter().collect();
    }
    state.times.typed = Some(now);
    if text.is_empty() {
        // Terminals that cannot paste a picture send an empty paste.
        return vec![Effect::PasteImage];
    }
    if let Some(paths) = attach::dropped(text) {
        let text = text.to_owned();
        return vec![Effect::Attach { paths, text }];
    }
    state.composer.paste(text);
    compose::changed(state)
}

/// Does what an action says.
pub(super) fn act(state: &mut State, action: Action, now: Millis) -> Vec<Effect> {
    if state.transcript.has_selection() && !matches!(action, Action::CopySelection | Action::Cancel)
    {
        state.transcript.clear_selection();
        if action == Action::Escape {
            return Vec::new();
        }
    }
    match action {
        Action::Suspend => vec![Effect::Suspend],
        Action::Redraw => vec![Effect::Redraw],
        Action::PrintTranscript => vec![Effect::PrintTranscript],
        Action::PasteImage => vec![Effect::PasteImage],
        Action::Palette => open(state, |state| palette(&state.keys, &state.composer.offers)),
        Action::Cancel => cancel(state, now),
        Action::Quit => key_quit(state, now),
        Action::Escape => escape(state, now),
        Action::PageUp
        | Action::PageDown
        | Action::LineUp
        | Action::LineDown
        | Action::Top
        | Action::Bottom
        | Action::PromptUp
        | Action::PromptDown => scroll(state, action),
        Action::CopySelection if !state.transcript.has_selection() => {
            let text = state.transcript.cell_text_in_view();
            text.map(Effect::Copy).into_iter().collect()
        }
        Action::CopySelection => copy_selection(state),
        Action::ShowOutput => show_output(state, now),
        Action::FindNext | Action::FindPrev => find(state, action, now),
        Action::Help => open(state, |state| overlay::help(&state.keys)),
        Action::Sessions => {
            state.overlays.push(Overlay::sessions());
            vec![Effect::Op(Op::ListSessions { all: false })]
        }
        Action::Models | Action::OtherModel => super::command::models(state),
        Action::Changes => {
            state.opening_changes = true;
            vec![Effect::Op(Op::Diff(DiffScope::Turn))]
        }
        Action::Inspector => vec![Effect::Op(Op::Context)],
        Action::Subagents => subagents::open(state, now),
        Action::CycleMode => cycle_mode(state),
        Action::RetryNow => vec![Effect::Op(Op::RetryNow)],
        Action::SearchHistory => open(state, |state| {
            Overlay::history(state.composer.history.entries(), &state.composer.expanded())
        }),
        other => compose::act(state, other, now),
    }
}

/// Asks for all that a call put out; the transcript keeps only its ends.
fn show_output(state: &mut State, now: Millis) -> Vec<Effect> {
    match state.transcript.whole_in_view() {
        Some(Whole::Output(part)) => vec![Effect::Op(Op::ReadOutput(part))],
        Some(Whole::Changes) => vec![Effect::Op(Op::Diff(DiffScope::Session))],
        None => {
            let text = "No call in view has put anything out.";
            state.say(NoticeLevel::Info, text, now);
            Vec::new()
        }
    }
}

/// Goes to another place that was found.
fn find(state: &mut State, action: Action, now: Millis) -> Vec<Effect> {
    let number = match action {
        Action::FindNext => state.transcript.find_next(),
        _ => state.transcript.find_prev(),
    };
    let text = number.map_or_else(
        || "Nothing is searched: /find WORDS.".to_owned(),
        |number| format!("{number} of {}", state.transcript.found()),
    );
    state.say(NoticeLevel::Info, text, now);
    Vec::new()
}

fn open(state: &mut State, make: impl FnOnce(&State) -> Overlay) -> Vec<Effect> {
    let overlay = make(state);
    state.overlays.push(overlay);
    Vec::new()
}

fn cycle_mode(state: &mut State) -> Vec<Effect> {
    let Some(status) = &mut state.status else {
        return Vec::new();
    };
    // Shown at once, where a notice may stand; the agent's next status confirms it.
    state.flash = None;
    status.mode = status.mode.next();
    vec![Effect::Op(Op::SetMode(status.mode))]
}

/// Scrolls, and asks for older history when its edge comes near.
pub(super) fn scroll(state: &mut State, action: Action) -> Vec<Effect> {
    let transcript = &mut state.transcript;
    match action {
        Action::PageUp => transcript.page(-1),
        Action::PageDown => transcript.page(1),
        Action::LineUp => transcript.scroll_lines(-1),
        Action::LineDown => transcript.scroll_lines(1),
        Action::Top => transcript.to_top(),
        Action::Bottom => transcript.to_bottom(),
        Action::PromptUp => transcript.jump_prompt(-1),
        _ => transcript.jump_prompt(1),
    }
    older(state)
}

/// Asks for the page before, if the transcript wants one.
pub(super) fn older(state: &mut State) -> Vec<Effect> {
    let wanted = state.transcript.wants_older();
    wanted
        .map(|before| Effect::Op(Op::LoadOlder { before }))
        .into_iter()
        .collect()
}

/// Copies what is selected.
pub(super) fn copy_selection(state: &mut State) -> Vec<Effect> {
    let text = state.transcript.selected_text();
    state.transcript.clear_selection();
    text.filter(|text| !text.is_empty())
        .map(Effect::Copy)
        .into_iter()
        .collect()
}

fn cancel(state: &mut State, now: Millis) -> Vec<Effect> {
    if state.transcript.has_selection() {
        return copy_selection(state);
    }
    if state.composer.stash() {
        state.say(NoticeLevel::Info, ASIDE, now);
        return Vec::new();
    }
    if state.is_running() {
        return vec![Effect::Op(Op::Interrupt)];
    }
    key_quit(state, now)
}

/// ctrl+d or ctrl+c with nothing to do: twice quits.
pub(super) fn key_quit(state: &mut State, now: Millis) -> Vec<Effect> {
    if state.times.quit.is_some_and(|at| now - at <= QUIT_MS) {
        state.closing = true;
        return vec![Effect::Quit];
    }
    state.times.quit = Some(now);
    state.say(NoticeLevel::Info, "Once more to quit.", now);
    Vec::new()
}

fn escape(state: &mut State, now: Millis) -> Vec<Effect> {
    if state.transcript.found() > 0 {
        state.transcript.find("");
        return Vec::new();
    }
    if state.is_running() {
        let closed = state.times.closed;
        if closed.is_some_and(|at| now - at < CLOSING_MS) {
            return Vec::new();
        }
        return vec![Effect::Op(Op::Interrupt)];
    }
    if state.session.editing.take().is_some() {
        state.composer.take();
        state.say(NoticeLevel::Info, "The prompt stays as it is.", now);
        return Vec::new();
    }
    if !state.composer.is_empty() {
        return Vec::new();
    }
    let double = state.times.escape.is_some_and(|at| now - at <= DOUBLE_MS);
    state.times.escape = (!double).then_some(now);
    if double && !state.session.prompts.is_empty() {
        return vec![Effect::Op(Op::Tree)];
    }
    Vec::new()
}
