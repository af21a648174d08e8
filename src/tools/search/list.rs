//! `list`: a folder as a tree.

use std::fmt::Write as _;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk;
use crate::tools::arguments::Form;
use crate::tools::blocking::Blocking;
use crate::tools::contract::titled;
use crate::tools::workspace::spelled;
use crate::tools::{Access, Failure, Need, Success, Tool, ToolContext};

/// Levels that are shown if the call does not say.
const DEPTH: u64 = 3;
/// Entries that are looked at: what does not fit is in the file of the full output.
const MOST: usize = 100_000;

/// What `list` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The folder. Default: the current folder.
    path: Option<String>,
    /// Levels to show. Default 3.
    depth: Option<u64>,
}

/// `list`.
#[derive(Debug)]
pub struct List {
    form: Form,
    blocking: Blocking,
}

impl List {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("dir", "path"),
            ("directory", "path"),
            ("file_path", "path"),
        ];
        Self {
            form: Form::of::<Input>("list", aliases),
            blocking,
        }
    }
}

impl Tool for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn description(&self) -> String {
        "Shows a folder as a tree, three levels deep unless depth says otherwise. Ignored files are \
         left out; use read on the folder to see everything in it.\n\
         Example: {\"path\": \"src\", \"depth\": 2}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let root = walk::root(input.path.as_deref(), context)?;
        Ok(Access::reading(
            context.workspace.display(&root),
            vec![Need::Read(root)],
        ))
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
            let root = walk::root(input.path.as_deref(), &context)?;
            let title = context.workspace.display(&root);
            let cancel = context.cancel.clone();
            let depth = input.depth.filter(|depth| *depth > 0).unwrap_or(DEPTH);
            let done = blocking
                .run_until(&cancel, move || tree(root, depth, &context))
                .await?;
            titled(title, done)
        })
    }
}

fn tree(root: PathBuf, depth: u64, context: &ToolContext) -> Result<Success, String> {
    let (root, is_folder) = walk::existing(root, context)?;
    let name = context.workspace.model_path(&root);
    if !is_folder {
        return Err(format!("{name} is a file; read it, or list a folder."));
    }
    let mut builder = walk::builder(&root);
    builder
        .max_depth(Some(depth as usize))
        .sort_by_file_name(Ord::cmp);
    let mut output = format!("{}/\n", name.trim_end_matches('/'));
    let mut count = 0;
    let mut more = false;
    for entry in builder.build().flatten().filter(|entry| entry.depth() > 0) {
        if context.cancel.is_cancelled() {
            break;
        }
        if count == MOST {
            more = true;
            break;
        }
        count += 1;
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let name = spelled::spell(entry.file_name());
        let indent = "  ".repeat(entry.depth());
        _ = writeln!(output, "{indent}{name}{}", if folder { "/" } else { "" });
    }
    if count == 0 {
        output.push_str("(nothing that is not ignored)\n");
    }
    let fitted = context.output.fit("list", output);
    let mut output = fitted.text;
    if more {
        _ = write!(
            output,
            "\n(Only the first {MOST} entries. List a folder below, or use glob.)"
        );
    }
    Ok(Success {
        output,
        metadata: json!({"entries": count, "cut": more || fitted.omitted > 0}),
        truncated: fitted.full,
        ..Success::default()
    })
}
