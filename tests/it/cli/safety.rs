//! What must not happen, whatever a model says: writes in mode plan, escapes on a terminal, an agent
//! that nobody defined.

use serde_json::json;

use crate::support::pty::Terminal;
use crate::support::world::{World, of_type, tools};

/// Clears the screen, names the window, fills the clipboard, turns the text around.
const EVIL: &str = "fin \u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;ZXZpbA==\u{7}\u{9b}31m\u{202e}end";

fn evil() -> World {
    World::scripted(&json!({"steps": [
        {"text": EVIL, "calls": [
            {"name": "bash", "input": {"command": format!("echo '{EVIL}'")}},
            {"name": "read", "input": {"file_path": format!("no{EVIL}")}}]},
        {"text": EVIL}
    ]}))
}

fn assert_harmless(text: &str, what: &str) {
    for bad in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'] {
        assert!(!text.contains(bad), "{bad:?} on {what}: {text:?}");
    }
}

#[test]
fn in_plan_commands_have_a_temporary_folder_of_their_own_and_may_write_nowhere_else() {
    if !dunlin::sandbox::detect().is_full() {
        return;
    }
    let call = |command: &str| json!({"name": "bash", "input": {"command": command}});
    let w = World::scripted(&json!({"steps": [
        {"calls": [call("echo \"own: $TMPDIR\"; ls")]},
        {"text": "ok"}
    ]}));
    w.write("a.txt", "b\na\n");
    let (ran, events) = w.events(&["--mode", "plan", "go"]);
    ran.code(0);
    let output = tools(&events)[0]["state"]["output"].to_string();
    let own = output
        .split("own: ")
        .nth(1)
        .and_then(|o| o.split("\\n").next());
    let own = own.expect("a folder");
    assert!(own.contains("dunlin-plan-"), "{output}");
    assert!(!std::path::Path::new(own).exists(), "gone with the session");
}

#[test]
fn escapes_of_models_and_tools_reach_neither_stderr_nor_a_terminal() {
    let w = evil();
    let ran = w.exec(&["--mode", "auto", "go"]);
    assert_harmless(&ran.stderr, "stderr");
    assert!(ran.stderr.contains("fin"), "{}", ran.stderr);
    assert_eq!(ran.stdout, format!("{EVIL}\n"), "a pipe gets what was said");
    let refused = evil().exec(&["--mode", "ask", "go"]);
    assert_harmless(&refused.stderr, "stderr");
}

#[test]
fn what_is_printed_on_a_terminal_is_cleaned() {
    let w = evil();
    let model = w.model();
    let args = ["exec", "--model", model.as_str(), "--mode", "auto", "go"];
    let mut terminal = Terminal::start(&w, &args, (24, 80));
    assert_eq!(terminal.ends(), 0);
    let said = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(said.contains("fin"), "{said:?}");
    assert_harmless(&said, "the terminal");
    let session = w.newest();
    for args in [
        &["sessions", "show", session.as_str()][..],
        &["sessions", "export", "--format", "json", session.as_str()],
        &["sessions", "list"],
        &["search", "fin"],
        &["inspect", session.as_str()],
        &["permissions", "check", "--", EVIL],
    ] {
        let mut terminal = Terminal::start(&w, args, (24, 80));
        terminal.ends();
        let raw = terminal.raw();
        let text = String::from_utf8_lossy(&raw).into_owned();
        assert!(!text.is_empty(), "{args:?} prints");
        assert_harmless(&text, &args.join(" "));
    }
}

#[test]
fn json_lines_hold_no_raw_controls_and_mean_the_same() {
    let w = evil();
    let (ran, events) = w.events(&["--mode", "auto", "go"]);
    assert_harmless(&ran.stdout, "stdout");
    let said = of_type(&events, "part.updated")
        .iter()
        .any(|e| e["part"]["text"] == EVIL);
    assert!(said, "the value is unchanged");
    assert_eq!(tools(&events).len(), 2);
}

#[test]
fn an_agent_that_is_none_is_refused_with_the_names() {
    let w = World::scripted(&json!({"steps": [{"text": "ok"}]}));
    for (name, says) in [
        ("paln", "Did you mean plan?"),
        ("nope", "There is no agent nope."),
        ("explore", "subagent"),
        ("compaction", "dunlin itself"),
        ("title", "dunlin itself"),
    ] {
        let ran = w.exec(&["--agent", name, "go"]).code(2);
        assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("build, plan"), "{name}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    w.exec(&["--agent", "plan", "go"]).code(0);
    let own = w.config().join("agents");
    std::fs::create_dir_all(&own).expect("folder");
    std::fs::write(
        own.join("mine.md"),
        "---\ndescription: mine\n---\nBe brief.\n",
    )
    .expect("agent");
    w.exec(&["--agent", "mine", "go"]).code(0);
    let ran = w.exec(&["--config", "agent=gone", "go"]).code(0);
    assert!(ran.stderr.contains("no agent gone"), "{}", ran.stderr);
}

#[test]
#[cfg(unix)]
fn permissions_check_decides_as_a_session_would() {
    let w = World::scripted(&json!({"steps": [{"text": "ok"}]}));
    w.write("a.txt", "a\n");
    w.write("sub/b.txt", "b\n");
    std::fs::create_dir_all(w.worktree().join(".git")).expect("a repository");
    std::os::unix::fs::symlink("/etc/passwd", w.worktree().join("pw")).expect("link");
    std::os::unix::fs::symlink("/etc", w.worktree().join("etclink")).expect("link");
    let word = |args: &[&str], line: &str| {
        let mut all = vec!["permissions", "check"];
        all.extend(args);
        all.extend(["--", line]);
        let out = w.run(&all).code(0).stdout;
        out.lines().next().unwrap_or_default().to_owned()
    };
    for (line, wanted) in [
        ("cat a.txt", "allow"),
        ("cat pw", "ask"),
        ("cat etclink/passwd", "ask"),
        ("cd etclink && cat passwd", "ask"),
        ("cat *", "ask"),
        ("cat *.txt", "allow"),
        ("find -L . -name passwd", "ask"),
        ("grep -R root .", "ask"),
        ("echo hi > /tmp/foo", "ask"),
        ("echo hi > ../x", "ask"),
        ("cat ../script.json", "ask"),
    ] {
        assert_eq!(word(&[], line), wanted, "{line}");
    }
    // in a subfolder the repository is the worktree
    let folder = w.worktree().join("sub").to_string_lossy().into_owned();
    assert_eq!(word(&["-C", &folder], "cat ../a.txt"), "allow");
    assert_eq!(word(&["-C", &folder], "cat ../../script.json"), "ask");
    // the configuration's own rules
    let rule = "permission.bash={'cargo test *'='allow'}";
    assert_eq!(word(&["--config", rule], "cargo test x"), "allow");
    assert_eq!(word(&[], "cargo test x"), "ask");
}
