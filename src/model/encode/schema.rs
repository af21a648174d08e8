//! Reduces the JSON schemas of tools to what every provider understands.
//!
//! Ours are generated (`$ref`, `$defs`, `format: uint32`), those of MCP servers are anybody's. No
//! provider takes all of JSON Schema; `reduce` keeps what OpenAI and Anthropic take, `openapi` what
//! Gemini takes (a subset of OpenAPI 3.0). Called once per tool list; pure.

use serde_json::{Map, Value, json};

/// References nested deeper than this are cut: a recursive type would never end.
const DEEPEST: usize = 12;

/// An object schema without references, meta keys and formats that providers refuse.
pub(super) fn reduce(schema: &Value) -> Value {
    let reduced = inline(schema, schema, 0);
    as_object(reduced)
}

/// The same in Gemini's subset; none for a tool without arguments, where Gemini wants no schema.
pub(super) fn openapi(schema: &Value) -> Option<Value> {
    let reduced = subset(&reduce(schema));
    let properties = reduced.get("properties").and_then(Value::as_object);
    properties.is_some_and(|p| !p.is_empty()).then_some(reduced)
}

/// Providers want an object at the top, and no choice beside it.
fn as_object(schema: Value) -> Value {
    let Value::Object(mut map) = schema else {
        return json!({"type": "object", "properties": {}});
    };
    for key in ["anyOf", "oneOf", "allOf", "not", "enum", "const"] {
        let Some(branches) = map.remove(key) else {
            continue;
        };
        // A tagged enum as the input: offer the properties of all variants, none required.
        for branch in branches.as_array().into_iter().flatten() {
            let Some(more) = branch.get("properties").and_then(Value::as_object) else {
                continue;
            };
            let properties = map
                .entry("properties")
                .or_insert_with(|| Value::Object(Map::new()));
            if let Some(properties) = properties.as_object_mut() {
                for (name, schema) in more {
                    if !properties.contains_key(name) {
                        properties.insert(name.clone(), schema.clone());
                    }
                }
            }
        }
    }
    map.insert("type".to_owned(), json!("object"));
    map.entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    Value::Object(map)
}

fn inline(schema: &Value, root: &Value, depth: usize) -> Value {
    let map = match schema {
        Value::Object(map) => map,
        // `true` allows anything, `false` nothing; neither is known to all providers.
        Value::Bool(_) => return Value::Object(Map::new()),
        other => return other.clone(),
    };
    if depth > DEEPEST {
        return json!({"type": "object"});
    }
    let mut out = Map::new();
    if let Some(target) = map.get("$ref").and_then(Value::as_str)
        && let Some(found) = target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer))
        && let Value::Object(found) = inline(found, root, depth + 1)
    {
        out = found;
    }
    for (key, value) in map {
        match key.as_str() {
            "$ref" | "$defs" | "definitions" | "$schema" | "$id" | "$anchor" | "$comment"
            | "$dynamicRef" | "$dynamicAnchor" | "$vocabulary" => {}
            "title" if value.is_string() => {}
            "format" if !is_known_format(value) => {}
            "properties" | "patternProperties" | "dependentSchemas" => {
                out.insert(key.clone(), each_member(value, root, depth));
            }
            "items"
            | "additionalProperties"
            | "not"
            | "contains"
            | "propertyNames"
            | "if"
            | "then"
            | "else"
                if value.is_object() =>
            {
                out.insert(key.clone(), inline(value, root, depth + 1));
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                let all = value.as_array().into_iter().flatten();
                let all = all.map(|v| inline(v, root, depth + 1)).collect();
                out.insert(key.clone(), Value::Array(all));
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(simplify(out))
}

fn each_member(value: &Value, root: &Value, depth: usize) -> Value {
    let members = value.as_object().into_iter().flatten();
    Value::Object(
        members
            .map(|(name, schema)| {
                let schema = match inline(schema, root, depth + 1) {
                    Value::Object(map) => Value::Object(map),
                    _ => Value::Object(Map::new()),
                };
                (name.clone(), schema)
            })
            .collect(),
    )
}

fn is_known_format(value: &Value) -> bool {
    matches!(
        value.as_str(),
        Some(
            "date-time" | "date" | "time" | "email" | "hostname" | "ipv4" | "ipv6" | "uuid" | "uri"
        )
    )
}

/// `allOf` of one schema is that schema; a `type` beside `anyOf` is refused by some (Moonshot).
fn simplify(mut map: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(all)) = map.get("allOf").cloned() {
        map.remove("allOf");
        for part in all {
            let Value::Object(part) = part else { continue };
            merge(&mut map, part);
        }
    }
    if map.contains_key("anyOf") {
        map.remove("type");
    }
    map
}

fn merge(into: &mut Map<String, Value>, part: Map<String, Value>) {
    for (key, value) in part {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if key == "properties" => {
                old.extend(new);
            }
            (Some(Value::Array(old)), Value::Array(new)) if key == "required" => {
                old.extend(new);
            }
            (Some(_), _) => {}
            (None, value) => {
                into.insert(key, value);
            }
        }
    }
}

