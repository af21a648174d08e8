//! Tool calls → cells: which kind of cell a tool has, groups of reads and searches, the newest plan.
//!
//! Called by `apply` for every change of a tool's part. What is kept of its output is in `cells`.

use super::apply::set;
use super::list::{Entry, List};
use crate::protocol::{AskBody, Part, PartId, ToolPart, ToolState};
use crate::tui::cells::{
    self, Call, Cell, Edit, Exec, Explored, ExploredKind, FileCell, Task, Todo, ToolFacts,
};

/// Takes in a call, new or changed, with the pictures and documents that it brought.
pub(super) fn tool(list: &mut List, part: &Part, call: &ToolPart) {
    cell(list, part, call);
    let ToolState::Completed { attachments, .. } = &call.state else {
        return;
    };
    for (n, file) in attachments.iter().enumerate() {
        let of = Some((part.id, n));
        let is_known = |entry: &Entry| matches!(&entry.cell, Cell::File(file) if file.of == of);
        if !list.iter().rev().any(is_known) {
            let file = FileCell {
                of,
                ..FileCell::of(file, false)
            };
            list.add(Cell::File(file), None, Some(part.message));
        }
    }
}

fn cell(list: &mut List, part: &Part, call: &ToolPart) {
    let mut facts = ToolFacts::of(call, part.start);
    let place = list.find(part.id);
    if let Some(kind) = ExploredKind::of(&call.tool) {
        explored(list, part, kind, facts, place);
        return;
    }
    let old = place.and_then(|at| list.get(at)).map(|entry| &entry.cell);
    if facts.outcome.is_running()
        && let Some(old) = old.and_then(facts_of)
    {
        facts.asked = old.asked;
        facts.asked_why.clone_from(&old.asked_why);
    }
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
        _ => Cell::Call(Call::of(facts, metadata)),
    };
    set(list, part, cell);
}

/// The facts of a call that the user can be asked about.
const fn facts_of(cell: &Cell) -> Option<&ToolFacts> {
    match cell {
        Cell::Exec(cell) => Some(&cell.facts),
        Cell::Edit(cell) => Some(&cell.facts),
        Cell::Task(cell) => Some(&cell.facts),
        Cell::Call(cell) => Some(&cell.facts),
        _ => None,
    }
}

/// Marks a tool cell as waiting for the user (with what the question says about it), or no longer.
pub(super) fn asked(list: &mut List, part: PartId, asked: Option<&AskBody>) {
    let Some(at) = list.find(part) else { return };
    let Some(entry) = list.get_mut(at) else {
        return;
    };
    let facts = match &mut entry.cell {
        Cell::Explored(cell) => match cell.facts_mut(part) {
            Some(facts) => facts,
            None => return,
        },
        Cell::Exec(cell) => &mut cell.facts,
        Cell::Edit(cell) => &mut cell.facts,
        Cell::Task(cell) => &mut cell.facts,
        Cell::Call(cell) => &mut cell.facts,
        _ => return,
    };
    facts.asked = asked.is_some();
    facts.asked_why = asked.map(why).unwrap_or_default();
    entry.revision += 1;
}

fn why(body: &AskBody) -> String {
    match body {
        AskBody::DoomLoop {
            repeats, cycle: 1, ..
        } => format!("{} identical call", ordinal(*repeats)),
        AskBody::DoomLoop { repeats, cycle, .. } => {
            format!("{} round of {cycle} calls", ordinal(*repeats))
        }
        _ => String::new(),
    }
}

fn ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
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
