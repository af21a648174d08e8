//! The user's repository is only read; the store is shared, pinned and collected.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dunlin::config::used::SnapshotSettings;
use dunlin::snapshot::{Hints, Needed, collect, disk_use, survey};

use super::world::{World, contents};

/// Path, size, both times, inode, content.
type Listed = (PathBuf, u64, (i64, i64), (i64, i64), u64, Vec<u8>);

/// Every file below.
fn listing(root: &Path) -> Vec<Listed> {
    let mut out = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let data = entry.metadata().unwrap();
            let bytes = fs::read(entry.path()).unwrap_or_default();
            if data.is_dir() {
                todo.push(entry.path());
            }
            let (m, c) = (
                (data.mtime(), data.mtime_nsec()),
                (data.ctime(), data.ctime_nsec()),
            );
            out.push((entry.path(), data.size(), m, c, data.ino(), bytes));
        }
    }
    out.sort();
    out
}

#[test]
fn nothing_in_the_users_git_folder_is_written() {
    let mut world = World::git();
    // loose and packed objects that snapshots will meet again: libgit2 would refresh their times
    world.sh("echo loose > l; echo packed > p");
    world.commit();
    world.run("gc", &["-q"]);
    world.sh("echo loose2 > l");
    world.commit();
    world.sh("rm l p; echo x >> README.md");
    let git = world.path(".git");
    let old = SystemTime::now() - Duration::from_secs(100_000);
    let mut todo = vec![git.clone()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            if entry.metadata().unwrap().is_dir() {
                todo.push(entry.path());
            } else if let Ok(file) = fs::File::open(entry.path()) {
                file.set_modified(old).unwrap();
            }
        }
    }
    let before = listing(&git);
    let snapshots = world.open();
    let from = world.take(Hints::none()).tree;
    fs::write(world.path("l"), "loose2\n").unwrap();
    fs::write(world.path("p"), "packed\n").unwrap();
    let to = world.take(Hints::full()).tree;
    let writes = world.writes(&from, &to);
    world.wait(snapshots.counts(&from, &to)).unwrap();
    world.restore(&writes, false);
    world.take(Hints::unknown());
    world
        .wait(snapshots.gc(Needed::only(&[]), SnapshotSettings::default()))
        .unwrap();
    assert_eq!(listing(&git), before);
    assert!(world.read("l").is_none());
}

#[test]
fn a_clean_repository_costs_the_store_nothing_at_first() {
    let mut world = World::git();
    for file in 0..200 {
        world.write(&format!("src/f{file}"), &format!("{file}\n"));
    }
    world.commit();
    world.open();
    world.take(Hints::none());
    let objects = contents(&world.store().join("objects"));
    let blobs: Vec<_> = objects
        .iter()
        .filter(|(_, _, bytes)| !bytes.is_empty())
        .collect();
    assert!(blobs.is_empty(), "{blobs:?}");
}

#[test]
fn a_collection_keeps_what_is_named_and_frees_the_rest() {
    let mut world = World::git();
    world.open();
    let mut trees = Vec::new();
    for step in 0..6 {
        let line = |n: u32| format!("{step} {n} {}\n", n.wrapping_mul(2_654_435_761));
        world.write("data", &(0..3000).map(line).collect::<String>());
        trees.push(world.after_command().tree);
    }
    drop(world.open());
    let (keep, gone) = (trees[2].clone(), trees[1].clone());
    let settings = SnapshotSettings::default();
    let store = world.store();
    let before = disk_use(&store);
    // objects younger than a day are spared, whoever names them
    let young = collect(&store, Needed::only(&[]), &settings, SystemTime::now()).unwrap();
    assert_eq!((young.removed, young.skipped), (0, false));
    let later = SystemTime::now() + Duration::from_hours(48);
    let kept = std::slice::from_ref(&keep);
    let plan = survey(&store, Needed::only(kept), &settings, later).unwrap();
    assert_eq!(disk_use(&store), before, "a survey touches nothing");
    let report = collect(&store, Needed::only(kept), &settings, later).unwrap();
    assert_eq!((plan.removed, plan.freed), (report.removed, report.freed));
    assert!(
        report.removed > 5 && report.freed > 0 && report.dropped.is_empty(),
        "{report:?}"
    );
    assert!(disk_use(&store) < before);
    let snapshots = world.open();
    let now = world.take(Hints::none()).tree;
    assert!(world.wait(snapshots.diff(&keep, &now, 3)).is_ok());
    let lost = world.wait(snapshots.diff(&gone, &now, 3)).unwrap_err();
    assert!(lost.to_string().contains(&gone.0), "{lost}");
}

#[test]
fn a_collection_drops_the_last_named_beyond_the_quota_and_the_old() {
    let mut world = World::git();
    world.open();
    let mut trees = Vec::new();
    for step in 0..4_u64 {
        let mut state = step + 1;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + (state >> 33) as u8 % 90)
        };
        let text: String = (0..200_000).map(|_| noise()).collect();
        world.write("data", &text);
        trees.insert(0, world.after_command().tree);
    }
    let settings = SnapshotSettings {
        quota: 400_000,
        ..SnapshotSettings::default()
    };
    let later = SystemTime::now() + Duration::from_hours(48);
    let report = collect(&world.store(), Needed::only(&trees), &settings, later).unwrap();
    assert_eq!(report.dropped, trees[2..], "two fit");
    assert!(report.left < 700_000, "{report:?}");
    let much_later = SystemTime::now() + Duration::from_hours(24 * 31);
    let report = collect(
        &world.store(),
        Needed::only(&trees[..2]),
        &settings,
        much_later,
    )
    .unwrap();
    assert_eq!(report.dropped, trees[..2], "too old");
}

