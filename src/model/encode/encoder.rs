//! Keeps what was encoded and puts bodies together.
//!
//! Per session the last history is remembered with the JSON of its segments. Messages are shared
//! (`Arc`), so equal pointers mean equal messages: the common prefix is found without looking inside.
//! Memory: a copy of the encoded history of at most `SESSIONS` sessions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::history::{self, Ids, Rules, Segment};
use super::lessons::Lesson;
use super::{Quirks, anthropic, gemini, openai_chat, openai_responses};
use crate::model::decode::Wire;
use crate::model::{Request, RequestMessage, ToolSpec};
use crate::protocol::SessionId;

/// Sessions whose histories are kept: subagents of one model take turns.
const SESSIONS: usize = 6;

/// What stands for the user's words where a provider wants some and there are none.
const GO_ON: &str = "Continue.";

const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// The JSON of one segment.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Array elements, separated by commas.
    pub json: Vec<u8>,
    /// Where a cache mark can be put in.
    pub mark: Option<usize>,
    /// True if the assistant's side begins with thinking (Anthropic).
    pub thinks: bool,
    /// True if the assistant's side ends in a tool of the provider's own, which goes on.
    pub paused: bool,
    /// True if the assistant called tools.
    calls: bool,
    /// True if there is an assistant's side.
    assistant: bool,
    /// True if there is a user's side.
    user: bool,
    /// Index of the first message after it.
    end: usize,
    /// Call ids that it uses.
    ids: Vec<String>,
}

impl Chunk {
    /// Adds an element.
    pub(super) fn push(&mut self, element: &Value) {
        if !self.json.is_empty() {
            self.json.push(b',');
        }
        write(&mut self.json, element);
    }
}

/// What is remembered of a session.
struct Kept {
    session: SessionId,
    request_model: crate::protocol::ModelRef,
    messages: Vec<Arc<RequestMessage>>,
    chunks: Vec<Chunk>,
    ids: Ids,
}

#[derive(Default)]
struct Memory {
    sessions: VecDeque<Kept>,
    tools: Option<(Arc<[ToolSpec]>, Vec<u8>)>,
}

/// Encodes the requests of one model instance.
pub struct Encoder {
    quirks: Quirks,
    memory: Mutex<Memory>,
    /// What the endpoint refused so far.
    lessons: Mutex<Vec<Lesson>>,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("quirks", &self.quirks)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// An encoder for an endpoint like this.
    pub fn new(quirks: Quirks) -> Self {
        Self {
            quirks,
            memory: Mutex::default(),
            lessons: Mutex::default(),
        }
    }

    /// Takes what a refusal in these words teaches about a request of this body, for all requests to
    /// come; none if it teaches nothing new.
    pub(in crate::model) fn learn(&self, words: &str, body: &[u8]) -> Option<Lesson> {
        let lesson = Lesson::of(words, body)?;
        let mut lessons = self.lessons.lock().unwrap_or_else(PoisonError::into_inner);
        // renaming there and back would never end
        let known = lessons.iter().any(|old| match (old, &lesson) {
            (Lesson::Rename(..), Lesson::Rename(..)) => true,
            (old, new) => old == new,
        });
        if known {
            return None;
        }
        lessons.push(lesson);
        Some(lesson)
    }

    /// Takes lessons back that were of no use.
    pub(in crate::model) fn unlearn(&self, useless: &[Lesson]) {
        let mut lessons = self.lessons.lock().unwrap_or_else(PoisonError::into_inner);
        lessons.retain(|lesson| !useless.contains(lesson));
    }

    /// The endpoint's quirks.
    pub const fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    /// The body of a request.
    pub fn body(&self, request: &Request) -> Bytes {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = self.tools(&mut memory, request);
        let kept = self.encoded(&mut memory, request);
        let out = self.assemble(request, &kept.chunks, &tools);
        memory.sessions.push_back(kept);
        drop(memory);
        Bytes::from(out)
    }

    /// See `super::prefix_form`.
    pub fn prefix_form(&self, request: &Request) -> Bytes {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.encoded(&mut memory, request);
        let mut out = Vec::new();
        for chunk in &kept.chunks {
            separate(&mut out);
            out.extend_from_slice(&chunk.json);
        }
        memory.sessions.push_back(kept);
        drop(memory);
        Bytes::from(out)
    }

