//! The shadow repository, and what needs libgit2: objects, the user's index and settings. Only this file
//! and `repo/texts` (line diffs, merges) name git2.
//!
//! Two views on purpose. `own` knows only the shadow's objects and is the only one written to:
//! libgit2 refreshes the time stamp of an object that it finds in an alternate, which would write
//! into the user's `.git`. `view` adds the user's objects and is only read. Called by the owner
//! thread, because all of this blocks.

mod texts;

use std::fs::{File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{
    Config, ConfigLevel, Index, ObjectType, Odb, OdbLookupFlags, Oid, Repository,
    RepositoryInitOptions,
};

use super::record::SnapshotError;
use super::seed::{Seed, SeedEntry};
use super::tree::Id;
use crate::config::private;
pub(super) use texts::{hunks, line_counts, merge};

/// Files above this are streamed into the store instead of being read into memory.
const STREAM_FROM: u64 = 16 << 20;

/// Objects younger than this are young enough for every collection.
const STALE_AFTER: Duration = Duration::from_hours(1);

/// Name of the note that says where the user's objects are, for `gc` and for people with git.
const USER_OBJECTS: &str = "user-objects";

/// The shadow repository of one project.
pub(super) struct Repo {
    own: Repository,
    view: Odb<'static>,
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo")
            .field("path", &self.own.path())
            .finish_non_exhaustive()
    }
}

/// Makes a repository of a folder and commits what is in it; for the demo, which plays in one. The
/// folder must not be a repository yet.
pub fn make_repository(folder: &Path, message: &str) -> Result<(), SnapshotError> {
    let failed = |e: git2::Error| {
        SnapshotError::store(
            format!("Making a repository of {}", folder.display()),
            e.message(),
        )
    };
    let repository = Repository::init_opts(
        folder,
        RepositoryInitOptions::new()
            .no_reinit(true)
            .external_template(false)
            .initial_head("main"),
    )
    .map_err(failed)?;
    let mut index = repository.index().map_err(failed)?;
    index
        .add_all(["."], git2::IndexAddOption::DEFAULT, None)
        .map_err(failed)?;
    index.write().map_err(failed)?;
    let tree = index
        .write_tree()
        .and_then(|id| repository.find_tree(id))
        .map_err(failed)?;
    let author = git2::Signature::now("dunlin demo", "demo@localhost").map_err(failed)?;
    repository
        .commit(Some("HEAD"), &author, &author, message, &tree, &[])
        .map_err(failed)?;
    Ok(())
}

fn oid(id: Id) -> Result<Oid, SnapshotError> {
    Oid::from_bytes(&id.0).map_err(|e| SnapshotError::store("Reading an object's id", e.message()))
}

fn id(oid: Oid) -> Id {
    let mut raw = [0; 20];
    let bytes = oid.as_bytes();
    let len = bytes.len().min(20);
    raw[..len].copy_from_slice(&bytes[..len]);
    Id(raw)
}

