//! One decoder for all wires: framing, what is no event stream at all, and how an answer may end.
//!
//! The transport feeds it while bytes arrive and asks for the end once. Each wire knows only its own
//! JSON; everything about bytes, faults and truncation is here.

use std::fmt;
use std::mem;
use std::str::FromStr;

use serde_json::Value;

use super::anthropic::Anthropic;
use super::gemini::Gemini;
use super::openai_chat::OpenaiChat;
use super::openai_responses::OpenaiResponses;
use super::out::Out;
use crate::model::delta::Delta;
use crate::model::error::{self, Failure};
use crate::model::sse::{Framing, MAX_EVENT};
use crate::protocol::Fault;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and its dialects.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Google Gemini `streamGenerateContent`.
    Gemini,
}

impl Wire {
    /// All wires with their names in configuration and on the command line.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Anthropic, "anthropic"),
        (Self::OpenaiChat, "openai-chat"),
        (Self::OpenaiResponses, "openai-responses"),
        (Self::Gemini, "gemini"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(wire, _)| *wire == self)
            .map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Wire {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(wire, _)| *wire)
            .ok_or_else(|| {
                format!(
                    "`{text}` is no wire format: use anthropic, openai-chat, openai-responses or gemini."
                )
            })
    }
}

/// One event as the wires see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event<'a> {
    /// The `event:` line.
    pub(super) name: Option<&'a str>,
    /// JSON text.
    pub(super) data: &'a str,
}

/// What each wire implements. Nothing is called after `Out` has a failure but `end`.
pub(super) trait WireDecoder {
    /// Takes one of the frequent events, read without building a tree; false if it is none of them,
    /// and nothing was done.
    fn frequent(&mut self, event: Event<'_>, out: &mut Out) -> bool;

    /// Takes an event that was read as a tree; `name` is its `event:` line.
    fn value(&mut self, name: Option<&str>, value: &Value, out: &mut Out);

    /// Takes an event. Errors if its data is no JSON.
    fn event(&mut self, event: Event<'_>, out: &mut Out) -> Result<(), serde_json::Error> {
        if !self.frequent(event, out) {
            let value: Value = serde_json::from_str(event.data)?;
            self.value(event.name, &value, out);
        }
        Ok(())
    }

    /// Takes the whole answer of a server that does not stream.
    fn whole(&mut self, body: Value, out: &mut Out);

    /// Takes the marker `[DONE]`.
    fn done(&mut self, out: &mut Out);

    /// No more events: ends open blocks, cuts open calls, and finishes `out` if the wire had said
    /// all that it must say.
    fn end(&mut self, out: &mut Out);
}

/// What a piece of the answer gave. The deltas come before the fault, which ends the answer.
#[derive(Debug, Default)]
pub struct Decoded {
    /// In order.
    pub deltas: Vec<Delta>,
    /// Why there is no more.
    pub fault: Option<Fault>,
}

/// Decodes one answer, fed in pieces of any size.
pub struct Decoder {
    wire: Box<dyn WireDecoder + Send>,
    framing: Framing,
    out: Out,
    body: Body,
    /// True once the failure was handed out or the end was reached.
    over: bool,
    /// What the server said for itself, for `debug decode`.
    said: Option<String>,
    done_marker: bool,
}

/// What kind of body this is.
#[derive(Debug)]
enum Body {
    /// Nothing but white space and perhaps the start of a byte order mark, which is kept.
    Unknown(Vec<u8>),
    /// Events.
    Events,
    /// JSON or HTML: kept until the end.
    Whole(Vec<u8>),
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("body", &self.body)
            .field("over", &self.over)
            .finish()
    }
}

impl Decoder {
    /// A decoder for one answer.
    pub fn new(wire: Wire) -> Self {
        let wire: Box<dyn WireDecoder + Send> = match wire {
            Wire::Anthropic => Box::new(Anthropic::default()),
            Wire::OpenaiChat => Box::new(OpenaiChat::default()),
            Wire::OpenaiResponses => Box::new(OpenaiResponses::default()),
            Wire::Gemini => Box::new(Gemini::default()),
        };
        Self {
            wire,
            framing: Framing::default(),
            out: Out::default(),
            body: Body::Unknown(Vec::new()),
            over: false,
            said: None,
            done_marker: false,
        }
    }

    /// Takes the next bytes of the body. After a fault it takes nothing more.
    pub fn feed(&mut self, bytes: &[u8]) -> Decoded {
        if self.over {
            return Decoded::default();
        }
        let held;
        let mut bytes = bytes;
        if let Body::Unknown(mark) = &mut self.body {
            mark.extend_from_slice(bytes);
            held = mem::take(mark);
            (self.body, bytes) = body_kind(&held);
        }
        match &mut self.body {
            Body::Unknown(_) => {}
            Body::Whole(body) if body.len() + bytes.len() > MAX_EVENT => {
                self.out
                    .fail(error::protocol("an answer of more than 32 MiB"));
            }
            Body::Whole(body) => body.extend_from_slice(bytes),
            Body::Events => self.events(bytes),
        }
        self.hand_out()
    }

