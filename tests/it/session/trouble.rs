//! A disk and an index that fail under a running session: nothing false is claimed, nothing is lost, and
//! the user is told in a sentence.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use dunlin::protocol::Event;
use dunlin::session::{Commit, FaultPoints, Project, Record, ViewFault};

use super::support::{
    Heard, Model, World, assert_sound, commit, copy_folder, count, heard_from, info, long_campaign,
    note, quiet_contained_panics, records, session_id, synced, told,
};

/// A project in which things can go wrong.
fn troubled(world: &World) -> (Project, Arc<FaultPoints>) {
    patient(world, Duration::from_mins(2))
}

/// The same, where the index counts as hanging after `patience`: longer than it may need on a busy
/// machine.
fn patient(world: &World, patience: Duration) -> (Project, Arc<FaultPoints>) {
    let faults = Arc::new(FaultPoints::new(patience));
    let project = world.project.clone().with_faults(Arc::clone(&faults));
    (project, faults)
}

fn notices(heard: &Heard) -> Vec<String> {
    heard.wait(|events, _| {
        let texts = events.iter().filter_map(|event| match event {
            Event::Notice { text, .. } if text.parse::<u64>().is_err() => Some(text.clone()),
            _ => None,
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then_some(texts)
    })
}

#[test]
fn a_failing_fdatasync_is_told_and_nothing_is_called_safe_before_it_is() {
    let world = World::new();
    let (project, faults) = troubled(&world);
    let id = session_id(1);
    let (store, heard) = heard_from(&project, id);
    for n in 1..=7 {
        store.commit(commit(id, n));
    }
    synced(&store, 8).expect("a sound disk");
    faults.fail_syncs(2);
    let first = synced(&store, 9).expect_err("EIO");
    assert!(first.message.contains("sync the journal"), "{first}");
    assert!(first.message.contains("disk failed"), "{first}");
    synced(&store, 10).expect_err("EIO again");
    // the disk works again: what was written meanwhile is written once more and synced
    synced(&store, 11).expect("mended");
    assert_eq!(heard.faults().len(), 1, "said once, not with every try");
    store.close_blocking();
    assert_eq!(heard.numbers(), (1..=11).collect::<Vec<_>>());
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), 11);
}

#[test]
fn what_the_kernel_forgot_after_a_failed_fdatasync_is_never_called_safe() {
    let world = World::new();
    let (project, faults) = troubled(&world);
    let id = session_id(1);
    let store = project
        .create(&info(id, &world.worktree()), Heard::new())
        .expect("create");
    for n in 1..=7 {
        store.commit(commit(id, n));
    }
    synced(&store, 8).expect("a sound disk");
    let path = world.folder(id).join("journal");
    let safe = fs::metadata(&path).expect("journal").len();
    faults.fail_syncs(1);
    synced(&store, 9).expect_err("EIO");
    // the page was dropped from memory and comes back from the disk without what was written
    let end = fs::metadata(&path).expect("journal").len();
    let zeros = vec![0; (end - safe) as usize];
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("open");
    file.write_all_at(&zeros, safe).expect("lose");
    for n in [10, 11] {
        let fault = synced(&store, n).expect_err("lost");
        assert!(fault.message.contains("lost up to"), "{fault}");
    }
    store.close_blocking();
    // what was called safe is there, and the hole is reported
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    assert!(!opened.notices.is_empty());
    let found = Model::of(&opened.history);
    let expected = Model::after(id, 8);
    for (id, message) in &expected.messages {
        assert!(found.messages.contains_key(id), "{message:?}");
    }
    opened.store.close_blocking();
}

#[test]
fn a_commit_is_written_and_told_before_the_call_returns() {
    let world = World::new();
    let id = session_id(1);
    let (store, heard) = heard_from(&world.project, id);
    let path = world.folder(id).join("journal");
    let mut length = fs::metadata(&path).expect("journal").len();
    let mut at_once = 0;
    for n in 1..=200 {
        store.commit(commit(id, n));
        let now = fs::metadata(&path).expect("journal").len();
        at_once += u64::from(heard.numbers().last() == Some(&n) && now > length);
        length = now;
    }
    // all but those with a long output, and what came right after such
    assert!(at_once > 100, "{at_once} of 200");
    store.close_blocking();
    assert_eq!(heard.numbers(), (1..=200).collect::<Vec<_>>());
    store.commit(commit(id, 201));
    assert_eq!(heard.faults().len(), 1, "a closed session takes nothing");
}

