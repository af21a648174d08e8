//! `--config KEY=VALUE`: one setting on the command line, read into the same tree as a file.
//!
//! The value is TOML; where it is not, or where the key wants text, it is taken as it stands.

use super::document::{self, Typed, TypedValue};
use super::keys::{self, Found};

/// Reads one option; the error is a sentence.
pub fn read(text: &str) -> Result<Vec<(String, Typed)>, String> {
    let Some((left, right)) = split_option(text) else {
        return Err(format!(
            "--config {text} has no value: write KEY=VALUE, e.g. --config context.prune=false."
        ));
    };
    let typed = |value: &str| document::parse(&format!("{left} = {value}\n"));
    let quoted = || typed(&document::quote(right));
    let is_text = matches!(
        keys::find(&path_of(left)),
        Found::Key(key, _) if key.kind.is_text() && !right.starts_with(['"', '\''])
    );
    let table = if is_text {
        quoted()
    } else {
        typed(right).or_else(|_| quoted())
    };
    let mut table = table.map_err(|_errors| {
        format!(
            "--config {text} is not KEY=VALUE: quote parts of the key that hold dots or blanks."
        )
    })?;
    for (_, entry) in &mut table {
        forget_lines(entry);
    }
    Ok(table)
}

/// Splits at the first `=` outside quotes, so that `permission.bash."a=b"=deny` works.
fn split_option(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '=') => {
                let (left, right) = text.split_at(at);
                return Some((left.trim(), right.strip_prefix('=')?.trim()))
                    .filter(|(left, _)| !left.is_empty());
            }
            _ => {}
        }
    }
    None
}

fn path_of(key: &str) -> Vec<String> {
    key.split('.').map(|part| part.trim().to_owned()).collect()
}

fn forget_lines(typed: &mut Typed) {
    typed.line = 0;
    match &mut typed.value {
        TypedValue::Table(entries) => entries.iter_mut().for_each(|(_, t)| forget_lines(t)),
        TypedValue::List(items) => items.iter_mut().for_each(forget_lines),
        _ => {}
    }
}
