//! The registry: finds providers and models, makes them once, says what there is.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::endpoint::Provider;
use super::table::PROVIDERS;
use crate::config::used::{Config, ModelSettings};
use crate::model::catalog::{self, Catalog};
use crate::model::encode::Quirks;
use crate::model::http::Http;
use crate::model::local::{self, LocalServer};
use crate::model::scripted::{self, Script, ScriptedModel};
use crate::model::{Model, ModelInfo, Price, auth};
use crate::protocol::event::ModelChoice;
use crate::protocol::{Fault, FaultKind, ModelRef};

/// The script behind `scripted/demo`.
const DEMO: &str = include_str!("../../../assets/demo/script.json");

/// A key that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFound {
    /// Whose.
    pub provider: String,
    /// The variable of the environment, or the place where `dunlin auth login` stored it.
    pub from: String,
    /// The key, masked.
    pub masked: String,
}

/// The models that can be asked.
#[derive(Debug)]
pub struct Registry {
    providers: BTreeMap<String, Provider>,
    catalog: Catalog,
    http: Arc<Http>,
    idle_timeout: Duration,
    scripts: BTreeMap<String, Arc<Script>>,
    script_file: Option<PathBuf>,
    found: Vec<String>,
    problems: Vec<Fault>,
    made: Mutex<HashMap<ModelRef, Arc<dyn Model>>>,
    /// What the servers on this machine offered when they were last asked.
    local: Mutex<Vec<ModelRef>>,
}

impl Registry {
    /// Reads keys and addresses from the environment, `auth.json` and the configuration.
    pub fn new(config: &Config, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let mut problems = Vec::new();
        let stored = auth::config_dir(&set).map_or_else(auth::Keys::new, |dir| {
            let (keys, unread) = auth::load(&dir);
            problems.extend(unread);
            keys
        });
        let mut providers = BTreeMap::new();
        let mut found = Vec::new();
        for spec in PROVIDERS {
            let settings = config.providers.get(spec.id);
            let provider = Provider::built_in(spec, settings, &stored, &set);
            found.extend(provider.found().map(str::to_owned));
            providers.insert(spec.id.to_owned(), provider);
        }
        for (id, settings) in &config.providers {
            if providers.contains_key(id) || id == scripted::PROVIDER {
                continue;
            }
            match Provider::own(id, settings, &stored, &set) {
                Ok(provider) => {
                    found.extend(provider.found().map(str::to_owned));
                    providers.insert(id.clone(), provider);
                }
                Err(fault) => problems.push(fault),
            }
        }
        for provider in providers.values() {
            problems.extend(provider.problems());
        }
        found.dedup();
        Self {
            providers,
            catalog: Catalog::default(),
            http: Arc::new(Http::new(set("DUNLIN_CA_FILE").map(PathBuf::from))),
            idle_timeout: config.turn.idle_timeout,
            scripts: BTreeMap::new(),
            script_file: set("DUNLIN_SCRIPT").map(PathBuf::from),
            found,
            problems,
            made: Mutex::default(),
            local: Mutex::default(),
        }
    }

    /// Offers a script as `scripted/NAME`.
    #[must_use]
    pub fn with_script(mut self, name: &str, script: Arc<Script>) -> Self {
        self.scripts.insert(name.to_owned(), script);
        self
    }

    /// The clients, to be warmed in the background or used by tools.
    pub const fn http(&self) -> &Arc<Http> {
        &self.http
    }

    /// Parses the catalog and builds the HTTPS client. Costs milliseconds: for a background thread.
    pub fn warm(&self) {
        self.catalog.section("").for_each(drop);
        self.http.warm();
    }

    /// Asks the model servers that may run on this machine, at their default or configured addresses;
    /// what they offer is among the `choices` from then on. Takes 400 ms at most.
    pub async fn find_local(&self) -> Vec<LocalServer> {
        let places: Vec<(&str, &str, &str)> = local::SERVERS
            .iter()
            .map(|(id, label, origin)| {
                let provider = self.providers.get(*id);
                (*id, *label, provider.map_or(*origin, Provider::base))
            })
            .collect();
        let found = local::find(&self.http, &places).await;
        let models = found.iter().flat_map(|server| server.models.clone());
        let mut known = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        *known = models.collect();
        drop(known);
        found
    }

