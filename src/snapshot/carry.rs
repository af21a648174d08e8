//! Carries a plan of `undo` out: looks at every file again just before it touches it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::disk::{Current, Disk};
use super::path;
use super::record::{FileWrite, Restored};
use super::repo::Repo;
use super::tree::{Blob, EXEC, LINK};
use super::undo::{Disks, Plan, Step, Verdict, done_already, on_disk, report};
use super::writelog::WriteLog;
use crate::protocol::SnapshotId;

/// Carries a plan out: removals first, so that folders and files can change places. Other sessions are told
/// before each file is touched, or they would take it for their commands' work.
pub(super) fn apply(
    repo: &Repo,
    worktree: &Path,
    plan: Plan,
    (safety, log): (SnapshotId, &WriteLog),
) -> Restored {
    let mut steps = plan.steps;
    let mut undone: Vec<FileWrite> = steps.iter().filter_map(done_already).collect();
    let disks = Disks::open(worktree);
    for removing in [true, false] {
        let in_place = if removing {
            HashSet::new()
        } else {
            links(disks.as_ref().ok(), &steps)
        };
        for (at, step) in steps.iter_mut().enumerate() {
            if !step.verdict.acts() || (step.verdict == Verdict::Remove) != removing {
                continue;
            }
            let told = log.about_to_write("", &step.path);
            log.wrote(told, step.now.map(Into::into), step.then.map(Into::into));
            let done = match &disks {
                Ok(disks) => carry_out(repo, disks.of(step.aside), step, in_place.contains(&at)),
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
                    hidden: false,
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

/// The files that are to be written in place, because all names of their inode shall have the same content:
/// they stay one file. Where only some of the names are concerned the others must not change.
fn links(disks: Option<&Disks>, steps: &[Step]) -> HashSet<usize> {
    let mut names: HashMap<(u64, Option<Blob>), (u32, Vec<usize>)> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        if matches!(step.verdict, Verdict::Restore | Verdict::Merge)
            && let Some((inode, count)) = disks.and_then(|d| d.of(step.aside).links(&step.path))
        {
            let shared = names.entry((inode, step.then)).or_default();
            shared.0 = count;
            shared.1.push(at);
        }
    }
    let whole = names
        .into_values()
        .filter(|(count, at)| *count > 1 && at.len() == *count as usize);
    whole.flat_map(|(_, at)| at).collect()
}

/// Does one step; gives the permission bits that the file had.
fn carry_out(repo: &Repo, disk: &Disk, step: &Step, in_place: bool) -> Result<Option<u32>, String> {
    let current = disk.read(&step.path);
    let bits = match &current {
        Current::File(_, bits) => Some(*bits),
        _ => None,
    };
    let found = on_disk(&current)?;
    let now = found.map(|(blob, _)| blob);
    if in_place && now == step.then {
        return Ok(bits); // through another of its names
    }
    if now != step.now {
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
    let done = if in_place {
        let exec = then.mode == EXEC;
        let over = disk.overwrite(&step.path, &data, exec);
        // a file that may not be written can still be replaced
        over.or_else(|_| disk.write(&step.path, &data, exec, step.bits))
    } else if then.mode == LINK {
        disk.link(&step.path, &data)
    } else {
        disk.write(&step.path, &data, then.mode == EXEC, step.bits)
    };
    done.map(|()| bits)
}
