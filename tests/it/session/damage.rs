//! Damaged files: reported in a sentence, the rest works, nothing panics, nothing hangs.
//!
//! One harm at a time, each of its own kind. Every cut and every bit are in `every_place`; a disk and an
//! index that fail while the program runs are in `trouble`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dunlin::protocol::SessionId;
use dunlin::session::{Opened, StoreError};

use super::support::{
    Heard, Model, World, assert_sound, commit, copy_folder, count, long_campaign,
    quiet_contained_panics, session_id, through_view,
};

fn open(world: &World, id: SessionId) -> Opened {
    world.project.open_session(id, Heard::new()).expect("open")
}

fn journal_of(world: &World, id: SessionId) -> std::path::PathBuf {
    world.folder(id).join("journal")
}

/// Lets nobody write into a folder: by its modes, and where those do not count (root) by a mount. None where
/// neither can be had.
struct Sealed<'a>(&'a Path, bool);

impl<'a> Sealed<'a> {
    fn new(folder: &'a Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            for entry in fs::read_dir(folder).expect("list").flatten() {
                if entry.path().is_file() {
                    let mode = fs::Permissions::from_mode(0o400);
                    fs::set_permissions(entry.path(), mode).expect("chmod");
                }
            }
            fs::set_permissions(folder, fs::Permissions::from_mode(0o500)).expect("chmod");
            return Some(Self(folder, false));
        }
        let mount = |args: &[&str]| {
            let mut command = std::process::Command::new("mount");
            let ran = command.args(args).arg(folder).output();
            ran.is_ok_and(|ran| ran.status.success())
        };
        let bound = mount(&["--bind", &folder.display().to_string()]);
        let sealed = Self(folder, bound);
        (bound && mount(&["-o", "remount,bind,ro"])).then_some(sealed)
    }
}

impl Drop for Sealed<'_> {
    fn drop(&mut self) {
        if self.1 {
            drop(
                std::process::Command::new("umount")
                    .arg("-l")
                    .arg(self.0)
                    .status(),
            );
        }
    }
}

#[test]
fn with_an_index_that_nobody_may_write_the_session_is_read_gone_on_with_and_told() {
    let world = World::patient();
    let id = session_id(1);
    let commits = world.large_session(id);
    let db = world.folder(id).join("db");
    let Some(sealed) = Sealed::new(&db) else {
        super::support::note("skipped: root writes everywhere, and nothing can be mounted here");
        return;
    };
    let opened = world.project.open_session(id, Heard::new()).expect("open");
    assert!(opened.writable);
    assert_eq!(count(&opened.history), commits);
    let said = opened.notices.concat();
    assert!(
        said.contains("index") && said.contains("othing is lost"),
        "{said}"
    );
    opened.store.commit(commit(id, commits + 1));
    let expected = Model::after(id, commits + 1);
    assert!(
        through_view(&opened) == expected,
        "the index in use differs"
    );
    opened.store.close_blocking();
    drop(sealed);
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(assert_sound(&history), commits + 1);
    let again = world.project.open_session(id, Heard::new()).expect("open");
    assert!(through_view(&again) == expected);
    again.store.close_blocking();
}

#[test]
fn a_flipped_bit_in_the_journal_costs_its_line_and_is_told() {
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 64);
    let path = journal_of(&world, id);
    let whole = fs::read(&path).expect("journal");
    let intact = Model::after(id, 64);
    let step = if long_campaign() { 7 } else { whole.len() / 60 };
    // the first line says which session it is
    let second = whole.iter().position(|b| *b == b'\n').expect("line") + 1;
    for place in (second..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&path, &bytes).expect("damage");
        let opened = open(&world, id);
        let last_newline = place == whole.len() - 1;
        assert!(
            last_newline || opened.notices.iter().any(|n| n.contains("damaged")),
            "nothing was said about byte {place}: {:?}",
            opened.notices
        );
        let found = Model::of(&opened.history);
        assert!(
            found
                .messages
                .keys()
                .all(|id| intact.messages.contains_key(id))
        );
        opened.store.close_blocking();
        drop(fs::remove_file(world.folder(id).join("journal.damaged")));
    }
}

