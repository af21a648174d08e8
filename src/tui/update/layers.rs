//! Keys while an overlay is open: the top layer answers with data, this carries it out.

use super::super::composer::buffer::Buffer;
use super::super::input::Key;
use super::super::keymap::{Action, Context, Keymap};
use super::super::overlay::{Intent, Outcome, Overlay};
use super::super::state::{Editing, State};
use super::{Effect, compose, leaving, subagents};
use crate::protocol::{Millis, NoticeLevel, Op};

/// A key for the topmost overlay.
pub(super) fn key(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    let effects = to_top(state, key, now);
    if state.overlays.is_empty() {
        state.times.closed = Some(now);
    }
    effects
}

fn to_top(state: &mut State, key: Key, now: Millis) -> Vec<Effect> {
    if matches!(state.overlays.last(), Some(Overlay::Subagent)) {
        return subagents::key(state, key);
    }
    if state.keys.action(&[Context::Global], key) == Some(Action::Cancel) {
        return closed(state, Vec::new(), now);
    }
    let Some(top) = state.overlays.last_mut() else {
        return Vec::new();
    };
    match top.key(key, &state.keys) {
        Outcome::Ignored | Outcome::Consumed => Vec::new(),
        Outcome::Emit(intents) => perform(state, intents, now),
        Outcome::Close(intents) => closed(state, intents, now),
    }
}

/// A click in the topmost overlay: it chooses a row, twice does what the list's Enter does.
pub(super) fn click(state: &mut State, row: u16, twice: bool, now: Millis) -> Vec<Effect> {
    let Some(top) = state.overlays.last_mut() else {
        return Vec::new();
    };
    let Some(intents) = top.click(row) else {
        return Vec::new();
    };
    let mut effects = perform(state, intents, now);
    if let Some(accept) = state.keys.first(Action::ListAccept).filter(|_| twice) {
        effects.extend(key(state, accept, now));
    }
    effects
}

fn closed(state: &mut State, intents: Vec<Intent>, now: Millis) -> Vec<Effect> {
    if let Some(Overlay::Picker(picker)) = state.overlays.pop()
        && let Some(theme) = picker.theme_before()
        && intents.is_empty()
    {
        // The live preview ends as it began.
        theme.clone_into(&mut state.theme_name);
        state.restyle();
    }
    perform(state, intents, now)
}

fn perform(state: &mut State, intents: Vec<Intent>, now: Millis) -> Vec<Effect> {
    let mut effects = Vec::new();
    for intent in intents {
        match intent {
            Intent::Op(op) => {
                if matches!(op, Op::SetModel(_)) {
                    // If it still cannot work, the agent says so again.
                    state.start.onboarding = None;
                }
                if let Op::UndoHunk { path, .. } = &op {
                    let text = format!("The hunk of {path} is taken back; /redo brings it again.");
                    state.say(NoticeLevel::Info, text, now);
                }
                if let Op::Pin { on, .. } = op {
                    let text = if on {
                        "Pinned: every compaction keeps it."
                    } else {
                        "No longer pinned."
                    };
                    state.say(NoticeLevel::Info, text, now);
                }
                effects.extend(leaving::to(state, op));
            }
            Intent::Leave(op) => effects.push(Effect::Op(op)),
            Intent::Stay => {}
            Intent::Copy(text) => effects.push(Effect::Copy(text)),
            Intent::Compose(text) => {
                state.composer.replace(&text);
                effects.extend(compose::changed(state));
            }
            Intent::Quote(text) => {
                state.composer.buffer.insert(&text);
                effects.extend(compose::changed(state));
            }
            Intent::OpenFile { path, line } => effects.push(Effect::OpenFile { path, line }),
            Intent::Theme(name) => {
                state.theme_name = name;
                state.restyle();
            }
            Intent::Watch(session) => effects.extend(subagents::watch(state, session)),
            Intent::Run(command) => effects.extend(super::command::run(state, command, "", now)),
            Intent::Do(action) => effects.extend(super::keys::act(state, action, now)),
            Intent::Open(overlay) => state.overlays.push(*overlay),
            Intent::LookFor(words) => state.looked_for = Some(words),
            Intent::CloseBelow => drop(state.overlays.pop()),
            Intent::EditPrompt {
                message,
                branch,
                text,
            } => {
                state.composer.replace(&text);
                state.session.editing = Some(Editing { message, branch });
                let sentence = "Sending it makes a branch where it stood; esc leaves it.";
                state.say(NoticeLevel::Info, sentence, now);
            }
            Intent::EditQueued(item) => {
                if state.composer.is_empty() {
                    compose::take_queued(state, &item);
                    let edit = crate::protocol::QueueEdit::Remove(item.id);
                    effects.push(Effect::Op(Op::Queue(edit)));
                } else {
                    let sentence = "Send or stash what you are writing first.";
                    state.say(NoticeLevel::Warning, sentence, now);
                }
            }
        }
    }
    effects
}

/// Edits a one-line field with the composer's keys.
pub(super) fn edit_line(buffer: &mut Buffer, key: Key, keys: &Keymap) {
    super::super::overlay::edit_line(buffer, key, keys);
}
