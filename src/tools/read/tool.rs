//! The `read` tool.

use std::path::Path;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::text::Window;
use super::{folder, media, notebook, text};
use crate::tools::arguments::Form;
use crate::tools::blocking::Blocking;
use crate::tools::contract::titled;
use crate::tools::file::{self, Kind};
use crate::tools::media::mime;
use crate::tools::{Access, Failure, Success, Tool, ToolContext};

/// Files above this size are read in pieces and not hashed.
const WHOLE: u64 = 16 << 20;

/// What `read` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The file or folder, relative to the current folder or absolute.
    file_path: String,
    /// First line to read, from 1.
    offset: Option<u64>,
    /// How many lines to read. Default and most: 2000.
    limit: Option<u64>,
}

/// `read`.
#[derive(Debug)]
pub struct Read {
    form: Form,
    blocking: Blocking,
}

impl Read {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("path", "file_path"),
            ("file", "file_path"),
            ("filename", "file_path"),
            ("start_line", "offset"),
            ("line", "offset"),
        ];
        Self {
            form: Form::of::<Input>("read", aliases),
            blocking,
        }
    }
}

impl Tool for Read {
    fn name(&self) -> &'static str {
        "read"
    }

    fn description(&self) -> String {
        "Reads a file: text as numbered lines (`12→text`; the number and the arrow are not part of the \
         file), images and PDFs as attachments, notebooks as cells, folders as listings.\n\
         - At most 2000 lines of 2000 characters at once; go on with offset.\n\
         - Read whole files unless they are very long; read several files with several calls at once.\n\
         - Saved full outputs of other tools can be read too.\n\
         Example: {\"file_path\": \"src/lib.rs\"}\n\
         Example: {\"file_path\": \"server.log\", \"offset\": 4000, \"limit\": 200}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let path = context.workspace.resolve(&input.file_path)?;
        Ok(Access::reading(
            title(&input, &path, context),
            context.to_read(path),
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
            let path = context.workspace.resolve(&input.file_path)?;
            let title = title(&input, &path, &context);
            let kind = file::kind(&path, &context);
            let small = matches!(&kind, Ok(Kind::File(meta)) if meta.len() <= file::SMALL)
                && !is_picture(&path);
            let done = if small || kind.is_err() {
                kind.and_then(|kind| read(kind, &input, &path, &context))
            } else {
                let cancel = context.cancel.clone();
                blocking
                    .run_until(&cancel, move || {
                        kind.and_then(|kind| read(kind, &input, &path, &context))
                    })
                    .await?
            };
            titled(title, done)
        })
    }
}

/// By its name: decoding and scaling take too long for the async thread however small the file is.
fn is_picture(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    matches!(
        extension.as_deref(),
        Some("png" | "jpg" | "jpeg" | "gif" | "webp" | "pdf")
    )
}

fn title(input: &Input, path: &Path, context: &ToolContext) -> String {
    let name = context.workspace.display(path);
    match (input.offset, input.limit) {
        (None | Some(0 | 1), None) => name,
        (offset, limit) => {
            let first = offset.unwrap_or(1).max(1);
            match limit.filter(|limit| *limit > 0) {
                Some(limit) => format!("{name}:{first}-{}", first + limit - 1),
                None => format!("{name}:{first}"),
            }
        }
    }
}

fn read(kind: Kind, input: &Input, path: &Path, context: &ToolContext) -> Result<Success, String> {
    let window = Window::of(input.offset, input.limit, context.output.limits());
    let meta = match kind {
        Kind::Missing => return Err(file::missing(path, context)),
        Kind::Folder => return folder::list(path, context),
        Kind::File(meta) => meta,
    };
    if meta.len() > WHOLE {
        return huge(path, window, context);
    }
    let loaded = file::load(path, context)?;
    if mime(&loaded.bytes).is_some() {
        return media::attach(path, loaded.bytes, context);
    }
    context
        .reads
        .record(path, Some(&loaded.bytes), &loaded.meta, file::now());
    let text =
        file::decode(loaded.bytes, path, context).inspect_err(|_| context.reads.forget(path))?;
    if path
        .extension()
        .is_some_and(|extension| extension == "ipynb")
        && let Some(cells) = notebook::render(text.text())
    {
        let mut done = text::page(&cells, window, path, context)?;
        done.metadata["kind"] = json!("notebook");
        return Ok(done);
    }
    let mut done = text::page(text.text(), window, path, context)?;
    if !text.is_plain() {
        let note = [
            "\n(The file is encoded as ",
            text.encoding(),
            "; edit and write keep that.)",
        ]
        .concat();
        done.output.push_str(&note);
        done.metadata["encoding"] = json!(text.encoding());
    }
    Ok(done)
}

/// A file that is not loaded whole: a look at its beginning decides whether it is text.
fn huge(path: &Path, window: Window, context: &ToolContext) -> Result<Success, String> {
    use std::io::Read as _;
    let name = context.workspace.model_path(path);
    let bad = |error: std::io::Error| format!("{name} cannot be read: {error}.");
    let mut start = Vec::new();
    let handle = std::fs::File::open(path).map_err(bad)?;
    let meta = handle.metadata().map_err(bad)?;
    handle.take(8 * 1024).read_to_end(&mut start).map_err(bad)?;
    if mime(&start).is_some() || memchr::memchr(0, &start).is_some() {
        return Err(format!(
            "{name} is a binary file of {}, not text. Use a command that knows the format.",
            file::human(meta.len())
        ));
    }
    let done = text::stream(path, window, meta.len(), context)?;
    context.reads.record(path, None, &meta, file::now());
    Ok(done)
}
