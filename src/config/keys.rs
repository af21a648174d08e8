//! The table of settings: every key with its kind, its place in `Config` and what it means.
//!
//! One row feeds reading files, `--config`, the environment, `dunlin config`, the JSON schema and
//! docs/config.md. A `*` in a key stands for a name that the user chooses. `load` walks it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::TypedValue;
use super::used::{Config, ModelSettings, ProviderSettings};
use super::value::{self, Expected};
use crate::protocol::{Effort, Mode, ModelRef};

/// The place of a value in the configuration, given the names that stand for the `*`s of its key.
pub type Slot<T> = for<'a> fn(&'a mut Config, &[String]) -> &'a mut T;

/// A kind of value, with its place.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "each is named after the type of its slot")]
pub enum Kind {
    Bool(Slot<bool>),
    OptBool(Slot<Option<bool>>),
    /// With the least and the most allowed.
    U32(Slot<u32>, u32, u32),
    OptU32(Slot<Option<u32>>),
    U64(Slot<u64>),
    OptU64(Slot<Option<u64>>),
    /// With the least allowed.
    Usize(Slot<usize>, usize),
    OptAmount(Slot<Option<f64>>),
    Share(Slot<f64>),
    Text(Slot<String>),
    OptText(Slot<Option<String>>),
    /// One of these names.
    Choice(Slot<String>, &'static [&'static str]),
    OptChoice(Slot<Option<String>>, &'static [&'static str]),
    Words(Slot<Vec<String>>),
    Paths(Slot<Vec<PathBuf>>),
    Duration(Slot<Duration>),
    OptDuration(Slot<Option<Duration>>),
    Size(Slot<u64>),
    Mode(Slot<Mode>),
    OptEffort(Slot<Option<Effort>>),
    OptModel(Slot<Option<ModelRef>>),
    Models(Slot<Vec<ModelRef>>),
    /// A table of the user's own names; values are never shown, they may be secrets.
    TextMap(Slot<BTreeMap<String, String>>),
    BoolMap(Slot<BTreeMap<String, bool>>),
    WordsMap(Slot<BTreeMap<String, Vec<String>>>),
    /// Permission rules; `rules` reads them, one layer per owner.
    Rules,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

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

fn provider<'a>(c: &'a mut Config, names: &[String]) -> &'a mut ProviderSettings {
    let name = names.first().cloned().unwrap_or_default();
    c.providers.entry(name).or_default()
}

fn model<'a>(c: &'a mut Config, names: &[String]) -> &'a mut ModelSettings {
    let name = names.get(1).cloned().unwrap_or_default();
    provider(c, names).models.entry(name).or_default()
}

const WIRES: &[&str] = &["anthropic", "openai-chat", "openai-responses", "gemini"];
const STRATEGIES: &[&str] = &[
    "reactive-overflow",
    "proactive-threshold",
    "middle-removal",
    "manual",
];
const MAX: u32 = u32::MAX;

