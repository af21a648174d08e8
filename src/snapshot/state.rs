//! The worktree as it was at the last look, in memory: folders, files, their stats and ids.
//!
//! An arena of folders, so that a watch can name a folder by number and a change can be carried up
//! to the root. `visit` fills and updates it; `owner` turns it into trees. Compact on purpose (about
//! 120 bytes a file). Looks at no disk.

use std::sync::Arc;

use ignore::gitignore::Gitignore;

use super::path;
use super::record::SnapshotError;
use super::repo::Repo;
use super::tree::{Blob, Change, DIR, EXEC, Id, Item, LINK, PLAIN, encode};

/// What `lstat` said that matters here. Times in nanoseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stat {
    /// Bytes.
    pub(super) size: u64,
    /// Last change of the content.
    pub(super) mtime: i64,
    /// Last change of the inode.
    pub(super) ctime: i64,
    /// Inode.
    pub(super) ino: u64,
    /// Kind and permission bits.
    pub(super) mode: u32,
    /// Names that the inode has.
    pub(super) links: u32,
}

impl Stat {
    fn kind(&self) -> u32 {
        self.mode & 0o170_000
    }

    /// A folder?
    pub(super) fn is_dir(&self) -> bool {
        self.kind() == 0o040_000
    }

    /// A symbolic link?
    pub(super) fn is_link(&self) -> bool {
        self.kind() == 0o120_000
    }

    /// A regular file?
    pub(super) fn is_file(&self) -> bool {
        self.kind() == 0o100_000
    }

    /// Permission bits.
    pub(super) fn bits(&self) -> u32 {
        self.mode & 0o777
    }

    /// The mode that a tree stores for it.
    pub(super) fn tree_mode(&self) -> u32 {
        if self.is_link() {
            LINK
        } else if self.mode & 0o100 != 0 {
            EXEC
        } else {
            PLAIN
        }
    }
}

/// Number of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DirId(pub(super) u32);

/// The root's number.
pub(super) const ROOT: DirId = DirId(0);

/// A file or link that is part of the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileNode {
    /// Its blob.
    pub(super) id: Id,
    /// As it was just before it was read.
    pub(super) stat: Stat,
    /// It changed so shortly before it was read that an equal stat would prove nothing.
    pub(super) racy: bool,
    /// It is in the user's index, so ignore rules do not apply to it.
    pub(super) tracked: bool,
}

/// Why something that exists is not part of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// Untracked and larger than the limit.
    Large,
    /// No room left in this snapshot; tried again in the next one.
    Budget,
    /// It could not be read.
    Unreadable,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// A file or link.
    File(FileNode),
    /// A folder.
    Dir(DirId),
    /// A folder with a `.git` of its own: nothing of it is looked at.
    Nested,
    /// Left out.
    Skipped(Skip, Stat),
}

/// A name in a folder.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The name.
    pub(super) name: Box<[u8]>,
    /// What it stands for.
    pub(super) node: Node,
}

/// The tree object of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeState {
    /// Something in it changed; the one it had before, if any.
    Dirty(Option<Id>),
    /// No file in it; git knows no empty folders.
    Empty,
    /// Its id.
    Known(Id),
}

/// A folder.
#[derive(Debug)]
pub(super) struct Dir {
    /// Its name; empty for the root.
    pub(super) name: Box<[u8]>,
    /// Where it is; the root is its own parent.
    pub(super) parent: DirId,
    /// Its names, sorted.
    pub(super) entries: Vec<Entry>,
    /// As it was just before it was listed.
    pub(super) stat: Stat,
    /// It changed so shortly before it was listed that an equal stat would prove nothing.
    pub(super) racy: bool,
    /// Its tree.
    pub(super) tree: TreeState,
    /// Rules of its own `.gitignore`.
    pub(super) rules: Option<Arc<Gitignore>>,
    /// As that file was when it was read.
    pub(super) rules_stat: Option<Stat>,
    /// Ignore rules exclude it: only tracked files of it count.
    pub(super) ignored: bool,
    /// Its inotify watch.
    pub(super) watch: Option<i32>,
    /// False for a free slot.
    pub(super) alive: bool,
}

/// All folders.
#[derive(Debug, Default)]
pub(super) struct Dirs {
    slots: Vec<Dir>,
    free: Vec<DirId>,
}

impl std::ops::Index<DirId> for Dirs {
    type Output = Dir;
    fn index(&self, id: DirId) -> &Dir {
        &self.slots[id.0 as usize]
    }
}

impl std::ops::IndexMut<DirId> for Dirs {
    fn index_mut(&mut self, id: DirId) -> &mut Dir {
        &mut self.slots[id.0 as usize]
    }
}

impl Dirs {
    /// Only the root, of which nothing is known.
    pub(super) fn new() -> Self {
        let mut dirs = Self::default();
        dirs.add(ROOT, b"", false);
        dirs
    }

    /// A new, empty folder that no parent lists yet.
    pub(super) fn add(&mut self, parent: DirId, name: &[u8], ignored: bool) -> DirId {
        let dir = Dir {
            name: name.into(),
            parent,
            entries: Vec::new(),
            stat: Stat::default(),
            racy: true,
            tree: TreeState::Dirty(None),
            rules: None,
            rules_stat: None,
            ignored,
            watch: None,
            alive: true,
        };
        if let Some(id) = self.free.pop() {
            self[id] = dir;
            return id;
        }
        let id = DirId(self.slots.len() as u32);
        self.slots.push(dir);
        id
    }

