//! Sessions made from others: fork, a copy up to a message. `import` writes its sessions here too.
//!
//! Records are read into memory, get the new session's id and are written to a new journal, in a folder of its
//! own (`staging`): the new session is complete on disk before it is among the others.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::archive;
use super::commit::Record;
use super::error::StoreError;
use super::found::no_facts;
use super::image::Image;
use super::meta::{FORK_VALUE, Meta, SummaryPatch};
use super::place::{Place, make_folder, sync_folder};
use super::project::{Project, make};
use crate::protocol::{MessageId, Millis, Part, PartBody, SessionId, SessionInfo, ToolState};

/// A fork to be made.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The session to copy.
    pub source: SessionId,
    /// The last message of the copy (its branch goes with it); none for everything.
    pub at: Option<MessageId>,
    /// Id of the new session.
    pub id: SessionId,
    /// When it is made.
    pub now: Millis,
    /// Names of the session values to copy. Values that name messages (a branch's tip) or that
    /// must not happen twice (a queue) are better left out.
    pub values: Vec<String>,
}

impl Project {
    /// Copies a session up to a message into a new one, whose `parent` is the source. The source
    /// may be open here or elsewhere; what is written of it is copied.
    pub fn fork(&self, fork: &Fork) -> Result<SessionInfo, StoreError> {
        let source = self.existing(fork.source)?;
        let mut image = archive::image(&source)?;
        let mut info = image.info.take().ok_or_else(|| no_facts(&source))?;
        if let Some(at) = fork.at {
            if !image.messages.contains_key(&at) {
                return Err(StoreError::Damaged {
                    path: source.journal(),
                    detail: format!("it has no message {at}, so it cannot be forked there"),
                });
            }
            let branch = branch(&image, at);
            image.messages.retain(|id, _| branch.contains(id));
            image
                .parts
                .retain(|(message, _), _| branch.contains(message));
        }
        image.values.retain(|name, _| fork.values.contains(name));
        let origin = json!({"session": fork.source, "at": fork.at});
        image.values.insert(FORK_VALUE.to_owned(), origin);
        info.id = fork.id;
        info.parent = Some(fork.source);
        info.created = fork.now;
        image.info = Some(info);
        let mut staging = self.stage(fork.id)?;
        let written = staging.place(fork.id).and_then(|place| {
            let out = self.place(fork.id).out();
            let adapt = |part: &mut Part| share_output(part, &source, (&place, &out));
            write_new(&place, image, fork.now, adapt)
        });
        match written {
            Ok(info) => staging.publish().map(|()| info),
            Err(error) => {
                staging.abandon();
                Err(error)
            }
        }
    }
}

/// Writes what is in memory as a new session and syncs it.
pub(super) fn write_new(
    place: &Place,
    image: Image,
    now: Millis,
    adapt: impl Fn(&mut Part),
) -> Result<SessionInfo, StoreError> {
    let (_lock, mut journal) = make(place)?;
    let info = image.info.clone().ok_or_else(|| no_facts(place))?;
    journal.append(&[Record::Info(info.clone())])?;
    let mut parts = image.parts.into_values().peekable();
    for (_, mut message) in image.messages {
        place.step();
        let mut records = vec![];
        // a part without its message has no place in the new session
        while parts.next_if(|part| part.message < message.id).is_some() {}
        while let Some(mut part) = parts.next_if(|part| part.message == message.id) {
            part.session = place.id;
            adapt(&mut part);
            records.push(Record::Part(part));
        }
        message.session = place.id;
        records.insert(0, Record::Message(message));
        journal.append(&records)?;
    }
    let values = image.values.into_iter();
    let values: Vec<_> = values
        .map(|(name, value)| Record::Value { name, value })
        .collect();
    if !values.is_empty() {
        journal.append(&values)?;
    }
    place.step();
    // read back, as whoever lists it would
    let image = Image::read(place.id, &place.journal(), None)?;
    if let Some(meta) = Meta::of_image(&image, &SummaryPatch::default(), now) {
        meta.write(place)?;
    }
    let out = place.out();
    let synced = journal.file().sync_data();
    synced
        .and_then(|()| {
            if out.is_dir() {
                sync_folder(&out)
            } else {
                Ok(())
            }
        })
        .and_then(|()| sync_folder(&place.folder))
        .map_err(|e| StoreError::io("sync", &place.folder, e))?;
    place.step();
    Ok(info)
}

/// The message and all before it on its branch.
fn branch(image: &Image, at: MessageId) -> HashSet<MessageId> {
    // a session whose messages name no parents is one line
    if image.messages.values().all(|m| m.parent.is_none()) {
        return image.messages.range(..=at).map(|(id, _)| *id).collect();
    }
    let mut branch = HashSet::new();
    let mut next = Some(at);
    while let Some(id) = next {
        // parents that form a ring would never end
        if !branch.insert(id) {
            break;
        }
        next = image.messages.get(&id).and_then(|message| message.parent);
    }
    branch
}

/// Gives the copy its own name of a full output, so that deleting the source takes nothing from it. `out` is
/// where the outputs of the new session will be once it is in its place.
fn share_output(part: &mut Part, source: &Place, (place, out): (&Place, &Path)) {
    let PartBody::Tool(tool) = &mut part.body else {
        return;
    };
    let ToolState::Completed {
        truncated: Some(output),
        ..
    } = &mut tool.state
    else {
        return;
    };
    let old = Path::new(&output.path);
    let Ok(inside) = old.strip_prefix(source.out()) else {
        return;
    };
    let new = place.out().join(inside);
    let linked = new
        .parent()
        .is_some_and(|folder| make_folder(folder).is_ok())
        && (fs::hard_link(old, &new).is_ok() || fs::copy(old, &new).is_ok());
    if linked {
        output.path = out.join(inside).to_string_lossy().into_owned();
    }
}
