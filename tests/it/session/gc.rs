//! What goes by itself: old outputs, images nobody refers to, idle sessions packed away; and what stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dunlin::session::{FaultPoints, GcPolicy, GcReport};

use crate::support::pty::until;

use super::copies::search;
use super::rich::{age, now, rich};
use super::support::{Heard, World, assert_sound, commit, count, info, session_id};

const fn policy(now: i64, dry_run: bool) -> GcPolicy {
    GcPolicy {
        now,
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota: 0,
        dry_run,
    }
}

/// Every file below a folder with its size and time.
fn everything(root: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut found = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).expect("list").flatten() {
            let facts = entry.metadata().expect("facts");
            if facts.is_dir() {
                todo.push(entry.path());
            } else {
                found.push((entry.path(), facts.len(), facts.modified().expect("time")));
            }
        }
    }
    found.sort();
    found
}

/// Asks what would be done, sees that nothing was, does it, and compares the two.
fn planned_and_done(world: &World, policy: &GcPolicy) -> GcReport {
    let folder = world.project.folder();
    // on a busy machine a session's index is closed a little after the session
    let busy = |path: &Path| path.ends_with("db.begun");
    until("the end of indexes", || {
        !everything(folder).iter().any(|(path, _, _)| busy(path))
    });
    let before = everything(folder);
    let plan = GcPolicy {
        dry_run: true,
        ..*policy
    };
    let plan = world.project.gc(&plan).expect("dry run");
    assert_eq!(everything(folder), before, "a dry run changes nothing");
    let done = world.project.gc(policy).expect("gc");
    // file systems round the sizes of small files as they like
    let apart = plan.freed.abs_diff(done.freed);
    assert!(
        apart <= 16_384,
        "{} planned, {} done",
        plan.freed,
        done.freed
    );
    assert_eq!(
        GcReport {
            freed: done.freed,
            ..plan
        },
        done
    );
    done
}

#[test]
fn an_archived_session_is_small_listed_searchable_and_comes_back() {
    let world = World::new();
    let id = session_id(1);
    world.session(id, 1_200);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    opened.store.page(None, 1).expect("view");
    opened.store.close_blocking();
    let before = world.project.list().expect("list");
    let freed = world.project.archive(id).expect("archive");
    assert!(freed > 1 << 20, "only {freed} bytes became free");
    assert!(!world.folder(id).join("journal").exists());
    assert!(!world.folder(id).join("db").exists());
    let rows = world.project.list().expect("list");
    assert!(rows[0].archived);
    assert_eq!(
        (rows[0].parts, rows[0].updated),
        (before[0].parts, before[0].updated)
    );
    assert!(!search(&world, "prompt", false).is_empty());
    assert_sound(&world.project.open_session_all(id).expect("all"));

    let opened = world.project.open_session(id, Heard::new()).expect("open");
    assert!(opened.writable);
    opened.store.commit(commit(id, 1_201));
    opened.store.close_blocking();
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), 1_201);
    assert!(!world.project.list().expect("list")[0].archived);
    fs::remove_file(world.folder(id).join("meta.json")).expect("remove");
    world.project.archive(id).expect("archive again");
    assert!(world.project.list().expect("list")[0].archived);
}

#[test]
fn gc_takes_what_is_old_and_unused_and_a_dry_run_only_tells() {
    let world = World::new();
    let (old, young) = (session_id(1), session_id(2));
    rich(&world, old);
    rich(&world, young);
    let blobs = world.project.blobs();
    let unused = blobs.put(b"nobody's picture").expect("put");
    let used = blobs.put(b"a picture").expect("put");
    for blob in [&unused, &used] {
        age(&blobs.path(blob).expect("path"), 3);
    }
    age(&world.folder(old).join("journal"), 20);
    age(&world.folder(old).join("out/full"), 8);
    age(&world.folder(young).join("out/full"), 6);
    let mut policy = GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota: 0,
        dry_run: true,
    };
    let plan = world.project.gc(&policy).expect("gc");
    assert_eq!(
        (plan.outputs, plan.blobs, plan.archived.as_slice()),
        (1, 1, [old].as_slice())
    );
    assert!(plan.freed > 0);
    assert!(world.folder(old).join("out/full").exists());
    assert!(blobs.get(&unused).is_ok());
    assert!(world.folder(old).join("journal").exists());

    policy.dry_run = false;
    let done = world.project.gc(&policy).expect("gc");
    assert_eq!(
        (done.outputs, done.blobs, done.archived.as_slice()),
        (1, 1, [old].as_slice())
    );
    assert_eq!(done.problems, Vec::<String>::new());
    assert!(!world.folder(old).join("out/full").exists());
    assert!(world.folder(young).join("out/full").exists());
    assert!(blobs.get(&unused).is_err());
    assert_eq!(blobs.get(&used).expect("used"), b"a picture");
    assert!(world.folder(old).join("journal.zst").exists());
    let again = world.project.gc(&policy).expect("gc");
    assert_eq!(
        (again.outputs, again.blobs, again.archived.len()),
        (0, 0, 0)
    );
}

