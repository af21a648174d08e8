//! Prompts with pictures that wait in the queue while the program is killed: afterwards they are there,
//! in order, with their pictures, and each is said once. `DUNLIN_KILLS` sets how many runs are killed
//! (default 4), `DUNLIN_SEED` where chance begins.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::crash::{Chance, stored};
use super::orders::{Steered, is_running};
use crate::support::world::World;

/// Text and pictures of something that was typed.
type Typed = (String, Vec<String>);

/// What is queued: guidance and follow-ups.
type Queued = (Vec<Typed>, Vec<Typed>);

/// What the user does while the first command runs.
#[derive(Clone, Copy)]
enum Act {
    /// Types a text with these pictures, as guidance or as a follow-up.
    Type(&'static str, &'static [u8], bool),
    /// Replaces the text that stands at this place of the follow-ups (or of the guidance).
    Replace(bool, usize, &'static str, &'static [u8]),
    Move(bool, usize, usize),
    Remove(bool, usize),
}

const ACTS: &[Act] = &[
    Act::Type("look at this", &[1], false),
    Act::Type("later with two", &[2, 3], true),
    Act::Type("and at these", &[4, 5], false),
    Act::Type("never said", &[6], false),
    Act::Type("last without", &[], true),
    Act::Move(true, 1, 0),
    Act::Remove(false, 2),
    Act::Replace(false, 0, "look at that instead", &[7]),
    Act::Type("one more", &[8], false),
    Act::Replace(true, 1, "later with one", &[3]),
    Act::Move(false, 2, 0),
    Act::Type("the very last", &[1], true),
];

fn picture(n: u8) -> String {
    format!("p{n}.png")
}

fn world() -> World {
    let w = World::scripted(&json!({
        "steps": [{"calls": [{"name": "bash", "input": {"command":
            "for i in $(seq 3000); do [ -e go.now ] && exit 0; sleep 0.02; done"}}]}],
        "default": {"text": "as you say", "chunk": 3},
        "model": {"images": true}}));
    for n in 1..=8 {
        let grey = image::GrayImage::from_pixel(2, 2, image::Luma([n]));
        grey.save(w.worktree().join(picture(n))).expect("a picture");
    }
    w
}

fn files(pictures: &[u8]) -> Vec<Value> {
    let file =
        |n: &u8| json!({"mime": "image/png", "name": picture(*n), "source": {"path": picture(*n)}});
    pictures.iter().map(file).collect()
}

fn typed(text: &str, pictures: &[u8]) -> Typed {
    (
        text.to_owned(),
        pictures.iter().map(|n| picture(*n)).collect(),
    )
}

/// The queue after the first so many acts.
fn after(acts: usize) -> Queued {
    let mut queued = Queued::default();
    for act in &ACTS[..acts] {
        match *act {
            Act::Type(text, pictures, follow) => {
                side(&mut queued, follow).push(typed(text, pictures));
            }
            Act::Replace(follow, at, text, pictures) => {
                side(&mut queued, follow)[at] = typed(text, pictures);
            }
            Act::Move(follow, from, to) => {
                let item = side(&mut queued, follow).remove(from);
                side(&mut queued, follow).insert(to, item);
            }
            Act::Remove(follow, at) => drop(side(&mut queued, follow).remove(at)),
        }
    }
    queued
}

fn side(queued: &mut Queued, follow: bool) -> &mut Vec<Typed> {
    if follow { &mut queued.1 } else { &mut queued.0 }
}

fn names(files: &Value) -> Vec<String> {
    let name = |f: &Value| f["name"].as_str().expect("a name").to_owned();
    files.as_array().into_iter().flatten().map(name).collect()
}

/// The queue as an event tells it.
fn told(queue: &Value) -> Queued {
    let list = |name: &str| -> Vec<Typed> {
        let item = |i: &Value| {
            let text = i["input"]["text"].as_str().expect("a text").to_owned();
            (text, names(&i["input"]["files"]))
        };
        queue[name]
            .as_array()
            .into_iter()
            .flatten()
            .map(item)
            .collect()
    };
    (list("guidance"), list("follow_ups"))
}

/// The order of an act, given what is queued now.
fn order(act: Act, queue: &Value) -> Value {
    let id = |follow: bool, at: usize| {
        queue[if follow { "follow_ups" } else { "guidance" }][at]["id"].clone()
    };
    match act {
        Act::Type(text, pictures, follow) => json!({"type": "prompt", "text": text,
            "files": files(pictures), "delivery": if follow { "follow-up" } else { "guidance" }}),
        Act::Replace(follow, at, text, pictures) => json!({"type": "queue.replace",
            "id": id(follow, at), "text": text, "files": files(pictures)}),
        Act::Move(follow, from, to) => {
            json!({"type": "queue.move", "id": id(follow, from), "to": to})
        }
        Act::Remove(follow, at) => json!({"type": "queue.remove", "id": id(follow, at)}),
    }
}

/// Acts one after the other, each once the one before is told; after `most` of them it is killed without
/// waiting for the last. Gives how many were told.
fn act_and_die(w: &World, most: usize) -> usize {
    let mut run = Steered::start(w, &["--mode", "auto", "start"]);
    run.until("the command runs", is_running("bash"));
    let (mut queue, mut done) = (json!({}), 0);
    for act in &ACTS[..most] {
        run.say(&order(*act, &queue));
        if done + 1 == most {
            break;
        }
        let changed = run.until("it is told", |e| e["type"] == "queue.changed");
        queue = changed["queue"].clone();
        done += 1;
        assert_eq!(told(&queue), after(done), "act {done}");
    }
    done
    // Dropped: killed with -9.
}