#[test]
fn a_journal_of_a_newer_version_is_refused_untouched() {
    let world = World::patient();
    let id = session_id(1);
    for place in ["first", "last"] {
        drop(fs::remove_dir_all(world.folder(id)));
        world.session(id, 20);
        let path = journal_of(&world, id);
        let json = r#"{"v":99,"n":22,"r":[{"hologram":{"of":"a bird"}}]}"#;
        let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        let old = fs::read_to_string(&path).expect("journal");
        let text = if place == "first" {
            format!("{line}{old}")
        } else {
            format!("{old}{line}")
        };
        fs::write(&path, &text).expect("write");
        let error = world
            .project
            .open_session(id, Heard::new())
            .expect_err("newer");
        assert!(
            matches!(error, StoreError::Newer { found: 99, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("newer dunlin"), "{error}");
        assert!(world.project.open_session_all(id).is_err());
        assert_eq!(fs::read_to_string(&path).expect("journal"), text);
    }
}

#[test]
fn a_frozen_journal_of_format_1_reads_as_ever() {
    reads_as_ever("v1.journal");
}

#[test]
fn a_frozen_journal_of_format_2_that_was_begun_in_format_1_reads_as_ever() {
    reads_as_ever("v2.journal");
}

fn reads_as_ever(name: &str) {
    let world = World::patient();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/session/frozen");
    let frozen = folder.join(name);
    let text = fs::read_to_string(&frozen).expect("fixture");
    let id: SessionId = "ses_018bcfe5680000000000000000000001".parse().expect("id");
    fs::create_dir_all(world.folder(id)).expect("folder");
    fs::write(journal_of(&world, id), &text).expect("write");
    let opened = open(&world, id);
    assert_eq!(opened.notices, Vec::<String>::new());
    let history = &opened.history;
    let found = serde_json::json!({
        "info": history.info, "messages": history.messages,
        "parts": history.parts, "values": history.values,
    });
    let expected: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(frozen.with_extension("json")).expect("fixture"))
            .expect("json");
    assert_eq!(found, expected);
    opened.store.close_blocking();
    assert!(fs::read_to_string(journal_of(&world, id)).expect("journal") == text);
}

#[test]
fn garbage_after_the_last_line_is_cut_and_kept_for_a_look() {
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 30);
    let path = journal_of(&world, id);
    let mut bytes = fs::read(&path).expect("journal");
    bytes.extend_from_slice(&[0; 5_000]);
    bytes.extend_from_slice(b"\nnonsense\n\xff\xfe");
    fs::write(&path, &bytes).expect("write");
    let opened = open(&world, id);
    assert_eq!(assert_sound(&opened.history), 30);
    assert!(
        opened.notices[0].contains("cut away"),
        "{:?}",
        opened.notices
    );
    opened.store.close_blocking();
    assert_eq!(
        fs::read(world.folder(id).join("journal.damaged")).expect("copy"),
        bytes
    );
    let again = open(&world, id);
    assert_eq!(again.notices, Vec::<String>::new());
    again.store.close_blocking();
}

