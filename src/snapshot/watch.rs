//! Which names changed since the last look, from inotify.
//!
//! Nothing runs between snapshots: the kernel queues events while tools work (they are queued by the
//! very system call that changes the file, so a finished tool's changes are all there), and the
//! queue is read when a snapshot is taken. Only folders that count are watched, so a build in an
//! ignored folder costs nothing. Where there is no inotify, or changes may come from another
//! machine, there is no watch and `visit` compares stats instead.

use std::path::Path;

use super::state::DirId;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// Something happened to this name of a folder.
    Name(DirId, Box<[u8]>),
    /// The folder itself was removed or moved: its watch is of no use any more.
    Lost(DirId),
}

/// The watch could not be set; the reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// The folder is gone or no folder any more.
    Gone,
    /// The system's limit is reached.
    Full,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::{Watch, is_remote};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use none::{Watch, is_remote};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::collections::HashMap;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{DirId, Path, Refused, Seen};

    /// File systems whose changes may come from elsewhere, or that do not tell: NFS, SMB (three
    /// kinds), FUSE, 9P (also WSL's Windows drives), Ceph, AFS (two kinds), VirtualBox folders.
    const REMOTE: [u32; 10] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x6573_5546,
        0x0102_1997,
        0x00c3_6400,
        0x5346_414f,
        0x6b41_4653,
        0x786f_4256,
    ];

    /// True for a file system whose changes or times may come from elsewhere, and where that cannot be told.
    pub(in super::super) fn is_remote(root: &Path) -> bool {
        // the field's type differs between architectures; the magic numbers have 32 bits
        rustix::fs::statfs(root).map_or(true, |facts| REMOTE.contains(&(facts.f_type as u32)))
    }

    /// An inotify queue and what its watches stand for.
    #[derive(Debug)]
    pub(in super::super) struct Watch {
        queue: OwnedFd,
        dirs: HashMap<i32, DirId>,
    }

    impl Watch {
        /// A queue without watches; none if this place cannot be watched.
        pub(in super::super) fn new(root: &Path) -> Option<Self> {
            if is_remote(root) {
                return None;
            }
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            Some(Self {
                queue,
                dirs: HashMap::new(),
            })
        }

        /// Watches a folder. Watching one that is watched already gives the same number.
        pub(in super::super) fn add(&mut self, path: &Path, dir: DirId) -> Result<i32, Refused> {
            let flags = WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW
                | WatchFlags::EXCL_UNLINK;
            match inotify::add_watch(&self.queue, path, flags) {
                Ok(number) => {
                    self.dirs.insert(number, dir);
                    Ok(number)
                }
                Err(Errno::NOSPC | Errno::NOMEM) => Err(Refused::Full),
                Err(_) => Err(Refused::Gone),
            }
        }

        /// Ends a watch, unless its number has passed to another folder.
        pub(in super::super) fn remove(&mut self, number: i32, dir: DirId) {
            if self.dirs.get(&number) == Some(&dir) {
                self.dirs.remove(&number);
                // the folder may be gone, and its watch with it
                let _ = inotify::remove_watch(&self.queue, number);
            }
        }

        /// Reads all that is queued. True if the kernel had to drop events.
        pub(in super::super) fn drain(&mut self, mut on: impl FnMut(Seen)) -> bool {
            let mut overflow = false;
            let mut buffer = [MaybeUninit::<u8>::uninit(); 8192];
            let mut reader = inotify::Reader::new(&self.queue, &mut buffer);
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => return overflow,
                    // an unreadable queue is as good as one that lost everything
                    Err(_) => return true,
                };
                let flags = event.events();
                if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                    overflow = true;
                    continue;
                }
                let Some(&dir) = self.dirs.get(&event.wd()) else {
                    continue;
                };
                if flags.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
                    self.dirs.remove(&event.wd());
                    on(Seen::Lost(dir));
                } else if let Some(name) = event.file_name() {
                    // a folder's own times and bits are none of a tree's business
                    let only_attributes =
                        flags.contains(ReadFlags::ISDIR) && flags.contains(ReadFlags::ATTRIB);
                    if !only_attributes {
                        on(Seen::Name(dir, name.to_bytes().into()));
                    }
                }
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod none {
    use super::{DirId, Path, Refused, Seen};

    /// What is known of file systems here does not tell.
    pub(in super::super) fn is_remote(_root: &Path) -> bool {
        false
    }

    /// Nothing can be watched here.
    #[derive(Debug)]
    pub(in super::super) enum Watch {}

    impl Watch {
        pub(in super::super) fn new(_root: &Path) -> Option<Self> {
            None
        }

        pub(in super::super) fn add(&mut self, _path: &Path, _dir: DirId) -> Result<i32, Refused> {
            match *self {}
        }

        pub(in super::super) fn remove(&mut self, _number: i32, _dir: DirId) {
            match *self {}
        }

        pub(in super::super) fn drain(&mut self, _on: impl FnMut(Seen)) -> bool {
            match *self {}
        }
    }
}
