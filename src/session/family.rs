//! Which sessions work for which: every row of a project is read once, then asked as often as wanted.
//!
//! Used by exports and deletions, which take a session's subagents along.

use std::collections::HashMap;

use super::list;
use super::meta::Meta;
use super::project::Project;
use crate::protocol::SessionId;

/// The sessions of subagents by the session they work for.
#[derive(Debug, Default)]
pub(super) struct Families(HashMap<SessionId, Vec<SessionId>>);

impl Project {
    /// Reads them; none if the folder cannot be listed.
    pub(super) fn families(&self) -> Families {
        let mut families = Families::default();
        for place in list::all_places(&[self.sessions_dir()]).unwrap_or_default() {
            // a copy has a parent too, but stands for itself
            let meta = Meta::read_or_mend(&place).filter(|meta| !meta.fork);
            // no subagent is older than who started it: this keeps rings out
            let parent = meta.and_then(|meta| meta.summary.info.parent);
            if let Some(parent) = parent.filter(|parent| place.id > *parent) {
                families.0.entry(parent).or_default().push(place.id);
            }
        }
        for children in families.0.values_mut() {
            children.sort_unstable();
        }
        families
    }
}

impl Families {
    /// The sessions of a session's own subagents, in the order they were started.
    pub(super) fn of(&self, id: SessionId) -> &[SessionId] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }
}
