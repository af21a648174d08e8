//! Opening, reading and leaving a subagent's transcript.

use super::super::input::Key;
use super::super::keymap::{Action, Context};
use super::super::overlay::picker::{Entry, Kind, Picker};
use super::super::overlay::{Intent, Overlay};
use super::super::state::State;
use super::super::state::subagents::{Known, Watched};
use super::Effect;
use crate::protocol::{Millis, NoticeLevel, Op, SessionId};

/// The list of subagents, or the one there is.
pub(super) fn open(state: &mut State, now: Millis) -> Vec<Effect> {
    match state.subagents.known.as_slice() {
        [] => {
            let text = "No subagent has worked in this session.";
            state.say(NoticeLevel::Info, text, now);
            Vec::new()
        }
        [only] => {
            let session = only.session;
            watch(state, session)
        }
        several => {
            // It stays below the transcript that is opened from it: Esc goes back one layer.
            let picker = Picker::new(Kind::Layers, "Subagents", entries(several));
            state.overlays.push(Overlay::Picker(picker));
            Vec::new()
        }
    }
}

/// Opens the subagent whose call is selected or the lowest on screen; nothing if there is none.
pub(super) fn open_in_view(state: &mut State) -> Vec<Effect> {
    let call = state.transcript.task_in_view();
    let known = state.subagents.known.iter();
    let session = known
        .filter(|known| Some(known.call) == call)
        .map(|known| known.session)
        .next_back();
    session.map_or_else(Vec::new, |session| watch(state, session))
}

/// Those at work first, then the newest.
fn entries(known: &[Known]) -> Vec<Entry> {
    let mut sorted: Vec<&Known> = known.iter().rev().collect();
    sorted.sort_by_key(|k| !k.at_work);
    let entry = |k: &&Known| Entry {
        label: k.title.clone(),
        says: String::new(),
        detail: format!(
            "{}   {}",
            k.agent,
            if k.at_work { "at work" } else { "done" }
        ),
        intents: vec![Intent::Watch(k.session)],
    };
    sorted.iter().map(entry).collect()
}

/// Opens a transcript; the agent is asked for it.
pub(super) fn watch(state: &mut State, session: SessionId) -> Vec<Effect> {
    let mut known = state.subagents.known.iter();
    let Some(known) = known.find(|k| k.session == session).cloned() else {
        return Vec::new();
    };
    let mut effects = leave(state);
    let mut watched = Watched::new(known);
    watched.transcript.wake_like(&state.transcript);
    state.subagents.watched = Some(Box::new(watched));
    state.overlays.push(Overlay::Subagent);
    effects.push(Effect::Op(Op::Watch(session)));
    effects
}

/// The transcript is closed.
pub(super) fn leave(state: &mut State) -> Vec<Effect> {
    state
        .overlays
        .retain(|overlay| !matches!(overlay, Overlay::Subagent));
    let left = state.subagents.watched.take();
    left.map(|w| Effect::Op(Op::Unwatch(w.known.session)))
        .into_iter()
        .collect()
}

/// A key while the transcript is on top.
pub(super) fn key(state: &mut State, key: Key) -> Vec<Effect> {
    let contexts = [Context::Subagent, Context::Pager, Context::Global];
    let action = state.keys.action(&contexts, key);
    let Some(watched) = &mut state.subagents.watched else {
        return leave(state);
    };
    let transcript = &mut watched.transcript;
    match action {
        Some(Action::PagerUp | Action::LineUp) => transcript.scroll_lines(-1),
        Some(Action::PagerDown | Action::LineDown) => transcript.scroll_lines(1),
        Some(Action::PageUp) => transcript.page(-1),
        Some(Action::PageDown) => transcript.page(1),
        Some(Action::PagerTop | Action::Top) => transcript.to_top(),
        Some(Action::PagerBottom | Action::Bottom) => transcript.to_bottom(),
        Some(Action::PromptUp) => transcript.jump_prompt(-1),
        Some(Action::PromptDown) => transcript.jump_prompt(1),
        Some(Action::SubagentUnfold) => {
            transcript.toggle_fold_last();
        }
        Some(Action::SubagentStop) => {
            return vec![Effect::Op(Op::StopSubagent(watched.known.session))];
        }
        Some(Action::PagerClose | Action::Cancel) => return leave(state),
        _ => {}
    }
    Vec::new()
}