#[test]
fn after_a_slow_write_whoever_commits_does_not_wait_for_the_disk() {
    let world = World::new();
    let (project, faults) = troubled(&world);
    let id = session_id(1);
    let (store, heard) = heard_from(&project, id);
    faults.slow_writes([Duration::from_millis(30), Duration::from_mins(2)]);
    store.commit(commit(id, 1));
    assert_eq!(heard.numbers(), [1]);
    for n in 2..=8 {
        store.commit(commit(id, n));
    }
    assert_eq!(heard.numbers(), [1], "the others are not written yet");
    faults.release();
    store.close_blocking();
    assert_eq!(heard.numbers(), (1..=8).collect::<Vec<_>>());
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), 8);
}

#[test]
fn commits_of_several_threads_keep_the_order_of_each() {
    let world = World::new();
    let id = session_id(1);
    let (store, heard) = heard_from(&world.project, id);
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let store = store.clone();
            scope.spawn(move || {
                for n in 0..250 {
                    // a long one now and then goes another way
                    let words = if n % 50 == 7 { 5_000 } else { 1 };
                    let value = serde_json::json!("word ".repeat(words));
                    let record = Record::Value {
                        name: "x".to_owned(),
                        value,
                    };
                    store.commit(Commit::written(
                        vec![record],
                        vec![told(thread * 1_000 + n)],
                    ));
                }
            });
        }
    });
    store.close_blocking();
    let all = heard.numbers();
    for thread in 1..=4 {
        let own: Vec<u64> = all
            .iter()
            .copied()
            .filter(|n| n / 1_000 == thread)
            .collect();
        let wanted: Vec<u64> = (0..250).map(|n| thread * 1_000 + n).collect();
        assert_eq!(own, wanted);
    }
}

/// Nothing takes so long, whatever else the machine does.
const LONG: Duration = Duration::from_mins(1);

#[test]
fn what_is_written_is_synced_soon_within_a_second_or_when_the_session_is_closed() {
    let world = World::new();
    let (project, faults) = troubled(&world);
    let id = session_id(1);
    let store = project
        .create(&info(id, &world.worktree()), Heard::new())
        .expect("create");
    synced(&store, 1).expect("synced");
    // nobody waits and nothing else happens
    let before = faults.syncs();
    store.commit(Commit::soon(records(id, 2), Vec::new()));
    assert!(faults.until_syncs(before + 1, LONG), "soon");
    let before = faults.syncs();
    store.commit(commit(id, 3));
    assert!(faults.until_syncs(before + 1, LONG), "within a second");
    // a session that is closed at once does not wait for that second, and leaves nothing behind
    faults.hold_syncs(true);
    let before = faults.syncs();
    store.commit(commit(id, 4));
    let closing = std::thread::spawn(move || store.close_blocking());
    assert!(faults.until_syncs(before + 1, LONG), "when it is closed");
    assert!(!closing.is_finished(), "it is not closed before it is safe");
    faults.hold_syncs(false);
    closing.join().expect("closed");
}

#[test]
fn one_fdatasync_serves_all_who_wait_and_none_comes_without_need() {
    let world = World::new();
    let (project, faults) = troubled(&world);
    let id = session_id(1);
    let store = project
        .create(&info(id, &world.worktree()), Heard::new())
        .expect("create");
    store.page(None, 1).expect("started");
    let before = faults.syncs();
    // the first of them takes long: all that come meanwhile are served by the next one
    faults.hold_syncs(true);
    let (first, safe_first) = Commit::now(records(id, 1), vec![told(1)]);
    store.commit(first);
    assert!(faults.until_syncs(before + 1, LONG), "nothing was synced");
    let waiting: Vec<_> = (2..=400)
        .map(|n| {
            let (now, safe) = Commit::now(records(id, n), vec![told(n)]);
            store.commit(now);
            safe
        })
        .collect();
    store.page(None, 1).expect("all are written");
    faults.hold_syncs(false);
    for safe in waiting.into_iter().chain([safe_first]) {
        safe.blocking_recv().expect("an answer").expect("synced");
    }
    let used = faults.syncs() - before;
    // a tick may come in between
    assert!((2..=3).contains(&used), "{used} for 400");
    let quiet = faults.syncs();
    for _ in 0..50 {
        store.page(None, 1).expect("read");
    }
    assert_eq!(faults.syncs(), quiet, "reading syncs nothing");
    store.close_blocking();
    assert!(faults.syncs() <= quiet + 1);
}

