//! What the agent announced, taken into the state.
//!
//! The transcript sees every event; here is what the rest of the screen makes of it. Deltas are the
//! hot path: they touch nothing but the transcript.

use std::collections::HashSet;

use super::super::overlay::Overlay;
use super::super::overlay::diff::DiffView;
use super::super::overlay::inspector::Inspector;
use super::super::overlay::pager::Pager;
use super::super::overlay::permissions::PermissionsView;
use super::super::overlay::picker::Picker;
use super::super::overlay::rewind::Rewind;
use super::super::overlay::spending::SpendingView;
use super::super::overlay::undo::UndoView;
use super::super::state::plan::Plan;
use super::super::state::subagents::Subagents;
use super::super::state::{First, Session, State};
use super::Effect;
use crate::protocol::event::PinChoice;
use crate::protocol::{
    AskBody, DiffReport, DiffScope, Event, Message, MessageId, Millis, NoticeLevel, Op, Part,
    PartBody, PromptInput, QueueId, QueueState, Role, Status, TreeTurn, TurnEnd,
};

/// A turn that took longer is worth a notification.
const LONG_TURN_MS: Millis = 20_000;

/// The provider of a session that has no model yet.
const NO_PROVIDER: &str = "none";

/// Takes an event in.
pub(super) fn event(state: &mut State, event: Event, now: Millis) -> Vec<Effect> {
    if matches!(event, Event::SessionStarted { .. }) {
        state.transcript.clear();
    }
    state.transcript.apply(&event, now);
    begin(state, &event, now);
    match event {
        Event::PartDelta { .. } => {}
        Event::SessionStarted {
            session,
            read_only,
            cut,
            ..
        } => {
            state.transcript.links().begin_at(&session.worktree);
            state.session = Session {
                info: Some(session),
                read_only,
                cut,
                ..Session::default()
            };
            state.asks.clear();
            state.queue = QueueState::default();
            state.overlays.clear();
            state.subagents = Subagents::default();
            return first(state);
        }
        Event::History {
            messages, parts, ..
        } => {
            for part in &parts {
                state.subagents.part(part);
            }
            history(state, &messages, &parts);
        }
        Event::Subagent { session, event } => state.subagents.event(session, &event, now),
        Event::SessionUpdated { session } => state.session.info = Some(session),
        Event::MessageCreated { message } => message_created(state, &message),
        Event::PartUpdated { part } => part_updated(state, &part),
        Event::Dequeued { ids, .. } => {
            let ids: HashSet<QueueId> = ids.into_iter().collect();
            let queue = &mut state.queue;
            for list in [&mut queue.guidance, &mut queue.follow_ups] {
                list.retain(|item| !ids.contains(&item.id));
            }
            state.sending = None;
        }
        Event::Error { .. } => state.sending = None,
        Event::Returned { input } => returned(state, &input, now),
        Event::QueueChanged { queue } => {
            state.queue = queue;
            state.sending = None;
        }
        Event::Asked { ask } => return asked(state, ask, now),
        Event::AskClosed { ask } => state.asks.close(ask, now),
        Event::TurnStarted => {
            state.session.ended = None;
            state.session.cut = false;
        }
        Event::TurnFinished { reason } => return finished(state, reason, now),
        Event::Status(status) => {
            if status.model.provider != NO_PROVIDER {
                state.start.onboarding = None;
            }
            state.status = Some(status);
        }
        Event::Closed => return vec![Effect::Exit(0)],
        answer => return answered(state, answer, now),
    }
    Vec::new()
}

/// A message that was not taken goes back to where it was written, or to the history if something else is
/// being written there.
fn returned(state: &mut State, input: &PromptInput, now: Millis) {
    if state.composer.is_empty() {
        state.composer.restore(input);
        return;
    }
    state.composer.history.add(&input.text);
    let sentence = "The queue is full: the message was not taken. ↑ brings it back.";
    state.say(NoticeLevel::Warning, sentence, now);
}

