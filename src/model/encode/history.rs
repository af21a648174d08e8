//! Puts any history into an order that every provider accepts.
//!
//! A history is cut into segments: what the assistant said, the results of its calls (one for each,
//! in call order), then what the user said. All wires agree on that order; each writes a segment in
//! its own words. A segment depends only on its own messages and on the ids used before it, which is
//! what lets `super::Encoder` keep finished segments. Pure; knows nothing of JSON shapes.

use std::borrow::Cow;
use std::collections::HashSet;

use bytes::Bytes;
use serde_json::Value;

use crate::model::{Block, Messages, RequestMessage};
use crate::protocol::ModelRef;

/// What a call reads when nobody recorded its result.
const INTERRUPTED: &str = "[Tool execution was interrupted]";
/// What a model reads when a tool printed nothing: some providers refuse empty results.
const NO_OUTPUT: &str = "(no output)";

/// What a reasoning block with a provider value is to a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Stands on its own (server tools).
    Content,
    /// Belongs to what follows: dropped if nothing follows in its message.
    Leads,
    /// Belongs to what stands before it, or to the message as a whole.
    Trails,
    /// Without meaning to this wire.
    Nothing,
}

/// What may be called an id on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdRule {
    /// Letters, digits, `_` and `-`, at most so many. With `own`, ids that the same model gave are
    /// left as they are.
    Safe { most: usize, own: bool },
    /// Exactly nine letters and digits (Mistral).
    Nine,
}

/// How a wire reads histories.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    /// The model that is asked: only its own reasoning goes back.
    pub model: &'a ModelRef,
    /// Name of the wire in `provider` values.
    pub wire: &'static str,
    /// The meaning of a reasoning block by its `type`.
    pub role: fn(&Value) -> Role,
    /// Call ids.
    pub ids: IdRule,
}

/// Something that the assistant said.
#[derive(Debug)]
pub(super) enum Said<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// Reasoning of the model that is asked.
    Reasoning { text: &'a str, provider: &'a Value },
    /// A call.
    Call(Call<'a>),
}

/// A tool call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub id: String,
    pub name: Cow<'a, str>,
    pub input: &'a Value,
    /// What the same model on the same wire gave with it.
    pub provider: Option<&'a Value>,
}

/// The result of a call.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    pub id: String,
    pub name: Cow<'a, str>,
    pub output: Cow<'a, str>,
    pub error: bool,
    pub files: Vec<File<'a>>,
    /// True if the call's input was plain text (custom tools).
    pub custom: bool,
    /// The provider value of its call.
    pub provider: Option<&'a Value>,
}

/// An image or a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'a> {
    pub mime: &'a str,
    pub name: &'a str,
    pub bytes: &'a Bytes,
}

/// Something that the user said.
#[derive(Debug)]
pub(super) enum Asked<'a> {
    Text(Cow<'a, str>),
    File(File<'a>),
}

/// Assistant, results, user. Only the first segment of a history may lack the assistant, only the
/// last may lack the other two.
#[derive(Debug, Default)]
pub(super) struct Segment<'a> {
    pub assistant: Vec<Said<'a>>,
    pub replies: Vec<Reply<'a>>,
    pub user: Vec<Asked<'a>>,
    /// Index of the first message that is not part of it.
    pub end: usize,
}

impl Segment<'_> {
    pub(super) fn has_user_side(&self) -> bool {
        !self.replies.is_empty() || !self.user.is_empty()
    }
}

/// The call ids in use.
#[derive(Debug, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
    calls: usize,
}

impl Ids {
    /// Takes back the ids of segments that are no longer part of the history.
    pub(super) fn forget(&mut self, ids: &[String]) {
        for id in ids {
            self.used.remove(id);
        }
        self.calls = self.calls.saturating_sub(ids.len());
    }

