//! One provider as the registry uses it: a row of the table or the user's own, with key and address.
//!
//! Makes models of it. Pure but for what the registry hands in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::table::{KeyStyle, Spec};
use crate::config::used::{ModelSettings, ProviderSettings};
use crate::model::ModelInfo;
use crate::model::auth::{Keys, mask};
use crate::model::decode::Wire;
use crate::model::encode::Quirks;
use crate::model::http::{Endpoint, Http, WireModel, is_loopback, request_url};
use crate::protocol::{Fault, FaultKind};

/// A key that was found, and where.
#[derive(Debug, Clone)]
struct Key {
    secret: SecretString,
    from: String,
    /// True if `dunlin auth` stored it.
    stored: bool,
}

/// A provider with its key and address.
#[derive(Debug)]
pub(super) struct Provider {
    pub id: String,
    pub facts: &'static str,
    pub local: bool,
    pub models: BTreeMap<String, ModelSettings>,
    wire: Wire,
    base: String,
    style: KeyStyle,
    key: Option<Key>,
    /// What to set when the key is missing.
    key_env: Vec<String>,
    /// True if the address is the provider's own, which always wants a key.
    key_needed: bool,
    headers: BTreeMap<String, String>,
    quirks: BTreeMap<String, bool>,
    adapt: fn(&str, &mut Quirks),
    wrong_wire: Option<String>,
}

impl Provider {
    /// Names of the variables that its key is looked for in.
    pub(super) fn key_variables(&self) -> &[String] {
        &self.key_env
    }

    pub(super) fn built_in(
        spec: &Spec,
        settings: Option<&ProviderSettings>,
        stored: &Keys,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let empty = ProviderSettings::default();
        let settings = settings.unwrap_or(&empty);
        let given = settings.base_url.clone().or_else(|| env(spec.base_env));
        let given = given.or_else(|| (spec.id == "ollama").then(|| ollama_host(env)).flatten());
        let mut key_env: Vec<String> = settings.key_env.iter().cloned().collect();
        key_env.extend(spec.key_env.iter().map(|name| (*name).to_owned()));
        let (wire, wrong_wire) = match settings.wire.as_deref().map(str::parse::<Wire>) {
            Some(Ok(wire)) => (wire, None),
            Some(Err(why)) => (spec.wire, Some(why)),
            None => (spec.wire, None),
        };
        // `openai-chat` is the same account as `openai`.
        let account = spec.id.strip_suffix("-chat").unwrap_or(spec.id);
        Self {
            id: spec.id.to_owned(),
            facts: spec.facts,
            local: spec.local,
            models: settings.models.clone(),
            wire,
            key_needed: given.is_none() && !spec.key_env.is_empty() && !spec.local,
            base: given.unwrap_or_else(|| spec.base.to_owned()),
            style: spec.style,
            key: find_key(&[spec.id, account], &key_env, stored, env),
            key_env,
            headers: expand_all(&settings.headers, env),
            quirks: settings.quirks.clone(),
            adapt: spec.adapt,
            wrong_wire,
        }
    }

    /// A provider that only the configuration knows.
    pub(super) fn own(
        id: &str,
        settings: &ProviderSettings,
        stored: &Keys,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Fault> {
        let bad = |what: String, hint: &str| Fault::new(FaultKind::Config, what, hint);
        let Some(base) = settings.base_url.clone() else {
            return Err(bad(
                format!("Provider `{id}` has no `base_url`."),
                "Add it to the provider's section of the configuration.",
            ));
        };
        let wire = settings.wire.as_deref().unwrap_or("openai-chat");
        let wire: Wire = wire
            .parse()
            .map_err(|why: String| bad(format!("Provider `{id}`: {why}"), "Correct its `wire`."))?;
        request_url(&base, wire, "m")?;
        let key_env: Vec<String> = settings.key_env.iter().cloned().collect();
        Ok(Self {
            id: id.to_owned(),
            facts: "",
            local: false,
            models: settings.models.clone(),
            wire,
            base,
            style: match wire {
                Wire::Anthropic => KeyStyle::ApiKey,
                Wire::Gemini => KeyStyle::Google,
                Wire::OpenaiChat | Wire::OpenaiResponses => KeyStyle::Bearer,
            },
            key: find_key(&[id], &key_env, stored, env),
            key_needed: !key_env.is_empty(),
            key_env,
            headers: expand_all(&settings.headers, env),
            quirks: settings.quirks.clone(),
            adapt: |_, _| {},
            wrong_wire: None,
        })
    }

    /// Its address.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(super) const fn is_usable(&self) -> bool {
        self.key.is_some() || !self.key_needed
    }