/// Every setting, in the order of the documentation.
pub const KEYS: &[Key] = &[
    key(
        "model",
        Kind::OptModel(|c, _| &mut c.model),
        "Model of new sessions, provider/model; without it one is chosen from the keys that are set.",
    ),
    key(
        "small_model",
        Kind::OptModel(|c, _| &mut c.small_model),
        "Model for titles and summaries; without it the session's.",
    ),
    key(
        "fallback_models",
        Kind::Models(|c, _| &mut c.fallback_models),
        "Models to go on with when the chosen one stays overloaded, in order.",
    ),
    key(
        "effort",
        Kind::OptEffort(|c, _| &mut c.effort),
        "Reasoning effort; without it the model's default.",
    ),
    key(
        "mode",
        Kind::Mode(|c, _| &mut c.mode),
        "Permission mode of new sessions.",
    ),
    key(
        "agent",
        Kind::Text(|c, _| &mut c.agent),
        "Agent of new sessions.",
    ),
    key(
        "loop.retries",
        Kind::U32(|c, _| &mut c.turn.retries, 0, 100),
        "Retries of a failed request; rate limits and overload have no limit.",
    ),
    key(
        "loop.idle_timeout",
        Kind::Duration(|c, _| &mut c.turn.idle_timeout),
        "A stream that is silent for so long has timed out.",
    ),
    key(
        "loop.write_delay",
        Kind::Duration(|c, _| &mut c.turn.write_delay),
        "Streaming text is written at most so long after it arrived.",
    ),
    key(
        "loop.parallel_tools",
        Kind::Usize(|c, _| &mut c.turn.parallel_tools, 1),
        "Tools that run at once.",
    ),
    key(
        "loop.loop_repeats",
        Kind::U32(|c, _| &mut c.turn.loop_repeats, 2, MAX),
        "Identical calls in a row that make a loop.",
    ),
    key(
        "loop.loop_repeats_polling",
        Kind::U32(|c, _| &mut c.turn.loop_repeats_polling, 2, MAX),
        "The same for calls whose results differ, as when polling.",
    ),
    key(
        "loop.loop_always_limit",
        Kind::U32(|c, _| &mut c.turn.loop_always_limit, 1, MAX),
        "Calls that the answer *Always allow* lets through.",
    ),
    key(
        "loop.max_steps",
        Kind::OptU32(|c, _| &mut c.turn.max_steps),
        "Steps of one turn; none for no limit (headless: 200).",
    ),
    key(
        "loop.subagent_depth",
        Kind::U32(|c, _| &mut c.turn.subagent_depth, 0, 8),
        "Nesting of subagents.",
    ),
    key(
        "budget.usd",
        Kind::OptAmount(|c, _| &mut c.budget.usd),
        "US dollars per session, subagents included.",
    ),
    key(
        "budget.tokens",
        Kind::OptU64(|c, _| &mut c.budget.tokens),
        "Tokens per session, input and output.",
    ),
    key(
        "budget.steps",
        Kind::OptU32(|c, _| &mut c.budget.steps),
        "Steps per session.",
    ),
    key(
        "budget.time",
        Kind::OptDuration(|c, _| &mut c.budget.time),
        "Time that turns of a session may run.",
    ),
    key(
        "context.strategy",
        Kind::Choice(|c, _| &mut c.context.strategy, STRATEGIES),
        "How a conversation that outgrows its window is compacted.",
    ),
    key(
        "context.output_reserve",
        Kind::U64(|c, _| &mut c.context.output_reserve),
        "Tokens kept free for the answer, at most.",
    ),
    key(
        "context.prune_protect",
        Kind::U64(|c, _| &mut c.context.prune_protect),
        "Newest tool output that pruning leaves alone, in estimated tokens.",
    ),
    key(
        "context.prune_minimum",
        Kind::U64(|c, _| &mut c.context.prune_minimum),
        "Pruning that would free less than so many tokens is not done.",
    ),
    key(
        "context.prune_keep_tools",
        Kind::Words(|c, _| &mut c.context.prune_keep_tools),
        "Tools whose results are never pruned.",
    ),
    key(
        "context.keep_turns",
        Kind::U32(|c, _| &mut c.context.keep_turns, 0, MAX),
        "Turns that a compaction keeps verbatim.",
    ),
    key(
        "context.threshold",
        Kind::Share(|c, _| &mut c.context.threshold),
        "`proactive-threshold` starts at this share of the window.",
    ),
    key(
        "context.threshold_keep",
        Kind::Share(|c, _| &mut c.context.threshold_keep),
        "`proactive-threshold` keeps this share of the window, the newest.",
    ),
    key(
        "context.removal_at",
        Kind::Share(|c, _| &mut c.context.removal_at),
        "`middle-removal` starts at this share of the window.",
    ),
    key(
        "context.prune",
        Kind::Bool(|c, _| &mut c.context.prune),
        "False switches pruning off.",
    ),
    key(
        "context.compact",
        Kind::Bool(|c, _| &mut c.context.compact),
        "False switches compaction off.",
    ),
    key(
        "output.lines",
        Kind::Usize(|c, _| &mut c.output.lines, 1),
        "Lines of one tool output.",
    ),
    key(
        "output.bytes",
        Kind::Usize(|c, _| &mut c.output.bytes, 256),
        "Bytes of one tool output.",
    ),
    key(
        "output.bash_chars",
        Kind::Usize(|c, _| &mut c.output.bash_chars, 256),
        "Characters of one `bash` output.",
    ),
    key(
        "output.read_lines",
        Kind::Usize(|c, _| &mut c.output.read_lines, 1),
        "Lines of one `read`.",
    ),
    key(
        "output.read_line_chars",
        Kind::Usize(|c, _| &mut c.output.read_line_chars, 16),
        "Characters per line of `read`.",
    ),
    key(
        "output.grep_matches",
        Kind::Usize(|c, _| &mut c.output.grep_matches, 1),
        "Matches of one `grep`.",
    ),
    key(
        "output.glob_paths",
        Kind::Usize(|c, _| &mut c.output.glob_paths, 1),
        "Paths of one `glob`.",
    ),
    key(
        "output.other_chars",
        Kind::Usize(|c, _| &mut c.output.other_chars, 256),
        "Characters of any other output.",
    ),
    key(
        "output.keep_days",
        Kind::U32(|c, _| &mut c.output.keep_days, 0, 36_500),
        "Days that full outputs are kept.",
    ),
    key(
        "bash.timeout",
        Kind::Duration(|c, _| &mut c.bash.timeout),
        "Time-out of a command that asks for none.",
    ),
    key(
        "bash.max_timeout",
        Kind::Duration(|c, _| &mut c.bash.max_timeout),
        "Longest time-out a command may ask for.",
    ),
    key(
        "bash.env",
        Kind::TextMap(|c, _| &mut c.bash.env),
        "Extra variables in the environment of commands.",
    ),
    key(
        "snapshot.enabled",
        Kind::Bool(|c, _| &mut c.snapshot.enabled),
        "False turns snapshots, diffs and undo off.",
    ),
    key(
        "snapshot.max_file",
        Kind::Size(|c, _| &mut c.snapshot.max_file),
        "Untracked files above this size stay out of snapshots.",
    ),
    key(
        "snapshot.max_bytes",
        Kind::Size(|c, _| &mut c.snapshot.max_bytes),
        "New data of one snapshot.",
    ),
    key(
        "snapshot.max_files",
        Kind::Usize(|c, _| &mut c.snapshot.max_files, 1),
        "Files of a first walk outside git.",
    ),
    key(
        "snapshot.max_walk",
        Kind::Duration(|c, _| &mut c.snapshot.max_walk),
        "Time of a first walk outside git.",
    ),
    key(
        "snapshot.quota",
        Kind::Size(|c, _| &mut c.snapshot.quota),
        "Disk space of one project's snapshots.",
    ),
    key(
        "snapshot.keep_days",
        Kind::U32(|c, _| &mut c.snapshot.keep_days, 0, 36_500),
        "Days that snapshots are kept.",
    ),
    key(
        "snapshot.watch",
        Kind::Bool(|c, _| &mut c.snapshot.watch),
        "False does without watching the file system.",
    ),
    key(
        "store.archive_days",
        Kind::U32(|c, _| &mut c.store.archive_days, 0, 36_500),
        "Days after which an untouched session is archived.",
    ),
    key(
        "ui.theme",
        Kind::Text(|c, _| &mut c.ui.theme),
        "Name of the theme; auto takes dark or light by the terminal's background.",
    ),
    key(
        "ui.mouse",
        Kind::Bool(|c, _| &mut c.ui.mouse),
        "False gives the terminal its own selection back.",
    ),
    key(
        "ui.copy_on_select",
        Kind::Bool(|c, _| &mut c.ui.copy_on_select),
        "Copy a selection as soon as it is made.",
    ),
    key(
        "ui.reduced_motion",
        Kind::Bool(|c, _| &mut c.ui.reduced_motion),
        "No spinner, no motion.",
    ),
    key(
        "ui.vim",
        Kind::Bool(|c, _| &mut c.ui.vim),
        "Vim keys in the composer.",
    ),
    key(
        "ui.plain",
        Kind::Bool(|c, _| &mut c.ui.plain),
        "Append-only output in place of the full screen.",
    ),
    key(
        "ui.notify",
        Kind::Bool(|c, _| &mut c.ui.notify),
        "Notify when the terminal is not in front.",
    ),
    key(
        "ui.keys",
        Kind::WordsMap(|c, _| &mut c.ui.keys),
        "Keys: the name of an action and the keys that do it, over the defaults.",
    ),
    key(
        "sandbox.enabled",
        Kind::Bool(|c, _| &mut c.sandbox.enabled),
        "False runs commands without the sandbox.",
    ),
    key(
        "sandbox.network",
        Kind::Bool(|c, _| &mut c.sandbox.network),
        "True lets sandboxed commands use the network.",
    ),
    key(
        "sandbox.writable",
        Kind::Paths(|c, _| &mut c.sandbox.writable),
        "Folders besides the worktree and the temporary folder that commands may write.",
    ),
    key(
        "permission",
        Kind::Rules,
        "Permission rules: a tool with one word, or a tool with a table of patterns and words (docs/permissions.md).",
    ),
    key(
        "provider.*.wire",
        Kind::OptChoice(|c, n| &mut provider(c, n).wire, WIRES),
        "Wire format of the provider; a built-in provider has its own.",
    ),
    key(
        "provider.*.base_url",
        Kind::OptText(|c, n| &mut provider(c, n).base_url),
        "Origin of the API; `/v1/…` is appended, and `…/v1` is accepted too.",
    ),
    key(
        "provider.*.key_env",
        Kind::OptText(|c, n| &mut provider(c, n).key_env),
        "Environment variable that holds the key.",
    ),
    key(
        "provider.*.headers",
        Kind::TextMap(|c, n| &mut provider(c, n).headers),
        "Headers to send with every request.",
    ),
    key(
        "provider.*.quirks",
        Kind::BoolMap(|c, n| &mut provider(c, n).quirks),
        "Wire quirks to switch on or off, by name.",
    ),
    key(
        "provider.*.model.*.context",
        Kind::OptU64(|c, n| &mut model(c, n).context),
        "Window of the model in tokens.",
    ),
    key(
        "provider.*.model.*.max_input",
        Kind::OptU64(|c, n| &mut model(c, n).max_input),
        "Largest prompt in tokens.",
    ),
    key(
        "provider.*.model.*.max_output",
        Kind::OptU64(|c, n| &mut model(c, n).max_output),
        "Most output tokens.",
    ),
    key(
        "provider.*.model.*.tools",
        Kind::OptBool(|c, n| &mut model(c, n).tools),
        "The model can call tools.",
    ),
    key(
        "provider.*.model.*.reasoning",
        Kind::OptBool(|c, n| &mut model(c, n).reasoning),
        "The model can reason.",
    ),
    key(
        "provider.*.model.*.images",
        Kind::OptBool(|c, n| &mut model(c, n).images),
        "The model takes images.",
    ),
    key(
        "provider.*.model.*.input_price",
        Kind::OptAmount(|c, n| &mut model(c, n).input_price),
        "Price of input, USD per million tokens.",
    ),
    key(
        "provider.*.model.*.output_price",
        Kind::OptAmount(|c, n| &mut model(c, n).output_price),
        "Price of output, USD per million tokens.",
    ),
    key(
        "provider.*.model.*.cache_read_price",
        Kind::OptAmount(|c, n| &mut model(c, n).cache_read_price),
        "Price of input read from the cache, USD per million tokens.",
    ),
    key(
        "provider.*.model.*.cache_write_price",
        Kind::OptAmount(|c, n| &mut model(c, n).cache_write_price),
        "Price of input written to the cache, USD per million tokens.",
    ),
];

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