    fn rules<'a>(&self, request: &'a Request) -> Rules<'a> {
        let (role, ids): (fn(&Value) -> history::Role, _) = match self.quirks.wire {
            Wire::Anthropic => (anthropic::role, anthropic::IDS),
            Wire::OpenaiChat => (openai_chat::role, openai_chat::ids(&self.quirks)),
            Wire::OpenaiResponses => (openai_responses::role, openai_responses::IDS),
            Wire::Gemini => (gemini::role, gemini::IDS),
        };
        Rules {
            model: &request.model,
            wire: self.quirks.wire.name(),
            role,
            ids,
        }
    }

    fn segment(&self, segment: &Segment<'_>, request: &Request) -> Chunk {
        match self.quirks.wire {
            Wire::Anthropic => anthropic::segment(segment, &self.quirks),
            Wire::OpenaiChat => openai_chat::segment(segment, &self.quirks),
            Wire::OpenaiResponses => openai_responses::segment(segment, &self.quirks),
            Wire::Gemini => gemini::segment(segment, &request.model.model, &self.quirks),
        }
    }

    /// What is kept of the session, brought up to this request.
    fn encoded(&self, memory: &mut Memory, request: &Request) -> Kept {
        let rules = self.rules(request);
        let mut kept = recall(memory, request);
        let common = kept
            .messages
            .iter()
            .zip(&request.messages)
            .take_while(|(a, b)| Arc::ptr_eq(a, b))
            .count();
        // A segment stays if all its messages are the same and what ended it is still there.
        let whole = common == kept.messages.len() && common == request.messages.len();
        let mut stay = kept.chunks.partition_point(|chunk| {
            chunk.end < common
                || (chunk.end == common
                    && (whole
                        || ((chunk.user || chunk.calls)
                            && request
                                .messages
                                .get(common)
                                .is_some_and(|next| history::speaks(next, rules)))))
        });
        if kept.request_model != request.model {
            stay = 0;
        }
        for chunk in kept.chunks.drain(stay..) {
            kept.ids.forget(&chunk.ids);
        }
        let mut from = kept.chunks.last().map_or(0, |chunk| chunk.end);
        while from < request.messages.len() {
            let (segment, ids) = history::segment(&request.messages, from, rules, &mut kept.ids);
            let mut chunk = self.segment(&segment, request);
            chunk.calls = !segment.replies.is_empty();
            chunk.assistant = !segment.assistant.is_empty();
            chunk.user = segment.has_user_side();
            chunk.end = segment.end;
            chunk.ids = ids;
            from = segment.end;
            if !chunk.json.is_empty() || kept.chunks.is_empty() {
                kept.chunks.push(chunk);
            } else if let Some(last) = kept.chunks.last_mut() {
                last.end = from;
            }
        }
        kept.messages.clone_from(&request.messages);
        kept.request_model.clone_from(&request.model);
        kept
    }

    fn tools(&self, memory: &mut Memory, request: &Request) -> Vec<u8> {
        if request.tools.is_empty() {
            return Vec::new();
        }
        if let Some((tools, json)) = &memory.tools
            && (Arc::ptr_eq(tools, &request.tools) || **tools == *request.tools)
        {
            return json.clone();
        }
        let json = self.tool_list(&request.tools);
        memory.tools = Some((Arc::clone(&request.tools), json.clone()));
        json
    }

    fn tool_list(&self, tools: &[ToolSpec]) -> Vec<u8> {
        let list = match self.quirks.wire {
            Wire::Anthropic => anthropic::tools(tools, &self.quirks),
            Wire::OpenaiChat => openai_chat::tools(tools, &self.quirks),
            Wire::OpenaiResponses => openai_responses::tools(tools),
            Wire::Gemini => gemini::tools(tools),
        };
        let mut json = Vec::new();
        write(&mut json, &list);
        json
    }

    /// The tool that stands for none where a server demands one.
    fn stand_in(&self) -> Vec<u8> {
        self.tool_list(&[ToolSpec {
            name: "no_tool".to_owned(),
            description: "No tools can be called now. Do not call this one; answer in words."
                .to_owned(),
            schema: json!({"type": "object", "properties": {}}),
        }])
    }

    fn assemble(&self, request: &Request, chunks: &[Chunk], tools: &[u8]) -> Vec<u8> {
        let last = chunks.iter().rev().find(|chunk| !chunk.json.is_empty());
        let thinks = last.filter(|chunk| chunk.calls).map(|chunk| chunk.thinks);
        let (mut head, list) = match self.quirks.wire {
            Wire::Anthropic => (anthropic::head(request, &self.quirks, thinks), "messages"),
            Wire::OpenaiChat => (openai_chat::head(request, &self.quirks), "messages"),
            Wire::OpenaiResponses => (openai_responses::head(request, &self.quirks), "input"),
            Wire::Gemini => (gemini::head(request, &self.quirks), "contents"),
        };
        let lessons = self.lessons.lock().unwrap_or_else(PoisonError::into_inner);
        lessons.iter().for_each(|lesson| lesson.apply(&mut head));
        let demanded = tools.is_empty()
            && lessons.contains(&Lesson::SomeTool)
            && chunks.iter().any(|chunk| chunk.calls);
        drop(lessons);
        let stand_in = if demanded {
            self.stand_in()
        } else {
            Vec::new()
        };
        let tools = if demanded { &stand_in } else { tools };
        let size: usize = chunks.iter().map(|chunk| chunk.json.len() + 80).sum();
        let mut out = Vec::with_capacity(size + tools.len() + request.system_stable.len() + 8_192);
        open(&mut out, &head);
        if !tools.is_empty() {
            out.extend_from_slice(b"\"tools\":");
            out.extend_from_slice(tools);
            out.push(b',');
        }
        out.extend_from_slice(format!("\"{list}\":[").as_bytes());
        self.messages(&mut out, request, chunks);
        out.extend_from_slice(b"]}");
        out
    }

    fn messages(&self, out: &mut Vec<u8>, request: &Request, chunks: &[Chunk]) {
        if self.quirks.wire == Wire::OpenaiChat
            && let Some(system) = openai_chat::system(request, &self.quirks)
        {
            write(out, &system);
        }
        let said = |chunk: &&Chunk| !chunk.json.is_empty();
        if chunks.iter().find(said).is_none_or(|first| first.assistant) {
            separate(out);
            write(out, &self.user_says(GO_ON));
        }
        // The last two user's sides are marked: what the next request shares with this one ends at
        // the last, what this one shared with the one before ends at the one before.
        let marked: Vec<usize> = (0..chunks.len())
            .rev()
            .filter(|i| self.quirks.cache_control && chunks[*i].mark.is_some())
            .take(2)
            .collect();
        for (index, chunk) in chunks.iter().enumerate() {
            if chunk.json.is_empty() {
                continue;
            }
            separate(out);
            match chunk.mark.filter(|_| marked.contains(&index)) {
                Some(at) => {
                    let (before, after) = chunk.json.split_at(at);
                    out.extend_from_slice(before);
                    out.extend_from_slice(MARK);
                    out.extend_from_slice(after);
                }
                None => out.extend_from_slice(&chunk.json),
            }
        }
        let ends_with_user = chunks
            .iter()
            .rev()
            .find(said)
            .is_none_or(|last| last.user || last.paused);
        if !ends_with_user {
            separate(out);
            write(out, &self.user_says(GO_ON));
        }
    }

    fn user_says(&self, text: &str) -> Value {
        match self.quirks.wire {
            Wire::Anthropic => {
                json!({"role": "user", "content": [{"type": "text", "text": text}]})
            }
            Wire::OpenaiChat => json!({"role": "user", "content": text}),
            Wire::OpenaiResponses => json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": text}]}),
            Wire::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
        }
    }
}

/// Takes what is kept of a session out of the memory, or makes room for a new one.
fn recall(memory: &mut Memory, request: &Request) -> Kept {
    let found = memory
        .sessions
        .iter()
        .position(|kept| kept.session == request.session);
    if let Some(kept) = found.and_then(|index| memory.sessions.remove(index)) {
        return kept;
    }
    while memory.sessions.len() >= SESSIONS {
        memory.sessions.pop_front();
    }
    Kept {
        session: request.session,
        request_model: request.model.clone(),
        messages: Vec::new(),
        chunks: Vec::new(),
        ids: Ids::default(),
    }
}

fn open(out: &mut Vec<u8>, head: &Map<String, Value>) {
    out.push(b'{');
    for (key, value) in head {
        write(out, &json!(key));
        out.push(b':');
        write(out, value);
        out.push(b',');
    }
}

fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'[')) {
        out.push(b',');
    }
}

/// Writing JSON values into memory cannot fail; should it ever, the body stays well-formed.
fn write(out: &mut Vec<u8>, value: &Value) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}
