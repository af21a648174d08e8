//! A screen that waits for a key wakes no thread of the program: not the loop, not the store's threads, not
//! the snapshots'.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::dunlin;
use crate::support::world::World;

/// Voluntary switches so far, of every thread.
fn wake_ups(process: u32) -> BTreeMap<String, u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("threads");
    let of = |thread: fs::DirEntry| {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let switches = read("status").lines().find_map(|line| {
            let count = line.strip_prefix("voluntary_ctxt_switches:")?;
            count.trim().parse().ok()
        });
        let name = format!("{} {}", read("comm").trim(), thread.path().display());
        Some((name, switches?))
    };
    threads.flatten().filter_map(of).collect()
}

#[test]
fn a_program_that_waits_for_a_key_wakes_none_of_its_threads() {
    if !Path::new("/proc/self/timerslack_ns").exists() {
        return;
    }
    let world = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "echo a > made"}}]},
        {"text": "Hello from the script."}]}));
    let mut terminal = dunlin(&world, &["--mode", "auto", "--no-sandbox", "go"]);
    terminal.shows("Hello from the script.");
    terminal.quiet();
    let mut before = wake_ups(terminal.id());
    let named = |name: &str| before.keys().any(|thread| thread.starts_with(name));
    assert!(
        ["dunlin-store", "dunlin-sync", "dunlin-view", "snapshot"]
            .iter()
            .all(|n| named(n)),
        "{before:?}"
    );
    // the last second's sync, the row of the listing, the look at everything after a while: they come to an end
    for _ in 0..12 {
        // what is measured is that nothing happens for so long
        std::thread::sleep(Duration::from_secs(4));
        let now = wake_ups(terminal.id());
        if now == before {
            terminal.kill();
            return;
        }
        before = now;
    }
    panic!("its threads wake without work: {before:?}");
}
