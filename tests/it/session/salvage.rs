//! What is left of a damaged session is shown, told of, and never cleaned away.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use dunlin::protocol::SessionId;
use dunlin::session::{GcPolicy, Opened, StoreError};

use super::support::{Heard, Model, World, assert_sound, commit, count, session_id};

fn open(world: &World, id: SessionId) -> Opened {
    world.project.open_session(id, Heard::new()).expect("open")
}

fn journal(world: &World, id: SessionId) -> PathBuf {
    world.folder(id).join("journal")
}

fn lines(world: &World, id: SessionId) -> Vec<Vec<u8>> {
    let bytes = fs::read(journal(world, id)).expect("journal");
    let lines = bytes.split_inclusive(|b| *b == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

fn write(world: &World, id: SessionId, lines: &[Vec<u8>]) {
    fs::write(journal(world, id), lines.concat()).expect("write");
}

#[test]
fn a_session_whose_facts_are_damaged_gets_them_back_from_its_row_or_its_messages() {
    let world = World::patient();
    let (id, other) = (session_id(1), session_id(2));
    for with_row in [true, false] {
        world.session(id, 40);
        world.session(other, 24);
        let mut all = lines(&world, id);
        all[0][30] ^= 1;
        write(&world, id, &all);
        if !with_row {
            fs::remove_file(world.folder(id).join("meta.json")).expect("remove");
        }
        let history = world.project.open_session_all(id).expect("all");
        assert_eq!((history.info.id, count(&history)), (id, 40));
        assert_eq!(
            history.info.worktree,
            world.worktree().display().to_string()
        );
        let opened = open(&world, id);
        assert!(
            opened.notices[0].contains("damaged in 1 place;"),
            "{:?}",
            opened.notices
        );
        assert!(Model::of(&opened.history) == Model::after(id, 40));
        opened.store.commit(commit(id, 41));
        opened.store.close_blocking();
        // the facts are in the journal again
        let text = String::from_utf8_lossy(&lines(&world, id).concat()).into_owned();
        assert!(text.matches("\"info\"").count() >= 1, "{text}");
        let again = open(&world, id);
        assert_eq!(count(&again.history), 41);
        again.store.close_blocking();
        for id in [id, other] {
            fs::remove_dir_all(world.folder(id)).expect("remove");
        }
    }
}

#[test]
fn missing_lines_are_told_and_repeated_ones_are_there_once_in_both_views() {
    // read into memory, and through sled
    for commits in [60, 1_600] {
        let world = World::patient();
        let id = session_id(1);
        world.session(id, commits);
        let whole = lines(&world, id);
        let mut cut = whole.clone();
        cut.drain(20..26);
        let mut twice = whole.clone();
        twice.extend_from_slice(&whole[whole.len() - 9..]);
        for (case, all) in [("cut", cut), ("repeated", twice)] {
            write(&world, id, &all);
            drop(fs::remove_dir_all(world.folder(id).join("db")));
            let opened = open(&world, id);
            let said = opened.notices.concat();
            let told = case == "cut";
            assert_eq!(
                said.contains("is damaged in"),
                told,
                "{case}, {commits}: {said}"
            );
            assert_eq!(count(&opened.history), commits, "{case}");
            let damage = world.project.damage(id).expect("read").unwrap_or_default();
            assert_eq!(damage.contains("is damaged in"), told, "{damage}");
            if case == "repeated" {
                let page = opened.store.since(None).expect("since");
                let expected = Model::after(id, commits);
                let same = page
                    .parts
                    .iter()
                    .all(|p| expected.parts[&(p.message, p.id)] == *p);
                assert!(same, "what was said once is there once");
            }
            opened.store.close_blocking();
        }
        write(&world, id, &whole);
        assert_eq!(world.project.damage(id).expect("read"), None);
    }
}

fn age(path: &std::path::Path) {
    let old = SystemTime::now() - Duration::from_hours(24 * 30);
    for entry in fs::read_dir(path).expect("list") {
        let path = entry.expect("entry").path();
        if path.is_file() {
            fs::File::open(&path)
                .expect("open")
                .set_modified(old)
                .expect("age");
        }
    }
    fs::File::open(path)
        .expect("open")
        .set_modified(old)
        .expect("age");
}

#[test]
fn the_clean_up_never_takes_a_damaged_session_and_each_damage_keeps_its_copy() {
    let world = World::patient();
    let (id, cut) = (session_id(1), session_id(2));
    let policy = GcPolicy {
        now: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as i64),
        output_days: 7,
        frames_days: 7,
        archive_days: 0,
        quota: 0,
        dry_run: false,
    };
    world.session(id, 40);
    let mut all = lines(&world, id);
    for line in &mut all[1..] {
        line[20] ^= 1;
    }
    write(&world, id, &all);
    fs::remove_file(world.folder(id).join("meta.json")).expect("remove");
    // cut down to nothing, twice
    world.session(cut, 24);
    let whole = lines(&world, cut);
    for keep in [whole.len() - 3, whole.len() - 6] {
        let mut all = whole.clone();
        for line in &mut all[keep..] {
            line[20] ^= 1;
        }
        write(&world, cut, &all);
        open(&world, cut).store.close_blocking();
    }
    let copies = ["journal.damaged", "journal.damaged.2"];
    for name in copies {
        assert!(world.folder(cut).join(name).exists(), "{name}");
    }
    write(&world, cut, &whole[..1]);
    drop(fs::remove_file(world.folder(cut).join("meta.json")));
    for id in [id, cut] {
        age(&world.folder(id));
    }
    let report = world.project.gc(&policy).expect("gc");
    assert_eq!(report.leftovers, 0, "{report:?}");
    assert!(journal(&world, id).exists() && journal(&world, cut).exists());
    // it is listed, and says so
    let rows = world.project.list().expect("list");
    let row = rows.iter().find(|row| row.info.id == id).expect("a row");
    assert!(row.damaged, "{row:?}");
    let used = world.project.snapshots_in_use().expect("read");
    assert_eq!(used.unsure.len(), 1, "{used:?}");
    assert!(used.unsure.concat().contains(&id.to_string()), "{used:?}");
}

#[test]
fn a_damaged_place_in_a_packed_journal_costs_its_frame_and_not_the_session() {
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 6_000);
    let size = fs::metadata(journal(&world, id)).expect("journal").len();
    assert!(size > 3 << 20, "{size}");
    world.project.archive(id).expect("archive");
    let packed = world.folder(id).join("journal.zst");
    let bytes = fs::read(&packed).expect("packed");
    // untouched, it comes back whole
    let whole = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&whole), 6_000);
    for part in [3, 5, 7] {
        let mut harmed = bytes.clone();
        harmed[bytes.len() * part / 10] ^= 0x10;
        fs::write(&packed, &harmed).expect("write");
        let history = world.project.open_session_all(id).expect("all");
        let (all, left) = (whole.parts.len(), history.parts.len());
        assert!(left * 2 > all, "{left} of {all} parts are left");
        assert!(world.project.damage(id).expect("read").is_some());
    }
    let opened = open(&world, id);
    let said = opened.notices.concat();
    assert!(said.contains("packed file is kept"), "{said}");
    assert!(opened.writable);
    opened.store.close_blocking();
    assert!(world.folder(id).join("journal.zst.damaged").exists());
    assert!(!packed.exists());
}

