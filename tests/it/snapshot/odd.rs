//! Undo of what is rare: chains of renames, bits, links, line ends, kinds that change places,
//! ignored and deleted folders, large files, and a process that is killed while it restores.

use std::fs;
use std::time::{Duration, Instant};

use dunlin::snapshot::{FileWrite, Hints};

use super::world::{World, contents};

fn opened() -> World {
    let mut world = World::git();
    world.open();
    world.take(Hints::none());
    world
}

/// Does it, takes it back, brings it back, takes it back; the worktree is compared each time.
fn there_and_back(world: &World, script: &str) {
    let before = contents(&world.root());
    let writes = world.tool(script);
    let after = contents(&world.root());
    assert_ne!(before, after, "the script does something");
    let undone = world.restore(&writes, false);
    let conflicts: Vec<_> = undone.files.iter().filter(|f| f.conflict).collect();
    assert_eq!(conflicts, Vec::<&_>::new());
    assert_eq!(contents(&world.root()), before, "after undo: {script}");
    let redone = world.restore(&undone.undone, false);
    assert_eq!(contents(&world.root()), after, "after redo: {script}");
    // The other way to redo: every write turned round, newest first.
    world.restore(&redone.undone, false);
    let forward: Vec<FileWrite> = writes.into_iter().rev().map(FileWrite::inverse).collect();
    world.restore(&forward, false);
    assert_eq!(contents(&world.root()), after, "forward again: {script}");
}

#[test]
fn chains_and_rings_of_renames() {
    let world = opened();
    world.sh("echo a > a; echo b > b; echo c > c; mkdir d; echo d > d/d");
    there_and_back(&world, "mv a t; mv b a; mv c b; mv t c; mv d e; mv e/d e/f");
}

#[test]
fn folders_renamed_into_each_other() {
    let world = opened();
    world.sh("mkdir -p x/y y; echo 1 > x/y/1; echo 2 > y/2");
    there_and_back(&world, "mv y x/y/in; mv x/y top; rmdir x; mv top/1 x");
}

#[test]
fn bits_and_links() {
    let world = opened();
    world.sh("echo 1 > run; ln -s run link; ln -s nowhere dangling; ln -s src folder");
    there_and_back(
        &world,
        "chmod +x run; ln -sfn README.md link; rm dangling; echo 2 > dangling; rm folder; mkdir folder; echo 3 > folder/f",
    );
}

#[test]
fn line_ends_marks_and_zero_bytes_come_back_to_the_byte() {
    let world = opened();
    world.sh("printf 'a\\r\\nb\\r\\n' > crlf; printf '\\357\\273\\277x' > bom; printf 'a\\000b\\377' > bin; : > empty");
    there_and_back(
        &world,
        "sed -i 's/\\r//' crlf; printf x > bom; printf '\\000\\001' > bin; echo > empty",
    );
}

#[test]
fn a_merge_keeps_line_ends() {
    let world = opened();
    let lines: Vec<String> = (0..20).map(|n| format!("line {n}\r\n")).collect();
    world.write("text", &lines.concat());
    let writes = world.tool("sed -i 's/^line 2\\r$/agent 2\\r/' text");
    world.sh("sed -i 's/^line 17\\r$/user 17\\r/' text");
    let undone = world.restore(&writes, false);
    assert_eq!(undone.files[0].action, "merged");
    let mut wanted = lines;
    wanted[17] = "user 17\r\n".to_owned();
    assert_eq!(world.read("text"), Some(wanted.concat()));
}

#[test]
fn files_and_folders_change_places() {
    let world = opened();
    world.sh("echo 1 > file; mkdir -p folder/deep; echo 2 > folder/deep/f; echo 3 > folder/g");
    there_and_back(
        &world,
        "rm file; mkdir -p file/now; echo 4 > file/now/x; rm -r folder; echo 5 > folder",
    );
}

