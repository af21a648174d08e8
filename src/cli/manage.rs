//! Subcommands that look at or change what is stored: models, keys, sessions, configuration.

mod doctor;
mod keys;
mod manual;
mod models;
mod replay;
mod search;
mod sessions;

use std::path::Path;

use super::arguments::{Command, Options, Permissions, Sessions};
use super::{fail, print};
use crate::app::{self, Confinement, Ground};
use crate::config::explain::{explain, explain_json};
use crate::config::grants::Grants;
use crate::config::{load, paths, schema, skills, trust};
use crate::error::AppError;
use crate::headless::exit;
use crate::permission::{self, Checked, Place, Sight};

type Outcome = Result<u8, AppError>;

pub(super) fn run(options: &Options, command: Command) -> u8 {
    let done = match command {
        Command::Models(wanted) => models::run(options, &wanted),
        Command::Auth { what } => keys::run(options, what),
        Command::Sessions { what } => {
            let (json, all) = (false, false);
            sessions::run(options, what.unwrap_or(Sessions::List { json, all }))
        }
        Command::Search(wanted) => search::search(options, wanted),
        Command::Replay { session, json } => replay::run(options, &session, json),
        Command::Inspect { session, json } => sessions::inspect(options, &session, json),
        Command::Permissions { what } => permissions(options, what),
        Command::Config {
            schema: wanted,
            json,
            changed,
        } => configuration(options, wanted, (json, changed)),
        Command::Trust { revoke } => trust_folder(options, revoke),
        Command::Gc { dry_run } => sessions::gc(options, dry_run),
        Command::Doctor => doctor::run(options),
        Command::Completions { shell } => Ok(manual::completions(shell)),
        Command::Man { dir } => manual::pages(dir.as_deref()),
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
            let checked = check(&ground, rules.as_deref(), &command)?;
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

/// Judges as a session in this folder would: with a rules file by it alone, else by the configuration
/// and what was granted.
fn check(ground: &Ground, rules: Option<&Path>, command: &[String]) -> Result<Checked, AppError> {
    let config = &ground.config;
    let mut layers = Vec::new();
    if let Some(file) = rules {
        let text = std::fs::read_to_string(file).map_err(|e| {
            let message = format!("{} cannot be read: {e}.", file.display());
            AppError::usage(message, "Name a TOML file with --rules.")
        })?;
        let layer = permission::layer(&text).map_err(|sentence| AppError::usage(sentence, ""))?;
        layers.push(layer);
    } else {
        layers.extend(config.permission.iter().cloned());
        let grants = Grants::new(&ground.worktree, &ground.paths.data_dir);
        layers.extend(grants.layer(ground.trusted));
    }
    let real = |path: &Path| paths::resolve(path);
    let place = Place {
        worktree: real(&ground.worktree),
        temp: vec![real(&std::env::temp_dir())],
        readable: skills::folders(&ground.paths.config_dir, &ground.worktree, ground.trusted),
        writable: config.sandbox.writable.clone(),
        home: real(&ground.paths.home),
        sandboxed: Confinement::choose(&config.sandbox, &ground.worktree, &ground.paths).is_on(),
        sight: Some(Sight::of_disk()),
    };
    let line = permission::command_line(command);
    Ok(permission::check(
        layers,
        &line,
        place,
        &real(&ground.folder),
        config.mode,
    ))
}

fn configuration(options: &Options, wanted_schema: bool, (json, changed): (bool, bool)) -> Outcome {
    if wanted_schema {
        let schema = serde_json::to_value(schema::schema())
            .map_err(|e| AppError::new(format!("The schema cannot be written: {e}."), ""))?;
        print(format_args!("{schema:#}"));
        return Ok(exit::DONE);
    }
    let ground = ground(options)?;
    let loaded = load::Loaded {
        config: ground.config,
        sources: ground.sources,
        warnings: ground.warnings,
    };
    if json {
        print(format_args!("{:#}", explain_json(&loaded, changed)));
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
