//! Arguments of a Gemini call that come piece by piece under JSON paths (`$.steps[0].name`).

use serde_json::{Map, Value};

use crate::model::arguments;
use crate::model::decode::json;

/// Arguments under way.
#[derive(Debug)]
pub(super) struct Partial {
    value: Value,
    /// True while a text is announced to go on.
    unfinished: bool,
    /// True after a piece that fits nowhere: the call must not run.
    broken: bool,
}

impl Default for Partial {
    fn default() -> Self {
        Self {
            value: Value::Object(Map::new()),
            unfinished: false,
            broken: false,
        }
    }
}

/// Deepest path that is followed.
const MAX_DEPTH: usize = 64;

/// List places that may be left out; more would let a short path use much memory.
const MAX_GAP: usize = 8;

impl Partial {
    /// The arguments so far.
    pub(super) const fn value(&self) -> &Value {
        &self.value
    }

    /// The arguments.
    pub(super) fn into_value(self) -> Value {
        self.value
    }

    /// True if every piece found its place and no text is waiting for its end.
    pub(super) const fn is_whole(&self) -> bool {
        !self.unfinished && !self.broken
    }

    /// Takes `args`, whole members of the arguments; also as JSON in a text, which gateways make of it.
    pub(super) fn take_whole(&mut self, args: &Value) {
        let given = match args {
            Value::Object(map) => map.clone(),
            Value::String(text) => match arguments::parse(text) {
                Ok(Value::Object(map)) => map,
                _ => {
                    self.broken = true;
                    return;
                }
            },
            Value::Null => return,
            _ => {
                self.broken = true;
                return;
            }
        };
        if let Some(map) = self.value.as_object_mut() {
            map.extend(given);
        }
    }

    /// Takes one piece of `partialArgs`.
    pub(super) fn take(&mut self, piece: &Value) {
        let steps = json::text(piece, "jsonPath").and_then(steps);
        let place = steps.and_then(|steps| {
            steps
                .into_iter()
                .try_fold(&mut self.value, |value, step| step.enter(value))
        });
        let Some(place) = place else {
            self.broken = true;
            return;
        };
        if let Some(text) = piece.get("stringValue").and_then(Value::as_str) {
            match place {
                Value::String(old) => old.push_str(text),
                _ => *place = Value::String(text.to_owned()),
            }
        } else if let Some(value) = ["numberValue", "boolValue", "structValue", "listValue"]
            .iter()
            .find_map(|key| json::some(piece, key))
        {
            *place = value.clone();
        } else if piece.get("nullValue").is_some() {
            *place = Value::Null;
        }
        self.unfinished = piece.get("willContinue") == Some(&Value::Bool(true));
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    /// The place one step further, made if it is not there yet; none if it cannot be there.
    fn enter(self, value: &mut Value) -> Option<&mut Value> {
        match self {
            Self::Key(key) => {
                if value.is_null() {
                    *value = Value::Object(Map::new());
                }
                Some(value.as_object_mut()?.entry(key).or_insert(Value::Null))
            }
            Self::Index(index) => {
                if value.is_null() {
                    *value = Value::Array(Vec::new());
                }
                let list = value.as_array_mut()?;
                if index > list.len() + MAX_GAP {
                    return None;
                }
                if index >= list.len() {
                    list.resize(index + 1, Value::Null);
                }
                list.get_mut(index)
            }
        }
    }
}

/// The steps of a path like `$.a.b[0]['c d']`; none if it is no such path.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() && steps.len() < MAX_DEPTH {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (key, more) = after.split_at(end);
            steps.push(Step::Key(key.to_owned()));
            rest = more;
        } else {
            let inner = rest.strip_prefix('[')?;
            let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'));
            if let Some(quote) = quote {
                let (key, more) = inner.get(1..)?.split_once(quote)?;
                steps.push(Step::Key(key.to_owned()));
                rest = more.strip_prefix(']')?;
            } else {
                let (index, more) = inner.split_once(']')?;
                steps.push(Step::Index(index.parse().ok()?));
                rest = more;
            }
        }
    }
    (rest.is_empty() && !steps.is_empty()).then_some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_find_their_places() {
        let mut partial = Partial::default();
        for piece in [
            json!({"jsonPath": "$.a.list[0].name", "stringValue": "x", "willContinue": true}),
            json!({"jsonPath": "$.a.list[0].name", "stringValue": "y"}),
            json!({"jsonPath": "$.a.list[1]['two words']", "numberValue": 0.5}),
            json!({"jsonPath": "$.none", "nullValue": "NULL_VALUE"}),
            json!({"jsonPath": "$.yes", "boolValue": true}),
        ] {
            partial.take(&piece);
        }
        assert!(partial.is_whole());
        assert_eq!(
            partial.value(),
            &json!({"a": {"list": [{"name": "xy"}, {"two words": 0.5}]}, "none": null, "yes": true})
        );
    }

    #[test]
    fn a_text_that_goes_on_or_a_path_that_leads_nowhere_keeps_the_call_from_running() {
        let mut open = Partial::default();
        open.take(&json!({"jsonPath": "$.a", "stringValue": "x", "willContinue": true}));
        assert!(!open.is_whole());
        for path in ["", "$", "a", "$.a[99999999]", "$.a[x]", "$['a", "$.a[0]]"] {
            let mut partial = Partial::default();
            partial.take(&json!({"jsonPath": path, "stringValue": "x"}));
            assert!(!partial.is_whole(), "{path}");
        }
    }
}
