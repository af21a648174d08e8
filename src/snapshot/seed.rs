//! What the user's own index knows about files, so that a first snapshot need not read them.
//!
//! The index is trusted only where it cannot be wrong: same times, size and inode, a clean plain
//! entry, written after the file's last change, and (checked by the caller) a blob that exists and
//! whose length is the file's, which tells apart content whose line ends are converted. Where filter
//! programs or encodings are in play it is not trusted at all. Also answers which paths are tracked, because tracked files are kept whatever the ignore rules say. Pure.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

use super::state::Stat;
use super::tree::{Id, LINK};

/// `assume-valid` in an entry's flags.
const ASSUME_VALID: u16 = 0x8000;
/// The two stage bits: non-zero in a merge conflict.
const STAGE: u16 = 0x3000;
/// `skip-worktree` and `intent-to-add` in the extended flags.
const SKIP_OR_INTENT: u16 = 0x4000 | 0x2000;
/// Kind of a submodule's entry.
const GITLINK: u32 = 0o160_000;

/// One entry of the user's index.
#[derive(Debug, Clone)]
pub(super) struct SeedEntry {
    /// Path from the repository's root.
    pub(super) path: Vec<u8>,
    /// The blob.
    pub(super) id: Id,
    /// Seconds and nanoseconds.
    pub(super) mtime: (i32, u32),
    /// Seconds and nanoseconds.
    pub(super) ctime: (i32, u32),
    /// Low 32 bits of the inode.
    pub(super) ino: u32,
    /// Low 32 bits of the size in the worktree.
    pub(super) size: u32,
    /// Git's mode.
    pub(super) mode: u32,
    /// As stored.
    pub(super) flags: u16,
    /// As stored.
    pub(super) extended: u16,
}

/// The user's index, restricted to the worktree and sorted.
#[derive(Debug, Default)]
pub(super) struct Seed {
    entries: Vec<SeedEntry>,
    /// When the index was written, in nanoseconds: a file changed at or after this is not trusted.
    written: i64,
    /// The tracked files named `.gitattributes`, from the repository's root.
    pub(super) attributes: Vec<Vec<u8>>,
    /// True if git may rewrite content without changing its length: no blob of the index is known to be
    /// what the file holds.
    pub(super) rewritten: bool,
}

/// True if attributes name a conversion that may keep the length: a filter program, or an encoding.
pub(super) fn rewrites(attributes: &[u8]) -> bool {
    let mut lines = attributes.split(|byte| *byte == b'\n');
    lines.any(|line| {
        let names = |word: &[u8]| line.windows(word.len()).any(|found| found == word);
        !line.trim_ascii_start().starts_with(b"#")
            && (names(b"filter") || names(b"working-tree-encoding"))
    })
}

