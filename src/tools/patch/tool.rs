//! The `apply_patch` tool: puts the result of a patch on disk, all or nothing.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::apply::{Change, PatchSource, apply_patch};
use super::parse::{Operation, parse_patch};
use crate::tools::arguments::Form;
use crate::tools::blocking::Blocking;
use crate::tools::file::{self, Kind};
use crate::tools::put::{put, remove};
use crate::tools::text::{self, Diff, TextFile};
use crate::tools::{Access, Failure, Need, Success, Tool, ToolContext};

/// What `apply_patch` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The whole patch, from `*** Begin Patch` to `*** End Patch`.
    patch: String,
}

/// `apply_patch`.
#[derive(Debug)]
pub struct ApplyPatch {
    form: Form,
    blocking: Blocking,
}

impl ApplyPatch {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("input", "patch"),
            ("patch_text", "patch"),
            ("diff", "patch"),
        ];
        Self {
            form: Form::of::<Input>("apply_patch", aliases),
            blocking,
        }
    }

    fn input(&self, input: &Value) -> Result<Input, String> {
        match input {
            // freeform: the patch itself
            Value::String(patch) if patch.contains("*** Begin Patch") => Ok(Input {
                patch: patch.clone(),
            }),
            other => self.form.read(other),
        }
    }
}

impl Tool for ApplyPatch {
    fn name(&self) -> &'static str {
        "apply_patch"
    }

    fn description(&self) -> String {
        "Changes files with a patch. Paths are relative to the current folder. All of it is applied, or \
         nothing. The format:\n\
         *** Begin Patch\n\
         *** Add File: path (then every line of the file with a + before it)\n\
         *** Delete File: path\n\
         *** Update File: path (then optionally `*** Move to: new path`, then hunks)\n\
         *** End Patch\n\
         A hunk begins with @@, or with @@ and a line that stands above it (`@@ class A`) if its lines \
         alone are not unique. Its lines begin with a space (stays), - (goes) or + (comes); show three \
         lines above and below a change. `*** End of File` after a hunk ties it to the end.\n\
         Example:\n\
         *** Begin Patch\n\
         *** Update File: src/app.py\n\
         @@ def greet():\n\
         -print(\"Hi\")\n\
         +print(\"Hello, world!\")\n\
         *** End Patch"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let operations = parse_patch(&self.input(input)?.patch)?;
        let disk = Disk { context };
        let paths = touched(&operations, &disk)?;
        let changes = apply_patch(&operations, &disk).unwrap_or_default();
        let needs = paths.iter().map(|path| {
            let change = changes
                .iter()
                .find(|change| Path::new(&change.name) == path);
            Need::Write {
                path: path.clone(),
                diff: change
                    .map(|change| difference(change, context).unified)
                    .unwrap_or_default(),
            }
        });
        Ok(Access {
            title: title(&paths, context),
            needs: needs.collect(),
            writes: paths,
            can_write: true,
            says: String::new(),
        })
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.input(&input);
        let blocking = self.blocking.clone();
        Box::pin(async move {
            let operations = parse_patch(&input?.patch)?;
            let paths = touched(&operations, &Disk { context: &context })?;
            let title = title(&paths, &context);
            let done = blocking.run(move || run(&operations, &context)).await?;
            done.map_err(|failure| Failure { title, ..*failure })
        })
    }
}

/// The files of the workspace as a patch sees them.
#[derive(Debug)]
struct Disk<'a> {
    context: &'a ToolContext,
}

impl PatchSource for Disk<'_> {
    fn resolve(&self, path: &str) -> Result<String, String> {
        let resolved = self.context.workspace.resolve(path)?;
        if !self.context.workspace.is_inside(&resolved) {
            return Err(format!(
                "{path} is outside of the worktree; apply_patch changes only files in it. Nothing was changed."
            ));
        }
        let text = resolved.into_os_string().into_string();
        text.map_err(|_name| {
            format!("The name of {path} is not valid Unicode; use a command for it.")
        })
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let path = Path::new(name);
        match file::kind(path, self.context)? {
            Kind::Missing => Ok(None),
            Kind::Folder => {
                let name = self.context.workspace.model_path(path);
                Err(format!(
                    "{name} is a folder, not a file. Nothing was changed."
                ))
            }
            Kind::File(_) => file::load(path, self.context).map(|loaded| Some(loaded.bytes)),
        }
    }

    fn encoding(&self, name: &str) -> Option<String> {
        self.context.reads.encoding(Path::new(name))
    }
}

