//! A worktree in a temporary folder, snapshots of it, and git as the judge.
//!
//! Nothing outside the temporary folder is touched: git gets a home, an index and an object folder
//! of its own. Tests are skipped, with a printed line, where there is no git.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dunlin::config::used::SnapshotSettings;
use dunlin::protocol::SnapshotId;
use dunlin::snapshot::{FileWrite, Hints, Restored, SnapshotState, Snapshots, Taken};
use tempfile::TempDir;

/// A worktree and its snapshots.
pub(super) struct World {
    temp: TempDir,
    runtime: tokio::runtime::Runtime,
    snapshots: Option<Snapshots>,
    is_git: bool,
    /// Used by the next `open`.
    pub(super) settings: SnapshotSettings,
}

#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
/// True if git can be run; prints why a test is skipped otherwise.
pub(super) fn has_git() -> bool {
    let found = Command::new("git")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        println!("skipped: there is no git to compare with");
    }
    found
}

impl World {
    /// A folder without git.
    pub(super) fn plain() -> Self {
        let temp = tempfile::tempdir().unwrap();
        for dir in ["work", "home", "data", "judge"] {
            fs::create_dir(temp.path().join(dir)).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        Self {
            temp,
            runtime,
            snapshots: None,
            is_git: false,
            settings: SnapshotSettings::default(),
        }
    }

    /// A repository with a few committed files.
    pub(super) fn git() -> Self {
        let mut world = Self::plain();
        world.is_git = true;
        world.run("init", &["-q", "-b", "main"]);
        world.write("README.md", "# a project\n");
        world.write("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
        world.write("src/deep/er/lib.rs", "pub fn one() -> u32 {\n    1\n}\n");
        world.write(".gitignore", "*.log\n/target/\n");
        world.commit();
        world
    }

    /// Without the watch: changes are found by hints and stats.
    pub(super) fn unwatched(mut self) -> Self {
        self.settings.watch = false;
        self
    }

    pub(super) fn temp(&self) -> &Path {
        self.temp.path()
    }

    pub(super) fn root(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    pub(super) fn store(&self) -> PathBuf {
        self.temp.path().join("data/snap")
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    pub(super) fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs a shell script in the worktree.
    pub(super) fn sh(&self, script: &str) {
        let done = self
            .isolated("sh")
            .args(["-ec", script])
            .current_dir(self.root())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{script}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    fn isolated(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.temp.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "t")
            .env("GIT_AUTHOR_EMAIL", "t@example.invalid")
            .env("GIT_COMMITTER_NAME", "t")
            .env("GIT_COMMITTER_EMAIL", "t@example.invalid")
            .stdin(Stdio::null());
        command
    }

    /// Runs git in the worktree as the user would.
    pub(super) fn run(&self, command: &str, arguments: &[&str]) {
        let done = self
            .isolated("git")
            .arg(command)
            .args(arguments)
            .current_dir(self.root())
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "git {command}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    /// Commits everything.
    pub(super) fn commit(&self) {
        self.run("add", &["-A"]);
        self.run("commit", &["-q", "--allow-empty", "-m", "x"]);
    }

    /// Opens snapshots; a second call is another process as far as the store is concerned.
    pub(super) fn open(&mut self) -> Snapshots {
        let snapshots = self.open_at(&self.root());
        self.snapshots = Some(snapshots.clone());
        snapshots
    }

    /// Opens snapshots of another folder with the same store.
    pub(super) fn open_at(&self, root: &Path) -> Snapshots {
        Snapshots::open(
            root.to_owned(),
            self.store(),
            Some(self.temp.path().join("home")),
            self.settings.clone(),
        )
    }

    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// What `open` gave.
    pub(super) fn handle(&self) -> &Snapshots {
        self.snapshots()
    }

    fn snapshots(&self) -> &Snapshots {
        self.snapshots.as_ref().expect("open() comes first")
    }

    pub(super) fn take(&self, hints: Hints) -> Taken {
        let taken = self.wait(self.snapshots().take(hints));
        taken.unwrap_or_else(|e| panic!("{e} ({:?})", self.snapshots().state()))
    }

    /// Snapshot after a command ran.
    pub(super) fn after_command(&self) -> Taken {
        self.take(Hints::unknown())
    }

    /// What the interval between two snapshots wrote.
    pub(super) fn writes(&self, from: &SnapshotId, to: &SnapshotId) -> Vec<FileWrite> {
        self.wait(self.snapshots().writes(from, to)).unwrap()
    }

    /// Runs a script as a tool call would be run and gives its writes.
    pub(super) fn tool(&self, script: &str) -> Vec<FileWrite> {
        let from = self.after_command().tree;
        self.sh(script);
        let to = self.after_command().tree;
        self.writes(&from, &to)
    }

    pub(super) fn restore(&self, writes: &[FileWrite], dry_run: bool) -> Restored {
        self.wait(self.snapshots().restore(writes.to_vec(), dry_run))
            .unwrap()
    }

    pub(super) fn state(&self) -> SnapshotState {
        self.snapshots().state()
    }

    /// The tree that git would make of the worktree now. Tracked files are those of the user's
    /// index; every file is read afresh.
    pub(super) fn judge(&self, below: &str) -> String {
        let judge = self.temp.path().join("judge");
        let index = judge.join("index");
        fs::remove_file(&index).ok();
        let git = |arguments: &[&str]| {
            let mut command = self.isolated("git");
            if self.is_git {
                command
                    .env("GIT_DIR", self.root().join(".git"))
                    .env("GIT_OBJECT_DIRECTORY", judge.join("objects"))
                    .env(
                        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                        self.root().join(".git/objects"),
                    );
            } else {
                command.env("GIT_DIR", judge.join("repo"));
            }
            command
                .env("GIT_WORK_TREE", self.root())
                .args(["-c", "core.autocrlf=false"])
                .args(arguments)
                .current_dir(self.root());
            command
        };
        fs::create_dir_all(judge.join("objects")).unwrap();
        if self.is_git {
            let listed = git(&["ls-files", "-s", "-z"]).output().unwrap().stdout;
            let mut child = git(&["update-index", "-z", "--index-info"])
                .env("GIT_INDEX_FILE", &index)
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), &listed).unwrap();
            assert!(child.wait().unwrap().success());
        } else if !judge.join("repo").exists() {
            assert!(git(&["init", "-q"]).status().unwrap().success());
        }
        let added = git(&["add", "-A"])
            .env("GIT_INDEX_FILE", &index)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&added.stderr);
        assert!(added.status.success(), "git add: {said}");
        let mut write = vec!["write-tree".to_owned()];
        if !below.is_empty() {
            write.push(format!("--prefix={below}/"));
        }
        let write: Vec<&str> = write.iter().map(String::as_str).collect();
        let tree = git(&write).env("GIT_INDEX_FILE", &index).output().unwrap();
        let said = String::from_utf8_lossy(&tree.stderr);
        assert!(tree.status.success(), "git write-tree: {said}");
        String::from_utf8(tree.stdout).unwrap().trim().to_owned()
    }

    /// What a tree holds: mode, id and path per line.
    fn listing(&self, tree: &str) -> String {
        let mut others = vec![
            self.store().join("objects"),
            self.temp.path().join("judge/repo/objects"),
        ];
        others.push(self.root().join(".git/objects"));
        let others: Vec<_> = others.iter().map(|p| p.to_string_lossy()).collect();
        let shown = self
            .isolated("git")
            .env("GIT_DIR", self.store())
            .env(
                "GIT_OBJECT_DIRECTORY",
                self.temp.path().join("judge/objects"),
            )
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", others.join(":"))
            .args(["ls-tree", "-r", tree])
            .output()
            .unwrap();
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    /// Fails unless the snapshot is git's tree.
    pub(super) fn check(&self, taken: &Taken, what: &str) {
        let right = self.judge("");
        assert!(
            taken.tree.0 == right,
            "{what}: the snapshot {} is not git's tree {right}\n--- snapshot\n{}--- git\n{}",
            taken.tree.0,
            self.listing(&taken.tree.0),
            self.listing(&right),
        );
    }
}

/// Every file below a folder: path, kind and bits, content or target.
pub(super) fn contents(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut out = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            let data = path.symlink_metadata().unwrap();
            let bytes = if data.is_dir() {
                if entry.file_name() == ".git" {
                    continue;
                }
                todo.push(path.clone());
                Vec::new()
            } else if data.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                target.into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            out.push((path, data.permissions().mode(), bytes));
        }
    }
    out.sort();
    out
}
