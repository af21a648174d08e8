//! A command that prints without end: bounded memory, and about as fast as if nobody listened.
//!
//! `DUNLIN_FLOOD_MIB=4096` floods as much as SPEC asks for (nice it; a release build says more).

#![expect(
    clippy::print_stderr,
    reason = "measurements are printed where they are looked for"
)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::world::World;

const LINE: &str = "a line of output that a noisy build prints again and again";

/// Peak resident size of a process in KiB; none once it is gone.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn mib() -> (u64, bool) {
    let asked = std::env::var("DUNLIN_FLOOD_MIB").ok();
    let asked = asked.and_then(|text| text.parse().ok());
    asked.map_or((64, false), |mib| (mib, true))
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_costs_bounded_memory_and_is_kept_whole() {
    let (mib, judged) = mib();
    let bytes = mib << 20;
    let command = format!("yes '{LINE}' | head -c {bytes}");
    let begun = Instant::now();
    let plain = Command::new("sh")
        .args(["-c", &format!("{command} | cat >/dev/null")])
        .status()
        .expect("a shell");
    assert!(plain.success());
    let alone = begun.elapsed();

    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": command, "timeout": 600_000}}]},
        {"text": "done"}]}));
    let model = w.model();
    let mut child = w
        .command(&["exec", "--json", "--mode", "auto", "--model", &model, "go"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("dunlin runs");
    let mut stdout = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let mut most = 0;
    while child.try_wait().expect("a child").is_none() {
        most = most.max(peak(child.id()).unwrap_or(0));
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let text = reader.join().expect("a reader").expect("text");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let part = crate::support::world::tools(&events).remove(0);
    let state = &part["state"];
    let took = state["end"].as_i64().expect("an end") - state["start"].as_i64().expect("a start");
    eprintln!(
        "{mib} MiB: {} ms by cat alone, {took} ms through bash, {most} KiB resident at most",
        alone.as_millis()
    );
    assert!(most > 0 && most < 60 * 1_024, "{most} KiB resident");
    let full = &state["truncated"];
    assert_eq!(full["bytes"], bytes);
    let path = full["path"].as_str().expect("a path");
    assert_eq!(
        std::fs::metadata(path).expect("the full output").len(),
        bytes
    );
    let shown = state["output"].as_str().expect("an output");
    assert!(shown.starts_with(LINE) && shown.contains(" bytes truncated...\n\n"));
    assert!(shown.contains(&format!("Full output saved to: {path}\n")));
    if judged {
        assert!(
            took < alone.as_millis() as i64 * 2,
            "{took} ms against {alone:?}"
        );
    }
}
