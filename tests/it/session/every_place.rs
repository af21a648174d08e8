//! Every place a file can be harmed at: the journal cut at every byte, every bit of a view flipped.
//!
//! Each test tries a few places in every run of the suite and all of them with `DUNLIN_DAMAGE=1`, which is
//! the campaign of docs/durability.md. Cases are independent of each other, so two workers share them,
//! each with a data folder of its own; a line now and then tells how far it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use dunlin::protocol::{PartBody, Role, SessionId, ToolPart, ToolState};
use dunlin::session::{Commit, Opened, Record};
use serde_json::{Value, json};

use super::support::{
    Heard, Model, World, assert_sound, commit, copy_folder, count, long_campaign, message, note,
    part, quiet_contained_panics, session_id, text, through_view, told,
};

/// Tries all cases; every worker begins with a copy of the session in `spare`.
fn share_out<C: Sync>(what: &str, spare: &Path, cases: &[C], try_one: impl Fn(&World, &C) + Sync) {
    let next = AtomicUsize::new(0);
    let since = Instant::now();
    let work = || {
        let world = World::patient();
        copy_folder(spare, &world.folder(session_id(1)));
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(n) else {
                return;
            };
            try_one(&world, case);
            if n % 1_000 == 999 {
                let seconds = since.elapsed().as_secs();
                note(&format!(
                    "{what}: {} of {}, {seconds} s",
                    n + 1,
                    cases.len()
                ));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..if long_campaign() { 2 } else { 1 } {
            scope.spawn(work);
        }
    });
    let seconds = since.elapsed().as_secs();
    note(&format!("{what}: all {} cases, {seconds} s", cases.len()));
}

fn open(world: &World) -> (Opened, Arc<Heard>) {
    let heard = Heard::new();
    let opened = world
        .project
        .open_session(session_id(1), Arc::<Heard>::clone(&heard));
    (opened.expect("open"), heard)
}

#[test]
fn a_journal_cut_anywhere_opens_with_all_whole_commits_and_goes_on() {
    let world = World::new();
    let id = session_id(1);
    world.session(id, if long_campaign() { 60 } else { 24 });
    let whole = fs::read(world.folder(id).join("journal")).expect("journal");
    // `journal` itself is tried with every byte in its unit tests; here, in the short form, around the
    // ends of lines and here and there
    let first_line = whole.iter().position(|b| *b == b'\n').expect("line") + 1;
    let first = whole.len().saturating_sub(64 << 10).max(first_line);
    let near_end = |cut: usize| whole[cut - 1..=cut].contains(&b'\n');
    let cuts: Vec<usize> = (first..whole.len())
        .rev()
        .filter(|cut| long_campaign() || near_end(*cut) || cut % 1_499 == 0)
        .collect();
    let mut models = BTreeMap::from([(0, Model::default())]);
    for n in 1..=count(&world.project.open_session_all(id).expect("all")) {
        models.insert(n, Model::after(id, n));
    }
    share_out("cut journals", &world.folder(id), &cuts, |world, &cut| {
        fs::write(world.folder(id).join("journal"), &whole[..cut]).expect("cut");
        let lines = memchr_count(&whole[..cut]);
        let (opened, _) = open(world);
        assert_eq!(opened.notices, Vec::<String>::new(), "cut at {cut}");
        assert_eq!(count(&opened.history), lines - 1, "cut at {cut}");
        assert!(Model::of(&opened.history) == models[&(lines - 1)], "{cut}");
        opened.store.commit(commit(id, lines));
        opened.store.close_blocking();
        let history = world.project.open_session_all(id).expect("all");
        assert_eq!(count(&history), lines, "after a cut at {cut}");
        assert!(Model::of(&history) == models[&lines], "after {cut}");
    });
    assert_sound(&world.project.open_session_all(id).expect("all"));
}

