//! Writing, completing and sending: the actions of the composer.

use super::super::command::{self, Command, Parsed};
use super::super::composer::popup::Kind;
use super::super::keymap::Action;
use super::super::state::{Editing, State};
use super::{Effect, command as run};
use crate::config::commands::CommandDef;
use crate::protocol::{Delivery, Millis, NoticeLevel, Op, QueueEdit, QueueItem, ReadOnly};

/// Text was typed.
pub(super) fn typed(state: &mut State, text: &str, now: Millis) -> Vec<Effect> {
    state.times.typed = Some(now);
    state.composer.end_walk();
    if state.transcript.has_selection() {
        state.transcript.clear_selection();
    }
    state.composer.buffer.insert(text);
    changed(state)
}

/// The text or the cursor changed: the list above follows.
pub(super) fn changed(state: &mut State) -> Vec<Effect> {
    let before = state.composer.popup.as_ref().map(|popup| popup.kind);
    let ask = state.composer.refresh_popup();
    let mut effects: Vec<Effect> = ask
        .map(|(query, generation)| Effect::Op(Op::FindFiles { query, generation }))
        .into_iter()
        .collect();
    let now = state.composer.popup.as_ref().map(|popup| popup.kind);
    if let Some(kind) = now.filter(|_| now != before) {
        effects.extend(knows(state, kind.sign()));
    }
    effects
}

/// The user has used a sign: its hint retires after a while.
pub(super) fn knows(state: &mut State, sign: &str) -> Vec<Effect> {
    if state.hints.used(sign) {
        vec![Effect::SaveHints]
    } else {
        Vec::new()
    }
}

/// An action of the composer, its list or its queue.
pub(super) fn act(state: &mut State, action: Action, now: Millis) -> Vec<Effect> {
    match action {
        Action::PopupUp | Action::PopupDown => {
            if let Some(popup) = &mut state.composer.popup {
                popup.step(if action == Action::PopupUp { -1 } else { 1 });
            }
            return Vec::new();
        }
        Action::PopupAccept => return accept_popup(state, false, now),
        Action::PopupClose => {
            state.composer.close_popup();
            return Vec::new();
        }
        Action::FollowUp => return submit(state, Delivery::FollowUp, now),
        Action::InterruptSend => return submit(state, Delivery::Interrupt, now),
        Action::EditQueued => return edit_queued(state, now),
        Action::DropQueued => return drop_queued(state, now),
        Action::Editor => return vec![Effect::Edit(state.composer.expanded())],
        Action::Up | Action::Down => return vertical(state, action == Action::Up),
        Action::DeleteForward if state.composer.is_empty() => {
            return super::keys::key_quit(state, now);
        }
        Action::Right | Action::Find if state.composer.is_empty() && state.session.begun => {
            state.composer.set("/find ");
            return changed(state);
        }
        Action::LineEnd | Action::Unfold if state.composer.is_empty() => {
            if !state.transcript.toggle_fold_last() {
                state.say(NoticeLevel::Info, "Nothing on screen is folded.", now);
            }
            return Vec::new();
        }
        _ => {}
    }
    state.times.typed = Some(now);
    edit(state, action);
    changed(state)
}

fn edit(state: &mut State, action: Action) {
    let buffer = &mut state.composer.buffer;
    match action {
        Action::NewLine => buffer.insert("\n"),
        Action::Left => buffer.left(),
        Action::Right => buffer.right(),
        Action::WordLeft => buffer.left_word(),
        Action::WordRight => buffer.right_word(),
        Action::LineStart => buffer.home(),
        Action::LineEnd => buffer.end(),
        Action::DeleteBack => buffer.delete_back(),
        Action::DeleteForward => buffer.delete_forward(),
        Action::DeleteWordBack => buffer.kill_word_back(),
        Action::DeleteWordForward => buffer.kill_word_forward(),
        Action::KillToEnd => buffer.kill_to_end(),
        Action::KillToStart => buffer.kill_to_start(),
        Action::Yank => buffer.yank(),
        Action::YankPop => buffer.yank_pop(),
        Action::Undo => buffer.undo(),
        Action::Redo => buffer.redo(),
        Action::Transpose => buffer.transpose(),
        _ => {}
    }
}

/// Up and down: rows first, then earlier prompts; on nothing, what was put aside.
fn vertical(state: &mut State, up: bool) -> Vec<Effect> {
    let rows = state.composer.rows(state.composer_width());
    let composer = &mut state.composer;
    if up && composer.is_empty() && composer.unstash() {
        // What said how to get it back is done.
        if state
            .flash
            .as_ref()
            .is_some_and(|flash| flash.text == super::keys::ASIDE)
        {
            state.flash = None;
        }
        return Vec::new();
    }
    let moved = if up {
        composer.buffer.up(&rows)
    } else {
        composer.buffer.down(&rows)
    };
    if moved {
        return changed(state);
    }
    let current = composer.expanded();
    let found = if up {
        composer.history.older(&current)
    } else {
        composer.history.newer()
    };
    if let Some(text) = found {
        composer.set(&text);
    }
    Vec::new()
}