impl Repo {
    /// Opens the shadow at `store`, making it if needed. `user_objects` is the folder of the user's
    /// objects, which is only read; none keeps the one noted by an earlier process.
    pub(super) fn open(store: &Path, user_objects: Option<&Path>) -> Result<Self, SnapshotError> {
        let failed = |e: git2::Error| {
            SnapshotError::store(
                format!("Opening the snapshot store {}", store.display()),
                e.message(),
            )
        };
        // several processes may start at once in a new project
        let lock = lock(store)?;
        let (own, new) = match Repository::open_bare(store) {
            Ok(own) => (own, false),
            Err(_) => (init(store).map_err(failed)?, true),
        };
        if let Err(error) = close(store, new) {
            tracing::warn!(%error, "parts of the snapshot store could not be closed to others");
        }
        let view = Odb::new().map_err(failed)?;
        let objects = store.join("objects");
        view.add_disk_alternate(&objects.to_string_lossy())
            .map_err(failed)?;
        let noted = note_user_objects(store, user_objects)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).ok();
        if let Some(noted) = noted.and_then(|p| p.to_str().map(str::to_owned)) {
            view.add_disk_alternate(&noted).map_err(failed)?;
        }
        Ok(Self { own, view })
    }

    /// Folder of the shadow's loose objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.own.path().join("objects")
    }

    /// True if the object is in the shadow itself.
    pub(super) fn owns(&self, wanted: Id) -> bool {
        let found = || -> Option<bool> {
            let odb = self.own.odb().ok()?;
            Some(odb.exists_ext(oid(wanted).ok()?, OdbLookupFlags::NO_REFRESH))
        };
        found().unwrap_or(false)
    }

    /// True if the object is in the shadow or among the user's objects.
    pub(super) fn has(&self, wanted: Id) -> bool {
        oid(wanted).is_ok_and(|oid| self.view.exists_ext(oid, OdbLookupFlags::NO_REFRESH))
    }

    /// Length of a blob; none if it is not there or is something else.
    pub(super) fn blob_len(&self, wanted: Id) -> Option<u64> {
        let (len, kind) = self.view.read_header(oid(wanted).ok()?).ok()?;
        (kind == ObjectType::Blob).then_some(len as u64)
    }

    /// The bytes of a tree.
    pub(super) fn tree(&self, wanted: Id) -> Result<Vec<u8>, SnapshotError> {
        self.read(wanted, ObjectType::Tree, "tree")
    }

    /// The bytes of a blob.
    pub(super) fn blob(&self, wanted: Id) -> Result<Vec<u8>, SnapshotError> {
        self.read(wanted, ObjectType::Blob, "file content")
    }

    fn read(
        &self,
        wanted: Id,
        kind: ObjectType,
        what: &'static str,
    ) -> Result<Vec<u8>, SnapshotError> {
        let missing = || SnapshotError::Missing {
            what,
            id: wanted.to_string(),
        };
        let object = match self.view.read(oid(wanted)?) {
            Ok(object) => object,
            // the empty tree need not be stored
            Err(_) if kind == ObjectType::Tree && wanted == empty_tree() => return Ok(Vec::new()),
            Err(_) => return Err(missing()),
        };
        if object.kind() != kind {
            return Err(missing());
        }
        Ok(object.data().to_vec())
    }

    /// The bytes of a commit.
    pub(super) fn commit(&self, wanted: Id) -> Result<Vec<u8>, SnapshotError> {
        self.read(wanted, ObjectType::Commit, "commit")
    }

    /// The bytes of a tree or a blob, with `true` for a tree; none for anything else.
    pub(super) fn tree_or_blob(&self, wanted: Id) -> Option<(bool, Vec<u8>)> {
        let object = self.view.read(oid(wanted).ok()?).ok()?;
        match object.kind() {
            ObjectType::Tree => Some((true, object.data().to_vec())),
            ObjectType::Blob => Some((false, object.data().to_vec())),
            _ => None,
        }
    }

    /// Stores a blob. With `own` it is kept in the shadow even if the user has it too.
    pub(super) fn put_blob(&self, data: &[u8], own: bool) -> Result<Id, SnapshotError> {
        self.put(ObjectType::Blob, data, own)
    }

    /// Stores a tree; see `put_blob`.
    pub(super) fn put_tree(&self, data: &[u8], own: bool) -> Result<Id, SnapshotError> {
        self.put(ObjectType::Tree, data, own)
    }

    fn put(&self, kind: ObjectType, data: &[u8], own: bool) -> Result<Id, SnapshotError> {
        let failed =
            |e: git2::Error| SnapshotError::store("Writing to the snapshot store", e.message());
        if !own {
            let known = Oid::hash_object(kind, data).map_err(failed)?;
            if self.view.exists_ext(known, OdbLookupFlags::NO_REFRESH) {
                self.freshen(id(known));
                return Ok(id(known));
            }
        }
        // an object that is there already gets a new time stamp, which keeps it from being collected
        let odb = self.own.odb().map_err(failed)?;
        let written = odb.write(kind, data).map(id).map_err(failed)?;
        self.close(written);
        Ok(written)
    }

    /// The file of an object of the shadow.
    pub(super) fn loose(&self, wanted: Id) -> PathBuf {
        loose(&self.objects(), wanted)
    }

    /// What is used again is young again: no collection takes it before its snapshot is written down.
    fn freshen(&self, wanted: Id) {
        let path = self.loose(wanted);
        let at = path.metadata().and_then(|facts| facts.modified());
        let old = at.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STALE_AFTER));
        if old && let Err(error) = File::open(&path).and_then(|f| f.set_modified(SystemTime::now()))
        {
            tracing::warn!(%error, "an object of the snapshot store was not freshened");
        }
    }

    /// libgit2 lets the user's group and everybody read an object.
    fn close(&self, written: Id) {
        // the folder is closed: this is the second lock
        drop(std::fs::set_permissions(
            self.loose(written),
            Permissions::from_mode(0o400),
        ));
    }

    /// Stores a file's content. Large files are streamed.
    pub(super) fn put_file(&self, file: &mut File, len: u64, own: bool) -> std::io::Result<Id> {
        let failed = |e: String| std::io::Error::other(e);
        if len < STREAM_FROM {
            let mut data = Vec::with_capacity(len as usize + 1);
            file.take(len).read_to_end(&mut data)?;
            return self.put_blob(&data, own).map_err(|e| failed(e.to_string()));
        }
        let odb = self.own.odb().map_err(|e| failed(e.message().to_owned()))?;
        let mut writer = odb
            .writer(len as usize, ObjectType::Blob)
            .map_err(|e| failed(e.message().to_owned()))?;
        let copied = std::io::copy(&mut file.take(len), &mut writer)?;
        if copied != len {
            // the promised length is part of the hash
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        writer.flush()?;
        let done = writer.finalize();
        let written = done.map(id).map_err(|e| failed(e.message().to_owned()))?;
        self.freshen(written);
        self.close(written);
        Ok(written)
    }

    /// Copies an object into the shadow, so that the user's own gc cannot take it. One that is
    /// nowhere is left alone.
    pub(super) fn pin(&self, wanted: Id) -> Result<(), SnapshotError> {
        if self.owns(wanted) {
            return Ok(());
        }
        match self.tree_or_blob(wanted) {
            Some((true, data)) => self.put_tree(&data, true).map(drop),
            Some((false, data)) => self.put_blob(&data, true).map(drop),
            None => Ok(()),
        }
    }
}

