//! Attributed undo: takes back what recorded writes did to files, and nothing else.
//!
//! `plan` compares each file on disk with what the writes left: equal → the old content comes back;
//! changed since → a three-way merge of texts; anything else → a conflict, listed and left alone.
//! `apply` carries the plan out and looks at every file again just before it touches it. Called by
//! the owner, which takes a safety snapshot in between.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::disk::{Current, Disk};
use super::path;
use super::record::{FileWrite, Restored, SnapshotError};
use super::repo::{self, Repo};
use super::tree::{Blob, EXEC, LINK, PLAIN};
use super::writelog::WriteLog;
use crate::protocol::SnapshotId;
use crate::protocol::event::UndoFile;

/// What is to be done to the files of one undo.
#[derive(Debug)]
pub(super) struct Plan {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    path: Vec<u8>,
    /// As the disk has it.
    now: Option<Blob>,
    /// As it shall be.
    then: Option<Blob>,
    /// The content it shall have, if it is in no snapshot: a merge.
    merged: Option<Vec<u8>>,
    /// Permission bits, should it be made anew.
    bits: Option<u32>,
    /// No snapshot holds it: a tool wrote it by name.
    aside: bool,
    verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Restore,
    Remove,
    Merge,
    Already,
    Conflict(String),
}

impl Verdict {
    fn acts(&self) -> bool {
        matches!(self, Self::Restore | Self::Remove | Self::Merge)
    }
}

/// An interval's effect on one file: before and after.
type Span = (Option<Blob>, Option<Blob>);

/// What the writes of one undo did to one file.
#[derive(Default)]
struct Spans {
    /// Oldest first; writes that follow each other are joined. A gap means that somebody else wrote in
    /// between.
    all: Vec<Span>,
    /// Permission bits before the first.
    bits: Option<u32>,
    aside: bool,
    /// What was there before a write of which is not known what it left, and why it is not.
    unsure: Option<Was>,
}

