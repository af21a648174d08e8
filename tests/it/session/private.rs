//! What is kept is for the user alone, whatever the umask is: it holds what was said and what files held.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::world::{Ran, World, ran};

/// Everything below a folder that somebody else may use in any way, the folder included.
fn open_to_others(root: &Path) -> Vec<(PathBuf, u32)> {
    let (mut found, mut todo) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = todo.pop() {
        let facts = fs::symlink_metadata(&path).expect("facts");
        if facts.is_symlink() {
            continue;
        }
        let mode = facts.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push((path.clone(), mode));
        }
        if facts.is_dir() {
            let entries = fs::read_dir(&path).expect("list");
            todo.extend(entries.map(|entry| entry.expect("entry").path()));
        }
    }
    found
}

fn world() -> World {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "echo my secret diary > private.txt; seq 1 3000"}}]},
        {"calls": [{"name": "bash", "input": {"command": "mkdir -p sub; echo more > sub/private.txt"}}]},
        {"text": "done"}]}));
    w.write("before.txt", "also private\n");
    w
}

/// A turn that writes files, under a umask that closes nothing.
fn turn(w: &World) -> Ran {
    let shell = format!(
        "umask 000; exec {} exec --mode auto --no-sandbox --model {} go",
        env!("CARGO_BIN_EXE_dunlin"),
        w.model()
    );
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &shell])
        .current_dir(w.worktree())
        .env_clear()
        .envs(w.environment())
        .stdin(std::process::Stdio::null());
    ran(command.output().expect("a shell"))
}

fn objects(w: &World) -> usize {
    let projects = fs::read_dir(w.data().join("projects")).expect("projects");
    let snap = projects.flatten().next().expect("a project").path();
    let fans = fs::read_dir(snap.join("snap/objects")).expect("objects");
    let files = fans.flatten().flat_map(|fan| fs::read_dir(fan.path()));
    files.map(Iterator::count).sum()
}

#[test]
fn nothing_that_a_turn_leaves_is_open_to_others_whatever_the_umask() {
    let w = world();
    let ran = turn(&w).code(0);
    assert_eq!(ran.stdout, "done\n");
    assert!(objects(&w) > 3, "contents were kept");
    assert_eq!(open_to_others(&w.data()), []);
    // what the command made in the worktree is as open as the user's umask says
    let made = fs::metadata(w.worktree().join("private.txt")).expect("made");
    assert_eq!(made.permissions().mode() & 0o777, 0o666);
}

#[test]
fn folders_that_an_earlier_version_left_open_are_closed_when_the_project_is_opened() {
    let w = world();
    turn(&w).code(0);
    let mut opened = vec![w.data().join("projects")];
    while let Some(path) = opened.pop() {
        let folder = path.is_dir();
        let mode = if folder { 0o755 } else { 0o444 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o200)).expect("opened");
        if folder {
            let entries = fs::read_dir(&path).expect("list");
            opened.extend(entries.map(|entry| entry.expect("entry").path()));
        }
    }
    w.write_script(&json!({"steps": [], "default": {"text": "fine"}}));
    w.exec(&["-c", "and now?"]).code(0);
    let reachable = |path: &Path| {
        let above = path.ancestors().skip(1);
        let mut above = above.take_while(|p| p.starts_with(w.data().join("projects")));
        above.all(|p| fs::metadata(p).is_ok_and(|m| m.permissions().mode() & 0o005 == 0o005))
    };
    let mut open = open_to_others(&w.data().join("projects"));
    open.retain(|(path, _)| reachable(path));
    assert_eq!(open, []);
    // the contents of files have two doors, both closed
    let snap = fs::read_dir(w.data().join("projects")).expect("projects");
    let snap = snap
        .flatten()
        .next()
        .expect("a project")
        .path()
        .join("snap");
    let mut left = open_to_others(&snap);
    left.retain(|(path, _)| path.is_dir());
    assert_eq!(left, []);
}