    fn assign(&mut self, raw: &str, own: bool, rule: IdRule) -> String {
        self.calls += 1;
        let wanted = match rule {
            IdRule::Safe { own: true, .. } if own && !raw.is_empty() => raw.to_owned(),
            IdRule::Safe { most, .. } => safe(raw, most),
            IdRule::Nine => nine(raw, 0),
        };
        if !wanted.is_empty() && self.used.insert(wanted.clone()) {
            return wanted;
        }
        // The number of the call keeps the new name the same in every later request.
        let mut turn = self.calls as u64;
        loop {
            let candidate = match rule {
                IdRule::Nine => nine(raw, turn),
                IdRule::Safe { most, .. } => {
                    let tail = format!("_{turn}");
                    let head = if wanted.is_empty() { "call" } else { &wanted };
                    format!("{}{tail}", safe(head, most.saturating_sub(tail.len())))
                }
            };
            if self.used.insert(candidate.clone()) {
                return candidate;
            }
            turn = turn.wrapping_add(1_000_003);
        }
    }
}

/// A name that every provider takes: models also call tools that do not exist, by any name.
fn tool_name(name: &str) -> Cow<'_, str> {
    let fine = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && !name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if fine {
        return Cow::Borrowed(name);
    }
    let name = safe(name, 63);
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        Cow::Owned(name)
    } else {
        Cow::Owned(format!("_{name}"))
    }
}

fn safe(raw: &str, most: usize) -> String {
    raw.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(most)
        .collect()
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Nine letters and digits made from an id; itself if it is that already.
fn nine(raw: &str, turn: u64) -> String {
    if turn == 0 && raw.len() == 9 && raw.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return raw.to_owned();
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(raw.as_bytes());
    hasher.update(&turn.to_le_bytes());
    let hash = hasher.finalize();
    let bytes = hash.as_bytes().iter().take(9);
    bytes
        .map(|b| char::from(DIGITS[usize::from(*b) % DIGITS.len()]))
        .collect()
}

/// True if the message is one of the assistant's that says something on this wire: it then begins a
/// new segment when the one before has calls or a user's side.
pub(super) fn speaks(message: &RequestMessage, rules: Rules<'_>) -> bool {
    message.assistant
        && message.blocks.iter().any(|block| match block {
            Block::Text(text) => !is_blank(text),
            Block::Call { .. } | Block::File { .. } => true,
            Block::Result { .. } => false,
            Block::Reasoning { provider, .. } => own_value(message, provider.as_ref(), rules)
                .is_some_and(|value| (rules.role)(value) == Role::Content),
        })
}

/// The segment that begins at message `from`.
pub(super) fn segment<'a>(
    messages: &'a Messages,
    from: usize,
    rules: Rules<'_>,
    ids: &mut Ids,
) -> (Segment<'a>, Vec<String>) {
    let mut open = Open::default();
    let mut end = from;
    for message in messages.iter_from(from) {
        if (!open.slots.is_empty() || !open.segment.user.is_empty()) && speaks(message, rules) {
            break;
        }
        if message.assistant {
            open.assistant(message, rules, ids);
        } else {
            open.user(message);
        }
        end += 1;
    }
    open.finish(end)
}

struct Slot<'a> {
    raw: &'a str,
    call: usize,
    reply: Option<&'a Block>,
}

#[derive(Default)]
struct Open<'a> {
    segment: Segment<'a>,
    slots: Vec<Slot<'a>>,
}

impl<'a> Open<'a> {
    fn assistant(&mut self, message: &'a RequestMessage, rules: Rules<'_>, ids: &mut Ids) {
        if !speaks(message, rules) {
            // Thoughts without words: nothing to send, but results must not be lost.
            self.results_of(message);
            return;
        }
        let own = message.model == *rules.model;
        let first = self.segment.assistant.len();
        for block in &message.blocks {
            match block {
                Block::Text(text) if !is_blank(text) => {
                    self.segment.assistant.push(Said::Text(Cow::Borrowed(text)));
                }
                Block::Text(_) => {}
                Block::Reasoning { text, provider } => {
                    if let Some(provider) = own_value(message, provider.as_ref(), rules)
                        && (rules.role)(provider) != Role::Nothing
                    {
                        self.segment
                            .assistant
                            .push(Said::Reasoning { text, provider });
                    }
                }
                Block::File { mime, name, .. } => self
                    .segment
                    .assistant
                    .push(Said::Text(Cow::Owned(format!("[file {name} ({mime})]")))),
                Block::Call {
                    id,
                    name,
                    input,
                    provider,
                } => {
                    self.slots.push(Slot {
                        raw: id,
                        call: self.segment.assistant.len(),
                        reply: None,
                    });
                    self.segment.assistant.push(Said::Call(Call {
                        id: ids.assign(id, own, rules.ids),
                        name: tool_name(name),
                        input,
                        provider: own_value(message, provider.as_ref(), rules),
                    }));
                }
                Block::Result { .. } => self.result(block),
            }
        }
        self.drop_loose_ends(first, rules);
    }

