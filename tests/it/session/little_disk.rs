//! A disk that is really full: a small tmpfs, filled so that writing fails at every page in turn.
//!
//! It needs the right to mount; without it the test says so and ends.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dunlin::protocol::Fault;
use dunlin::session::{Commit, SessionStore};

use super::support::{
    Heard, Model, World, assert_sound, info, note, project, records, session_id, told,
};

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

/// Fills the disk up to so many free bytes.
fn fill(disk: &Path, free: usize) {
    let path = disk.join("ballast");
    let mut file = fs::File::create(&path).expect("ballast");
    while file.write_all(&[7; 4_096]).is_ok() {}
    let length = file.metadata().expect("facts").len();
    file.set_len(length.saturating_sub(free as u64))
        .expect("room");
}

fn synced(store: &SessionStore, n: u64) -> Result<(), Fault> {
    let (now, safe) = Commit::now(records(store.id(), n), vec![told(n)]);
    store.commit(now);
    safe.blocking_recv().expect("an answer")
}

#[test]
fn at_whatever_write_the_disk_is_full_it_is_told_and_work_goes_on_with_room() {
    let world = World::new();
    let home = world.home.path().join("little");
    let Some(_disk) = Mounted::new(&home) else {
        note("skipped: a tmpfs cannot be mounted here");
        return;
    };
    fs::create_dir_all(home.join("work")).expect("work");
    let project = project(&home);
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
