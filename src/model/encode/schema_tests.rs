//! Tests of tool schemas in each provider's subset of JSON Schema.

use super::*;

fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(map) => map.contains_key(key) || map.values().any(|v| has_key(v, key)),
        Value::Array(items) => items.iter().any(|v| has_key(v, key)),
        _ => false,
    }
}

#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Input {
    /// Where to look.
    path: String,
    offset: Option<u32>,
    mode: Option<Mode>,
    edits: Vec<Edit>,
    extra: std::collections::BTreeMap<String, String>,
}

#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum Mode {
    Fast,
    Slow,
}

#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Edit {
    old: String,
    next: Option<Box<Edit>>,
}

fn input() -> Value {
    schemars::schema_for!(Input).to_value()
}

#[test]
fn references_meta_keys_and_our_own_formats_are_gone() {
    let reduced = reduce(&input());
    for key in ["$ref", "$defs", "$schema", "title"] {
        assert!(!has_key(&reduced, key), "{key}: {reduced}");
    }
    assert!(!reduced.to_string().contains("uint32"));
    assert_eq!(reduced["type"], "object");
    assert_eq!(
        reduced["properties"]["path"]["description"],
        "Where to look."
    );
    assert_eq!(
        reduced["properties"]["edits"]["items"]["properties"]["old"]["type"],
        "string"
    );
}

#[test]
fn geminis_subset_has_one_type_per_schema_and_no_unknown_keys() {
    fn check(schema: &Value) {
        let map = schema.as_object().expect("an object");
        for (key, value) in map {
            match key.as_str() {
                "properties" => value.as_object().expect("object").values().for_each(check),
                "items" => check(value),
                "anyOf" => value.as_array().expect("list").iter().for_each(check),
                "type" => assert!(value.is_string(), "{schema}"),
                known => assert!(GEMINI_KEYS.contains(&known), "{known}: {schema}"),
            }
        }
        assert!(
            map.contains_key("type") || map.contains_key("anyOf"),
            "{schema}"
        );
        assert!(
            map["type"] != "array" || map.contains_key("items"),
            "{schema}"
        );
    }
    let plain = openapi(&input()).expect("it has arguments");
    check(&plain);
    assert_eq!(plain["properties"]["offset"]["nullable"], true);
    assert_eq!(plain["properties"]["offset"]["type"], "integer");
    assert_eq!(plain["properties"]["mode"]["enum"], json!(["Fast", "Slow"]));
    assert_eq!(plain["required"], json!(["path", "edits", "extra"]));
}

#[test]
fn schemas_of_strangers_do_no_harm() {
    for odd in [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!({"type": "string"}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/nowhere"}),
        json!({"properties": {"a": true, "b": {"$ref": "#/properties/b"}}}),
        json!({"anyOf": [{"properties": {"a": {"type": ["string", "null"]}}}, {"type": "null"}]}),
        json!({"properties": {"n": {"enum": [1, 2]}, "c": {"const": "x"}, "e": {"type": []}}}),
    ] {
        let reduced = reduce(&odd);
        assert_eq!(reduced["type"], "object", "{odd}");
        assert!(reduced["properties"].is_object(), "{odd}");
        assert!(!has_key(&reduced, "$ref"), "{odd}");
        openapi(&odd);
    }
}

#[test]
fn a_choice_at_the_top_offers_the_arguments_of_all_variants() {
    let reduced = reduce(&json!({"oneOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "number"}}}]}));
    assert!(!has_key(&reduced, "oneOf"));
    assert!(reduced["properties"]["a"].is_object() && reduced["properties"]["b"].is_object());
}