    /// Names of all variables that may hold a provider's key: commands must not see them.
    pub fn key_variables(&self) -> Vec<String> {
        self.providers
            .values()
            .flat_map(|p| p.key_variables().iter().cloned())
            .collect()
    }

    /// What was wrong with the configuration of providers and the stored keys.
    pub fn problems(&self) -> &[Fault] {
        &self.problems
    }

    /// A model to ask. The same instance each time, so that its encoder remembers.
    ///
    /// # Errors
    ///
    /// `Config` for an unknown provider (names the closest), `Auth` for a missing key (says what to
    /// set).
    pub fn model(&self, model: &ModelRef) -> Result<Arc<dyn Model>, Fault> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = made.get(model) {
            return Ok(Arc::clone(ready));
        }
        let new: Arc<dyn Model> = if model.provider == scripted::PROVIDER {
            let script = self.script(&model.model)?;
            Arc::new(ScriptedModel::new(script, &model.model).idle_timeout(self.idle_timeout))
        } else {
            let provider = self.provider(&model.provider)?;
            let info = self.info(model);
            Arc::new(provider.model(info, Arc::clone(&self.http), self.idle_timeout)?)
        };
        made.insert(model.clone(), Arc::clone(&new));
        Ok(new)
    }

    /// Limits, prices and abilities: the user's settings over the catalog over safe limits.
    pub fn info(&self, model: &ModelRef) -> ModelInfo {
        if model.provider == scripted::PROVIDER {
            let script = self.script(&model.model).unwrap_or_default();
            return ScriptedModel::new(script, &model.model).info().clone();
        }
        let Some(provider) = self.providers.get(&model.provider) else {
            return catalog::info(model, None);
        };
        let own = Some(provider.facts).filter(|section| !section.is_empty());
        let own = own.and_then(|section| self.catalog.find(section, &model.model));
        let mut info = catalog::info(
            model,
            own.or_else(|| self.catalog.find_elsewhere(&model.model)),
        );
        if own.is_none() && provider.id != "openrouter" {
            // What somebody else takes for it is not what the maker takes.
            info.price = None;
        }
        if provider.local {
            info.price = Some(Price::default());
        }
        if let Some(settings) = provider.models.get(&model.model) {
            apply(settings, &mut info);
        }
        info
    }

    /// The model of a first session, from the keys that are set; none without any.
    pub fn default_model(&self) -> Option<ModelRef> {
        let builtin = PROVIDERS.iter().filter_map(|spec| {
            let provider = self.providers.get(spec.id)?;
            let model = provider
                .models
                .keys()
                .next()
                .map_or(spec.model, String::as_str);
            (provider.has_key() && !model.is_empty()).then(|| reference(spec.id, model))
        });
        let own = self.providers.values().filter_map(|provider| {
            let model = provider.models.keys().next()?;
            provider.is_usable().then(|| reference(&provider.id, model))
        });
        builtin.chain(own).next()
    }

    /// All models for a picker: usable ones first, the user's own before the catalog's. Withdrawn
    /// models and those without tools are left out.
    pub fn choices(&self) -> Vec<ModelChoice> {
        let mut choices = Vec::new();
        for usable in [true, false] {
            let own = self
                .providers
                .values()
                .filter(|p| !PROVIDERS.iter().any(|spec| spec.id == p.id));
            let builtin = PROVIDERS.iter().filter_map(|s| self.providers.get(s.id));
            for provider in own.chain(builtin).filter(|p| p.is_usable() == usable) {
                self.choices_of(provider, usable, &mut choices);
            }
        }
        for name in self.scripts.keys().map(String::as_str).chain(["demo"]) {
            choices.push(choice(
                &self.info(&reference(scripted::PROVIDER, name)),
                true,
            ));
        }
        choices
    }

    fn choices_of(&self, provider: &Provider, usable: bool, choices: &mut Vec<ModelChoice>) {
        let own: Vec<&str> = provider.models.keys().map(String::as_str).collect();
        let known = self
            .catalog
            .section(provider.facts)
            .filter(|(name, facts)| !facts.gone && facts.can.contains('t') && !own.contains(name))
            .map(|(name, _)| name);
        let running = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        let running: Vec<String> = running
            .iter()
            .filter(|model| model.provider == provider.id && !own.contains(&&*model.model))
            .map(|model| model.model.clone())
            .collect();
        let running = running.iter().map(String::as_str);
        for name in own.iter().copied().chain(running).chain(known) {
            choices.push(choice(&self.info(&reference(&provider.id, name)), usable));
        }
    }

    /// How requests to this model are encoded; for the cache ledger (`encode::prefix_form`).
    pub fn quirks(&self, model: &ModelRef) -> Result<Quirks, Fault> {
        Ok(self.provider(&model.provider)?.quirks(&self.info(model)))
    }

    /// Names of the environment variables and stored keys that were found.
    pub fn found(&self) -> Vec<String> {
        self.found.clone()
    }

    /// The keys that count, one for each provider that has one.
    pub fn keys(&self) -> Vec<KeyFound> {
        let of = |provider: &Provider| {
            let (from, masked) = provider.key_shown()?;
            Some(KeyFound {
                provider: provider.id.clone(),
                from: from.to_owned(),
                masked,
            })
        };
        self.providers.values().filter_map(of).collect()
    }

    /// The closest name of a provider, if `id` is none; none if it is one, or like none.
    pub fn instead_of(&self, id: &str) -> Option<&str> {
        self.providers()
            .map(|known| (distance(known, id), known))
            .min()
            .filter(|(distance, _)| (1..=3).contains(distance))
            .map(|(_, known)| known)
    }

    /// The providers that have a key, and where they are.
    pub fn addresses(&self) -> Vec<(String, String)> {
        let keyed = self.providers.iter().filter(|(_, p)| p.found().is_some());
        keyed
            .map(|(id, provider)| (id.clone(), provider.base().to_owned()))
            .collect()
    }

    /// Ids of all providers.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers
            .keys()
            .map(String::as_str)
            .chain([scripted::PROVIDER])
    }

    fn provider(&self, id: &str) -> Result<&Provider, Fault> {
        self.providers.get(id).ok_or_else(|| {
            let hint = match self.instead_of(id) {
                Some(known) => format!("Did you mean `{known}`?"),
                None => format!("Add [provider.{id}] to the configuration (docs/providers.md)."),
            };
            Fault::new(
                FaultKind::Config,
                format!("There is no provider `{id}`."),
                hint,
            )
        })
    }

    fn script(&self, name: &str) -> Result<Arc<Script>, Fault> {
        if let Some(script) = self.scripts.get(name) {
            return Ok(Arc::clone(script));
        }
        let named = PathBuf::from(name);
        let path = if named.is_file() {
            named
        } else if let Some(path) = &self.script_file {
            path.clone()
        } else if name == "demo" {
            return Script::parse(DEMO).map(Arc::new);
        } else {
            return Err(Fault::new(
                FaultKind::Config,
                format!("There is no script `{name}`."),
                "Name a script file (docs/scripted.md) or use scripted/demo.",
            ));
        };
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Fault::new(
                FaultKind::Config,
                format!("The script {} could not be read: {error}.", path.display()),
                "Name a script file (docs/scripted.md) or use scripted/demo.",
            )
        })?;
        Script::parse(&text).map(Arc::new)
    }
}

