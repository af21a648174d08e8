//! `write`: creates a file, or replaces one that was read.
//!
//! Keeps what `edit` keeps: encoding, byte order mark, line ends, mode. Refuses to overwrite what the
//! session does not know.

use std::path::Path;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::Form;
use super::blocking::Blocking;
use super::file::{self, Kind, Loaded};
use super::put::put;
use super::reads::Freshness;
use super::text::{self, TextFile, main_line_end};
use super::{Access, Failure, Need, Success, Tool, ToolContext};

/// What `write` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The file to create or replace, relative to the current folder or absolute. Missing folders are created.
    file_path: String,
    /// The whole content of the file.
    content: String,
}

/// `write`.
#[derive(Debug)]
pub struct Write {
    form: Form,
    blocking: Blocking,
}

impl Write {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("contents", "content"),
            ("text", "content"),
        ];
        Self {
            form: Form::of::<Input>("write", aliases),
            blocking,
        }
    }
}

impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn description(&self) -> String {
        "Creates a file with the given content, or replaces the whole content of an existing one. \
         Prefer edit for changes to existing files; an existing file must have been read in this \
         session. Folders are created as needed. Encoding, line ends and mode of an existing file are \
         kept.\n\
         Example: {\"file_path\": \"src/greet.py\", \"content\": \"def greet(name):\\n    return \
         f'hello {name}'\\n\"}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let path = context.workspace.resolve(&input.file_path)?;
        let name = context.workspace.display(&path);
        let before = match file::kind(&path, context) {
            Ok(Kind::File(meta)) if meta.len() <= file::SMALL => file::load(&path, context).ok(),
            _ => None,
        };
        let before = before.and_then(|loaded| file::decode(loaded.bytes, &path, context).ok());
        let old = before
            .as_ref()
            .map_or((None, ""), |text| (Some(name.as_str()), text.text()));
        let shown = input.content.floor_char_boundary(file::SMALL as usize);
        let (shown, rest) = input.content.split_at(shown);
        let after = fitted(shown, before.as_ref());
        let mut diff = text::diff(old, (Some(&name), &after)).unified;
        if !rest.is_empty() {
            let more = format!("\\ {} more bytes are written after this", rest.len());
            diff.push_str(&more);
        }
        Ok(Access {
            title: name,
            needs: vec![Need::Write {
                path: path.clone(),
                diff,
            }],
            writes: vec![path],
            can_write: true,
            says: String::new(),
        })
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        let blocking = self.blocking.clone();
        Box::pin(async move {
            let input = input?;
            let path = context.workspace.resolve(&input.file_path)?;
            let title = context.workspace.display(&path);
            let size = std::fs::metadata(&path)
                .map_or(0, |meta| meta.len())
                .max(input.content.len() as u64);
            let done = if size <= file::SMALL {
                write(&input.content, &path, &context)
            } else {
                blocking
                    .run(move || write(&input.content, &path, &context))
                    .await?
            };
            done.map_err(|message| Failure {
                message,
                title,
                ..Failure::default()
            })
        })
    }
}

/// The content with the line ends of the file it replaces.
fn fitted(content: &str, before: Option<&TextFile>) -> String {
    match before {
        Some(file) if main_line_end(file.text()) == "\r\n" && !content.contains('\r') => {
            content.replace('\n', "\r\n")
        }
        _ => content.to_owned(),
    }
}

fn write(content: &str, path: &Path, context: &ToolContext) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    let existing = match file::kind(path, context)? {
        Kind::Folder => {
            return Err(format!("{name} is a folder; give the path of a file."));
        }
        Kind::Missing => None,
        Kind::File(_) => Some(known(path, context)?),
    };
    let (old, before) = match existing {
        Some(Loaded { bytes, meta }) => {
            let old = Some((bytes.clone(), meta));
            (old, Some(file::decode(bytes, path, context).ok()))
        }
        None => (None, None),
    };
    let text = before.as_ref().and_then(Option::as_ref);
    let after = fitted(content, text);
    let bytes = match text {
        Some(file) => file
            .replace(&after)
            .map_err(|error| format!("{name} was not written. {error}"))?,
        None => after.clone().into_bytes(),
    };
    let replaced = old.as_ref().map(|(bytes, meta)| (&**bytes, meta));
    let saved = put(path, replaced, &bytes, context)?;
    context
        .reads
        .record(path, Some(&bytes), &saved, file::now());
    let title = context.workspace.display(path);
    let shown = text.map_or((None, ""), |file| (Some(title.as_str()), file.text()));
    let diff = text::diff(shown, (Some(&title), &after));
    let lines = after.lines().count();
    let output = match before {
        None => format!("Created {name} ({lines} lines)."),
        Some(_) if diff.unified.is_empty() && text.is_some() => {
            format!("{name} already had this content; nothing changed.")
        }
        Some(_) => format!(
            "Replaced {name} ({lines} lines): +{} -{}.",
            diff.added, diff.removed
        ),
    };
    let mut metadata = diff.metadata();
    metadata["path"] = json!(title);
    metadata["created"] = json!(old.is_none());
    Ok(Success {
        output,
        title,
        metadata,
        wrote: vec![path.to_owned()],
        ..Success::default()
    })
}

/// Loads a file that is to be overwritten, if the session knows what is in it.
fn known(path: &Path, context: &ToolContext) -> Result<Loaded, String> {
    let name = context.workspace.model_path(path);
    let loaded = file::load(path, context)?;
    match context.reads.check_content(path, &loaded.bytes) {
        _ if loaded.bytes.is_empty() => Ok(loaded),
        Freshness::Fresh => Ok(loaded),
        Freshness::NeverRead => Err(format!(
            "{name} exists and has not been read in this session, so it was not overwritten. Read it \
             first, or choose another name."
        )),
        Freshness::ChangedSince => Err(format!(
            "{name} changed since it was read (by the user, a command or a formatter), so it was not \
             overwritten. Read it again."
        )),
    }
}