/// What the command line asked to be shown, once a session is open.
fn first(state: &mut State) -> Vec<Effect> {
    match (std::mem::take(&mut state.start.first), &state.session.info) {
        (First::Sessions, _) => {
            state.overlays.push(Overlay::sessions());
            vec![Effect::Op(Op::ListSessions { all: false })]
        }
        (First::Part(part), Some(info)) => {
            let session = info.id;
            vec![Effect::Op(Op::OpenPart { session, part })]
        }
        _ => Vec::new(),
    }
}

/// The start screen stays until something is said; what is announced before shows in the footer.
fn begin(state: &mut State, event: &Event, now: Millis) {
    if state.session.begun {
        // An overlay hides the conversation, and with it what the agent says there.
        match event {
            Event::Notice { level, text } if !state.overlays.is_empty() => {
                state.say(*level, text.clone(), now);
            }
            Event::Error { error } if !state.overlays.is_empty() => {
                state.say(NoticeLevel::Error, error.to_string(), now);
            }
            _ => {}
        }
        return;
    }
    match event {
        // What is wrong from the start stays to be read until the conversation begins.
        Event::Notice { level, text } if starts_badly(state, *level) => {
            state.start.problems.retain(|known| known != text);
            state.start.problems.push(text.clone());
        }
        Event::Notice { level, text } => state.say(*level, text.clone(), now),
        Event::Error { error } if state.start.onboarding.is_some() => {
            state.say(NoticeLevel::Error, error.to_string(), now);
        }
        Event::History { messages, .. } => state.session.begun = !messages.is_empty(),
        Event::MessageCreated { .. }
        | Event::PartUpdated { .. }
        | Event::TurnStarted
        | Event::Asked { .. }
        | Event::Error { .. } => state.session.begun = true,
        _ => {}
    }
}

/// True for a warning that comes before the user did anything.
fn starts_badly(state: &State, level: NoticeLevel) -> bool {
    level != NoticeLevel::Info && state.times.typed.is_none() && state.overlays.is_empty()
}

/// Answers to questions of the front end, and facts of the place.
fn answered(state: &mut State, event: Event, now: Millis) -> Vec<Effect> {
    match event {
        Event::Place(place) => state.start.place = Some(place),
        Event::Servers(servers) => super::servers::came(state, servers),
        Event::Onboarding { reason, found } => {
            state.start.onboarding = Some((reason, found));
            state.sending = None;
        }
        Event::Diff(report) => return show_diff(state, report),
        Event::DiffFile { file } => {
            if let Some(Overlay::Diff(view)) = state.overlays.last_mut() {
                view.whole_came(&file);
            }
        }
        Event::UndoPreview {
            to,
            prompt,
            files,
            note,
        } => {
            let view = UndoView::new(to, prompt, files, note);
            state.overlays.push(Overlay::Undo(view));
        }
        Event::Tree { turns } => show_tree(state, turns),
        Event::Show { part } => {
            match state.looked_for.take() {
                Some(words) => state.transcript.show_words(part, &words),
                None => state.transcript.show_part(part),
            };
        }
        Event::Found {
            generation,
            hits,
            more,
        } => {
            match state.overlays.last_mut() {
                Some(Overlay::Search(view)) => view.found(generation, hits, more),
                Some(Overlay::Sessions(list)) => list.prompts_found(generation, hits),
                _ => {}
            }
            return wanted(state);
        }
        Event::Preview {
            session,
            messages,
            parts,
        } => {
            if let Some(Overlay::Sessions(list)) = state.overlays.last_mut() {
                list.preview_came(session, messages, parts);
            }
            return wanted(state);
        }
        Event::Kept { level, text } => match state.overlays.last_mut() {
            Some(Overlay::Sessions(list)) => list.say(level, text),
            _ => state.say(level, text, now),
        },
        Event::BranchChanged { tip, prompt } => branch_changed(state, tip, &prompt),
        Event::Sessions { sessions } => {
            let open = state.session.info.as_ref().map(|info| info.id);
            for overlay in &mut state.overlays {
                overlay.sessions_came(&sessions, open);
            }
            let others = sessions.into_iter().filter(|s| Some(s.info.id) != open);
            state.start.recent = others.take(3).collect();
            return wanted(state);
        }
        Event::Models { models } => {
            for overlay in &mut state.overlays {
                overlay.models_came(&models);
            }
        }
        Event::Files { generation, paths } => {
            if let Some(popup) = &mut state.composer.popup {
                popup.files(generation, &paths);
            }
        }
        Event::Output { text, .. } => {
            state
                .overlays
                .push(Overlay::Pager(Pager::output("Output", &text)));
        }
        Event::Context { report } => show_context(state, &report),
        Event::Spending(spending) => {
            let view = Overlay::Spending(Box::new(SpendingView::new(spending)));
            state.overlays.push(view);
        }
        Event::Pins { pins } => show_pins(state, &pins, now),
        Event::Permissions { rules } => match state.overlays.last_mut() {
            Some(Overlay::Permissions(view)) => view.show(rules),
            _ => state
                .overlays
                .push(Overlay::Permissions(PermissionsView::new(rules))),
        },
        Event::FileRead { source, bytes } => {
            let watched = state.subagents.watched.as_mut().map(|w| &mut w.transcript);
            for transcript in std::iter::once(&mut state.transcript).chain(watched) {
                transcript.pictures().came(&source, bytes.as_ref());
            }
        }
        Event::Facts { facts } => {
            state.facts = facts;
            let lines = super::command::status(state);
            if let Some(Overlay::Pager(pager)) = state.overlays.last_mut()
                && pager.is("Status")
            {
                *pager = Pager::lines("Status", &lines);
            }
        }
        _ => {}
    }
    Vec::new()
}

