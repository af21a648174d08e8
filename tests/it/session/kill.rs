//! kill -9 at any moment: whatever was announced is there afterwards, in order.
//!
//! The child is this test binary, started again with an ignored test as its entry. It opens the
//! session (checking sled's view against the model), then commits as fast as it can and prints
//! the number of every announced commit. `DUNLIN_KILLS=1000` runs the long campaign.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dunlin::protocol::{Event, Fault};
use dunlin::session::{Announce, Commit, History};

use super::support::{
    Heard, World, assert_sound, commit, count, info, numbers, project, records, session_id, told,
};

const HOME: &str = "DUNLIN_TEST_KILL_HOME";
const SESSION: &str = "DUNLIN_TEST_KILL_SESSION";

/// Prints the number of each announced commit at once.
#[derive(Debug)]
struct Speaker;

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())
        .and_then(|()| out.flush())
        .expect("print");
}

impl Announce for Speaker {
    fn announce(&self, events: Vec<Event>) {
        for n in numbers(&events) {
            say(&format!("ack {n}\n"));
        }
    }

    fn failed(&self, fault: Fault) {
        say(&format!("fault {fault}\n"));
    }
}

#[test]
#[ignore = "the child of the kill tests"]
fn child() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else {
        return;
    };
    let number = std::env::var(SESSION).ok().and_then(|n| n.parse().ok());
    let id = session_id(number.unwrap_or(1));
    let project = project(&home);
    let (store, mut n) = if let Ok(opened) = project.open_session(id, Arc::new(Speaker)) {
        let page = opened.store.since(None).expect("since");
        let n = count(&opened.history);
        let seen = History {
            messages: page.messages,
            parts: page.parts,
            complete: true,
            ..opened.history
        };
        assert_sound(&seen);
        for notice in opened.notices {
            say(&format!("notice {notice}\n"));
        }
        (opened.store, n)
    } else {
        let info = info(id, &home.join("work"));
        (project.create(&info, Arc::new(Speaker)).expect("create"), 0)
    };
    say("ready\n");
    loop {
        n += 1;
        if n % 50 == 0 {
            let (now, safe) = Commit::now(records(id, n), vec![told(n)]);
            store.commit(now);
            safe.blocking_recv().expect("answer").expect("synced");
        } else if n % 20 == 0 {
            store.commit(Commit::soon(records(id, n), vec![told(n)]));
        } else {
            store.commit(commit(id, n));
        }
        if n % 100 == 0 {
            store.page(None, 5).expect("page");
        }
    }
}

fn spawn(home: &Path, session: u128) -> (Child, Receiver<String>) {
    let mut child = Command::new(std::env::current_exe().expect("exe"))
        .args([
            "session::kill::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(HOME, home)
        .env(SESSION, session.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("spawn");
    let out = child.stdout.take().expect("stdout");
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    (child, lines)
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Runs the child for `delay` after it began to commit (or after its start), kills it, and returns
/// the last number it acknowledged.
fn run_and_kill(home: &Path, from_start: bool, delay: Duration) -> u64 {
    let (mut child, lines) = spawn(home, 1);
    let mut acked = 0;
    let mut until = from_start.then(|| Instant::now() + delay);
    let limit = Instant::now() + Duration::from_mins(1);
    let mut killed = false;
    loop {
        let left = until
            .unwrap_or(limit)
            .saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                if line == "ready" && until.is_none() {
                    until = Some(Instant::now() + delay);
                } else if let Some(n) = line.strip_prefix("ack ") {
                    let n: u64 = n.parse().expect("number");
                    assert!(acked == 0 || n == acked + 1, "announced {n} after {acked}");
                    acked = n;
                } else {
                    let bad = line.starts_with("fault") || line.starts_with("notice");
                    assert!(!bad, "{line}");
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                assert!(until.is_some(), "the child never began");
                killed = true;
                child.kill().expect("kill");
                // what it printed before it died still counts
                until = Some(limit);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let output = child.wait_with_output().expect("wait");
    assert!(
        killed,
        "the child ended by itself: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    acked
}

#[test]
fn nothing_announced_is_lost_by_kill_9() {
    let rounds: u32 = std::env::var("DUNLIN_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(50);
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("clock")
        .as_nanos() as u64;
    say(&format!("seed {seed}\n"));
    let mut dice = Dice(seed | 1);
    let mut world = World::new();
    let mut total = 0;
    for round in 0..rounds {
        // a fresh session now and then, so that creation is hit as well as growth
        if round % 25 == 0 {
            world = World::new();
        }
        let from_start = dice.roll(4) == 0;
        let delay = Duration::from_micros(dice.roll(60_000));
        let acked = run_and_kill(world.home.path(), from_start, delay);
        total += acked;
        let stored = match world.project.open_session_all(session_id(1)) {
            Ok(history) => assert_sound(&history),
            Err(error) => {
                assert_eq!(acked, 0, "{error}");
                0
            }
        };
        assert!(
            stored >= acked,
            "round {round}: {acked} announced, {stored} kept"
        );
    }
    assert!(total > 0, "no round got far enough to announce anything");
    // and the session goes on
    let id = session_id(1);
    if let Ok(opened) = world.project.open_session(id, Heard::new()) {
        let n = count(&opened.history);
        opened.store.commit(commit(id, n + 1));
        opened.store.close_blocking();
        let history = world.project.open_session_all(id).expect("all");
        assert_eq!(assert_sound(&history), n + 1);
    }
}

#[test]
fn eight_processes_with_eight_sessions_of_one_repository_lose_nothing_when_killed() {
    let world = World::new();
    let children: Vec<_> = (1..=8).map(|n| (n, spawn(world.home.path(), n))).collect();
    let mut running = Vec::new();
    for (n, (child, lines)) in children {
        let mut acked = 0;
        while acked < 100 {
            let line = lines
                .recv_timeout(Duration::from_mins(1))
                .expect("it commits");
            let bad = line.starts_with("fault") || line.starts_with("notice");
            assert!(!bad, "{line}");
            if let Some(n) = line.strip_prefix("ack ") {
                acked = n.parse().expect("number");
            }
        }
        running.push((n, child, lines, acked));
    }
    let rows = world.project.list().expect("list");
    assert!(rows.iter().all(|row| row.open_elsewhere));
    for (_, child, _, _) in &mut running {
        child.kill().expect("kill");
    }
    for (n, mut child, lines, mut acked) in running {
        child.wait().expect("wait");
        for line in lines {
            if let Some(n) = line.strip_prefix("ack ") {
                acked = n.parse().expect("number");
            }
        }
        let history = world.project.open_session_all(session_id(n)).expect("all");
        let kept = assert_sound(&history);
        assert!(kept >= acked, "session {n}: {acked} announced, {kept} kept");
    }
    assert_eq!(world.project.list().expect("list").len(), 8);
}
