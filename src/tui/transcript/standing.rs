//! What of the transcript the rest of the screen speaks about: what runs now, whose cell is in view.
//!
//! Asked by the status row and by `update`; changes nothing.

use super::{Transcript, list};
use crate::protocol::PartId;
use crate::tui::cells::{Cell, ToolFacts};
use crate::tui::term::sanitise::Safe;

/// Cells that are looked at for what runs: more calls never run at once.
const NEWEST: usize = 64;

impl Transcript {
    /// What runs now: the only call by its name, else how many there are; none if no call runs.
    pub fn running(&self) -> Option<Safe> {
        let newest = self.list.iter().rev().take(NEWEST);
        let mut running: Vec<Safe> = newest.flat_map(named).collect();
        match running.len() {
            // A call whose arguments still stream has no name.
            0 | 1 => running.pop().filter(|name| !name.as_str().is_empty()),
            many => Some(Safe::strip(&format!("Running {many} tools"))),
        }
    }

    /// The call of a subagent that is selected, or else the lowest one on screen.
    pub fn task_in_view(&self) -> Option<PartId> {
        let selected = self.selection.map(|selection| selection.from.unit);
        let on_screen = self.screen.iter().rev().flatten().map(|(unit, _)| *unit);
        selected.into_iter().chain(on_screen).find_map(|unit| {
            let entry = self.list.get(self.list.index(unit.cell)?)?;
            matches!(entry.cell, Cell::Task(_)).then_some(entry.part)?
        })
    }
}

/// What an entry's running calls are called.
fn named(entry: &list::Entry) -> Vec<Safe> {
    let runs = |facts: &ToolFacts| facts.outcome.is_running() && !facts.asked;
    let says = |before: &str, facts: &ToolFacts, after: &str| {
        let title = facts.shown_title();
        let text = format!("{before}{}{after}", title.as_str());
        vec![Safe::strip(text.trim())]
    };
    match &entry.cell {
        Cell::Exec(cell) if runs(&cell.facts) => says("Running ", &cell.facts, ""),
        Cell::Edit(cell) if runs(&cell.facts) => says("Editing ", &cell.facts, ""),
        Cell::Call(cell) if runs(&cell.facts) => says("", &cell.facts, ""),
        Cell::Task(cell) if runs(&cell.facts) && cell.agent.is_empty() => says("", &cell.facts, ""),
        Cell::Task(cell) if runs(&cell.facts) => {
            says("", &cell.facts, &format!(" ({})", cell.agent))
        }
        Cell::Explored(cell) => {
            let running = cell.entries.iter().filter(|entry| runs(&entry.facts));
            running
                .flat_map(|entry| says("Looking at ", &entry.facts, ""))
                .collect()
        }
        _ => Vec::new(),
    }
}
