//! The `bash` tool: one command, in the foreground until it ends, or in the background.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::environment::Environment;
use super::jobs::{Jobs, words};
use super::process::{CommandWrapper, Spec, signal_name, start};
use super::pump::{End, Ended, Limits, Running, locked};
use crate::config::used::BashSettings;
use crate::protocol::tool::INTERRUPTED_OUTPUT;
use crate::tools::arguments::Form;
use crate::tools::blocking::Blocking;
use crate::tools::output::{Fitted, Spill};
use crate::tools::{Access, Failure, Need, Success, Tool, ToolContext};

/// Live tail: lines and bytes.
const TAIL: (usize, usize) = (12, 4 * 1024);

/// A background command is watched for so long before the call returns, to see early failures.
const SETTLE: Duration = Duration::from_millis(250);

/// What `bash` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// The command line, as you would type it into bash.
    command: String,
    /// A few words on what it does, for the user: "Run the unit tests".
    #[serde(default)]
    description: String,
    /// Milliseconds after which it is killed. Default 120000, at most 600000.
    timeout: Option<u64>,
    /// Start it and return at once: for servers and watchers. Look at its output with bash_output, end it with kill.
    #[serde(default)]
    background: bool,
    /// Folder to run it in, instead of a cd in the command.
    cwd: Option<String>,
}

/// `bash`.
#[derive(Debug)]
pub struct Bash {
    form: Form,
    parts: Arc<Parts>,
}

/// What a command needs besides its input.
#[derive(Debug)]
struct Parts {
    settings: BashSettings,
    environment: Arc<Environment>,
    shell: PathBuf,
    wrapper: Option<Arc<dyn CommandWrapper>>,
    jobs: Arc<Jobs>,
    blocking: Blocking,
}

impl Bash {
    /// The tool.
    pub fn new(
        settings: BashSettings,
        environment: Environment,
        wrapper: Option<Arc<dyn CommandWrapper>>,
        jobs: Arc<Jobs>,
    ) -> Self {
        let aliases = &[
            ("cmd", "command"),
            ("script", "command"),
            ("run_in_background", "background"),
            ("is_background", "background"),
            ("workdir", "cwd"),
            ("dir", "cwd"),
            ("timeout_ms", "timeout"),
        ];
        Self {
            form: Form::of::<Input>("bash", aliases),
            parts: Arc::new(Parts {
                shell: environment.shell(),
                settings,
                environment: Arc::new(environment),
                wrapper,
                jobs,
                blocking: Blocking::new(8),
            }),
        }
    }
}

impl Tool for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn description(&self) -> String {
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        format!(
            "Runs a command with bash and returns its output (standard output and error together, in \
             order) and its exit code. Each call starts a new shell in the current folder: variables \
             and cd do not carry over.\n\
             - There is no terminal and no standard input: use flags such as -y, and never start \
             editors or pagers.\n\
             - It is killed after {} min unless timeout (milliseconds, at most {} min) says otherwise.\n\
             - For servers and watchers set background: true.\n\
             - Use grep, glob, read and edit instead of grep, find, cat and sed where they do.\n\
             - Quote paths with spaces. Chain dependent commands with &&.\n\
             Example: {{\"command\": \"cargo test -p parser 2>&1 | tail -n 40\", \"description\": \"Test the parser\"}}\n\
             Example: {{\"command\": \"npm run dev\", \"background\": true}}",
            minutes(self.parts.settings.timeout),
            minutes(self.parts.settings.max_timeout),
        )
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let cwd = folder(&input, context)?;
        Ok(Access {
            title: title(&input.command),
            needs: vec![Need::Command {
                command: input.command,
                cwd,
            }],
            writes: Vec::new(),
            can_write: true,
            says: input.description,
        })
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let input = self.form.read::<Input>(&input);
        let parts = Arc::clone(&self.parts);
        Box::pin(async move {
            let input = input?;
            let title = title(&input.command);
            parts
                .run(input, context)
                .await
                .map_err(|failure| Failure { title, ..failure })
        })
    }
}

