//! `dunlin exec`: one task, no screen.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;

use super::arguments::{Exec, Options};
use crate::agent::driver::Begin;
use crate::app::{self, Ground, Wishes};
use crate::error::AppError;
use crate::headless::{self, Format, Schema, Talk, Task, Wanted};
use crate::protocol::mentions::mentioned;
use crate::protocol::{PromptInput, link};
use crate::session::Project;

/// How long the end waits for tasks to be dropped.
const LAST_ACTS: Duration = Duration::from_secs(1);
/// With a prompt on the command line, standard input that stays silent for so long is left alone.
const STDIN_PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn run(options: &Options, exec: Exec) -> u8 {
    let format = if exec.json {
        Format::Json
    } else {
        Format::Text
    };
    let mut wishes = options.wishes(true);
    wishes.answers = exec.json_input;
    let talk = Talk {
        format,
        orders: exec.json_input,
    };
    let wanted = match exec.output_schema.as_deref().map(wanted).transpose() {
        Ok(wanted) => wanted,
        Err(error) => return refuse(format, &error),
    };
    // what is piped in is no prompt: an @ in it names nothing
    let files = mentioned(exec.prompt.as_deref().unwrap_or_default());
    let prompt = if exec.json_input {
        exec.prompt.filter(|t| !t.trim().is_empty())
    } else {
        prompt(exec.prompt)
    };
    let task = match (prompt, options.newest || options.resume.is_some()) {
        (Some(text), _) => Task::Prompt(PromptInput {
            text: wanted.as_ref().map_or(text.clone(), |w| w.prompt(&text)),
            files,
        }),
        (None, _) if exec.json_input => Task::Wait,
        (None, true) => Task::Continue,
        (None, false) => {
            let hint = "Write it after `exec`, or pipe it in.";
            return refuse(format, &AppError::usage("There is no prompt.", hint));
        }
    };
    match start(options, wishes, task, talk, wanted) {
        Ok(code) => code,
        Err(error) => refuse(format, &error),
    }
}

/// What the answer must be, by the schema in this file.
fn wanted(file: &Path) -> Result<Wanted, AppError> {
    let text = std::fs::read_to_string(file).map_err(|e| {
        let message = format!("The schema {} cannot be read: {e}.", file.display());
        AppError::usage(
            message,
            "Name a file that holds a JSON Schema with --output-schema.",
        )
    })?;
    let schema = Schema::read(&text).map_err(|sentence| {
        let message = format!("The schema {} can't be used. {sentence}", file.display());
        AppError::usage(message, "docs/exec-json.md says what is understood.")
    })?;
    Ok(Wanted::new(schema))
}

/// Runs a task headless in the current process.
pub(super) fn start(
    options: &Options,
    wishes: Wishes,
    task: Task,
    talk: Talk,
    wanted: Option<Wanted>,
) -> Result<u8, AppError> {
    let ground = app::ground(&wishes)?;
    let begin = options.begin(&ground)?;
    if options.chooses() {
        return Err(AppError::usage(
            "Without a screen, --resume needs a session.",
            "Write its id after -r; `dunlin sessions list` shows them.",
        ));
    }
    super::interactive::log(options.log.as_deref(), &ground.paths)?;
    let runtime = app::runtime()?;
    let (ops, receiver) = unbounded_channel();
    let (outbox, inbox) = link::events();
    let ended = runtime.block_on(async move {
        let agent = tokio::spawn(app::run_agent(ground, wishes, begin, (receiver, outbox)));
        let ended = headless::run(task, talk, (ops, inbox), super::for_terminal, wanted).await;
        // The agent has drained the writer when it says `Closed`; a second Ctrl-C does not wait.
        if !ended.hurried {
            drop(agent.await);
        }
        ended
    });
    if ended.hurried {
        // Commands that still run are killed when their tasks are dropped.
        runtime.shutdown_timeout(LAST_ACTS);
    } else {
        runtime.shutdown_background();
    }
    Ok(ended.code)
}

fn refuse(format: Format, error: &AppError) -> u8 {
    headless::print_fault(format, &error.to_fault(), super::for_terminal);
    error.code
}

/// The prompt with what is piped in; none if there is neither.
fn prompt(argument: Option<String>) -> Option<String> {
    let piped = piped(argument.is_some());
    match (
        argument.filter(|t| !t.trim().is_empty()),
        piped.filter(|t| !t.trim().is_empty()),
    ) {
        (Some(text), Some(more)) => Some(format!("{text}\n\n{more}")),
        (text, more) => text.or(more),
    }
}

fn piped(has_prompt: bool) -> Option<String> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let mut chunk = vec![0; 65_536];
        loop {
            match stdin.read(&mut chunk) {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    all.extend_from_slice(&chunk[..count]);
                    if sender.send(None).is_err() {
                        return;
                    }
                }
            }
        }
        let text = String::from_utf8_lossy(&all).into_owned();
        // The main thread may have given up on a silent pipe.
        drop(sender.send(Some(text)));
    });
    loop {
        let next = if has_prompt {
            receiver.recv_timeout(STDIN_PATIENCE).ok()
        } else {
            receiver.recv().ok()
        };
        match next? {
            Some(text) => return Some(text),
            // Something came: then the rest is waited for, however slow it is.
            None => {
                if let Some(text) = receiver.recv().ok()? {
                    return Some(text);
                }
            }
        }
    }
}

impl Options {
    /// The options as the composition root takes them.
    pub(super) fn wishes(&self, headless: bool) -> Wishes {
        Wishes {
            model: self.model.clone(),
            mode: self.mode,
            agent: self.agent.clone(),
            folder: self.folder.clone(),
            no_sandbox: self.no_sandbox,
            config: self.config.clone(),
            max_steps: self.max_steps,
            headless,
            answers: false,
        }
    }

    /// Which session to begin with.
    pub(super) fn begin(&self, ground: &Ground) -> Result<Begin, AppError> {
        match (&self.resume, self.newest) {
            (Some(text), _) if !self.chooses() => {
                let project = Project::open(&ground.paths.data_dir, &ground.worktree)?;
                super::which::session(ground, &project, text).map(Begin::Open)
            }
            (None, true) => Ok(Begin::Newest),
            _ => Ok(Begin::New),
        }
    }

    /// True for `-r` without a session: the user chooses from the list.
    pub(super) fn chooses(&self) -> bool {
        self.resume.as_ref().is_some_and(|id| id.trim().is_empty())
    }
}
