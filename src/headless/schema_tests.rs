//! Tests of answers that must fit a JSON Schema: what fits, what does not, what is not understood.

use serde_json::json;

use super::*;

#[test]
fn values_are_told_from_those_that_do_not_fit() {
    let person = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 1}, "age": {"$ref": "#/$defs/age"},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": true}},
        "required": ["name"], "additionalProperties": false,
        "$defs": {"age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150}}
    });
    let tree = json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
        "properties": {"left": {"$ref": "#/$defs/n"}}, "additionalProperties": false}}});
    for (schema, value, fits) in [
        (
            &person,
            json!({"name": "x", "age": 3, "tags": ["a", "b"]}),
            true,
        ),
        (&person, json!({"name": "x", "age": 3.0}), true),
        (&person, json!({"name": "x", "age": 3.5}), false),
        (&person, json!({"name": "x", "age": 150}), false),
        (&person, json!({"name": ""}), false),
        (&person, json!({"age": 3}), false),
        (&person, json!({"name": "x", "more": 1}), false),
        (&person, json!({"name": "x", "tags": ["c"]}), false),
        (&person, json!({"name": "x", "tags": ["a", "a"]}), false),
        (&person, json!("x"), false),
        (&tree, json!({"left": {"left": {}}}), true),
        (&tree, json!({"left": {"right": {}}}), false),
        (
            &json!({"oneOf": [{"type": "number"}, {"minimum": 3}]}),
            json!(5),
            false,
        ),
        (
            &json!({"anyOf": [{"type": "null"}, {"const": 1}]}),
            json!(1.0),
            true,
        ),
        (&json!({"not": {"type": "string"}}), json!("x"), false),
        (
            &json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
            json!({"a": 1}),
            false,
        ),
        (
            &json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
            json!({}),
            true,
        ),
        (
            &json!({"patternProperties": {"^x": {"type": "number"}}}),
            json!({"xa": "s"}),
            false,
        ),
        (
            &json!({"prefixItems": [{"type": "string"}], "items": false}),
            json!(["a", 1]),
            false,
        ),
        (
            &json!({"contains": {"const": 2}, "maxItems": 2}),
            json!([1, 2]),
            true,
        ),
        (&json!({"multipleOf": 0.1}), json!(0.3), true),
        (&json!({"pattern": "^a+$"}), json!("b"), false),
        (&json!({"type": ["string", "null"]}), json!(null), true),
        (&json!(true), json!([1]), true),
        (&json!(false), json!(1), false),
    ] {
        let schema = Schema::read(&schema.to_string()).expect("a schema");
        let mistakes = schema.mistakes(&value);
        assert_eq!(
            mistakes.is_empty(),
            fits,
            "{} {value}: {mistakes:?}",
            schema.text()
        );
    }
}

#[test]
fn a_schema_that_is_not_understood_is_refused_with_its_place() {
    for (text, says) in [
        ("{", "no JSON"),
        ("3", "must be an object"),
        (
            r#"{"properties": {"a": {"unevaluatedItems": false}}}"#,
            "unevaluatedItems",
        ),
        (r#"{"$ref": "https://x/y"}"#, "leads nowhere"),
        (r##"{"$ref": "#/$defs/x"}"##, "leads nowhere"),
        (r#"{"pattern": "("}"#, "regular expression"),
        (r#"{"anyOf": {}}"#, "array"),
    ] {
        let said = Schema::read(text).expect_err("refused");
        assert!(said.contains(says), "{text}: {said}");
    }
    let circle = Schema::read(r##"{"$ref": "#"}"##).expect("a schema");
    assert!(!circle.mistakes(&json!(1)).is_empty(), "it ends");
}
