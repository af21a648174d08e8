//! `keys.toml` beside the user's `config.toml`: action names and their keys, with the lines they
//! stand on, so that the screen can say where a wrong one is.
//!
//! Which actions there are is not known here: that is the key table's.

use std::collections::BTreeMap;
use std::path::Path;

use toml_edit::{Document, Item, Value};

/// Keys by the name of their action, and where each stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFile {
    /// The keys.
    pub keys: BTreeMap<String, Vec<String>>,
    /// `keys.toml line 3`, by the name of the action.
    pub places: BTreeMap<String, String>,
    /// What could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// Reads the file; nothing if there is none.
pub fn read(path: &Path) -> KeyFile {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &name),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => KeyFile::default(),
        Err(error) => KeyFile {
            problems: vec![format!(
                "{} cannot be read ({error}): the keys are the built-in ones.",
                path.display()
            )],
            ..KeyFile::default()
        },
    }
}

fn parse(text: &str, name: &str) -> KeyFile {
    let mut file = KeyFile::default();
    let document = match Document::parse(text.to_owned()) {
        Ok(document) => document,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            file.problems.push(format!(
                "{name} line {} is not TOML: {}. The keys are the built-in ones.",
                line(text, at),
                error.message().lines().next().unwrap_or_default()
            ));
            return file;
        }
    };
    let root = document.as_table();
    // A heading is allowed: what stands under [keys] in the configuration can be moved here as it is.
    let table = root.get("keys").and_then(Item::as_table).unwrap_or(root);
    for (action, item) in table {
        let at = table.key(action).and_then(toml_edit::Key::span);
        let place = format!(
            "{name} line {}",
            line(text, at.map_or(0, |span| span.start))
        );
        match words(item) {
            Some(keys) => {
                file.keys.insert(action.to_owned(), keys);
                file.places.insert(action.to_owned(), place);
            }
            None => file.problems.push(format!(
                "{place}: `{action}` is not a list of keys. Write {action} = [\"ctrl+g\"]."
            )),
        }
    }
    file
}

fn words(item: &Item) -> Option<Vec<String>> {
    match item.as_value()? {
        Value::String(one) => Some(vec![one.value().clone()]),
        Value::Array(list) => list
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

fn line(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_with_their_lines() {
        let file = parse(
            "# mine\nsubmit = [\"enter\", \"ctrl+m\"]\n\neditor = \"f5\"\nhelp = 3\n",
            "keys.toml",
        );
        assert_eq!(file.keys["submit"], ["enter", "ctrl+m"]);
        assert_eq!(file.keys["editor"], ["f5"]);
        assert_eq!(file.places["editor"], "keys.toml line 4");
        assert!(
            file.problems[0].starts_with("keys.toml line 5: `help`"),
            "{:?}",
            file.problems
        );
    }

    #[test]
    fn what_is_no_toml_names_its_line_and_a_heading_is_allowed() {
        let broken = parse("submit = [\"enter\"]\neditor = [\n", "keys.toml");
        assert!(
            broken.problems[0].contains("keys.toml line"),
            "{:?}",
            broken.problems
        );
        assert!(broken.keys.is_empty());
        let headed = parse("[keys]\nsubmit = [\"f2\"]\n", "keys.toml");
        assert_eq!(headed.keys["submit"], ["f2"]);
        assert_eq!(read(Path::new("/nowhere/keys.toml")), KeyFile::default());
    }
}