fn memchr_count(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

#[test]
fn flipped_bits_in_a_large_view_lose_nothing() {
    quiet_contained_panics();
    let world = World::patient();
    let id = session_id(1);
    let n = world.large_session(id);
    let expected = Model::after(id, n);
    let log = fs::read(world.folder(id).join("db/db")).expect("log");
    let flips: Vec<usize> = (0..if long_campaign() { 1_000 } else { 16 }).collect();
    let told = AtomicUsize::new(0);
    share_out(
        "flips in a large view",
        &world.folder(id),
        &flips,
        |own, &k| {
            let place = (k * 7_919 * 4_096 + k * 131) % log.len();
            restore_view(&world.folder(id), &own.folder(id));
            let mut bytes = log.clone();
            bytes[place] ^= 1 << (k % 8);
            fs::write(own.folder(id).join("db/db"), &bytes).expect("write");
            let (opened, heard) = open(own);
            assert_eq!(count(&opened.history), n, "flip at {place}");
            assert!(through_view(&opened) == expected, "flip at {place}");
            let said = !opened.notices.is_empty() || !heard.sentences().is_empty();
            told.fetch_add(usize::from(said), Ordering::Relaxed);
            opened.store.close_blocking();
        },
    );
    note(&format!(
        "{} flips were noticed and told",
        told.into_inner()
    ));
}

/// Puts the view back as it was; what sled still holds open is then in nobody's way.
fn restore_view(spare: &Path, folder: &Path) {
    drop(fs::remove_dir_all(folder.join("db")));
    copy_folder(&spare.join("db"), &folder.join("db"));
}

/// A session with one of each kind of record, as small as it can be.
fn small_session(world: &World, id: SessionId) {
    let store = world.start(id);
    let user = message(id, 2, Role::User);
    let assistant = message(id, 3, Role::Assistant);
    let call = |state| {
        PartBody::Tool(ToolPart {
            call: "call_1".to_owned(),
            tool: "bash".to_owned(),
            state,
            provider: None,
        })
    };
    let said = part(id, assistant.id, 1, text("Hel"));
    let done = ToolState::Completed {
        input: json!({"command": "true"}),
        output: "ok".to_owned(),
        title: String::new(),
        metadata: Value::Null,
        attachments: Vec::new(),
        truncated: None,
        compacted_at: None,
        start: 1,
        end: 2,
    };
    let records = [
        vec![
            Record::Message(user.clone()),
            Record::Part(part(id, user.id, 1, text("a prompt"))),
        ],
        vec![
            Record::Message(assistant.clone()),
            Record::Part(said.clone()),
        ],
        vec![
            Record::Append {
                part: said.id,
                text: "lo".to_owned(),
            },
            Record::Part(part(id, assistant.id, 2, call(done))),
        ],
        vec![Record::Value {
            name: "n".to_owned(),
            value: json!(4),
        }],
    ];
    for (n, records) in (1..).zip(records) {
        store.commit(Commit::written(records, vec![told(n)]));
    }
    store.since(None).expect("the view is made");
    store.close_blocking();
}

/// Files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("list") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Each bit up to the last byte of a file that is in use (zeros between are bytes like others), and one
/// in each 4 KiB of the empty rest: a file, a byte, a bit.
fn bits_of(view: &Path) -> Vec<(PathBuf, usize, usize)> {
    let mut bits = Vec::new();
    for file in files(view) {
        let bytes = fs::read(&file).expect("read");
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |n| n + 1);
        let name = file.strip_prefix(view).expect("inside").to_owned();
        note(&format!(
            "{}: {used} bytes used of {}",
            name.display(),
            bytes.len()
        ));
        bits.extend((0..used * 8).map(|bit| (name.clone(), bit / 8, bit % 8)));
        bits.extend(
            (used..bytes.len())
                .step_by(4_096)
                .map(|at| (name.clone(), at, at % 8)),
        );
    }
    bits
}

#[test]
fn every_flipped_bit_of_a_small_view_loses_nothing() {
    quiet_contained_panics();
    let world = World::patient();
    let id = session_id(1);
    small_session(&world, id);
    let (opened, _) = open(&world);
    let expected = Model::of(&opened.history);
    assert_eq!((expected.messages.len(), expected.parts.len()), (2, 3));
    assert!(through_view(&opened) == expected);
    opened.store.close_blocking();
    let mut bits = bits_of(&world.folder(id).join("db"));
    if !long_campaign() {
        bits = bits.into_iter().step_by(997).collect();
    }
    // a copy that was not touched is believed, or the rest would prove nothing
    share_out("untouched copies", &world.folder(id), &[1, 2], |own, _| {
        restore_view(&world.folder(id), &own.folder(id));
        let (opened, heard) = open(own);
        assert!(through_view(&opened) == expected);
        opened.store.close_blocking();
        assert_eq!(heard.sentences(), Vec::<String>::new());
    });
    let told = AtomicUsize::new(0);
    share_out(
        "bits of a small view",
        &world.folder(id),
        &bits,
        |own, (name, place, bit)| {
            restore_view(&world.folder(id), &own.folder(id));
            let path = own.folder(id).join("db").join(name);
            let mut bytes = fs::read(&path).expect("read");
            bytes[*place] ^= 1 << bit;
            fs::write(&path, &bytes).expect("write");
            let (opened, heard) = open(own);
            let found = through_view(&opened);
            assert!(found == expected, "bit {bit} of byte {place} of {name:?}");
            opened.store.close_blocking();
            let said = !heard.sentences().is_empty();
            told.fetch_add(usize::from(said), Ordering::Relaxed);
        },
    );
    note(&format!("{} bits were noticed and told", told.into_inner()));
    assert!(bits.len() > 3, "{}", bits.len());
}