    /// Frees a folder's slot.
    pub(super) fn release(&mut self, id: DirId) {
        let dir = &mut self[id];
        dir.alive = false;
        dir.entries = Vec::new();
        dir.rules = None;
        dir.watch = None;
        self.free.push(id);
    }

    /// Its path from the root; empty for the root.
    pub(super) fn path(&self, id: DirId) -> Vec<u8> {
        if id == ROOT {
            return Vec::new();
        }
        let dir = &self[id];
        path::join(&self.path(dir.parent), &dir.name)
    }

    /// What a folder's name stands for.
    pub(super) fn get(&self, id: DirId, name: &[u8]) -> Option<&Node> {
        let entries = &self[id].entries;
        let at = entries.binary_search_by(|e| (*e.name).cmp(name)).ok()?;
        Some(&entries[at].node)
    }

    /// Sets or, with none, removes what a name stands for.
    pub(super) fn set(&mut self, id: DirId, name: &[u8], node: Option<Node>) {
        let entries = &mut self[id].entries;
        match (entries.binary_search_by(|e| (*e.name).cmp(name)), node) {
            (Ok(at), Some(node)) => entries[at].node = node,
            (Ok(at), None) => drop(entries.remove(at)),
            (Err(at), Some(node)) => entries.insert(
                at,
                Entry {
                    name: name.into(),
                    node,
                },
            ),
            (Err(_), None) => {}
        }
    }

    /// Marks the trees from this folder up to the root as out of date.
    pub(super) fn soil(&mut self, id: DirId) {
        let mut at = id;
        loop {
            let dir = &mut self[at];
            dir.tree = match dir.tree {
                TreeState::Dirty(_) => return,
                TreeState::Empty => TreeState::Dirty(None),
                TreeState::Known(id) => TreeState::Dirty(Some(id)),
            };
            if at == ROOT {
                return;
            }
            at = dir.parent;
        }
    }

    /// The folder at this path and the part of the path that is not known below it.
    pub(super) fn walk<'p>(&self, path: &'p [u8]) -> (DirId, &'p [u8]) {
        let mut at = ROOT;
        let mut rest = path;
        while let Some(slash) = rest.iter().position(|&b| b == b'/') {
            match self.get(at, &rest[..slash]) {
                Some(Node::Dir(next)) => at = *next,
                _ => break,
            }
            rest = &rest[slash + 1..];
        }
        (at, rest)
    }

    /// Every file of the tree below a folder, as changes away from it.
    pub(super) fn files_below(&self, id: DirId, path: &[u8], out: &mut Vec<Change>) {
        for entry in &self[id].entries {
            let below = path::join(path, &entry.name);
            match &entry.node {
                Node::File(file) => out.push(Change {
                    path: below,
                    before: Some(file.blob()),
                    after: None,
                    bits: Some(file.stat.bits()),
                }),
                Node::Dir(dir) => self.files_below(*dir, &below, out),
                Node::Nested | Node::Skipped(..) => {}
            }
        }
    }

    /// Writes the trees that are out of date, bottom up. Ids of trees that are replaced go to
    /// `pins`. Gives the root's.
    pub(super) fn write_trees(
        &mut self,
        repo: &Repo,
        own: bool,
        pins: &mut Vec<Id>,
    ) -> Result<Id, SnapshotError> {
        self.write_tree(ROOT, repo, own, pins)?;
        match self[ROOT].tree {
            TreeState::Known(id) => Ok(id),
            TreeState::Empty | TreeState::Dirty(_) => repo.put_tree(&[], own),
        }
    }

    fn write_tree(
        &mut self,
        id: DirId,
        repo: &Repo,
        own: bool,
        pins: &mut Vec<Id>,
    ) -> Result<TreeState, SnapshotError> {
        let TreeState::Dirty(before) = self[id].tree else {
            return Ok(self[id].tree);
        };
        for at in 0..self[id].entries.len() {
            if let Node::Dir(child) = self[id].entries[at].node {
                self.write_tree(child, repo, own, pins)?;
            }
        }
        let mut items: Vec<Item<'_>> = Vec::with_capacity(self[id].entries.len());
        for entry in &self[id].entries {
            let (mode, object) = match &entry.node {
                Node::File(file) => (file.stat.tree_mode(), file.id),
                Node::Dir(child) => match self[*child].tree {
                    TreeState::Known(tree) => (DIR, tree),
                    TreeState::Empty | TreeState::Dirty(_) => continue,
                },
                Node::Nested | Node::Skipped(..) => continue,
            };
            items.push(Item {
                mode,
                name: &entry.name,
                id: object,
            });
        }
        let tree = if items.is_empty() {
            TreeState::Empty
        } else {
            TreeState::Known(repo.put_tree(&encode(&mut items), own)?)
        };
        if let Some(before) = before
            && tree != TreeState::Known(before)
        {
            pins.push(before);
        }
        self[id].tree = tree;
        Ok(tree)
    }

    /// Folders in use.
    pub(super) fn alive(&self) -> impl Iterator<Item = DirId> {
        (0..self.slots.len() as u32)
            .map(DirId)
            .filter(|id| self[*id].alive)
    }
}

impl FileNode {
    /// As a tree has it.
    pub(super) fn blob(&self) -> Blob {
        Blob {
            id: self.id,
            mode: self.stat.tree_mode(),
        }
    }
}
