//! `glob`: files by name.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk::{self, locked};
use crate::tools::arguments::{Form, clipped};
use crate::tools::blocking::Blocking;
use crate::tools::{Access, Failure, Need, Success, Tool, ToolContext};

/// What `glob` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The pattern: `*` within a name, `**` across folders, `{a,b}`, `[a-z]`. Without a `/` it is matched against names in all folders.
    pattern: String,
    /// Folder to search in. Default: the current folder.
    path: Option<String>,
}

/// `glob`.
#[derive(Debug)]
pub struct Glob {
    form: Form,
    blocking: Blocking,
}

impl Glob {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("glob", "pattern"),
            ("dir", "path"),
            ("directory", "path"),
            ("file_path", "path"),
        ];
        Self {
            form: Form::of::<Input>("glob", aliases),
            blocking,
        }
    }
}

impl Tool for Glob {
    fn name(&self) -> &'static str {
        "glob"
    }

    fn description(&self) -> String {
        "Finds files by name, the most recently changed first. Ignored files (.gitignore) are left \
         out.\n\
         Example: {\"pattern\": \"**/*.test.ts\"}\n\
         Example: {\"pattern\": \"src/**/{mod,lib}.rs\"}\n\
         Example: {\"pattern\": \"*.toml\", \"path\": \"crates/parser\"}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let (root, pattern) = place(&input, context)?;
        matcher(&pattern)?;
        Ok(Access::reading(title(&input), vec![Need::Read(root)]))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        walk::searched(input, (self.blocking.clone(), context), title, find)
    }
}

fn title(input: &Input) -> String {
    match &input.path {
        Some(path) => format!("{} in {path}", input.pattern),
        None => input.pattern.clone(),
    }
}

/// The folder to walk and the pattern below it; a pattern's leading plain folders go to the folder.
fn place(input: &Input, context: &ToolContext) -> Result<(PathBuf, String), String> {
    let mut pattern = input.pattern.trim();
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
    }
    if pattern.is_empty() {
        return Err("`pattern` of `glob` is empty; give a pattern such as `**/*.rs`.".to_owned());
    }
    let special = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let absolute =
        pattern.starts_with('/') || pattern.starts_with("~/") || pattern.starts_with("../");
    let (Some((folder, rest)), true) = (
        pattern
            .get(..special)
            .and_then(|plain| plain.rfind('/'))
            .map(|at| pattern.split_at(at + 1)),
        absolute,
    ) else {
        return Ok((
            walk::root(input.path.as_deref(), context)?,
            pattern.to_owned(),
        ));
    };
    // with its slash, so that it is not taken for a name in any folder
    Ok((context.workspace.resolve(folder)?, format!("/{rest}")))
}

/// Paths that a saved full output holds at most.
const MOST_SAVED: usize = 200_000;

/// The matcher of a pattern against paths below the folder.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let anywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    let anywhere = anywhere.strip_prefix('/').unwrap_or(&anywhere);
    let glob = GlobBuilder::new(anywhere).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| {
        format!(
            "The pattern `{}` is not valid: {}. Mend the pattern.",
            clipped(pattern, 200),
            clipped(&error.kind().to_string(), 200)
        )
    })
}

fn find(input: &Input, context: &ToolContext) -> Result<Success, String> {
    let (root, pattern) = place(input, context)?;
    let matcher = matcher(&pattern)?;
    let (root, is_folder) = walk::existing(root, context)?;
    if !is_folder {
        return Err(format!(
            "{} is a file; give a folder.",
            context.workspace.model_path(&root)
        ));
    }
    let found: Mutex<Vec<(SystemTime, PathBuf)>> = Mutex::new(Vec::new());
    let visit = |entry: &ignore::DirEntry| {
        let below = entry.path().strip_prefix(&root).unwrap_or(Path::new(""));
        if matcher.is_match(below) {
            let time = walk::changed(entry.path());
            locked(&found).push((time, entry.path().to_owned()));
        }
    };
    let whole = walk::files(&root, &context.cancel, &visit);
    let mut found = found
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let total = found.len();
    let most = context.output.limits().glob_paths;
    let mut output = String::new();
    for (_, path) in found.iter().take(MOST_SAVED) {
        output.push_str(&context.workspace.model_path(path));
        output.push('\n');
    }
    if total == 0 {
        output = format!(
            "No file matches {}. Ignored files are not searched.",
            clipped(&input.pattern, 200)
        );
    }
    let fitted = context.output.fit("glob", output);
    let mut output = fitted.text;
    if total > most {
        _ = write!(
            output,
            "\n({most} of {total} files, the newest. Use a narrower pattern.)"
        );
    }
    if !whole && !context.cancel.is_cancelled() {
        output.push_str("\n(There are too many files to look at all of them. Give a path.)");
    }
    Ok(Success {
        output,
        metadata: json!({"matches": total, "cut": total > most || !whole}),
        truncated: fitted.full,
        ..Success::default()
    })
}
