//! What is wrong is said and ends the run, instead of something else being done; what is printed neither
//! steers the terminal nor hides what happened.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::pty::until;
use crate::support::world::{World, ran};

fn says(text: &str) -> World {
    World::scripted(&json!({"steps": [{"text": text}, {"text": "and more"}]}))
}

fn listed(w: &World) -> Vec<Value> {
    let list = w.run(&["sessions", "list", "--json"]).code(0).stdout;
    serde_json::from_str(&list).expect("json")
}

fn folder_of(w: &World, id: &str) -> std::path::PathBuf {
    let projects = fs::read_dir(w.data().join("projects")).expect("projects");
    let mut folders = projects.map(|p| p.expect("one").path().join("sessions").join(id));
    folders.find(|folder| folder.exists()).expect("a session")
}

#[test]
fn a_session_that_cannot_be_opened_ends_the_run_and_begins_no_other() {
    let w = says("hello");
    w.exec(&["hi"]).code(0);
    let id = w.newest();
    fs::write(folder_of(&w, &id).join("journal"), "nonsense\nand more\n").expect("write");
    fs::remove_file(folder_of(&w, &id).join("meta.json")).expect("remove");
    for args in [
        &["-r", id.as_str(), "go on"][..],
        &["--json", "-r", id.as_str(), "go on"],
    ] {
        let run = w.exec(args).code(1);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("is damaged"), "{said}");
        assert!(
            !said.contains("hello") && !said.contains("session.started"),
            "{said}"
        );
    }
    assert_eq!(listed(&w).len(), 1);
}