/// Goes on with the session; killed after so many lines if there is a number. What was queued at first,
/// and whether it came to its end.
fn go_on(w: &World, lines: Option<u64>) -> (Queued, bool, String) {
    let mut run = Steered::start(w, &["--mode", "auto", "-c"]);
    let started = run.until("the session", |e| e["type"] == "session.started");
    let session = started["session"]["id"].as_str().expect("an id").to_owned();
    let queue = run.until("the queue", |e| e["type"] == "queue.changed");
    let queued = told(&queue["queue"]);
    if started["cut"] == true {
        run.say(&json!({"type": "continue"}));
    } else {
        run.say(&json!({"type": "queue.resume"}));
    }
    let mut count = 0;
    if let Some(most) = lines {
        let mut waits = queued != Queued::default();
        while count < most
            && let Some(event) = run.next()
        {
            count += 1;
            if event["type"] == "queue.changed" {
                waits = told(&event["queue"]) != Queued::default();
            }
            // Nothing more comes by itself.
            if event["type"] == "turn.finished" && !waits {
                break;
            }
        }
        return (queued, false, session);
    }
    assert_eq!(run.end(), 0, "{:#?}", run.events.last());
    (queued, true, session)
}

/// What the user said, message by message, with the blobs of the pictures.
fn said(w: &World, session: &str) -> Vec<(Typed, Vec<String>)> {
    let mut all = Vec::new();
    for message in stored(w, session).iter().filter(|m| m["role"] == "user") {
        let parts = message["parts"].as_array().expect("parts");
        if parts.iter().any(|p| p["synthetic"] == true) {
            continue;
        }
        let text = parts.iter().find_map(|p| p["text"].as_str());
        let pictures: Vec<&Value> = parts.iter().filter(|p| p["type"] == "file").collect();
        let name = |p: &&Value| p["name"].as_str().expect("a name").to_owned();
        let blob = |p: &&Value| p["source"]["blob"].as_str().expect("a blob").to_owned();
        let names = pictures.iter().map(name).collect();
        let blobs = pictures.iter().map(blob).collect();
        all.push(((text.unwrap_or_default().to_owned(), names), blobs));
    }
    all
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries.map(|e| e.path()).find_map(|path| {
        if path.is_dir() {
            return find(&path, name);
        }
        path.to_string_lossy()
            .replace('/', "")
            .contains(name)
            .then_some(path)
    })
}

fn joined(items: &[Typed]) -> Option<Typed> {
    let texts: Vec<&str> = items.iter().map(|(text, _)| text.as_str()).collect();
    let text = match texts.as_slice() {
        [] => return None,
        [one] => (*one).to_owned(),
        [a, b] => format!("First: {a}\n\nAlso: {b}"),
        many => {
            let each = many
                .iter()
                .enumerate()
                .map(|(n, t)| format!("[{}]: {t}", n + 1));
            each.collect::<Vec<_>>().join("\n\n")
        }
    };
    let files = items.iter().flat_map(|(_, files)| files.clone());
    Some((text, files.collect()))
}

#[test]
fn queued_prompts_keep_their_order_and_their_pictures_over_kills() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let kills = number("DUNLIN_KILLS").unwrap_or(4);
    let mut chance = Chance(number("DUNLIN_SEED").unwrap_or(5));
    for kill in 0..kills {
        let w = world();
        // The first run has every act, so that the end of the list is always seen.
        let most = if kill == 0 {
            ACTS.len()
        } else {
            1 + chance.below(ACTS.len() as u64) as usize
        };
        let told = act_and_die(&w, most);
        w.write("go.now", "");
        // Killed once more while it is being said.
        let lines = 1 + chance.below(60);
        let (queued, _, _) = go_on(&w, Some(lines));
        let context = format!("kill {kill}: {most} acts, {told} told, then {lines} lines");
        let states = [told, most].map(after);
        assert!(states.contains(&queued), "{context}: {queued:?}");
        let (_, _, session) = go_on(&w, None);
        let got = said(&w, &session);
        let mut wanted = vec![("start".to_owned(), Vec::new())];
        wanted.extend(joined(&queued.0));
        wanted.extend(queued.1);
        let texts: Vec<&Typed> = got.iter().map(|(typed, _)| typed).collect();
        assert_eq!(texts, wanted.iter().collect::<Vec<_>>(), "{context}");
        for ((_, names), blobs) in &got {
            for (name, blob) in names.iter().zip(blobs) {
                let hash = blob.trim_start_matches("blob:");
                let path = find(&w.data(), hash).unwrap_or_else(|| panic!("{context}: {blob}"));
                let bytes = std::fs::read(path).expect("readable");
                let original = std::fs::read(w.worktree().join(name)).expect("a picture");
                assert_eq!(bytes, original, "{context}: {name}");
            }
        }
    }
}

#[test]
fn a_prompt_after_a_crash_is_said_together_with_what_was_typed_before() {
    let w = world();
    act_and_die(&w, 4);
    let mut run = Steered::start(&w, &["--mode", "auto", "-c", "and the new one"]);
    w.write("go.now", "");
    let session = run.until("the session", |e| e["type"] == "session.started");
    assert_eq!(run.end(), 0);
    let session = session["session"]["id"].as_str().expect("an id").to_owned();
    let got = said(&w, &session);
    let (text, files) = &got[1].0;
    assert!(
        text.contains("[1]: look at this\n\n[2]: and at these")
            && text.ends_with("]: and the new one"),
        "{text}"
    );
    assert_eq!(files[..3], [picture(1), picture(4), picture(5)]);
    assert_eq!(got[2].0.0, "later with two", "the follow-up comes after it");
}
