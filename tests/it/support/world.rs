//! A world for the real binary: its own home, data, configuration and worktree; nothing else of the
//! machine's environment. Failures print all that was said.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary home with a worktree in it.
pub struct World {
    root: TempDir,
    env: Vec<(String, String)>,
}

/// What a run said.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    pub fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("dunlin-it-")
            .tempdir()
            .expect("a folder");
        let world = Self {
            root,
            env: Vec::new(),
        };
        std::fs::create_dir_all(world.worktree()).expect("a worktree");
        std::fs::create_dir_all(world.config()).expect("a config folder");
        world
    }

    /// A world whose model plays this script.
    pub fn scripted(script: &Value) -> Self {
        let world = Self::new();
        world.write_script(script);
        world
    }

    pub fn write_script(&self, script: &Value) {
        std::fs::write(self.script(), script.to_string()).expect("a script");
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn worktree(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub fn config(&self) -> PathBuf {
        self.root.path().join("config")
    }

    pub fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn script(&self) -> PathBuf {
        self.root.path().join("script.json")
    }

    /// The model that plays the script.
    pub fn model(&self) -> String {
        format!("scripted/{}", self.script().display())
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.worktree().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.worktree().join(name)).expect("a file")
    }

    /// Makes the worktree a repository with one commit; false where there is no git.
    pub fn commit(&self) -> bool {
        let git = |args: &[&str]| {
            Command::new("git")
                .args([
                    "-c",
                    "user.name=t",
                    "-c",
                    "user.email=t@localhost",
                    "-c",
                    "gc.auto=0",
                ])
                .args(args)
                .current_dir(self.worktree())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_SYSTEM", "/dev/null")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|s| s.success())
        };
        git(&["init", "-q", "-b", "main"]) && git(&["add", "-A"]) && git(&["commit", "-qm", "x"])
    }

    /// The environment of a run.
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut env = vec![
            ("HOME".to_owned(), text(self.root.path().join("home"))),
            ("DUNLIN_CONFIG_DIR".to_owned(), text(self.config())),
            ("DUNLIN_DATA_DIR".to_owned(), text(self.data())),
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("NO_PROXY".to_owned(), "127.0.0.1,localhost".to_owned()),
        ];
        env.extend(self.env.iter().cloned());
        env
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
        command
            .args(args)
            .current_dir(self.worktree())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().expect("dunlin runs"))
    }

    /// `exec` with the script's model.
    pub fn exec(&self, args: &[&str]) -> Ran {
        let model = self.model();
        let mut all = vec!["exec", "--model", model.as_str()];
        all.extend(args);
        self.run(&all)
    }

    /// Runs `exec --json` and gives its events.
    pub fn events(&self, args: &[&str]) -> (Ran, Vec<Value>) {
        let mut all = vec!["--json"];
        all.extend(args);
        let ran = self.exec(&all);
        let events = ran
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}")))
            .collect();
        (ran, events)
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ran {
    /// Fails with all that was said.
    #[track_caller]
    pub fn code(self, wanted: i32) -> Self {
        assert_eq!(
            self.code, wanted,
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout, self.stderr
        );
        self
    }
}

/// Events of a type.
pub fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["type"] == kind).collect()
}

/// The last whole state of each tool part, in order of first appearance.
pub fn tools(events: &[Value]) -> Vec<Value> {
    let mut order: Vec<Value> = Vec::new();
    for event in of_type(events, "part.updated") {
        let part = &event["part"];
        if part["type"] != "tool" {
            continue;
        }
        match order.iter_mut().find(|p| p["id"] == part["id"]) {
            Some(known) => *known = part.clone(),
            None => order.push(part.clone()),
        }
    }
    order
}
