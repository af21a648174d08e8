//! The table of settings: every key with its kind, its place in `Config` and what it means.
//!
//! One row feeds reading files, `--config`, the environment, `dunlin config`, the JSON schema and
//! docs/config.md. A `*` in a key stands for a name that the user chooses. `load` walks it. The rows are in
//! `agent`, `work`, `screen` and `outside`, in the order of the documentation.

mod agent;
mod find;
mod outside;
mod screen;
mod work;

use super::kind::Kind;
pub use find::{Found, find, siblings};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted, `*` for a name of the user's.
    pub path: &'static str,
    /// Kind and place.
    pub kind: Kind,
    /// What it means, one sentence without the default.
    pub about: &'static str,
}

const fn key(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { path, kind, about }
}

/// No upper limit.
const MAX: u32 = u32::MAX;

const GROUPS: [&[Key]; 4] = [agent::KEYS, work::KEYS, screen::KEYS, outside::KEYS];
const COUNT: usize =
    agent::KEYS.len() + work::KEYS.len() + screen::KEYS.len() + outside::KEYS.len();

/// Every setting, in the order of the documentation.
pub const KEYS: &[Key] = &joined();

/// The groups one after the other.
const fn joined() -> [Key; COUNT] {
    let mut all = [agent::KEYS[0]; COUNT];
    let (mut group, mut at, mut count) = (0, 0, 0);
    while group < GROUPS.len() {
        all[count] = GROUPS[group][at];
        (count, at) = (count + 1, at + 1);
        if at == GROUPS[group].len() {
            (group, at) = (group + 1, 0);
        }
    }
    all
}
