//! Limits, prices and abilities of current models, from `assets/models.json`.
//!
//! The file is embedded and parsed on first use (about a millisecond), never at start-up; the registry
//! asks. Prices and limits that are not known stay unknown. The file is built from collected facts by
//! `cargo run --example build-models` (docs/providers.md); `build` is that command's work.

pub mod build;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::{ModelInfo, Price};
use crate::protocol::ModelRef;

const EMBEDDED: &str = include_str!("../../../assets/models.json");

/// Window assumed of a model that nobody knows.
pub const SAFE_CONTEXT: u64 = 128_000;
/// Output limit assumed of a model that nobody knows.
pub const SAFE_OUTPUT: u64 = 8_192;

/// What the file says about one model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Facts {
    /// Window in tokens.
    pub context: u64,
    /// Largest prompt, where it is limited apart from the window.
    #[serde(default)]
    pub max_input: Option<u64>,
    /// Most output tokens.
    pub max_output: u64,
    /// `t` tools, `r` reasoning, `i` images, `p` PDFs.
    pub can: String,
    /// USD per million tokens: input, output, cache read, cache write.
    #[serde(default)]
    pub price: Option<[f64; 4]>,
    /// The same for prompts of more than so many tokens, rising.
    #[serde(default)]
    pub tiers: Vec<(u64, [f64; 4])>,
    /// The provider withdrew it before the file was made.
    #[serde(default)]
    pub gone: bool,
}

impl Facts {
    fn price(&self) -> Option<Price> {
        let of = |[input, output, cache_read, cache_write]: [f64; 4]| Price {
            input,
            output,
            cache_read,
            cache_write,
            tiers: Vec::new(),
        };
        self.price.map(|base| Price {
            tiers: self
                .tiers
                .iter()
                .map(|(above, p)| (*above, of(*p)))
                .collect(),
            ..of(base)
        })
    }
}

#[derive(Debug, Default, Deserialize)]
struct File {
    providers: BTreeMap<String, BTreeMap<String, Facts>>,
}

/// The catalog. Cheap to make; the file is parsed when it is first asked.
#[derive(Debug, Default)]
pub struct Catalog {
    file: OnceLock<File>,
}

impl Catalog {
    fn file(&self) -> &File {
        self.file.get_or_init(|| {
            // A test reads the embedded file, so a broken one is never released.
            serde_json::from_str(EMBEDDED).unwrap_or_default()
        })
    }

    /// The models of a section (`anthropic`, `openai`, `google`, …), by name.
    pub fn section(&self, name: &str) -> impl Iterator<Item = (&str, &Facts)> {
        let models = self.file().providers.get(name).into_iter().flatten();
        models.map(|(name, facts)| (name.as_str(), facts))
    }

    /// The facts about a model of a section, also by an alias or with another date.
    pub fn find(&self, section: &str, model: &str) -> Option<&Facts> {
        let models = self.file().providers.get(section)?;
        if let Some(facts) = models.get(model) {
            return Some(facts);
        }
        let wanted = plain_name(model);
        if let Some(facts) = models.get(&wanted) {
            return Some(facts);
        }
        // Only the dated names are in the file: the newest one counts.
        models
            .iter()
            .rev()
            .find(|(name, _)| plain_name(name) == wanted)
            .map(|(_, facts)| facts)
    }

    /// The facts about a model that is sold by somebody else than its maker, e.g. OpenRouter's
    /// `anthropic/claude-sonnet-4.5`.
    pub fn find_elsewhere(&self, model: &str) -> Option<&Facts> {
        let (maker, name) = match model.rsplit_once('/') {
            Some((path, name)) => (path.rsplit('/').next().unwrap_or(path), name),
            None => ("", model),
        };
        let name = name.split(':').next().unwrap_or(name);
        let sections: &[&str] = match maker {
            "anthropic" => &["anthropic"],
            "openai" => &["openai", "groq"],
            "google" | "gemini" => &["google"],
            "x-ai" | "xai" => &["xai"],
            "deepseek" | "deepseek-ai" => &["deepseek"],
            "mistralai" | "mistral" => &["mistral"],
            "moonshotai" | "moonshot" => &["moonshot"],
            "z-ai" | "zai" | "zai-org" => &["zai"],
            "qwen" => &["dashscope"],
            _ => &[
                "anthropic",
                "openai",
                "google",
                "xai",
                "deepseek",
                "mistral",
                "moonshot",
                "zai",
                "dashscope",
            ],
        };
        sections.iter().find_map(|section| {
            self.find(section, name)
                .or_else(|| self.find(section, model))
        })
    }
}

/// A name without date, `-latest` and the choice between `.` and `-`: `Claude-Sonnet-4.5-20250929`
/// is `claude-sonnet-4-5`.
fn plain_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let mut parts: Vec<&str> = lower.split(['-', '.', '@']).collect();
    let is_number = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|b| b.is_ascii_digit())
    };
    if parts.last().is_some_and(|p| *p == "latest") {
        parts.pop();
    }
    match parts.as_slice() {
        [.., year, month, day]
            if is_number(year, 4) && is_number(month, 2) && is_number(day, 2) =>
        {
            parts.truncate(parts.len() - 3);
        }
        [_, .., date] if is_number(date, 8) => {
            parts.pop();
        }
        _ => {}
    }
    parts.join("-")
}

/// A short name for the eye: `sonnet-4.5` for `claude-sonnet-4-5-20250929`.
pub fn label(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let lower = name.to_lowercase();
    let dated = plain_name(name).len() + 5 < lower.len();
    let Some(claude) = lower.strip_prefix("claude-") else {
        return if dated && !lower.ends_with("latest") {
            name.char_indices()
                .nth(plain_name(name).chars().count())
                .map_or(name, |(end, _)| name.get(..end).unwrap_or(name))
                .to_owned()
        } else {
            name.to_owned()
        };
    };
    let plain = plain_name(claude);
    let mut out = String::new();
    let mut before_is_number = false;
    for part in plain.split('-') {
        let number = part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
        if !out.is_empty() {
            out.push(if number && before_is_number { '.' } else { '-' });
        }
        out.push_str(part);
        before_is_number = number;
    }
    out
}

/// What is said of a model: the facts, or safe limits.
pub fn info(model: &ModelRef, facts: Option<&Facts>) -> ModelInfo {
    let base = ModelInfo {
        model: model.clone(),
        label: label(&model.model),
        context: SAFE_CONTEXT,
        max_input: None,
        max_output: SAFE_OUTPUT,
        tools: true,
        reasoning: false,
        images: false,
        pdf: false,
        price: None,
        known: false,
    };
    let Some(facts) = facts else {
        return base;
    };
    ModelInfo {
        context: facts.context,
        max_input: facts.max_input,
        max_output: facts.max_output,
        tools: facts.can.contains('t'),
        reasoning: facts.can.contains('r'),
        images: facts.can.contains('i'),
        pdf: facts.can.contains('p'),
        price: facts.price(),
        known: true,
        ..base
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