/// The command's first line that says anything.
fn title(command: &str) -> String {
    let mut lines = command
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let more = lines.next().is_some();
    let mut title: String = first.chars().take(160).collect();
    if more || title.len() < first.len() {
        title.push_str(" …");
    }
    title
}

fn folder(input: &Input, context: &ToolContext) -> Result<PathBuf, String> {
    if input.command.trim().is_empty() {
        return Err("`command` of `bash` is empty; give a command line.".to_owned());
    }
    match input.cwd.as_deref() {
        None | Some("") => Ok(context.workspace.cwd().to_owned()),
        Some(cwd) => context.workspace.resolve(cwd),
    }
}

impl Parts {
    async fn run(&self, input: Input, context: ToolContext) -> Result<Success, Failure> {
        let begin = Instant::now();
        let cwd = folder(&input, &context)?;
        if input.background && !self.jobs.has_room() {
            return Err(Failure::new(
                "Too many commands run in the background. End one with kill first.",
            ));
        }
        let spec = Spec {
            shell: self.shell.clone(),
            command: input.command.clone(),
            cwd,
            environment: Arc::clone(&self.environment),
            wrapper: self.wrapper.clone(),
        };
        let (group, pipe) = start(&spec).map_err(|error| {
            Failure::new(format!(
                "The command could not be started: {error}. Check the folder and the command line."
            ))
        })?;
        let mut running = Running {
            group,
            pipe,
            spill: Arc::new(Mutex::new(context.output.spill("bash"))),
            blocking: self.blocking.clone(),
        };
        if input.background {
            return Ok(self.background(input, &context, running).await);
        }
        let timeout = input
            .timeout
            .map_or(self.settings.timeout, Duration::from_millis);
        let timeout = timeout
            .min(self.settings.max_timeout)
            .max(Duration::from_millis(1));
        let limits = Limits {
            deadline: Some(begin + timeout),
            cancel: context.cancel.clone(),
            stop: CancellationToken::new(),
        };
        let progress = context.progress.clone();
        let update = move |spill: &Spill| {
            let tail = spill.last_lines(TAIL.0, TAIL.1);
            progress.send_modify(|update| update.tail = tail);
        };
        let end = running.until_end(&limits, &update).await;
        let view = self.view(&running).await;
        let mut facts = Facts::of(&end, &view, &running, begin);
        if end.how == Ended::Cancelled {
            return Err(facts.interrupted(view));
        }
        facts.timeout = (end.how == Ended::TimedOut).then_some(timeout);
        if end.left && end.how == Ended::Exited && running.group.is_alive() && self.jobs.has_room()
        {
            let job = self
                .jobs
                .adopt(context.session, input.command.clone(), running);
            *job.seen() = job.state().total;
            facts.job = Some(job.id.clone());
        } else if end.how == Ended::Exited {
            running.group.release();
        }
        let explain = self
            .wrapper
            .as_ref()
            .and_then(|wrapper| wrapper.explain(facts.exit, &view.text));
        Ok(facts.success(view, title(&input.command), explain))
    }

    /// The text so far; on a blocking thread if it may have to be saved now.
    async fn view(&self, running: &Running) -> Fitted {
        let spill = Arc::clone(&running.spill);
        let small = locked(&spill).total() < 16 * 1024;
        if small {
            return locked(&spill).view();
        }
        self.blocking
            .run(move || locked(&spill).view())
            .await
            .unwrap_or_default()
    }

