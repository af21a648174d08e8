//! What is found of a session when it is opened: its facts, its journal's end, and why it cannot be used.
//!
//! Called by whoever opens or changes a session as a whole (`project`, `whole`, `branch`, `export`).

use std::fs::{self, OpenOptions};

use super::error::StoreError;
use super::history::History;
use super::image::Image;
use super::journal::{self, Journal, Tail};
use super::meta::Meta;
use super::place::Place;
use crate::protocol::SessionInfo;

/// Nothing says which session it is.
pub(super) fn no_facts(place: &Place) -> StoreError {
    StoreError::Damaged {
        path: place.journal(),
        detail: "it does not say which session it is, and nothing else in its folder does. What is left of \
                 it is kept; look at the folder, or delete the session"
            .to_owned(),
    }
}

/// The facts of a session that was read. A journal that is wholly another session's is called that.
pub(super) fn facts_of(image: &Image, place: &Place) -> Result<SessionInfo, StoreError> {
    match (&image.info, image.stranger) {
        (Some(info), None) => Ok(info.clone()),
        (Some(info), _) if !image.messages.is_empty() => Ok(info.clone()),
        (_, Some(other)) => Err(StoreError::Damaged {
            path: place.journal(),
            detail: format!(
                "it is the journal of the session {other}. Give its folder {} that name if there is none yet, \
                 or delete this session",
                place.folder.display()
            ),
        }),
        (None, None) => Err(no_facts(place)),
    }
}

/// The whole session that was read.
pub(super) fn whole_history(image: Image, place: &Place) -> Result<History, StoreError> {
    facts_of(&image, place)?;
    image.into_history().ok_or_else(|| no_facts(place))
}

/// Opens the journal for writing. Nothing of it is changed before `Journal::go_on_after`.
pub(super) fn open_journal(place: &Place) -> Result<(Journal, Tail), StoreError> {
    let path = place.journal();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|e| StoreError::io("open", &path, e))?;
    let tail = journal::tail(&file, &path)?;
    let said = || Meta::read(place).is_some_and(|meta| meta.summary.messages > 0);
    if tail.end == 0 && tail.torn > 0 && (tail.damaged || said()) {
        // going on would cut all of it away
        return Err(StoreError::Damaged {
            path,
            detail: "no line of it can be read, so it is left as it is. Bring it back from a copy, or delete \
                     the session"
                .to_owned(),
        });
    }
    Ok((Journal::new(file, path, &tail), tail))
}

/// Keeps a copy of a journal whose end is about to be cut in more than a broken write, and says so.
pub(super) fn keep_cut(place: &Place, tail: &Tail) -> Result<Option<String>, StoreError> {
    if !tail.damaged {
        return Ok(None);
    }
    let path = place.journal();
    let kept = place.unused("journal.damaged");
    fs::copy(&path, &kept).map_err(|e| StoreError::io("copy the damaged journal to", &kept, e))?;
    Ok(Some(format!(
        "The last {} bytes of this session's journal are damaged and were cut away; a copy is \
         in {}.",
        tail.torn,
        kept.display()
    )))
}
