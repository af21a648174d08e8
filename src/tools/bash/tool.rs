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
use super::facts::{Done, Facts};
use super::jobs::Jobs;
use super::process::{CommandWrapper, Confine, Spec, start};
use super::pump::{Ended, Limits, Running, locked};
use super::without;
use crate::config::used::BashSettings;
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
    /// Milliseconds after which it is killed. Default (also for 0) 120000, at most 600000.
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

    fn close(&self) -> BoxFuture<'static, ()> {
        let jobs = Arc::clone(&self.parts.jobs);
        Box::pin(async move { jobs.end_all().await })
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

/// Says that a command outlives its call, until what is given back is dropped.
fn goes_on(context: &ToolContext, command: &str) -> Option<Box<dyn std::any::Any + Send + Sync>> {
    context.writes.as_ref().map(|sink| sink.goes_on(command))
}

impl Parts {
    async fn run(&self, input: Input, context: ToolContext) -> Result<Success, Failure> {
        let cwd = folder(&input, &context)?;
        if input.background && !self.jobs.has_room() {
            return Err(Failure::new(
                "Too many commands run in the background. End one with kill first.",
            ));
        }
        let confine = Confine::By(context.mode);
        if input.background {
            let running = self.start(&input, &context, cwd, confine)?;
            return Ok(self.background(input, &context, running).await);
        }
        let mut done = self
            .foreground(&input, &context, cwd.clone(), confine)
            .await?;
        let blocked = self
            .wrapper
            .as_ref()
            .and_then(|wrapper| wrapper.explain(confine, &cwd, done.facts.exit, &done.view.text));
        let mut notes = Vec::new();
        let mut facts = Value::Null;
        if let Some(blocked) = blocked {
            let answer = without::ask(&blocked, &input.command, &input.description, &context).await;
            facts = json!({"blocked": blocked.kind, "without": answer.is_yes()});
            notes.push(answer.note(&blocked));
            if answer.is_yes() {
                done = self.foreground(&input, &context, cwd, Confine::Not).await?;
            }
        }
        Ok(done.success(title(&input.command), notes, facts))
    }

    fn start(
        &self,
        input: &Input,
        context: &ToolContext,
        cwd: PathBuf,
        confine: Confine,
    ) -> Result<Running, Failure> {
        let spec = Spec {
            shell: self.shell.clone(),
            command: input.command.clone(),
            cwd,
            environment: Arc::clone(&self.environment),
            wrapper: self.wrapper.clone(),
            confine,
            reaper: self.jobs.reaper(),
        };
        let (group, pipe) = start(&spec).map_err(|error| {
            Failure::new(format!(
                "The command could not be started: {error}. Check the folder and the command line."
            ))
        })?;
        Ok(Running {
            group,
            pipe,
            spill: Arc::new(Mutex::new(context.output.spill("bash"))),
            blocking: self.blocking.clone(),
            told: None,
        })
    }

    /// Runs the command once, to its end or its time limit.
    async fn foreground(
        &self,
        input: &Input,
        context: &ToolContext,
        cwd: PathBuf,
        confine: Confine,
    ) -> Result<Done, Failure> {
        let begin = Instant::now();
        let mut running = self.start(input, context, cwd, confine)?;
        // models say 0 for "as usual"
        let timeout = input
            .timeout
            .filter(|most| *most > 0)
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
            running.told = goes_on(context, &input.command);
            let job = self
                .jobs
                .adopt(context.session, input.command.clone(), running);
            *job.seen() = job.state().total;
            facts.job = Some(job.id.clone());
        } else if end.how == Ended::Exited {
            running.group.release();
        }
        Ok(Done { facts, view })
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

    async fn background(
        &self,
        input: Input,
        context: &ToolContext,
        mut running: Running,
    ) -> Success {
        let title = title(&input.command);
        running.told = goes_on(context, &input.command);
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
