//! Where snapshots are refused, and what is left out of them.

use std::fs;

use dunlin::snapshot::{Hints, SnapshotState};

use super::world::{World, has_git};

#[test]
fn the_home_folder_turns_snapshots_off() {
    let world = World::plain();
    let snapshots = world.open_at(&world.temp().join("home"));
    let said = world.wait(snapshots.take(Hints::none())).unwrap_err();
    assert_eq!(snapshots.state(), SnapshotState::Off(said.to_string()));
    assert!(said.to_string().contains("home"), "{said}");
}

#[test]
fn switched_off_they_say_so() {
    let mut world = World::plain();
    world.settings.enabled = false;
    let snapshots = world.open();
    let said = world.wait(snapshots.take(Hints::none())).unwrap_err();
    assert!(said.to_string().contains("snapshot.enabled"), "{said}");
    assert!(!world.store().exists());
}

#[test]
fn a_folder_without_git_works() {
    if !has_git() {
        return;
    }
    for watch in [true, false] {
        let mut world = World::plain();
        world.settings.watch = watch;
        world.write("a/b/c", "1\n");
        world.write(".gitignore", "*.o\n");
        world.write("x.o", "1\n");
        world.open();
        world.check(&world.take(Hints::none()), "first");
        assert_eq!(world.state(), SnapshotState::Ready);
        let writes = world.tool("echo 2 > a/b/c; echo 2 > x.o; mkdir n; echo 2 > n/new");
        world.check(&world.after_command(), "changed");
        world.restore(&writes, false);
        assert_eq!(world.read("a/b/c").as_deref(), Some("1\n"));
        assert_eq!(world.read("x.o").as_deref(), Some("2\n"));
        assert!(!world.path("n").exists());
    }
}

#[test]
fn large_files_are_left_out_and_told_once_unless_git_tracks_them() {
    let mut world = World::git();
    world.settings.max_file = 1000;
    world.write("tracked.bin", &"t".repeat(5000));
    world.commit();
    world.write("untracked.bin", &"u".repeat(5000));
    let snapshots = world.open();
    let first = world.take(Hints::none());
    assert_eq!(first.notices.len(), 1, "{:?}", first.notices);
    assert!(first.notices[0].contains("untracked.bin"));
    let from = first.tree;
    world.write("untracked.bin", &"v".repeat(6000));
    world.write("tracked.bin", &"v".repeat(6000));
    let second = world.after_command();
    assert_eq!(second.notices, Vec::<String>::new());
    assert_eq!(second.changed, ["tracked.bin"]);
    let counts = world.wait(snapshots.counts(&from, &second.tree)).unwrap();
    assert_eq!(counts.len(), 1);
}

#[test]
fn what_does_not_fit_into_one_snapshot_goes_into_the_next() {
    let mut world = World::git();
    world.settings.max_bytes = 10_000;
    world.open();
    world.take(Hints::none());
    for file in 0..6 {
        world.write(&format!("f{file}"), &"x".repeat(4000));
    }
    let first = world.after_command();
    assert_eq!(first.changed.len(), 2);
    assert!(
        first.notices[0].contains("max_bytes"),
        "{:?}",
        first.notices
    );
    world.take(Hints::none());
    world.check(&world.take(Hints::none()), "the third one has all");
}

#[test]
fn too_many_files_leave_the_touched_ones() {
    let mut world = World::plain();
    world.settings.max_files = 20;
    for file in 0..50 {
        world.write(&format!("many/f{file}"), "1\n");
    }
    let snapshots = world.open();
    let first = world.take(Hints::none());
    assert!(first.notices[0].contains("too many"), "{:?}", first.notices);
    // before a tool writes, its paths are named: that keeps their old contents
    let paths = || ["many/f7".into(), "many/new".into(), "deep/er/x".into()];
    let from = world.take(Hints::paths(paths())).tree;
    world.write("many/f7", "2\n");
    world.write("many/new", "2\n");
    world.write("deep/er/x", "2\n");
    let to = world.take(Hints::paths(paths())).tree;
    let writes = world.wait(snapshots.writes(&from, &to)).unwrap();
    assert_eq!(writes.len(), 3, "{writes:?}");
    // first seen after it was written: what it was is not known, so it is not to be removed
    world.write("many/f8", "2\n");
    let late = world.take(Hints::paths(["many/f8".into()])).tree;
    assert_eq!(world.wait(snapshots.writes(&to, &late)).unwrap(), []);
    world.restore(&writes, false);
    assert_eq!(world.read("many/f7").as_deref(), Some("1\n"));
    assert!(!world.path("many/new").exists() && !world.path("deep").exists());
    assert_eq!(world.read("many/f8").as_deref(), Some("2\n"));
}

#[test]
fn a_repository_with_many_untracked_files_keeps_its_tracked_ones() {
    let mut world = World::git();
    world.settings.max_files = 20;
    for file in 0..50 {
        world.write(&format!("cache/f{file}"), "1\n");
    }
    world.open();
    world.take(Hints::none());
    let writes = world.tool("echo agent >> src/main.rs; rm README.md");
    assert_eq!(writes.len(), 2);
    world.restore(&writes, false);
    assert!(world.path("README.md").exists());
}

#[test]
fn the_store_inside_the_worktree_is_not_part_of_it() {
    let world = World::git();
    let store = world.path(".data/project/snap");
    fs::create_dir_all(&store).unwrap();
    let snapshots = dunlin::snapshot::Snapshots::open(
        world.root(),
        store,
        None,
        dunlin::config::used::SnapshotSettings::default(),
    );
    let from = world.wait(snapshots.take(Hints::none())).unwrap().tree;
    world.write("a", "1\n");
    let taken = world.wait(snapshots.take(Hints::full())).unwrap();
    assert_eq!(taken.changed, ["a"]);
    let counts = world.wait(snapshots.counts(&from, &taken.tree)).unwrap();
    assert_eq!(counts.len(), 1);
}

#[test]
fn unreadable_files_are_told_and_do_not_stop_a_snapshot() {
    let mut world = World::git();
    world.sh("echo secret > secret; chmod 000 secret; echo 1 > near");
    if fs::read(world.path("secret")).is_ok() {
        return; // a privileged user reads everything
    }
    world.open();
    let taken = world.take(Hints::none());
    assert!(taken.notices[0].contains("secret"), "{:?}", taken.notices);
}
