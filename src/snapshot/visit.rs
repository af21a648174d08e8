//! Looks at the disk and brings `state` up to date: lists folders, compares stats, reads what
//! changed.
//!
//! One `Pass` is one snapshot's look. What is looked at depends on what is known: names that the
//! watch or a tool reported, or every folder's stat, or every file's. Called by `owner`; writes only
//! to the shadow store, through `repo`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::pass::{How, Pass, SLACK, Unread, read, trusted};
use super::path::join;
use super::record::SnapshotError;
use super::rules::{self, OuterRules};
use super::stat::{dir_flags, file_flags, has_coarse_times, list, stat_at, stat_name, to_stat};
use super::state::{DirId, Dirs, FileNode, Node, ROOT, Skip, Stat};
use super::watch::{self, Watch};

/// What became of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Here,
    Gone,
    Nested,
}

/// A folder that is open.
pub(super) struct Open<'a> {
    /// Its number.
    pub(super) id: DirId,
    /// The open folder.
    pub(super) fd: BorrowedFd<'a>,
    /// Its path from the root.
    pub(super) path: &'a [u8],
}

/// The worktree: its state and the means to look at it.
#[derive(Debug)]
pub(super) struct Worktree {
    /// What is known.
    pub(super) dirs: Dirs,
    root: OwnedFd,
    pub(super) root_path: PathBuf,
    pub(super) outer: OuterRules,
    pub(super) watch: Option<Watch>,
    /// dunlin's own data, if it lies inside: never looked at.
    excluded: Option<Vec<u8>>,
    /// Tracked files that the rules exclude: the only ones that count in an ignored folder.
    pub(super) kept: HashSet<Box<[u8]>>,
    /// The folders that lead to them.
    pub(super) kept_dirs: HashSet<Box<[u8]>>,
    /// Too large: only tracked files and paths that tools touch count.
    pub(super) limited: bool,
    /// Paths that tools touched, in a limited worktree.
    pub(super) touched: HashSet<Box<[u8]>>,
    /// Time stamps have a step of two seconds.
    coarse: bool,
    /// Files get their times from another machine's clock.
    foreign: bool,
    /// Nested repositories.
    pub(super) nested: BTreeSet<Vec<u8>>,
    pub(super) pending: BTreeMap<DirId, BTreeSet<Box<[u8]>>>,
}

impl Worktree {
    /// Opens the worktree; nothing is looked at yet.
    pub(super) fn open(
        root_path: &Path,
        outer: OuterRules,
        excluded: Option<Vec<u8>>,
        watch: bool,
    ) -> std::io::Result<Self> {
        let root = rustix::fs::open(root_path, dir_flags() - OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self {
            dirs: Dirs::new(),
            coarse: has_coarse_times(&root),
            foreign: watch::is_remote(root_path),
            root,
            watch: watch.then(|| Watch::new(root_path)).flatten(),
            root_path: root_path.to_owned(),
            outer,
            excluded,
            kept: HashSet::new(),
            kept_dirs: HashSet::new(),
            limited: false,
            touched: HashSet::new(),
            nested: BTreeSet::new(),
            pending: BTreeMap::new(),
        })
    }

    /// True if changes are reported by the system.
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// True if a file's time can be compared with the clock.
    pub(super) fn has_own_times(&self) -> bool {
        !self.coarse && !self.foreign
    }

    /// Time stamps younger than this before a look prove nothing, in nanoseconds.
    pub(super) fn slack(&self) -> i64 {
        if self.coarse { 2_000_000_000 } else { SLACK }
    }

    /// Ends watching: what is left are hints and stats.
    pub(super) fn unwatch(&mut self) {
        self.watch = None;
        self.pending.clear();
        let ids: Vec<DirId> = self.dirs.alive().collect();
        for id in ids {
            self.dirs[id].watch = None;
        }
    }

    /// Reads the rule files outside the worktree again; true if one changed.
    pub(super) fn reload_rules(&mut self) -> bool {
        self.outer.reload()
    }

    /// Looks at the whole worktree.
    pub(super) fn visit_all(&mut self, pass: &mut Pass<'_>, how: How) -> Result<(), SnapshotError> {
        match self.visit(pass, ROOT, &[], how)? {
            Found::Here => Ok(()),
            Found::Gone | Found::Nested => Err(SnapshotError::file(
                format!("Looking at {}", self.root_path.display()),
                "the folder is gone",
            )),
        }
    }