#[test]
fn over_its_quota_a_project_gives_up_what_is_least_missed_and_nothing_that_was_said() {
    let world = World::new();
    let ids: Vec<_> = (1..=3).map(session_id).collect();
    for (n, &id) in ids.iter().enumerate() {
        rich(&world, id);
        let store = world.project.open_session(id, Heard::new()).expect("open");
        for n in 1..=200 {
            store.store.commit(commit(id, n));
        }
        store.store.since(None).expect("the index is made");
        store.store.close_blocking();
        fs::write(world.folder(id).join("frames"), vec![1; 200_000]).expect("frames");
        fs::write(world.folder(id).join("out/big"), vec![1; 200_000]).expect("out");
        age(&world.folder(id).join("journal"), 3 - n as u64);
        age(&world.folder(id).join("frames"), 3 - n as u64);
    }
    let open = world
        .project
        .open_session(ids[0], Heard::new())
        .expect("open");
    let policy = |quota| GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota,
        dry_run: false,
    };
    let used = || {
        let used = world.project.disk_use().expect("use");
        used.blobs + used.sessions.iter().map(|(_, bytes)| bytes).sum::<u64>()
    };
    let done = world.project.gc(&policy(used() - 100_000)).expect("gc");
    assert_eq!((done.frames, done.outputs, done.archived.len()), (1, 0, 0));
    assert!(
        !world.folder(ids[1]).join("frames").exists(),
        "the oldest first"
    );
    assert!(world.folder(ids[0]).join("frames").exists(), "it is open");
    let done = world.project.gc(&policy(used() - 250_000)).expect("gc");
    assert_eq!((done.frames, done.archived.len()), (1, 0));
    assert!(done.outputs > 0);
    let done = world.project.gc(&policy(1)).expect("gc");
    assert_eq!(done.archived, ids[1..]);
    assert!(
        done.problems[0].contains("store.quota"),
        "{:?}",
        done.problems
    );
    open.store.close_blocking();
    for &id in &ids {
        let history = world.project.open_session_all(id).expect("all");
        assert!(history.parts.len() > 50);
    }
}

#[test]
fn gc_leaves_an_open_session_alone() {
    let world = World::new();
    let id = session_id(1);
    rich(&world, id);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    age(&world.folder(id).join("journal"), 30);
    let policy = GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 14,
        quota: 0,
        dry_run: false,
    };
    let done = world.project.gc(&policy).expect("gc");
    assert!(done.archived.is_empty());
    assert!(world.folder(id).join("journal").exists());
    opened.store.close_blocking();
}

#[test]
fn a_blob_of_two_sessions_goes_when_neither_is_left_and_a_day_has_passed() {
    let world = World::new();
    let (one, two) = (session_id(1), session_id(2));
    rich(&world, one);
    rich(&world, two);
    let blobs = world.project.blobs();
    // the same bytes again: the same name
    let picture = blobs.put(b"a picture").expect("put");
    let path = blobs.path(&picture).expect("path");
    let due = policy(now(), false);
    let collect = || planned_and_done(&world, &due).blobs;
    age(&path, 3);
    world.project.delete(one).expect("delete");
    assert_eq!(collect(), 0, "the other session has it");
    world.project.archive(two).expect("pack");
    assert_eq!(collect(), 0, "packed or not");
    assert_eq!(blobs.get(&picture).expect("there"), b"a picture");
    world.project.delete(two).expect("delete");
    // somebody attaches it just now: the part that names it is not written yet
    blobs.put(b"a picture").expect("put");
    assert_eq!(collect(), 0, "it is young again");
    age(&path, 3);
    assert_eq!(collect(), 1);
    assert!(blobs.get(&picture).is_err());
}

