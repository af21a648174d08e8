//! Lines in a journal that dunlin did not put there: copies, another session's, senseless ones.
//!
//! Whatever they are, what is said from then on must be there at the next opening: the writer and every
//! reader have to agree on the number of the next commit.

use std::fs;
use std::path::PathBuf;

use dunlin::protocol::SessionId;
use dunlin::session::{FORMAT, Opened, StoreError};

use super::support::{
    Heard, Model, World, assert_sound, commit, count, quiet_contained_panics, session_id,
    through_view,
};

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

fn line(json: &str) -> Vec<u8> {
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes()
}

fn numbered(n: u64) -> Vec<u8> {
    line(&format!("{{\"v\":{FORMAT},\"n\":{n},\"r\":[]}}"))
}

/// The same commit under another number.
fn renumbered(old: &[u8], n: usize) -> Vec<u8> {
    let text = std::str::from_utf8(&old[9..]).expect("text").trim_end();
    let mut json: serde_json::Value = serde_json::from_str(text).expect("json");
    json["n"] = n.into();
    line(&json.to_string())
}

/// Opens a session whose journal has these lines, goes on, and looks whether all of it is there: to whoever
/// opens it next and to whoever only reads it.
fn goes_on(world: &World, id: SessionId, all: &[Vec<u8>], commits: u64, case: &str) -> Vec<String> {
    drop(fs::remove_dir_all(world.folder(id).join("db")));
    drop(fs::remove_dir_all(world.folder(id).join("db.damaged")));
    fs::write(journal(world, id), all.concat()).expect("write");
    let opened = open(world, id);
    assert!(opened.writable, "{case}");
    assert_eq!(count(&opened.history), commits, "{case}");
    let said = opened.notices.clone();
    for n in commits + 1..=commits + 4 {
        opened.store.commit(commit(id, n));
    }
    opened.store.close_blocking();
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), commits + 4, "{case}, read");
    let again = open(world, id);
    assert_eq!(count(&again.history), commits + 4, "{case}, opened");
    assert!(
        through_view(&again) == Model::after(id, commits + 4),
        "{case}, opened"
    );
    again.store.close_blocking();
    said
}

/// Ends that a journal of `commits` commits may have, and whether they must be told.
fn ends(whole: &[Vec<u8>], foreign: &[Vec<u8>]) -> Vec<(&'static str, Vec<Vec<u8>>, bool)> {
    let next = whole.len() + 1;
    let names = |line: &&Vec<u8>| String::from_utf8_lossy(line).contains("\"session\"");
    let renamed: Vec<_> = (next..)
        .zip(foreign.iter().filter(names))
        .map(|(n, line)| renumbered(line, n))
        .collect();
    vec![
        ("lines 3 to 6 again", whole[2..6].to_vec(), false),
        (
            "the last line again",
            whole[whole.len() - 1..].to_vec(),
            false,
        ),
        (
            "another session's first lines",
            foreign[..10].to_vec(),
            true,
        ),
        ("another session's, going on", renamed, true),
        (
            "another session's facts",
            vec![renumbered(&foreign[0], next)],
            true,
        ),
        ("number zero", vec![numbered(0)], true),
        ("a lower number", vec![numbered(4)], true),
        (
            "the highest number there is",
            vec![numbered(u64::MAX)],
            true,
        ),
        ("a number too high", vec![numbered(1 << 60)], true),
        ("a number that is only high", vec![numbered(1 << 50)], true),
        (
            "a number that is missing",
            vec![numbered(next as u64 + 100)],
            true,
        ),
        (
            "a number below zero",
            vec![line("{\"v\":2,\"n\":-5,\"r\":[]}")],
            true,
        ),
        (
            "a version in words",
            vec![line("{\"v\":\"3\",\"n\":9,\"r\":[]}")],
            true,
        ),
        ("no object", vec![line("[1]"), line("null")], true),
        ("an empty line with its sum", vec![line("")], true),
    ]
}