impl Seed {
    /// Takes the entries below `prefix` (empty for all) and makes their paths relative to it.
    pub(super) fn new(
        entries: impl Iterator<Item = SeedEntry>,
        index: &Metadata,
        prefix: &[u8],
    ) -> Self {
        let mut attributes = Vec::new();
        let mut kept: Vec<SeedEntry> = entries
            .inspect(|e| {
                if e.path.ends_with(b".gitattributes") {
                    attributes.push(e.path.clone());
                }
            })
            .filter(|e| e.mode & 0o170_000 != GITLINK)
            .filter_map(|mut e| {
                if !prefix.is_empty() {
                    let below = e.path.strip_prefix(prefix)?.strip_prefix(b"/")?;
                    e.path = below.to_vec();
                }
                Some(e)
            })
            .collect();
        kept.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            entries: kept,
            written: index.mtime() * 1_000_000_000 + index.mtime_nsec(),
            attributes,
            rewritten: false,
        }
    }

    fn find(&self, path: &[u8]) -> Option<&SeedEntry> {
        let at = self.entries.partition_point(|e| e.path.as_slice() < path);
        self.entries.get(at).filter(|e| e.path == path)
    }

    /// True if this file is tracked.
    pub(super) fn tracks(&self, path: &[u8]) -> bool {
        self.find(path).is_some()
    }

    /// True if anything below this folder is tracked.
    pub(super) fn tracks_below(&self, dir: &[u8]) -> bool {
        let mut start = dir.to_vec();
        start.push(b'/');
        let at = self.entries.partition_point(|e| e.path < start);
        self.entries
            .get(at)
            .is_some_and(|e| e.path.starts_with(&start))
    }

    /// All tracked paths, sorted.
    pub(super) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|e| e.path.as_slice())
    }

    /// The blob of this file, if the index proves that the file has not changed since it was added.
    pub(super) fn trusted(&self, path: &[u8], stat: &Stat) -> Option<Id> {
        let e = self.find(path).filter(|_| !self.rewritten)?;
        let same_kind = (e.mode & 0o170_000 == LINK) == stat.is_link();
        let plain = e.flags & (ASSUME_VALID | STAGE) == 0 && e.extended & SKIP_OR_INTENT == 0;
        let time = |(s, ns): (i32, u32)| i64::from(s) * 1_000_000_000 + i64::from(ns);
        let unchanged = time(e.mtime) == stat.mtime
            && time(e.ctime) == stat.ctime
            && e.size == stat.size as u32
            && e.ino == stat.ino as u32;
        (same_kind && plain && unchanged && stat.mtime < self.written).then_some(e.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> SeedEntry {
        SeedEntry {
            path: path.as_bytes().to_vec(),
            id: Id([7; 20]),
            mtime: (100, 5),
            ctime: (100, 5),
            ino: 9,
            size: 3,
            mode: 0o100_644,
            flags: 0,
            extended: 0,
        }
    }

    fn stat() -> Stat {
        Stat {
            size: 3,
            mtime: 100_000_000_005,
            ctime: 100_000_000_005,
            ino: 9,
            mode: 0o100_644,
            links: 1,
        }
    }

    fn seed(entry: SeedEntry) -> Seed {
        Seed {
            entries: vec![entry],
            written: 101_000_000_000,
            attributes: Vec::new(),
            rewritten: false,
        }
    }

    #[test]
    fn an_entry_is_trusted_only_while_nothing_speaks_against_it() {
        assert!(seed(entry("a")).trusted(b"a", &stat()).is_some());
        let doubts: [fn(&mut SeedEntry, &mut Stat); 9] = [
            |e, _| e.mtime.1 = 6,
            |e, _| e.ctime.0 = 101,
            |_, s| s.size = 4,
            |_, s| s.ino = 10,
            |e, _| e.flags = ASSUME_VALID,
            |e, _| e.flags = 0x1000,
            |e, _| e.extended = 0x4000,
            |e, _| e.extended = 0x2000,
            |_, s| s.mode = 0o120_777,
        ];
        for (at, doubt) in doubts.iter().enumerate() {
            let (mut e, mut s) = (entry("a"), stat());
            doubt(&mut e, &mut s);
            assert_eq!(seed(e).trusted(b"a", &s), None, "doubt {at}");
        }
    }

    #[test]
    fn filters_and_encodings_may_rewrite_and_line_ends_show_in_the_length() {
        for text in [
            "*.u filter=up",
            "*.bin text\n*.txt working-tree-encoding=latin1",
        ] {
            assert!(rewrites(text.as_bytes()), "{text}");
        }
        for text in ["", "* text=auto eol=lf", "# *.u filter=up\n*.rs diff=rust"] {
            assert!(!rewrites(text.as_bytes()), "{text}");
        }
        let mut doubtful = seed(entry("a"));
        doubtful.rewritten = true;
        assert_eq!(doubtful.trusted(b"a", &stat()), None);
        assert!(doubtful.tracks(b"a"));
    }

    #[test]
    fn a_file_as_young_as_the_index_is_not_trusted() {
        let mut young = seed(entry("a"));
        young.written = stat().mtime;
        assert_eq!(young.trusted(b"a", &stat()), None);
    }

    #[test]
    fn folders_with_tracked_files_are_found() {
        let seed = Seed {
            entries: ["a-b/x", "a/b/c", "d"].map(entry).into(),
            ..Seed::default()
        };
        assert!(seed.tracks_below(b"a") && seed.tracks_below(b"a/b"));
        assert!(!seed.tracks_below(b"d") && !seed.tracks_below(b"a/b/c"));
        assert!(seed.tracks(b"d") && !seed.tracks(b"a"));
    }
}
