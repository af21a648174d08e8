//! A session that can only be read here: another process has it open, or it belongs to another
//! folder.
//!
//! What the other process writes is followed and announced as if it happened here; nothing of it is
//! stored. When the other one ends, the session is opened anew and can be gone on with.

use super::Agent;
use crate::agent::Effect;
use crate::protocol::{Event, NoticeLevel, Part, PartBody, ReadOnly, ToolState};
use crate::session::{Follower, Opened, Record};

/// Why a session can only be read, and what is followed.
#[derive(Debug)]
pub(crate) struct Reading {
    /// None if nobody writes it.
    follower: Option<Follower>,
    why: ReadOnly,
}

impl Reading {
    /// None for a session that can be written.
    pub(super) fn of(opened: &Opened, foreign: bool) -> Option<Box<Self>> {
        if opened.writable {
            return None;
        }
        let follower = opened.elsewhere.then(|| opened.store.follow()).flatten();
        let why = match &follower {
            _ if foreign => ReadOnly::OtherFolder,
            Some(_) => ReadOnly::OtherWindow,
            None => ReadOnly::NotWritable,
        };
        Some(Box::new(Self { follower, why }))
    }

    /// Why it can only be read.
    pub(super) const fn why(&self) -> ReadOnly {
        self.why
    }
}

/// Waits until the other process has written or is gone; for ever if there is none.
pub(super) async fn changed(reading: &mut Option<Box<Reading>>) {
    match reading.as_mut().and_then(|r| r.follower.as_mut()) {
        Some(follower) => follower.changed().await,
        None => std::future::pending().await,
    }
}

/// What the other process's records mean here.
#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    /// What follows from it.
    effects: Vec<Effect>,
    /// The other one went to another branch: everything is read again.
    anew: bool,
}

impl Agent {
    /// Why nothing can be written, with what to do.
    pub(super) fn why_read_only(&self) -> String {
        let why = self.active.reading.as_ref().map(|reading| reading.why);
        match why {
            Some(ReadOnly::OtherFolder) => {
                let info = self.active.turn.info();
                let place = std::path::Path::new(&info.worktree);
                if !place.is_dir() {
                    return format!(
                        "This session belongs to {}, which is not there any more, so it can only be \
                         read. `dunlin sessions export` and `import` make a copy of it for this folder.",
                        info.worktree
                    );
                }
                format!(
                    "This session belongs to {}, so it can only be read here. To go on with it: {}",
                    info.worktree,
                    info.open_there()
                )
            }
            Some(ReadOnly::OtherWindow) => {
                "This session is open in another window and can only be read here until that one \
                 ends. /fork goes on from here in a copy."
                    .to_owned()
            }
            Some(ReadOnly::NotWritable) | None => format!(
                "This session can only be read: its folder {} cannot be written. Give yourself the \
                 right to write there, or set DUNLIN_DATA_DIR to a folder that you can write.",
                self.ports.project.folder().display()
            ),
        }
    }

    /// The other process wrote something, or ended.
    pub(super) async fn other_wrote(&mut self) {
        let Some(follower) = self
            .active
            .reading
            .as_mut()
            .and_then(|r| r.follower.as_mut())
        else {
            return;
        };
        let records = follower.read();
        let free = follower.is_free();
        let id = self.active.turn.info().id;
        let heard = match records {
            Ok(records) => self.hear(records),
            Err(error) => {
                self.store_trouble(&error);
                Heard {
                    anew: true,
                    ..Heard::default()
                }
            }
        };
        self.ports.outbox.send(heard.events);
        for effect in heard.effects {
            // nothing that is taken over makes an input
            drop(self.perform(effect));
        }
        if !free && !heard.anew {
            return;
        }
        if let Err(error) = self.enter(id).await {
            // It may have been deleted meanwhile: what is shown stays, nothing is followed.
            self.active.reading = None;
            self.store_trouble(&error);
        } else if self.active.writable {
            let text = "The other window has ended: you can go on here.";
            self.notice(NoticeLevel::Info, text);
        }
    }

    /// Takes over what another process stored.
    fn hear(&mut self, records: Vec<Record>) -> Heard {
        let mut heard = Heard::default();
        let now = self.ports.now();
        let turn = &mut self.active.turn;
        for record in records {
            match record {
                Record::Message(message) => {
                    let known = turn.conversation().entry(message.id).is_some();
                    let tip = turn.conversation().tip().map(|e| e.message.id);
                    heard.anew |= !known && message.parent != tip;
                    turn.mirror_message(message.clone());
                    heard.events.push(if known {
                        Event::MessageUpdated { message }
                    } else {
                        Event::MessageCreated { message }
                    });
                }
                Record::Part(part) => {
                    turn.mirror_part(part.clone());
                    heard.events.push(Event::PartUpdated { part });
                }
                Record::Append { part, text } => {
                    let Some(&Part { message, .. }) = turn.conversation().part(part) else {
                        continue;
                    };
                    turn.mirror_text(message, part, &text);
                    heard.events.push(Event::PartDelta {
                        part,
                        message,
                        delta: text,
                    });
                }
                Record::Compacted { part, at, .. } => {
                    let Some(mut part) = turn.conversation().part(part).cloned() else {
                        continue;
                    };
                    if let PartBody::Tool(tool) = &mut part.body
                        && let ToolState::Completed { compacted_at, .. } = &mut tool.state
                    {
                        *compacted_at = at;
                    }
                    turn.mirror_part(part.clone());
                    heard.events.push(Event::PartUpdated { part });
                }
                Record::Info(session) => {
                    turn.mirror_info(session.clone());
                    heard.events.push(Event::SessionUpdated { session });
                }
                Record::Value { name, value } => {
                    heard.anew |= name == "tip";
                    heard.effects.extend(turn.mirror_value(now, &name, value));
                }
            }
        }
        if !heard.events.is_empty() {
            heard.events.push(Event::Status(turn.mirrored()));
        }
        heard
    }
}
