//! Commands and the system: a session of their own, and what happens when the sandbox stops one.

use serde_json::json;

use super::orders::Steered;
use crate::support::world::{World, tools};

/// Connects to a port that nobody listens on: without a network not even the socket can be had.
const CONNECT: &str = "(: 3<>/dev/tcp/127.0.0.1/9) 2>&1; echo tried >> tries; false";

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn supported() -> bool {
    let full = dunlin::sandbox::detect().is_full();
    if !full {
        eprintln!("skipped: no sandbox here");
    }
    full
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_leads_a_session_of_its_own_and_has_no_terminal() {
    let look = json!({"name": "bash", "input": {"command":
        "cut -d' ' -f1,5,6,7 /proc/$$/stat; (: < /dev/tty) 2>/dev/null || echo no terminal"}});
    for extra in [&["go"][..], &["--no-sandbox", "go"]] {
        let w = World::scripted(&json!({"steps": [{"calls": [look]}, {"text": "ok"}]}));
        let mut run = Steered::start(&w, extra);
        let asked = run.until("the question", |e| e["type"] == "permission.asked");
        let yes =
            json!({"type": "answer", "ask": asked["ask"]["id"], "answer": {"answer": "once"}});
        run.say(&yes);
        assert_eq!(run.end(), 0);
        let events = &run.events;
        let output = tools(events)[0]["state"]["output"].to_string();
        let output = output.trim_matches('"').replace("\\n", "\n");
        let facts: Vec<&str> = output
            .lines()
            .next()
            .unwrap_or_default()
            .split(' ')
            .collect();
        let [process, group, session, terminal] = facts.as_slice() else {
            panic!("{output}");
        };
        assert_eq!((group, session), (process, process), "{extra:?}: {output}");
        assert_eq!(*terminal, "0", "{extra:?}: {output}");
        assert!(output.contains("no terminal"), "{extra:?}: {output}");
    }
}

fn blocked() -> World {
    let call = json!({"name": "bash", "input": {"command": CONNECT}});
    World::scripted(&json!({"steps": [{"calls": [call]}, {"text": "ok"}]}))
}

#[test]
fn what_the_sandbox_stopped_is_asked_about_and_runs_once_without_it() {
    if !supported() {
        return;
    }
    for (answer, tries) in [("once", 2), ("no", 1)] {
        let w = blocked();
        let mut run = Steered::start(&w, &["--mode", "auto", "go"]);
        let asked = run.until("the question", |e| e["type"] == "permission.asked");
        let body = &asked["ask"]["body"];
        assert_eq!(body["heading"], "Run once without the sandbox");
        assert_eq!(body["subject"], CONNECT);
        assert!(
            body["sees"][0]
                .as_str()
                .expect("a sentence")
                .contains("no network")
        );
        assert!(body["where"].as_str().expect("a place").contains("sandbox"));
        assert!(body["pattern"].is_null(), "never more than once");
        run.say(
            &json!({"type": "answer", "ask": asked["ask"]["id"], "answer": {"answer": answer}}),
        );
        let ended = run.until("the end", |e| e["type"] == "turn.finished");
        assert_eq!(ended["reason"], "done", "a no is an answer, not the end");
        assert_eq!(run.end(), 0);
        let part = &tools(&run.events)[0];
        let output = part["state"]["output"].as_str().expect("text");
        let facts = &part["state"]["metadata"]["sandbox"];
        assert_eq!(facts["blocked"], "network", "{output}");
        assert_eq!(facts["without"], answer == "once", "{output}");
        assert_eq!(
            output.contains("Connection refused"),
            answer == "once",
            "{output}"
        );
        assert_eq!(w.read("tries").lines().count(), tries);
    }
}

#[test]
fn headless_it_is_reported_and_the_run_goes_on() {
    if !supported() {
        return;
    }
    let w = blocked();
    let (done, events) = w.events(&["--mode", "auto", "go"]);
    done.code(0);
    let output = tools(&events)[0]["state"]["output"].to_string();
    assert!(output.contains("The sandbox blocked this"), "{output}");
    assert!(output.contains("Nobody could be asked"), "{output}");
    assert_eq!(w.read("tries").lines().count(), 1);
}
