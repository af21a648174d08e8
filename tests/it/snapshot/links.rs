//! A file with several names is one file, whichever of them it is changed through.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use dunlin::snapshot::FileWrite;

use super::world::World;

fn inode(world: &World, path: &str) -> u64 {
    fs::metadata(world.path(path)).unwrap().ino()
}

fn paths(writes: &[FileWrite]) -> Vec<&str> {
    writes.iter().map(|w| w.path.as_str()).collect()
}

fn opened(watched: bool) -> World {
    let mut world = World::plain();
    if !watched {
        world = world.unwatched();
    }
    world.sh("echo 1 > a; ln a b; mkdir d; ln a d/c; echo 2 > alone");
    world.open();
    world
}

#[test]
fn a_change_through_one_name_is_seen_under_all_and_undone_without_cutting_them() {
    for watched in [true, false] {
        let world = opened(watched);
        let writes = world.tool("echo x >> b");
        assert_eq!(paths(&writes), ["a", "b", "d/c"]);
        let undone = world.restore(&writes, false);
        assert!(undone.files.iter().all(|f| !f.conflict), "{undone:?}");
        assert_eq!(world.read("a").as_deref(), Some("1\n"));
        assert_eq!(inode(&world, "a"), inode(&world, "b"));
        assert_eq!(inode(&world, "a"), inode(&world, "d/c"));
        world.restore(&undone.undone, false);
        assert_eq!(world.read("d/c").as_deref(), Some("1\nx\n"));
        assert_eq!(inode(&world, "a"), inode(&world, "d/c"));
    }
}

#[test]
fn a_name_that_a_command_gives_a_file_makes_it_one_of_several() {
    for watched in [true, false] {
        let world = opened(watched);
        let writes = world.tool("ln alone new; echo x >> new");
        assert_eq!(paths(&writes), ["alone", "new"]);
        world.restore(&writes, false);
        assert_eq!(world.read("alone").as_deref(), Some("2\n"));
        assert_eq!(world.read("new"), None);
    }
}

#[test]
fn a_change_through_a_name_outside_is_seen() {
    let mut world = World::plain();
    world.sh("echo 1 > a; ln a ../outside");
    world.open();
    let writes = world.tool("echo x >> ../outside");
    assert_eq!(paths(&writes), ["a"]);
    world.restore(&writes, false);
    assert_eq!(world.read("a").as_deref(), Some("1\n"));
    // what is outside is not ours to change
    let outside = fs::read_to_string(world.temp().join("outside")).unwrap();
    assert_eq!(outside, "1\nx\n");
}

#[test]
fn a_name_that_was_made_a_link_comes_back_without_harm_to_what_it_was_linked_to() {
    let world = opened(true);
    let writes = world.tool("rm alone; ln a alone");
    assert_eq!(paths(&writes), ["alone"]);
    world.restore(&writes, false);
    assert_eq!(world.read("alone").as_deref(), Some("2\n"));
    assert_eq!(world.read("a").as_deref(), Some("1\n"));
    assert_eq!(inode(&world, "a"), inode(&world, "b"));
}
