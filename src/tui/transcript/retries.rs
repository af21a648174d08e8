//! Attempts that failed and are followed by another: one cell for a step, however often it failed.
//!
//! Called by `apply`. The failure of such an attempt is no failure of the turn, so its own cell goes.

use super::apply::newest_message;
use super::list::List;
use crate::protocol::{Fault, MessageId, Part};
use crate::tui::cells::{Cell, Retry};

/// An attempt failed. Event and part say the same; the part comes with the message.
pub(super) fn retry(list: &mut List, attempt: u32, error: &Fault, part: Option<&Part>) {
    if let Some(part) = part {
        if let Some(head) = list.heads.get_mut(&part.message) {
            head.retried = true;
        }
        drop_failure(list, part.message);
    }
    if let Some(at) = known(list, attempt, error) {
        if let Some(part) = part {
            list.join(part.id, at);
        }
        return;
    }
    if let Some(at) = goes_on(list, attempt, error)
        && let Some(entry) = list.get_mut(at)
        && let Cell::Retry(retry) = &mut entry.cell
    {
        retry.attempt = attempt;
        retry.times += 1;
        retry.error.clone_from(error);
        entry.revision += 1;
        if let Some(part) = part {
            list.join(part.id, at);
        }
        return;
    }
    let message = part
        .map(|part| part.message)
        .or_else(|| newest_message(list));
    let cell = Cell::Retry(Retry {
        attempt,
        error: error.clone(),
        partial: message.is_some_and(|message| has_answer(list, message)),
        times: 1,
    });
    list.add(cell, part.map(|part| part.id), message);
}

/// The cell that tells of this attempt already.
fn known(list: &List, attempt: u32, error: &Fault) -> Option<usize> {
    let near = list.len().saturating_sub(4);
    (near..list.len()).rev().find(|at| {
        let entry = list.get(*at);
        entry.is_some_and(|entry| {
            matches!(&entry.cell, Cell::Retry(retry) if retry.attempt == attempt && &retry.error == error)
        })
    })
}

/// The cell of the attempt before, if it failed in the same way and nothing was said since.
fn goes_on(list: &List, attempt: u32, error: &Fault) -> Option<usize> {
    let seen = |at: &usize| {
        list.get(*at)
            .is_some_and(|entry| !super::is_hidden(&entry.cell))
    };
    let at = (0..list.len()).rev().find(seen)?;
    match &list.get(at)?.cell {
        Cell::Retry(retry) => {
            let alike = (retry.error.kind, retry.error.status) == (error.kind, error.status);
            (alike && retry.attempt < attempt).then_some(at)
        }
        _ => None,
    }
}

/// Takes the failure of a message away.
fn drop_failure(list: &mut List, message: MessageId) {
    let is = |entry: &super::list::Entry| {
        entry.message == Some(message) && matches!(entry.cell, Cell::Failure(_))
    };
    if list.iter().rev().take(8).any(is) {
        list.retain(|entry| !is(entry));
    }
}

/// True if something of a message's answer stands on the screen.
fn has_answer(list: &List, message: MessageId) -> bool {
    let mut of_message = list
        .iter()
        .rev()
        .filter(|entry| entry.message == Some(message));
    of_message.any(|entry| matches!(entry.cell, Cell::Answer(_)) && !super::is_hidden(&entry.cell))
}
