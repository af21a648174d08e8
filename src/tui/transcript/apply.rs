//! EVENT → CELLS. The only place that changes what the transcript holds.
//!
//! Called by `Transcript::apply`. An event about something unknown is no error: pages of history and
//! live events may overlap.

use std::collections::HashMap;

use super::list::{Head, List};
use crate::protocol::{
    Fault, Finish, Message, MessageId, Millis, NoticeLevel, Part, PartBody, PartId, Role, ToolPart,
    ToolState,
};
use crate::tui::cells::{
    self, Answer, Call, Cell, Changes, Compaction, Edit, Exec, Explored, ExploredKind, Failure,
    FileCell, Notice, Prompt, Retry, Task, Thought, Todo, ToolFacts,
};
use crate::tui::text::stream::Stream;

/// Takes in a message's header.
pub(super) fn message(list: &mut List, message: &Message) {
    let head = list.heads.entry(message.id).or_insert_with(|| Head {
        role: message.role,
        summary: message.summary,
        parent: message.parent,
        ended: false,
        edited: false,
    });
    head.summary = message.summary;
    if head.ended {
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
                compaction_text(list, part, text);
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
        PartBody::Tool(call) => tool(list, part, call),
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
            compaction(list, part, (*before, *after), *tail);
        }
        // The call of `task` shows the subagent; this part only records it.
        PartBody::Subtask { .. } => {}
        PartBody::Retry { attempt, error, .. } => retry(list, *attempt, error, Some(part)),
    }
}

