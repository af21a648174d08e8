//! The clean-up that `dunlin gc`, the start and every hour run: what is old, unused or beyond the quota.
//!
//! Nothing here touches a session that some process has open, nor what was said. A dry run changes nothing
//! and tells what would be done, in the same words and sizes.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem::Finder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::archive;
use super::blob::Blobs;
use super::disk::size;
use super::error::StoreError;
use super::frames;
use super::journal::open_file;
use super::list;
use super::meta::{Meta, modified};
use super::newer::{self, Look, Versions};
use super::place::{Claim, Place};
use super::project::Project;
use super::staging;
use crate::protocol::{Millis, SessionId};

/// What stands before the name of a blob.
const SCHEME: &[u8] = b"blob:";
/// Hex digits of the name.
const NAME: usize = 64;

/// How often, and with what pauses, one waits for the clean-up of another process.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// What may be cleaned up, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcPolicy {
    /// The time now, in milliseconds since the epoch.
    pub now: Millis,
    /// Full outputs older than this many days go.
    pub output_days: u32,
    /// Recorded answers of sessions untouched for this many days go.
    pub frames_days: u32,
    /// Sessions untouched for this many days are packed; 0 for never.
    pub archive_days: u32,
    /// Bytes on disk that the project's sessions may take; 0 for no limit. Above it the oldest recorded
    /// answers and full outputs go, then the sessions untouched longest are packed. What was said
    /// always stays.
    pub quota: u64,
    /// True: nothing is changed, only told.
    pub dry_run: bool,
}

/// What was cleaned up, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Full outputs removed.
    pub outputs: u64,
    /// Files of recorded answers removed.
    pub frames: u64,
    /// Blobs that no session refers to, removed.
    pub blobs: u64,
    /// Sessions packed.
    pub archived: Vec<SessionId>,
    /// Left-overs removed: sessions without a message, set-aside views, temporary files.
    pub leftovers: u64,
    /// Bytes that became free (of a dry run: that would).
    pub freed: u64,
    /// What could not be done, one sentence each.
    pub problems: Vec<String>,
}

impl GcPolicy {
    fn before(&self, days: u32) -> Millis {
        let age = Duration::from_hours(24 * u64::from(days));
        self.now - age.as_millis() as Millis
    }
}

impl Project {
    /// Cleans up: old outputs, idle sessions, blobs nobody refers to, left-overs. Waits some seconds for a
    /// clean-up of another process; if that one takes longer, the report says so and nothing was done.
    pub fn gc(&self, policy: &GcPolicy) -> Result<GcReport, StoreError> {
        if policy.dry_run || !self.sessions_dir().exists() {
            return self.clean(policy);
        }
        let note = self.cleaned_note()?;
        for _ in 0..TRIES {
            if flock(&note, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
                return self.clean(policy);
            }
            std::thread::park_timeout(PAUSE);
        }
        Ok(GcReport {
            problems: vec![
                "Another dunlin is cleaning up this folder's sessions right now, so nothing was done here. \
                 Try again when it is done."
                    .to_owned(),
            ],
            ..GcReport::default()
        })
    }

    /// The clean-up itself, by whoever holds the note of the last one.
    pub(super) fn clean(&self, policy: &GcPolicy) -> Result<GcReport, StoreError> {
        let mut sweep = Sweep {
            policy,
            report: GcReport::default(),
            gone: HashSet::new(),
        };
        let (left_over, at_work) = self.left_over(policy.dry_run);
        for path in &left_over {
            self.step();
            sweep.remove(path);
        }
        drop(at_work);
        let places = list::places(&[self.sessions_dir()])?;
        for place in &places {
            sweep.clean_session(place);
        }
        self.clean_blobs(&mut sweep)?;
        self.keep_quota(&places, &mut sweep);
        Ok(sweep.report)
    }

    fn clean_blobs(&self, sweep: &mut Sweep<'_>) -> Result<(), StoreError> {
        // a blob is stored before the part that refers to it, maybe by another process right now
        let young = sweep.policy.before(1);
        let fans = entries(self.blobs().folder());
        let mut old: Vec<PathBuf> = fans.iter().flat_map(|fan| entries(fan)).collect();
        old.retain(|path| modified(path) < young);
        if old.is_empty() {
            return Ok(());
        }
        let mut used = HashSet::new();
        let mut read = HashSet::new();
        loop {
            // those that count as not there too, and once more those that were made meanwhile
            let mut places = list::every_journal(&self.sessions_dir())?;
            places.retain(|place| read.insert(place.folder.clone()));
            if places.is_empty() {
                break;
            }
            for place in places {
                let mut folders = place.folder.ancestors().take(2);
                let there = place.folder.exists() && !folders.any(|f| sweep.gone.contains(f));
                // a session that cannot be read may refer to any blob
                if there && mentioned(&place, &mut used).is_err() {
                    return Ok(());
                }
            }
        }
        self.before_sweep();
        for path in old {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let known = <[u8; NAME]>::try_from(name.as_bytes()).is_ok_and(|n| used.contains(&n));
            if !known {
                sweep.free_blob(&self.blobs(), &path, young);
            }
        }
        Ok(())
    }

