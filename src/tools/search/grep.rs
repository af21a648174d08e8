//! `grep`: text in files.

mod answer;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use globset::GlobMatcher;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::answer::answer;
use super::glob::matcher as glob_matcher;
use super::matches::{Collector, FileMatches, search, search_decoded};
use super::walk::{self, locked};
use crate::tools::arguments::{Form, clipped};
use crate::tools::blocking::Blocking;
use crate::tools::{Access, Failure, Success, Tool, ToolContext};

/// How `grep` answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    FilesWithMatches,
    Count,
}

/// What `grep` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The regular expression (Rust syntax; no look-around, no back-references).
    pattern: String,
    /// File or folder to search. Default: the current folder.
    path: Option<String>,
    /// Only files whose name matches, such as `*.rs` or `src/**/*.{ts,tsx}`.
    include: Option<String>,
    /// content: the matching lines (default); files_with_matches: only file names; count: matching lines per file.
    mode: Option<Mode>,
    /// Take upper and lower case as the same.
    #[serde(default)]
    ignore_case: bool,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: bool,
    /// Let the pattern match across lines; `.` then matches line ends too.
    #[serde(default)]
    multiline: bool,
    /// Lines to show before and after each match.
    context: Option<u64>,
    /// Lines to show before each match.
    before: Option<u64>,
    /// Lines to show after each match.
    after: Option<u64>,
    /// Results to show at most (lines or files).
    limit: Option<u64>,
}

/// `grep`.
#[derive(Debug)]
pub struct Grep {
    form: Form,
    blocking: Blocking,
}

impl Grep {
    /// The tool.
    pub fn new(blocking: Blocking) -> Self {
        let aliases = &[
            ("regex", "pattern"),
            ("query", "pattern"),
            ("file_path", "path"),
            ("glob", "include"),
            ("output_mode", "mode"),
            ("-i", "ignore_case"),
            ("case_insensitive", "ignore_case"),
            ("fixed_strings", "literal"),
            ("-C", "context"),
            ("-B", "before"),
            ("-A", "after"),
            ("head_limit", "limit"),
            ("max_results", "limit"),
        ];
        Self {
            form: Form::of::<Input>("grep", aliases),
            blocking,
        }
    }
}

impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn description(&self) -> String {
        "Searches the contents of files with a regular expression, like ripgrep. Files that changed \
         last come first; ignored and binary files are left out, unless path names one.\n\
         - Use it to search saved full outputs too: give the file as path.\n\
         Example: {\"pattern\": \"fn\\\\s+parse_\\\\w+\", \"include\": \"*.rs\"}\n\
         Example: {\"pattern\": \"TODO(\", \"literal\": true, \"mode\": \"files_with_matches\"}\n\
         Example: {\"pattern\": \"error\", \"path\": \"build.log\", \"ignore_case\": true, \"context\": 2}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        regex(&input)?;
        let root = walk::root(input.path.as_deref(), context)?;
        Ok(Access::reading(title(&input), context.to_read(root)))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        walk::searched(input, (self.blocking.clone(), context), title, grep)
    }
}

fn title(input: &Input) -> String {
    let mut title = format!(
        "\"{}\"",
        input.pattern.chars().take(100).collect::<String>()
    );
    if let Some(include) = &input.include {
        title.push_str(&[" ", include].concat());
    }
    if let Some(path) = &input.path {
        title.push_str(&[" in ", path].concat());
    }
    title
}

