//! From a base URL to the address of the requests. Pure.

use reqwest::Url;

use crate::model::decode::Wire;
use crate::protocol::{Fault, FaultKind};

/// The address of the requests of a wire under a base URL: an origin, with or without a version.
///
/// # Errors
///
/// The sentence names the address and what is wrong with it.
pub fn request_url(base: &str, wire: Wire, model: &str) -> Result<Url, Fault> {
    let bad = |why: &str| {
        Fault::new(
            FaultKind::Config,
            format!("The base URL `{base}` cannot be used: {why}."),
            "Write it as https://host or https://host/v1.",
        )
    };
    let mut url = Url::parse(base.trim()).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("it must begin with http:// or https://"));
    }
    let (version, rest) = match wire {
        Wire::Anthropic => ("v1", "messages".to_owned()),
        Wire::OpenaiChat => ("v1", "chat/completions".to_owned()),
        Wire::OpenaiResponses => ("v1", "responses".to_owned()),
        Wire::Gemini => {
            let model = model.strip_prefix("models/").unwrap_or(model);
            ("v1beta", format!("models/{model}:streamGenerateContent"))
        }
    };
    let path = url.path().trim_end_matches('/').to_owned();
    let is_version = |segment: &str| {
        let digits = segment.strip_prefix('v').unwrap_or("");
        digits.starts_with(|c: char| c.is_ascii_digit())
    };
    let path = if path.ends_with(&format!("/{rest}")) {
        path
    } else if path.split('/').any(is_version) {
        format!("{path}/{rest}")
    } else {
        format!("{path}/{version}/{rest}")
    };
    url.set_path(&path);
    if wire == Wire::Gemini {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    Ok(url)
}