#[test]
fn while_a_session_cannot_be_read_what_is_old_or_beyond_the_quota_goes_all_the_same() {
    let mut world = World::git();
    let snapshots = world.open();
    let mut trees = Vec::new();
    for step in 0..4_u32 {
        let line = |n: u32| format!("{}\n", (n + 1).wrapping_mul(0x9e37_79b1 ^ (step << 7)));
        world.write("data", &(0..20_000).map(line).collect::<String>());
        trees.push(world.after_command().tree);
    }
    snapshots.close();
    let store = world.store();
    let named = Needed {
        snapshots: &trees[3..],
        complete: false,
    };
    let settings = SnapshotSettings::default();
    let days = |n: u64| SystemTime::now() + Duration::from_hours(24 * n);
    let before = disk_use(&store);
    let week = collect(&store, named, &settings, days(7)).unwrap();
    assert_eq!(
        (week.removed, week.left),
        (0, before),
        "it may need any of it"
    );
    // the youngest stay within the quota, the others go
    let little = SnapshotSettings {
        quota: before / 2,
        ..SnapshotSettings::default()
    };
    let plan = survey(&store, named, &little, days(7)).unwrap();
    let capped = collect(&store, named, &little, days(7)).unwrap();
    assert_eq!((plan.removed, plan.freed), (capped.removed, capped.freed));
    assert!(
        capped.removed > 0 && capped.left < before * 2 / 3,
        "{capped:?}"
    );
    assert_eq!(capped.dropped, [], "what is named comes first");
    let snapshots = world.open();
    let now = world.take(Hints::none()).tree;
    assert!(world.wait(snapshots.diff(&trees[3], &now, 3)).is_ok());
    assert!(world.wait(snapshots.diff(&trees[0], &now, 3)).is_err());
    snapshots.close();
    let nothing = Needed {
        snapshots: &[],
        complete: false,
    };
    let month = collect(&store, nothing, &settings, days(31)).unwrap();
    assert!(month.removed > 0, "{month:?}");
}

#[test]
fn leftovers_of_a_dead_writer_are_removed() {
    let mut world = World::git();
    world.open();
    world.take(Hints::none());
    let left = world.store().join("objects/tmp_object_git2_abc");
    fs::write(&left, "half").unwrap();
    let settings = SnapshotSettings::default();
    collect(
        &world.store(),
        Needed::only(&[]),
        &settings,
        SystemTime::now(),
    )
    .unwrap();
    assert!(left.exists(), "it may still be written");
    let later = SystemTime::now() + Duration::from_hours(2);
    collect(&world.store(), Needed::only(&[]), &settings, later).unwrap();
    assert!(!left.exists());
}

#[test]
fn processes_share_one_store_without_waiting_for_each_other() {
    let mut world = World::git();
    let handles: Vec<_> = (0..4).map(|_| world.open_at(&world.root())).collect();
    world.open();
    for round in 0..10 {
        world.write("shared", &format!("{round}\n"));
        let asked = handles.iter().map(|h| h.take(Hints::unknown()));
        let trees: Vec<_> = world.wait(futures_util::future::join_all(asked));
        for tree in trees {
            world.check(&tree.unwrap(), "one of four");
        }
    }
}

#[test]
fn a_store_that_cannot_be_made_turns_snapshots_off_with_a_sentence() {
    let mut world = World::git();
    fs::write(world.store(), "a file in its place").unwrap();
    let snapshots = world.open();
    let said = world
        .wait(snapshots.take(Hints::none()))
        .unwrap_err()
        .to_string();
    assert!(
        said.starts_with("Snapshots are off") && said.ends_with('.'),
        "{said}"
    );
}

#[test]
fn a_damaged_store_is_reported_and_the_rest_works() {
    let mut world = World::git();
    let snapshots = world.open();
    world.take(Hints::none());
    let writes = world.tool("echo 1 > a; echo 1 > b");
    let blob = writes[0].after.clone().unwrap().blob;
    let undone = world.restore(&writes, false);
    let (dir, name) = blob.split_at(2);
    let object = world.store().join("objects").join(dir).join(name);
    fs::remove_file(&object).unwrap();
    fs::write(&object, "garbage").unwrap();
    let redone = world.restore(&undone.undone, false);
    assert!(
        redone.files.iter().all(|f| f.conflict),
        "{:?}",
        redone.files
    );
    let unknown = dunlin::protocol::SnapshotId("not a tree".into());
    let tree = world.after_command().tree;
    assert!(world.wait(snapshots.diff(&unknown, &tree, 3)).is_err());
}

#[test]
fn a_closed_handle_refuses_with_a_sentence() {
    let mut world = World::git();
    let snapshots = world.open();
    world.take(Hints::none());
    snapshots.close();
    let said = world
        .wait(snapshots.take(Hints::none()))
        .unwrap_err()
        .to_string();
    assert!(said.contains("closed"), "{said}");
}
