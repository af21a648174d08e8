//! Reads and writes single files of the worktree for an undo, never through a link.
//!
//! Every path is walked folder by folder from the root without following links, so a file cannot be
//! written outside the worktree, nor into a nested repository unless a tool wrote it there. Writing is a new file renamed over the
//! old one. Called by `undo`; knows nothing of trees.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::path;
use super::stat::to_stat;
use super::state::Stat;

/// The worktree's root, open.
#[derive(Debug)]
pub(super) struct Disk {
    root: OwnedFd,
    /// True: folders with a `.git` of their own may be entered (never the `.git` itself).
    far: bool,
}

/// What is at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Current {
    /// Nothing.
    Absent,
    /// A file: content and permission bits.
    File(Vec<u8>, u32),
    /// A symbolic link: its target.
    Link(Vec<u8>),
    /// A folder.
    Folder,
    /// Nothing, because a file is where its folder should be. The path of that file.
    UnderFile(Vec<u8>),
    /// Unknown, because a link is where its folder should be. The path of that link.
    UnderLink(Vec<u8>),
    /// It must not be touched, or cannot; the reason as words that follow the path.
    Blocked(String),
}

/// The way to a path's folder ended early.
enum Halt {
    Missing,
    File(Vec<u8>),
    Link(Vec<u8>),
    Blocked(String),
}

