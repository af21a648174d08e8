//! `recall`: the model searches its own session and fetches any part of it, pruned, compacted or not.
//!
//! The tool knows arguments and words; the conversation is the driver's, so it asks through a port
//! (`driver::recall` answers it from memory, in slices, so that a long session never holds the loop
//! up). Read-only. Only the current branch is searched: what was rewound is not said again.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::handle::{Handles, SHORTEST};
use crate::context::{Conversation, Entry};
use crate::protocol::{Part, PartBody, PartId, Role, SessionId, ToolState};
use crate::tools::arguments::Form;
use crate::tools::{Access, Failure, Success, Tool, ToolContext};

/// Hits of a search, unless the model asks for another number.
const HITS: usize = 20;
/// Most hits of one search.
const MOST_HITS: usize = 100;
/// Matching lines that are shown of a hit.
const LINES: usize = 3;
/// Characters that are shown of a line.
const LINE_CHARS: usize = 240;
/// Parts that are named when a short id could be several.
const NAMED: usize = 5;

/// What `recall` takes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
struct Input {
    /// Words that must all occur, in any order and case; or a regular expression, with regex: true.
    query: Option<String>,
    /// True if query is a regular expression (case matters unless it begins with (?i)).
    regex: Option<bool>,
    /// Only calls of this tool, e.g. bash.
    tool: Option<String>,
    /// Only calls and changes that name this file (a path or a part of one).
    file: Option<String>,
    /// Only this turn, counted from 1.
    turn: Option<u64>,
    /// Fetch this part, e.g. prt_3a4b5; with query: only its matching lines.
    part: Option<String>,
    /// Search: hits to skip. Fetch: the first line, from 1.
    offset: Option<u64>,
    /// Search: most hits (default 20). Fetch: most lines.
    limit: Option<u64>,
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
        Ok(Access {
            title: title(&input),
            needs: Vec::new(),
            writes: Vec::new(),
            can_write: false,
            says: String::new(),
        })
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

/// A search under way: it goes from the newest message to the oldest, as far as it is let.
#[derive(Debug)]
pub struct Search {
    words: Vec<Regex>,
    tool: Option<String>,
    file: Option<String>,
    turn: Option<usize>,
    part: Option<String>,
    offset: usize,
    limit: usize,
    /// The entry that is looked at next, counted from the oldest, and its turn.
    at: Option<(usize, usize)>,
    found: usize,
    hits: Vec<String>,
}

impl Search {
    /// From the tool's JSON arguments; the error is a sentence for the model.
    pub fn from_json(input: &Value) -> Result<Self, String> {
        let input = Form::of::<Input>("recall", &[]).read::<Input>(input)?;
        Self::new(&input)
    }

    fn new(input: &Input) -> Result<Self, String> {
        let given = |text: &Option<String>| text.clone().filter(|t| !t.trim().is_empty());
        let query = given(&input.query).unwrap_or_default();
        let words = if input.regex == Some(true) {
            vec![pattern(&query, false)?]
        } else {
            query
                .split_whitespace()
                .map(|word| pattern(&regex::escape(word), true))
                .collect::<Result<_, _>>()?
        };
        let search = Self {
            words,
            tool: given(&input.tool),
            file: given(&input.file),
            turn: input.turn.map(|turn| turn as usize),
            part: given(&input.part),
            offset: input.offset.unwrap_or(0) as usize,
            limit: input.limit.unwrap_or(0) as usize,
            at: None,
            found: 0,
            hits: Vec::new(),
        };
        let empty = search.words.is_empty() && search.tool.is_none() && search.file.is_none();
        if empty && search.turn.is_none() && search.part.is_none() {
            return Err("Say what to recall: query, part, tool, file or turn.".to_owned());
        }
        Ok(search)
    }

    /// Goes on until about so many bytes were looked at; the answer once the search is over.
    pub fn step(
        &mut self,
        conversation: &Conversation,
        bytes: usize,
    ) -> Option<Result<String, String>> {
        let entries = conversation.entries();
        if let Some(id) = &self.part {
            let part = find_part(entries, id);
            return Some(part.and_then(|part| self.fetched(conversation, part)));
        }
        let (mut at, mut turn) = self.at.unwrap_or_else(|| {
            let turns = entries.iter().filter(|e| e.is_prompt()).count();
            (entries.len(), turns)
        });
        let most = if self.limit == 0 {
            HITS
        } else {
            self.limit.min(MOST_HITS)
        };
        let shown = conversation.visible();
        let mut looked = 0;
        while at > 0 && self.found <= self.offset + most {
            if looked > bytes {
                self.at = Some((at, turn));
                return None;
            }
            at -= 1;
            let Some(entry) = entries.get(at) else {
                continue;
            };
            if self.turn.is_none_or(|wanted| wanted == turn) {
                let in_context = shown.contains(&at);
                for part in entry.parts.iter().rev() {
                    looked += self.look(entry, part, (turn, in_context, most));
                }
            }
            turn -= usize::from(entry.is_prompt());
        }
        Some(Ok(self.listed(most)))
    }