    /// Where its key was found.
    pub(super) fn found(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.from.as_str())
    }

    /// Where its key was found, and the key masked.
    pub(super) fn key_shown(&self) -> Option<(&str, String)> {
        let key = self.key.as_ref()?;
        Some((&key.from, mask(&key.secret)))
    }

    /// Settings that could not be followed.
    pub(super) fn problems(&self) -> Vec<Fault> {
        let mut quirks = Quirks::plain(self.wire);
        let unknown = self.quirks.keys().filter(|name| !quirks.set(name, true));
        let unknown =
            unknown.map(|name| format!("Provider `{}` has an unknown quirk `{name}`.", self.id));
        let wrong = self.wrong_wire.iter();
        let wrong = wrong.map(|why| format!("Provider `{}`: {why}", self.id));
        unknown
            .chain(wrong)
            .map(|what| Fault::new(FaultKind::Config, what, "See docs/providers.md."))
            .collect()
    }

    /// A model of it.
    pub(super) fn model(
        &self,
        info: ModelInfo,
        http: Arc<Http>,
        idle_timeout: Duration,
    ) -> Result<WireModel, Fault> {
        let url = request_url(&self.base, self.wire, &info.model.model)?;
        if self.key_needed && self.key.is_none() {
            return Err(self.no_key());
        }
        if self.key.is_some() && url.scheme() == "http" && !is_loopback(&url) {
            tracing::warn!(
                provider = self.id,
                "the key is sent over an unencrypted connection"
            );
        }
        let quirks = self.quirks(&info);
        let headers = self.headers(&info)?;
        let endpoint = Endpoint {
            provider: self.id.clone(),
            url,
            headers,
            idle_timeout,
            key_hint: self.key_hint(),
        };
        Ok(WireModel::new(info, http, endpoint, quirks))
    }

    /// What to do when the key is refused: where it came from decides what can be done.
    fn key_hint(&self) -> String {
        let id = &self.id;
        match (&self.key, self.key_env.first()) {
            (Some(key), _) if key.stored => {
                format!("Store the right key with `dunlin auth login {id}`.")
            }
            (Some(key), _) => format!(
                "The key came from {0}: correct {0}, or unset it and run `dunlin auth login {id}`.",
                key.from
            ),
            (None, Some(name)) => format!("Set {name}, or run `dunlin auth login {id}`."),
            (None, None) => format!("Run `dunlin auth login {id}`."),
        }
    }

    fn no_key(&self) -> Fault {
        let message = format!("There is no key for `{}`.", self.id);
        Fault::new(FaultKind::Auth, message, self.key_hint())
    }

    pub(super) fn quirks(&self, info: &ModelInfo) -> Quirks {
        let mut quirks = Quirks::plain(self.wire);
        quirks.images = info.images;
        quirks.pdf = info.pdf && self.wire != Wire::OpenaiChat;
        quirks.reasoning = info.reasoning;
        quirks.max_output = info.max_output;
        if self.wire == Wire::OpenaiChat {
            // Documents are taken by the few that say so.
            quirks.pdf = info.pdf && matches!(self.id.as_str(), "openai-chat" | "openrouter");
        }
        (self.adapt)(&info.model.model, &mut quirks);
        for (name, on) in &self.quirks {
            quirks.set(name, *on);
        }
        quirks
    }

    fn headers(&self, info: &ModelInfo) -> Result<HeaderMap, Fault> {
        let mut headers = HeaderMap::new();
        if self.wire == Wire::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            if self.id == "anthropic" && info.model.model.contains("-4-5") {
                // Newer models think between tool calls by themselves.
                let beta = HeaderValue::from_static("interleaved-thinking-2025-05-14");
                headers.insert("anthropic-beta", beta);
            }
        }
        if let Some(key) = &self.key {
            let secret = key.secret.expose_secret();
            let (name, text) = match self.style {
                KeyStyle::Bearer => (AUTHORIZATION, format!("Bearer {secret}")),
                KeyStyle::ApiKey => (HeaderName::from_static("x-api-key"), secret.to_owned()),
                KeyStyle::Google => (HeaderName::from_static("x-goog-api-key"), secret.to_owned()),
            };
            let mut value = HeaderValue::from_str(&text).map_err(|_control| {
                Fault::new(
                    FaultKind::Auth,
                    format!(
                        "The key from {} holds characters that no key has.",
                        key.from
                    ),
                    "Set it again.",
                )
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        for (name, text) in &self.headers {
            let header = (
                HeaderName::try_from(name.as_str()),
                HeaderValue::from_str(text),
            );
            let (Ok(name), Ok(mut value)) = header else {
                return Err(Fault::new(
                    FaultKind::Config,
                    format!(
                        "Provider `{}` has a header `{name}` that cannot be sent.",
                        self.id
                    ),
                    "Correct it in the configuration.",
                ));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

fn find_key(
    ids: &[&str],
    names: &[String],
    stored: &Keys,
    env: &dyn Fn(&str) -> Option<String>,
) -> Option<Key> {
    let of_env = names.iter().find_map(|name| {
        Some(Key {
            secret: env(name)?.trim().to_owned().into(),
            from: name.clone(),
            stored: false,
        })
    });
    of_env.or_else(|| {
        ids.iter().find_map(|id| {
            Some(Key {
                secret: stored.get(*id)?.clone(),
                from: format!("stored key of {id}"),
                stored: true,
            })
        })
    })
}

/// `OLLAMA_HOST` is a host, a host with port or a URL; `0.0.0.0` is what the server listens on.
fn ollama_host(env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let host = env("OLLAMA_HOST")?.replace("0.0.0.0", "127.0.0.1");
    if host.contains("://") {
        return Some(host);
    }
    if host.contains(':') {
        Some(format!("http://{host}"))
    } else {
        Some(format!("http://{host}:11434"))
    }
}

/// Headers with `${NAME}` replaced from the environment, so that secrets stay out of the file.
fn expand_all(
    headers: &BTreeMap<String, String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| (name.clone(), expand(value, env)))
        .collect()
}

fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        out.push_str(&env(name).unwrap_or_default());
        rest = tail;
    }
    out.push_str(rest);
    out
}
