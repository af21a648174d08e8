//! A disk that is really full, has no room for another file, or became read-only: a small tmpfs, filled so
//! that writing fails at every page (or file) in turn.
//!
//! It needs the right to mount; without it the tests say so and end.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dunlin::session::Project;

use super::support::{Heard, Model, World, assert_sound, info, note, project, session_id, synced};

struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).expect("folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m,nr_inodes=200", "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|o| o.status.success())
            .then_some(Self(at))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

/// Set in a process that may mount what it likes, as far as it sees.
const INSIDE: &str = "DUNLIN_TEST_INSIDE";

/// Whoever may not mount runs the test once more where everybody may; false where that cannot be had.
fn ran_in_a_namespace() -> bool {
    let unshare = |what: &mut Command| what.env(INSIDE, "1").status().is_ok_and(|s| s.success());
    let thread = std::thread::current();
    let Some(test) = thread.name().filter(|name| name.contains("little_disk")) else {
        return false;
    };
    let may_mount = "mount -t tmpfs tmpfs /mnt";
    if !unshare(Command::new("unshare").args(["-rm", "sh", "-c", may_mount])) {
        return false;
    }
    let own = std::env::current_exe().expect("exe");
    let done = unshare(
        Command::new("unshare")
            .arg("-rm")
            .arg(own)
            .args([test, "--exact"]),
    );
    assert!(done, "the test failed in a namespace of its own");
    true
}

/// A project on a small disk of its own; none, and said, where none can be mounted.
fn on_little_disk(home: &Path) -> Option<(Mounted<'_>, Project)> {
    let Some(disk) = Mounted::new(home) else {
        if std::env::var_os(INSIDE).is_some() || !ran_in_a_namespace() {
            note("skipped: a tmpfs cannot be mounted here");
        }
        return None;
    };
    fs::create_dir_all(home.join("work")).expect("work");
    Some((disk, project(home)))
}

/// Mounts it anew, so that nothing can be written.
fn made_read_only(at: &Path) -> bool {
    let mounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(at)
        .output();
    mounted.is_ok_and(|o| o.status.success())
}

/// Fills the disk up to so many free bytes.
fn fill(disk: &Path, free: usize) {
    let path = disk.join("ballast");
    let mut file = fs::File::create(&path).expect("ballast");
    while file.write_all(&[7; 4_096]).is_ok() {}
    let length = file.metadata().expect("facts").len();
    file.set_len(length.saturating_sub(free as u64))
        .expect("room");
}

#[test]
fn at_whatever_write_the_disk_is_full_it_is_told_and_work_goes_on_with_room() {
    let world = World::new();
    let home = world.home.path().join("little");
    let Some((_disk, project)) = on_little_disk(&home) else {
        return;
    };
    let (mut refused, mut failed, mut never) = (0, 0, 0);
    for page in 0..40 {
        fill(&home, page * 4_096);
        let id = session_id(page as u128 + 1);
        let heard = Heard::new();
        let facts = info(id, &home.join("work"));
        let store = match project.create(&facts, Arc::<Heard>::clone(&heard)) {
            Ok(store) => store,
            Err(error) => {
                refused += 1;
                let said = error.to_string();
                assert!(said.contains("Free some space"), "{page}: {said}");
                fs::remove_file(home.join("ballast")).expect("room");
                project
                    .create(&facts, Arc::<Heard>::clone(&heard))
                    .expect("with room")
            }
        };
        let mut full = 0;
        let mut n = 0;
        while n < 60 {
            n += 1;
            if let Err(fault) = synced(&store, n) {
                full += 1;
                assert!(fault.message.contains("Free some space"), "{page}: {fault}");
                fs::remove_file(home.join("ballast")).expect("room");
                // text with a hole is refused: the exchange is written again from its beginning
                n = (n - n % 8).saturating_sub(1);
            }
        }
        assert!(full <= 1, "{page}: {full} failures, one cause");
        failed += full;
        never += u64::from(full == 0);
        drop(fs::remove_file(home.join("ballast")));
        store.close_blocking();
        let mut numbers = heard.numbers();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, (1..=60).collect::<Vec<_>>(), "{page}");
        let history = project.open_session_all(id).expect("all");
        assert_eq!(assert_sound(&history), 60, "{page}");
        let opened = project.open_session(id, Heard::new()).expect("open");
        let page_of = opened.store.since(None).expect("since");
        assert_eq!(page_of.parts.len(), Model::after(id, 60).parts.len());
        opened.store.close_blocking();
        project.delete(id).expect("delete");
    }
    note(&format!(
        "{refused} refused at the start, {failed} at a write, {never} not at all"
    ));
    assert!(refused > 0 && failed > 0, "the disk was never full");
}