/// What the topmost overlay wants to be told now.
fn wanted(state: &mut State) -> Vec<Effect> {
    let op = state.overlays.last_mut().and_then(Overlay::wants);
    op.map(Effect::Op).into_iter().collect()
}

fn show_pins(state: &mut State, pins: &[PinChoice], now: Millis) {
    match state.overlays.last_mut() {
        Some(Overlay::Picker(picker)) if picker.lists_pins() => picker.pins_came(pins),
        _ if pins.is_empty() => {
            let text = "There is nothing to pin yet.";
            state.say(NoticeLevel::Info, text, now);
        }
        _ => state.overlays.push(Overlay::Picker(Picker::pins(pins))),
    }
}

fn show_tree(state: &mut State, turns: Vec<TreeTurn>) {
    let view = Rewind::new(turns);
    if view.is_empty() {
        return;
    }
    match state.overlays.last_mut() {
        Some(Overlay::Rewind(old)) => *old = view,
        _ => state.overlays.push(Overlay::Rewind(view)),
    }
}

/// Shows changes. Opened with a key, the view begins with the narrowest scope that has some.
fn show_diff(state: &mut State, report: DiffReport) -> Vec<Effect> {
    let wider = std::mem::take(&mut state.opening_changes)
        && report.scope == DiffScope::Turn
        && report.files.is_empty();
    match state.overlays.last_mut() {
        Some(Overlay::Diff(view)) => view.show(report),
        _ if wider => return vec![Effect::Op(Op::Diff(DiffScope::Session))],
        _ => state.overlays.push(Overlay::Diff(DiffView::new(report))),
    }
    Vec::new()
}

fn show_context(state: &mut State, report: &serde_json::Value) {
    let gauge = state
        .status
        .as_ref()
        .map(|status| status.context)
        .unwrap_or_default();
    let model = state
        .status
        .as_ref()
        .map(|s| s.model_label.clone())
        .unwrap_or_default();
    match state.overlays.last_mut() {
        Some(Overlay::Inspector(view)) => view.show(report, gauge, model),
        _ => {
            let view = Inspector::new(report, gauge, model);
            state.overlays.push(Overlay::Inspector(view));
        }
    }
}

