//! The `recall` tool: its arguments, its words for the model, and the way to the driver that searches.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::search::Search;
use crate::protocol::SessionId;
use crate::tools::arguments::Form;
use crate::tools::{Access, Failure, Success, Tool, ToolContext};

/// What `recall` takes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// Words that must all occur, in any order and case; or a regular expression, with regex: true.
    pub(super) query: Option<String>,
    /// True if query is a regular expression (case matters unless it begins with (?i)).
    pub(super) regex: Option<bool>,
    /// Only calls of this tool, e.g. bash.
    pub(super) tool: Option<String>,
    /// Only calls and changes that name this file (a path or a part of one).
    pub(super) file: Option<String>,
    /// Only this turn, counted from 1.
    pub(super) turn: Option<u64>,
    /// Fetch this part, e.g. prt_3a4b5; with query: only its matching lines.
    pub(super) part: Option<String>,
    /// Search: hits to skip. Fetch: the first line, from 1.
    pub(super) offset: Option<u64>,
    /// Search: most hits (default 20). Fetch: most lines.
    pub(super) limit: Option<u64>,
}

/// The way to the session's conversation.
pub trait RecallPort: Send + Sync + std::fmt::Debug {
    /// Runs the search over the session; the error is a sentence for the model.
    fn ask(&self, session: SessionId, search: Search)
    -> BoxFuture<'static, Result<String, String>>;
}

/// The tool.
#[derive(Debug)]
pub struct Recall {
    form: Form,
    port: Arc<dyn RecallPort>,
}

impl Recall {
    /// The tool over a port.
    pub fn new(port: Arc<dyn RecallPort>) -> Self {
        let aliases = &[
            ("id", "part"),
            ("part_id", "part"),
            ("pattern", "query"),
            ("path", "file"),
        ];
        Self {
            form: Form::of::<Input>("recall", aliases),
            port,
        }
    }
}

impl Tool for Recall {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn description(&self) -> String {
        "Searches this whole session, also what was cleared or summarised, and fetches any part of it \
         by its id. Use it when a result reads `[Old tool result content cleared] (recall prt_…)`, when a \
         line stands for the calls of an old turn, or when notes leave out what you need.\n\
         - query finds parts, newest first; tool, file and turn narrow the search, alone they list.\n\
         - part fetches one part whole, by its id or the short one of a cleared result; offset and limit page through its lines.\n\
         Example: {\"query\": \"connection refused\", \"tool\": \"bash\"}\n\
         Example: {\"query\": \"E0[0-9]{3}\", \"regex\": true}\n\
         Example: {\"turn\": 14, \"tool\": \"read\"}\n\
         Example: {\"part\": \"prt_3a4b5\"}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        Search::new(&input)?;
        Ok(Access::reading(title(&input), Vec::new()))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        let port = Arc::clone(&self.port);
        Box::pin(async move {
            let input = input?;
            let search = Search::new(&input)?;
            let text = port.ask(context.session, search).await?;
            let fitted = context.output.fit("recall", text);
            Ok(Success {
                output: fitted.text,
                title: title(&input),
                metadata: json!({ "omitted": fitted.omitted }),
                truncated: fitted.full,
                ..Success::default()
            })
        })
    }
}

fn title(input: &Input) -> String {
    let named = [
        input.part.clone(),
        input.query.clone(),
        input.tool.clone(),
        input.file.clone(),
        input.turn.map(|turn| format!("turn {turn}")),
    ];
    let words: Vec<String> = named.into_iter().flatten().collect();
    words.join(" ").chars().take(80).collect()
}