fn words(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

impl Disk {
    /// Opens the root. `far` says that nested repositories may be entered.
    pub(super) fn open(root: &Path, far: bool) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Self { root, far })
    }

    /// Opens the folder of a path, making it (and those above) if `create`.
    fn folder(&self, dir: &[u8], create: bool) -> Result<OwnedFd, Halt> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let stuck = |e: Errno| Halt::Blocked(format!("its folder cannot be used: {}", words(e)));
        let mut at = rustix::fs::openat(&self.root, ".", flags, Mode::empty()).map_err(stuck)?;
        let mut done = 0;
        for part in dir.split(|&b| b == b'/').filter(|part| !part.is_empty()) {
            done += part.len() + usize::from(done > 0);
            let mut next = rustix::fs::openat(&at, part, flags, Mode::empty());
            if create && next.as_ref().is_err_and(|e| *e == Errno::NOENT) {
                rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)).map_err(stuck)?;
                next = rustix::fs::openat(&at, part, flags, Mode::empty());
            }
            at = match next {
                Ok(next) => next,
                Err(Errno::NOENT) => return Err(Halt::Missing),
                Err(e) => {
                    let stat = rustix::fs::statat(&at, part, AtFlags::SYMLINK_NOFOLLOW);
                    let stat = stat.map(|s| to_stat(&s)).unwrap_or_default();
                    return Err(if stat.is_link() {
                        Halt::Link(dir[..done].to_vec())
                    } else if stat.is_dir() {
                        stuck(e)
                    } else {
                        Halt::File(dir[..done].to_vec())
                    });
                }
            };
            if !self.far && rustix::fs::statat(&at, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                let reason = "it is inside a nested repository".to_owned();
                return Err(Halt::Blocked(reason));
            }
        }
        Ok(at)
    }

    /// Bytes of the file at a path; none if there is none.
    pub(super) fn size(&self, at: &[u8]) -> Option<u64> {
        let (dir, name) = path::split(at);
        let folder = self.folder(dir, false).ok()?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(to_stat(&stat).size)
    }

    /// What is at a path.
    pub(super) fn read(&self, at: &[u8]) -> Current {
        if !path::is_safe(at) {
            return Current::Blocked("its path leads out of the worktree".to_owned());
        }
        let (dir, name) = path::split(at);
        let folder = match self.folder(dir, false) {
            Ok(folder) => folder,
            Err(Halt::Missing) => return Current::Absent,
            Err(Halt::File(file)) => return Current::UnderFile(file),
            Err(Halt::Link(link)) => return Current::UnderLink(link),
            Err(Halt::Blocked(reason)) => return Current::Blocked(reason),
        };
        match read_name(&folder, name) {
            Ok(current) => current,
            Err(Errno::NOENT) => Current::Absent,
            Err(e) => Current::Blocked(format!("it cannot be read: {}", words(e))),
        }
    }

    /// True if a folder could be removed once these files are gone: it holds nothing else but empty
    /// folders.
    pub(super) fn holds_only(&self, dir: &[u8], gone: &dyn Fn(&[u8]) -> bool) -> bool {
        let Ok(folder) = self.folder(dir, false) else {
            return false;
        };
        let Ok(entries) = rustix::fs::Dir::read_from(&folder) else {
            return false;
        };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let below = path::join(dir, name);
            let empty =
                || matches!(self.read(&below), Current::Folder) && self.holds_only(&below, gone);
            if !gone(&below) && !empty() {
                return false;
            }
        }
        true
    }

    /// Removes a folder that holds nothing but folders; stops at the first file.
    fn remove_empty(&self, dir: &[u8]) -> Result<(), String> {
        let folder = self.folder(dir, false).map_err(halted)?;
        for entry in rustix::fs::Dir::read_from(&folder).map_err(words)? {
            let entry = entry.map_err(words)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.remove_empty(&path::join(dir, name))?;
            }
        }
        let (above, last) = path::split(dir);
        let above = self.folder(above, false).map_err(halted)?;
        rustix::fs::unlinkat(&above, last, AtFlags::REMOVEDIR).map_err(words)
    }

    /// Removes a file or link, and the folders that are empty then.
    pub(super) fn remove(&self, at: &[u8]) -> Result<(), String> {
        let (mut dir, name) = path::split(at);
        let folder = self.folder(dir, false).map_err(halted)?;
        rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(words)?;
        while !dir.is_empty() {
            let (above, last) = path::split(dir);
            let removed = self
                .folder(above, false)
                .is_ok_and(|f| rustix::fs::unlinkat(&f, last, AtFlags::REMOVEDIR).is_ok());
            if !removed {
                break;
            }
            dir = above;
        }
        Ok(())
    }

    /// Inode of the file at a path, and how many names it has.
    pub(super) fn links(&self, at: &[u8]) -> Option<(u64, u32)> {
        let (dir, name) = path::split(at);
        let folder = self.folder(dir, false).ok()?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let stat = to_stat(&stat);
        stat.is_file().then_some((stat.ino, stat.links))
    }

    /// Writes over a file, so that its other names keep naming the same. A process that is killed meanwhile
    /// leaves it in half.
    pub(super) fn overwrite(&self, at: &[u8], data: &[u8], exec: bool) -> Result<(), String> {
        let (dir, name) = path::split(at);
        let folder = self.folder(dir, false).map_err(halted)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = rustix::fs::openat(&folder, name, flags, Mode::empty()).map_err(words)?;
        let stat = rustix::fs::fstat(&fd).map(|s| to_stat(&s)).map_err(words)?;
        let mut file = File::from(fd);
        file.write_all(data).map_err(|e| e.to_string())?;
        file.set_len(data.len() as u64).map_err(|e| e.to_string())?;
        let bits = Mode::from_bits_truncate(with_exec(stat.mode, exec));
        rustix::fs::fchmod(&file, bits).map_err(words)
    }

    /// Puts a link in place.
    pub(super) fn link(&self, at: &[u8], target: &[u8]) -> Result<(), String> {
        self.place(at, |folder, temp, _| {
            rustix::fs::symlinkat(target, folder, temp).map_err(words)
        })
    }

    /// Puts a file in place. The permissions of a file that is replaced stay, but for the
    /// executable bits; one made anew gets `bits`, or what the user's new files get.
    pub(super) fn write(
        &self,
        at: &[u8],
        data: &[u8],
        exec: bool,
        bits: Option<u32>,
    ) -> Result<(), String> {
        self.place(at, |folder, temp, before| {
            let replaced = before.filter(Stat::is_file).map(|stat| stat.mode);
            let own = replaced.or(bits).map(|bits| with_exec(bits, exec));
            // never wider than it will be, not even while it is written
            let fresh = own.map_or(if exec { 0o777 } else { 0o666 }, |own| own & 0o600);
            let (mut file, nameless) =
                create(folder, temp, Mode::from_raw_mode(fresh)).map_err(words)?;
            file.write_all(data).map_err(|e| e.to_string())?;
            if let Some(own) = own {
                rustix::fs::fchmod(&file, Mode::from_bits_truncate(own)).map_err(words)?;
            }
            if nameless {
                let open = format!("/proc/self/fd/{}", file.as_raw_fd());
                let follow = AtFlags::SYMLINK_FOLLOW;
                rustix::fs::linkat(rustix::fs::CWD, open, folder, temp, follow).map_err(words)?;
            }
            Ok(())
        })
    }

    fn place(
        &self,
        at: &[u8],
        make: impl FnOnce(&OwnedFd, &str, Option<Stat>) -> Result<(), String>,
    ) -> Result<(), String> {
        let (dir, name) = path::split(at);
        let folder = self.folder(dir, true).map_err(halted)?;
        let before = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let before = before.ok().map(|s| to_stat(&s));
        if before.is_some_and(|stat| stat.is_dir()) {
            // only one without files goes: everything in it was removed by the same undo
            self.remove_empty(at)?;
        }
        // unique per process and place; EXCL refuses a leftover, which is removed first
        let temp = format!(".dunlin-undo-{}", std::process::id());
        rustix::fs::unlinkat(&folder, temp.as_str(), AtFlags::empty()).ok();
        let made = make(&folder, &temp, before).and_then(|()| {
            rustix::fs::renameat(&folder, temp.as_str(), &folder, name).map_err(words)
        });
        if made.is_err() {
            rustix::fs::unlinkat(&folder, temp.as_str(), AtFlags::empty()).ok();
        }
        made
    }
}