const GEMINI_KEYS: [&str; 16] = [
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "required",
    "properties",
    "items",
    "anyOf",
    "enum",
];

fn subset(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else {
        return json!({"type": "string"});
    };
    let mut out = Map::new();
    let mut notes: Vec<String> = Vec::new();
    let mut choices: Vec<Value> = Vec::new();
    kind(map, &mut out, &mut choices);
    for key in ["anyOf", "oneOf"] {
        for branch in map.get(key).and_then(Value::as_array).into_iter().flatten() {
            if branch.get("type").and_then(Value::as_str) == Some("null") {
                out.insert("nullable".to_owned(), json!(true));
            } else {
                choices.push(subset(branch));
            }
        }
    }
    for (key, value) in map {
        match key.as_str() {
            "properties" => {
                let members = value.as_object().into_iter().flatten();
                let members: Map<_, _> = members.map(|(n, s)| (n.clone(), subset(s))).collect();
                if !members.is_empty() {
                    out.insert(key.clone(), Value::Object(members));
                }
            }
            "items" => {
                out.insert(key.clone(), subset(value));
            }
            "enum" => choose(
                value.as_array().map_or(&[][..], Vec::as_slice),
                &mut out,
                &mut notes,
            ),
            "const" => choose(std::slice::from_ref(value), &mut out, &mut notes),
            "default" => notes.push(format!("Default: {value}.")),
            "anyOf" | "required" => {}
            known if GEMINI_KEYS.contains(&known) => {
                out.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    finish(map, out, &notes, choices)
}

/// Takes over the type; a list of types becomes a nullable type or a choice.
fn kind(map: &Map<String, Value>, out: &mut Map<String, Value>, choices: &mut Vec<Value>) {
    match map.get("type") {
        Some(Value::String(kind)) if kind != "null" => {
            out.insert("type".to_owned(), json!(kind));
        }
        Some(Value::Array(kinds)) => {
            let names: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            if names.contains(&"null") {
                out.insert("nullable".to_owned(), json!(true));
            }
            let real: Vec<&str> = names.into_iter().filter(|n| *n != "null").collect();
            match real.as_slice() {
                [] => {}
                [one] => {
                    out.insert("type".to_owned(), json!(one));
                }
                several => choices.extend(several.iter().map(|kind| match *kind {
                    "array" => json!({"type": "array", "items": {"type": "string"}}),
                    kind => json!({"type": kind}),
                })),
            }
        }
        _ => {}
    }
}

/// Gemini has choices of strings only; others are told in words.
fn choose(values: &[Value], out: &mut Map<String, Value>, notes: &mut Vec<String>) {
    if values.iter().all(Value::is_string) && !values.is_empty() {
        let values: Vec<&Value> = values.iter().filter(|v| v.as_str() != Some("")).collect();
        out.insert("enum".to_owned(), json!(values));
        out.insert("type".to_owned(), json!("string"));
    } else {
        let all: Vec<String> = values.iter().map(Value::to_string).collect();
        notes.push(format!("One of: {}.", all.join(", ")));
    }
}

fn finish(
    map: &Map<String, Value>,
    mut out: Map<String, Value>,
    notes: &[String],
    mut choices: Vec<Value>,
) -> Value {
    if choices.len() == 1
        && let Some(Value::Object(only)) = choices.pop()
    {
        merge(&mut out, only);
    } else if !choices.is_empty() {
        // Beside a choice Gemini takes nothing but a description.
        out.retain(|key, _| key == "description" || key == "nullable");
        out.insert("anyOf".to_owned(), Value::Array(choices));
    }
    if !out.contains_key("anyOf") && !out.contains_key("type") {
        let kind = if out.contains_key("properties") {
            "object"
        } else if out.contains_key("items") {
            "array"
        } else {
            "string"
        };
        out.insert("type".to_owned(), json!(kind));
    }
    if out.get("type").and_then(Value::as_str) == Some("array") && !out.contains_key("items") {
        out.insert("items".to_owned(), json!({"type": "string"}));
    }
    if let Some(properties) = out.get("properties").and_then(Value::as_object) {
        let required = map.get("required").and_then(Value::as_array);
        let required: Vec<&Value> = required
            .into_iter()
            .flatten()
            .filter(|name| name.as_str().is_some_and(|n| properties.contains_key(n)))
            .collect();
        if !required.is_empty() {
            let required = json!(required);
            out.insert("required".to_owned(), required);
        }
    }
    if !notes.is_empty() {
        let said = out.get("description").and_then(Value::as_str).unwrap_or("");
        let text = format!("{said} {}", notes.join(" "));
        out.insert("description".to_owned(), json!(text.trim()));
    }
    Value::Object(out)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