#[test]
fn without_room_for_another_file_it_is_told_and_work_goes_on_with_room() {
    let world = World::new();
    let home = world.home.path().join("little");
    let Some((_disk, project)) = on_little_disk(&home) else {
        return;
    };
    let (mut refused, mut written) = (0, 0);
    for free in 0..16 {
        // empty files take no pages, only names
        let ballast = home.join("ballast");
        fs::create_dir(&ballast).expect("ballast");
        let names: Vec<_> = (0..400).map(|n| ballast.join(n.to_string())).collect();
        let made = names
            .iter()
            .take_while(|name| fs::File::create(name).is_ok());
        let made: Vec<_> = made.collect();
        assert!(
            made.len() < 400,
            "the disk has room for any number of files"
        );
        for name in made.iter().rev().take(free) {
            fs::remove_file(name).expect("room");
        }
        let id = session_id(free as u128 + 1);
        let facts = info(id, &home.join("work"));
        let store = match project.create(&facts, Heard::new()) {
            Ok(store) => store,
            Err(error) => {
                refused += 1;
                let said = error.to_string();
                assert!(said.contains("df -i"), "{free}: {said}");
                fs::remove_dir_all(&ballast).expect("room");
                project.create(&facts, Heard::new()).expect("with room")
            }
        };
        // the view and meta.json need files too; the journal has its own already
        for n in 1..=30 {
            synced(&store, n).unwrap_or_else(|fault| panic!("{free}, {n}: {fault}"));
            written += 1;
        }
        let page = store.since(None).expect("read");
        assert_eq!(page.parts.len(), Model::after(id, 30).parts.len());
        store.close_blocking();
        drop(fs::remove_dir_all(&ballast));
        let opened = project.open_session(id, Heard::new()).expect("open");
        assert_eq!(assert_sound(&opened.history), 30, "{free}");
        opened.store.close_blocking();
        assert_eq!(project.list().expect("list").len(), 1);
        project.delete(id).expect("delete");
    }
    note(&format!(
        "{refused} refused at the start, {written} commits"
    ));
    assert!(refused > 2, "the disk always had room for a file");
}

#[test]
fn on_a_disk_that_became_read_only_sessions_are_read_and_new_ones_refused_with_the_remedy() {
    let world = World::new();
    let home = world.home.path().join("little");
    let Some((_disk, project)) = on_little_disk(&home) else {
        return;
    };
    let id = session_id(1);
    let store = project
        .create(&info(id, &home.join("work")), Heard::new())
        .expect("create");
    for n in 1..=24 {
        synced(&store, n).expect("synced");
    }
    store.close_blocking();
    if !made_read_only(&home) {
        note("skipped: a tmpfs cannot be made read-only here");
        return;
    }
    let facts = info(session_id(2), &home.join("work"));
    let error = project.create(&facts, Heard::new()).expect_err("read-only");
    let said = error.to_string();
    assert!(said.contains("Read-only file system"), "{said}");
    assert!(said.contains("DUNLIN_DATA_DIR"), "{said}");
    let opened = project.open_session(id, Heard::new()).expect("to read");
    assert!(!opened.writable && !opened.elsewhere);
    assert_eq!(assert_sound(&opened.history), 24);
    let notice = opened.notices.concat();
    assert!(notice.contains("can only be read"), "{notice}");
    assert_eq!(project.list().expect("list").len(), 1);
    for error in [project.rename(id, "x"), project.delete(id)] {
        let said = error.expect_err("read-only").to_string();
        assert!(said.contains("Set DUNLIN_DATA_DIR"), "{said}");
    }
    opened.store.close_blocking();
}
