//! The JSON schema of `config.toml`, made from the table of keys, so that editors complete and check
//! it. `docs/config.schema.json` is this, and a test says so.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::keys::KEYS;
use super::kind::Kind;

/// The schema of a configuration file.
pub fn schema() -> Schema {
    let mut root = section();
    for key in KEYS {
        let mut at = &mut root;
        for part in key.path.split('.') {
            at = child(at, part);
        }
        let mut leaf = leaf(&key.kind);
        if let Value::Object(fields) = &mut leaf {
            fields.insert("description".to_owned(), json!(key.about));
        }
        *at = leaf;
    }
    if let Value::Object(fields) = &mut root {
        fields.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        fields.insert("title".to_owned(), json!("Configuration of dunlin"));
        return Schema::from(std::mem::take(fields));
    }
    Schema::default()
}

fn section() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// The place of a name below a section; `*` is the schema of names that the user chooses.
fn child<'a>(at: &'a mut Value, part: &str) -> &'a mut Value {
    if !at.is_object() || at.get("type").is_none() {
        *at = section();
    }
    let Value::Object(fields) = at else { return at };
    let slot = if part == "*" {
        fields.entry("additionalProperties").or_insert(Value::Null)
    } else {
        let properties = fields
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
        &mut properties[part]
    };
    if slot.is_null() || *slot == Value::Bool(false) {
        *slot = section();
    }
    slot
}

fn leaf(kind: &Kind) -> Value {
    let names = kind.names();
    if !names.is_empty() {
        return json!({ "enum": names });
    }
    let none = json!({ "const": "none" });
    match kind {
        Kind::Bool(_) | Kind::OptBool(_) => json!({ "type": "boolean" }),
        Kind::U32(_, least, most) if *most < u32::MAX => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::U32(_, least, _) => json!({ "type": "integer", "minimum": least }),
        Kind::Usize(_, least) => json!({ "type": "integer", "minimum": least }),
        Kind::U64(_) => json!({ "type": "integer", "minimum": 0 }),
        Kind::OptU32(_) | Kind::OptU64(_) => {
            json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, none] })
        }
        Kind::OptAmount(_) => json!({ "anyOf": [{ "type": "number", "minimum": 0 }, none] }),
        Kind::Share(_) => json!({ "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": "%$" },
        ] }),
        Kind::Duration(_) | Kind::OptDuration(_) => json!({ "anyOf": [
            { "type": "string", "examples": ["100ms", "30s", "5min", "2h"] },
            { "type": "number", "minimum": 0 },
        ] }),
        Kind::Size(_) => json!({ "anyOf": [
            { "type": "string", "examples": ["512KiB", "10MiB", "2GiB"] },
            { "type": "integer", "minimum": 0 },
        ] }),
        Kind::OptModel(_) => json!({ "type": "string", "pattern": "^[^/]+/.+|none$" }),
        Kind::Models(_) => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "/" } })
        }
        Kind::Words(_) | Kind::Paths(_) => words(),
        Kind::TextMap(_) => map(&json!({ "type": "string" })),
        Kind::BoolMap(_) => map(&json!({ "type": "boolean" })),
        Kind::WordsMap(_) => map(&json!({ "anyOf": [{ "type": "string" }, words()] })),
        Kind::Rules => {
            let action = json!({ "enum": ["allow", "ask", "deny"] });
            map(&json!({ "anyOf": [action, map(&action), { "type": "array" }] }))
        }
        _ => json!({ "type": "string" }),
    }
}

fn words() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn map(of: &Value) -> Value {
    json!({ "type": "object", "additionalProperties": of })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn docs(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(name)
    }

    /// The table of docs/config.md.
    fn reference() -> String {
        let base = crate::config::Config {
            agent: "build".to_owned(),
            ..Default::default()
        };
        let mut out =
            String::from("| key | kind | default | meaning |\n| --- | --- | --- | --- |\n");
        for key in KEYS {
            let default = if key.path.contains('*') {
                None
            } else {
                key.kind.show(&mut base.clone(), &[])
            };
            let names = key.kind.names();
            let kind = if names.is_empty() {
                key.kind.describe().to_owned()
            } else {
                names.join(", ")
            };
            let default = default.map_or_else(String::new, |d| format!("`{d}`"));
            let row = format!("| `{}` | {kind} | {default} | {} |\n", key.path, key.about);
            out.push_str(&row);
        }
        out
    }

    /// Set `UPDATE_DOCS=1` to write what the tests compare.
    fn compare(name: &str, whole: &str) {
        let path = docs(name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, whole).expect("docs are writable");
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == whole,
            "docs/{name} is not current: run UPDATE_DOCS=1 cargo test --lib config::schema"
        );
    }

    #[test]
    fn the_shipped_schema_is_current() {
        let text = serde_json::to_string_pretty(&schema()).expect("json");
        compare("config.schema.json", &format!("{text}\n"));
    }

    #[test]
    fn the_documented_table_is_current() {
        let text = std::fs::read_to_string(docs("config.md")).expect("docs/config.md");
        let (head, rest) = text.split_once("<!-- keys -->\n").expect("mark");
        let (_, tail) = rest.split_once("<!-- /keys -->\n").expect("end mark");
        let whole = format!("{head}<!-- keys -->\n{}<!-- /keys -->\n{tail}", reference());
        compare("config.md", &whole);
    }

    #[test]
    fn every_key_is_in_the_schema_at_its_place() {
        let root = schema().to_value();
        for key in KEYS {
            let mut at = &root;
            for part in key.path.split('.') {
                at = if part == "*" {
                    &at["additionalProperties"]
                } else {
                    &at["properties"][part]
                };
            }
            assert_eq!(at["description"], key.about, "{}", key.path);
        }
        assert_eq!(root["additionalProperties"], false);
    }
}