    /// Brings one folder up to date, and those below it.
    pub(super) fn visit(
        &mut self,
        pass: &mut Pass<'_>,
        id: DirId,
        path: &[u8],
        how: How,
    ) -> Result<Found, SnapshotError> {
        pass.signs.beat();
        if pass.signs.is_stopped() {
            return Err(SnapshotError::Closed);
        }
        let fd = match self.open_dir(path) {
            Ok(fd) => fd,
            Err(Errno::ACCESS | Errno::PERM) if id != ROOT => return Ok(Found::Here),
            Err(_) => return Ok(Found::Gone),
        };
        let stat = rustix::fs::fstat(&fd)
            .map(|s| to_stat(&s))
            .unwrap_or_default();
        let replaced = self.dirs[id].stat.ino != stat.ino;
        if replaced && pass.previous > 0 {
            pass.arrived.push((path.to_vec(), stat.ctime));
        }
        if replaced || how.rewatch || self.dirs[id].watch.is_none() {
            self.set_watch(id, path);
        }
        let at = Open {
            id,
            fd: fd.as_fd(),
            path,
        };
        let rules_changed = self.refresh_rules(&at);
        let recheck = rules_changed || how.recheck;
        let list = how.list || recheck || replaced || self.dirs[id].racy || {
            let known = &self.dirs[id].stat;
            (known.mtime, known.ctime) != (stat.mtime, stat.ctime)
        };
        let unveil = rules_changed || how.unveil;
        let how = How {
            recheck,
            unveil,
            ..how
        };
        if list {
            if id != ROOT && stat_name(at.fd, b".git").is_ok() {
                return Ok(Found::Nested);
            }
            self.dirs[id].stat = stat;
            self.dirs[id].racy = stat.mtime.max(stat.ctime) >= pass.racy_from;
            self.visit_listed(pass, &at, how)?;
        } else {
            self.visit_known(pass, &at, how)?;
        }
        Ok(Found::Here)
    }

