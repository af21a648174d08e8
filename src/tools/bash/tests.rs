//! `bash` and its jobs with real processes: output, time limits, kills, floods, the sandbox's word.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant as Clock};

use futures_util::future::BoxFuture;
use serde_json::json;

use super::*;
use crate::config::used::{BashSettings, OutputLimits};
use crate::protocol::{Answer, AskBody, IdMint, Mode, PartId, SessionId};
use crate::sandbox::Blocked;
use crate::tools::blocking::Blocking;
use crate::tools::output::OutputStore;
use crate::tools::reads::ReadLedger;
use crate::tools::workspace::{Places, Workspace};
use crate::tools::{AskUser, Failure, Success, Tool, ToolContext};

struct World {
    dir: tempfile::TempDir,
    context: ToolContext,
    jobs: Arc<Jobs>,
    bash: Bash,
}

use std::sync::Arc;
#[path = "job_tests.rs"]
mod jobs_and_sandbox;

fn world() -> World {
    world_with(None)
}

fn world_with(wrapper: Option<Arc<dyn CommandWrapper>>) -> World {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let root = dir.path().join("tree");
    fs::create_dir(&root).expect("a folder");
    let mut mint = IdMint::new(1, 0);
    let context = ToolContext::new(
        (mint.session(1), mint.part(1)),
        Arc::new(Workspace::new(&root, &root, &Places::default())),
        Arc::new(ReadLedger::new()),
        Arc::new(OutputStore::new(
            OutputLimits::default(),
            dir.path().join("out"),
        )),
    );
    let jobs = Arc::new(Jobs::new());
    let settings = BashSettings::default();
    let environment = Environment::of_process(&[], &settings.env);
    let bash = Bash::new(settings, environment, wrapper, Arc::clone(&jobs));
    World {
        dir,
        context,
        jobs,
        bash,
    }
}

impl World {
    async fn run(&self, input: serde_json::Value) -> Result<Success, Failure> {
        self.bash.run(input, self.context.clone()).await
    }

    async fn command(&self, command: &str) -> Success {
        self.run(json!({"command": command})).await.expect("it ran")
    }

    fn session(&self) -> SessionId {
        self.context.session
    }
}

/// Waits (bounded) until no process has this marker in its command line any more.
async fn gone(home: &Path, marker: &str) -> bool {
    for _ in 0..800 {
        if !alive(home, marker) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// True if a `sleep` of the world in this folder has the marker; suites may run side by side.
fn alive(home: &Path, marker: &str) -> bool {
    let entries = fs::read_dir("/proc").expect("processes");
    entries.flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let ours = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(home));
        // the shell has the marker in its command line before it has started anything
        ours && line.starts_with(b"sleep")
            && memchr::memmem::find(&line, marker.as_bytes()).is_some()
    })
}

async fn until(mut condition: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain");
}

#[tokio::test]
async fn output_comes_in_order_with_exit_code_and_facts() {
    let world = world();
    let done = world
        .command("echo one; echo two >&2; echo three; exit 3")
        .await;
    assert_eq!(done.output, "one\ntwo\nthree\n\n(Exit code 3)");
    let facts = &done.metadata;
    assert_eq!(
        (&facts["exit"], &facts["signal"], &facts["timed_out"]),
        (&json!(3), &json!(null), &json!(false))
    );
    assert_eq!(
        (&facts["first"], &facts["lines"]),
        (&json!(["one", "two", "three"]), &json!(3))
    );
    assert_eq!(done.title, "echo one; echo two >&2; echo three; exit 3");
    assert_eq!(world.command("true").await.output, "(no output)");
    assert_eq!(world.command("false").await.output, "(Exit code 1)");
}

#[tokio::test]
async fn a_command_ended_by_a_signal_says_which() {
    let done = world().command("echo before; kill -SEGV $$").await;
    assert_eq!(done.output, "before\n\n(The command was ended by SIGSEGV)");
    assert_eq!(
        (&done.metadata["exit"], &done.metadata["signal"]),
        (&json!(null), &json!("SIGSEGV"))
    );
}

