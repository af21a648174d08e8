//! What is done to a closed session as a whole: delete, rename, pack away.
//!
//! Refused while some process has it open. Called by the picker, by `dunlin sessions` and by nobody else;
//! what goes by itself is `gc`'s.

use std::fs;

use super::archive;
use super::commit::Record;
use super::error::StoreError;
use super::family::Families;
use super::found::{facts_of, keep_cut, open_journal};
use super::meta::Meta;
use super::newer::{self, Look};
use super::place::{Claim, Lock, Place};
use super::project::Project;
use super::staging;
use crate::protocol::SessionId;

impl Project {
    /// Takes a closed session for a change from outside.
    fn take(&self, id: SessionId) -> Result<(Place, Lock), StoreError> {
        claimed(self.existing(id)?)
    }

    /// Deletes a session with its outputs. Refused while some process has it open. (Blobs that only
    /// it used go with the next `gc`.)
    ///
    /// The sessions of its subagents go with it; copies that were made of it stay.
    pub fn delete(&self, id: SessionId) -> Result<(), StoreError> {
        // on a full disk there may be no room for a lock; deleting is what makes room
        let _at_work = self.at_work();
        self.delete_family(id, &self.families())
    }

    /// The name goes first: from then on neither the session is there nor what hangs below it, and what a
    /// crash leaves is finished by the next clean-up (`staging`). So its folder goes last.
    fn delete_family(&self, id: SessionId, families: &Families) -> Result<(), StoreError> {
        let (place, _lock) = match self.existing(id) {
            // what is left of a session whose journal is gone can still go
            Err(StoreError::Damaged { .. }) => claimed(self.place(id))?,
            _ => self.take(id)?,
        };
        let io = |e| StoreError::io("delete", &place.folder, e);
        let doomed = staging::doomed(&self.sessions_dir(), id);
        fs::rename(&place.folder, &doomed).map_err(io)?;
        self.step();
        for child in families.of(id) {
            match self.delete_family(*child, families) {
                // somebody looks at it: it stays, as a session of its own
                Ok(()) | Err(StoreError::OpenElsewhere { .. } | StoreError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        fs::remove_dir_all(&doomed).map_err(io)?;
        self.step();
        Ok(())
    }

    /// Names a session that nobody has open. (The owner of an open one commits `Record::Info`.)
    pub fn rename(&self, id: SessionId, title: &str) -> Result<(), StoreError> {
        newer::refuse(&self.existing(id)?, Look::Whole)?;
        let (place, _lock) = self.take(id)?;
        archive::unpack(&place, &mut Vec::new())?;
        let image = archive::image(&place)?;
        let mut info = facts_of(&image, &place)?;
        title.trim().clone_into(&mut info.title);
        let (mut journal, tail) = open_journal(&place)?;
        keep_cut(&place, &tail)?;
        journal.go_on_after(image.n)?;
        if let Some(mut meta) = Meta::read(&place) {
            // should this process die now, the list asks the journal
            meta.in_use = true;
            meta.write(&place)?;
        }
        self.step();
        journal.append(&[Record::Info(info.clone())])?;
        self.step();
        journal
            .file()
            .sync_data()
            .map_err(|e| StoreError::io("sync", &place.journal(), e))?;
        if let Some(mut meta) = Meta::read(&place) {
            meta.summary.info = info;
            meta.summary.archived = false;
            meta.in_use = false;
            meta.write(&place)?;
        }
        Ok(())
    }

    /// True if a session is packed away.
    pub fn is_packed(&self, id: SessionId) -> Result<bool, StoreError> {
        Ok(!self.existing(id)?.journal().exists())
    }

    /// Packs a session away: its view goes, its journal is compressed. Opening brings it back.
    /// Returns the bytes that became free. Refused while some process has it open.
    pub fn archive(&self, id: SessionId) -> Result<u64, StoreError> {
        archive::pack(&self.existing(id)?)
    }
}

fn claimed(place: Place) -> Result<(Place, Lock), StoreError> {
    match place.claim()? {
        Claim::Ours(lock) => Ok((place, lock)),
        Claim::Taken(pid) => Err(StoreError::OpenElsewhere { id: place.id, pid }),
    }
}
