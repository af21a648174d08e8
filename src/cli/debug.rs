//! `dunlin debug`: single mechanisms, for tests and bug reports.

use std::io::Read;

use serde_json::{Value, json};

use super::arguments::Debug;
use super::{fail, print};
use crate::headless::exit;
use crate::model::{decode, error};
use crate::tools;

pub(super) fn run(what: Debug) -> u8 {
    let result = match what {
        Debug::Decode { wire, file, split } => decode(&wire, &file, split),
        Debug::Error { provider, file } => {
            read_json(&file).map(|stored| error::debug_error(&provider, &stored))
        }
        Debug::Edit { file } => read_json(&file).and_then(|case| edit(&case)),
        Debug::Truncate { tool } => return truncate(&tool),
    };
    match result {
        Ok(value) => {
            print(format_args!("{value:#}"));
            exit::DONE
        }
        Err(sentence) => fail(sentence, exit::USAGE),
    }
}

fn decode(wire: &str, file: &str, split: Option<usize>) -> Result<Value, String> {
    let wire: decode::Wire = wire.parse().map_err(|e: String| e)?;
    if split == Some(0) {
        return Err("--split takes a number of bytes from 1.".to_owned());
    }
    Ok(decode::decode_bytes(wire, &read(file)?, split))
}

fn edit(case: &Value) -> Result<Value, String> {
    let text = |name: &str| {
        case.get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| format!("The case has no text `{name}`."))
    };
    let all = case
        .get("replace_all")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let edited = tools::edit::apply_edit(
        text("before")?,
        text("old_string")?,
        text("new_string")?,
        all,
    );
    Ok(match edited {
        Ok(after) => json!({ "after": after }),
        Err(error) => json!({ "error": error }),
    })
}

fn truncate(tool: &str) -> u8 {
    let dir = std::env::temp_dir().join("dunlin-debug-out");
    let limits = crate::config::used::OutputLimits::default();
    let store = tools::output::OutputStore::new(limits, dir);
    match tools::output::truncate(tool, std::io::stdin().lock(), &store) {
        Ok(fitted) => {
            use std::io::Write;
            match std::io::stdout().write_all(fitted.text.as_bytes()) {
                Ok(()) => exit::DONE,
                Err(_) => exit::ERROR,
            }
        }
        Err(error) => fail(
            format!("Standard input cannot be read: {error}."),
            exit::ERROR,
        ),
    }
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|e| format!("{file} cannot be read: {e}."))
}

fn read_json(file: &str) -> Result<Value, String> {
    serde_json::from_slice(&read(file)?).map_err(|e| format!("{file} is not JSON: {e}."))
}