    async fn background(&self, input: Input, context: &ToolContext, running: Running) -> Success {
        let title = title(&input.command);
        let job = self.jobs.adopt(context.session, input.command, running);
        let mut states = job.watch();
        let settled = states.wait_for(|state| state.ended.is_some());
        // most failures show at once: a taken port, a missing program
        drop(tokio::time::timeout(SETTLE, settled).await);
        let state = job.state();
        let first = job.spill().view();
        *job.seen() = state.total;
        let mut output = match &state.ended {
            Some(ended) => format!("The command {ended} at once ({}).", job.id),
            None => format!(
                "Started in the background as {}. Look at its output with bash_output, end it with kill.",
                job.id
            ),
        };
        if let Some(file) = job.file() {
            _ = write!(output, "\nIts output is saved to: {}", file.display());
        }
        if !first.text.trim().is_empty() {
            _ = write!(output, "\nOutput so far:\n{}", first.text);
        }
        Success {
            output,
            title,
            metadata: json!({
                "job": job.id, "background": true, "exit": state.exit, "ended": state.ended,
                "file": job.file().map(|file| file.to_string_lossy()),
            }),
            ..Success::default()
        }
    }
}

/// What is known of an ended command.
struct Facts {
    exit: Option<i32>,
    signal: Option<i32>,
    timeout: Option<Duration>,
    duration: Duration,
    job: Option<String>,
    bytes: u64,
    lines: u64,
    first: Vec<String>,
    last: Vec<String>,
    ended: String,
}

impl Facts {
    fn of(end: &End, view: &Fitted, running: &Running, begin: Instant) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let spill = locked(&running.spill);
        let cut = |line: &str| line.chars().take(400).collect::<String>();
        let last = spill.last_lines(5, 4 * 1024);
        Self {
            exit: end.status.and_then(|status| status.code()),
            signal: end.status.and_then(|status| status.signal()),
            timeout: None,
            duration: begin.elapsed(),
            job: None,
            bytes: spill.total(),
            lines: spill.lines(),
            first: view.text.lines().take(5).map(cut).collect(),
            last: last.lines().map(cut).collect(),
            ended: words(end).0,
        }
    }

    fn metadata(&self, interrupted: bool) -> Value {
        json!({
            "exit": self.exit,
            "signal": self.signal.map(signal_name),
            "timed_out": self.timeout.is_some(),
            "interrupted": interrupted,
            "duration_ms": self.duration.as_millis() as u64,
            "bytes": self.bytes,
            "lines": self.lines,
            "first": self.first,
            "last": self.last,
            "job": self.job,
        })
    }

    fn interrupted(self, view: Fitted) -> Failure {
        let mut message = view.text;
        if !message.is_empty() {
            message.push_str(if message.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            });
        }
        message.push_str(INTERRUPTED_OUTPUT);
        Failure {
            message,
            metadata: self.metadata(true),
            truncated: view.full.filter(|_| view.omitted > 0),
            ..Failure::default()
        }
    }

    fn success(self, view: Fitted, title: String, explain: Option<String>) -> Success {
        let mut notes = Vec::new();
        if let Some(timeout) = self.timeout {
            notes.push(format!(
                "The command was killed because it ran longer than {} s. Give it a longer timeout, or \
                 run it with background: true.",
                timeout.as_secs_f64()
            ));
        } else if self.exit != Some(0) {
            notes.push(match self.exit {
                Some(code) => format!("Exit code {code}"),
                None => format!("The command {}", self.ended),
            });
        }
        if let Some(job) = &self.job {
            notes.push(format!(
                "Processes that it started are still running, as {job}: see bash_output and kill."
            ));
        }
        notes.extend(explain);
        let mut output = view.text;
        if output.is_empty() && notes.is_empty() {
            output.push_str("(no output)");
        }
        for note in notes {
            if !output.is_empty() {
                output.push_str(if output.ends_with('\n') { "\n" } else { "\n\n" });
            }
            _ = write!(output, "({note})");
        }
        Success {
            output,
            title,
            metadata: self.metadata(false),
            truncated: view.full.filter(|_| view.omitted > 0),
            ..Success::default()
        }
    }
}
