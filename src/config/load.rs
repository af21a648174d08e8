//! From files, environment and flags to one `Config`: the layers, in rising order built-in, user,
//! project (only if the folder is trusted), environment, `--config`.
//!
//! Called once at the start and again when the configuration is reloaded. Wrong values are errors,
//! all of them at once; unknown keys are warnings in files and errors in `--config`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::document::{self, Typed, TypedValue, show_path};
use super::flag;
use super::keys::{self, Found, KEYS, Key};
use super::kind::Kind;
use super::paths::{Env, Paths};
use super::rules;
use super::used::{Config, Rule, RuleAction, RuleLayer};
use super::value::closest;
use super::variables;

/// A configuration that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Every setting with its value and where it came from, in the order of the documentation.
    pub sources: Vec<Setting>,
    /// What the user should know, one sentence each: unknown keys, an ignored project file.
    pub warnings: Vec<String>,
}

/// One setting, explained.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// Its key, as it would be typed.
    pub key: String,
    /// Its value, as it would be typed; secrets are `(set)`, what has no value is empty.
    pub value: String,
    /// Where it came from: `built-in`, a file with its line, a variable, `--config`.
    pub source: String,
}

/// A configuration that cannot be used: one sentence per wrong value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The sentences; never empty.
    pub problems: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

/// Variables of providers' own that set a base URL: (variable, providers).
const BASE_URLS: [(&str, &[&str]); 3] = [
    ("ANTHROPIC_BASE_URL", &["anthropic"]),
    ("OPENAI_BASE_URL", &["openai", "openai-chat"]),
    ("GEMINI_BASE_URL", &["gemini"]),
];

/// Reads all layers. `overrides` are the values of `--config KEY=VALUE`, in order; `trusted` says
/// whether the user trusts the worktree (`trust::is_trusted`): otherwise the project's file does
/// nothing and a warning says so.
pub fn load(
    paths: &Paths,
    worktree: &Path,
    env: Env<'_>,
    overrides: &[String],
    trusted: bool,
) -> Result<Loaded, ConfigError> {
    let mut reader = Reader::new(paths);
    reader.file(&paths.user_config(), "user");
    let project = worktree.join(".dunlin/config.toml");
    // a worktree that is the configuration folder's parent must not be read twice
    if project != paths.user_config() {
        if trusted {
            reader.file(&project, "project");
        } else if project.exists() {
            reader.warnings.push(format!(
                "{} is ignored until you trust this folder: run `dunlin trust`, or answer yes \
                 when dunlin asks at the start.",
                project.display()
            ));
        }
    }
    reader.environment(env);
    for text in overrides {
        reader.option(text);
    }
    reader.finish()
}

struct Reader<'a> {
    paths: &'a Paths,
    config: Config,
    /// Source by shown key; rules and map entries included.
    sources: BTreeMap<String, String>,
    /// Values of map entries and rules, which the table cannot show.
    loose: BTreeMap<String, String>,
    warnings: Vec<String>,
    problems: Vec<String>,
}

/// Where a document stands and how strict it is read.
struct Origin<'a> {
    /// `~/…/config.toml`, or `--config`.
    name: &'a str,
    /// Owner of its rules.
    owner: &'a str,
    /// Unknown keys are errors.
    strict: bool,
}

impl Origin<'_> {
    fn place(&self, line: usize) -> String {
        if line == 0 {
            format!("in {}", self.name)
        } else {
            format!("in {} line {line}", self.name)
        }
    }

    fn source(&self, line: usize) -> String {
        if line == 0 {
            self.name.to_owned()
        } else {
            format!("{}:{line}", self.name)
        }
    }
}