#[test]
fn what_a_dry_run_names_is_what_goes_within_a_quota_too() {
    let world = World::new();
    for n in 1..=4 {
        let id = session_id(n);
        world.session(id, 400);
        let out = world.folder(id).join("out");
        fs::create_dir_all(&out).expect("out");
        fs::write(out.join("full"), vec![b'x'; 300_000]).expect("write");
        age(&out.join("full"), n as u64 * 3);
        age(&world.folder(id).join("journal"), n as u64 * 4);
    }
    let blobs = world.project.blobs();
    let unused = blobs.put(&vec![7; 100_000]).expect("put");
    age(&blobs.path(&unused).expect("path"), 2);
    let due = GcPolicy {
        quota: 500_000,
        ..policy(now(), false)
    };
    let done = planned_and_done(&world, &due);
    assert_eq!(done.blobs, 1);
    assert!(done.outputs >= 2, "{done:?}");
    assert!(done.archived.contains(&session_id(4)), "{done:?}");
    for n in 1..=4 {
        let history = world.project.open_session_all(session_id(n)).expect("all");
        assert_eq!(assert_sound(&history), 400);
    }
}

#[test]
fn a_session_is_packed_opened_gone_on_with_and_packed_again() {
    let world = World::new();
    let id = session_id(1);
    let mut commits = world.large_session(id);
    for round in 1..=3 {
        age(&world.folder(id).join("journal"), 15);
        let done = planned_and_done(&world, &policy(now(), false));
        assert_eq!(done.archived, [id], "round {round}");
        assert!(!world.folder(id).join("journal").exists());
        assert!(!world.folder(id).join("db").exists());
        assert!(world.project.list().expect("list")[0].archived);
        let opened = world.project.open_session(id, Heard::new()).expect("open");
        assert_eq!(opened.notices, Vec::<String>::new());
        assert_eq!(count(&opened.history), commits);
        commits += 1;
        opened.store.commit(commit(id, commits));
        opened.store.close_blocking();
        assert!(!world.project.list().expect("list")[0].archived);
    }
    // a day short of the limit it stays
    age(&world.folder(id).join("journal"), 13);
    let done = world.project.gc(&policy(now(), false)).expect("gc");
    assert_eq!(done.archived, []);
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), commits);
}

#[test]
fn an_image_that_is_attached_again_while_a_clean_up_reads_journals_stays() {
    let world = World::new();
    let faults = Arc::new(FaultPoints::new(Duration::from_mins(3)));
    let project = world.project.clone().with_faults(Arc::clone(&faults));
    let blobs = world.project.blobs();
    let unused = blobs.put(b"a picture").expect("put");
    let other = blobs.put(b"another picture").expect("put");
    for blob in [&unused, &other] {
        age(&blobs.path(blob).expect("path"), 3);
    }
    world.session(session_id(1), 8);
    let attached = blobs.clone();
    faults.at_sweep(move || drop(attached.put(b"a picture").expect("put")));
    let done = project.gc(&policy(now(), false)).expect("gc");
    assert_eq!((done.blobs, done.problems), (1, Vec::new()));
    assert_eq!(blobs.get(&unused).expect("there"), b"a picture");
    assert!(blobs.get(&other).is_err(), "nobody wanted that one");
}