#[test]
fn whatever_happens_to_sled_the_session_opens_complete() {
    type Harm = (&'static str, bool, fn(&Path));
    let harms: [Harm; 8] = [
        ("deleted", false, |db| {
            fs::remove_dir_all(db).expect("remove");
        }),
        ("emptied", true, |db| {
            fs::remove_dir_all(db).expect("remove");
            fs::create_dir(db).expect("create");
        }),
        ("log of no bytes", true, |db| {
            fs::write(db.join("db"), b"").expect("write");
        }),
        ("log cut in half", false, |db| {
            let bytes = fs::read(db.join("db")).expect("read");
            fs::write(db.join("db"), &bytes[..bytes.len() / 2]).expect("write");
        }),
        // what is left may be a sound, older view, which then follows the journal again
        ("last segment missing", false, |db| {
            let bytes = fs::read(db.join("db")).expect("read");
            let keep = bytes.len().saturating_sub(512 << 10);
            fs::write(db.join("db"), &bytes[..keep]).expect("write");
        }),
        ("zeroed", true, |db| {
            let len = fs::metadata(db.join("db")).expect("log").len();
            fs::write(db.join("db"), vec![0; len as usize]).expect("write");
        }),
        ("configuration of nonsense", false, |db| {
            fs::write(db.join("conf"), b"nonsense").expect("write");
        }),
        ("a file in its place", true, |db| {
            fs::remove_dir_all(db).expect("remove");
            fs::write(db, b"not a folder").expect("write");
        }),
    ];
    quiet_contained_panics();
    let world = World::patient();
    let id = session_id(1);
    let n = world.large_session(id);
    let spare = world.home.path().join("spare");
    copy_folder(&world.folder(id), &spare);
    let expected = Model::after(id, n);
    for (name, told, harm) in harms {
        fs::remove_dir_all(world.folder(id)).expect("remove");
        copy_folder(&spare, &world.folder(id));
        harm(&world.folder(id).join("db"));
        let opened = open(&world, id);
        assert!(opened.writable, "{name}");
        assert_eq!(count(&opened.history), n, "{name}");
        assert!(through_view(&opened) == expected, "{name}");
        assert!(
            !told || !opened.notices.is_empty(),
            "{name}: nothing was said"
        );
        opened.store.commit(commit(id, n + 1));
        opened.store.close_blocking();
        let again = open(&world, id);
        assert_eq!(again.notices, Vec::<String>::new(), "{name}, opened again");
        assert!(
            through_view(&again) == Model::after(id, n + 1),
            "{name}, opened again"
        );
        again.store.close_blocking();
    }
}

#[test]
fn one_unreadable_session_hides_no_other() {
    let world = World::patient();
    for n in 1..=3 {
        world.session(session_id(n), 16);
    }
    let folder = world.folder(session_id(2));
    fs::write(folder.join("meta.json"), b"{ not json").expect("write");
    fs::write(folder.join("journal"), b"\0\0\0\0").expect("write");
    fs::write(world.folder(session_id(3)).join("meta.json"), b"").expect("write");
    fs::write(world.project.folder().join("sessions/stray"), b"x").expect("write");
    fs::create_dir(world.project.folder().join("sessions/ses_nonsense")).expect("create");
    let rows = world.project.list().expect("list");
    let mut ids: Vec<_> = rows.iter().map(|row| row.info.id).collect();
    ids.sort();
    // the one that cannot be read is named as such
    assert_eq!(ids, [session_id(1), session_id(2), session_id(3)]);
    let damaged: Vec<_> = rows.iter().filter(|row| row.damaged).collect();
    assert_eq!(damaged.len(), 1);
    assert_eq!(damaged[0].info.id, session_id(2));
    let error = world
        .project
        .open_session(session_id(2), Heard::new())
        .expect_err("damaged");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named_with_a_way_out() {
    let home = tempfile::tempdir().expect("temp");
    fs::create_dir(home.path().join("work")).expect("work");
    // a file in the way fails for every user, root included
    fs::write(home.path().join("data"), b"").expect("write");
    let project = super::support::project(home.path());
    let info = super::support::info(session_id(1), &home.path().join("work"));
    let error = project.create(&info, Heard::new()).expect_err("no folder");
    let said = error.to_string();
    assert!(said.contains("data"), "{said}");
    assert!(said.contains("DUNLIN_DATA_DIR"), "{said}");
}

#[test]
fn a_session_in_a_folder_that_cannot_be_written_opens_for_reading() {
    if rustix::process::getuid().is_root() {
        // root may write everywhere; the branch is the same as for a lock that is taken
        return;
    }
    let world = World::patient();
    let id = session_id(1);
    world.session(id, 24);
    let folder = world.folder(id);
    let lock = folder.join("lock");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o400)).expect("chmod");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("chmod");
    let opened = open(&world, id);
    assert!(!opened.writable);
    assert_eq!(assert_sound(&opened.history), 24);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("chmod");
}