    /// Reasoning that leads to nothing (the answer was cut off after it) is refused by providers.
    /// Removed entries may not stand before a call, so slots keep their places.
    fn drop_loose_ends(&mut self, first: usize, rules: Rules<'_>) {
        while self.segment.assistant.len() > first
            && let Some(Said::Reasoning { provider, .. }) = self.segment.assistant.last()
            && (rules.role)(provider) == Role::Leads
        {
            self.segment.assistant.pop();
        }
    }

    fn user(&mut self, message: &'a RequestMessage) {
        for block in &message.blocks {
            match block {
                Block::Text(text) if !is_blank(text) => {
                    self.segment.user.push(Asked::Text(Cow::Borrowed(text)));
                }
                Block::File { .. } => self.segment.user.extend(file(block).map(Asked::File)),
                Block::Result { .. } => self.result(block),
                // Calls and thoughts are not the user's to make.
                Block::Text(_) | Block::Call { .. } | Block::Reasoning { .. } => {}
            }
        }
    }

    fn results_of(&mut self, message: &'a RequestMessage) {
        for block in &message.blocks {
            if matches!(block, Block::Result { .. }) {
                self.result(block);
            }
        }
    }

    /// Gives a result to its call. A second one for the same call is dropped; one without a call is
    /// told as text, so that nothing is lost.
    fn result(&mut self, block: &'a Block) {
        let Block::Result {
            id,
            name,
            output,
            files,
            ..
        } = block
        else {
            return;
        };
        let mut same = self
            .slots
            .iter_mut()
            .filter(|slot| slot.raw == id)
            .peekable();
        if same.peek().is_some() {
            if let Some(slot) = same.find(|slot| slot.reply.is_none()) {
                slot.reply = Some(block);
            }
            return;
        }
        self.segment.user.push(Asked::Text(Cow::Owned(format!(
            "[Result of an earlier {name} call]\n{output}"
        ))));
        let files = files.iter().filter_map(file).map(Asked::File);
        self.segment.user.extend(files);
    }

    fn finish(mut self, end: usize) -> (Segment<'a>, Vec<String>) {
        let mut ids = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            let Some(Said::Call(call)) = self.segment.assistant.get(slot.call) else {
                continue;
            };
            ids.push(call.id.clone());
            let (output, error, files) = match slot.reply {
                Some(Block::Result {
                    output,
                    error,
                    files,
                    ..
                }) => {
                    let files: Vec<File<'a>> = files.iter().filter_map(file).collect();
                    let text = if is_blank(output) && files.is_empty() {
                        NO_OUTPUT
                    } else {
                        output.as_str()
                    };
                    (text, *error, files)
                }
                _ => (INTERRUPTED, true, Vec::new()),
            };
            self.segment.replies.push(Reply {
                id: call.id.clone(),
                name: call.name.clone(),
                output: Cow::Borrowed(output),
                error,
                files,
                custom: call.input.is_string(),
                provider: call.provider,
            });
        }
        self.segment.end = end;
        (self.segment, ids)
    }
}

const fn file(block: &Block) -> Option<File<'_>> {
    match block {
        Block::File { mime, name, bytes } => Some(File {
            mime: mime.as_str(),
            name: name.as_str(),
            bytes,
        }),
        _ => None,
    }
}

/// The provider value, if the model that is asked gave it on the wire that is used.
fn own_value<'a>(
    message: &RequestMessage,
    provider: Option<&'a Value>,
    rules: Rules<'_>,
) -> Option<&'a Value> {
    provider.filter(|value| {
        message.model == *rules.model
            && value.get("wire").and_then(Value::as_str) == Some(rules.wire)
    })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