/// Short where it must run out, without end where it must not.
fn patience(how: &[ViewFault]) -> Duration {
    if how.contains(&ViewFault::Hangs) {
        Duration::from_secs(6)
    } else {
        Duration::from_mins(2)
    }
}

/// A session whose index exists, opened with things that go wrong.
fn through_trouble(how: &[ViewFault], large: bool) -> (Vec<String>, bool) {
    quiet_contained_panics();
    let world = World::new();
    let (project, faults) = patient(&world, patience(how));
    let id = session_id(1);
    let n = if large { 1_600 } else { 40 };
    world.session(id, n);
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    opened.store.since(None).expect("the index is made");
    opened.store.close_blocking();
    faults.fail_view(how.iter().copied());
    let heard = Heard::new();
    let opened = project
        .open_session(id, Arc::<Heard>::clone(&heard))
        .expect("open");
    assert_eq!(count(&opened.history), n);
    let mut said = opened.notices.clone();
    // in the running program too
    opened.store.commit(commit(id, n + 1));
    let page = opened.store.since(None).expect("since");
    let expected = Model::after(id, n + 1);
    assert_eq!(page.messages.len(), expected.messages.len());
    assert!(
        page.parts
            .iter()
            .all(|p| expected.parts[&(p.message, p.id)] == *p)
    );
    if said.is_empty() {
        said = notices(&heard);
    }
    opened.store.commit(commit(id, n + 2));
    faults.release();
    opened.store.close_blocking();
    let again = world.project.open_session(id, Heard::new()).expect("open");
    assert_eq!(count(&again.history), n + 2);
    let page = again.store.since(None).expect("since");
    assert_eq!(page.parts.len(), Model::after(id, n + 2).parts.len());
    again.store.close_blocking();
    (said, world.folder(id).join("db.damaged").exists())
}

#[test]
fn an_index_that_fails_panics_or_hangs_is_set_aside_made_again_and_told() {
    for large in [false, true] {
        for how in [ViewFault::Fails, ViewFault::Panics, ViewFault::Hangs] {
            let (said, aside) = through_trouble(&[how], large);
            assert!(aside, "{how:?}, large: {large}");
            assert!(said[0].contains("othing is lost"), "{how:?}: {said:?}");
            let word = if how == ViewFault::Hangs {
                "did not answer"
            } else {
                "could not be used"
            };
            assert!(said[0].contains(word), "{how:?}: {said:?}");
        }
    }
}

#[test]
fn an_index_that_goes_on_failing_leaves_the_session_in_memory() {
    use ViewFault::{Fails, Hangs, Panics};
    for how in [[Fails, Fails], [Panics, Panics], [Hangs, Hangs]] {
        let (said, _) = through_trouble(&how, true);
        assert!(said.concat().contains("memory"), "{how:?}: {said:?}");
    }
}

#[test]
fn an_index_that_fails_in_the_middle_of_a_running_session_is_told_then() {
    quiet_contained_panics();
    for how in [ViewFault::Fails, ViewFault::Panics, ViewFault::Hangs] {
        let world = World::new();
        let (project, faults) = patient(&world, patience(&[how]));
        let id = session_id(1);
        let (store, heard) = heard_from(&project, id);
        for n in 1..=100 {
            store.commit(commit(id, n));
        }
        store.since(None).expect("the index is made");
        faults.fail_view([how]);
        for n in 101..=200 {
            store.commit(commit(id, n));
        }
        let page = store.since(None).expect("since");
        assert_eq!(page.parts.len(), Model::after(id, 200).parts.len());
        let said = notices(&heard);
        assert!(said[0].contains("index of this session"), "{said:?}");
        assert!(heard.faults().is_empty(), "a turn is not stopped by that");
        faults.release();
        store.close_blocking();
        let history = world.project.open_session_all(id).expect("all");
        assert_eq!(assert_sound(&history), 200);
    }
}