/// These bits with the executable ones set for whoever may read, or not set.
fn with_exec(bits: u32, exec: bool) -> u32 {
    let readable = (bits & 0o444) >> 2;
    (bits & 0o7666) | if exec { readable } else { 0 }
}

/// A new file, without a name where the system has such (true): a process that is killed while it
/// writes then leaves nothing behind.
fn create(folder: &OwnedFd, temp: &str, mode: Mode) -> Result<(File, bool), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if rustix::fs::access("/proc/self/fd", rustix::fs::Access::EXISTS).is_ok()
        && let Ok(fd) = rustix::fs::openat(folder, ".", flags | OFlags::TMPFILE, mode)
    {
        return Ok((File::from(fd), true));
    }
    let named = flags | OFlags::CREATE | OFlags::EXCL;
    let fd = rustix::fs::openat(folder, temp, named, mode)?;
    Ok((File::from(fd), false))
}

fn halted(halt: Halt) -> String {
    match halt {
        Halt::Missing => "its folder is gone".to_owned(),
        Halt::File(_) => "a file is where its folder should be".to_owned(),
        Halt::Link(_) => "its folder is a link now".to_owned(),
        Halt::Blocked(reason) => reason,
    }
}

fn read_name(folder: &OwnedFd, name: &[u8]) -> Result<Current, Errno> {
    let stat = to_stat(&rustix::fs::statat(
        folder,
        name,
        AtFlags::SYMLINK_NOFOLLOW,
    )?);
    if stat.is_dir() {
        return Ok(Current::Folder);
    }
    if stat.is_link() {
        let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
        return Ok(Current::Link(target.into_bytes()));
    }
    if !stat.is_file() {
        let reason = "it is neither file nor link now".to_owned();
        return Ok(Current::Blocked(reason));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let mut data = Vec::with_capacity(stat.size as usize + 1);
    let read = File::from(fd).read_to_end(&mut data);
    Ok(match read {
        Ok(_) => Current::File(data, stat.bits()),
        Err(e) => Current::Blocked(format!("it cannot be read: {e}")),
    })
}
