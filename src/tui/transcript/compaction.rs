//! Compactions → cells: what is kept in words, the summary as it streams, figures as they come.
//!
//! Called by `apply` (parts) and by the transcript (status and events).

use super::list::List;
use crate::protocol::{MessageId, Millis, Part};
use crate::tui::cells::{Cell, Compaction, ExploredKind};

/// Takes in the part of a compaction.
pub(super) fn part(
    list: &mut List,
    part: &Part,
    (before, after): (u64, u64),
    tail: Option<MessageId>,
) {
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
        made: 0,
        output_before: None,
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
    match files(list) {
        0 => {}
        1 => parts.push("1 file".to_owned()),
        n => parts.push(format!("{n} files")),
    }
    parts.join(", ")
}

/// Files that were read or edited: their names are said again after the summary.
fn files(list: &List) -> usize {
    let mut names = std::collections::HashSet::new();
    for entry in list.iter() {
        match &entry.cell {
            Cell::Explored(explored) => {
                let reads = explored.entries.iter();
                let reads = reads.filter(|e| e.kind == ExploredKind::Read);
                names.extend(reads.map(|e| e.facts.title.as_str()));
            }
            Cell::Edit(edit) => {
                names.insert(edit.facts.title.as_str());
            }
            _ => {}
        }
    }
    names.len()
}

/// The summary's text belongs to the compaction that asked for it.
pub(super) fn text(list: &mut List, part: &Part, text: &str) {
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
pub(super) fn figures(list: &mut List, figures: Figures) {
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
        Figures::Running {
            messages,
            tokens,
            output,
        } => {
            // What the turn had said before is no part of the summary.
            let begun = *compaction.output_before.get_or_insert(output);
            let made = output.saturating_sub(begun);
            let figures = (messages, tokens, made);
            if !compaction.is_running()
                || (compaction.messages, compaction.before, compaction.made) == figures
            {
                return;
            }
            (compaction.messages, compaction.before, compaction.made) = figures;
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
        /// Tokens that the turn has put out so far.
        output: u64,
    },
    Done {
        before: u64,
        after: u64,
        now: Millis,
    },
}
