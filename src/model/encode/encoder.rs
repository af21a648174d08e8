//! Keeps what was encoded and puts bodies together.
//!
//! Per session the last history is remembered with its JSON, in one piece. Messages are shared
//! (`Arc`), so equal pointers mean equal messages: the common prefix is found without looking inside,
//! only what follows it is serialised, and a body is a copy of bytes in three stretches (cache marks
//! stand between them). Memory: a copy of the encoded history of at most `SESSIONS` sessions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::history::{self, Ids, Rules, Segment};
use super::lessons::Lesson;
use super::{Quirks, anthropic, gemini, openai_chat, openai_responses};
use crate::model::decode::Wire;
use crate::model::{Messages, Request, ToolSpec};
use crate::protocol::SessionId;

/// Sessions whose histories are kept: subagents of one model take turns.
const SESSIONS: usize = 6;

/// What stands for the user's words where a provider wants some and there are none.
const GO_ON: &str = "Continue.";

/// Memory for bodies is taken in multiples of this.
const BODY: usize = 256 * 1024;

const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// The JSON of one segment.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Array elements, separated by commas. Moved to what is kept of the session once it is complete.
    pub json: Vec<u8>,
    /// Where a cache mark can be put in: first in `json`, then in all that is kept.
    pub mark: Option<usize>,
    /// Where it begins in what is kept, its comma included.
    start: usize,
    /// True if it has no JSON.
    silent: bool,
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
    messages: Messages,
    chunks: Vec<Chunk>,
    /// The JSON of all chunks, separated by commas.
    json: Vec<u8>,
    ids: Ids,
}

impl Kept {
    /// Forgets all chunks but the first so many.
    fn keep(&mut self, chunks: usize) {
        if let Some(first) = self.chunks.get(chunks) {
            self.json.truncate(first.start);
        }
        for chunk in self.chunks.drain(chunks..) {
            self.ids.forget(&chunk.ids);
        }
    }

    /// Adds a chunk: its JSON goes to that of the others.
    fn add(&mut self, mut chunk: Chunk) {
        chunk.start = self.json.len();
        chunk.silent = chunk.json.is_empty();
        if !chunk.silent {
            separate(&mut self.json);
        }
        let offset = self.json.len();
        chunk.mark = chunk.mark.map(|mark| mark + offset);
        self.json.append(&mut chunk.json);
        chunk.json = Vec::new();
        self.chunks.push(chunk);
    }
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
        let out = self.assemble(request, &kept, &tools);
        memory.sessions.push_back(kept);
        drop(memory);
        Bytes::from(out)
    }

    /// See `super::prefix_form`.
    pub fn prefix_form(&self, request: &Request) -> Bytes {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.encoded(&mut memory, request);
        let out = kept.json.clone();
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
        let common = kept.messages.same(&request.messages);
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
        kept.keep(stay);
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
                kept.add(chunk);
            } else if let Some(last) = kept.chunks.last_mut() {
                last.end = from;
            }
        }
        kept.messages = request.messages.clone();
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

    fn assemble(&self, request: &Request, kept: &Kept, tools: &[u8]) -> Vec<u8> {
        let last = kept.chunks.iter().rfind(|chunk| !chunk.silent);
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
            && kept.chunks.iter().any(|chunk| chunk.calls);
        drop(lessons);
        let stand_in = if demanded {
            self.stand_in()
        } else {
            Vec::new()
        };
        let tools = if demanded { &stand_in } else { tools };
        let system = request.system_stable.len() + request.system_dynamic.len();
        // Consecutive bodies grow a little each: of the same size they use the same memory again, and no
        // page of it has to be fetched anew.
        let room = kept.json.len() + tools.len() + system + 8_192;
        let mut out = Vec::with_capacity(room.next_multiple_of(BODY));
        open(&mut out, &head);
        if !tools.is_empty() {
            out.extend_from_slice(b"\"tools\":");
            out.extend_from_slice(tools);
            out.push(b',');
        }
        out.extend_from_slice(format!("\"{list}\":[").as_bytes());
        self.messages(&mut out, request, kept);
        out.extend_from_slice(b"]}");
        out
    }

    fn messages(&self, out: &mut Vec<u8>, request: &Request, kept: &Kept) {
        if self.quirks.wire == Wire::OpenaiChat
            && let Some(system) = openai_chat::system(request, &self.quirks)
        {
            write(out, &system);
        }
        let said = |chunk: &&Chunk| !chunk.silent;
        let first = kept.chunks.iter().find(said);
        if first.is_none_or(|first| first.assistant) {
            separate(out);
            write(out, &self.user_says(GO_ON));
        }
        // The last two user's sides are marked: what the next request shares with this one ends at
        // the last, what this one shared with the one before ends at the one before.
        let mut marks = [None; 2];
        if self.quirks.cache_control {
            let newest_first = kept.chunks.iter().rev().filter_map(|chunk| chunk.mark);
            for (mark, at) in marks.iter_mut().rev().zip(newest_first) {
                *mark = Some(at);
            }
        }
        if !kept.json.is_empty() {
            separate(out);
        }
        let mut from = 0;
        for at in marks.into_iter().flatten() {
            out.extend_from_slice(kept.json.get(from..at).unwrap_or_default());
            out.extend_from_slice(MARK);
            from = at;
        }
        out.extend_from_slice(kept.json.get(from..).unwrap_or_default());
        let last = kept.chunks.iter().rfind(said);
        if last.is_some_and(|last| !(last.user || last.paused)) {
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
        messages: Messages::default(),
        chunks: Vec::new(),
        json: Vec::new(),
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
