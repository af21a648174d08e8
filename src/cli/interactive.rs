//! `dunlin`: the screen. The first frame comes before the runtime; the agent starts behind it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;

use super::arguments::{Demo, Options};
use super::fail;
use super::hint_uses::HintUses;
use super::prompt_history::PromptHistory;
use crate::app;
use crate::config::key_file;
use crate::config::paths::Paths;
use crate::config::private;
use crate::error::AppError;
use crate::protocol::link;
use crate::tui::state::hints::Hints;
use crate::tui::update::Known;
use crate::tui::{self, AgentLink, First, Next, Start, TuiError};

/// How long the end waits for the agent's thread: its commands are killed, its files are closed.
const LAST_ACTS: Duration = Duration::from_secs(2);

pub(super) fn run(options: &Options, prompt: Option<String>, scripted: bool) -> u8 {
    match start(options, prompt, scripted) {
        Ok(code) => code,
        Err(error) => fail(&error, error.code),
    }
}

fn start(options: &Options, prompt: Option<String>, scripted: bool) -> Result<u8, AppError> {
    let wishes = options.wishes(false);
    app::may_open_files()?;
    let ground = app::ground(&wishes)?;
    let begin = options.begin(&ground)?;
    let first = match (options.chooses(), options.part) {
        (true, _) => First::Sessions,
        (_, Some(part)) => First::Part(part),
        _ => First::Nothing,
    };
    log(options.log.as_deref(), &ground.paths)?;
    let mut settings = ground.config.ui.clone();
    settings.plain |= options.plain;
    let keys = key_file::read(&ground.paths.config_dir.join("keys.toml"));
    settings.key_places = key_places(&ground);
    settings.key_places.extend(keys.places);
    settings.keys.extend(keys.keys);
    let (working, ended) = std::sync::mpsc::channel::<()>();
    let start = Start {
        settings,
        version: env!("CARGO_PKG_VERSION"),
        worktree_label: app::shown(&ground.worktree, &ground.paths.home),
        initial_prompt: prompt,
        first,
        scripted_notice: scripted,
        themes: Some(ground.paths.config_dir.join("themes")),
        pictures: Some(ground.paths.data_dir.join("pictures")),
        problems: keys.problems,
        stderr_log: Some(ground.paths.data_dir.join("log").join("stderr.log")),
        connect: Box::new(move || {
            let history = PromptHistory::new(&ground.paths.data_dir, &ground.worktree);
            let hints = HintUses::new(&ground.paths.data_dir);
            let known = Known {
                history: history.read(),
                offers: app::offers(&ground),
                hints: Hints::new(hints.read()),
            };
            let (ops, receiver) = unbounded_channel();
            let (outbox, events) = link::events();
            let failed = outbox.clone();
            let spawned = std::thread::Builder::new()
                .name("dunlin-agent".to_owned())
                .spawn(move || match app::runtime() {
                    Ok(runtime) => {
                        // As a task it runs on the workers, beside the streams that wake it: waiting
                        // for it here instead would cost two thread switches per piece of an answer.
                        let link = (receiver, outbox.clone());
                        let agent = runtime.spawn(app::run_agent(ground, wishes, begin, link));
                        if let Err(error) = runtime.block_on(agent) {
                            let text = format!("The agent ended because of a bug: {error}.");
                            let hint =
                                "What was said is kept: `dunlin -c` goes on. Please report this.";
                            report(&outbox, &AppError::new(text, hint));
                        }
                        // Commands that still run are killed when their tasks are dropped.
                        runtime.shutdown_timeout(LAST_ACTS);
                        drop(working);
                    }
                    Err(error) => report(&outbox, &error),
                });
            if let Err(error) = spawned {
                let text = format!("The agent's thread could not be started: {error}.");
                report(
                    &failed,
                    &AppError::new(text, "Close other programs and start again."),
                );
            }
            AgentLink {
                ops,
                events,
                known,
                remember: Some(history.keeper()),
                keep_hints: Some(hints.keeper()),
            }
        }),
    };
    let outcome = tui::run(start);
    // Comes at once when the agent's thread has ended; the program must not end before it.
    let _ = ended.recv_timeout(LAST_ACTS);
    match outcome {
        Ok(ended) => {
            if !ended.farewell.is_empty() {
                super::print(ended.farewell);
            }
            match ended.next {
                Some(Next::Demo) => Ok(super::demo::run(options, &Demo::default())),
                None => Ok(ended.code),
            }
        }
        Err(TuiError::NoTerminal) => Err(AppError::usage(
            "There is no terminal to draw on.",
            "Use `dunlin exec \"…\"` to run a task without one.",
        )),
        Err(error) => Err(AppError::new(error.to_string(), "")),
    }
}

/// Where the user's keys stand, by the name of their action.
fn key_places(ground: &app::Ground) -> BTreeMap<String, String> {
    let keys = ground.sources.iter().filter_map(|setting| {
        let action = setting.key.strip_prefix("ui.keys.")?;
        Some((action.to_owned(), setting.source.clone()))
    });
    keys.collect()
}

fn report(outbox: &link::Outbox, error: &AppError) {
    outbox.send([
        crate::protocol::Event::Error {
            error: error.to_fault(),
        },
        crate::protocol::Event::Closed,
    ]);
}

/// Logs to a file: the one that was asked for, or a rotating one if `DUNLIN_LOG` names a level.
pub(super) fn log(file: Option<&Path>, paths: &Paths) -> Result<(), AppError> {
    static GUARD: OnceLock<tracing_appender::non_blocking::WorkerGuard> = OnceLock::new();
    let level = std::env::var("DUNLIN_LOG").ok();
    if let Some(file) = file {
        let mut options = std::fs::OpenOptions::new();
        if let Err(error) = options.append(true).create(true).open(file) {
            return Err(AppError::usage(
                format!("The log {} cannot be written: {error}.", file.display()),
                "Name a file in a folder that you can write.",
            ));
        }
    }
    let appender = match (file, &level) {
        (Some(file), _) => {
            let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
            let name = file.file_name().unwrap_or_default();
            tracing_appender::rolling::never(folder.unwrap_or(Path::new(".")), name)
        }
        (None, Some(_)) => {
            // what the appender makes is as open as the umask says
            let _told_by_the_appender = private::make_folder(&paths.data_dir.join("log"));
            private::close_folder(&paths.data_dir.join("log"));
            tracing_appender::rolling::daily(paths.data_dir.join("log"), "dunlin.log")
        }
        (None, None) => return Ok(()),
    };
    let (writer, guard) = tracing_appender::non_blocking(appender);
    if GUARD.set(guard).is_err() {
        return Ok(());
    }
    let filter = tracing_subscriber::EnvFilter::new(level.as_deref().unwrap_or("dunlin=info"));
    let made = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(false)
        .try_init();
    drop(made);
    Ok(())
}
