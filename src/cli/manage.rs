//! Subcommands that look at or change what is stored: models, keys, sessions, configuration.

mod doctor;
mod keys;
mod models;
mod replay;
mod sessions;

use clap::CommandFactory;

use super::arguments::{Arguments, Command, Options, Permissions, Sessions};
use super::{fail, print};
use crate::app::{self, Ground};
use crate::config::explain::{explain, explain_json};
use crate::config::{load, schema, trust};
use crate::error::AppError;
use crate::headless::exit;

type Outcome = Result<u8, AppError>;

pub(super) fn run(options: &Options, command: Command) -> u8 {
    let done = match command {
        Command::Models(wanted) => models::run(options, &wanted),
        Command::Auth { what } => keys::run(options, what),
        Command::Sessions { what } => {
            let (json, all) = (false, false);
            sessions::run(options, what.unwrap_or(Sessions::List { json, all }))
        }
        Command::Search(wanted) => sessions::search(options, &wanted),
        Command::Replay { session, json } => replay::run(options, &session, json),
        Command::Inspect { session, json } => sessions::inspect(options, &session, json),
        Command::Permissions { what } => permissions(options, what),
        Command::Config { schema: true, .. } => print_schema(),
        Command::Config { json, changed, .. } => configuration(options, json, changed),
        Command::Trust { revoke } => trust_folder(options, revoke),
        Command::Gc { dry_run } => sessions::gc(options, dry_run),
        Command::Doctor => doctor::run(options),
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "dunlin", &mut script);
            print(String::from_utf8_lossy(&script).trim_end());
            Ok(exit::DONE)
        }
        // `cli::run` has handled these.
        Command::Exec(_) | Command::Demo(_) | Command::Debug { .. } => Ok(exit::USAGE),
    };
    done.unwrap_or_else(|error| fail(&error, error.code))
}

pub(super) fn ground(options: &Options) -> Result<Ground, AppError> {
    app::ground(&options.wishes(false))
}

fn permissions(options: &Options, what: Permissions) -> Outcome {
    let ground = ground(options)?;
    match what {
        Permissions::Check { rules, command } => {
            let rules = match rules {
                Some(file) => Some(std::fs::read_to_string(&file).map_err(|e| {
                    let message = format!("{} cannot be read: {e}.", file.display());
                    AppError::usage(message, "Name a TOML file with --rules.")
                })?),
                None => None,
            };
            let line = crate::permission::command_line(&command);
            let place = crate::permission::Place {
                worktree: ground.worktree.clone(),
                temp: vec![std::env::temp_dir()],
                home: ground.paths.home.clone(),
                ..crate::permission::Place::default()
            };
            let mode = ground.config.mode;
            let checked = crate::permission::check(rules.as_deref(), &line, place, mode)
                .map_err(|sentence| AppError::usage(sentence, ""))?;
            print(checked.word);
            for line in checked.lines {
                print(format_args!("  {line}"));
            }
        }
        Permissions::List => {
            for layer in &ground.config.permission {
                for rule in &layer.rules {
                    print(format_args!(
                        "{:<8} {:<8} {:?} {}",
                        layer.owner, rule.tool, rule.action, rule.pattern
                    ));
                }
            }
        }
    }
    Ok(exit::DONE)
}

fn print_schema() -> Outcome {
    let schema = serde_json::to_value(schema::schema())
        .map_err(|e| AppError::new(format!("The schema cannot be written: {e}."), ""))?;
    print(format_args!("{schema:#}"));
    Ok(exit::DONE)
}

fn configuration(options: &Options, json: bool, changed: bool) -> Outcome {
    let ground = ground(options)?;
    let loaded = load::Loaded {
        config: ground.config,
        sources: ground.sources,
        warnings: ground.warnings,
    };
    if json {
        print(format_args!("{:#}", explain_json(&loaded)));
    } else {
        print(explain(&loaded, changed));
    }
    Ok(exit::DONE)
}

fn trust_folder(options: &Options, revoke: bool) -> Outcome {
    let ground = ground(options)?;
    let failed = |e: std::io::Error| {
        let message = format!("The list of trusted folders cannot be written: {e}.");
        AppError::new(message, "Check the permissions of dunlin's data folder.")
    };
    let folder = ground.worktree.display();
    if revoke {
        let was = trust::revoke(&ground.paths.data_dir, &ground.worktree).map_err(failed)?;
        let word = if was {
            "no longer trusted"
        } else {
            "not trusted anyway"
        };
        print(format_args!("{folder} is {word}."));
    } else {
        let now = jiff::Timestamp::now().as_millisecond();
        trust::trust(&ground.paths.data_dir, &ground.worktree, now).map_err(failed)?;
        print(format_args!(
            "{folder} is trusted: its own .dunlin/ folder counts."
        ));
    }
    Ok(exit::DONE)
}