#[test]
fn a_deleted_folder_comes_back_around_what_the_user_made_there() {
    let world = opened();
    world.sh("mkdir -p gone/a; echo 1 > gone/a/1; echo 2 > gone/2");
    let writes = world.tool("rm -r gone");
    world.sh("mkdir -p gone/a; echo mine > gone/a/mine");
    let undone = world.restore(&writes, false);
    assert!(
        undone.files.iter().all(|f| !f.conflict),
        "{:?}",
        undone.files
    );
    assert_eq!(world.read("gone/a/1").as_deref(), Some("1\n"));
    assert_eq!(world.read("gone/a/mine").as_deref(), Some("mine\n"));
    // Bringing the deletion back spares what is not ours.
    world.restore(&undone.undone, false);
    assert_eq!(world.read("gone/a/1"), None);
    assert_eq!(world.read("gone/a/mine").as_deref(), Some("mine\n"));
}

#[test]
fn ignored_files_are_neither_taken_back_nor_lost() {
    let world = opened();
    world.sh("mkdir target; echo old > target/out; echo old > a.log");
    let writes = world.tool("echo new > target/out; echo new > a.log; echo x > kept; rm -rf src");
    let paths: Vec<&str> = writes.iter().map(|w| w.path.as_str()).collect();
    assert_eq!(paths, ["kept", "src/deep/er/lib.rs", "src/main.rs"]);
    world.restore(&writes, false);
    assert_eq!(world.read("target/out").as_deref(), Some("new\n"));
    assert_eq!(world.read("a.log").as_deref(), Some("new\n"));
    assert!(world.read("src/main.rs").is_some());
}

#[test]
fn a_large_untracked_file_is_left_alone_before_and_after_it_grew() {
    let mut world = World::git();
    world.settings.max_file = 10_000;
    world.open();
    world.take(Hints::none());
    world.sh("echo small > grows; head -c 20000 /dev/zero > large");
    let writes = world.tool("head -c 30000 /dev/zero > grows; echo tiny > large; echo 1 > new");
    let undone = world.restore(&writes, false);
    assert_eq!(fs::metadata(world.path("large")).unwrap().len(), 5);
    // Its new content is in no snapshot, so nobody can tell whose it is.
    assert_eq!(fs::metadata(world.path("grows")).unwrap().len(), 30_000);
    assert_eq!(world.read("new"), None);
    assert!(undone.files.iter().any(|f| f.path == "new" && !f.conflict));
}

#[test]
fn a_file_that_cannot_be_replaced_is_a_conflict_and_the_rest_comes_back() {
    // Who may write everywhere cannot be stopped so.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let world = opened();
    world.sh("mkdir shut; echo 1 > shut/f; echo 2 > open");
    let writes = world.tool("echo x > shut/f; echo y > open");
    world.mode("shut", 0o555);
    let undone = world.restore(&writes, false);
    world.mode("shut", 0o755);
    let conflict = |path: &str| undone.files.iter().any(|f| f.path == path && f.conflict);
    assert!(
        conflict("shut/f") && !conflict("open"),
        "{:?}",
        undone.files
    );
    assert_eq!(world.read("open").as_deref(), Some("2\n"));
}

#[test]
fn what_the_watch_cannot_see_is_found_when_nothing_happens() {
    let mut world = World::git().unwatched();
    world.settings.verify_after = Duration::from_millis(50);
    world.open();
    world.take(Hints::none());
    let first = world.take(Hints::none());
    // Written in place: its folder's own stat says nothing, and no tool told of it.
    world.sh("printf '# a PROJECT\\n' > README.md");
    let end = Instant::now() + Duration::from_mins(1);
    let mut pause = Duration::from_millis(300);
    loop {
        // Asking starts the idle time anew, so it is asked seldom; on a busy machine it is longer.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(5));
        let now = world.take(Hints::none());
        if now.tree != first.tree {
            break;
        }
        assert!(Instant::now() < end, "it is never found");
    }
}
