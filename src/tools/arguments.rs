//! A tool's arguments: the schema a model sees, and a strict but forgiving reading of what it sends.
//!
//! The schema comes from the Rust input type. Reading accepts what models get wrong all the time
//! (numbers as strings, `filePath` for `file_path`, unknown fields, nulls); everything else is refused
//! with a sentence that names the field.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The arguments of one tool.
#[derive(Debug, Clone)]
pub struct Form {
    tool: &'static str,
    schema: Value,
    aliases: &'static [(&'static str, &'static str)],
}

impl Form {
    /// The form of a tool whose input is a `T`. `aliases` are pairs of an accepted name and the real
    /// one; other spellings of case and underscores are accepted anyway.
    pub fn of<T: JsonSchema>(
        tool: &'static str,
        aliases: &'static [(&'static str, &'static str)],
    ) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let mut schema = schema.to_value();
        simplify(&mut schema);
        if let Some(object) = schema.as_object_mut() {
            object.remove("title");
            object.remove("description");
            object.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Self {
            tool,
            schema,
            aliases,
        }
    }

    /// The JSON schema.
    pub fn schema(&self) -> Value {
        self.schema.clone()
    }

    /// Reads the arguments. The error is a sentence for the model.
    pub fn read<T: DeserializeOwned>(&self, input: &Value) -> Result<T, String> {
        let given = self.object(input)?;
        let empty = Map::new();
        let fields = self
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let mut object = Map::new();
        for (name, value) in given {
            if value.is_null() {
                continue;
            }
            let Some((field, schema)) = self.field(fields, &name) else {
                continue;
            };
            if object.contains_key(field) && name != *field {
                continue;
            }
            let value = coerce(value, schema).map_err(|what| {
                format!(
                    "`{field}` of `{}` {what}. Call it again with that mended.",
                    self.tool
                )
            })?;
            object.insert(field.clone(), value);
        }
        let required = self.schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                let about = fields.get(name).and_then(|field| field.get("description"));
                let about = about
                    .and_then(Value::as_str)
                    .unwrap_or("a required argument");
                return Err(format!(
                    "`{name}` of `{}` is missing; it is: {} Call it again with all required arguments.",
                    self.tool,
                    sentence(about)
                ));
            }
        }
        serde_json::from_value(Value::Object(object)).map_err(|error| {
            // serde repeats the value that it did not expect, however long it is
            let error = clipped(&error.to_string(), 300);
            format!("The arguments of `{}` do not fit its schema: {error}. Call it again with that mended.", self.tool)
        })
    }

    fn object(&self, input: &Value) -> Result<Map<String, Value>, String> {
        match input {
            Value::Object(object) => Ok(object.clone()),
            Value::Null => Ok(Map::new()),
            // a model that wrote the object as a string
            Value::String(text) => match serde_json::from_str(text) {
                Ok(Value::Object(object)) => Ok(object),
                _ => Err(self.no_object()),
            },
            _ => Err(self.no_object()),
        }
    }

    fn no_object(&self) -> String {
        format!(
            "The arguments of `{}` must be a JSON object that follows its schema.",
            self.tool
        )
    }

    fn field<'a>(
        &self,
        fields: &'a Map<String, Value>,
        name: &str,
    ) -> Option<(&'a String, &'a Value)> {
        if let Some(found) = fields.get_key_value(name) {
            return Some(found);
        }
        if let Some((_, real)) = self.aliases.iter().find(|(alias, _)| *alias == name) {
            return fields.get_key_value(*real);
        }
        let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
        let wanted = plain(name);
        let real = self
            .aliases
            .iter()
            .find(|(alias, _)| plain(alias) == wanted)
            .map(|(_, real)| *real);
        fields
            .iter()
            .find(|(field, _)| plain(field) == wanted || Some(field.as_str()) == real)
    }
}

/// What a model sent, as short as a sentence about it can repeat it.
pub fn short(text: &str) -> String {
    clipped(text, 60)
}

/// The first so many characters of a text, and a sign where there are more.
pub fn clipped(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => [text.get(..end).unwrap_or_default(), "…"].concat(),
        None => text.to_owned(),
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Takes out what only confuses models: formats, nulls of optional fields, defaults of null.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // the keyword, not a property of that name
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    object.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(options)) = object.get_mut("enum") {
                options.retain(|option| !option.is_null());
            }
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
                if let [Value::Object(only)] = options.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// The value in the type that the schema wants; the error completes "`field` of `tool` …".
