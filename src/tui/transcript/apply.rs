//! EVENT → CELLS. The only place that changes what the transcript holds.
//!
//! Called by `Transcript::apply`. An event about something unknown is no error: pages of history and
//! live events may overlap.

use std::collections::HashMap;

use super::list::{Head, List};
use super::{calls, compaction, retries};
use crate::protocol::{
    Fault, Finish, Message, MessageId, Millis, NoticeLevel, Part, PartBody, PartId, Role,
};
use crate::tui::cells::{Answer, Cell, Changes, Failure, FileCell, Notice, Prompt, Thought};
use crate::tui::text::stream::Stream;

/// Takes in a message's header.
pub(super) fn message(list: &mut List, message: &Message) {
    let head = list.heads.entry(message.id).or_insert_with(|| Head {
        role: message.role,
        summary: message.summary,
        parent: message.parent,
        ended: false,
        edited: false,
        retried: false,
    });
    head.summary = message.summary;
    if head.ended || (head.retried && message.error.is_some()) {
        // A failure that is tried again is told by its retry.
        return;
    }
    let cell = match (&message.error, message.finish) {
        (Some(fault), _) if fault.kind != crate::protocol::FaultKind::Interrupted => {
            Cell::Failure(Failure {
                fault: fault.clone(),
            })
        }
        (Some(_), _) | (_, Some(Finish::Interrupted)) => note(NoticeLevel::Info, "Interrupted"),
        (_, Some(Finish::Length)) => note(
            NoticeLevel::Warning,
            "The answer was cut: the model reached its output limit. Say “go on” to continue.",
        ),
        (_, Some(Finish::ContentFilter)) => note(
            NoticeLevel::Warning,
            "The provider withheld the rest of the answer. Ask in other words, or use another model.",
        ),
        _ => return,
    };
    head.ended = true;
    list.add(cell, None, Some(message.id));
}

fn note(level: NoticeLevel, text: &str) -> Cell {
    Cell::Notice(Notice {
        level,
        text: text.to_owned(),
    })
}

/// A page of history as a list of its own.
pub(super) fn page(beside: &List, messages: &[Message], parts: &[Part]) -> List {
    let mut list = beside.beside();
    let mut by_message: HashMap<MessageId, Vec<&Part>> = HashMap::new();
    for part in parts {
        by_message.entry(part.message).or_default().push(part);
    }
    for header in messages {
        if beside.heads.contains_key(&header.id) {
            continue;
        }
        let mut open = header.clone();
        (open.finish, open.error) = (None, None);
        message(&mut list, &open);
        for one in by_message.remove(&header.id).unwrap_or_default() {
            part(&mut list, one);
        }
        message(&mut list, header);
    }
    list
}

/// Takes in a part, new or changed.
pub(super) fn part(list: &mut List, part: &Part) {
    let head = list.heads.get(&part.message);
    let by_user = head.is_some_and(|head| head.role == Role::User);
    let summary = head.is_some_and(|head| head.summary);
    match &part.body {
        PartBody::Text {
            text, synthetic, ..
        } => {
            if summary {
                compaction::text(list, part, text);
            } else if by_user {
                let prompt = Prompt {
                    text: text.clone(),
                    synthetic: *synthetic,
                };
                set(list, part, Cell::Prompt(prompt));
            } else {
                answer(list, part, text);
            }
        }
        PartBody::Reasoning { text, .. } => {
            if !summary {
                let thought = Thought {
                    text: text.clone(),
                    start: part.start,
                    end: part.end,
                };
                set(list, part, Cell::Thought(thought));
            }
        }
        PartBody::Tool(call) => calls::tool(list, part, call),
        PartBody::File(file) => set(list, part, Cell::File(FileCell::of(file, by_user))),
        PartBody::StepStart { .. } | PartBody::StepFinish { .. } => {}
        PartBody::Patch { files, .. } => {
            let edited = head.is_some_and(|head| head.edited);
            if !edited && !files.is_empty() {
                set(list, part, Cell::Changes(Changes::of(files)));
            }
        }
        PartBody::Compaction {
            before,
            after,
            tail,
            ..
        } => {
            compaction::part(list, part, (*before, *after), *tail);
        }
        // The call of `task` shows the subagent; this part only records it.
        PartBody::Subtask { .. } => {}
        PartBody::Retry { attempt, error, .. } => {
            retries::retry(list, *attempt, error, Some(part));
        }
    }
}