#[test]
fn whatever_stands_at_the_end_of_a_journal_nothing_said_after_it_is_lost() {
    quiet_contained_panics();
    let world = World::patient();
    let (id, other) = (session_id(1), session_id(2));
    world.session(id, 39);
    world.session(other, 39);
    let (whole, foreign) = (lines(&world, id), lines(&world, other));
    for (n, repeated) in whole.iter().enumerate() {
        let all = [whole.as_slice(), std::slice::from_ref(repeated)].concat();
        let said = goes_on(&world, id, &all, 39, &format!("line {n} again"));
        assert_eq!(said, Vec::<String>::new(), "nothing is wrong with line {n}");
    }
    for (case, end, told) in ends(&whole, &foreign) {
        let all = [whole.clone(), end].concat();
        let said = goes_on(&world, id, &all, 39, case).concat();
        assert_eq!(said.contains("damaged"), told, "{case}: {said}");
    }
}

#[test]
fn the_same_for_a_session_that_is_read_through_its_index() {
    quiet_contained_panics();
    let world = World::patient();
    let (id, other) = (session_id(1), session_id(2));
    world.session(id, 1_599);
    world.session(other, 39);
    let (whole, foreign) = (lines(&world, id), lines(&world, other));
    assert!(
        whole.concat().len() > 1 << 20,
        "too small to test the index"
    );
    for (case, end, told) in ends(&whole, &foreign).into_iter().step_by(2) {
        let all = [whole.clone(), end].concat();
        let said = goes_on(&world, id, &all, 1_599, case).concat();
        assert_eq!(said.contains("damaged"), told, "{case}: {said}");
    }
}

#[test]
fn an_index_that_follows_meets_the_same_lines_in_the_same_way() {
    let world = World::patient();
    let id = session_id(1);
    let commits = world.large_session(id);
    // the index stands before the line that comes again
    let mut all = lines(&world, id);
    all.push(all[7].clone());
    fs::write(journal(&world, id), all.concat()).expect("write");
    let opened = open(&world, id);
    assert_eq!(opened.notices, Vec::<String>::new());
    opened.store.commit(commit(id, commits + 1));
    opened.store.close_blocking();
    fs::remove_dir_all(world.folder(id).join("db")).expect("remove");
    let again = open(&world, id);
    assert!(through_view(&again) == Model::after(id, commits + 1));
    again.store.close_blocking();
}

#[test]
fn a_journal_that_went_through_an_editor_is_as_good_as_before() {
    for commits in [39, 1_599] {
        let world = World::patient();
        let id = session_id(1);
        world.session(id, commits);
        let mut all = lines(&world, id);
        for line in &mut all {
            line[..8].make_ascii_uppercase();
            line.insert(line.len() - 1, b'\r');
        }
        let said = goes_on(&world, id, &all, commits, "carriage returns");
        assert_eq!(said, Vec::<String>::new());
        // its index is as good as any other
        let opened = open(&world, id);
        assert_eq!(opened.notices, Vec::<String>::new());
        opened.store.close_blocking();
    }
}

#[test]
fn lines_of_another_session_in_the_middle_are_left_out_and_told() {
    for commits in [39, 1_599] {
        let world = World::patient();
        let (id, other) = (session_id(1), session_id(2));
        world.session(id, commits);
        world.session(other, 39);
        let (mut all, foreign) = (lines(&world, id), lines(&world, other));
        // a prompt and an answer, under numbers that are free
        let mut strange = vec![foreign[0].clone(), foreign[8].clone(), foreign[9].clone()];
        strange.append(&mut all.split_off(12));
        all.append(&mut strange);
        for (n, line) in all.iter_mut().enumerate().skip(12) {
            *line = renumbered(line, n + 1);
        }
        let said = goes_on(&world, id, &all, commits, "in the middle").concat();
        assert!(said.contains("damaged in 3 places"), "{said}");
    }
}

#[test]
fn the_journal_of_another_session_is_called_that() {
    let world = World::patient();
    let (id, other) = (session_id(1), session_id(2));
    world.session(id, 39);
    world.session(other, 39);
    fs::remove_dir_all(world.folder(id)).expect("remove");
    fs::create_dir(world.folder(id)).expect("folder");
    fs::copy(journal(&world, other), journal(&world, id)).expect("copy");
    let error = world
        .project
        .open_session(id, Heard::new())
        .expect_err("another's");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&other.to_string()), "{error}");
    assert_eq!(
        fs::read(journal(&world, id)).expect("journal"),
        fs::read(journal(&world, other)).expect("journal"),
        "it was left as it is"
    );
}
