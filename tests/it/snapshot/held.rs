//! What an open dunlin needs stays when somebody else collects: the objects of the snapshot that its next turn
//! starts from may be days old, and no journal names them.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use dunlin::config::used::SnapshotSettings;
use dunlin::snapshot::{Hints, Needed, collect};

use super::world::{World, has_git};

/// Makes all objects of the store three days old.
fn age(store: &Path) {
    let then = SystemTime::now() - Duration::from_hours(72);
    for fan in fs::read_dir(store.join("objects")).unwrap().flatten() {
        for object in fs::read_dir(fan.path()).into_iter().flatten().flatten() {
            let file = fs::File::open(object.path()).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

/// Another window's daily collection, which knows of no session.
fn somebody_collects(world: &World) -> u64 {
    let nothing = Needed::only(&[]);
    let settings = SnapshotSettings::default();
    let report = collect(&world.store(), nothing, &settings, SystemTime::now()).unwrap();
    assert!(!report.skipped);
    report.removed
}

fn worlds() -> Vec<World> {
    let mut worlds = vec![World::plain()];
    worlds.extend(has_git().then(World::git));
    for world in &worlds {
        world.write("notes.txt", "never committed\n");
        world.write("sub/b.txt", "one\ntwo\n");
    }
    worlds
}

/// A turn of the open dunlin, and its undo.
fn turn_and_undo(world: &World) {
    let writes = world.tool("rm notes.txt; echo changed > sub/b.txt");
    assert_eq!(writes.len(), 2, "{writes:?}");
    let restored = world.restore(&writes, false);
    assert!(restored.files.iter().all(|f| !f.conflict), "{restored:?}");
    assert_eq!(world.read("notes.txt").unwrap(), "never committed\n");
    assert_eq!(world.read("sub/b.txt").unwrap(), "one\ntwo\n");
}

#[test]
fn a_turn_after_days_of_idleness_is_undone_though_somebody_collected() {
    for mut world in worlds() {
        world.open();
        world.take(Hints::none());
        // it says nothing for three days
        age(&world.store());
        somebody_collects(&world);
        turn_and_undo(&world);
    }
}

#[test]
fn a_turn_whose_first_snapshot_found_all_objects_there_is_undone_though_somebody_collected() {
    for mut world in worlds() {
        // an earlier session saw the same files, and was deleted
        let earlier = world.open();
        world.take(Hints::none());
        earlier.close();
        age(&world.store());
        world.open();
        world.take(Hints::none());
        somebody_collects(&world);
        turn_and_undo(&world);
    }
}

#[test]
fn an_object_that_is_found_again_is_young_again() {
    let mut world = World::plain();
    world.write("a.txt", "the first content\n");
    let snapshots = world.open();
    world.take(Hints::none());
    world.write("a.txt", "another content\n");
    world.take(Hints::full());
    snapshots.close();
    age(&world.store());
    // the next process finds the first content again
    world.write("a.txt", "the first content\n");
    world.open();
    world.take(Hints::none());
    let (mut young, mut old) = (0, 0);
    for fan in fs::read_dir(world.store().join("objects"))
        .unwrap()
        .flatten()
    {
        for object in fs::read_dir(fan.path()).into_iter().flatten().flatten() {
            let age = object.metadata().unwrap().modified().unwrap().elapsed();
            if age.unwrap_or_default() < Duration::from_hours(1) {
                young += 1;
            } else {
                old += 1;
            }
        }
    }
    assert_eq!((young, old), (2, 2), "a tree and a blob each");
}

#[test]
fn what_a_dead_process_held_goes() {
    let mut world = World::plain();
    world.write("a.txt", "content\n");
    let snapshots = world.open();
    world.take(Hints::none());
    let held = world.store().join("held");
    let note = fs::read_dir(&held).unwrap().flatten().next().unwrap();
    let left = fs::read(note.path()).unwrap();
    age(&world.store());
    assert_eq!(somebody_collects(&world), 0, "it is open");
    snapshots.close();
    crate::support::pty::until("the end of the owner", || {
        fs::read_dir(&held).unwrap().count() == 0
    });
    // as kill -9 would leave it
    fs::write(held.join("1-dead"), left).unwrap();
    assert_eq!(somebody_collects(&world), 2);
    assert_eq!(fs::read_dir(&held).unwrap().count(), 0);
}
