//! `bash_output` and `kill`: looking at background jobs, and ending them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::{Job, Jobs};
use super::process::GRACE;
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::tools::arguments::Form;
use crate::tools::blocking::Blocking;
use crate::tools::output::{self, Fitted};
use crate::tools::{Access, Failure, Success, Tool, ToolContext};

/// Longest time that `bash_output` waits for news.
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// What `bash_output` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct OutputInput {
    /// The job, as bash named it: "job-1".
    job: String,
    /// Milliseconds to wait for new output or the end if there is none yet. Default 0.
    wait: Option<u64>,
}

/// `bash_output`.
#[derive(Debug)]
pub struct BashOutput {
    form: Form,
    jobs: Arc<Jobs>,
    blocking: Blocking,
}

impl BashOutput {
    /// The tool.
    pub fn new(jobs: Arc<Jobs>, blocking: Blocking) -> Self {
        let aliases = &[
            ("id", "job"),
            ("job_id", "job"),
            ("bash_id", "job"),
            ("timeout", "wait"),
        ];
        Self {
            form: Form::of::<OutputInput>("bash_output", aliases),
            jobs,
            blocking,
        }
    }
}

impl Tool for BashOutput {
    fn name(&self) -> &'static str {
        "bash_output"
    }

    fn description(&self) -> String {
        "Shows what a background job of bash has printed since you looked last, and whether it still \
         runs. With wait it waits that long for news instead of being called again and again.\n\
         Example: {\"job\": \"job-1\", \"wait\": 5000}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: OutputInput = self.form.read(input)?;
        let job = self.jobs.get(context.session, &input.job)?;
        Ok(harmless(&job))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<OutputInput>(&input);
        let (jobs, blocking) = (Arc::clone(&self.jobs), self.blocking.clone());
        Box::pin(async move {
            let input = input?;
            let job = jobs.get(context.session, &input.job)?;
            let wait = Duration::from_millis(input.wait.unwrap_or_default()).min(LONGEST_WAIT);
            let seen = *job.seen();
            let mut states = job.watch();
            let news = states.wait_for(|state| state.ended.is_some() || state.total > seen);
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Err(Failure::new(INTERRUPTED_OUTPUT)),
                // an error means that the job's task is gone, which is news too
                _ = tokio::time::timeout(wait, news) => {}
            }
            let state = job.state();
            let total = job.spill().total();
            let fitted = news_since(&job, seen, total, &context, &blocking).await?;
            *job.seen() = total;
            let standing = state
                .ended
                .clone()
                .map_or("is still running".to_owned(), |ended| ended);
            let mut output = format!("({} {standing}", job.id);
            output.push_str(if fitted.text.is_empty() {
                "; no new output)"
            } else {
                ")\n"
            });
            output.push_str(&fitted.text);
            Ok(Success {
                output,
                title: title(&job),
                metadata: json!({
                    "job": job.id, "ended": state.ended, "exit": state.exit, "bytes": total - seen.min(total),
                    "file": job.file().map(|file| file.to_string_lossy()),
                }),
                truncated: fitted.full,
                ..Success::default()
            })
        })
    }
}

/// The output between two offsets.
async fn news_since(
    job: &Arc<Job>,
    from: u64,
    to: u64,
    context: &ToolContext,
    blocking: &Blocking,
) -> Result<Fitted, Failure> {
    let Some(file) = job.file().cloned() else {
        return Ok(job.spill().view());
    };
    let store = Arc::clone(&context.output);
    let read = blocking
        .run(move || output::section("bash_output", &store, &file, (from, to)))
        .await?;
    read.map_err(|error| Failure::new(format!("The output of {} cannot be read: {error}.", job.id)))
}

/// What `kill` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct KillInput {
    /// The job, as bash named it: "job-1".
    job: String,
}

/// `kill`.
#[derive(Debug)]
pub struct Kill {
    form: Form,
    jobs: Arc<Jobs>,
}

impl Kill {
    /// The tool.
    pub fn new(jobs: Arc<Jobs>) -> Self {
        let aliases = &[
            ("id", "job"),
            ("job_id", "job"),
            ("shell_id", "job"),
            ("bash_id", "job"),
        ];
        Self {
            form: Form::of::<KillInput>("kill", aliases),
            jobs,
        }
    }
}

impl Tool for Kill {
    fn name(&self) -> &'static str {
        "kill"
    }

    fn description(&self) -> String {
        "Ends a background job of bash with all its processes (TERM, and KILL after 2 s).\n\
         Example: {\"job\": \"job-1\"}"
            .to_owned()
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: KillInput = self.form.read(input)?;
        let job = self.jobs.get(context.session, &input.job)?;
        Ok(harmless(&job))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<KillInput>(&input);
        let jobs = Arc::clone(&self.jobs);
        Box::pin(async move {
            let input = input?;
            let job = jobs.get(context.session, &input.job)?;
            let before = job.state();
            job.stop();
            let mut states = job.watch();
            let ended = states.wait_for(|state| state.ended.is_some());
            // not cut short by an interrupt: the kill is under way in any case
            drop(tokio::time::timeout(GRACE * 2, ended).await);
            let state = job.state();
            let last = job.last_lines(10, 4 * 1024);
            let mut output = match (&before.ended, &state.ended) {
                (Some(ended), _) => format!("{} had ended before: it {ended}.", job.id),
                (None, Some(_)) => format!("{} was killed.", job.id),
                (None, None) => format!("{} was told to end but still runs.", job.id),
            };
            if !last.is_empty() {
                output.push_str("\nIts last output:\n");
                output.push_str(&last);
            }
            Ok(Success {
                output,
                title: title(&job),
                metadata: json!({"job": job.id, "ended": state.ended, "exit": state.exit}),
                ..Success::default()
            })
        })
    }
}

/// Looking at and ending one's own jobs needs no permission.
fn harmless(job: &Job) -> Access {
    Access::reading(title(job), Vec::new())
}

fn title(job: &Job) -> String {
    let command: String = job
        .command
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(120)
        .collect();
    format!("{}: {command}", job.id)
}
