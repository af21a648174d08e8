//! Looks for model servers on this machine: Ollama, LM Studio, llama.cpp.
//!
//! Onboarding and the model picker call `find`; it asks the default ports for their models with a
//! short time limit, all at once, and never fails.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use reqwest::Url;
use serde_json::Value;

use super::http::Http;
use crate::protocol::ModelRef;

/// How long a server on this machine may take to answer.
const PATIENCE: Duration = Duration::from_millis(400);
/// More than any list of models needs.
const LIMIT: usize = 4 << 20;

/// A server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Provider id.
    pub provider: String,
    /// Its name for the eye.
    pub label: String,
    /// Where it is.
    pub origin: String,
    /// Its models, as they can be asked.
    pub models: Vec<ModelRef>,
}

/// The servers that are looked for: provider, name, address.
pub const SERVERS: [(&str, &str, &str); 3] = [
    ("ollama", "Ollama", "http://127.0.0.1:11434"),
    ("lmstudio", "LM Studio", "http://127.0.0.1:1234"),
    ("llamacpp", "llama.cpp", "http://127.0.0.1:8080"),
];

/// Asks all of `servers` (`SERVERS`, or others in tests); gives those that answered with models, in
/// the same order.
pub async fn find(http: &Http, servers: &[(&str, &str, &str)]) -> Vec<LocalServer> {
    let asking: FuturesOrdered<_> = servers
        .iter()
        .map(|(provider, label, origin)| async move {
            let names = tokio::time::timeout(PATIENCE, models(http, origin))
                .await
                .ok()
                .flatten()?;
            let models = names.into_iter().map(|model| ModelRef {
                provider: (*provider).to_owned(),
                model,
            });
            Some(LocalServer {
                provider: (*provider).to_owned(),
                label: (*label).to_owned(),
                origin: (*origin).to_owned(),
                models: models.collect(),
            })
        })
        .collect();
    asking
        .filter_map(|found| async move { found })
        .collect()
        .await
}

/// The names that `/v1/models` lists; none if this is no model server.
async fn models(http: &Http, origin: &str) -> Option<Vec<String>> {
    let url = Url::parse(origin).ok()?.join("/v1/models").ok()?;
    let client = http.client(&url).ok()?;
    let mut response = client.get(url).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LIMIT {
            return None;
        }
    }
    let list: Value = serde_json::from_slice(&body).ok()?;
    let names = list.get("data")?.as_array()?.iter();
    let names = names.filter_map(|item| Some(item.get("id")?.as_str()?.to_owned()));
    // Embedding models are listed too and cannot talk.
    Some(names.filter(|name| !name.contains("embed")).collect())
}