fn coerce(value: Value, schema: &Value) -> Result<Value, String> {
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let short = |value: &Value| short(&value.to_string());
    let value = match (kind, value) {
        ("integer", value) => whole(&value).map(Value::from).ok_or_else(|| {
            let least = schema
                .get("minimum")
                .and_then(Value::as_f64)
                .is_some_and(|least| least >= 0.0);
            let what = if least {
                "a whole number that is not negative"
            } else {
                "a whole number"
            };
            format!("must be {what}, not {}", short(&value))
        })?,
        ("number", Value::String(text)) => match text.trim().parse::<f64>() {
            Ok(number) => Value::from(number),
            Err(_no_number) => {
                return Err(format!("must be a number, not \"{}\"", self::short(&text)));
            }
        },
        ("boolean", value) => match &value {
            Value::Bool(_) => value,
            Value::String(text) if text.eq_ignore_ascii_case("true") => Value::Bool(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") => Value::Bool(false),
            Value::Number(number) if number.as_u64() == Some(1) => Value::Bool(true),
            Value::Number(number) if number.as_u64() == Some(0) => Value::Bool(false),
            _ => return Err(format!("must be true or false, not {}", short(&value))),
        },
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("string", Value::Bool(value)) => Value::String(value.to_string()),
        ("string", value @ (Value::Array(_) | Value::Object(_))) => {
            return Err(format!("must be a string, not {}", short(&value)));
        }
        ("array", Value::String(text)) => match serde_json::from_str(&text) {
            Ok(array @ Value::Array(_)) => array,
            _ => Value::Array(vec![Value::String(text)]),
        },
        ("array", value @ Value::Object(_)) => Value::Array(vec![value]),
        (_, value) => value,
    };
    if let Some(Value::Array(options)) = schema.get("enum")
        && !options.contains(&value)
    {
        let options: Vec<String> = options.iter().map(short).collect();
        return Err(format!(
            "must be one of {}, not {}",
            options.join(", "),
            short(&value)
        ));
    }
    Ok(value)
}

/// A whole number that is not negative, however it was written.
fn whole(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => match number.as_u64() {
            Some(whole) => return Some(whole),
            None => number.as_f64()?,
        },
        Value::String(text) => match text.trim().parse::<u64>() {
            Ok(whole) => return Some(whole),
            Err(_other) => text.trim().parse::<f64>().ok()?,
        },
        _ => return None,
    };
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// A test's input.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Sample {
        /// The file
        file_path: String,
        /// How many.
        limit: Option<u32>,
        /// Or not.
        #[serde(default)]
        all: bool,
        /// Names.
        #[serde(default)]
        names: Vec<String>,
        /// How.
        mode: Option<Mode>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        Fast,
        VerySlow,
    }

    fn form() -> Form {
        Form::of::<Sample>("sample", &[("path", "file_path")])
    }

    #[test]
    fn the_schema_is_flat_and_plain() {
        let schema = form().schema();
        assert_eq!(
            schema["properties"]["limit"],
            json!({"description": "How many.", "type": "integer", "minimum": 0})
        );
        assert_eq!(
            schema["properties"]["mode"]["enum"],
            json!(["fast", "very-slow"])
        );
        assert_eq!(schema["required"], json!(["file_path"]));
        assert!(!schema.to_string().contains("$ref"), "{schema}");
    }

    #[test]
    fn what_models_get_wrong_is_understood() {
        let expected = Sample {
            file_path: "a".into(),
            limit: Some(5),
            all: true,
            names: vec!["x".into()],
            mode: Some(Mode::VerySlow),
        };
        for input in [
            json!({"file_path": "a", "limit": 5, "all": true, "names": ["x"], "mode": "very-slow"}),
            json!({"filePath": "a", "limit": "5", "all": "true", "names": "x", "mode": "very-slow", "more": 1}),
            json!({"path": "a", "limit": 5.0, "all": 1, "names": "[\"x\"]", "mode": "very-slow"}),
            json!(
                "{\"Path\": \"a\", \"limit\": 5, \"all\": true, \"names\": [\"x\"], \"mode\": \"very-slow\"}"
            ),
        ] {
            assert_eq!(
                form().read::<Sample>(&input).as_ref(),
                Ok(&expected),
                "{input}"
            );
        }
        let least: Sample = form()
            .read(&json!({"file_path": 7, "limit": null}))
            .expect("readable");
        assert_eq!((least.file_path.as_str(), least.limit), ("7", None));
    }

    #[test]
    fn errors_name_the_field_and_the_tool() {
        for (input, words) in [
            (
                json!({}),
                "`file_path` of `sample` is missing; it is: The file. Call",
            ),
            (
                json!({"file_path": "a", "limit": "many"}),
                "`limit` of `sample` must be a whole number",
            ),
            (json!({"file_path": "a", "limit": -1}), "not negative"),
            (
                json!({"file_path": ["a"]}),
                "`file_path` of `sample` must be a string",
            ),
            (
                json!({"file_path": "a", "all": "maybe"}),
                "`all` of `sample` must be true or false",
            ),
            (
                json!({"file_path": "a", "mode": "slow"}),
                "must be one of \"fast\", \"very-slow\"",
            ),
            (json!({"file_path": "a", "names": [1]}), "do not fit"),
            (json!([1]), "must be a JSON object"),
            (json!("text"), "must be a JSON object"),
            (
                json!({"file_path": "a", "limit": 5_000_000_000_u64}),
                "do not fit",
            ),
        ] {
            let error = form().read::<Sample>(&input).expect_err("refused");
            assert!(error.contains(words), "{input}: {error}");
        }
    }
}
