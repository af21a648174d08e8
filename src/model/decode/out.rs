//! Where the wires put what they decoded: numbers the blocks, keeps the order promised by `Delta`.
//!
//! Used by the four wires only. `Call` is a tool call under way, the same for all of them.

use serde_json::Value;

use crate::model::arguments::{self, Watch};
use crate::model::delta::{Delta, Usage};
use crate::model::error::Failure;
use crate::protocol::Finish;

/// Deltas decoded so far, and what has been said about the whole answer.
#[derive(Debug, Default)]
pub(super) struct Out {
    /// Not yet handed out.
    pub(super) deltas: Vec<Delta>,
    /// What broke the answer; nothing is decoded after it.
    pub(super) failure: Option<Failure>,
    next_block: u32,
    usage: Usage,
    finished: bool,
}

impl Out {
    /// A new block number.
    pub(super) fn block(&mut self) -> u32 {
        let block = self.next_block;
        self.next_block += 1;
        block
    }

    /// Appends to a text block; an empty text is not worth a delta.
    pub(super) fn text(&mut self, block: u32, text: &str) {
        if !text.is_empty() {
            let text = text.to_owned();
            self.deltas.push(Delta::Text { block, text });
        }
    }

    /// Appends to a reasoning block, or announces it with an empty text.
    pub(super) fn reasoning(&mut self, block: u32, text: &str) {
        let text = text.to_owned();
        self.deltas.push(Delta::Reasoning { block, text });
    }

    /// Ends a text or reasoning block.
    pub(super) fn end(&mut self, block: u32, provider: Option<Value>) {
        self.deltas.push(Delta::BlockEnd { block, provider });
    }

    /// A reasoning block without visible text that carries something to be sent back.
    pub(super) fn carry(&mut self, provider: Value) {
        let block = self.block();
        self.reasoning(block, "");
        self.end(block, Some(provider));
    }

    /// The token counts so far; a delta only if they changed.
    pub(super) fn usage(&mut self, usage: Usage) {
        if usage != self.usage {
            self.usage = usage;
            self.deltas.push(Delta::Usage(usage));
        }
    }

    /// The answer is complete. Only the first call counts.
    pub(super) fn finish(&mut self, reason: Finish, raw: &str) {
        if !std::mem::replace(&mut self.finished, true) {
            let raw = raw.to_owned();
            self.deltas.push(Delta::Finish { reason, raw });
        }
    }

    /// True once `finish` was called.
    pub(super) const fn is_finished(&self) -> bool {
        self.finished
    }

    /// The answer is broken. The first failure counts: servers repeat themselves.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }
}

/// A tool call while its pieces arrive.
#[derive(Debug)]
pub(super) struct Call {
    /// Its number; from the moment it was first mentioned.
    block: u32,
    /// The wire's id, once it was said.
    pub(super) id: Option<String>,
    /// The tool, once it was said.
    pub(super) name: String,
    /// The arguments as they came.
    pub(super) raw: String,
    /// What goes back with it.
    pub(super) provider: Option<Value>,
    watch: Watch,
    /// Where the newest piece begins, if every piece so far begins with the one before: servers that
    /// repeat the text so far.
    repeated: Option<usize>,
    started: bool,
    ended: bool,
}

impl Call {
    /// A call that was mentioned just now.
    pub(super) fn new(out: &mut Out) -> Self {
        Self {
            block: out.block(),
            id: None,
            name: String::new(),
            raw: String::new(),
            provider: None,
            watch: Watch::default(),
            repeated: Some(0),
            started: false,
            ended: false,
        }
    }

    /// Takes id and name where they are new; empty ones say nothing.
    pub(super) fn identify(&mut self, id: Option<&str>, name: Option<&str>, out: &mut Out) {
        if let (None, Some(id)) = (&self.id, id.filter(|id| !id.is_empty())) {
            self.id = Some(id.to_owned());
        }
        if let (true, Some(name)) = (self.name.is_empty(), name) {
            name.clone_into(&mut self.name);
        }
        if !self.started && !self.name.is_empty() {
            self.start(out);
        }
    }