/// What a file was (none if there was no such file) before it is not known what.
#[derive(Debug, Clone, Copy)]
struct Was(Option<Blob>, &'static str);

/// What is said of a file that somebody wrote while it was still to be looked at.
const UNSURE: &str = "changed right after the tool had ended";
/// And of one that a command of another session may have written.
const DISPUTED: &str = "another session ran a command at the same time";

/// The writes per path.
fn spans(writes: &[FileWrite]) -> Result<BTreeMap<Vec<u8>, Spans>, SnapshotError> {
    let mut out: BTreeMap<Vec<u8>, Spans> = BTreeMap::new();
    for write in writes {
        let blob = |state: &Option<_>| state.as_ref().map(Blob::try_from).transpose();
        let (before, after) = (blob(&write.before)?, blob(&write.after)?);
        // a path that is quoted badly is refused by name below
        let at = path::from_text(&write.path).unwrap_or_default();
        let file = out.entry(at).or_default();
        if file.all.is_empty() {
            file.bits = write.before.as_ref().and_then(|state| state.bits);
        }
        file.aside |= write.aside;
        if write.unsure {
            let why = if write.disputed { DISPUTED } else { UNSURE };
            file.unsure.get_or_insert(Was(before, why));
            continue;
        }
        match file.all.last_mut() {
            Some(last) if last.1 == before => last.1 = after,
            _ => file.all.push((before, after)),
        }
    }
    for file in out.values_mut() {
        file.all.retain(|(before, after)| before != after);
    }
    out.retain(|_, file| !file.all.is_empty() || file.unsure.is_some());
    Ok(out)
}

/// Decides what happens to every file; touches nothing.
pub(super) fn plan(
    repo: &Repo,
    worktree: &Path,
    writes: &[FileWrite],
) -> Result<Plan, SnapshotError> {
    let disks = Disks::open(worktree)?;
    let mut steps = Vec::new();
    let mut in_place = Vec::new();
    for (at, file) in spans(writes)? {
        let current = disks.of(file.aside).read(&at);
        let step = step(repo, at, &current, &file)?;
        let wanted = step.then.is_some();
        match &current {
            // through a link nothing is known, so it is in the way even of what shall be gone
            Current::UnderLink(_) => in_place.push((steps.len(), current)),
            Current::Folder | Current::UnderFile(_) if wanted => {
                in_place.push((steps.len(), current));
            }
            _ => {}
        }
        steps.push(step);
    }
    // a file that takes a folder's place, or the other way round, needs that to go first
    let gone: BTreeSet<Vec<u8>> = steps
        .iter()
        .filter(|step| step.verdict == Verdict::Remove)
        .map(|step| step.path.clone())
        .collect();
    for (at, current) in in_place {
        let step: &mut Step = &mut steps[at];
        let (free, reason) = match &current {
            Current::UnderFile(file) => {
                (gone.contains(file), "a file is where its folder should be")
            }
            Current::UnderLink(link) => (gone.contains(link), "its folder is a link now"),
            _ => (
                disks
                    .of(step.aside)
                    .holds_only(&step.path, &|path| gone.contains(path)),
                "a folder with other files is in its place",
            ),
        };
        if !free {
            step.verdict = Verdict::Conflict(reason.to_owned());
        }
    }
    Ok(Plan { steps })
}

/// The worktree: as far as snapshots reach, and with the repositories inside it.
struct Disks {
    near: Disk,
    far: Disk,
}

impl Disks {
    fn open(worktree: &Path) -> Result<Self, SnapshotError> {
        let open = |far| {
            Disk::open(worktree, far)
                .map_err(|e| SnapshotError::file(format!("Opening {}", worktree.display()), e))
        };
        Ok(Self {
            near: open(false)?,
            far: open(true)?,
        })
    }

    fn of(&self, aside: bool) -> &Disk {
        if aside { &self.far } else { &self.near }
    }
}

/// What is on disk, as a blob and its bytes; an error is a conflict's reason.
fn on_disk(current: &Current) -> Result<Option<(Blob, &[u8])>, String> {
    let (data, mode): (&[u8], u32) = match current {
        Current::Absent | Current::Folder | Current::UnderFile(_) | Current::UnderLink(_) => {
            return Ok(None);
        }
        Current::File(data, bits) => (data, if bits & 0o100 != 0 { EXEC } else { PLAIN }),
        Current::Link(target) => (target, LINK),
        Current::Blocked(reason) => return Err(reason.clone()),
    };
    let id = repo::blob_id(data).map_err(|e| e.to_string())?;
    Ok(Some((Blob { id, mode }, data)))
}

fn step(
    repo: &Repo,
    path: Vec<u8>,
    current: &Current,
    file: &Spans,
) -> Result<Step, SnapshotError> {
    let mut step = Step {
        path,
        now: None,
        then: None,
        merged: None,
        bits: file.bits,
        aside: file.aside,
        verdict: Verdict::Already,
    };
    let found = match on_disk(current) {
        Ok(found) => found,
        Err(reason) => {
            step.verdict = Verdict::Conflict(reason);
            return Ok(step);
        }
    };
    step.now = found.map(|(blob, _)| blob);
    step.then = step.now;
    let mut bytes = found.map(|(_, data)| data.to_vec());
    for &(before, after) in file.all.iter().rev() {
        match back(repo, (before, after), step.then, bytes.as_deref())? {
            Back::To(blob) => {
                step.then = blob;
                step.merged = None;
                bytes = None;
            }
            Back::Merged(blob, data) => {
                step.then = Some(blob);
                step.merged = Some(data.clone());
                bytes = Some(data);
            }
            Back::Conflict(reason) => {
                step.verdict = Verdict::Conflict(reason.to_owned());
                step.then = step.now;
                return Ok(step);
            }
        }
    }
    step.verdict = if step.then == step.now {
        match file.unsure {
            Some(Was(before, why)) if before != step.now => Verdict::Conflict(why.to_owned()),
            _ => Verdict::Already,
        }
    } else if step.then.is_none() {
        Verdict::Remove
    } else if step.merged.is_some() {
        Verdict::Merge
    } else {
        Verdict::Restore
    };
    let needed = step
        .then
        .filter(|_| step.merged.is_none() && step.verdict.acts());
    if needed.is_some_and(|blob| repo.blob_len(blob.id).is_none()) {
        step.verdict = Verdict::Conflict("its old content is not in the store any more".to_owned());
    }
    Ok(step)
}

/// Where taking one span back leads.
enum Back {
    To(Option<Blob>),
    Merged(Blob, Vec<u8>),
    Conflict(&'static str),
}

/// Takes one span back from what is there (`now`, with its bytes if they are not in the store).
fn back(
    repo: &Repo,
    (before, after): Span,
    now: Option<Blob>,
    bytes: Option<&[u8]>,
) -> Result<Back, SnapshotError> {
    if now == after {
        return Ok(Back::To(before));
    }
    if now == before {
        return Ok(Back::To(now));
    }
    let Some(here) = now else {
        return Ok(Back::Conflict("deleted since"));
    };
    let Some(base) = after else {
        return Ok(Back::Conflict("created again since"));
    };
    let Some(old) = before else {
        // only the executable bit was changed: it is still what was created
        return Ok(
            if here.id == base.id && here.mode != LINK && base.mode != LINK {
                Back::To(None)
            } else {
                Back::Conflict("created by the agent and changed since")
            },
        );
    };
    if [here, base, old].iter().any(|blob| blob.mode == LINK) {
        return Ok(Back::Conflict("changed since, and a link before or now"));
    }
    let mode = if here.mode == base.mode {
        old.mode
    } else {
        here.mode
    };
    if here.id == base.id || here.id == old.id {
        return Ok(Back::To(Some(Blob { id: old.id, mode })));
    }
    if base.id == old.id {
        // the writes changed only bits, somebody else the content
        return Ok(match bytes {
            Some(bytes) => Back::Merged(Blob { id: here.id, mode }, bytes.to_vec()),
            None => Back::To(Some(Blob { id: here.id, mode })),
        });
    }
    let (Ok(base), Ok(old)) = (repo.blob(base.id), repo.blob(old.id)) else {
        return Ok(Back::Conflict(
            "changed since, and its old content is not in the store any more",
        ));
    };
    let stored;
    let here = if let Some(bytes) = bytes {
        bytes
    } else {
        stored = repo.blob(here.id)?;
        &stored
    };
    if [base.as_slice(), &old, here]
        .iter()
        .any(|data| data.contains(&0))
    {
        return Ok(Back::Conflict("changed since, and not a text"));
    }
    Ok(match repo::merge(&base, here, &old)? {
        Some(data) => {
            let id = repo::blob_id(&data)?;
            Back::Merged(Blob { id, mode }, data)
        }
        None => Back::Conflict("changed since in the same lines"),
    })
}

impl Plan {
    /// True if any file would change.
    pub(super) fn does_anything(&self) -> bool {
        self.steps.iter().any(|step| step.verdict.acts())
    }

    /// What would happen.
    pub(super) fn preview(self) -> Restored {
        Restored {
            files: self.steps.iter().map(report).collect(),
            safety: None,
            undone: Vec::new(),
        }
    }
}

fn report(step: &Step) -> UndoFile {
    let action = match &step.verdict {
        Verdict::Restore => "restored",
        Verdict::Remove => "removed",
        Verdict::Merge => "merged",
        Verdict::Already => "already there",
        Verdict::Conflict(reason) => reason,
    };
    UndoFile {
        path: path::to_text(&step.path),
        action: action.to_owned(),
        conflict: matches!(step.verdict, Verdict::Conflict(_)),
        during: None,
    }
}

/// Carries a plan out: removals first, so that folders and files can change places. Other sessions are told before each file is touched, or they would take it for their commands' work.
pub(super) fn apply(
    repo: &Repo,
    worktree: &Path,
    plan: Plan,
    (safety, log): (SnapshotId, &WriteLog),
) -> Restored {
    let mut steps = plan.steps;
    let mut undone = Vec::new();
    let disks = Disks::open(worktree);
    for removing in [true, false] {
        for step in &mut steps {
            if !step.verdict.acts() || (step.verdict == Verdict::Remove) != removing {
                continue;
            }
            let told = log.about_to_write("", &step.path);
            log.wrote(told, step.now.map(Into::into), step.then.map(Into::into));
            let done = match &disks {
                Ok(disks) => carry_out(repo, disks.of(step.aside), step),
                Err(e) => Err(e.to_string()),
            };
            if done.is_err() {
                log.did_not_write(told);
            }
            match done {
                Ok(bits) => undone.push(FileWrite {
                    path: path::to_text(&step.path),
                    before: step.now.map(|blob| blob.with_bits(bits)),
                    after: step.then.map(Into::into),
                    aside: step.aside,
                    unsure: false,
                    disputed: false,
                }),
                Err(reason) => step.verdict = Verdict::Conflict(reason),
            }
        }
    }
    Restored {
        files: steps.iter().map(report).collect(),
        safety: Some(safety),
        undone,
    }
}

/// Does one step; gives the permission bits that the file had.
fn carry_out(repo: &Repo, disk: &Disk, step: &Step) -> Result<Option<u32>, String> {
    let current = disk.read(&step.path);
    let bits = match &current {
        Current::File(_, bits) => Some(*bits),
        _ => None,
    };
    let found = on_disk(&current)?;
    if found.map(|(blob, _)| blob) != step.now {
        return Err("it changed while the undo ran".to_owned());
    }
    if let Some((_, data)) = found {
        // a redo needs what is overwritten, also when no snapshot holds it
        repo.put_blob(data, true).map_err(|e| e.to_string())?;
    }
    let Some(then) = step.then else {
        return disk.remove(&step.path).map(|()| bits);
    };
    let data = match &step.merged {
        Some(data) => {
            repo.put_blob(data, true).map_err(|e| e.to_string())?;
            data.clone()
        }
        None => repo.blob(then.id).map_err(|e| e.to_string())?,
    };
    let done = if then.mode == LINK {
        disk.link(&step.path, &data)
    } else {
        disk.write(&step.path, &data, then.mode == EXEC, step.bits)
    };
    done.map(|()| bits)
}