/// All files that a patch names, each once.
fn touched(operations: &[Operation], disk: &Disk<'_>) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for operation in operations {
        let (path, target) = match operation {
            Operation::Add { path, .. } | Operation::Delete { path } => (path, None),
            Operation::Update { path, move_to, .. } => (path, move_to.as_ref()),
        };
        for path in [Some(path), target].into_iter().flatten() {
            let path = PathBuf::from(disk.resolve(path)?);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

fn title(paths: &[PathBuf], context: &ToolContext) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| context.workspace.display(path))
        .collect();
    match names.as_slice() {
        [first, second, _, ..] => format!("{first}, {second} and {} more", names.len() - 2),
        _ => names.join(", "),
    }
}

fn difference(change: &Change, context: &ToolContext) -> Diff {
    let name = context.workspace.display(Path::new(&change.name));
    let known = context.reads.encoding(Path::new(&change.name));
    let text = |bytes: &Option<Vec<u8>>| {
        let bytes = bytes.clone().unwrap_or_default();
        TextFile::decode_as(bytes, known.as_deref())
            .map(|file| file.text().to_owned())
            .unwrap_or_default()
    };
    let (before, after) = (text(&change.before), text(&change.after));
    let side = |bytes: &Option<Vec<u8>>| bytes.is_some().then_some(name.as_str());
    text::diff(
        (side(&change.before), &before),
        (side(&change.after), &after),
    )
}

fn run(operations: &[Operation], context: &ToolContext) -> Result<Success, Box<Failure>> {
    let fail = |message: String| Box::new(Failure::new(message));
    let changes = apply_patch(operations, &Disk { context }).map_err(fail)?;
    if changes.is_empty() {
        return Err(fail(
            "The patch changes nothing: the files already read like that.".to_owned(),
        ));
    }
    let mut done: Vec<&Change> = Vec::new();
    for change in &changes {
        if let Err(error) = commit(change, context) {
            let back = take_back(&done, context);
            return Err(Box::new(Failure {
                message: format!("{error} {back}"),
                wrote: done
                    .iter()
                    .map(|change| PathBuf::from(&change.name))
                    .collect(),
                ..Failure::default()
            }));
        }
        done.push(change);
    }
    Ok(success(&changes, context))
}

/// Puts one change on disk, if the file is still as the patch found it.
fn commit(change: &Change, context: &ToolContext) -> Result<(), String> {
    let path = Path::new(&change.name);
    let name = context.workspace.model_path(path);
    let meta = match file::kind(path, context)? {
        Kind::File(meta) => Some(meta),
        _ => None,
    };
    let now = (Disk { context }).read(&change.name)?;
    if now != change.before {
        return Err(format!("{name} changed while the patch was applied."));
    }
    let replaced = change.before.as_deref().zip(meta.as_ref());
    if let Some(bytes) = &change.after {
        let saved = put(path, replaced, bytes, context)?;
        context.reads.record(path, Some(bytes), &saved, file::now());
    } else {
        remove(path, replaced, context)?;
        context.reads.forget(path);
    }
    Ok(())
}

/// Restores what was written before a failure; says how that went.
fn take_back(done: &[&Change], context: &ToolContext) -> String {
    let stuck: Vec<String> = done
        .iter()
        .rev()
        .filter_map(|change| {
            let back = Change {
                name: change.name.clone(),
                before: change.after.clone(),
                after: change.before.clone(),
            };
            commit(&back, context)
                .err()
                .map(|_| context.workspace.model_path(Path::new(&change.name)))
        })
        .collect();
    if stuck.is_empty() {
        return "Nothing was changed.".to_owned();
    }
    format!(
        "These files were changed already and could not be restored: {}.",
        stuck.join(", ")
    )
}

fn success(changes: &[Change], context: &ToolContext) -> Success {
    let mut output = String::from("Applied the patch:");
    let mut all = Diff::default();
    let mut files = Vec::new();
    for change in changes {
        let path = Path::new(&change.name);
        let diff = difference(change, context);
        let sign = match (&change.before, &change.after) {
            (None, _) => "A",
            (_, None) => "D",
            _ => "M",
        };
        output.push_str(&["\n", sign, " ", &context.workspace.model_path(path)].concat());
        files.push(json!({
            "path": context.workspace.display(path), "status": sign,
            "added": diff.added, "removed": diff.removed, "hunks": diff.hunks,
        }));
        all.unified.push_str(&diff.unified);
        all.added += diff.added;
        all.removed += diff.removed;
    }
    let mut metadata = all.metadata();
    if let Some(object) = metadata.as_object_mut() {
        // per file instead
        object.remove("hunks");
        object.insert("files".to_owned(), Value::Array(files));
    }
    let paths: Vec<PathBuf> = changes
        .iter()
        .map(|change| PathBuf::from(&change.name))
        .collect();
    Success {
        output,
        title: title(&paths, context),
        metadata,
        wrote: paths,
        ..Success::default()
    }
}