impl Kind {
    /// The kind in a few words, for the documentation.
    pub const fn describe(&self) -> &'static str {
        match self {
            Self::Bool(_) | Self::OptBool(_) => "true or false",
            Self::U32(..) | Self::OptU32(_) | Self::U64(_) | Self::OptU64(_) | Self::Usize(..) => {
                "whole number"
            }
            Self::OptAmount(_) => "number",
            Self::Share(_) => "share, 0 to 1",
            Self::Text(_) | Self::OptText(_) => "string",
            Self::Choice(..) | Self::OptChoice(..) | Self::Mode(_) | Self::OptEffort(_) => "name",
            Self::Words(_) => "list of strings",
            Self::Paths(_) => "list of folders",
            Self::Duration(_) | Self::OptDuration(_) => "duration",
            Self::Size(_) => "size",
            Self::OptModel(_) => "provider/model",
            Self::Models(_) => "list of provider/model",
            Self::TextMap(_) => "table of strings",
            Self::BoolMap(_) => "table of true or false",
            Self::WordsMap(_) => "table of lists",
            Self::Rules => "rules",
        }
    }

    /// The names it accepts, if it accepts only names.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Choice(_, names) | Self::OptChoice(_, names) => names.to_vec(),
            Self::Mode(_) => Mode::ALL.iter().map(|m| m.name()).collect(),
            Self::OptEffort(_) => Effort::ALL.iter().map(|(_, name)| *name).collect(),
            _ => Vec::new(),
        }
    }

    /// True for kinds whose value is a piece of text: `--config` takes it as typed, without quotes.
    pub const fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::OptText(_)
                | Self::Choice(..)
                | Self::OptChoice(..)
                | Self::Mode(_)
                | Self::OptEffort(_)
                | Self::OptModel(_)
        )
    }

    /// Puts a typed value into its place. `none` empties what may be empty; maps are merged.
    pub fn set(
        &self,
        config: &mut Config,
        names: &[String],
        typed: &TypedValue,
        home: &Path,
    ) -> Result<(), Expected> {
        match self {
            Self::Bool(at) => *at(config, names) = value::truth(typed)?,
            Self::OptBool(at) => *at(config, names) = unless_none(typed, value::truth)?,
            Self::U32(at, least, most) => *at(config, names) = whole32(typed, *least, *most)?,
            Self::OptU32(at) => *at(config, names) = unless_none(typed, |v| whole32(v, 0, MAX))?,
            Self::U64(at) => *at(config, names) = whole64(typed)?,
            Self::OptU64(at) => *at(config, names) = unless_none(typed, whole64)?,
            Self::Usize(at, least) => {
                *at(config, names) =
                    value::whole(typed, *least as u64, u64::from(MAX)).map(|n| n as usize)?;
            }
            Self::OptAmount(at) => *at(config, names) = unless_none(typed, value::amount)?,
            Self::Share(at) => *at(config, names) = value::share(typed)?,
            Self::Text(at) => *at(config, names) = value::text(typed)?,
            Self::OptText(at) => *at(config, names) = unless_none(typed, value::text)?,
            Self::Choice(at, known) => *at(config, names) = value::choice(typed, known)?,
            Self::OptChoice(at, known) => *at(config, names) = Some(value::choice(typed, known)?),
            Self::Words(at) => *at(config, names) = value::words(typed)?,
            Self::Paths(at) => *at(config, names) = value::paths(typed, home)?,
            Self::Duration(at) => *at(config, names) = value::duration(typed)?,
            Self::OptDuration(at) => *at(config, names) = unless_none(typed, value::duration)?,
            Self::Size(at) => *at(config, names) = value::size(typed)?,
            Self::Mode(at) => *at(config, names) = mode(typed)?,
            // `none` is an effort of its own
            Self::OptEffort(at) => *at(config, names) = Some(value::effort(typed)?),
            Self::OptModel(at) => *at(config, names) = unless_none(typed, value::model)?,
            Self::Models(at) => *at(config, names) = models(typed)?,
            Self::TextMap(at) => merge(at(config, names), typed, value::text)?,
            Self::BoolMap(at) => merge(at(config, names), typed, value::truth)?,
            Self::WordsMap(at) => merge(at(config, names), typed, value::words)?,
            Self::Rules => return Err("rules".to_owned()),
        }
        Ok(())
    }

    /// The value as it could be typed; none where there is nothing to show.
    pub fn show(&self, config: &mut Config, names: &[String]) -> Option<String> {
        Some(match self {
            Self::Bool(at) => at(config, names).to_string(),
            Self::OptBool(at) => at(config, names).as_ref()?.to_string(),
            Self::U32(at, ..) => at(config, names).to_string(),
            Self::OptU32(at) => at(config, names).as_ref()?.to_string(),
            Self::U64(at) => at(config, names).to_string(),
            Self::OptU64(at) => at(config, names).as_ref()?.to_string(),
            Self::Usize(at, _) => at(config, names).to_string(),
            Self::OptAmount(at) => at(config, names).as_ref()?.to_string(),
            Self::Share(at) => at(config, names).to_string(),
            Self::Text(at) | Self::Choice(at, _) => at(config, names).clone(),
            Self::OptText(at) | Self::OptChoice(at, _) => at(config, names).clone()?,
            Self::Words(at) => format!("[{}]", at(config, names).join(", ")),
            Self::Paths(at) => {
                let paths: Vec<String> = at(config, names)
                    .iter()
                    .map(|p| p.display().to_string())
                    .collect();
                format!("[{}]", paths.join(", "))
            }
            Self::Duration(at) => value::show_duration(*at(config, names)),
            Self::OptDuration(at) => value::show_duration(*at(config, names).as_ref()?),
            Self::Size(at) => value::show_size(*at(config, names)),
            Self::Mode(at) => at(config, names).name().to_owned(),
            Self::OptEffort(at) => at(config, names).as_ref()?.name().to_owned(),
            Self::OptModel(at) => at(config, names).as_ref()?.to_string(),
            Self::Models(at) => {
                let models: Vec<String> =
                    at(config, names).iter().map(ToString::to_string).collect();
                format!("[{}]", models.join(", "))
            }
            Self::TextMap(_) | Self::BoolMap(_) | Self::WordsMap(_) | Self::Rules => return None,
        })
    }
}