    /// Frees what can be had again or is least missed until the project is within its quota.
    fn keep_quota(&self, places: &[Place], sweep: &mut Sweep<'_>) {
        let quota = sweep.policy.quota;
        let mut total = size(&self.sessions_dir()) + size(self.blobs().folder());
        if sweep.policy.dry_run {
            // what would be free by now
            total = total.saturating_sub(sweep.report.freed);
        }
        if quota == 0 || total <= quota {
            return;
        }
        let is_there = |path: &Path| path.exists() && !sweep.gone.contains(path);
        let mut closed: Vec<&Place> = places.iter().filter(|p| is_there(&p.folder)).collect();
        closed.retain(|place| place.taken_by().is_none());
        closed.retain(|place| {
            let mut spare = frames::files(place).into_iter().chain([place.journal()]);
            let anything = spare.any(|path| path.exists()) || !entries(&place.out()).is_empty();
            anything && is_ours(place)
        });
        let outputs = closed.iter().flat_map(|place| entries(&place.out()));
        let answers = closed.iter().flat_map(|place| frames::files(place));
        let mut spare: Vec<PathBuf> = answers.chain(outputs).filter(|p| is_there(p)).collect();
        spare.sort_by_key(|path| modified(path));
        let mut idle = closed;
        idle.retain(|place| is_there(&place.journal()));
        idle.sort_by_key(|place| modified(&place.journal()));
        for path in spare {
            if total <= quota {
                return;
            }
            total = total.saturating_sub(size(&path));
            if path.parent().is_some_and(|folder| folder.ends_with("out")) {
                sweep.report.outputs += 1;
            } else {
                sweep.report.frames += 1;
            }
            sweep.free(&path);
        }
        for place in idle {
            if total <= quota {
                return;
            }
            total = total.saturating_sub(sweep.pack(place));
        }
        if total > quota {
            sweep.report.problems.push(format!(
                "The sessions of this folder take {} MiB, more than the {} MiB of store.quota, and nothing \
                 is left that could go by itself. Delete sessions you no longer need with `dunlin \
                 sessions delete`.",
                total >> 20,
                quota >> 20
            ));
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// One clean-up.
struct Sweep<'a> {
    policy: &'a GcPolicy,
    report: GcReport,
    /// What a dry run would have removed by now.
    gone: HashSet<PathBuf>,
}

impl Sweep<'_> {
    /// Somebody may attach the same bytes again while journals are read: the age is looked at once more.
    fn free_blob(&mut self, blobs: &Blobs, path: &Path, young: Millis) {
        if self.policy.dry_run {
            self.report.blobs += 1;
            return self.free(path);
        }
        blobs.remove_old(path, young, || {
            self.report.blobs += 1;
            self.free(path);
        });
    }

    fn failed(&mut self, path: &Path, error: io::Error) {
        // somebody else removed it: that is what was wanted
        if error.kind() != io::ErrorKind::NotFound {
            let problem = StoreError::io("remove", path, error).to_string();
            self.report.problems.push(problem);
        }
    }

    /// Removes a session in which nothing was said, unless somebody opens it just now.
    fn remove_empty(&mut self, place: &Place) {
        if self.policy.dry_run {
            return self.remove(&place.folder);
        }
        match place.claim() {
            Ok(Claim::Ours(_lock)) if holds_nothing(place) => self.remove(&place.folder),
            Ok(_) => {}
            Err(error) => self.report.problems.push(error.to_string()),
        }
    }

    fn free(&mut self, path: &Path) {
        self.report.freed += size(path);
        if self.policy.dry_run {
            self.gone.insert(path.to_owned());
            return;
        }
        let removed = if path.is_dir() {
            staging::remove_session(path)
        } else {
            fs::remove_file(path)
        };
        if let Err(error) = removed {
            self.failed(path, error);
        }
    }

    fn remove(&mut self, path: &Path) {
        self.report.leftovers += 1;
        self.free(path);
    }

    fn old_outputs(&self, out: &Path) -> Vec<PathBuf> {
        let old = self.policy.before(self.policy.output_days);
        let mut outputs = entries(out);
        outputs.retain(|path| modified(path) < old);
        outputs
    }

    fn remove_outputs(&mut self, outputs: &[PathBuf]) {
        for path in outputs {
            self.report.outputs += 1;
            self.free(path);
        }
    }

    fn clean_session(&mut self, place: &Place) {
        match place.taken_by() {
            None => {}
            // its owner does that; we are the owner of what we have open ourselves
            Some(owner) if owner != std::process::id() => return,
            Some(_ours) => return self.remove_outputs(&self.old_outputs(&place.out())),
        }
        let journal = place.journal();
        let day = self.policy.before(1);
        let touched = modified(&journal).max(modified(&place.folder));
        if touched < day && holds_nothing(place) {
            return self.remove_empty(place);
        }
        let mut left_over = entries(&place.folder);
        left_over.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_one = name == "db.damaged" || name.ends_with("tmp") || name.contains(".tmp-");
            is_one && modified(path) < day
        });
        let outputs = self.old_outputs(&place.out());
        let old = self.policy.before(self.policy.frames_days);
        let mut answers = frames::files(place).to_vec();
        answers.retain(|path| path.exists() && modified(path) < old);
        let days = self.policy.archive_days;
        let idle = days > 0 && journal.exists() && modified(&journal) < self.policy.before(days);
        let nothing = left_over.is_empty() && outputs.is_empty() && answers.is_empty() && !idle;
        if nothing || !is_ours(place) {
            return;
        }
        for path in left_over {
            self.remove(&path);
        }
        self.remove_outputs(&outputs);
        for path in answers {
            self.report.frames += 1;
            self.free(&path);
        }
        if idle {
            self.pack(place);
        }
    }

    /// Packs a session away; the bytes that became free.
    fn pack(&mut self, place: &Place) -> u64 {
        let freed = if self.policy.dry_run {
            archive::would_free(place)
        } else {
            archive::pack(place)
        };
        match freed {
            Ok(freed) => {
                if self.policy.dry_run {
                    self.gone.insert(place.journal());
                }
                self.report.archived.push(place.id);
                self.report.freed += freed;
                freed
            }
            // somebody opened it just now
            Err(StoreError::OpenElsewhere { .. }) => 0,
            Err(error) => {
                self.report.problems.push(error.to_string());
                0
            }
        }
    }
}

