//! `--json-input`: one JSON order a line on standard input while a run goes on (docs/exec-json.md).
//!
//! A thread reads the lines, because a blocking read of a terminal or pipe cannot be cancelled; `run`
//! gets orders and complaints in order, then the end.

use std::io::{BufRead, Read};
use std::path::Path;

use serde::Deserialize;
use tokio::sync::mpsc;

use crate::protocol::{
    Answer, AskId, Delivery, FilePart, FileSource, Mode, ModelRef, Op, PromptInput, QueueEdit,
    QueueId, SessionId,
};

/// Longest line that is read.
const LINE_BYTES: u64 = 16 << 20;

/// One order as it is written.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Order {
    #[serde(rename = "prompt")]
    Prompt {
        text: String,
        #[serde(default)]
        files: Vec<FilePart>,
        #[serde(default = "guidance")]
        delivery: Delivery,
    },
    #[serde(rename = "shell")]
    Shell { command: String },
    #[serde(rename = "interrupt")]
    Interrupt {},
    #[serde(rename = "continue")]
    Continue {},
    #[serde(rename = "retry-now")]
    RetryNow {},
    #[serde(rename = "answer")]
    Answer { ask: AskId, answer: Answer },
    #[serde(rename = "queue.remove")]
    Remove { id: QueueId },
    #[serde(rename = "queue.move")]
    Move { id: QueueId, to: usize },
    #[serde(rename = "queue.replace")]
    Replace {
        id: QueueId,
        text: String,
        #[serde(default)]
        files: Vec<FilePart>,
    },
    #[serde(rename = "queue.resume")]
    Resume {},
    #[serde(rename = "compact")]
    Compact {
        #[serde(default)]
        focus: String,
    },
    #[serde(rename = "mode")]
    Mode { mode: Mode },
    #[serde(rename = "model")]
    Model { model: ModelRef },
    #[serde(rename = "watch")]
    Watch { session: SessionId },
    #[serde(rename = "unwatch")]
    Unwatch { session: SessionId },
    #[serde(rename = "stop-subagent")]
    StopSubagent { session: SessionId },
}

const fn guidance() -> Delivery {
    Delivery::Guidance
}

impl From<Order> for Op {
    fn from(order: Order) -> Self {
        match order {
            Order::Prompt {
                text,
                files,
                delivery,
            } => Self::Prompt {
                input: PromptInput { text, files },
                delivery,
            },
            Order::Shell { command } => Self::Shell { command },
            Order::Interrupt {} => Self::Interrupt,
            Order::Continue {} => Self::Continue,
            Order::RetryNow {} => Self::RetryNow,
            Order::Answer { ask, answer } => Self::Answer { ask, answer },
            Order::Remove { id } => Self::Queue(QueueEdit::Remove(id)),
            Order::Move { id, to } => Self::Queue(QueueEdit::Move(id, to)),
            Order::Replace { id, text, files } => {
                Self::Queue(QueueEdit::Replace(id, PromptInput { text, files }))
            }
            Order::Resume {} => Self::Queue(QueueEdit::Resume),
            Order::Compact { focus } => Self::Compact { focus },
            Order::Mode { mode } => Self::SetMode(mode),
            Order::Model { model } => Self::SetModel(model),
            Order::Watch { session } => Self::Watch(session),
            Order::Unwatch { session } => Self::Unwatch(session),
            Order::StopSubagent { session } => Self::StopSubagent(session),
        }
    }
}

/// Reads one line; the error is a sentence that says what is wrong with it.
pub(super) fn read(line: &str) -> Result<Op, String> {
    let wrong = |why: &str| format!("This line of the input is not an order: {why}.");
    if !line.starts_with('{') && serde_json::from_str::<serde_json::Value>(line).is_ok() {
        return Err(wrong("an order is a JSON object with a `type`"));
    }
    let order = serde_json::from_str::<Order>(line).map_err(|error| wrong(&error.to_string()))?;
    if let Order::Prompt { text, files, .. } | Order::Replace { text, files, .. } = &order
        && text.trim().is_empty()
        && files.is_empty()
    {
        return Err("This order says nothing: give it a text or files.".to_owned());
    }
    Ok(Op::from(order))
}

/// The first file of an order that is not there; what is attached without being there would only be
/// missed when the request is made.
pub(super) fn missing_file(op: &Op, worktree: &Path) -> Option<String> {
    let (Op::Prompt { input, .. } | Op::Queue(QueueEdit::Replace(_, input))) = op else {
        return None;
    };
    input.files.iter().find_map(|file| match &file.source {
        FileSource::Path(path) if !worktree.join(path).is_file() => Some(path.clone()),
        FileSource::Path(_) | FileSource::Blob(_) => None,
    })
}

/// What came of reading a line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// It is there.
    Read,
    /// It was longer than the limit; all of it is skipped, so that its rest is not taken for a line.
    TooLong,
    /// The input has ended.
    End,
}

fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>, limit: u64) -> Line {
    let count = input.take(limit).read_until(b'\n', line).unwrap_or(0);
    if count == 0 {
        return Line::End;
    }
    if line.ends_with(b"\n") || (count as u64) < limit {
        return Line::Read;
    }
    // Exactly the limit may also be the last line of the input.
    let mut skipped = false;
    loop {
        let (done, used) = match input.fill_buf() {
            Ok([]) | Err(_) => (true, 0),
            Ok(bytes) => {
                skipped = true;
                match bytes.iter().position(|b| *b == b'\n') {
                    Some(at) => (true, at + 1),
                    None => (false, bytes.len()),
                }
            }
        };
        input.consume(used);
        if done {
            return if skipped { Line::TooLong } else { Line::Read };
        }
    }
}

/// Reads orders until the end of the input, on a thread of its own.
pub(super) fn listen(
    input: impl Read + Send + 'static,
) -> mpsc::UnboundedReceiver<Result<Op, String>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let spawned = std::thread::Builder::new()
        .name("dunlin-orders".to_owned())
        .spawn(move || {
            let mut input = std::io::BufReader::new(input);
            let mut line = Vec::new();
            loop {
                line.clear();
                let order = match next_line(&mut input, &mut line, LINE_BYTES) {
                    Line::End => return,
                    Line::TooLong => Err(format!(
                        "This line of the input is longer than {} MiB and was left out.",
                        LINE_BYTES >> 20
                    )),
                    Line::Read => {
                        let text = String::from_utf8_lossy(&line);
                        if text.trim().is_empty() {
                            continue;
                        }
                        read(text.trim())
                    }
                };
                if sender.send(order).is_err() {
                    return;
                }
            }
        });
    if let Err(error) = spawned {
        tracing::error!(%error, "the input cannot be read");
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_order_is_understood() {
        let lines = [
            r#"{"type":"prompt","text":"x"}"#,
            r#"{"type":"prompt","text":"x","delivery":"follow-up"}"#,
            r#"{"type":"prompt","text":"x","delivery":"interrupt"}"#,
            r#"{"type":"shell","command":"ls"}"#,
            r#"{"type":"interrupt"}"#,
            r#"{"type":"continue"}"#,
            r#"{"type":"retry-now"}"#,
            r#"{"type":"queue.resume"}"#,
            r#"{"type":"compact"}"#,
            r#"{"type":"compact","focus":"the tests"}"#,
            r#"{"type":"mode","mode":"auto-edit"}"#,
            r#"{"type":"model","model":"scripted/demo"}"#,
        ];
        for line in lines {
            assert!(read(line).is_ok(), "{line}: {:?}", read(line));
        }
        let mut mint = crate::protocol::IdMint::new(1, 0);
        let (ask, id) = (mint.ask(1), mint.queue(1));
        let with_ids = [
            format!(r#"{{"type":"answer","ask":"{ask}","answer":{{"answer":"once"}}}}"#),
            format!(r#"{{"type":"answer","ask":"{ask}","answer":{{"answer":"no"}}}}"#),
            format!(r#"{{"type":"watch","session":"{}"}}"#, mint.session(1)),
            format!(
                r#"{{"type":"stop-subagent","session":"{}"}}"#,
                mint.session(1)
            ),
            format!(r#"{{"type":"queue.remove","id":"{id}"}}"#),
            format!(r#"{{"type":"queue.move","id":"{id}","to":0}}"#),
            format!(r#"{{"type":"queue.replace","id":"{id}","text":"y"}}"#),
        ];
        for line in with_ids {
            assert!(read(&line).is_ok(), "{line}: {:?}", read(&line));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut input = std::io::Cursor::new(b"12345678\nabcdefghij{\"x\"}\nok\n12345678");
        let mut lines = Vec::new();
        loop {
            let mut line = Vec::new();
            match next_line(&mut input, &mut line, 8) {
                Line::End => break,
                Line::TooLong => lines.push("long".to_owned()),
                Line::Read => lines.push(String::from_utf8_lossy(&line).trim().to_owned()),
            }
        }
        assert_eq!(lines, ["long", "long", "ok", "12345678"]);
    }

    #[test]
    fn an_order_without_words_is_refused() {
        for line in [
            r#"{"type":"prompt","text":""}"#,
            r#"{"type":"prompt","text":"  \n"}"#,
        ] {
            assert!(read(line).expect_err("empty").contains("says nothing"));
        }
        for line in ["null", "7", r#""x""#, "[]"] {
            let sentence = read(line).expect_err("no object");
            assert!(sentence.contains("a JSON object"), "{sentence}");
        }
    }

    #[test]
    fn what_is_no_order_gets_a_sentence() {
        for line in [
            "nonsense",
            "{}",
            r#"{"type":"promt","text":"x"}"#,
            "[1]",
            "{\"type\":",
        ] {
            let sentence = read(line).expect_err("refused");
            assert!(sentence.contains("not an order"), "{sentence}");
        }
        let sentence = read(r#"{"type":"fly"}"#).expect_err("refused");
        assert!(
            sentence.contains("prompt") && sentence.contains("interrupt"),
            "{sentence}"
        );
    }
}
