//! A program that does nothing wakes nobody: the index's threads sleep when they have no work.
//!
//! Looked at in a process of its own, because other tests keep the threads of this one busy.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::support::{Heard, World, assert_sound, note, project, session_id};

const HOME: &str = "DUNLIN_TEST_IDLE_HOME";

#[test]
#[ignore = "the child of the test of idleness"]
fn child() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else {
        return;
    };
    let opened = project(&home)
        .open_session(session_id(1), Heard::new())
        .expect("open");
    assert!(!opened.history.complete, "the index is in use");
    let mut out = std::io::stdout();
    writeln!(out, "ready")
        .and_then(|()| out.flush())
        .expect("print");
    // until the parent is gone or has seen enough
    drop(std::io::stdin().read(&mut [0]));
    opened.store.close_blocking();
}

/// Voluntary switches so far of each thread of the index.
fn wake_ups(child: &Child) -> BTreeMap<String, u64> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).expect("threads");
    let mut found = BTreeMap::new();
    for thread in threads.flatten() {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let name = read("comm").trim().to_owned();
        let switches = read("status").lines().find_map(|line| {
            line.strip_prefix("voluntary_ctxt_switches:")?
                .trim()
                .parse()
                .ok()
        });
        if let (true, Some(switches)) = (name.starts_with("sled"), switches) {
            found.insert(format!("{name} {}", thread.path().display()), switches);
        }
    }
    found
}

#[test]
fn the_index_of_a_large_session_wakes_nobody_when_nothing_happens() {
    if !cfg!(target_os = "linux") || !PathBuf::from("/proc/self/timerslack_ns").exists() {
        note("skipped: the kernel does not say how exactly threads wait");
        return;
    }
    let world = World::new();
    let commits = world.large_session(session_id(1));
    let mut child = Command::new(std::env::current_exe().expect("exe"))
        .args([
            "session::idle::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(HOME, world.home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawn");
    let out = child.stdout.take().expect("stdout");
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("ready")), "it opens");
    // what the opening began comes to an end first
    let mut before = wake_ups(&child);
    let mut quiet = false;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1_500));
        let now = wake_ups(&child);
        quiet = now == before;
        if quiet {
            break;
        }
        before = now;
    }
    assert!(before.len() >= 7, "the index has its threads: {before:?}");
    assert!(quiet, "its threads wake without work: {before:?}");
    drop(child.stdin.take());
    assert!(child.wait().expect("ended").success());
    let history = world.project.open_session_all(session_id(1)).expect("all");
    assert_eq!(assert_sound(&history), commits);
}
