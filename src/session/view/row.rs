//! The view's other duty: `meta.json`, the session's row in listings, at most once a second.

use std::time::SystemTime;

use super::super::error::StoreError;
use super::super::meta::{FORK_VALUE, Meta, since_epoch};
use super::{Kept, View};

impl View {
    /// Says in `meta.json` that somebody has the session open, so that listings look at the lock.
    pub(super) fn mark_in_use(&mut self) {
        let Some(mut meta) = Meta::read(&self.place) else {
            return;
        };
        self.patch = meta.patch.clone();
        if !meta.in_use || meta.summary.archived {
            meta.in_use = true;
            meta.summary.archived = false;
            if let Err(error) = meta.write(&self.place) {
                tracing::warn!(%error, "meta.json not written");
            }
        }
        self.written = Some(meta);
    }

    /// The listing row as it is now; none if nothing was read yet.
    pub(super) fn meta(&self) -> Result<Option<Meta>, StoreError> {
        let now = since_epoch(SystemTime::now());
        let mut meta = match &self.kept {
            Kept::Nothing => return Ok(None),
            Kept::Memory(image) => match Meta::of_image(image, &self.patch, now) {
                Some(meta) => meta,
                None => return Ok(None),
            },
            Kept::Sled(db) => {
                let Some(info) = db.info()? else {
                    return Ok(None);
                };
                let mut meta = Meta::new(info, db.facts(), &self.patch, now);
                meta.fork = db.has_value(FORK_VALUE)?;
                meta.summary.damaged = db.damaged() > 0;
                meta
            }
        };
        meta.in_use = true;
        Ok(Some(meta))
    }

    pub(super) fn write_meta(&mut self, in_use: bool) {
        let mut meta = match self.meta() {
            Ok(Some(meta)) => meta,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the listing row could not be made");
                return;
            }
        };
        meta.in_use = in_use;
        if let Some(written) = &self.written {
            // nothing but the time would change
            let mut same = meta.clone();
            same.summary.updated = written.summary.updated;
            if same == *written {
                return;
            }
        }
        match meta.write(&self.place) {
            Ok(()) => self.written = Some(meta),
            Err(error) => tracing::warn!(%error, "meta.json not written"),
        }
    }

    /// Nothing changed: only the note that somebody has the session open goes away.
    pub(super) fn let_go(&mut self) {
        if let Some(mut meta) = self.written.take() {
            meta.in_use = false;
            if let Err(error) = meta.write(&self.place) {
                tracing::warn!(%error, "meta.json not written");
            }
        }
        self.close_sled();
    }
}
