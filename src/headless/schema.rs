//! JSON Schema, as far as answers need it: does a value fit, and if not, where and why.
//!
//! Keywords of the drafts from 6 to 2020-12 that say something about one document; references within
//! it (`#/$defs/x`). What is not understood is refused when the schema is read, never passed over in
//! silence: an answer that was "valid" by half a schema helps nobody.

use serde_json::{Map, Value};

/// A schema that is fully understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    root: Value,
}

/// More references within one another than this are a circle.
const MAX_DEPTH: usize = 64;
/// So many mistakes are told.
const MOST_MISTAKES: usize = 8;

/// Keywords that only describe.
const NOTES: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
    "$defs",
    "definitions",
    "$anchor",
];

/// Keywords that are checked.
const CHECKED: &[&str] = &[
    "type",
    "enum",
    "const",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "items",
    "prefixItems",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

impl Schema {
    /// Reads a schema; the error is a sentence that names the place.
    pub fn read(text: &str) -> Result<Self, String> {
        let root: Value = serde_json::from_str(text).map_err(|e| format!("It is no JSON: {e}."))?;
        understood(&root, &root, "#", 0)?;
        Ok(Self { root })
    }

    /// The schema on one line.
    pub fn text(&self) -> String {
        self.root.to_string()
    }

    /// What is wrong with a value, a clause each; empty if it fits.
    pub fn mistakes(&self, value: &Value) -> Vec<String> {
        let mut check = Check {
            root: &self.root,
            mistakes: Vec::new(),
        };
        check.value(&self.root, value, "", 0);
        check.mistakes.truncate(MOST_MISTAKES);
        check.mistakes
    }
}

/// Fails at the first keyword that is not known or has no sense.
fn understood(schema: &Value, root: &Value, at: &str, depth: usize) -> Result<(), String> {
    let fields = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(fields) => fields,
        _ => {
            return Err(format!(
                "{at} is no schema: it must be an object, true or false."
            ));
        }
    };
    if depth > MAX_DEPTH {
        return Err(format!("{at} is nested too deeply."));
    }
    for (name, value) in fields {
        let here = format!("{at}/{name}");
        let inner: Vec<&Value> = match name.as_str() {
            "$defs" | "definitions" | "properties" | "patternProperties" => value
                .as_object()
                .ok_or_else(|| format!("{here} must be an object."))?
                .values()
                .collect(),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => value
                .as_array()
                .ok_or_else(|| format!("{here} must be an array."))?
                .iter()
                .collect(),
            "not"
            | "if"
            | "then"
            | "else"
            | "additionalProperties"
            | "propertyNames"
            | "items"
            | "contains" => {
                vec![value]
            }
            "$ref" => {
                let pointer = value.as_str().and_then(|r| r.strip_prefix('#'));
                if pointer.and_then(|p| root.pointer(p)).is_none() {
                    return Err(format!(
                        "{here} leads nowhere: only references within the file are followed."
                    ));
                }
                Vec::new()
            }
            "pattern" => {
                let pattern = value.as_str().unwrap_or_default();
                regex::Regex::new(pattern)
                    .map_err(|_e| format!("{here} is no regular expression."))?;
                Vec::new()
            }
            known if NOTES.contains(&known) || CHECKED.contains(&known) => Vec::new(),
            _ => return Err(format!("The keyword {name} at {at} is not understood.")),
        };
        if name == "patternProperties" {
            for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                regex::Regex::new(pattern)
                    .map_err(|_e| format!("{pattern} at {here} is no regular expression."))?;
            }
        }
        for schema in inner {
            understood(schema, root, &here, depth + 1)?;
        }
    }
    Ok(())
}

struct Check<'a> {
    root: &'a Value,
    mistakes: Vec<String>,
}