fn reference(provider: &str, model: &str) -> ModelRef {
    ModelRef {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

fn choice(info: &ModelInfo, usable: bool) -> ModelChoice {
    ModelChoice {
        model: info.model.clone(),
        context: if info.known { info.context } else { 0 },
        input_price: info.price.as_ref().map(|p| p.input),
        output_price: info.price.as_ref().map(|p| p.output),
        usable,
    }
}

fn apply(settings: &ModelSettings, info: &mut ModelInfo) {
    let s = settings;
    info.context = s.context.unwrap_or(info.context);
    info.max_input = s.max_input.or(if s.context.is_some() {
        None
    } else {
        info.max_input
    });
    info.max_output = s.max_output.unwrap_or(info.max_output).min(info.context);
    info.tools = s.tools.unwrap_or(info.tools);
    info.reasoning = s.reasoning.unwrap_or(info.reasoning);
    info.images = s.images.unwrap_or(info.images);
    info.known |= s.context.is_some();
    if let (Some(input), Some(output)) = (s.input_price, s.output_price) {
        info.price = Some(Price {
            input,
            output,
            cache_read: s.cache_read_price.unwrap_or(input),
            cache_write: s.cache_write_price.unwrap_or(input),
            tiers: Vec::new(),
        });
    }
}

/// Edit distance, for suggestions.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