#[test]
fn a_prompt_for_a_session_open_elsewhere_is_refused_in_words_and_nothing_of_the_other_is_printed() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command":
            "touch began; for i in $(seq 1 600); do [ -e go ] && exit 0; sleep 0.05; done"}}]},
        {"text": "the other one"}]}));
    let model = w.model();
    let mut first = w
        .command(&["exec", "--model", &model, "--mode", "auto", "first"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("runs");
    until("the first one's command", || {
        w.worktree().join("began").exists()
    });
    let id = w.newest();
    let text = w.exec(&["-r", &id, "second"]).code(1);
    assert_eq!(text.stdout, "");
    assert!(text.stderr.contains("Nothing was sent"), "{}", text.stderr);
    assert!(!text.stderr.contains("✓"), "{}", text.stderr);
    let lines = w.exec(&["--json", "-r", &id, "second"]).code(1).stdout;
    assert!(lines.contains("\"type\":\"error\""), "{lines}");
    fs::write(w.worktree().join("go"), "").expect("write");
    assert!(first.wait().expect("ends").success());
    assert!(!w.run(&["sessions", "show", &id]).stdout.contains("second"));
}

#[test]
fn there_is_nothing_to_go_on_with_after_a_turn_that_ended() {
    let w = says("hello");
    w.exec(&["hi"]).code(0);
    let said = w.exec(&["-c"]).code(2).stderr;
    assert!(said.contains("nothing to go on with"), "{said}");
    let shown = w.run(&["sessions", "show", &w.newest()]).code(0).stdout;
    assert!(!shown.contains("Continue"), "{shown}");
    let empty = says("hello");
    assert!(
        empty
            .exec(&["-c"])
            .code(2)
            .stderr
            .contains("nothing to go on with")
    );
}

#[test]
fn agents_logs_and_flags_that_cannot_be_are_refused() {
    let w = says("hello");
    let said = w.exec(&["--agent", "biuld", "hi"]).code(2).stderr;
    assert!(
        said.contains("no agent biuld") && said.contains("build"),
        "{said}"
    );
    let said = w
        .exec(&["--log", "/nowhere/at/all.log", "hi"])
        .code(2)
        .stderr;
    assert!(said.contains("/nowhere/at/all.log"), "{said}");
    w.exec(&["-c", "-r", "ses_1", "hi"]).code(2);
    assert!(listed(&w).is_empty());
    // what a flag sets is shown as the flag's
    let shown = w
        .run(&["config", "--changed", "--mode", "plan"])
        .code(0)
        .stdout;
    assert!(
        shown
            .lines()
            .any(|l| l.contains("plan") && l.ends_with("--mode")),
        "{shown}"
    );
    assert!(!shown.contains("built-in"), "{shown}");
}

#[test]
fn a_search_takes_an_expression_and_answers_as_json() {
    let w = says("look at the lark");
    w.exec(&["hi"]).code(0);
    let found = w
        .run(&["search", "--regex", "l..k", "--json"])
        .code(0)
        .stdout;
    let found: Vec<Value> = serde_json::from_str(&found).expect("json");
    assert_eq!(found.len(), 1);
    let (from, to) = (&found[0]["found"][0], &found[0]["found"][1]);
    let span = from.as_u64().expect("a place") as usize..to.as_u64().expect("a place") as usize;
    assert_eq!(&found[0]["excerpt"].as_str().expect("text")[span], "look");
    w.run(&["search", "l..k"]).code(1);
    let wrong = w.run(&["search", "--regex", "("]).code(2).stderr;
    assert!(wrong.contains("`(` is not a regular expression"), "{wrong}");
    assert!(!wrong.contains("index"), "{wrong}");
}

#[test]
fn the_users_own_rules_are_judged_by_permissions_check() {
    let w = says("hello");
    fs::create_dir_all(w.config()).expect("folder");
    let rules = "[permission.bash]\n\"ls *\" = \"deny\"\n";
    fs::write(w.config().join("config.toml"), rules).expect("write");
    let said = w
        .run(&["permissions", "check", "--", "ls -la"])
        .code(0)
        .stdout;
    assert!(said.starts_with("deny"), "{said}");
}

#[test]
fn an_import_grants_nothing() {
    let w = World::scripted(&json!({"steps": [
        {"text": "first"},
        {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}, {"text": "done"}]}));
    w.exec(&["--mode", "auto", "hi"]).code(0);
    let id = w.newest();
    let text = w
        .run(&["sessions", "export", "--format", "json", &id])
        .code(0)
        .stdout;
    let mut document: Value = serde_json::from_str(&text).expect("json");
    assert_eq!(document["session"]["mode"], "auto");
    document["values"]["grants"] = json!([{"tool": "bash", "pattern": "*", "action": "allow"}]);
    let file = w.root().join("export.json");
    fs::write(&file, document.to_string()).expect("write");
    let path = file.display().to_string();
    let copy = w.run(&["sessions", "import", &path]).code(0).stdout;
    let run = w.exec(&["-r", copy.trim(), "now"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(!w.worktree().join("made").exists());
}

#[test]
fn a_worktree_goes_on_with_its_own_sessions_only() {
    let w = says("hello");
    w.write("a.txt", "a\n");
    if !w.commit() {
        return;
    }
    let other = w.root().join("other");
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(args)
            .current_dir(w.worktree())
            .output()
            .expect("git")
            .status
            .success()
    };
    assert!(git(&[
        "worktree",
        "add",
        "-q",
        &other.display().to_string()
    ]));
    w.exec(&["hi"]).code(0);
    let id = w.newest();
    let model = w.model();
    let there = |args: &[&str]| {
        let mut command = w.command(args);
        ran(command.current_dir(&other).output().expect("runs"))
    };
    assert!(
        there(&["sessions", "list"])
            .code(0)
            .stdout
            .contains("no sessions in this folder")
    );
    assert!(
        there(&["sessions", "list", "--all"])
            .code(0)
            .stdout
            .contains(&id)
    );
    let said = there(&["exec", "--model", &model, "-r", &id, "more"])
        .code(1)
        .stderr;
    assert!(
        said.contains("belongs to") && said.contains("-C "),
        "{said}"
    );
    there(&["exec", "--model", &model, "-c", "more"]).code(0);
    let all = w
        .run(&["sessions", "list", "--all", "--json"])
        .code(0)
        .stdout;
    let all: Vec<Value> = serde_json::from_str(&all).expect("json");
    assert_eq!(all.len(), 2, "a session of its own was begun");
    assert_eq!(listed(&w).len(), 1);
    // of a worktree that is gone somebody must be able to go on with it
    assert!(git(&[
        "worktree",
        "remove",
        "--force",
        &other.display().to_string()
    ]));
    assert_eq!(listed(&w).len(), 2);
}

#[test]
fn changed_lines_are_listed_when_the_run_is_over() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "printf '1\\n2\\n' >> a.txt"}}]},
        {"text": "done"}]}));
    w.write("a.txt", "a\n");
    if !w.commit() {
        return;
    }
    w.exec(&["--mode", "auto", "hi"]).code(0);
    let row = &listed(&w)[0];
    assert_eq!(
        (&row["added"], &row["removed"]),
        (&json!(2), &json!(0)),
        "{row}"
    );
}