impl Check<'_> {
    fn wrong(&mut self, at: &str, what: impl std::fmt::Display) {
        let place = if at.is_empty() { "the value" } else { at };
        self.mistakes.push(format!("{place} {what}"));
    }

    fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut inner = Check {
            root: self.root,
            mistakes: Vec::new(),
        };
        inner.value(schema, value, "", depth + 1);
        inner.mistakes.is_empty()
    }

    fn value(&mut self, schema: &Value, value: &Value, at: &str, depth: usize) {
        if depth > MAX_DEPTH {
            self.wrong(
                at,
                "is described by a schema that refers to itself without end",
            );
            return;
        }
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => {
                self.wrong(at, "must not be there");
                return;
            }
            _ => return,
        };
        if let Some(pointer) = fields.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.root.pointer(pointer.trim_start_matches('#'))
        {
            self.value(target, value, at, depth + 1);
        }
        self.kind(fields, value, at);
        self.combined(fields, value, at, depth);
        match value {
            Value::Object(object) => self.object(fields, object, at, depth),
            Value::Array(items) => self.array(fields, items, at, depth),
            Value::String(text) => self.text(fields, text, at),
            Value::Number(number) => self.number(fields, number.as_f64().unwrap_or(0.0), at),
            _ => {}
        }
    }

    fn kind(&mut self, fields: &Map<String, Value>, value: &Value, at: &str) {
        let is = |kind: &str| match kind {
            "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
            "number" => value.is_number(),
            kind => kind == name_of(value),
        };
        let wanted: Vec<&str> = match fields.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !wanted.is_empty() && !wanted.iter().any(|kind| is(kind)) {
            self.wrong(
                at,
                format!(
                    "must be of type {}, is {}",
                    wanted.join(" or "),
                    name_of(value)
                ),
            );
        }
        if let Some(Value::Array(choices)) = fields.get("enum")
            && !choices.iter().any(|choice| same(choice, value))
        {
            let list: Vec<String> = choices.iter().map(Value::to_string).collect();
            self.wrong(at, format!("must be one of {}", list.join(", ")));
        }
        if let Some(only) = fields.get("const")
            && !same(only, value)
        {
            self.wrong(at, format!("must be {only}"));
        }
    }

    fn combined(&mut self, fields: &Map<String, Value>, value: &Value, at: &str, depth: usize) {
        let list = |name: &str| fields.get(name).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.value(schema, value, at, depth + 1);
        }
        if let Some(choices) = list("anyOf")
            && !choices.iter().any(|schema| self.fits(schema, value, depth))
        {
            self.wrong(at, "fits none of the forms of anyOf");
        }
        if let Some(choices) = list("oneOf") {
            let count = choices
                .iter()
                .filter(|schema| self.fits(schema, value, depth))
                .count();
            if count != 1 {
                self.wrong(at, format!("must fit one form of oneOf, fits {count}"));
            }
        }
        if fields
            .get("not")
            .is_some_and(|schema| self.fits(schema, value, depth))
        {
            self.wrong(at, "fits what it must not");
        }
        if let Some(condition) = fields.get("if") {
            let branch = if self.fits(condition, value, depth) {
                "then"
            } else {
                "else"
            };
            if let Some(schema) = fields.get(branch) {
                self.value(schema, value, at, depth + 1);
            }
        }
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        object: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) {
        for name in strings(fields.get("required")) {
            if !object.contains_key(name) {
                self.wrong(at, format!("lacks {name}"));
            }
        }
        if let Some(Value::Object(needs)) = fields.get("dependentRequired") {
            for (name, needed) in needs.iter().filter(|(name, _)| object.contains_key(*name)) {
                for other in strings(Some(needed)).filter(|other| !object.contains_key(*other)) {
                    self.wrong(at, format!("has {name} and lacks {other}"));
                }
            }
        }
        self.count(
            fields,
            ("minProperties", "maxProperties"),
            object.len(),
            "properties",
            at,
        );
        let known = fields.get("properties").and_then(Value::as_object);
        let patterns: Vec<(regex::Regex, &Value)> = fields
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(pattern, schema)| Some((regex::Regex::new(pattern).ok()?, schema)))
            .collect();
        for (name, value) in object {
            let here = format!("{at}/{name}");
            let own = known.and_then(|known| known.get(name));
            let fitting = patterns
                .iter()
                .filter(|(pattern, _)| pattern.is_match(name));
            let schemas: Vec<&Value> = own
                .into_iter()
                .chain(fitting.map(|(_, schema)| *schema))
                .collect();
            if schemas.is_empty()
                && let Some(others) = fields.get("additionalProperties")
            {
                self.value(others, value, &here, depth + 1);
            }
            for schema in schemas {
                self.value(schema, value, &here, depth + 1);
            }
            if let Some(names) = fields.get("propertyNames")
                && !self.fits(names, &Value::String(name.clone()), depth)
            {
                self.wrong(&here, "has a name that it must not have");
            }
        }
    }

    fn array(&mut self, fields: &Map<String, Value>, items: &[Value], at: &str, depth: usize) {
        self.count(fields, ("minItems", "maxItems"), items.len(), "items", at);
        let first = fields.get("prefixItems").and_then(Value::as_array);
        for (n, item) in items.iter().enumerate() {
            let own = first.and_then(|first| first.get(n));
            if let Some(schema) = own.or_else(|| fields.get("items")) {
                self.value(schema, item, &format!("{at}/{n}"), depth + 1);
            }
        }
        if let Some(wanted) = fields.get("contains")
            && !items.iter().any(|item| self.fits(wanted, item, depth))
        {
            self.wrong(at, "contains nothing of the form that it must");
        }
        let doubled = || {
            items
                .iter()
                .enumerate()
                .any(|(n, item)| items.iter().skip(n + 1).any(|o| same(o, item)))
        };
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) && doubled() {
            self.wrong(at, "holds an item twice");
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, text: &str, at: &str) {
        self.count(
            fields,
            ("minLength", "maxLength"),
            text.chars().count(),
            "characters",
            at,
        );
        if let Some(pattern) = fields.get("pattern").and_then(Value::as_str)
            && regex::Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text))
        {
            self.wrong(at, format!("does not match {pattern}"));
        }
    }

    fn number(&mut self, fields: &Map<String, Value>, number: f64, at: &str) {
        let limit = |name: &str| fields.get(name).and_then(Value::as_f64);
        let breaks = [
            ("minimum", limit("minimum").is_some_and(|l| number < l)),
            ("maximum", limit("maximum").is_some_and(|l| number > l)),
            (
                "exclusiveMinimum",
                limit("exclusiveMinimum").is_some_and(|l| number <= l),
            ),
            (
                "exclusiveMaximum",
                limit("exclusiveMaximum").is_some_and(|l| number >= l),
            ),
            (
                "multipleOf",
                limit("multipleOf").is_some_and(|l| {
                    let times = number / l;
                    (times - times.round()).abs() > 1e-9
                }),
            ),
        ];
        for (name, _) in breaks.into_iter().filter(|(_, broken)| *broken) {
            let wanted = fields.get(name).map(Value::to_string).unwrap_or_default();
            self.wrong(at, format!("is {number}, against {name} {wanted}"));
        }
    }

    fn count(
        &mut self,
        fields: &Map<String, Value>,
        (low, high): (&str, &str),
        count: usize,
        what: &str,
        at: &str,
    ) {
        let limit = |name: &str| fields.get(name).and_then(Value::as_u64);
        let count = count as u64;
        if let Some(least) = limit(low).filter(|least| count < *least) {
            self.wrong(
                at,
                format!("has {count} {what}, at least {least} are wanted"),
            );
        }
        if let Some(most) = limit(high).filter(|most| count > *most) {
            self.wrong(at, format!("has {count} {what}, at most {most} are wanted"));
        }
    }
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Equal as JSON Schema sees it: 1 and 1.0 are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

const fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