fn unless_none<T>(
    typed: &TypedValue,
    read: impl Fn(&TypedValue) -> Result<T, Expected>,
) -> Result<Option<T>, Expected> {
    if matches!(typed, TypedValue::Text(text) if text == "none") {
        return Ok(None);
    }
    read(typed)
        .map(Some)
        .map_err(|expected| format!("{expected}, or \"none\""))
}

fn whole32(typed: &TypedValue, least: u32, most: u32) -> Result<u32, Expected> {
    value::whole(typed, u64::from(least), u64::from(most)).map(|n| n as u32)
}

fn whole64(typed: &TypedValue) -> Result<u64, Expected> {
    value::whole(typed, 0, i64::MAX as u64)
}

fn mode(typed: &TypedValue) -> Result<Mode, Expected> {
    let name = value::choice(typed, &Mode::ALL.map(Mode::name))?;
    name.parse()
}

fn models(typed: &TypedValue) -> Result<Vec<ModelRef>, Expected> {
    let expected = || "a list of provider/model".to_owned();
    value::words(typed)
        .map_err(|_| expected())?
        .iter()
        .map(|word| word.parse().map_err(|_: String| expected()))
        .collect()
}

fn merge<T>(
    map: &mut BTreeMap<String, T>,
    typed: &TypedValue,
    read: impl Fn(&TypedValue) -> Result<T, Expected>,
) -> Result<(), Expected> {
    let TypedValue::Table(entries) = typed else {
        return Err("a table".to_owned());
    };
    for (name, entry) in entries {
        let value = read(&entry.value).map_err(|e| format!("{e} for {name}"))?;
        map.insert(name.clone(), value);
    }
    Ok(())
}
