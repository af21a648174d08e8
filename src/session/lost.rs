//! Facts of a session whose journal no longer tells them: one damaged line must not make the rest unreadable.
//!
//! They come from `meta.json`, else from the first message that is left and the sessions beside it. Called by
//! whoever reads a journal; nothing is written here.

use super::image::Image;
use super::list;
use super::meta::{Meta, modified};
use super::place::Place;
use crate::protocol::{Message, Mode, SessionInfo, SessionSummary};

/// The facts of a session as far as they can be found without its journal's own.
pub(super) fn facts(place: &Place, first: Option<&Message>) -> Option<SessionInfo> {
    if let Some(meta) = Meta::read(place)
        && meta.summary.info.id == place.id
    {
        return Some(meta.summary.info);
    }
    let message = first?;
    Some(SessionInfo {
        id: place.id,
        parent: None,
        title: String::new(),
        worktree: worktree_of_others(place),
        model: message.model.clone(),
        agent: message.agent.clone(),
        mode: Mode::Ask,
        created: message.created,
    })
}

/// Gives a session that was read its facts back. Something must have been damaged, so that is counted.
pub(super) fn heal(image: &mut Image, place: &Place) {
    if image.info.is_none() {
        image.info = facts(place, image.messages.values().next());
        image.damaged = image.damaged.max(1);
    }
}

/// All sessions of a project are of one repository, mostly of one folder.
fn worktree_of_others(place: &Place) -> String {
    let sessions = place.folder.parent().map(std::path::Path::to_owned);
    let others = list::all_places(sessions.as_slice()).unwrap_or_default();
    let metas = others.iter().filter_map(Meta::read);
    let mut folders = metas.map(|meta| meta.summary.info.worktree);
    folders.find(|f| !f.is_empty()).unwrap_or_default()
}

/// The row of a session of which nothing can be read.
pub(super) fn row(place: &Place) -> Option<SessionSummary> {
    let model = "none/none".parse().ok()?;
    Some(SessionSummary {
        info: SessionInfo {
            id: place.id,
            parent: None,
            title: String::new(),
            worktree: worktree_of_others(place),
            model,
            agent: String::new(),
            mode: Mode::Ask,
            created: 0,
        },
        updated: modified(&place.folder),
        parts: 0,
        messages: 0,
        cost: None,
        first_prompt: String::new(),
        context_percent: 0,
        added: 0,
        removed: 0,
        branch: String::new(),
        open_elsewhere: false,
        fork: false,
        archived: false,
        damaged: true,
    })
}
