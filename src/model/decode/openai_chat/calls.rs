//! Which call a fragment of `tool_calls` belongs to, and when a call is complete.
//!
//! Index, id and name may each be missing, empty, late or repeated. What holds everywhere: a new id
//! together with a name begins a call, and a fragment that names nothing continues one.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::model::decode::json;
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

impl Calls {
    /// True if there is any call.
    pub(super) fn any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Takes a fragment of a call.
    pub(super) fn fragment(&mut self, fragment: &Value, out: &mut Out) {
        let index = json::number(fragment, "index");
        let id = json::text(fragment, "id");
        let function = fragment.get("function").unwrap_or(fragment);
        let name = json::text(function, "name");
        let at = self.find(index, id, name).unwrap_or_else(|| {
            self.list.push(Call::new(out));
            self.list.len() - 1
        });
        self.by_index.extend(index.map(|index| (index, at)));
        self.by_id.extend(id.map(|id| (id.to_owned(), at)));
        let call = &mut self.list[at];
        call.identify(id, name, out);
        if let Some(extra) = json::some(fragment, "extra_content") {
            call.provider =
                Some(json!({"wire": "openai-chat", "type": "call", "extra_content": extra}));
        }
        match function.get("arguments") {
            Some(Value::String(text)) => call.grow(text, out),
            Some(Value::Object(map)) if call.raw.is_empty() && !map.is_empty() => {
                let text = Value::Object(map.clone()).to_string();
                call.grow(&text, out);
            }
            _ => {}
        }
        if call.is_whole() && call.id.is_some() {
            call.end(out);
        }
        while self.list.get(self.settled).is_some_and(Call::is_ended) {
            self.settled += 1;
        }
    }

    /// The call that a fragment continues; none if it begins one.
    fn find(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
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
        let another = name.is_some() && (other_id || (id.is_none() && had_all));
        (!another).then_some(found)
    }

    /// The server gave a reason for the end: calls are complete, unless the limit or a filter cut them.
    pub(super) fn settle(&mut self, reason: Finish, out: &mut Out) {
        for call in &mut self.list[self.settled..] {
            let cut = match reason {
                Finish::Stop | Finish::ToolCalls | Finish::Other => false,
                _ => serde_json::from_str::<Value>(&call.raw).is_err(),
            };
            if cut {
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