#[tokio::test]
async fn it_runs_in_the_current_folder_with_a_quiet_environment_and_no_input() {
    let world = world();
    let done = world
        .command("pwd; echo $TERM $PAGER $GIT_TERMINAL_PROMPT; cat; read x; echo \"[$?]\"")
        .await;
    let root = world
        .context
        .workspace
        .root()
        .to_string_lossy()
        .into_owned();
    assert_eq!(done.output, format!("{root}\ndumb cat 0\n[1]\n"));
    fs::create_dir(world.context.workspace.root().join("sub")).expect("a folder");
    let done = world
        .run(json!({"command": "pwd", "cwd": "sub"}))
        .await
        .expect("it ran");
    assert_eq!(done.output, format!("{root}/sub\n"));
}

#[tokio::test]
async fn bad_input_is_a_sentence() {
    let world = world();
    for (input, words) in [
        (json!({}), "`command` of `bash` is missing"),
        (json!({"command": "  "}), "is empty"),
        (
            json!({"command": "true", "cwd": "nowhere"}),
            "does not exist",
        ),
        (json!({"command": "a\0b"}), "could not be started"),
        (
            json!({"command": "true", "timeout": "soon"}),
            "`timeout` of `bash` must be",
        ),
    ] {
        let failure = world.run(input).await.expect_err("refused");
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[tokio::test]
async fn output_that_is_no_text_is_decoded_lossily() {
    let done = world().command(r"printf 'a\xffb\n'").await;
    assert_eq!(done.output, "a\u{fffd}b\n");
}

#[tokio::test]
async fn a_flood_is_cut_saved_whole_and_costs_little() {
    let world = world();
    let done = world
        .command("head -c 67108864 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo the end")
        .await;
    let full = done.truncated.clone().expect("saved");
    assert!(done.output.len() < 31_000 && done.output.contains("bytes truncated"));
    assert!(done.output.contains(&full.path) && done.output.contains("the end"));
    let saved = fs::metadata(&full.path).expect("the file").len();
    assert_eq!(
        (saved, full.bytes),
        (done.metadata["bytes"].as_u64().expect("bytes"), saved)
    );
    assert!(saved > 64 << 20);
    let text = fs::read(&full.path).expect("the file");
    assert!(text.ends_with(b"\nthe end\n") && text[..99].iter().all(|byte| *byte == b'x'));
}

/// `DUNLIN_FLOOD_MIB=4096` makes it a measurement: it prints its time, that of `cat > /dev/null`, and
/// the most memory that this process ever had.
#[expect(clippy::print_stdout, reason = "it is a measurement when asked for")]
#[tokio::test]
async fn a_flood_of_any_size_leaves_memory_as_it_was() {
    let asked = std::env::var("DUNLIN_FLOOD_MIB")
        .ok()
        .and_then(|size| size.parse::<u64>().ok());
    let mib = asked.unwrap_or(64);
    let world = world();
    let resident = || {
        let status = fs::read_to_string("/proc/self/status").expect("status");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .expect("a peak");
        let number: u64 = line
            .split_whitespace()
            .nth(1)
            .expect("a number")
            .parse()
            .expect("KiB");
        number / 1024
    };
    let flood = format!(
        "yes 0123456789012345678901234567890 | head -c {}",
        mib << 20
    );
    let begin = Clock::now();
    let done = world
        .run(json!({"command": flood, "timeout": 600_000}))
        .await
        .expect("it ran");
    let ours = begin.elapsed();
    assert_eq!(done.metadata["bytes"], json!(mib << 20));
    assert_eq!(
        fs::metadata(&done.truncated.expect("saved").path)
            .expect("the file")
            .len(),
        mib << 20
    );
    if asked.is_some() {
        let begin = Clock::now();
        world.command(&format!("{flood} | cat > /dev/null")).await;
        println!(
            "flood of {mib} MiB: {ours:?}, cat: {:?}, peak {} MiB",
            begin.elapsed(),
            resident()
        );
    }
}

#[tokio::test]
async fn a_time_limit_kills_and_says_so() {
    let world = world();
    let home = world.dir.path().to_owned();
    let begin = Clock::now();
    let input = json!({"command": "echo begun; sleep 7654321", "timeout": 300});
    let done = world.run(input).await.expect("it ran");
    assert!(begin.elapsed() < Duration::from_secs(6));
    assert!(
        done.output
            .starts_with("begun\n\n(The command was killed because it ran longer than 0.3 s."),
        "{}",
        done.output
    );
    assert_eq!(done.metadata["timed_out"], json!(true));
    assert!(gone(&home, "7654321").await);
}

#[tokio::test]
async fn no_time_at_all_means_the_usual_time() {
    let world = world();
    let done = world.run(json!({"command": "sleep 0.05; echo done", "timeout": 0}));
    let done = done.await.expect("it ran");
    assert_eq!(
        (done.output.as_str(), &done.metadata["timed_out"]),
        ("done\n", &json!(false))
    );
}

#[tokio::test]
async fn a_command_that_ignores_term_is_killed_after_two_seconds() {
    let world = world();
    let home = world.dir.path().to_owned();
    let input = json!({"command": "trap '' TERM; echo armed; while :; do sleep 0.6543; done", "timeout": 200});
    let begin = Clock::now();
    let done = world.run(input).await.expect("it ran");
    let took = begin.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert_eq!(
        (&done.metadata["signal"], &done.metadata["timed_out"]),
        (&json!("SIGKILL"), &json!(true))
    );
    assert!(gone(&home, "0.6543").await);
}

#[tokio::test]
async fn an_interrupt_returns_at_once_with_what_there_is_and_leaves_nothing_behind() {
    let world = world();
    let home = world.dir.path().to_owned();
    let input = json!({"command":
        "trap '' TERM; echo partial; (trap '' TERM; setsid sleep 8765431 & sleep 8765432) & sleep 8765433; sleep 8765434"});
    let cancel = world.context.cancel.clone();
    let mut progress = world.context.progress.subscribe();
    let running = tokio::spawn(world.bash.run(input, world.context.clone()));
    progress
        .wait_for(|update| update.tail.contains("partial"))
        .await
        .expect("a live tail");
    until(|| alive(&home, "8765431") && alive(&home, "8765432")).await;
    let begin = Clock::now();
    cancel.cancel();
    let failure = running.await.expect("no panic").expect_err("interrupted");
    // 100 ms on an idle machine; far below the 2 s that these processes take to be killed on a busy one
    assert!(
        begin.elapsed() < Duration::from_secs(1),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(
        failure.message,
        "partial\n\n[Tool execution was interrupted]"
    );
    assert_eq!(failure.metadata["interrupted"], json!(true));
    assert!(gone(&home, "876543").await);
}

#[tokio::test]
async fn dropping_the_call_kills_its_group() {
    let world = world();
    let home = world.dir.path().to_owned();
    let mut call = world.bash.run(
        json!({"command": "sleep 5432101 & sleep 5432102"}),
        world.context.clone(),
    );
    until(|| {
        let polled = futures_util::FutureExt::now_or_never(&mut call);
        assert!(polled.is_none());
        alive(&home, "5432101") && alive(&home, "5432102")
    })
    .await;
    drop(call);
    assert!(gone(&home, "543210").await);
}

#[tokio::test]
async fn a_command_that_leaves_a_process_behind_does_not_wait_for_it() {
    let world = world();
    let home = world.dir.path().to_owned();
    let begin = Clock::now();
    let done = world.command("sleep 4321012 & echo started").await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(done.metadata["exit"], json!(0));
    assert!(
        done.output
            .starts_with("started\n\n(Processes that it started are still running, as job-1"),
        "{}",
        done.output
    );
    assert!(alive(&home, "4321012"));
    let kill = Kill::new(Arc::clone(&world.jobs));
    kill.run(json!({"job": "job-1"}), world.context.clone())
        .await
        .expect("killed");
    assert!(gone(&home, "4321012").await);
}

#[tokio::test]
async fn a_daemon_keeps_running_without_a_pipe_to_write_to() {
    let world = world();
    let home = world.dir.path().to_owned();
    let done = world
        .command("setsid sleep 3210123 >/dev/null 2>&1 & echo $!")
        .await;
    assert_eq!(done.metadata["job"], json!(null));
    until(|| alive(&home, "3210123")).await;
    let killed = world
        .command(&format!("kill {}; echo $?", done.output.trim()))
        .await;
    assert_eq!(killed.output, "0\n");
    assert!(gone(&home, "3210123").await);
}