#[test]
fn completions_that_nobody_reads_to_the_end_do_not_panic() {
    let w = says("hello");
    let mut child = w
        .command(&["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    drop(child.stdout.take());
    let ran = ran(child.wait_with_output().expect("ends"));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn manual_pages_are_made_for_every_command_and_name_what_scripts_need() {
    let w = says("hello");
    let page = w.run(&["man"]).code(0).stdout;
    assert!(page.contains(".TH dunlin 1"), "{page}");
    for words in [
        "EXIT STATUS",
        "DUNLIN_DATA_DIR",
        "\\-\\-model",
        "dunlin-exec",
        "interrupted",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let folder = w.root().join("man/man1");
    w.run(&["man", folder.to_str().expect("UTF-8")]).code(0);
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("written")
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    for name in [
        "dunlin.1",
        "dunlin-exec.1",
        "dunlin-sessions-export.1",
        "dunlin-man.1",
    ] {
        assert!(names.iter().any(|n| n == name), "{names:?}");
    }
    assert!(
        !names
            .iter()
            .any(|n| n.contains("debug") || n.contains("help")),
        "{names:?}"
    );
    let exported = fs::read_to_string(folder.join("dunlin-sessions-export.1")).expect("a page");
    assert!(exported.contains("\\-\\-format"), "{exported}");
    let file = w.root().join("file");
    fs::write(&file, "").expect("a file");
    let refused = w.run(&["man", file.to_str().expect("UTF-8")]).code(1);
    assert!(
        refused.stderr.contains("cannot be written"),
        "{}",
        refused.stderr
    );
}

#[test]
fn completions_know_commands_flags_and_values_in_every_shell() {
    let w = says("hello");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = w.run(&["completions", shell]).code(0).stdout;
        for word in ["sessions", "export", "output-schema", "no-sandbox", "man"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    // the shells that are here read it without complaint
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = w.root().join(shell);
        let text = w.run(&["completions", shell]).code(0).stdout;
        assert!(text.contains("jsonl"), "{shell} does not know the formats");
        fs::write(&script, text).expect("write");
        if let Ok(done) = std::process::Command::new(shell)
            .arg(check)
            .arg(&script)
            .output()
        {
            assert!(
                done.status.success(),
                "{shell}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
    }
}

#[test]
fn an_unknown_variable_is_a_warning_with_the_closest_one_and_stops_nothing() {
    let mut w = says("hello");
    w.set("DUNLIN_LOOP_RETRYS", "3");
    let meant =
        "unknown environment variable DUNLIN_LOOP_RETRYS; did you mean DUNLIN_LOOP_RETRIES?";
    let run = w.exec(&["hi"]).code(0);
    assert!(run.stderr.contains(meant), "{}", run.stderr);
    assert!(run.stdout.contains("hello"), "{}", run.stdout);
    let (run, events) = w.events(&["hi"]);
    run.code(0);
    let told = |event: &Value| event["type"] == "notice" && event.to_string().contains(meant);
    assert!(events.iter().any(told), "{events:?}");
}

#[test]
fn a_terminal_that_is_closed_takes_the_running_command_with_it() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command":
            "echo $$ > pid; for i in $(seq 1 600); do sleep 0.05; done"}}]}, {"text": "done"}]}));
    let model = w.model();
    let mut child = w
        .command(&["exec", "--model", &model, "--mode", "auto", "hi"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("runs");
    let pid = w.worktree().join("pid");
    until("the command", || {
        fs::read_to_string(&pid).is_ok_and(|t| t.ends_with('\n'))
    });
    let own = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(own, rustix::process::Signal::HUP).expect("kill");
    let begun = Instant::now();
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(20));
    let command = w.read("pid").trim().to_owned();
    until("the end of the command", || {
        let state = fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    });
}

#[test]
fn snapshots_that_are_off_are_told_at_the_start() {
    let w = says("hello");
    let model = w.model();
    let mut command = w.command(&["exec", "--json", "--model", &model, "hi"]);
    // the home folder is no project
    let run = ran(command.env("HOME", w.worktree()).output().expect("runs")).code(0);
    let told = run.stdout.lines().any(|line| {
        line.contains("\"notice\"") && line.contains("Snapshots are off") && line.contains("undo")
    });
    assert!(told, "{}", run.stdout);
}
