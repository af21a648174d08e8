//! Listings: one row per session, from `meta.json` alone.
//!
//! Two thousand small files are read by a few threads at once. A session whose row is missing is
//! read from its journal; one that cannot be read at all is left out, so that damage to one session
//! never hides the others.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::StoreError;
use super::lost;
use super::meta::{Meta, modified, since_epoch};
use super::place::Place;
use super::staging;
use crate::protocol::{Millis, SessionId, SessionSummary};

/// Fewer sessions than this are read on one thread.
const PER_THREAD: usize = 200;
/// Milliseconds of a day.
const DAY: Millis = 24 * 3_600_000;

/// The `sessions` folders of all projects.
pub(super) fn all_folders(data_dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let projects = data_dir.join("projects");
    Ok(names(&projects)?
        .into_iter()
        .map(|name| projects.join(name).join("sessions"))
        .collect())
}

fn names(folder: &Path) -> Result<Vec<std::ffi::OsString>, StoreError> {
    let io = |e| StoreError::io("list the folder", folder, e);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(io)?,
    };
    entries
        .map(|entry| entry.map(|e| e.file_name()).map_err(io))
        .collect()
}

/// The sessions of these `sessions` folders, by the names of their folders. Those that hang under one that is
/// still being made, or is being deleted, are not there (`staging`).
pub(super) fn places(folders: &[PathBuf]) -> Result<Vec<Place>, StoreError> {
    let mut places = Vec::new();
    for folder in folders {
        let (mut found, going) = named(folder)?;
        let made = staging::being_made(folder);
        let unfinished: HashSet<SessionId> = going.into_iter().chain(made).collect();
        let hidden = staging::below(&found, &unfinished);
        found.retain(|place| hidden.binary_search(&place.id).is_err());
        places.append(&mut found);
    }
    Ok(places)
}

/// The same with those that count as not there.
pub(super) fn all_places(folders: &[PathBuf]) -> Result<Vec<Place>, StoreError> {
    let mut places = Vec::new();
    for folder in folders {
        places.append(&mut named(folder)?.0);
    }
    Ok(places)
}

/// The sessions that may need something of the project, whether they count as there or not: also those that
/// are just being made.
pub(super) fn every_journal(sessions: &Path) -> Result<Vec<Place>, StoreError> {
    let mut places = all_places(&[sessions.to_owned()])?;
    for group in staging::groups(sessions) {
        places.append(&mut all_places(&[group])?);
    }
    Ok(places)
}

/// The sessions that a folder names, and those that it says are being deleted.
fn named(folder: &Path) -> Result<(Vec<Place>, Vec<SessionId>), StoreError> {
    let (mut places, mut going) = (Vec::new(), Vec::new());
    for name in names(folder)? {
        let Some(name) = name.to_str() else {
            continue;
        };
        if let Ok(id) = name.parse::<SessionId>() {
            places.push(Place::new(folder, id));
        } else {
            going.extend(staging::doomed_id(name));
        }
    }
    Ok((places, going))
}

/// How many threads are worth it for `jobs` pieces of work.
pub(super) fn threads(jobs: usize, per_thread: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    jobs.div_ceil(per_thread.max(1)).clamp(1, cores.min(8))
}

/// The rows of these `sessions` folders, last used first.
pub(super) fn of_folders(folders: &[PathBuf]) -> Result<Vec<SessionSummary>, StoreError> {
    let places = places(folders)?;
    let threads = threads(places.len(), PER_THREAD);
    let share = places.len().div_ceil(threads).max(1);
    let mut rows: Vec<SessionSummary> = std::thread::scope(|scope| {
        let workers: Vec<_> = places
            .chunks(share)
            .skip(1)
            .map(|share| scope.spawn(move || share.iter().filter_map(row).collect::<Vec<_>>()))
            .collect();
        let first = places.chunks(share).next().unwrap_or_default();
        let mut rows: Vec<_> = first.iter().filter_map(row).collect();
        for worker in workers {
            rows.extend(worker.join().unwrap_or_default());
        }
        rows
    });
    rows.sort_by_key(|row| std::cmp::Reverse((row.updated, row.info.id)));
    Ok(rows)
}

/// One row; none for a session without messages. One that cannot be read has a row that says so.
fn row(place: &Place) -> Option<SessionSummary> {
    let Some(meta) = Meta::read_or_mend(place) else {
        return is_damaged(place).then(|| lost::row(place)).flatten();
    };
    let mut summary = meta.summary;
    let is_there = |facts: fs::Metadata| facts.is_file() && facts.len() > 0;
    let journal = fs::metadata(place.journal());
    if summary.updated > since_epoch(SystemTime::now()) + DAY {
        // of a clock that was wrong, or of a row that somebody made: it would stay on top for ever
        let file = if journal.is_ok() {
            place.journal()
        } else {
            place.archive()
        };
        summary.updated = summary.updated.min(modified(&file));
    }
    // the files say it, also where a process died between packing and writing it down
    summary.archived = journal.is_err() && place.archive().is_file();
    let is_gone = !summary.archived && !journal.is_ok_and(is_there);
    if summary.damaged || (summary.messages > 0 && is_gone) {
        summary.damaged = true;
        return Some(summary);
    }
    summary.open_elsewhere = meta.in_use && place.is_taken();
    (summary.messages > 0).then_some(summary)
}

/// True for a folder in which something was said that cannot be read; a session that is just being made has
/// no facts yet either.
fn is_damaged(place: &Place) -> bool {
    let entries = match fs::read_dir(&place.folder) {
        Ok(entries) => entries.flatten(),
        // it may hold anything
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    let mut journals = entries.filter(|e| e.file_name().to_string_lossy().starts_with("journal"));
    !place.is_taken() && journals.any(|e| e.metadata().is_ok_and(|facts| facts.len() > 0))
}

/// The session used last that is not a subagent's, of a worktree that counts.
pub(super) fn newest(
    folder: &Path,
    counts: &dyn Fn(&str) -> bool,
) -> Result<Option<SessionId>, StoreError> {
    let mut places: Vec<(Millis, Place)> = places(&[folder.to_owned()])?
        .into_iter()
        .map(|place| (modified(&place.journal()), place))
        .collect();
    places.sort_by_key(|(at, place)| std::cmp::Reverse((*at, place.id)));
    let newest = places.into_iter().find(|(_, place)| {
        // of what is gone only the row is left
        let is_there = place.journal().is_file() || place.archive().is_file();
        is_there
            && Meta::read_or_mend(place).is_some_and(|meta| {
                let subagent = meta.summary.info.parent.is_some() && !meta.fork;
                meta.summary.messages > 0 && !subagent && counts(&meta.summary.info.worktree)
            })
    });
    Ok(newest.map(|(_, place)| place.id))
}
