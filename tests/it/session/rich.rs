//! A session with some of everything, and what makes it look old.

use std::fs::{self, File};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dunlin::protocol::{
    FilePart, FileSource, OutputRef, PartBody, Role, SessionId, ToolPart, ToolState,
};
use dunlin::session::{Commit, Record};
use serde_json::{Value, json};

use super::support::{World, message, part, text};

pub(super) const SECRET: &str = "correct-horse-battery";

pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("clock").as_millis() as i64
}

/// A session with a secret, an image, a truncated output and two branches.
pub(super) fn rich(world: &World, id: SessionId) {
    let store = world.start(id);
    let blob = store.blobs().put(b"a picture").expect("blob");
    fs::create_dir_all(store.out_dir()).expect("out");
    let full = store.out_dir().join("full");
    fs::write(&full, "the whole output\n").expect("write");
    let first = message(id, 1, Role::User);
    let mut answer = message(id, 2, Role::Assistant);
    answer.parent = Some(first.id);
    let mut left = message(id, 3, Role::User);
    left.parent = Some(answer.id);
    let mut right = message(id, 4, Role::User);
    right.parent = Some(answer.id);
    let said = part(id, answer.id, 1, text("The key is corr"));
    let call = PartBody::Tool(ToolPart {
        call: "call_1".to_owned(),
        tool: "bash".to_owned(),
        state: ToolState::Completed {
            input: json!({"command": "echo $KEY ```"}),
            output: format!("{SECRET}\n```\nGrüße\n"),
            title: "echo".to_owned(),
            metadata: Value::Null,
            attachments: Vec::new(),
            truncated: Some(OutputRef {
                path: full.display().to_string(),
                bytes: 17,
                lines: 1,
            }),
            compacted_at: None,
            start: 1,
            end: 2,
        },
        provider: None,
    });
    let picture = PartBody::File(FilePart {
        mime: "image/png".to_owned(),
        name: "a.png".to_owned(),
        source: FileSource::Blob(blob),
    });
    let growing = said.id;
    store.commit(Commit::written(
        vec![
            Record::Message(first.clone()),
            Record::Part(part(id, first.id, 1, text("what is the key?"))),
            Record::Part(part(id, first.id, 2, picture)),
            Record::Message(answer.clone()),
            Record::Part(said),
        ],
        vec![],
    ));
    // the secret arrives in two pieces
    store.commit(Commit::written(
        vec![
            Record::Append {
                part: growing,
                text: SECRET.trim_start_matches("corr").to_owned(),
            },
            Record::Part(part(id, answer.id, 2, call)),
            Record::Message(left.clone()),
            Record::Part(part(id, left.id, 1, text("the left branch"))),
            Record::Message(right.clone()),
            Record::Part(part(id, right.id, 1, text("the right branch"))),
            Record::Value {
                name: "todo".to_owned(),
                value: json!(["a"]),
            },
            Record::Value {
                name: "queue".to_owned(),
                value: json!({"guidance": [SECRET]}),
            },
        ],
        vec![],
    ));
    store.close_blocking();
}

pub(super) fn age(path: &std::path::Path, days: u64) {
    let then = SystemTime::now() - Duration::from_hours(24 * days);
    File::open(path)
        .expect("open")
        .set_modified(then)
        .expect("age");
}