/// The file of an object below an `objects` folder.
pub(super) fn loose(objects: &Path, id: Id) -> PathBuf {
    let hex = id.to_string();
    let (dir, name) = hex.split_at(2);
    objects.join(dir).join(name)
}

/// The id of the tree without entries.
pub(super) fn empty_tree() -> Id {
    Id([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92,
        0x88, 0xfb, 0xee, 0x49, 0x04,
    ])
}

/// The id that a blob with these bytes has.
pub(super) fn blob_id(data: &[u8]) -> Result<Id, SnapshotError> {
    Oid::hash_object(ObjectType::Blob, data)
        .map(id)
        .map_err(|e| SnapshotError::store("Hashing a file", e.message()))
}

/// Waits for other processes that open this store; the lock ends with the file.
fn lock(store: &Path) -> Result<File, SnapshotError> {
    let failed =
        |e| SnapshotError::store(format!("Making the snapshot store {}", store.display()), e);
    private::make_folder(store).map_err(failed)?;
    let lock = private_file(&store.join("open.lock")).map_err(failed)?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|e| failed(e.into()))?;
    Ok(lock)
}

fn init(store: &Path) -> Result<Repository, git2::Error> {
    // left by a process that died here: whoever holds our lock is the only one at work
    std::fs::remove_file(store.join("config.lock")).ok();
    let mut options = RepositoryInitOptions::new();
    options
        .bare(true)
        .mkpath(true)
        .external_template(false)
        .initial_head("snapshots");
    Repository::init_opts(store, &options)
}

/// Opens a small file of the store for writing, emptied.
pub(super) fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