/// Puts a cell in the place of the part's old one, or adds it.
fn set(list: &mut List, part: &Part, cell: Cell) {
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

fn tool(list: &mut List, part: &Part, call: &ToolPart) {
    let mut facts = ToolFacts::of(call, part.start);
    let place = list.find(part.id);
    if let Some(kind) = ExploredKind::of(&call.tool) {
        explored(list, part, kind, facts, place);
        return;
    }
    let old = place.and_then(|at| list.get(at)).map(|entry| &entry.cell);
    facts.asked = facts.outcome.is_running() && old.is_some_and(is_asked);
    let metadata = cells::metadata(&call.state);
    let input = call.state.input();
    let cell = match call.tool.as_str() {
        "bash" | "shell" => Cell::Exec(Exec::of(facts, metadata)),
        "todo" | "todo_write" | "plan" => {
            supersede_plans(list, part.id);
            Cell::Todo(Todo::of(facts, input, metadata))
        }
        "task" => Cell::Task(Task::of(facts, input, metadata)),
        name if Edit::is(name) => {
            if matches!(call.state, ToolState::Completed { .. })
                && let Some(head) = list.heads.get_mut(&part.message)
            {
                head.edited = true;
            }
            Cell::Edit(Edit::of(facts, metadata))
        }
        _ => Cell::Call(Call { facts }),
    };
    set(list, part, cell);
}

fn is_asked(cell: &Cell) -> bool {
    match cell {
        Cell::Exec(cell) => cell.facts.asked,
        Cell::Edit(cell) => cell.facts.asked,
        Cell::Task(cell) => cell.facts.asked,
        Cell::Call(cell) => cell.facts.asked,
        _ => false,
    }
}

/// Marks a tool cell as waiting for the user, or no longer.
pub(super) fn asked(list: &mut List, part: PartId, asked: bool) {
    let Some(at) = list.find(part) else { return };
    let Some(entry) = list.get_mut(at) else {
        return;
    };
    let facts = match &mut entry.cell {
        Cell::Exec(cell) => &mut cell.facts,
        Cell::Edit(cell) => &mut cell.facts,
        Cell::Task(cell) => &mut cell.facts,
        Cell::Call(cell) => &mut cell.facts,
        _ => return,
    };
    facts.asked = asked;
    entry.revision += 1;
}

/// Reads and searches join the group they follow on.
fn explored(
    list: &mut List,
    part: &Part,
    kind: ExploredKind,
    facts: ToolFacts,
    place: Option<usize>,
) {
    let last = list.len().checked_sub(1);
    let group = place.or_else(|| {
        // Blank text and empty thoughts between two calls do not part them.
        let mut at = last?;
        while list
            .get(at)
            .is_some_and(|entry| super::is_hidden(&entry.cell))
        {
            at = at.checked_sub(1)?;
        }
        list.get(at)
            .filter(|entry| matches!(entry.cell, Cell::Explored(_)))
            .map(|_| at)
    });
    if let Some(at) = group
        && let Some(entry) = list.get_mut(at)
        && let Cell::Explored(explored) = &mut entry.cell
    {
        explored.put(part.id, kind, facts);
        entry.revision += 1;
        list.join(part.id, at);
        return;
    }
    let mut explored = Explored::default();
    explored.put(part.id, kind, facts);
    list.add(Cell::Explored(explored), Some(part.id), Some(part.message));
}

fn supersede_plans(list: &mut List, part: PartId) {
    for at in (0..list.len()).rev() {
        let Some(entry) = list.get_mut(at) else {
            continue;
        };
        if let Cell::Todo(todo) = &mut entry.cell
            && entry.part != Some(part)
        {
            if todo.superseded {
                break;
            }
            todo.superseded = true;
            entry.revision += 1;
        }
    }
}

/// An attempt failed. Event and part say the same; the part comes with the message.
pub(super) fn retry(list: &mut List, attempt: u32, error: &Fault, part: Option<&Part>) {
    let known = list
        .iter()
        .rev()
        .take(4)
        .find_map(|entry| match &entry.cell {
            Cell::Retry(retry) if retry.attempt == attempt && &retry.error == error => {
                Some(entry.id)
            }
            _ => None,
        });
    if let Some(at) = known.and_then(|id| list.index(id)) {
        if let Some(part) = part {
            list.join(part.id, at);
        }
        return;
    }
    let partial = list
        .iter()
        .rev()
        .find(|entry| !super::is_hidden(&entry.cell))
        .is_some_and(|entry| matches!(entry.cell, Cell::Answer(_)));
    let cell = Cell::Retry(Retry {
        attempt,
        error: error.clone(),
        partial,
    });
    let message = part
        .map(|part| part.message)
        .or_else(|| newest_message(list));
    list.add(cell, part.map(|part| part.id), message);
}

fn newest_message(list: &List) -> Option<MessageId> {
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

fn compaction(list: &mut List, part: &Part, (before, after): (u64, u64), tail: Option<MessageId>) {
    if let Some(at) = list.find(part.id)
        && let Some(entry) = list.get_mut(at)
        && let Cell::Compaction(compaction) = &mut entry.cell
    {
        compaction.before = compaction.before.max(before);
        compaction.after = after;
        if after > 0 && compaction.end.is_none() {
            compaction.end = part.end.or(Some(part.start));
        }
        entry.revision += 1;
        return;
    }
    let cell = Cell::Compaction(Compaction {
        start: part.start,
        end: if after > 0 {
            part.end.or(Some(part.start))
        } else {
            None
        },
        messages: 0,
        before,
        after,
        keeping: keeping(list, tail),
        summary: String::new(),
    });
    list.add(cell, Some(part.id), Some(part.message));
}

/// What a compaction keeps, in words.
fn keeping(list: &List, tail: Option<MessageId>) -> String {
    let mut parts = Vec::new();
    if let Some(tail) = tail {
        let turns = list
            .iter()
            .rev()
            .take_while(|entry| entry.message.is_none_or(|message| message >= tail))
            .filter(|entry| matches!(&entry.cell, Cell::Prompt(prompt) if !prompt.synthetic))
            .count();
        match turns {
            0 => {}
            1 => parts.push("last turn".to_owned()),
            n => parts.push(format!("last {n} turns")),
        }
    }
    let plan = list.iter().rev().find_map(|entry| match &entry.cell {
        Cell::Todo(todo) => Some(todo.progress()),
        _ => None,
    });
    if let Some((done, all)) = plan.filter(|(_, all)| *all > 0) {
        parts.push(format!("plan ({done} of {all} done)"));
    }
    parts.join(", ")
}

/// The summary's text belongs to the compaction that asked for it.
fn compaction_text(list: &mut List, part: &Part, text: &str) {
    let place = list.find(part.id).or_else(|| newest_compaction(list));
    let Some(at) = place else { return };
    list.join(part.id, at);
    if let Some(entry) = list.get_mut(at)
        && let Cell::Compaction(compaction) = &mut entry.cell
    {
        text.clone_into(&mut compaction.summary);
        if let Some(end) = part.end {
            compaction.end = Some(end);
        }
        entry.revision += 1;
    }
}

fn newest_compaction(list: &List) -> Option<usize> {
    (0..list.len()).rev().find(|at| {
        list.get(*at)
            .is_some_and(|entry| matches!(entry.cell, Cell::Compaction(_)))
    })
}

/// Figures of the compaction that is going on, or of the one that just ended.
pub(super) fn compaction_figures(list: &mut List, figures: Figures) {
    let Some(at) = newest_compaction(list) else {
        return;
    };
    let Some(entry) = list.get_mut(at) else {
        return;
    };
    let Cell::Compaction(compaction) = &mut entry.cell else {
        return;
    };
    match figures {
        Figures::Running { messages, tokens } => {
            if !compaction.is_running()
                || (compaction.messages == messages && compaction.before == tokens)
            {
                return;
            }
            compaction.messages = messages;
            compaction.before = tokens;
        }
        Figures::Done { before, after, now } => {
            compaction.before = before;
            compaction.after = after;
            compaction.end.get_or_insert(now);
        }
    }
    entry.revision += 1;
}

/// What is known about a compaction besides its parts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figures {
    Running {
        messages: u32,
        tokens: u64,
    },
    Done {
        before: u64,
        after: u64,
        now: Millis,
    },
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