    /// Looks at one part; returns the bytes that were searched.
    fn look(
        &mut self,
        entry: &Entry,
        part: &Part,
        (turn, in_context, most): (usize, bool, usize),
    ) -> usize {
        if !self.is_wanted(part) {
            return 0;
        }
        let texts = texts(part);
        let size = texts.iter().map(|text| text.len()).sum();
        let matches = |word: &Regex| texts.iter().any(|text| word.is_match(text));
        if texts.is_empty() || !self.words.iter().all(matches) {
            return size;
        }
        self.found += 1;
        if self.found > self.offset && self.found <= self.offset + most {
            let mut hit = format!("{} {}", part.id, heading(entry, part, turn, in_context));
            for line in self.lines(&texts) {
                hit.push_str("\n  ");
                hit.push_str(&line);
            }
            self.hits.push(hit);
        }
        size
    }

    fn is_wanted(&self, part: &Part) -> bool {
        let tool = match &part.body {
            PartBody::Tool(tool) => Some(tool.tool.as_str()),
            _ => None,
        };
        // Earlier searches hold the same words and nothing new; so does the call that is running.
        let itself = tool == Some("recall") && self.tool.as_deref() != Some("recall");
        let by_tool = self
            .tool
            .as_deref()
            .is_none_or(|wanted| tool == Some(wanted));
        let by_file = self
            .file
            .as_deref()
            .is_none_or(|file| names_file(part, file));
        !itself && by_tool && by_file
    }

    /// The first lines that match, or the first line if nothing was asked for.
    fn lines(&self, texts: &[&str]) -> Vec<String> {
        let mut shown = Vec::new();
        for text in texts {
            for (number, line) in text.lines().enumerate() {
                let found = self.words.iter().find_map(|word| word.find(line));
                if let Some(found) = found {
                    shown.push(format!("{}: {}", number + 1, around(line, found.start())));
                }
                if shown.len() >= LINES {
                    return shown;
                }
            }
        }
        if shown.is_empty() {
            let first = texts
                .iter()
                .flat_map(|t| t.lines())
                .find(|l| !l.trim().is_empty());
            shown.extend(first.map(|line| around(line, 0)));
        }
        shown
    }

    fn listed(&self, most: usize) -> String {
        if self.hits.is_empty() {
            let hint = "Try fewer or other words, or a regular expression with regex: true.";
            return format!("Nothing in this session matches. {hint}");
        }
        let mut text = self.hits.join("\n");
        if self.found > self.offset + most {
            let next = self.offset + most;
            text.push_str(&format!("\n\nThere is more: go on with offset: {next}."));
        }
        text.push_str("\n\nFetch one whole with part: its id.");
        text
    }

    fn fetched(&self, conversation: &Conversation, part: &Part) -> Result<String, String> {
        let entries = conversation.entries();
        let at = entries.partition_point(|e| e.message.id < part.message);
        let entry = entries
            .get(at)
            .ok_or_else(|| format!("The message of {} is not on this branch.", part.id))?;
        let turn = entries[..=at].iter().filter(|e| e.is_prompt()).count();
        let in_context = conversation.visible().contains(&at);
        let mut text = format!("{} {}\n", part.id, heading(entry, part, turn, in_context));
        let body = whole(part);
        let lines: Vec<(usize, &str)> = (1..).zip(body.lines()).collect();
        let first = self.offset.max(1);
        let most = if self.limit == 0 {
            usize::MAX
        } else {
            self.limit
        };
        if self.words.is_empty() && first == 1 && most >= lines.len() {
            text.push_str(&body);
            return Ok(text);
        }
        let is_match =
            |line: &str| self.words.is_empty() || self.words.iter().any(|word| word.is_match(line));
        let wanted = lines
            .iter()
            .filter(|(n, line)| *n >= first && is_match(line));
        let mut shown = 0;
        for (number, line) in wanted.take(most) {
            text.push_str(&format!("{number}: {line}\n"));
            shown += 1;
        }
        if shown == 0 {
            text.push_str(&format!("None of its {} lines matches.\n", lines.len()));
        }
        Ok(text)
    }
}

fn pattern(text: &str, any_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .case_insensitive(any_case)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| {
            format!("`{text}` is not a regular expression: {error}. Mend it, or leave regex out to search for words.")
        })
}