#[test]
fn what_a_session_needs_that_counts_as_not_there_stays() {
    let world = World::new();
    let (parent, child) = (session_id(1), session_id(2));
    world.session(parent, 8);
    let mut facts = info(child, &world.worktree());
    facts.parent = Some(parent);
    let store = world.project.create(&facts, Heard::new()).expect("create");
    let blobs = world.project.blobs();
    let picture = blobs.put(b"a picture").expect("put");
    let mut records = super::support::records(child, 1);
    let snapshot = "1234567890123456789012345678901234567890";
    let message = super::support::message(child, 1, dunlin::protocol::Role::Assistant).id;
    let said = format!("it shows {}", picture.0);
    for (k, body) in [
        super::support::text(said),
        dunlin::protocol::PartBody::StepStart {
            snapshot: Some(dunlin::protocol::SnapshotId(snapshot.to_owned())),
        },
    ]
    .into_iter()
    .enumerate()
    {
        let part = super::support::part(child, message, k as u64 + 1, body);
        records.push(dunlin::session::Record::Part(part));
    }
    store.commit(dunlin::session::Commit::written(records, Vec::new()));
    store.close_blocking();
    let opened = world.project.open_session(child, Heard::new());
    let store = opened.expect("open").store;
    age(&blobs.path(&picture).expect("path"), 3);
    // its parent is being deleted; somebody who makes or deletes sessions keeps the left-overs from being removed
    let sessions = world.project.folder().join("sessions");
    fs::rename(
        world.folder(parent),
        sessions.join(format!("deleted-{parent}")),
    )
    .expect("doomed");
    let at_work = fs::File::create(world.project.folder().join("staging.lock")).expect("lock");
    rustix::fs::flock(&at_work, rustix::fs::FlockOperation::LockShared).expect("locked");
    assert_eq!(world.project.list().expect("list"), []);
    let done = world.project.gc(&policy(now(), false)).expect("gc");
    assert_eq!(done.blobs, 0, "{done:?}");
    assert_eq!(blobs.get(&picture).expect("there"), b"a picture");
    let used = world.project.snapshots_in_use().expect("used");
    assert!(used.snapshots.iter().any(|s| s.0 == snapshot), "{used:?}");
    store.close_blocking();
    // one that is just being made counts too
    let staged = world
        .project
        .folder()
        .join("staging")
        .join(child.to_string());
    fs::create_dir_all(&staged).expect("staging");
    fs::rename(world.folder(child), staged.join(child.to_string())).expect("staged");
    let done = world.project.gc(&policy(now(), false)).expect("gc");
    assert_eq!(done.blobs, 0, "{done:?}");
    let used = world.project.snapshots_in_use().expect("used");
    assert!(used.snapshots.iter().any(|s| s.0 == snapshot), "{used:?}");
    // without it the picture goes
    fs::remove_dir_all(&staged).expect("gone");
    let done = world.project.gc(&policy(now(), false)).expect("gc");
    assert_eq!(done.blobs, 1, "{done:?}");
}

#[test]
fn two_clean_ups_at_once_do_not_complain_of_each_other() {
    let world = World::new();
    for n in 1..=30 {
        let id = session_id(n);
        world.session(id, 1);
        let out = world.folder(id).join("out");
        fs::create_dir_all(&out).expect("out");
        for k in 0..10 {
            let path = out.join(k.to_string());
            fs::write(&path, "x").expect("write");
            age(&path, 30);
        }
    }
    let due = policy(now(), false);
    let reports: Vec<GcReport> = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| world.project.gc(&due).expect("gc")));
        both.map(|one| one.join().expect("ends")).into()
    });
    let removed: u64 = reports.iter().map(|report| report.outputs).sum();
    assert_eq!(removed, 300, "{reports:?}");
    assert!(reports.iter().all(|r| r.problems.is_empty()), "{reports:?}");
}

#[test]
fn an_empty_session_that_somebody_opens_just_now_keeps_its_folder() {
    let world = World::new();
    let id = session_id(1);
    // a session without a message, as a killed process leaves it
    let store = world.start(id);
    let folder = world.folder(id);
    let left: Vec<_> = ["journal", "lock"]
        .map(|name| (name, fs::read(folder.join(name)).expect("there")))
        .into();
    store.close_blocking();
    fs::create_dir_all(&folder).expect("folder");
    for (name, bytes) in left {
        fs::write(folder.join(name), bytes).expect("left");
    }
    age(&folder.join("journal"), 3);
    age(&folder, 3);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    age(&folder.join("journal"), 3);
    age(&folder, 3);
    let done = world.project.gc(&policy(now(), false)).expect("gc");
    assert_eq!(done.leftovers, 0, "{done:?}");
    opened.store.close_blocking();
    age(&folder.join("journal"), 3);
    age(&folder, 3);
    let done = world.project.gc(&policy(now(), false)).expect("gc");
    assert_eq!(done.leftovers, 1, "{done:?}");
    assert!(!folder.exists());
}