    /// Looks at the names that a listing gives, and removes the others.
    fn visit_listed(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        how: How,
    ) -> Result<(), SnapshotError> {
        let names = match list(at.fd) {
            Ok(names) => names,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(()),
            Err(e) => {
                let shown = super::path::to_text(at.path);
                return Err(SnapshotError::file(format!("Listing `{shown}`"), e));
            }
        };
        let gone: Vec<Box<[u8]>> = self.dirs[at.id]
            .entries
            .iter()
            .filter(|e| names.binary_search_by(|(n, _)| (**n).cmp(&e.name)).is_err())
            .map(|e| e.name.clone())
            .collect();
        for name in gone {
            self.remove(pass, at, &name);
        }
        for (name, kind) in &names {
            if *kind == FileType::Directory {
                self.look_dir(pass, at, name, how)?;
            } else {
                self.look(pass, at, name, false, how)?;
            }
            if pass.too_large {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks at known names only: the folder's own stat says that there are no others.
    fn visit_known(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        how: How,
    ) -> Result<(), SnapshotError> {
        let mut odd: Vec<Box<[u8]>> = Vec::new();
        for entry in &self.dirs[at.id].entries {
            let changed = match &entry.node {
                Node::Dir(_) | Node::Nested | Node::Skipped(Skip::Budget, _) => true,
                Node::File(_) | Node::Skipped(..) if !how.files => false,
                Node::File(file) => file.racy || stat_name(at.fd, &entry.name) != Ok(file.stat),
                Node::Skipped(_, stat) => stat_name(at.fd, &entry.name) != Ok(*stat),
            };
            if changed {
                odd.push(entry.name.clone());
            }
        }
        for name in odd {
            match self.dirs.get(at.id, &name) {
                Some(Node::Dir(_) | Node::Nested) => self.look_dir(pass, at, &name, how)?,
                _ => self.look(pass, at, &name, false, how)?,
            }
        }
        Ok(())
    }

    /// Looks at one name. `force` reads a file even if its stat is the one known.
    pub(super) fn look(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        name: &[u8],
        force: bool,
        how: How,
    ) -> Result<(), SnapshotError> {
        if name == b".git" {
            return Ok(());
        }
        match stat_name(at.fd, name) {
            Ok(stat) if stat.is_dir() => self.look_dir(pass, at, name, how),
            Ok(stat) if stat.is_file() || stat.is_link() => {
                self.look_file(pass, at, name, (stat, force), how)
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {
                self.remove(pass, at, name);
                Ok(())
            }
            // neither there nor not there: the next look may know better
            Err(_) => Ok(()),
        }
    }

    fn look_dir(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        name: &[u8],
        how: How,
    ) -> Result<(), SnapshotError> {
        let path = join(at.path, name);
        if name == b".git" || self.excluded.as_deref() == Some(&path) {
            return Ok(());
        }
        let known = self.dirs.get(at.id, name).cloned();
        if let Some(Node::Dir(child)) = known {
            if how.recheck {
                let ignored = self.ignores(at, name, true);
                self.dirs[child].ignored = ignored;
            }
            let found = self.visit(pass, child, &path, how)?;
            let emptied = self.dirs[child].ignored && self.dirs[child].entries.is_empty();
            match found {
                Found::Here if !emptied => {}
                Found::Here | Found::Gone => self.remove(pass, at, name),
                Found::Nested => self.become_nested(pass, at, name),
            }
            return Ok(());
        }
        let was_nested = matches!(known, Some(Node::Nested));
        if was_nested && stat_at(&self.root, &join(&path, b".git")).is_ok() {
            return Ok(());
        }
        let ignored = self.ignores(at, name, true);
        if (ignored || self.limited) && !self.leads_to_kept(pass, &path) {
            return Ok(());
        }
        self.remove(pass, at, name);
        let child = self.dirs.add(at.id, name, ignored);
        let mut inner = How::ALL;
        // what a nested repository held was there before, out of sight
        inner.recheck = was_nested || how.recheck;
        inner.unveil = was_nested || how.unveil;
        let found = self.visit(pass, child, &path, inner)?;
        let emptied = ignored && self.dirs[child].entries.is_empty();
        self.dirs.set(at.id, name, Some(Node::Dir(child)));
        match found {
            Found::Here if !emptied => self.dirs.soil(at.id),
            Found::Here | Found::Gone => self.remove(pass, at, name),
            Found::Nested => self.become_nested(pass, at, name),
        }
        Ok(())
    }

    fn look_file(
        &mut self,
        pass: &mut Pass<'_>,
        at: &Open<'_>,
        name: &[u8],
        (stat, force): (Stat, bool),
        how: How,
    ) -> Result<(), SnapshotError> {
        let known = match self.dirs.get(at.id, name) {
            Some(Node::File(file)) => Ok(Some(*file)),
            Some(Node::Skipped(why, before)) => Err(Some((*why, *before))),
            Some(Node::Dir(_) | Node::Nested) => Err(None),
            None => Ok(None),
        };
        if let Ok(Some(file)) = known
            && !how.recheck
            && !force
            && !file.racy
            && file.stat == stat
        {
            return Ok(());
        }
        let path = join(at.path, name);
        let tracked = matches!(known, Ok(Some(file)) if file.tracked) || self.tracks(pass, &path);
        if !tracked && (how.recheck || !matches!(known, Ok(Some(_)))) {
            let out_of_reach = self.limited && !self.touched.contains(&*path);
            if out_of_reach || self.ignores(at, name, false) {
                self.hide(pass, at, name, None);
                return Ok(());
            }
        } else if tracked && how.recheck && self.ignores(at, name, false) {
            // only its name will tell that it counts, should it be gone for a while
            self.keep(&path);
        }
        match known {
            Ok(Some(mut file)) if !force && !file.racy && file.stat == stat => {
                file.tracked = tracked;
                self.dirs.set(at.id, name, Some(Node::File(file)));
                return Ok(());
            }
            Err(Some((Skip::Large | Skip::Unreadable, before))) if before == stat && !tracked => {
                return Ok(());
            }
            _ => {}
        }
        if !tracked && stat.size > pass.limits.max_file {
            self.hide(pass, at, name, Some((Skip::Large, stat)));
            return Ok(());
        }
        if let Some((left, until)) = &mut pass.allowance
            && !tracked
        {
            *left = left.saturating_sub(1);
            if *left == 0 || until.is_some_and(|until| Instant::now() > until) {
                pass.too_large = true;
                return Ok(());
            }
        }
        let read = match trusted(pass, &path, &stat) {
            Some(id) => Ok((id, stat)),
            None => read(pass, at.fd, name, stat),
        };
        let (id, stat) = match read {
            Ok(read) => read,
            Err(Unread::Gone) => {
                self.remove(pass, at, name);
                return Ok(());
            }
            Err(Unread::Skip(why)) => {
                self.hide(pass, at, name, Some((why, stat)));
                return Ok(());
            }
            Err(Unread::Store(e)) => return Err(e),
        };
        let file = FileNode {
            id,
            stat,
            racy: stat.mtime.max(stat.ctime) >= pass.racy_from,
            tracked,
        };
        self.put(pass, at, &path, file, how);
        Ok(())
    }

    /// Reads a folder's `.gitignore` again if it changed; true if its rules did.
    fn refresh_rules(&mut self, at: &Open<'_>) -> bool {
        let stat = stat_name(at.fd, b".gitignore").ok().filter(Stat::is_file);
        let dir = &mut self.dirs[at.id];
        if dir.rules_stat == stat {
            return false;
        }
        let known = dir.rules_stat.is_some() || !dir.entries.is_empty();
        dir.rules_stat = stat;
        let bytes = stat.and_then(|_| {
            let fd = rustix::fs::openat(at.fd, ".gitignore", file_flags(), Mode::empty()).ok()?;
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut File::from(fd), &mut bytes).ok()?;
            Some(bytes)
        });
        dir.rules = bytes.and_then(|bytes| rules::parse(&bytes));
        known
    }

    fn ignores(&self, at: &Open<'_>, name: &[u8], is_dir: bool) -> bool {
        self.dirs[at.id].ignored
            || rules::is_ignored(&self.dirs, &self.outer, at.id, (at.path, name), is_dir)
    }

    fn tracks(&mut self, pass: &Pass<'_>, path: &[u8]) -> bool {
        self.kept.contains(path) || pass.seed.is_some_and(|seed| seed.tracks(path))
    }

    fn leads_to_kept(&self, pass: &Pass<'_>, dir: &[u8]) -> bool {
        self.kept_dirs.contains(dir) || pass.seed.is_some_and(|seed| seed.tracks_below(dir))
    }

    pub(super) fn open_dir(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        rustix::fs::openat(&self.root, path, dir_flags(), Mode::empty())
    }

    pub(super) fn stat_at(&self, path: &[u8]) -> Option<Stat> {
        stat_at(&self.root, path).ok()
    }
}
