//! Which call a fragment of `tool_calls` belongs to, and when a call is complete.
//!
//! Index, id and name may each be missing, empty, late or repeated. What holds everywhere: a new id
//! together with a name begins a call, and a fragment that names nothing continues one.

use serde_json::{Value, json};

use crate::model::decode::json;
use crate::model::decode::out::{Call, Out};
use crate::protocol::Finish;

/// The calls of one answer in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Slot>,
    /// Calls before this one are all ended: keeps the search short.
    settled: usize,
}

#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    call: Call,
}

impl Calls {
    /// True if there is any call.
    pub(super) fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Takes a fragment of a call.
    pub(super) fn fragment(&mut self, fragment: &Value, out: &mut Out) {
        let index = json::number(fragment, "index");
        let id = json::text(fragment, "id");
        let function = fragment.get("function").unwrap_or(fragment);
        let name = json::text(function, "name");
        let at = self.find(index, id, name).unwrap_or_else(|| {
            let call = Call::new(out);
            self.calls.push(Slot { index, call });
            self.calls.len() - 1
        });
        let Slot { call, .. } = &mut self.calls[at];
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
        while self
            .calls
            .get(self.settled)
            .is_some_and(|slot| slot.call.is_ended())
        {
            self.settled += 1;
        }
    }

    fn find(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let same_index = |slot: &Slot| slot.index == index;
        let same_id = |slot: &Slot| slot.call.id.as_deref() == id;
        // The newest call that it could belong to. Open calls are few; of the ended ones only the last
        // can get a late fragment.
        let from = self.settled.min(self.calls.len().saturating_sub(1));
        let newest = |fits: &dyn Fn(&Slot) -> bool| {
            self.calls[from..]
                .iter()
                .rposition(fits)
                .map(|at| from + at)
        };
        let found = match (index, id) {
            (None, None) if name.is_none() => self.calls.len().checked_sub(1),
            // no index and no id, but a name: a call of its own
            (None, None) => None,
            (None, Some(_)) => newest(&same_id).or_else(|| {
                // the id may come after the first piece
                newest(&|slot| slot.index.is_none() && slot.call.id.is_none() && name.is_none())
            }),
            (Some(_), _) => newest(&same_index),
        }?;
        let call = &self.calls[found].call;
        let other_id = id.is_some() && call.id.is_some() && call.id.as_deref() != id;
        let begun_anew = name.is_some() && (other_id || (id.is_none() && call.is_ended()));
        let whole_anew = name.is_some() && id.is_none() && call.is_whole();
        (!begun_anew && !whole_anew).then_some(found)
    }

    /// The server gave a reason for the end: calls are complete, unless the limit or a filter cut them.
    pub(super) fn settle(&mut self, reason: Finish, out: &mut Out) {
        for Slot { call, .. } in &mut self.calls[self.settled..] {
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
        self.settled = self.calls.len();
    }

    /// The answer broke off.
    pub(super) fn cut(&mut self, out: &mut Out) {
        for Slot { call, .. } in &mut self.calls[self.settled..] {
            call.cut(out);
        }
        self.settled = self.calls.len();
    }
}
