//! The external editor: `$VISUAL`, `$EDITOR`, else `vi`. It gets the terminal; we get the text.

use std::io::Write as _;
use std::process::Command;

/// Opens a text and gives back what was saved; why not, as a sentence.
pub fn edit(text: &str) -> Result<String, String> {
    let fail =
        |error: std::io::Error| format!("The text could not be handed to the editor: {error}.");
    let mut file = tempfile::Builder::new()
        .prefix("dunlin-")
        .suffix(".md")
        .tempfile()
        .map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    file.flush().map_err(fail)?;
    let path = file.path().to_string_lossy().into_owned();
    launch(std::slice::from_ref(&path))?;
    // Many editors replace the file, so it is read by its name.
    std::fs::read_to_string(&path).map_err(fail)
}

/// Opens a file at a line.
pub fn open(path: &str, line: Option<u32>) -> Result<(), String> {
    let mut words = Vec::new();
    if let Some(line) = line {
        words.push(format!("+{line}"));
    }
    words.push(path.to_owned());
    launch(&words)
}

fn launch(words: &[String]) -> Result<(), String> {
    let named = |name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    };
    let editor = named("VISUAL")
        .or_else(|| named("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned());
    // The variable may hold arguments and quotes: the shell reads it as it would anywhere else.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg("sh")
        .args(words)
        .status()
        .map_err(|error| format!("`{editor}` could not be started: {error}. Set $EDITOR."))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!(
            "`{editor}` ended with {status}; the text was not taken over. Set $EDITOR to change the editor."
        ))
    }
}
