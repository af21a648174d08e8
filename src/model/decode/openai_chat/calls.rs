//! Which call a fragment of `tool_calls` belongs to, and when a call is complete.
//!
//! Index, id and name may each be missing, empty, late or repeated. What holds everywhere: a new id
//! together with a name begins a call, and a fragment that names nothing continues one.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::model::decode::json::{self, Text};
use crate::model::decode::out::{Call, Out};
use crate::protocol::Finish;

/// The calls of one answer in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Call>,
    /// The newest call under each index, and under each id.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// Calls before this one are all ended.
    settled: usize,
}

/// One item of `tool_calls`; what is empty counts as missing.
#[derive(Debug, Default)]
pub(super) struct Fragment<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
    /// Arguments that came as an object instead of a text.
    object: Option<&'a Value>,
    extra: Option<&'a Value>,
}

impl<'a> Fragment<'a> {
    /// The fragment in a tree; also the `function_call` of old servers.
    pub(super) fn of_value(said: &'a Value) -> Self {
        let function = said.get("function").unwrap_or(said);
        let object = |value: &&Value| value.as_object().is_some_and(|map| !map.is_empty());
        Self {
            index: json::number(said, "index"),
            id: json::text(said, "id").or_else(|| json::text(said, "tool_call_id")),
            name: json::text(function, "name"),
            arguments: json::text(function, "arguments"),
            object: function.get("arguments").filter(object),
            extra: json::some(said, "extra_content"),
        }
    }

    /// The arguments, if they are all there.
    fn whole(&self) -> Option<String> {
        let given = match (self.arguments, self.object) {
            (Some(text), _) => text.trim().to_owned(),
            (None, object) => object?.to_string(),
        };
        let is_whole = serde_json::from_str::<Value>(&given).is_ok_and(|all| all.is_object());
        is_whole.then_some(given)
    }

    /// The fragment of the fast path.
    pub(super) fn of_fast(said: &'a FastCall<'_>) -> Self {
        let text = |text: &'a Option<Text<'_>>| {
            text.as_ref()
                .map(Text::as_str)
                .filter(|text| !text.is_empty())
        };
        let function = said.function.as_ref();
        Self {
            index: said.index,
            id: text(&said.id),
            name: function.and_then(|function| text(&function.name)),
            arguments: function.and_then(|function| text(&function.arguments)),
            object: None,
            extra: None,
        }
    }
}

/// A fragment read without building a tree.
#[derive(Deserialize)]
pub(super) struct FastCall<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<FastFunction<'a>>,
    extra_content: Option<IgnoredAny>,
}

impl FastCall<'_> {
    /// True if there is nothing in it that only the slow path reads.
    pub(super) const fn is_plain(&self) -> bool {
        self.extra_content.is_none() && self.function.is_some()
    }
}

#[derive(Deserialize)]
struct FastFunction<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

impl Calls {
    /// True if there is any call.
    pub(super) fn any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Takes a fragment of a call.
    pub(super) fn take(&mut self, fragment: &Fragment<'_>, out: &mut Out) {
        let Fragment {
            index, id, name, ..
        } = *fragment;
        let at = self.find(fragment).unwrap_or_else(|| {
            self.list.push(Call::new(out));
            self.list.len() - 1
        });
        self.by_index.extend(index.map(|index| (index, at)));
        self.by_id.extend(id.map(|id| (id.to_owned(), at)));
        let call = &mut self.list[at];
        call.identify(id, name, out);
        if let Some(extra) = fragment.extra {
            call.provider =
                Some(json!({"wire": "openai-chat", "type": "call", "extra_content": extra}));
        }
        if let Some(arguments) = fragment.arguments {
            call.grow(arguments, out);
        }
        if let Some(arguments) = fragment.object.filter(|_| call.is_bare()) {
            call.grow(&arguments.to_string(), out);
        }
        if call.is_whole() && call.id.is_some() {
            call.end(out);
        }
        while self.list.get(self.settled).is_some_and(Call::is_ended) {
            self.settled += 1;
        }
    }

    /// The call that a fragment continues; none if it begins one.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let Fragment {
            index, id, name, ..
        } = *fragment;
        let last = self.list.len().checked_sub(1);
        let found = match (index, id) {
            (Some(index), _) => self.by_index.get(&index).copied(),
            (None, Some(id)) => self.by_id.get(id).copied().or_else(|| {
                // the id may come after the first piece
                last.filter(|at| name.is_none() && self.list[*at].id.is_none())
            }),
            // no index and no id, but a name: a call of its own
            (None, None) => last.filter(|_| name.is_none()),
        }?;
        let call = &self.list[found];
        let other_id = id.is_some() && call.id.is_some() && call.id.as_deref() != id;
        let had_all = call.is_ended() || call.is_whole() || call.raw.trim() == "{}";
        // some servers give all calls the same id; the same call once more is none
        let brings_all = fragment.whole().is_some_and(|all| all != call.raw.trim());
        let another = name.is_some() && (other_id || (had_all && (id.is_none() || brings_all)));
        (!another).then_some(found)
    }

    /// The server gave a reason for the end, but may not have said everything: some give one with every
    /// chunk, or before the arguments. What is whole is complete.
    pub(super) fn settle_whole(&mut self, out: &mut Out) {
        for call in &mut self.list[self.settled..] {
            if call.is_json() {
                call.end(out);
            }
        }
    }

    /// The answer has ended with this reason: calls are complete, unless the limit or a filter cut them.
    pub(super) fn settle(&mut self, reason: Finish, out: &mut Out) {
        for call in &mut self.list[self.settled..] {
            let complete = matches!(reason, Finish::Stop | Finish::ToolCalls | Finish::Other);
            if !complete && !call.is_json() {
                call.refuse(out);
            } else {
                call.end(out);
            }
        }
        self.settled = self.list.len();
    }

    /// The answer broke off.
    pub(super) fn cut(&mut self, out: &mut Out) {
        for call in &mut self.list[self.settled..] {
            call.cut(out);
        }
        self.settled = self.list.len();
    }
}
