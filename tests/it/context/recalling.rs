//! Recall through the whole program: facts planted in outputs that were then pruned, folded and compacted
//! away, in a session that was closed and opened again.

use serde_json::{Value, json};

use crate::agent::orders::Steered;
use crate::support::world::{World, of_type, tools};

const TURNS: usize = 11;
const READS: usize = 3;

/// A name that stands in one file only.
fn fact(turn: usize, read: usize) -> String {
    format!(
        "the harbour of {} is blue-{turn:02}{read}",
        ["Ostra", "Vell", "Kern"][read]
    )
}

fn file(turn: usize, read: usize) -> String {
    format!("notes/t{turn}/r{read}.txt")
}

fn world() -> World {
    let turns: Vec<Value> = (0..TURNS)
        .map(|turn| {
            let read = |read| json!({"calls": [{"name": "read", "input": {"file_path": file(turn, read)}}]});
            let mut steps: Vec<Value> = (0..READS).map(read).collect();
            steps.push(json!({"calls": [{"name": "bash", "input":
                {"command": format!("tail -n 1 {}; echo code QX-{turn:02}", file(turn, 0))}}]}));
            steps.push(json!({"text": format!("turn {turn} is read")}));
            json!({"match": format!("^turn {turn}$"), "steps": steps})
        })
        .collect();
    let w = World::scripted(&json!({
        "model": {"context": 60_000, "max_output": 2_000},
        "branches": turns, "steps": [], "side": ["nothing of note was said"]}));
    for turn in 0..TURNS {
        for read in 0..READS {
            let filler = "a line that says nothing at all, again and again\n".repeat(120);
            w.write(
                &file(turn, read),
                &format!("{filler}{}\n{filler}", fact(turn, read)),
            );
        }
    }
    w
}

/// Turns with prunings between them, and a compaction after each of the last five.
fn live_through(w: &World) -> Vec<Value> {
    let limits = ["context.prune_protect=2000", "context.prune_minimum=1000"];
    let mut args = vec!["--mode", "auto"];
    for limit in limits {
        args.extend(["--config", limit]);
    }
    let mut run = Steered::start(w, &args);
    for turn in 0..TURNS {
        run.say(&json!({"type": "prompt", "text": format!("turn {turn}")}));
        run.until("the turn", |e| e["type"] == "turn.finished");
        if turn >= 6 {
            run.say(&json!({"type": "compact"}));
            run.until("a compaction", |e| e["type"] == "context.compacted");
            run.until("its end", |e| e["type"] == "turn.finished");
        }
    }
    assert_eq!(run.end(), 0);
    std::mem::take(&mut run.events)
}

/// Asks in a process of its own; the answers of `recall`, in order.
fn ask(w: &World, name: &str, inputs: &[Value]) -> Vec<String> {
    let calls = |i: &Value| json!({"calls": [{"name": "recall", "input": i}]});
    let steps: Vec<Value> = inputs
        .iter()
        .map(calls)
        .chain([json!({"text": "found"})])
        .collect();
    w.write_script(&json!({
        "model": {"context": 60_000, "max_output": 2_000},
        "branches": [{"match": format!("^{name}"), "steps": steps}], "steps": []}));
    let (ran, events) = w.events(&["-c", name]);
    ran.code(0);
    let answers: Vec<String> = tools(&events)
        .iter()
        .map(|p| p["state"]["output"].as_str().expect("an answer").to_owned())
        .collect();
    assert_eq!(answers.len(), inputs.len());
    answers
}

#[test]
fn every_fact_is_found_after_pruning_folding_five_compactions_and_reopening() {
    let w = world();
    let events = live_through(&w);
    assert!(
        of_type(&events, "context.pruned").len() >= 3,
        "outputs were pruned"
    );
    assert_eq!(of_type(&events, "context.compacted").len(), 5);
    let report = w.run(&["inspect", &w.newest(), "--json"]).code(0).stdout;
    let report: Value = serde_json::from_str(&report).expect("json");
    assert!(report["pruned_parts"].as_u64() > Some(8), "{report}");
    let reads: Vec<Value> = tools(&events)
        .into_iter()
        .filter(|p| p["tool"] == "read")
        .collect();
    assert_eq!(reads.len(), TURNS * READS);

    // By words, in any order; each names the part.
    let all = |(turn, read): (usize, usize)| (turn, read, fact(turn, read));
    let facts: Vec<_> = (0..TURNS)
        .flat_map(|t| (0..READS).map(move |r| (t, r)))
        .map(all)
        .collect();
    let words: Vec<Value> = facts
        .iter()
        .map(|(turn, read, _)| json!({"query": format!("blue-{turn:02}{read} harbour")}))
        .collect();
    for ((answer, (turn, read, fact)), part) in
        ask(&w, "words", &words).iter().zip(&facts).zip(&reads)
    {
        let id = part["id"].as_str().expect("an id");
        assert!(
            answer.contains(fact) && answer.contains(id),
            "{turn} {read}: {answer}"
        );
    }
    // By regular expression, tool, file and turn.
    let narrow = [
        (
            json!({"query": "code QX-0[0-3]", "regex": true, "tool": "bash"}),
            4,
            "QX-03",
        ),
        (
            json!({"query": "harbour", "file": file(1, 2)}),
            1,
            "blue-012",
        ),
        (
            json!({"query": "harbour", "tool": "read", "turn": 3}),
            READS,
            "blue-020",
        ),
        (json!({"turn": 1, "tool": "read"}), READS, "t0/r1.txt"),
    ];
    let inputs: Vec<Value> = narrow.iter().map(|(input, _, _)| input.clone()).collect();
    for (answer, (input, count, says)) in ask(&w, "narrow", &inputs).iter().zip(&narrow) {
        let hits = answer.lines().filter(|l| l.starts_with("prt_")).count();
        assert_eq!(hits, *count, "{input}: {answer}");
        assert!(answer.contains(says), "{input}: {answer}");
    }
    // By id, whole; and only the lines that match.
    let id = reads[0]["id"].clone();
    let fetch = [json!({"part": id}), json!({"part": id, "query": "harbour"})];
    let answers = ask(&w, "fetch", &fetch);
    assert!(answers[0].contains(&fact(0, 0)) && answers[0].lines().count() > 200);
    assert!(
        answers[1].contains(&fact(0, 0)) && answers[1].lines().count() < 5,
        "{}",
        answers[1]
    );
}
