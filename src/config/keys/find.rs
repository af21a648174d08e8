//! Looks paths up in the table of settings, `*` standing for a name of the user's.

use super::{KEYS, Key};

/// What the table says about a path.
#[derive(Debug)]
pub enum Found {
    /// It is this setting; the names stand for its `*`s.
    Key(&'static Key, Vec<String>),
    /// It is a section that holds settings.
    Section,
    /// It is nothing.
    Unknown,
}

/// Looks a path up.
pub fn find(path: &[String]) -> Found {
    let mut section = false;
    for key in KEYS {
        let mut names = Vec::new();
        let mut parts = key.path.split('.');
        let mut rest = path.iter();
        let fits = loop {
            match (rest.next(), parts.next()) {
                (None, None) => return Found::Key(key, names),
                (None, Some(_)) => break true,
                (Some(name), Some("*")) => names.push(name.clone()),
                (Some(name), Some(part)) if name == part => {}
                _ => break false,
            }
        };
        section |= fits;
    }
    if section {
        Found::Section
    } else {
        Found::Unknown
    }
}

/// The names that may stand at the end of this path, for *did you mean*.
pub fn siblings(parent: &[String]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = KEYS
        .iter()
        .filter_map(|key| {
            let parts: Vec<&str> = key.path.split('.').collect();
            let fits = parts.len() > parent.len()
                && parts
                    .iter()
                    .zip(parent)
                    .all(|(part, name)| *part == "*" || part == name);
            key.path
                .split('.')
                .nth(parent.len())
                .filter(|part| fits && *part != "*")
        })
        .collect();
    names.dedup();
    names
}