/// False for a session that a newer dunlin wrote: what is in its folder is left to that one.
fn is_ours(place: &Place) -> bool {
    newer::refuse(place, Look::Ends).is_ok()
}

/// True for a session in which nothing was ever said. One that is damaged, or of which a damaged copy is
/// kept, may hold anything.
fn holds_nothing(place: &Place) -> bool {
    if Meta::read(place).is_some_and(|meta| meta.summary.messages > 0) {
        return false;
    }
    let kept = entries(&place.folder).iter().any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("journal.") && name.contains("damaged")
    });
    if kept {
        return false;
    }
    if !place.journal().exists() && !place.archive().exists() {
        return true;
    }
    archive::image(place).is_ok_and(|image| image.messages.is_empty() && image.damaged == 0)
}

/// The names of all blobs that a session's journal mentions anywhere: it is only looked through, so a
/// name that stands in a text counts too.
fn mentioned(place: &Place, into: &mut HashSet<[u8; NAME]>) -> io::Result<()> {
    let mut source: Box<dyn Read> = match open_file(&place.journal()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Box::new(zstd::Decoder::new(open_file(&place.archive())?)?)
        }
        other => Box::new(other?),
    };
    let finder = Finder::new(SCHEME);
    let mut versions = Versions::default();
    let mut bytes = vec![0; 1 << 20];
    let mut held = 0;
    loop {
        let read = source.read(&mut bytes[held..])?;
        let filled = held + read;
        versions.write_all(&bytes[held..filled])?;
        for at in finder.find_iter(&bytes[..filled]) {
            let from = at + SCHEME.len();
            if let Some(name) = bytes[..filled].get(from..from + NAME)
                && let Ok(name) = name.try_into()
            {
                into.insert(name);
            }
        }
        if read == 0 && versions.newer.is_some() {
            return Err(io::Error::other(
                "who knows how a newer dunlin names a blob",
            ));
        }
        if read == 0 {
            return Ok(());
        }
        // a name may go on in what comes next
        held = filled.min(SCHEME.len() + NAME - 1);
        bytes.copy_within(filled - held..filled, 0);
    }
}
