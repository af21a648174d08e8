//! Pictures on their way to a model, over HTTP: small enough, known by their bytes, and a note where there is
//! none. What cannot be sent is told.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::orders::Steered;
use crate::support::server::{Reply, Server, end, text};
use crate::support::world::World;

const MODEL: &str = "anthropic/claude-sonnet-4-5";

fn over_http(answers: usize) -> (World, Server) {
    let answer = || Reply::Stream(vec![text("I see."), end("end_turn")]);
    let server = Server::start((0..answers).map(|_| answer()).collect());
    let mut w = World::new();
    w.set("ANTHROPIC_API_KEY", "sk-test-secret");
    w.set("ANTHROPIC_BASE_URL", &server.base);
    (w, server)
}

fn draw(w: &World, name: &str, (columns, rows): (u32, u32)) {
    let picture = image::RgbImage::from_fn(columns, rows, |x, y| {
        image::Rgb([(x / 64 % 256) as u8, (y / 64 % 256) as u8, 9])
    });
    picture.save(w.worktree().join(name)).expect("a picture");
}

/// The pictures and the texts of the newest user message of a request.
fn said(request: &Value) -> (Vec<(String, Vec<u8>)>, String) {
    let messages = request["messages"].as_array().expect("messages");
    let content = messages.last().expect("one")["content"].as_array();
    let mut pictures = Vec::new();
    let mut texts = String::new();
    for block in content.expect("blocks") {
        if block["type"] == "image" {
            let bytes = STANDARD.decode(block["source"]["data"].as_str().expect("data"));
            let mime = block["source"]["media_type"].as_str().expect("a type");
            pictures.push((mime.to_owned(), bytes.expect("base64")));
        } else {
            texts.push_str(block["text"].as_str().unwrap_or_default());
        }
    }
    (pictures, texts)
}

fn size(bytes: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(bytes).expect("a picture");
    (picture.width(), picture.height())
}

#[test]
fn an_attached_picture_is_sent_no_larger_than_models_look_at_and_by_its_true_type() {
    let (w, server) = over_http(1);
    draw(&w, "large.png", (2_400, 1_200));
    draw(&w, "small.jpg", (40, 30));
    // a name that is not true
    std::fs::rename(
        w.worktree().join("small.jpg"),
        w.worktree().join("small.png"),
    )
    .expect("moved");
    let mut run = Steered::begin(&w, &["--model", MODEL]);
    let file = |name: &str| json!({"mime": "image/png", "name": name, "source": {"path": name}});
    run.say(
        &json!({"type": "prompt", "text": "look", "files": [file("large.png"), file("small.png")]}),
    );
    assert_eq!(run.end(), 0);
    let (pictures, _) = said(&server.asked()[0].body);
    let seen: Vec<_> = pictures
        .iter()
        .map(|(mime, bytes)| (mime.as_str(), size(bytes)))
        .collect();
    assert_eq!(
        seen,
        [("image/png", (2_000, 1_000)), ("image/jpeg", (40, 30))]
    );
}

#[test]
fn what_is_no_picture_becomes_a_note_and_is_told() {
    let (w, server) = over_http(1);
    draw(&w, "cut.png", (400, 300));
    let whole = std::fs::read(w.worktree().join("cut.png")).expect("bytes");
    std::fs::write(w.worktree().join("cut.png"), &whole[..200]).expect("cut");
    w.write("words.png", "no picture at all");
    let mut run = Steered::begin(&w, &["--model", MODEL]);
    let file = |name: &str| json!({"mime": "image/png", "name": name, "source": {"path": name}});
    run.say(
        &json!({"type": "prompt", "text": "look", "files": [file("cut.png"), file("words.png")]}),
    );
    assert_eq!(run.end(), 0);
    let events = &run.events;
    let (pictures, texts) = said(&server.asked()[0].body);
    assert!(pictures.is_empty());
    for name in ["cut.png", "words.png"] {
        assert!(texts.contains(&format!("[file {name}")), "{texts}");
        let told = events.iter().any(|event| {
            let text = event["text"].as_str().unwrap_or_default();
            event["type"] == "notice" && text.starts_with(&format!("{name} is not attached"))
        });
        assert!(told, "{events:?}");
    }
}

#[test]
fn a_file_that_a_prompt_of_exec_names_goes_along_and_one_that_is_not_there_does_not() {
    let (w, server) = over_http(1);
    draw(&w, "small.png", (20, 10));
    w.write("notes.txt", "the words of the notes");
    let prompt = "compare @small.png with @notes.txt for @nobody";
    w.run(&["exec", "--model", MODEL, prompt]).code(0);
    let (pictures, texts) = said(&server.asked()[0].body);
    assert_eq!(size(&pictures[0].1), (20, 10));
    assert!(texts.contains("the words of the notes"), "{texts}");
    assert!(
        !texts.contains("[file nobody") && !texts.contains("[The file nobody"),
        "{texts}"
    );
}

#[test]
fn a_picture_whose_bytes_are_gone_is_told_once_and_replaced_by_a_note() {
    let (w, server) = over_http(2);
    draw(&w, "small.png", (20, 10));
    w.run(&["exec", "--model", MODEL, "see @small.png"]).code(0);
    let blobs = w.run(&["sessions", "show", &w.newest()]);
    assert!(blobs.code(0).stdout.contains("small.png"));
    let projects = std::fs::read_dir(w.data().join("projects")).expect("projects");
    for project in projects {
        let blobs = project.expect("one").path().join("blobs");
        std::fs::remove_dir_all(blobs).expect("removed");
    }
    let mut run = Steered::begin(&w, &["--model", MODEL, "-c"]);
    run.say(&json!({"type": "prompt", "text": "again"}));
    assert_eq!(run.end(), 0);
    let events = &run.events;
    let told = events.iter().filter(|event| {
        let text = event["text"].as_str().unwrap_or_default();
        event["type"] == "notice" && text.starts_with("small.png cannot be read any more")
    });
    assert_eq!(told.count(), 1, "{events:?}");
    let asked = server.asked()[1].body["messages"].to_string();
    assert!(
        asked.contains("[The file small.png could not be read"),
        "{asked}"
    );
}

#[test]
fn a_stored_path_is_not_followed_out_of_the_worktree() {
    let (w, server) = over_http(2);
    let outside = w.root().join("outside.txt");
    std::fs::write(&outside, "what was attached then").expect("written");
    let mut run = Steered::begin(&w, &["--model", MODEL]);
    let path = outside.display().to_string();
    let file = json!({"mime": "text/plain", "name": "outside.txt", "source": {"path": path}});
    run.say(&json!({"type": "prompt", "text": "read it", "files": [file]}));
    assert_eq!(run.end(), 0);
    let (_, texts) = said(&server.asked()[0].body);
    assert!(texts.contains("what was attached then"), "{texts}");
    // it was kept when it was attached: nothing looks there again
    std::fs::write(&outside, "what is there now").expect("written");
    w.run(&["exec", "--model", MODEL, "-c", "again"]).code(0);
    let asked = server.asked()[1].body["messages"].to_string();
    assert!(asked.contains("what was attached then") && !asked.contains("what is there now"));
}
