//! A disk that is full while a turn runs: the turn ends with an error and so does the program; once there
//! is room, work goes on.
//!
//! A limit on file size (RLIMIT_FSIZE) fails writes to the journal the way a full disk does; the signal that
//! comes with it (SIGXFSZ) must not end the program.

use serde_json::{Value, json};

use crate::support::world::{Ran, World};

/// Runs `exec --json` with files limited to so many blocks of the shell's `ulimit`; a run that hangs is
/// killed and has code 137.
fn limited(w: &World, blocks: u32) -> Ran {
    let dunlin = env!("CARGO_BIN_EXE_dunlin");
    let shell = format!(
        "ulimit -f {blocks}; exec timeout -s KILL 120 {dunlin} exec --json --mode auto \
         --model {} go",
        w.model()
    );
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &shell])
        .current_dir(w.worktree())
        .env_clear()
        .envs(w.environment())
        .stdin(std::process::Stdio::null());
    let output = command.output().expect("a shell");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn events(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines.filter_map(|l| serde_json::from_str(l).ok()).collect()
}

#[test]
fn a_full_disk_ends_the_run_with_an_error_and_work_goes_on_with_room() {
    let step = json!({"calls": [{"name": "bash", "input": {
        "command": "head -c 3000 /dev/urandom | base64 -w 76"}}]});
    let steps: Vec<Value> = (0..40).map(|_| step.clone()).collect();
    let w = World::scripted(&json!({"steps": steps, "default": {"text": "fine"}}));
    // in the middle of a result, of a step's end, of a call: wherever the limit falls
    for blocks in [24, 37, 51, 66] {
        let ran = limited(&w, blocks);
        let events = events(&ran);
        let said = format!("{blocks}: code {}\n{}", ran.code, ran.stderr);
        assert_eq!(ran.code, 1, "{said}");
        let last = events.last().unwrap_or(&Value::Null);
        assert_eq!(last["type"], "turn.finished", "{said}");
        assert_eq!(last["reason"], "error", "{said}");
        let refusals: Vec<&Value> = events
            .iter()
            .filter(|e| e["type"] == "error" && e["error"]["kind"] == "storage")
            .collect();
        assert!(!refusals.is_empty(), "{said}");
        let texts: std::collections::BTreeSet<&str> = refusals
            .iter()
            .filter_map(|e| e["error"]["message"].as_str())
            .collect();
        assert_eq!(
            texts.len(),
            refusals.len(),
            "one cause is told once: {refusals:?}"
        );
        w.write_script(&json!({"steps": [], "default": {"text": "fine"}}));
        let ran = w.exec(&["--json", "-c", "and now?"]);
        assert_eq!(ran.code, 0, "{blocks}: {}{}", ran.stdout, ran.stderr);
        w.write_script(&json!({"steps": steps, "default": {"text": "fine"}}));
    }
}