/// Takes the list's entry; with `run`, a command that needs nothing more is carried out.
pub(super) fn accept_popup(state: &mut State, run: bool, now: Millis) -> Vec<Effect> {
    let Some(popup) = state.composer.popup.clone() else {
        return Vec::new();
    };
    let Some(item) = popup.chosen() else {
        state.composer.close_popup();
        return if run {
            submit(state, Delivery::Guidance, now)
        } else {
            Vec::new()
        };
    };
    let whole = command::parse(&format!("/{}", popup.query));
    match popup.kind {
        // Typed out, or another name of it: meant as it stands.
        Kind::Commands if run && matches!(whole, Parsed::Command(..)) => {
            state.composer.popup = None;
            return submit(state, Delivery::Guidance, now);
        }
        Kind::Files if run && popup.query == item.name => {
            state.composer.popup = None;
            return submit(state, Delivery::Guidance, now);
        }
        Kind::Commands => {
            let own = state.composer.offers.commands.iter();
            let takes = command::row_of(&item.name).map_or_else(
                || own.clone().any(|c| c.name == item.name && takes_words(c)),
                |row| !row.takes.is_empty(),
            );
            // What was found by its description is written out first: nobody typed its name.
            let named = popup.query.is_empty() || !item.marks.is_empty();
            let tail = if run && !takes && named { "" } else { " " };
            let text = format!("/{}{tail}", item.name);
            state.composer.buffer.replace(popup.token, &text);
            if tail.is_empty() {
                state.composer.popup = None;
                return submit(state, Delivery::Guidance, now);
            }
        }
        Kind::Skills => {
            let text = format!("${} ", item.name);
            state.composer.buffer.replace(popup.token, &text);
        }
        Kind::Files => {
            let folder = item.name.ends_with('/');
            let tail = if folder && !run { "" } else { " " };
            // The lines that were typed stay: `@file:10-40`.
            let typed = state.composer.buffer.text().get(popup.token.clone());
            let lines = typed.and_then(|typed| Some(typed.split_once(':')?.1));
            let lines = lines.map_or(String::new(), |lines| format!(":{lines}"));
            let text = format!("@{}{lines}{tail}", item.name);
            state.composer.buffer.replace(popup.token, &text);
        }
    }
    changed(state)
}

/// Sends what is written: a command, a shell command or a prompt.
pub(super) fn submit(state: &mut State, delivery: Delivery, now: Millis) -> Vec<Effect> {
    let text = state.composer.expanded();
    if text.trim().is_empty() {
        return go_on(state);
    }
    // What was said before this is about something else.
    state.flash = None;
    if delivery == Delivery::Guidance && broke_line(state) {
        return Vec::new();
    }
    match command::parse(&text) {
        Parsed::Command(command, rest) => {
            state.composer.take();
            state.composer.history.add(&text);
            remember_command(state, command);
            return run::run(state, command, &rest, now);
        }
        _ if state.composer.offers.called(&text).is_some() => {
            return own_command(state, &text, delivery, now);
        }
        Parsed::Unknown { name, closest } => {
            let sentence =
                format!("There is no /{name}. The closest is /{closest}; /help lists all.");
            state.say(NoticeLevel::Error, sentence, now);
            return Vec::new();
        }
        Parsed::Prompt => {}
    }
    if !may_write(state, now) {
        return Vec::new();
    }
    let input = state.composer.take();
    let mut effects = sending(state, &text);
    effects.extend(to_where_it_stood(state));
    let shell = text
        .strip_prefix('!')
        .filter(|_| delivery != Delivery::FollowUp);
    effects.push(Effect::Op(match shell {
        Some(line) => Op::Shell {
            command: line.trim().to_owned(),
        },
        None => Op::Prompt { input, delivery },
    }));
    if text.starts_with('!') {
        effects.extend(knows(state, "!"));
    }
    effects
}

/// False, and said, if this session is only read here or an edited prompt has to wait.
fn may_write(state: &mut State, now: Millis) -> bool {
    if let Some(why) = state.session.read_only {
        // The status row says why.
        let sentence = match why {
            ReadOnly::OtherWindow => "This session can only be read here: /fork goes on in a copy.",
            _ => "This session can only be read here: the line above says why and what to do.",
        };
        state.say(NoticeLevel::Warning, sentence, now);
        return false;
    }
    if state.session.editing.is_some() && state.is_running() {
        let sentence = "A turn is running: press Esc to stop it, then send the edited prompt.";
        state.say(NoticeLevel::Warning, sentence, now);
        return false;
    }
    true
}

