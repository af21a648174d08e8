//! The tree of turns, for front ends: read beside, with the turn that somebody looked for.
//!
//! Called for `Op::Tree`, and when what was found stands on another branch. Nothing is changed here.

use super::branch::{self, Parents};
use super::{Agent, Back};
use crate::protocol::{Event, MessageId, PartId, TreeTurn};

impl Agent {
    /// `Op::Tree`: every turn of the session. Reading them all is beside the driver's work.
    pub(super) fn show_tree(&self, sought: Option<PartId>) {
        let Some(store) = self.active.store.clone() else {
            let event = Event::Tree {
                turns: Vec::new(),
                sought: None,
            };
            return self.active.announce(&self.ports, vec![event]);
        };
        let entries = self.active.turn.conversation().entries();
        let path: Vec<MessageId> = entries.iter().map(|e| e.message.id).collect();
        let back = self.active.back.clone();
        tokio::spawn(async move {
            let event = match store.since_async(None).await {
                Ok(all) => {
                    let sought = all.parts.iter().find(|part| Some(part.id) == sought);
                    let way = sought.map(|p| Parents::of(&all.messages).path(Some(p.message)));
                    let way = way.unwrap_or_default();
                    let turns = branch::turns(all.messages, all.parts, &path);
                    let holds = |turn: &&TreeTurn| way.contains(&turn.prompt);
                    let sought = turns.iter().rfind(holds).map(|turn| turn.prompt);
                    Event::Tree { turns, sought }
                }
                Err(error) => Event::Error {
                    error: error.fault(),
                },
            };
            drop(back.send(Back::Event(event)));
        });
    }
}