fn regex(input: &Input) -> Result<RegexMatcher, String> {
    if input.pattern.is_empty() {
        return Err("`pattern` of `grep` is empty; give what to search for.".to_owned());
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(input.ignore_case)
        .fixed_strings(input.literal)
        .multi_line(true)
        .dot_matches_new_line(input.multiline);
    if !input.multiline {
        builder.crlf(true);
    }
    builder.build(&input.pattern).map_err(|error| {
        let text = error.to_string();
        let last = text
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        format!(
            "The pattern `{}` is not a valid regular expression: {}. Escape special characters, or \
             set literal, or set multiline if it has a line end.",
            clipped(&input.pattern, 200),
            clipped(last, 200)
        )
    })
}

/// So many times what is shown is kept for the file of the full output.
const SAVED: usize = 20;

/// What is searched, and within which bounds.
struct Plan {
    matcher: RegexMatcher,
    include: Option<GlobMatcher>,
    mode: Mode,
    /// Results that are shown.
    most: usize,
    /// Results that are kept: what is not shown goes to a file, unless less was asked for.
    kept: usize,
    before: usize,
    after: usize,
    multiline: bool,
    /// True if the pattern has characters that other encodings spell otherwise.
    wide: bool,
}

impl Plan {
    fn of(input: &Input, context: &ToolContext) -> Result<Self, String> {
        let limit = context.output.limits().grep_matches;
        let around = |own: Option<u64>| own.or(input.context).unwrap_or_default().min(50) as usize;
        let wanted = input.limit.filter(|most| *most > 0);
        let most = wanted.map_or(limit, |most| most.min(limit as u64) as usize);
        let kept = match wanted {
            Some(wanted) if wanted <= limit as u64 => most,
            _ => most * SAVED,
        };
        Ok(Self {
            matcher: regex(input)?,
            include: input
                .include
                .as_deref()
                .filter(|glob| !glob.is_empty())
                .map(glob_matcher)
                .transpose()?,
            mode: input.mode.unwrap_or_default(),
            most,
            kept,
            before: around(input.before),
            after: around(input.after),
            multiline: input.multiline,
            wide: !input.pattern.is_ascii(),
        })
    }

    /// A file that the user names is searched even if it has zero bytes in it.
    fn searcher(&self, named: bool) -> Searcher {
        let binary = if named {
            BinaryDetection::convert(0)
        } else {
            BinaryDetection::quit(0)
        };
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .multi_line(self.multiline)
            .binary_detection(binary);
        if !self.multiline {
            // as the matcher has it
            builder.line_terminator(LineTerminator::crlf());
        }
        if self.mode == Mode::Content {
            builder
                .before_context(self.before)
                .after_context(self.after);
        }
        // a line of gigabytes must not become gigabytes of memory
        builder.heap_limit(Some(64 << 20)).build()
    }

    /// Searches one file; none if nothing was found. A file in another encoding than UTF-8 is searched as
    /// the text that `read` shows, if that can make a difference.
    fn search(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        collector: Collector<'_>,
        context: &ToolContext,
    ) -> std::io::Result<Option<FileMatches>> {
        let most = collector.most;
        let found = search(searcher, &self.matcher, path, collector)?;
        let broken = |file: &FileMatches| {
            let mut lines = file.lines.iter();
            lines.any(|line| line.text.contains(char::REPLACEMENT_CHARACTER))
        };
        if !(found.as_ref().is_some_and(broken) || (self.wide && found.is_none())) {
            return Ok(found);
        }
        let mut again = self.collector(context);
        again.most = most;
        let known = context.reads.encoding(path);
        let decoded = search_decoded(searcher, &self.matcher, path, (known.as_deref(), again));
        Ok(match decoded {
            Some(file) if file.count > 0 => Some(file),
            _ => found,
        })
    }

    fn collector<'a>(&self, context: &'a ToolContext) -> Collector<'a> {
        Collector {
            lines: Vec::new(),
            count: 0,
            most: if self.mode == Mode::Content {
                self.kept * (1 + self.before + self.after)
            } else {
                0
            },
            first_only: self.mode == Mode::FilesWithMatches,
            cancel: &context.cancel,
        }
    }
}

/// What was found.
struct Findings {
    files: Vec<FileMatches>,
    secret: usize,
    whole: bool,
}

fn grep(input: &Input, context: &ToolContext) -> Result<Success, String> {
    let plan = Plan::of(input, context)?;
    let (root, is_folder) = walk::existing(walk::root(input.path.as_deref(), context)?, context)?;
    let mut found = if is_folder {
        search_folder(&plan, &root, context)
    } else {
        let mut searcher = plan.searcher(true);
        let file = plan
            .search(&mut searcher, &root, plan.collector(context), context)
            .map_err(|error| {
                format!(
                    "{} cannot be searched: {error}.",
                    context.workspace.model_path(&root)
                )
            })?;
        Findings {
            files: file.into_iter().collect(),
            secret: 0,
            whole: true,
        }
    };
    found
        .files
        .sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    Ok(answer(&plan, &found, input, context))
}

fn search_folder(plan: &Plan, root: &Path, context: &ToolContext) -> Findings {
    let found = Mutex::new(Vec::new());
    let searchers = Mutex::new(Vec::new());
    let (secret, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let visit = |entry: &ignore::DirEntry| {
        let path = entry.path();
        let below = path.strip_prefix(root).unwrap_or(path);
        let regular = entry.file_type().is_some_and(|kind| kind.is_file());
        if !regular
            || plan
                .include
                .as_ref()
                .is_some_and(|include| !include.is_match(below))
        {
            return;
        }
        // what is in them is for the user to show: naming the file asks for it
        if context.workspace.is_secret(path) {
            secret.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut searcher = locked(&searchers)
            .pop()
            .unwrap_or_else(|| plan.searcher(false));
        let mut collector = plan.collector(context);
        // so much is enough to choose the newest from
        if kept.load(Ordering::Relaxed) > plan.most.saturating_mul(2 * SAVED) {
            collector.most = 0;
        }
        let file = plan.search(&mut searcher, path, collector, context);
        locked(&searchers).push(searcher);
        // what cannot be read is left out, as ripgrep does
        if let Ok(Some(file)) = file {
            kept.fetch_add(file.lines.len(), Ordering::Relaxed);
            locked(&found).push(file);
        }
    };
    let whole = walk::files(root, &context.cancel, &visit);
    Findings {
        files: found
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
        secret: secret.load(Ordering::Relaxed),
        whole,
    }
}
