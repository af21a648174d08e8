//! Kinds of settings: how each is set from what was typed and shown again.
//!
//! `keys` gives every key its kind and place; `load` sets and shows through here. What a value may
//! look like is `value`'s business.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::TypedValue;
use super::used::Config;
use super::value::{self, Expected};
use crate::protocol::{Effort, Mode, ModelRef};

const MAX: u32 = u32::MAX;

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
        .map_err(|_expected| expected())?
        .iter()
        .map(|word| word.parse().map_err(|_why: String| expected()))
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