impl<'a> Reader<'a> {
    fn new(paths: &'a Paths) -> Self {
        let config = Config {
            agent: "build".to_owned(),
            ..Config::default()
        };
        Self {
            paths,
            config,
            sources: BTreeMap::new(),
            loose: BTreeMap::new(),
            warnings: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn file(&mut self, path: &Path, owner: &str) {
        let text = match read_text(path) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(sentence) => {
                self.problems.push(sentence);
                return;
            }
        };
        let name = path.display().to_string();
        match document::parse(&text) {
            Ok(table) => {
                let origin = Origin {
                    name: &name,
                    owner,
                    strict: false,
                };
                self.table(&table, &mut Vec::new(), &origin);
            }
            Err(errors) => self.problems.extend(
                errors
                    .iter()
                    .map(|e| format!("{name} line {} is not valid TOML: {}.", e.line, e.message)),
            ),
        }
    }

    fn environment(&mut self, env: Env<'_>) {
        for (variable, providers) in BASE_URLS {
            let Some(url) = text_of(env, variable) else {
                continue;
            };
            for provider in providers {
                let path = ["provider", *provider, "base_url"].map(str::to_owned);
                if let Found::Key(key, names) = keys::find(&path) {
                    let typed = TypedValue::Text(url.clone());
                    self.value(key, &names, &path, &typed, variable);
                }
            }
        }
        for key in KEYS.iter().filter(|k| !k.path.contains('*')) {
            if matches!(key.kind, Kind::Rules) {
                continue;
            }
            let variable = variables::name_of(key.path);
            let Some(text) = text_of(env, &variable) else {
                continue;
            };
            let path: Vec<String> = key.path.split('.').map(str::to_owned).collect();
            let typed = loose_value(&key.kind, &text);
            self.value(key, &[], &path, &typed, &variable);
        }
    }

    /// One `--config KEY=VALUE`.
    fn option(&mut self, text: &str) {
        let origin = Origin {
            name: "--config",
            owner: "flags",
            strict: true,
        };
        match flag::read(text) {
            Ok(table) => self.table(&table, &mut Vec::new(), &origin),
            Err(sentence) => self.problems.push(sentence),
        }
    }

    fn table(&mut self, table: &[(String, Typed)], path: &mut Vec<String>, origin: &Origin<'_>) {
        for (name, typed) in table {
            path.push(name.clone());
            match (keys::find(path), &typed.value) {
                (
                    Found::Key(
                        Key {
                            kind: Kind::Rules, ..
                        },
                        _,
                    ),
                    value,
                ) => {
                    self.rules(value, typed.line, origin);
                }
                (Found::Key(key, names), value) => {
                    let source = origin.source(typed.line);
                    if let Err(expected) = self.try_value(key, &names, path, value, &source) {
                        self.problems.push(format!(
                            "{} {} is {}: write {expected}.",
                            show_path(path),
                            origin.place(typed.line),
                            value.show(),
                        ));
                    }
                }
                (Found::Section, TypedValue::Table(inner)) => self.table(inner, path, origin),
                (Found::Section, other) => self.problems.push(format!(
                    "{} {} is {}: it is a section, write [{}] with settings below it.",
                    show_path(path),
                    origin.place(typed.line),
                    other.kind(),
                    show_path(path),
                )),
                (Found::Unknown, _) => self.unknown(path, typed.line, origin),
            }
            path.pop();
        }
    }

    fn unknown(&mut self, path: &[String], line: usize, origin: &Origin<'_>) {
        let (name, parent) = path
            .split_last()
            .map_or(("", path), |(n, p)| (n.as_str(), p));
        let hint = closest(name, &keys::siblings(parent))
            .map(str::to_owned)
            .or_else(|| elsewhere(name))
            .map_or_else(
                || "`dunlin config` lists all keys".to_owned(),
                |known| format!("did you mean {known}?"),
            );
        let sentence = format!(
            "unknown key {} {}; {hint}",
            show_path(path),
            origin.place(line)
        );
        if origin.strict {
            self.problems.push(sentence);
        } else {
            self.warnings.push(sentence);
        }
    }

    fn rules(&mut self, value: &TypedValue, line: usize, origin: &Origin<'_>) {
        let TypedValue::Table(table) = value else {
            self.problems.push(format!(
                "permission {} is {}: write a table, e.g. [permission] with bash = \"ask\".",
                origin.place(line),
                value.kind()
            ));
            return;
        };
        match rules::read_table(table) {
            Ok(rules) => {
                for rule in &rules {
                    let key = show_path(&[
                        "permission".to_owned(),
                        rule.tool.clone(),
                        rule.pattern.clone(),
                    ]);
                    self.record(
                        key,
                        Some(action_name(rule).to_owned()),
                        &origin.source(line),
                    );
                }
                self.layer(origin.owner).rules.extend(rules);
            }
            Err(bad) => self.problems.extend(bad.into_iter().map(|b| {
                let at = if b.line == 0 { line } else { b.line };
                format!("permission {}: {}.", origin.place(at), b.message)
            })),
        }
    }

    fn layer(&mut self, owner: &str) -> &mut RuleLayer {
        let layers = &mut self.config.permission;
        let at = layers
            .iter()
            .position(|l| l.owner == owner)
            .unwrap_or_else(|| {
                layers.push(RuleLayer {
                    owner: owner.to_owned(),
                    rules: Vec::new(),
                });
                layers.len() - 1
            });
        &mut layers[at]
    }

    /// Sets a value from the environment.
    fn value(
        &mut self,
        key: &Key,
        names: &[String],
        path: &[String],
        typed: &TypedValue,
        variable: &str,
    ) {
        if let Err(expected) = self.try_value(key, names, path, typed, variable) {
            self.problems.push(format!(
                "the environment variable {variable} is {}: write {expected}, or unset it.",
                typed.show()
            ));
        }
    }

    fn try_value(
        &mut self,
        key: &Key,
        names: &[String],
        path: &[String],
        typed: &TypedValue,
        source: &str,
    ) -> Result<(), String> {
        // a copy keeps a half-merged map or an empty provider out when the value is refused
        let mut changed = self.config.clone();
        key.kind.set(&mut changed, names, typed, &self.paths.home)?;
        self.config = changed;
        if let Kind::TextMap(_) | Kind::BoolMap(_) | Kind::WordsMap(_) = key.kind
            && let TypedValue::Table(entries) = typed
        {
            for (name, entry) in entries {
                let mut entry_path = path.to_vec();
                entry_path.push(name.clone());
                let value = if matches!(key.kind, Kind::TextMap(_)) {
                    "(set)".to_owned()
                } else {
                    entry.value.show()
                };
                self.record(show_path(&entry_path), Some(value), source);
            }
        } else {
            let value = (!names.is_empty())
                .then(|| key.kind.show(&mut self.config, names).unwrap_or_default());
            self.record(show_path(path), value, source);
        }
        Ok(())
    }

    /// Notes where a value came from, and what it is if the table cannot show it.
    fn record(&mut self, shown: String, value: Option<String>, source: &str) {
        if let Some(value) = value {
            self.loose.insert(shown.clone(), value);
        }
        self.sources.insert(shown, source.to_owned());
    }

    fn finish(mut self) -> Result<Loaded, ConfigError> {
        if self.config.bash.timeout > self.config.bash.max_timeout && self.problems.is_empty() {
            self.warnings.push(
                "bash.timeout is longer than bash.max_timeout: commands get bash.max_timeout."
                    .to_owned(),
            );
            self.config.bash.timeout = self.config.bash.max_timeout;
        }
        if !self.problems.is_empty() {
            return Err(ConfigError {
                problems: self.problems,
            });
        }
        let mut sources = Vec::new();
        for key in KEYS {
            if !key.path.contains('*')
                && let Some(value) = shown(&key.kind, &mut self.config)
            {
                sources.push(Setting {
                    key: key.path.to_owned(),
                    value,
                    source: self
                        .sources
                        .get(key.path)
                        .cloned()
                        .unwrap_or_else(|| "built-in".to_owned()),
                });
            }
        }
        sources.extend(self.loose.iter().map(|(key, value)| Setting {
            key: key.clone(),
            value: value.clone(),
            source: self.sources.get(key).cloned().unwrap_or_default(),
        }));
        Ok(Loaded {
            config: self.config,
            sources,
            warnings: self.warnings,
        })
    }
}

/// The value of a key without names; empty for what may be and is empty, none for tables.
fn shown(kind: &Kind, config: &mut Config) -> Option<String> {
    match kind {
        Kind::TextMap(_) | Kind::BoolMap(_) | Kind::WordsMap(_) | Kind::Rules => None,
        kind => Some(kind.show(config, &[]).unwrap_or_default()),
    }
}

/// A file's text; none if there is no file. The error is a sentence.
fn read_text(path: &Path) -> Result<Option<String>, String> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_bytes| format!("{} is not UTF-8 text: save it as UTF-8.", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!(
            "{} cannot be read ({e}): make it readable or move it away.",
            path.display()
        )),
    }
}

fn text_of(env: Env<'_>, name: &str) -> Option<String> {
    env(name)
        .map(|v| v.to_string_lossy().into_owned())
        .filter(|v| !v.is_empty())
}

/// Text from outside a file: a TOML value if it is one and the kind wants it, else a string.
fn loose_value(kind: &Kind, text: &str) -> TypedValue {
    if kind.is_text() {
        return TypedValue::Text(text.to_owned());
    }
    document::parse_value(text).unwrap_or_else(|| TypedValue::Text(text.to_owned()))
}

/// The full key of a setting whose last name is exactly this, if there is only one.
fn elsewhere(name: &str) -> Option<String> {
    let mut found = KEYS
        .iter()
        .filter(|k| !k.path.contains('*') && k.path.rsplit('.').next() == Some(name));
    let first = found.next()?;
    found.next().is_none().then(|| first.path.to_owned())
}

const fn action_name(rule: &Rule) -> &'static str {
    match rule.action {
        RuleAction::Allow => "allow",
        RuleAction::Ask => "ask",
        RuleAction::Deny => "deny",
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