fn history(state: &mut State, messages: &[Message], parts: &[Part]) {
    let mut prompts: Vec<(MessageId, String)> = Vec::new();
    for message in messages.iter().filter(|m| m.role == Role::User) {
        let said = parts
            .iter()
            .filter(|p| p.message == message.id)
            .find_map(said);
        if let Some(text) = said {
            prompts.push((message.id, text));
        }
    }
    prompts.append(&mut state.session.prompts);
    prompts.sort_by_key(|(id, _)| *id);
    prompts.dedup_by_key(|(id, _)| *id);
    state.session.prompts = prompts;
    for part in parts {
        if let PartBody::Patch { files, .. } = &part.body {
            state.session.patches.insert(part.id, files.clone());
        }
    }
    if let Some(plan) = parts.iter().rev().find_map(plan)
        && state.session.plan.is_none()
    {
        state.session.plan = Some(plan);
    }
}

fn said(part: &Part) -> Option<String> {
    match &part.body {
        PartBody::Text {
            text,
            synthetic: false,
            ..
        } => Some(text.clone()),
        _ => None,
    }
}

fn plan(part: &Part) -> Option<Plan> {
    match &part.body {
        PartBody::Tool(tool) if tool.tool == "todo" => Plan::read(tool.state.input()?),
        _ => None,
    }
}

fn message_created(state: &mut State, message: &Message) {
    if message.role == Role::User {
        state.sending = None;
        state.session.prompts.push((message.id, String::new()));
    }
}

fn part_updated(state: &mut State, part: &Part) {
    match &part.body {
        PartBody::Text {
            synthetic: false,
            text,
            ..
        } => {
            let prompts = state.session.prompts.iter_mut().rev();
            if let Some((_, prompt)) = prompts.take(4).find(|(id, _)| *id == part.message)
                && prompt.is_empty()
            {
                prompt.clone_from(text);
            }
        }
        PartBody::Patch { files, .. } => {
            state.session.patches.insert(part.id, files.clone());
        }
        PartBody::Tool(_) => {
            state.subagents.part(part);
            if let Some(plan) = plan(part) {
                state.session.plan = Some(plan);
            }
        }
        _ => {}
    }
}

fn asked(state: &mut State, ask: crate::protocol::Ask, now: Millis) -> Vec<Effect> {
    let what = match &ask.body {
        AskBody::Permission {
            heading, subject, ..
        } => format!("{heading}: {subject}"),
        AskBody::DoomLoop { subject, .. } => format!("Looks like a loop: {subject}"),
        AskBody::Budget { message } => message.clone(),
        AskBody::Question { question, .. } => question.clone(),
    };
    state.asks.add(ask, now);
    notify(state, what)
}

fn notify(state: &State, what: String) -> Vec<Effect> {
    if state.terminal.focused || !state.settings.notify {
        return Vec::new();
    }
    vec![Effect::Notify(what)]
}

fn finished(state: &mut State, reason: TurnEnd, now: Millis) -> Vec<Effect> {
    state.session.ended = Some(reason);
    let started = state
        .status
        .as_ref()
        .and_then(|status: &Status| status.turn_started);
    if started.is_none_or(|at| now - at < LONG_TURN_MS) {
        return Vec::new();
    }
    let what = match reason {
        TurnEnd::Done => "The turn is done.",
        TurnEnd::Error => "The turn failed.",
        _ => "The turn stopped.",
    };
    notify(state, what.to_owned())
}

fn branch_changed(state: &mut State, tip: Option<MessageId>, prompt: &str) {
    state
        .session
        .prompts
        .retain(|(id, _)| tip.is_some_and(|tip| *id <= tip));
    if !prompt.is_empty() && state.composer.is_empty() && state.sending.is_none() {
        state.composer.set(prompt);
    }
}