/// What was written is on its way: it shows until the agent has it, and joins the history.
fn sending(state: &mut State, text: &str) -> Vec<Effect> {
    state.transcript.to_bottom();
    state.sending = Some(text.lines().next().unwrap_or_default().to_owned());
    state.session.cut = false;
    if state.composer.history.add(text) {
        vec![Effect::SaveHistory(text.to_owned())]
    } else {
        Vec::new()
    }
}

/// One of the user's own commands: its page, with the words put in, is the prompt.
fn own_command(state: &mut State, text: &str, delivery: Delivery, now: Millis) -> Vec<Effect> {
    if !may_write(state, now) {
        return Vec::new();
    }
    let mut input = state.composer.take();
    let Some((command, rest)) = state.composer.offers.called(text) else {
        return Vec::new();
    };
    input.text = command.expand(rest);
    let name = command.name.clone();
    let agent = command.agent.clone().map(Op::SetAgent);
    let model = command.model.clone().map(Op::SetModel);
    state.composer.offers.used(&name);
    let mut effects = sending(state, text);
    effects.extend(to_where_it_stood(state));
    effects.extend(agent.into_iter().chain(model).map(Effect::Op));
    effects.push(Effect::Op(Op::Prompt { input, delivery }));
    effects
}

/// True if a command of the user's is of no use without words.
fn takes_words(command: &CommandDef) -> bool {
    !command.hint.is_empty()
        || command.template.contains("$ARGUMENTS")
        || command.template.contains("$1")
}

/// An earlier prompt that was edited goes where it stood: what followed it stays on its own branch.
fn to_where_it_stood(state: &mut State) -> Vec<Effect> {
    let Some(Editing { message, branch }) = state.session.editing.take() else {
        return Vec::new();
    };
    let (files, confirmed) = (false, true);
    let switch = branch.map(|tip| Op::SwitchBranch {
        tip,
        files,
        confirmed,
    });
    let back = Op::Rewind {
        to: message,
        files,
        confirmed,
    };
    switch.into_iter().chain([back]).map(Effect::Op).collect()
}

/// Enter on nothing: what is paused or was cut goes on; else the subagent in view opens.
fn go_on(state: &mut State) -> Vec<Effect> {
    if state.queue.paused && !state.queue.follow_ups.is_empty() {
        return vec![Effect::Op(Op::Queue(QueueEdit::Resume))];
    }
    if state.session.cut && !state.is_running() {
        state.session.cut = false;
        return vec![Effect::Op(Op::Continue)];
    }
    super::subagents::open_in_view(state)
}

/// A `\` before the cursor makes Enter a line break.
fn broke_line(state: &mut State) -> bool {
    let buffer = &mut state.composer.buffer;
    let at = buffer.cursor();
    if at == buffer.text().len() && buffer.text().ends_with('\\') {
        buffer.replace(at - 1..at, "\n");
        return true;
    }
    false
}

fn remember_command(state: &mut State, command: Command) {
    if let Some(row) = command::TABLE.iter().find(|row| row.command == command) {
        state.composer.offers.used(row.name);
    }
}

fn newest_queued(state: &State) -> Option<&QueueItem> {
    let queue = &state.queue;
    queue
        .guidance
        .iter()
        .chain(&queue.follow_ups)
        .max_by_key(|item| item.id)
}

/// Takes the newest queued message back into the composer.
fn edit_queued(state: &mut State, now: Millis) -> Vec<Effect> {
    let Some(item) = newest_queued(state).cloned() else {
        return Vec::new();
    };
    if !state.composer.is_empty() {
        let sentence = "Send or stash what you are writing first (ctrl+c puts it aside).";
        state.say(NoticeLevel::Warning, sentence, now);
        return Vec::new();
    }
    take_queued(state, &item);
    vec![Effect::Op(Op::Queue(QueueEdit::Remove(item.id)))]
}

/// Puts a queued message into the composer; it leaves the lists at once.
pub(super) fn take_queued(state: &mut State, item: &QueueItem) {
    state.composer.restore(&item.input);
    forget_queued(state, item);
}

fn forget_queued(state: &mut State, item: &QueueItem) {
    state.queue.guidance.retain(|queued| queued.id != item.id);
    state.queue.follow_ups.retain(|queued| queued.id != item.id);
}

fn drop_queued(state: &mut State, now: Millis) -> Vec<Effect> {
    let Some(item) = newest_queued(state).cloned() else {
        return Vec::new();
    };
    forget_queued(state, &item);
    // What was written is never gone: the history has it.
    state.composer.history.add(&item.input.text);
    state.say(NoticeLevel::Info, "Dropped: ↑ brings it back.", now);
    vec![Effect::Op(Op::Queue(QueueEdit::Remove(item.id)))]
}