#[test]
fn a_file_system_without_locks_is_named_and_nothing_is_written_there() {
    let world = World::new();
    let (project, faults) = troubled(&world);
    let (id, new) = (session_id(1), session_id(2));
    world.session(id, 24);
    // ENOLCK: an NFS server without its lock service; EOPNOTSUPP: one that knows none at all
    for errno in [37, 95] {
        let before = fs::read(world.folder(id).join("journal")).expect("journal");
        faults.fail_locks([errno; 4]);
        let facts = info(new, &world.worktree());
        let refused = [
            project.create(&facts, Heard::new()).map(drop),
            project.open_session(id, Heard::new()).map(drop),
            project.rename(id, "a name"),
            project.delete(id),
        ];
        for error in refused.map(|r| r.expect_err("no locks").to_string()) {
            assert!(error.contains("cannot lock files"), "{error}");
            assert!(error.contains("DUNLIN_DATA_DIR"), "{error}");
        }
        assert!(fs::read(world.folder(id).join("journal")).expect("journal") == before);
        assert_eq!(project.list().expect("list").len(), 1);
        // what is only read needs no lock
        let history = project.open_session_all(id).expect("all");
        assert_eq!(assert_sound(&history), 24);
    }
    let opened = project.open_session(id, Heard::new()).expect("open");
    assert!(opened.writable);
    opened.store.close_blocking();
}

/// Power is cut: of the journal is there what was synced and any part of what came after; sled's files
/// are there, gone, or those of some time before.
#[test]
fn after_a_power_cut_every_synced_record_is_there() {
    quiet_contained_panics();
    let rounds = if long_campaign() { 60 } else { 4 };
    let world = World::patient();
    let id = session_id(1);
    let store = world.start(id);
    let spare = world.home.path().join("spare");
    let mut safe: Vec<(u64, u64)> = Vec::new();
    let path = world.folder(id).join("journal");
    for n in 1..=1_600 {
        if n % 100 == 0 {
            synced(&store, n).expect("synced");
            safe.push((n, fs::metadata(&path).expect("journal").len()));
        } else {
            store.commit(commit(id, n));
        }
        if n == 800 {
            // as sled's files happened to be on the disk in the middle of it
            store.since(None).expect("the index is made");
            copy_folder(&world.folder(id).join("db"), &spare.join("stale"));
        }
    }
    store.since(None).expect("the index follows");
    store.close_blocking();
    copy_folder(&world.folder(id), &spare.join("whole"));
    let journal = fs::read(&path).expect("journal");
    let (mut seed, mut cases) = (7_u64, 0);
    for round in 0..rounds {
        let (n, length) = safe[(round * 5 + 3) % safe.len()];
        let next = safe.iter().map(|(_, l)| *l).find(|l| *l > length);
        let next = next.unwrap_or(journal.len() as u64);
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(11);
        let somewhere = length + (seed >> 33) % (next - length + 1);
        for cut in [length, somewhere] {
            for view in ["whole", "stale", "none"] {
                // a folder of its own each time: sled lets go of its files a little late
                cases += 1;
                let own = World::patient();
                copy_folder(&spare.join("whole"), &own.folder(id));
                let path = own.folder(id).join("journal");
                fs::write(&path, &journal[..cut as usize]).expect("cut");
                let db = own.folder(id).join("db");
                if view != "whole" {
                    fs::remove_dir_all(&db).expect("remove");
                }
                if view == "stale" {
                    copy_folder(&spare.join("stale"), &db);
                }
                let opened = own.project.open_session(id, Heard::new()).expect("open");
                let found = count(&opened.history);
                assert!(found >= n, "cut at {cut}, {view}: {found} of {n}");
                let page = opened.store.since(None).expect("since");
                let expected = Model::after(id, found);
                assert_eq!(
                    page.parts.len(),
                    expected.parts.len(),
                    "cut at {cut}, {view}"
                );
                assert!(
                    page.parts
                        .iter()
                        .all(|p| expected.parts[&(p.message, p.id)] == *p)
                );
                opened.store.close_blocking();
            }
        }
    }
    note(&format!("{cases} power cuts"));
}
