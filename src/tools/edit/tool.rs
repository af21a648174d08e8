//! The `edit` tool: checks, finds, splices, saves.

use std::fmt::Write as _;
use std::path::Path;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::apply::{EditPlan, plan_edit};
use crate::tools::arguments::Form;
use crate::tools::blocking::Blocking;
use crate::tools::file::{self, Kind, Loaded};
use crate::tools::put::put;
use crate::tools::reads::Freshness;
use crate::tools::text::{self, Diff, TextFile};
use crate::tools::{Access, Failure, Need, Success, Tool, ToolContext};

/// What `edit` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The file to change, relative to the current folder or absolute.
    file_path: String,
    /// The text to replace, copied exactly from the file: white space and indentation count, line numbers do not belong to it. It must occur only once, unless replace_all is set.
    old_string: String,
    /// The text that takes its place. Empty to delete.
    new_string: String,
    /// Replace every occurrence, for example to rename a variable.
    #[serde(default)]
    replace_all: bool,
}

impl Input {
    /// Bytes that the edit of a file of this size has to do with.
    fn work(&self, size: u64) -> u64 {
        size.max((self.old_string.len() + self.new_string.len()) as u64)
    }
}

/// `edit`.
#[derive(Debug)]
pub struct Edit {
    form: Form,
    blocking: Blocking,
}

impl Edit {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("old_text", "old_string"),
            ("old_str", "old_string"),
            ("new_text", "new_string"),
            ("new_str", "new_string"),
        ];
        Self {
            form: Form::of::<Input>("edit", aliases),
            blocking,
        }
    }
}

impl Tool for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn description(&self) -> String {
        "Replaces a piece of text in a file. Read the file first; an edit of a file that was not read, \
         or that changed since, is refused.\n\
         - Copy old_string exactly from the file, without the line numbers that read shows, and make \
         it long enough to be unique: a few lines around the change do.\n\
         - Small differences (white space at line ends, indentation, typographic quotes) are forgiven \
         if there is only one place that fits; the answer says so.\n\
         - Line ends, encoding and mode of the file are kept.\n\
         - For several changes in one file, make several calls.\n\
         Example: {\"file_path\": \"src/lib.rs\", \"old_string\": \"fn total() -> u32 {\\n    0\", \
         \"new_string\": \"fn total() -> u64 {\\n    0\"}\n\
         Example, rename: {\"file_path\": \"src/lib.rs\", \"old_string\": \"old_name\", \"new_string\": \
         \"new_name\", \"replace_all\": true}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let path = context.workspace.resolve(&input.file_path)?;
        // the change as it would be now; an earlier call of this step may still change the file, so
        // that it cannot be made is no reason to refuse the call
        let diff = match file::kind(&path, context) {
            Ok(Kind::File(meta)) if input.work(meta.len()) <= file::SMALL => {
                preview(&input, &path, context)
            }
            _ => None,
        };
        Ok(Access {
            title: context.workspace.display(&path),
            needs: vec![Need::Write {
                path: path.clone(),
                diff: diff.unwrap_or_default(),
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
            let size = std::fs::metadata(&path).map_or(0, |meta| meta.len());
            let done = if input.work(size) <= file::SMALL {
                edit(&input, &path, &context)
            } else {
                // not cut short by an interrupt: a write is either made or not
                blocking.run(move || edit(&input, &path, &context)).await?
            };
            done.map_err(|message| Failure {
                message,
                title,
                ..Failure::default()
            })
        })
    }
}

/// The unified diff that the edit would make now.
fn preview(input: &Input, path: &Path, context: &ToolContext) -> Option<String> {
    let loaded = file::load(path, context).ok()?;
    let text = file::decode(loaded.bytes, path, context).ok()?;
    let (after, _) = change(&text, input).ok()?;
    Some(difference(path, &text, after, context).0.unified)
}

fn change(text: &TextFile, input: &Input) -> Result<(Vec<u8>, EditPlan), String> {
    let plan = plan_edit(
        text.text(),
        &input.old_string,
        &input.new_string,
        input.replace_all,
    )?;
    Ok((text.splice(&plan.splices)?, plan))
}

fn difference(
    path: &Path,
    before: &TextFile,
    after: Vec<u8>,
    context: &ToolContext,
) -> (Diff, TextFile) {
    let after = before.changed_to(after);
    let name = context.workspace.display(path);
    let diff = text::diff((Some(&name), before.text()), (Some(&name), after.text()));
    (diff, after)
}

fn edit(input: &Input, path: &Path, context: &ToolContext) -> Result<Success, String> {
    let name = context.workspace.model_path(path);
    match file::kind(path, context)? {
        Kind::File(_) => {}
        Kind::Folder => {
            return Err(format!("{name} is a folder; give the path of a file."));
        }
        Kind::Missing if input.old_string.is_empty() => {
            return Err(format!("{name} does not exist. Create it with write."));
        }
        Kind::Missing => return Err(file::missing(path, context)),
    }
    let Loaded { bytes, meta } = file::load(path, context)?;
    match context.reads.check_content(path, &bytes) {
        Freshness::Fresh => {}
        Freshness::NeverRead => {
            return Err(format!(
                "{name} has not been read in this session. Read it first, then edit it."
            ));
        }
        Freshness::ChangedSince => {
            return Err(format!(
                "{name} changed since it was read (by the user, a command or a formatter). Read it \
                 again, then repeat the edit on what is there now."
            ));
        }
    }
    let before = file::decode(bytes, path, context)?;
    let (after, plan) =
        change(&before, input).map_err(|error| format!("{name} was not changed. {error}"))?;
    let saved = put(path, Some((before.bytes(), &meta)), &after, context)?;
    context
        .reads
        .record(path, Some(&after), &saved, file::now());
    let (diff, after) = difference(path, &before, after, context);
    Ok(success(path, &plan, &diff, &after, context))
}

fn success(
    path: &Path,
    plan: &EditPlan,
    diff: &Diff,
    after: &TextFile,
    context: &ToolContext,
) -> Success {
    let name = context.workspace.model_path(path);
    let mut output = format!("Edited {name}: +{} -{}", diff.added, diff.removed);
    if let Some((first, last)) = diff.changed_lines() {
        _ = if first == last {
            write!(output, ", line {first}")
        } else {
            write!(output, ", lines {first}-{last}")
        };
    }
    output.push('.');
    if plan.splices.len() > 1 {
        _ = write!(output, " {} places were changed.", plan.splices.len());
    }
    if !plan.forgiven.is_empty() {
        _ = writeln!(
            output,
            " old_string was found {}; the place now reads:",
            plan.forgiven
        );
        output.push_str(&excerpt(diff, after));
    }
    let mut metadata = diff.metadata();
    metadata["path"] = json!(context.workspace.display(path));
    if !plan.forgiven.is_empty() {
        metadata["forgiven"] = json!(plan.forgiven);
    }
    Success {
        output,
        title: context.workspace.display(path),
        metadata,
        wrote: vec![path.to_owned()],
        ..Success::default()
    }
}

/// The lines around a change, numbered.
fn excerpt(diff: &Diff, after: &TextFile) -> String {
    let numbers = || {
        diff.hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .filter_map(|line| line.new)
    };
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
        return String::new();
    };
    let lines = after.text().lines().enumerate().skip(first as usize - 1);
    let count = (last - first + 1).min(40) as usize;
    let lines: Vec<String> = lines
        .take(count)
        .map(|(index, line)| format!("{}→{line}", index + 1))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
#[cfg(unix)]
#[path = "tool_tests.rs"]
mod tests;