    /// The body has ended. An answer that is not complete gives a fault.
    pub fn finish(&mut self) -> Decoded {
        if self.over {
            return Decoded::default();
        }
        self.last_event();
        self.wire.end(&mut self.out);
        if self.out.failure.is_none() && !self.out.is_finished() {
            let failure = match mem::replace(&mut self.body, Body::Unknown(Vec::new())) {
                Body::Whole(body) => error::not_a_stream(&body),
                Body::Events if !self.framing.is_stream() => {
                    error::not_a_stream(self.framing.stray())
                }
                Body::Events => error::truncated(self.framing.stray()),
                Body::Unknown(_) => error::truncated(b""),
            };
            self.out.fail(failure);
        }
        let decoded = self.hand_out();
        self.over = true;
        decoded
    }

    /// The error text in the server's own words, if it sent one. Masked like every message.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// True if the stream ended with `[DONE]`.
    pub const fn saw_done_marker(&self) -> bool {
        self.done_marker
    }

    fn events(&mut self, mut bytes: &[u8]) {
        while self.out.failure.is_none() && !self.out.is_finished() {
            match self.framing.next(&mut bytes) {
                Ok(Some(frame)) => {
                    let event = Event {
                        name: frame.event,
                        data: frame.data.trim(),
                    };
                    if let Err(error) =
                        take(&mut *self.wire, event, &mut self.done_marker, &mut self.out)
                    {
                        let failure = error::not_json(event.name, event.data, &error);
                        self.out.fail(failure);
                    }
                }
                Ok(None) => return,
                Err(error) => self.out.fail(error::protocol_sentence(&error.to_string())),
            }
        }
    }

    /// The event that the body ended in counts only if its data is whole.
    fn last_event(&mut self) {
        if self.out.failure.is_some() || self.out.is_finished() {
            return;
        }
        if let Body::Whole(body) = &self.body {
            match whole_answer(body) {
                Some(Value::Array(chunks)) => chunks
                    .iter()
                    .for_each(|chunk| self.wire.value(None, chunk, &mut self.out)),
                Some(value) => self.wire.whole(value, &mut self.out),
                None => events_without_frames(body)
                    .iter()
                    .take_while(|event| {
                        self.wire.value(None, event, &mut self.out);
                        self.out.failure.is_none() && !self.out.is_finished()
                    })
                    .for_each(drop),
            }
            return;
        }
        let Some(frame) = self.framing.last() else {
            return;
        };
        let event = Event {
            name: frame.event,
            data: frame.data.trim(),
        };
        // cut data is dropped; the end of the wire says whether it was needed
        drop(take(
            &mut *self.wire,
            event,
            &mut self.done_marker,
            &mut self.out,
        ));
    }

    fn hand_out(&mut self) -> Decoded {
        let mut fault = None;
        if let Some(Failure { fault: why, said }) = self.out.failure.take() {
            self.wire.end(&mut self.out);
            self.out
                .deltas
                .retain(|delta| !matches!(delta, Delta::Finish { .. }));
            self.over = true;
            self.said = said;
            fault = Some(why);
        }
        Decoded {
            deltas: mem::take(&mut self.out.deltas),
            fault,
        }
    }
}

/// Gives an event to the wire, unless it is the marker of the end or only keeps the connection open.
fn take(
    wire: &mut dyn WireDecoder,
    event: Event<'_>,
    done_marker: &mut bool,
    out: &mut Out,
) -> Result<(), serde_json::Error> {
    if event.data == "[DONE]" {
        *done_marker = true;
        wire.done(out);
        return Ok(());
    }
    if is_idle(event) {
        return Ok(());
    }
    wire.event(event, out)
}

/// True for an event that only keeps the connection open.
fn is_idle(event: Event<'_>) -> bool {
    let words = [
        "",
        "ping",
        "pong",
        "keepalive",
        "keep-alive",
        "heartbeat",
        "ok",
        "connected",
        "processing",
    ];
    event.name != Some("error")
        && words
            .iter()
            .any(|word| word.eq_ignore_ascii_case(event.data))
}

/// What the first bytes of a body tell about it, and the bytes without what precedes the content.
fn body_kind(bytes: &[u8]) -> (Body, &[u8]) {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.len() < MARK.len() && MARK.starts_with(bytes) {
        return (Body::Unknown(bytes.to_vec()), &[]);
    }
    let text = bytes.strip_prefix(MARK).unwrap_or(bytes).trim_ascii_start();
    let body = match text.first() {
        None => Body::Unknown(Vec::new()),
        Some(b'{' | b'[' | b'<') => Body::Whole(Vec::new()),
        Some(_) => Body::Events,
    };
    (body, text)
}

/// The events of a body that has one JSON value after the other and no `data:` (NDJSON). The last one
/// may be cut. Nothing if there is only one: that is no stream.
fn events_without_frames(body: &[u8]) -> Vec<Value> {
    let values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    let events: Vec<Value> = values.map_while(Result::ok).collect();
    if events.len() < 2 { Vec::new() } else { events }
}

/// The answer of a server that does not stream; none if it is an error or no JSON.
fn whole_answer(body: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let is_error = |value: &Value| {
        error::has_error(value)
            || ![
                "choices",
                "content",
                "output",
                "candidates",
                "promptFeedback",
            ]
            .iter()
            .any(|key| value.get(key).is_some())
    };
    let broken = match &value {
        Value::Array(items) => items.is_empty() || items.iter().any(is_error),
        value => is_error(value),
    };
    (!broken).then_some(value)
}
