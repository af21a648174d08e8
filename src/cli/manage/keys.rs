//! `dunlin auth`: stores, forgets and lists the keys of providers. A key is never printed.

use std::io::{IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use secrecy::SecretString;

use super::{Outcome, ground};
use crate::app;
use crate::cli::arguments::{Auth, KeyStore, Options};
use crate::cli::print;
use crate::error::AppError;
use crate::headless::exit;
use crate::model::auth::{self, Place};

pub(super) fn run(options: &Options, what: Auth) -> Outcome {
    let ground = ground(options)?;
    let dir = &ground.paths.config_dir;
    match what {
        Auth::Login { provider, store } => {
            let registry = app::registry(&ground);
            if let Some(known) = registry.instead_of(&provider) {
                print(format_args!(
                    "There is no provider `{provider}` yet; did you mean `{known}`?"
                ));
            }
            let key = SecretString::from(read_key(&provider)?.trim().to_owned());
            let place = store.map(|store| match store {
                KeyStore::Keyring => Place::Keyring,
                KeyStore::File => Place::File,
            });
            let place = match auth::login(dir, &provider, &key, place)? {
                Place::File => auth::file(dir).display().to_string(),
                Place::Keyring => "the keyring".to_owned(),
            };
            print(format_args!("The key for {provider} is stored in {place}."));
        }
        Auth::Logout { provider } => {
            if auth::logout(dir, &provider)? {
                print(format_args!("The key for {provider} is forgotten."));
            } else {
                print(format_args!("No key is stored for {provider}."));
            }
        }
        Auth::List => list(&app::registry(&ground).keys(), auth::list(dir)?),
    }
    Ok(exit::DONE)
}

/// The keys that count, and those stored ones that do not.
fn list(counting: &[crate::model::provider::KeyFound], stored: Vec<auth::Stored>) {
    let mut none = true;
    for key in counting
        .iter()
        .filter(|key| !key.from.starts_with("stored"))
    {
        none = false;
        print(format_args!(
            "{:<16} {:<12} environment, {}",
            key.provider, key.masked, key.from
        ));
    }
    for key in stored {
        none = false;
        let (masked, why) = match key.masked {
            Ok(masked) => (masked, String::new()),
            Err(why) => ("?".to_owned(), format!(", cannot be read: {why}")),
        };
        let by = counting
            .iter()
            .find(|found| found.provider == key.provider && !found.from.starts_with("stored"));
        let shadowed = by.map_or_else(String::new, |by| format!(", not used: {} wins", by.from));
        print(format_args!(
            "{:<16} {masked:<12} {}{why}{shadowed}",
            key.provider,
            key.place.name()
        ));
    }
    if none {
        print(
            "There are no keys. Store one with `dunlin auth login PROVIDER`, or set its variable.",
        );
    }
}

/// One line from the terminal, not shown while it is typed; or all of a pipe.
fn read_key(provider: &str) -> Result<String, AppError> {
    let stdin = std::io::stdin();
    let failed =
        |e: std::io::Error| AppError::new(format!("Standard input cannot be read: {e}."), "");
    let mut key = String::new();
    if !stdin.is_terminal() {
        stdin
            .take(65_536)
            .read_to_string(&mut key)
            .map_err(failed)?;
        return Ok(key);
    }
    let mut stderr = std::io::stderr();
    drop(write!(stderr, "Key for {provider} (not shown): ").and_then(|()| stderr.flush()));
    let hidden = Hidden::new();
    let read = stdin.read_line(&mut key);
    drop(hidden);
    drop(writeln!(stderr));
    read.map_err(failed)?;
    Ok(key)
}

/// While it lives, the terminal does not show what is typed.
struct Hidden(Option<rustix::termios::Termios>);

impl Hidden {
    fn new() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut quiet) = before.clone() {
            quiet.local_modes.remove(LocalModes::ECHO);
            if tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet).is_err() {
                return Self(None);
            }
        }
        Self(before)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // a terminal that is gone needs no repair
            tcsetattr(std::io::stdin(), OptionalActions::Now, before).ok();
        }
    }
}