#[test]
fn of_what_cannot_be_read_at_all_the_place_and_a_way_on_are_named() {
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 24);
    // its row alone is no session, and a journal is not cut to nothing
    for with_row in [true, false] {
        if !with_row {
            fs::remove_file(world.folder(id).join("meta.json")).expect("remove");
        }
        for all in [b"nonsense\nand more\n".as_slice(), &[0; 5_000]] {
            fs::write(journal(&world, id), all).expect("write");
            let error = world
                .project
                .open_session(id, Heard::new())
                .expect_err("damaged");
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
            let said = error.to_string();
            assert!(
                said.contains("journal") && said.contains("delete the session"),
                "{said}"
            );
            assert_eq!(fs::read(journal(&world, id)).expect("journal"), all);
        }
    }
    let rows = world.project.list().expect("list");
    assert!(rows.len() == 1 && rows[0].damaged, "{rows:?}");
}

#[test]
fn a_row_that_is_another_sessions_or_senseless_is_not_believed() {
    let world = World::patient();
    let (id, other) = (session_id(1), session_id(2));
    world.session(id, 24);
    world.session(other, 16);
    let row = world.folder(id).join("meta.json");
    let own = fs::read_to_string(&row).expect("row");
    let foreign = fs::read_to_string(world.folder(other).join("meta.json")).expect("row");
    let mut changed: serde_json::Value = serde_json::from_str(&own).expect("json");
    changed["cost"] = serde_json::json!(1e300);
    let dear = changed.to_string();
    changed["cost"] = serde_json::json!(0.25);
    changed["updated"] = serde_json::json!(9_223_372_036_854_775_000_i64);
    for bad in [foreign, dear, changed.to_string()] {
        fs::write(&row, &bad).expect("write");
        let rows = world.project.list().expect("list");
        let mut ids: Vec<_> = rows.iter().map(|row| row.info.id).collect();
        ids.sort();
        assert_eq!(ids, [id, other], "{bad}");
        let found = rows.iter().find(|row| row.info.id == id).expect("its row");
        assert!(found.cost.is_none_or(|usd| usd < 10.0), "{found:?}");
        let journal = fs::metadata(journal(&world, id)).expect("journal");
        let written = journal.modified().expect("time");
        let written = written
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("time");
        assert!(
            found.updated <= written.as_millis() as i64 + 60_000,
            "{found:?}"
        );
    }
}

#[test]
fn a_session_whose_journal_is_gone_is_named_and_does_not_stand_in_the_way() {
    let world = World::patient();
    let (older, id) = (session_id(1), session_id(2));
    world.session(older, 16);
    world.session(id, 24);
    fs::remove_file(journal(&world, id)).expect("remove");
    let rows = world.project.list().expect("list");
    let row = rows.iter().find(|row| row.info.id == id).expect("its row");
    assert!(row.damaged, "{row:?}");
    assert_eq!(world.project.newest().expect("newest"), Some(older));
    let error = world
        .project
        .open_session(id, Heard::new())
        .expect_err("gone");
    let said = error.to_string();
    assert!(
        said.contains(&journal(&world, id).display().to_string()),
        "{said}"
    );
    assert!(said.contains("gone") && said.contains("delete"), "{said}");
    world.project.delete(id).expect("delete");
    assert!(!world.folder(id).exists());
}

#[test]
fn packing_that_fails_leaves_nothing_of_its_own() {
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 24);
    // what cannot be replaced stands for a disk without room
    fs::create_dir_all(world.folder(id).join("journal.zst/in the way")).expect("folder");
    let error = world.project.archive(id).expect_err("refused");
    assert!(error.to_string().contains("pack"), "{error}");
    let names = fs::read_dir(world.folder(id)).expect("list");
    let left: Vec<_> = names
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().ends_with("tmp")),
        "{left:?}"
    );
    assert!(journal(&world, id).exists());
}