    fn start(&mut self, out: &mut Out) {
        self.started = true;
        out.deltas.push(Delta::CallStart {
            block: self.block,
            id: self.id.clone(),
            name: self.name.clone(),
        });
        if !self.raw.is_empty() {
            let json = self.raw.clone();
            out.deltas.push(Delta::CallArguments {
                block: self.block,
                json,
            });
        }
    }

    /// Takes a piece of the arguments.
    pub(super) fn grow(&mut self, json: &str, out: &mut Out) {
        if json.is_empty() || self.ended {
            return;
        }
        if self.raw.trim() == "{}" && json.trim_start().starts_with('{') {
            // a placeholder; the real arguments begin here
            self.raw.clear();
            self.watch = Watch::default();
        }
        let newest = self.raw.len();
        self.repeated = self
            .repeated
            .and_then(|at| self.raw.get(at..))
            .filter(|before| json.starts_with(before))
            .map(|_| newest);
        self.raw.push_str(json);
        self.watch.feed(json);
        if self.started {
            let json = json.to_owned();
            out.deltas.push(Delta::CallArguments {
                block: self.block,
                json,
            });
        }
    }

    /// Takes the arguments as a whole: they count if the pieces are missing or make no JSON.
    pub(super) fn complete(&mut self, whole: &str, out: &mut Out) {
        let is_object = |text| serde_json::from_str::<Value>(text).is_ok_and(|all| all.is_object());
        if self.is_bare() {
            self.grow(whole, out);
        } else if !self.ended && !self.is_json() && is_object(whole) {
            // a piece was lost on the way
            whole.clone_into(&mut self.raw);
            self.watch = Watch::default();
            self.watch.feed(whole);
        }
    }

    /// True if nothing of the arguments came, or only a placeholder.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.raw.trim(), "" | "{}")
    }

    /// True if the arguments so far are JSON, whatever follows.
    pub(super) fn is_json(&self) -> bool {
        !self.raw.trim().is_empty() && self.parsed().is_ok()
    }

    /// The arguments; if they are none as they were put together, those of the newest piece, provided
    /// that each piece began with the one before.
    fn parsed(&self) -> Result<Value, String> {
        arguments::parse(&self.raw).or_else(|raw| {
            let newest = self.repeated.and_then(|at| self.raw.get(at..));
            newest
                .and_then(|text| serde_json::from_str(text).ok())
                .filter(Value::is_object)
                .ok_or(raw)
        })
    }

    /// True if nothing can be missing: named, and its arguments are a closed object with content.
    pub(super) fn is_whole(&self) -> bool {
        !self.name.is_empty() && self.watch.is_closed()
    }

    /// True once it was ended.
    pub(super) const fn is_ended(&self) -> bool {
        self.ended
    }

    /// The wire says that it is complete: it may run, unless its arguments are no JSON.
    pub(super) fn end(&mut self, out: &mut Out) {
        let arguments = self.parsed();
        self.close(arguments, out);
    }

    /// The wire says that it is complete and has these arguments, whatever the text was.
    pub(super) fn end_with(&mut self, arguments: Value, out: &mut Out) {
        self.close(Ok(arguments), out);
    }

    /// The answer ended before the call did: it must not run, unless nothing is missing.
    pub(super) fn cut(&mut self, out: &mut Out) {
        let arguments = if self.is_whole() {
            arguments::parse(&self.raw)
        } else {
            Err(self.raw.clone())
        };
        self.close(arguments, out);
    }

    /// It must not run, even if its arguments look whole: the wire never said that they are.
    pub(super) fn refuse(&mut self, out: &mut Out) {
        let raw = self.raw.clone();
        self.close(Err(raw), out);
    }

    fn close(&mut self, arguments: Result<Value, String>, out: &mut Out) {
        // a place that was announced and never filled is no call
        if self.ended || (self.name.is_empty() && self.raw.trim().is_empty()) {
            return;
        }
        if !self.started {
            self.start(out);
        }
        self.ended = true;
        let arguments = if self.name.is_empty() {
            Err(self.raw.clone())
        } else {
            arguments
        };
        out.deltas.push(Delta::CallEnd {
            block: self.block,
            id: self.id.clone(),
            name: self.name.clone(),
            arguments,
            provider: self.provider.take(),
        });
    }
}