/// Puts a cell in the place of the part's old one, or adds it.
pub(super) fn set(list: &mut List, part: &Part, cell: Cell) {
    match list.find(part.id) {
        Some(at) => {
            if let Some(entry) = list.get_mut(at) {
                entry.cell = cell;
                entry.revision += 1;
            }
        }
        None => {
            list.add(cell, Some(part.id), Some(part.message));
        }
    }
}

fn answer(list: &mut List, part: &Part, text: &str) {
    let open = part.end.is_none();
    if let Some(at) = list.find(part.id)
        && let Some(entry) = list.get_mut(at)
        && let Cell::Answer(answer) = &mut entry.cell
    {
        answer.open = open;
        if !answer.stream.is(text) {
            let known = answer.stream.text();
            if let Some(more) = text.strip_prefix(known.as_str()) {
                answer.stream.push(more);
            } else {
                answer.stream = Stream::new(text);
                entry.epoch += 1;
            }
            entry.revision += 1;
        }
        return;
    }
    let answer = Answer {
        stream: Stream::new(text),
        open,
    };
    list.add(Cell::Answer(answer), Some(part.id), Some(part.message));
}

/// Appends a delta; false if the part is not known.
pub(super) fn delta(list: &mut List, part: PartId, delta: &str) -> bool {
    let Some(at) = list.find(part) else {
        return false;
    };
    let Some(entry) = list.get_mut(at) else {
        return false;
    };
    match &mut entry.cell {
        Cell::Answer(answer) => answer.stream.push(delta),
        Cell::Thought(thought) => thought.text.push_str(delta),
        Cell::Compaction(compaction) => compaction.summary.push_str(delta),
        _ => return false,
    }
    entry.revision += 1;
    true
}

pub(super) fn newest_message(list: &List) -> Option<MessageId> {
    list.iter().rev().find_map(|entry| entry.message)
}

/// A sentence after all that is there.
pub(super) fn notice(list: &mut List, level: NoticeLevel, text: &str) {
    let message = newest_message(list);
    list.add(
        Cell::Notice(Notice {
            level,
            text: text.to_owned(),
        }),
        None,
        message,
    );
}

/// A failure after all that is there, unless it already stands there.
pub(super) fn failure(list: &mut List, fault: &Fault) {
    let known = list
        .iter()
        .rev()
        .take(4)
        .any(|entry| matches!(&entry.cell, Cell::Failure(failure) if &failure.fault == fault));
    if !known {
        let message = newest_message(list);
        list.add(
            Cell::Failure(Failure {
                fault: fault.clone(),
            }),
            None,
            message,
        );
    }
}

/// The turn is over: nothing of it still thinks, streams or compacts.
pub(super) fn close(list: &mut List, now: Millis) {
    for at in (0..list.len()).rev().take(200) {
        let Some(entry) = list.get_mut(at) else {
            continue;
        };
        let changed = match &mut entry.cell {
            Cell::Thought(thought) if thought.end.is_none() => {
                thought.end = Some(now);
                true
            }
            Cell::Answer(answer) if answer.open => {
                answer.open = false;
                true
            }
            Cell::Compaction(compaction) if compaction.is_running() => {
                compaction.end = Some(now);
                true
            }
            _ => false,
        };
        if changed {
            entry.revision += 1;
        }
    }
}

/// Keeps the messages that lead to `tip`.
pub(super) fn branch(list: &mut List, tip: Option<MessageId>) {
    let Some(tip) = tip else {
        list.retain(|_| false);
        list.heads.clear();
        return;
    };
    let mut chain = std::collections::HashSet::new();
    let mut at = Some(tip);
    let mut oldest = tip;
    while let Some(id) = at.filter(|id| chain.insert(*id)) {
        oldest = id;
        at = list.heads.get(&id).and_then(|head| head.parent);
    }
    // Messages older than the known part of the chain cannot be judged, so they stay.
    let stays = |id: MessageId| chain.contains(&id) || id < oldest;
    list.retain(|entry| entry.message.is_none_or(stays));
    list.heads
        .retain(|id, _| chain.contains(id) || *id < oldest);
}