/// A part by its id or its handle, or by the beginning or the end of its id if no other part has the
/// same.
fn find_part<'a>(entries: &'a [Entry], id: &str) -> Result<&'a Part, String> {
    let given = id.trim().trim_end_matches('…').to_ascii_lowercase();
    let digits = given.trim_start_matches(PartId::PREFIX);
    let parts = || entries.iter().rev().flat_map(|e| e.parts.iter().rev());
    let full = format!("{}{digits}", PartId::PREFIX).parse::<PartId>();
    let none = || format!("There is no part {id} in this session. Search for it with query.");
    if let Ok(full) = full {
        return parts().find(|p| p.id == full).ok_or_else(none);
    }
    if digits.len() < SHORTEST {
        return Err(none());
    }
    let same: Vec<&Part> = parts()
        .filter(|part| {
            let own = part.id.to_string();
            let own = own.trim_start_matches(PartId::PREFIX);
            own.starts_with(digits) || own.ends_with(digits)
        })
        .collect();
    // A handle is its part's alone, also where the end of a newer id reads the same.
    let handles = Handles::of(entries);
    let handle = format!("{}{digits}", PartId::PREFIX);
    if let Some(named) = same.iter().find(|p| handles.name(p.id) == handle) {
        return Ok(named);
    }
    match same.as_slice() {
        [one] => Ok(one),
        [] => Err(none()),
        several => {
            let ids = several.iter().take(NAMED).map(|p| p.id.to_string());
            Err(format!(
                "{} parts are called {id}. Give the whole id of the one that you mean: {}.",
                several.len(),
                ids.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// `turn 12, bash cargo test (cleared)`
fn heading(entry: &Entry, part: &Part, turn: usize, in_context: bool) -> String {
    let (what, pruned) = match &part.body {
        PartBody::Tool(tool) => {
            let (title, pruned) = match &tool.state {
                ToolState::Completed {
                    title,
                    compacted_at,
                    ..
                } => (title.as_str(), compacted_at.is_some()),
                ToolState::Error { title, .. } | ToolState::Running { title, .. } => {
                    (title.as_str(), false)
                }
                ToolState::Pending { .. } => ("", false),
            };
            (format!("{} {title}", tool.tool), pruned)
        }
        PartBody::Text { .. } if entry.message.summary => ("notes".to_owned(), false),
        PartBody::Text { .. } if entry.message.role == Role::User => ("user".to_owned(), false),
        PartBody::Text { .. } => ("assistant".to_owned(), false),
        body => (body.kind().to_owned(), false),
    };
    let state = match (in_context, pruned) {
        (false, _) => " (summarised)",
        (true, true) => " (cleared)",
        (true, false) => "",
    };
    format!("turn {turn}, {}{state}", what.trim_end())
}

/// The texts of a part that are searched.
fn texts(part: &Part) -> Vec<&str> {
    match &part.body {
        PartBody::Text { text, .. } | PartBody::Reasoning { text, .. } => vec![text],
        PartBody::Tool(tool) => {
            let mut texts = Vec::new();
            match &tool.state {
                ToolState::Completed { output, .. } => texts.push(output.as_str()),
                ToolState::Error { error, raw, .. } => texts.extend([error.as_str(), raw.as_str()]),
                ToolState::Running { .. } | ToolState::Pending { .. } => {}
            }
            texts.extend(tool.state.input().into_iter().flat_map(strings));
            texts
        }
        PartBody::File(file) => vec![&file.name],
        PartBody::Patch { files, .. } => files.iter().map(|f| f.path.as_str()).collect(),
        PartBody::Subtask { prompt, .. } => vec![prompt],
        PartBody::Compaction { focus, .. } => vec![focus],
        PartBody::StepStart { .. } | PartBody::StepFinish { .. } | PartBody::Retry { .. } => {
            Vec::new()
        }
    }
}

/// All strings in a JSON value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

fn names_file(part: &Part, file: &str) -> bool {
    match &part.body {
        PartBody::Tool(tool) => {
            let named = |text: &&str| text.contains(file);
            tool.state
                .input()
                .is_some_and(|input| strings(input).iter().any(named))
        }
        PartBody::Patch { files, .. } => files.iter().any(|f| f.path.contains(file)),
        PartBody::File(attached) => attached.name.contains(file),
        _ => false,
    }
}

/// All of a part that was ever shown to a model.
fn whole(part: &Part) -> String {
    let PartBody::Tool(tool) = &part.body else {
        return texts(part).join("\n");
    };
    let mut text = String::new();
    if let Some(input) = tool.state.input().filter(|i| !i.is_null()) {
        text.push_str(&format!("input: {input}\n"));
    }
    match &tool.state {
        ToolState::Completed {
            output,
            attachments,
            truncated,
            ..
        } => {
            text.push_str(output);
            for file in attachments {
                text.push_str(&format!("\n[attached: {} ({})]", file.name, file.mime));
            }
            // The output says so itself while the file is kept; the path is what counts here.
            if let Some(full) = truncated.as_ref().filter(|f| !output.contains(&f.path)) {
                text.push_str(&format!("\nFull output saved to: {}", full.path));
            }
        }
        ToolState::Error { error, raw, .. } => {
            text.push_str(raw);
            text.push_str(error);
        }
        ToolState::Running { .. } | ToolState::Pending { .. } => {
            text.push_str("It has no result yet.");
        }
    }
    text
}

/// The piece of a long line in which something was found.
fn around(line: &str, at: usize) -> String {
    let chars = line.chars().count();
    if chars <= LINE_CHARS {
        return line.to_owned();
    }
    let before = line.get(..at).map_or(0, |head| head.chars().count());
    let from = before.saturating_sub(LINE_CHARS / 3);
    let piece: String = line.chars().skip(from).take(LINE_CHARS).collect();
    let (left, right) = (
        if from > 0 { "…" } else { "" },
        if from + LINE_CHARS < chars { "…" } else { "" },
    );
    format!("{left}{piece}{right}")
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
