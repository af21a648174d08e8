//! System calls on names of an open folder: list, stat.
//!
//! Called by `visit` and `pass`. Relative to open folders and without following links, so that what
//! is looked at is what the worktree holds.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, OFlags};
use rustix::io::Errno;

use super::state::Stat;

/// A name and the kind that its folder gives for it.
pub(super) type Listed = (Box<[u8]>, FileType);

/// Names and kinds of a folder, sorted.
pub(super) fn list(fd: BorrowedFd<'_>) -> Result<Vec<Listed>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((name.into(), entry.file_type()));
        }
    }
    names.sort_unstable_by(|a: &Listed, b| a.0.cmp(&b.0));
    Ok(names)
}

/// How a folder is opened.
pub(super) fn dir_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// A pipe in a file's place must not block.
pub(super) fn file_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK
}

/// The stat of a name; links are not followed.
pub(super) fn stat_name(dir: BorrowedFd<'_>, name: &[u8]) -> Result<Stat, Errno> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|s| to_stat(&s))
}

/// The stat of a path below the root.
pub(super) fn stat_at(root: &OwnedFd, path: &[u8]) -> Result<Stat, Errno> {
    stat_name(root.as_fd(), path)
}

/// The stat of any path, links followed; none if it is not there.
pub(super) fn stat_path(path: &Path) -> Option<Stat> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
    Some(to_stat(&stat))
}

/// The fields' types differ between systems; their values fit.
fn number<T: TryInto<i64>>(value: T) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

/// What of a stat matters.
pub(super) fn to_stat(stat: &rustix::fs::Stat) -> Stat {
    let time = |s: i64, ns: i64| s.saturating_mul(1_000_000_000).saturating_add(ns);
    Stat {
        size: number(stat.st_size) as u64,
        mtime: time(number(stat.st_mtime), number(stat.st_mtime_nsec)),
        ctime: time(number(stat.st_ctime), number(stat.st_ctime_nsec)),
        ino: stat.st_ino,
        mode: number(stat.st_mode) as u32,
        links: number(stat.st_nlink) as u32,
    }
}

/// When the file was made, in nanoseconds; none if the system does not say.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn born(dir: BorrowedFd<'_>, name: &[u8]) -> Option<i64> {
    use rustix::fs::{StatxFlags, statx};
    let stat = statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
    let known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let time = stat.stx_btime;
    known.then(|| time.tv_sec.saturating_mul(1_000_000_000) + i64::from(time.tv_nsec))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn born(_dir: BorrowedFd<'_>, _name: &[u8]) -> Option<i64> {
    None
}

/// FAT, exFAT, HFS and network file systems keep times in steps of up to two seconds.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn has_coarse_times(root: &OwnedFd) -> bool {
    const COARSE: [u32; 7] = [
        0x4d44,
        0x2011_bab0,
        0x4244,
        0x482b,
        0x6969,
        0xff53_4d42,
        0xfe53_4d42,
    ];
    rustix::fs::fstatfs(root).is_ok_and(|fs| COARSE.contains(&(fs.f_type as u32)))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn has_coarse_times(_root: &OwnedFd) -> bool {
    false
}
