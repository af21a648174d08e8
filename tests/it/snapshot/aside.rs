//! Files that no snapshot holds, written by tools that name them: an undo takes those writes back, and
//! nothing else of such files.

use std::fs;
use std::path::PathBuf;

use dunlin::snapshot::{FileWrite, Hints};

use super::world::World;

fn opened() -> World {
    let mut world = World::git();
    world.sh(
        "mkdir -p target inner/deep; echo old > target/out; echo KEY=1 > .env.log; chmod 600 .env.log
         cd inner; git init -q; echo one > deep/f",
    );
    world.settings.max_file = 10_000;
    world.open();
    world.take(Hints::none());
    world
}

/// Runs a script as tools that write these paths would be run; gives what they wrote beside the snapshots.
fn tools(world: &World, paths: &[&str], script: &str) -> Vec<FileWrite> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| world.path(path)).collect();
    world.take(Hints {
        before: true,
        ..Hints::paths(paths.clone())
    });
    world.sh(script);
    world.take(Hints::paths(paths)).aside
}

fn names(writes: &[FileWrite]) -> Vec<&str> {
    writes.iter().map(|w| w.path.as_str()).collect()
}

#[test]
fn ignored_files_and_those_of_a_repository_inside_are_taken_back_and_brought_back() {
    let world = opened();
    let paths = [
        "target/out",
        ".env.log",
        "inner/deep/f",
        "inner/new",
        "target/made/x.log",
        "README.md",
    ];
    let script = "echo new > target/out; rm .env.log; echo two >> inner/deep/f; echo 3 > inner/new
                  mkdir target/made; echo 4 > target/made/x.log; echo 5 >> README.md; echo mine > target/mine";
    let writes = tools(&world, &paths, script);
    assert_eq!(
        names(&writes),
        paths[..5],
        "README.md is told by the snapshots"
    );
    assert!(writes.iter().all(|write| write.aside));
    let preview = world.restore(&writes, true);
    assert_eq!(preview.files.len(), 5);
    assert!(
        preview.files.iter().all(|file| !file.conflict),
        "{preview:?}"
    );
    assert_eq!(
        world.read("target/out").as_deref(),
        Some("new\n"),
        "a preview touches nothing"
    );

    let undone = world.restore(&writes, false);
    assert!(undone.files.iter().all(|file| !file.conflict), "{undone:?}");
    assert_eq!(world.read("target/out").as_deref(), Some("old\n"));
    assert_eq!(world.read(".env.log").as_deref(), Some("KEY=1\n"));
    world.sh("test $(stat -c %a .env.log) = 600; test ! -e inner/new; test ! -e target/made");
    assert_eq!(world.read("inner/deep/f").as_deref(), Some("one\n"));
    assert_eq!(world.read("target/mine").as_deref(), Some("mine\n"));
    assert!(world.read("README.md").unwrap().ends_with("5\n"));

    let stored = serde_json::to_string(&undone.undone).unwrap();
    let stored: Vec<FileWrite> = serde_json::from_str(&stored).unwrap();
    world.restore(&stored, false);
    assert_eq!(world.read("target/out").as_deref(), Some("new\n"));
    assert_eq!(world.read("inner/deep/f").as_deref(), Some("one\ntwo\n"));
    world.sh("test ! -e .env.log; test -e inner/new");
}

#[test]
fn what_somebody_else_did_to_such_a_file_is_nobodys_write_and_a_conflict() {
    let world = opened();
    let first = tools(&world, &["target/out"], "echo new > target/out");
    // between the tools the user writes: that belongs to no tool
    world.sh("echo mine > target/out");
    let second = tools(&world, &["target/out"], "true");
    assert_eq!(second, []);
    let undone = world.restore(&first, false);
    assert!(undone.files[0].conflict, "{undone:?}");
    assert_eq!(world.read("target/out").as_deref(), Some("mine\n"));
}

#[test]
fn a_git_folder_and_large_files_stay_out() {
    let world = opened();
    let large = "head -c 20000 /dev/zero > target/large";
    world.sh(large);
    let script = "echo x >> target/large; echo x >> inner/.git/config; echo x >> target/out";
    let writes = tools(
        &world,
        &["target/large", "inner/.git/config", "target/out"],
        script,
    );
    assert_eq!(names(&writes), ["target/out"]);
    // not even if a record says so
    let mut forged = writes.clone();
    forged[0].path = "inner/.git/config".to_owned();
    let before = fs::read(world.path("inner/.git/config")).unwrap();
    let undone = world.restore(&forged, false);
    assert!(undone.files[0].conflict, "{undone:?}");
    assert!(fs::read(world.path("inner/.git/config")).unwrap() == before);
}