/// What libgit2 makes is as open as the umask says. Its folders are closed, and those that objects come into
/// are made beforehand. A store that is closed already has all that.
fn close(store: &Path, new: bool) -> std::io::Result<()> {
    if !private::close_folder(store) && !new {
        return Ok(());
    }
    let objects = store.join("objects");
    for fan in 0..=u8::MAX {
        private::make_folder(&objects.join(format!("{fan:02x}")))?;
    }
    let mut todo = vec![store.to_owned()];
    while let Some(folder) = todo.pop() {
        private::close_folder(&folder);
        for entry in folder.read_dir()?.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                todo.push(entry.path());
            } else if kind.is_file() && folder.parent() != Some(&objects) {
                std::fs::set_permissions(entry.path(), Permissions::from_mode(0o600))?;
            }
        }
    }
    Ok(())
}

fn note_user_objects(
    store: &Path,
    user_objects: Option<&Path>,
) -> Result<Option<PathBuf>, SnapshotError> {
    let note = store.join(USER_OBJECTS);
    let noted = std::fs::read_to_string(&note)
        .ok()
        .map(|text| PathBuf::from(text.trim_end_matches('\n')));
    let Some(now) = user_objects else {
        return Ok(noted);
    };
    if noted.as_deref() != Some(now) && now.to_str().is_some() {
        private_file(&note)
            .and_then(|mut file| writeln!(file, "{}", now.display()))
            .map_err(|e| SnapshotError::store(format!("Writing {}", note.display()), e))?;
    }
    Ok(Some(now.to_owned()))
}

/// Reads the user's index as a seed. None if there is no index or libgit2 cannot read this kind
/// (split, sparse, SHA-256): the first snapshot then reads every file.
pub(super) fn read_index(index: &Path, prefix: &[u8]) -> Option<Seed> {
    let written = std::fs::metadata(index).ok()?;
    let entries = Index::open(index).ok()?;
    let seeds = entries.iter().map(|entry| SeedEntry {
        path: entry.path,
        id: id(entry.id),
        mtime: (entry.mtime.seconds(), entry.mtime.nanoseconds()),
        ctime: (entry.ctime.seconds(), entry.ctime.nanoseconds()),
        ino: entry.ino,
        size: entry.file_size,
        mode: entry.mode,
        flags: entry.flags,
        extended: entry.flags_extended,
    });
    Some(Seed::new(seeds, &written, prefix))
}

/// What of the user's git settings matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UserSettings {
    /// `core.excludesFile`, with `~` resolved.
    pub(super) excludes: Option<PathBuf>,
    /// `core.attributesFile`, with `~` resolved.
    pub(super) attributes: Option<PathBuf>,
    /// Content may be converted between worktree and blob, whatever the attributes say.
    pub(super) converts: bool,
    /// Object ids are SHA-256: nothing of the user's repository can be shared.
    pub(super) sha256: bool,
}

/// Reads the user's git settings from these files, later ones win. Broken files are passed over.
pub(super) fn read_settings(files: &[PathBuf], home: Option<&Path>) -> UserSettings {
    let levels = [
        ConfigLevel::System,
        ConfigLevel::XDG,
        ConfigLevel::Global,
        ConfigLevel::Local,
        ConfigLevel::Worktree,
    ];
    let mut used = UserSettings::default();
    // one file at a time: a broken one must not hide the others
    for (file, level) in files.iter().zip(levels) {
        let Ok(mut config) = Config::new() else {
            return used;
        };
        if !file.exists() || config.add_file(file, level, false).is_err() {
            continue;
        }
        let text = |name: &str| config.get_string(name).ok();
        let file = |name: &str| {
            let path = text(name)?;
            Some(match (path.strip_prefix("~/"), home) {
                (Some(below), Some(home)) => home.join(below),
                _ => PathBuf::from(path),
            })
        };
        used.excludes = file("core.excludesfile").or(used.excludes);
        used.attributes = file("core.attributesfile").or(used.attributes);
        if let Some(value) = text("core.autocrlf") {
            used.converts = !matches!(value.to_ascii_lowercase().as_str(), "false" | "no" | "0");
        }
        if let Some(format) = text("extensions.objectformat") {
            used.sha256 = !format.eq_ignore_ascii_case("sha1");
        }
    }
    used
}
