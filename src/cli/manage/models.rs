//! `dunlin models`: what can be asked, what it can do, what it costs, and which key is set.

use serde_json::{Value, json};

use super::{Outcome, ground};
use crate::app;
use crate::cli::arguments::{Models, Options};
use crate::cli::print;
use crate::error::AppError;
use crate::headless::exit;
use crate::model::ModelInfo;
use crate::model::local::LocalServer;
use crate::model::provider::Registry;

pub(super) fn run(options: &Options, wanted: &Models) -> Outcome {
    let ground = ground(options)?;
    let registry = app::registry(&ground);
    local_servers(&registry);
    let search = wanted.search.as_deref().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = search.split_whitespace().collect();
    let mut listed = registry.choices();
    listed.retain(|choice| {
        let name = choice.model.to_string().to_lowercase();
        words.iter().all(|word| name.contains(word))
    });
    if listed.is_empty() && !wanted.json {
        let hint =
            "`dunlin models` lists all; any other model of a provider works too, with safe limits.";
        return Err(AppError::new(
            format!("No known model's name contains `{search}`."),
            hint,
        ));
    }
    let rows: Vec<Row> = listed
        .iter()
        .map(|choice| Row::new(&registry, registry.info(&choice.model), choice.usable))
        .collect();
    if wanted.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        print(format_args!("{:#}", Value::Array(rows)));
        return Ok(exit::DONE);
    }
    print(format_args!(
        "{:<48} {:>7} {:>6}  {:<16} {:>7} {:>7} {:>7}  key",
        "model", "window", "output", "can", "$/M in", "cached", "out"
    ));
    for row in &rows {
        print(row.line());
    }
    Ok(exit::DONE)
}

/// The model servers that answer on this machine; none if asking is impossible.
pub(super) fn local_servers(registry: &Registry) -> Vec<LocalServer> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_or_else(
        |_| Vec::new(),
        |runtime| runtime.block_on(registry.find_local()),
    )
}

/// A model as it is shown.
struct Row {
    info: ModelInfo,
    usable: bool,
    /// Where its provider's key is; none if there is none.
    key: Option<String>,
}

impl Row {
    fn new(registry: &Registry, info: ModelInfo, usable: bool) -> Self {
        let key = registry
            .keys()
            .into_iter()
            .find(|key| key.provider == info.model.provider)
            .map(|key| key.from);
        Self { info, usable, key }
    }

    fn abilities(&self) -> Vec<&'static str> {
        let info = &self.info;
        [
            (info.tools, "tools"),
            (info.reasoning, "think"),
            (info.images, "img"),
            (info.pdf, "pdf"),
        ]
        .into_iter()
        .filter(|(can, _)| *can)
        .map(|(_, name)| name)
        .collect()
    }

    fn line(&self) -> String {
        let info = &self.info;
        let size = |tokens: u64| {
            if info.known {
                short(tokens)
            } else {
                "?".to_owned()
            }
        };
        let price = info.price.as_ref();
        let usd = |usd: Option<f64>| usd.map_or_else(|| "?".to_owned(), |usd| format!("{usd:.2}"));
        let key = match &self.key {
            Some(from) => from.as_str(),
            None if self.usable => "not needed",
            None => "-",
        };
        format!(
            "{:<48} {:>7} {:>6}  {:<16} {:>7} {:>7} {:>7}  {key}",
            info.model.to_string(),
            size(info.context),
            size(info.max_output),
            self.abilities().join(" "),
            usd(price.map(|p| p.input)),
            usd(price.map(|p| p.cache_read)),
            usd(price.map(|p| p.output)),
        )
    }

    fn json(&self) -> Value {
        let info = &self.info;
        let price = info.price.as_ref().map(|p| {
            let tiers: Vec<Value> = p
                .tiers
                .iter()
                .map(|(above, p)| {
                    json!({"above": above, "input": p.input, "output": p.output,
                        "cache_read": p.cache_read, "cache_write": p.cache_write})
                })
                .collect();
            json!({"input": p.input, "output": p.output, "cache_read": p.cache_read,
                "cache_write": p.cache_write, "tiers": tiers})
        });
        json!({
            "model": info.model,
            "context": if info.known { json!(info.context) } else { Value::Null },
            "max_input": info.max_input,
            "max_output": if info.known { json!(info.max_output) } else { Value::Null },
            "abilities": self.abilities(),
            "input_price": info.price.as_ref().map(|p| p.input),
            "output_price": info.price.as_ref().map(|p| p.output),
            "price": price,
            "usable": self.usable,
            "key": self.key,
        })
    }
}

/// `200K`, `1.05M`: how people say the size of a window.
fn short(tokens: u64) -> String {
    if tokens >= 1_000_000 {
        let millions = format!("{:.2}", tokens as f64 / 1_000_000.0);
        let millions = millions.trim_end_matches('0').trim_end_matches('.');
        format!("{millions}M")
    } else {
        format!("{}K", tokens / 1_000)
    }
}
