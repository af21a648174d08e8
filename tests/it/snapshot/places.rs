//! Worktrees of every shape: subfolders, linked checkouts, nested repositories, odd repositories.

use std::fs;

use dunlin::snapshot::Hints;

use super::world::{World, has_git};

#[test]
fn a_subfolder_of_a_repository_follows_its_rules_and_its_index() {
    if !has_git() {
        return;
    }
    let world = World::git();
    world.sh("echo 'er/*.gen' > src/.gitignore; mkdir -p src/deep/er");
    world.commit();
    for watch in [true, false] {
        let settings = dunlin::config::used::SnapshotSettings {
            watch,
            ..Default::default()
        };
        let snapshots =
            dunlin::snapshot::Snapshots::open(world.path("src"), world.store(), None, settings);
        let check = |hints, what: &str| {
            let taken = world.wait(snapshots.take(hints)).unwrap();
            assert_eq!(taken.tree.0, world.judge("src"), "{what}");
        };
        check(Hints::none(), "first");
        world.sh(
            "echo 1 > src/a.log; echo 1 > src/deep/x; echo 1 > src/deep/er/y.gen; echo 1 > outside",
        );
        check(Hints::unknown(), "changed");
        world.sh("echo 'deep/x' >> .gitignore; echo 'er/y.gen' > src/.gitignore");
        check(Hints::unknown(), "a rule above changed");
        world.run("checkout", &["-q", "."]);
    }
}

#[test]
fn a_linked_checkout_works_and_shares_its_objects() {
    let world = World::git();
    let linked = world.temp().join("linked");
    world.run("worktree", &["add", "-q", linked.to_str().unwrap()]);
    let snapshots = world.open_at(&linked);
    let from = world.wait(snapshots.take(Hints::none())).unwrap().tree;
    assert_eq!(from.0, world.judge(""));
    fs::write(linked.join("new"), "1\n").unwrap();
    let taken = world.wait(snapshots.take(Hints::unknown())).unwrap();
    assert_eq!(taken.changed, ["new"]);
}

#[test]
fn nested_repositories_are_opaque() {
    let mut world = World::git();
    world.open();
    let first = world.take(Hints::none()).tree;
    world.sh("mkdir inner; cd inner; git init -q; echo 1 > a; mkdir d; echo 1 > d/b");
    assert_eq!(world.after_command().tree, first);
    world.sh("echo 2 > inner/a; cd inner; git add -A; git commit -qm x");
    assert_eq!(world.after_command().tree, first);
    // a folder of ours becomes one: it goes out of sight, and nobody deleted it
    let writes = world.tool("git init -q src; echo 1 > src/deep/new");
    assert_eq!(writes, []);
    // it stops being one: it comes into sight, and nobody made it
    let writes = world.tool("rm -rf inner/.git src/.git");
    assert!(
        writes.iter().all(|w| !w.path.starts_with("inner/")),
        "{writes:?}"
    );
    world.check(&world.after_command(), "none is left");
    world.sh("echo 3 > inner/a; echo 3 > inner/d/b");
    world.check(&world.after_command(), "they are watched now");
}

#[test]
fn an_undo_does_not_reach_into_nested_repositories() {
    let mut world = World::git();
    world.open();
    world.take(Hints::none());
    let writes = world.tool("mkdir sub; echo 1 > sub/f");
    world.sh("git init -q sub");
    let undone = world.restore(&writes, false);
    assert!(undone.files[0].conflict);
    assert!(world.path("sub/f").exists());
}

#[test]
fn converted_contents_are_not_taken_from_the_index() {
    if !has_git() {
        return;
    }
    for setup in [
        "git config core.autocrlf true",
        "printf '*.txt text eol=crlf\\n*.id ident\\n' > .gitattributes",
    ] {
        let mut world = World::git();
        world.sh(setup);
        world.sh("printf 'one\\r\\ntwo\\r\\n' > crlf.txt; printf '$Id$\\n' > x.id");
        world.commit();
        world.sh("rm crlf.txt x.id; git checkout -q .");
        world.run("update-index", &["--refresh", "-q"]);
        let snapshots = world.open();
        let from = world.take(Hints::none()).tree;
        // the raw bytes come back, not what git stores for them
        let raw = fs::read(world.path("crlf.txt")).unwrap();
        let writes = world.tool("rm crlf.txt x.id");
        world.restore(&writes, false);
        assert_eq!(fs::read(world.path("crlf.txt")).unwrap(), raw, "{setup}");
        assert_eq!(world.after_command().tree, from);
        drop(snapshots);
    }
}

#[test]
fn indexes_that_cannot_be_read_cost_time_and_nothing_else() {
    if !has_git() {
        return;
    }
    for setup in [
        "git update-index --split-index",
        "git update-index --index-version 4",
        "git update-index --assume-unchanged README.md; echo x >> README.md",
        "echo new > intent; git add -N intent",
        "printf garbage > .git/index",
        "rm .git/index",
    ] {
        let mut world = World::git();
        world.sh(setup);
        world.open();
        let first = world.take(Hints::none());
        if setup.contains(".git/index") {
            world.sh("rm -f .git/index; git reset -q");
        }
        world.sh("git update-index --no-split-index --no-assume-unchanged README.md");
        world.check(&first, setup);
    }
}

#[test]
fn a_sha256_repository_works_by_itself() {
    let mut world = World::plain();
    world.sh("git init -q --object-format=sha256; echo 1 > a; git add a; git commit -qm x");
    world.open();
    world.take(Hints::none());
    let writes = world.tool("echo 2 > a; echo 2 > b");
    world.restore(&writes, false);
    assert_eq!(world.read("a").as_deref(), Some("1\n"));
    assert!(!world.path("b").exists());
}

#[test]
fn a_file_changed_within_one_tick_of_the_clock_is_not_missed() {
    if !has_git() {
        return;
    }
    for watch in [true, false] {
        let mut world = World::git();
        world.settings.watch = watch;
        // as young as the index, same size: only its content tells
        world.write("racy", "aaaa");
        world.run("add", &["racy"]);
        world.write("racy", "bbbb");
        world.open();
        world.check(&world.take(Hints::none()), "younger than the index");
        for round in 0..30 {
            world.write("racy", &format!("{round:04}"));
            let taken = world.after_command();
            world.write("racy", &format!("{round:03}x"));
            let next = world.after_command();
            assert_ne!(taken.tree, next.tree, "round {round}");
        }
        world.check(&world.take(Hints::none()), "last");
    }
}
