//! What a failed request is called: refused answers, silence, broken connections.
//!
//! Faults name the provider and the host, never the whole address or a header: keys may be in there.

use std::error::Error as _;
use std::time::Duration;

use reqwest::Response;

use super::Endpoint;
use super::clients::is_loopback;
use crate::model::error::classify;
use crate::protocol::{Fault, FaultKind};

/// How long the body of an error answer may take, and how much of it is read.
const ERROR_TIMEOUT: Duration = Duration::from_secs(10);
const ERROR_LIMIT: usize = 256 * 1_024;

/// An answer with an error status, and the whole of its words.
pub(super) async fn refused(endpoint: &Endpoint, mut response: Response) -> (Fault, String) {
    let status = response.status().as_u16();
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= ERROR_LIMIT {
                break;
            }
        }
    };
    // Half an explanation is better than none.
    if tokio::time::timeout(ERROR_TIMEOUT, reading).await.is_err() {
        tracing::debug!("the body of an error answer took too long");
    }
    let mut fault = classify(&endpoint.provider, status, &headers, &body);
    if fault.kind == FaultKind::Auth && !endpoint.key_hint.is_empty() {
        fault.hint.clone_from(&endpoint.key_hint);
    }
    (fault, String::from_utf8_lossy(&body).into_owned())
}

fn host(endpoint: &Endpoint) -> String {
    let url = &endpoint.url;
    let host = url.host_str().unwrap_or("the provider");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

pub(super) fn silent(endpoint: &Endpoint) -> Fault {
    Fault::new(
        FaultKind::Timeout,
        format!(
            "Nothing came from {} ({}) for {} s.",
            endpoint.provider,
            host(endpoint),
            endpoint.idle_timeout.as_secs()
        ),
        "It is asked again; `loop.idle_timeout` sets how long to wait.",
    )
    .retryable()
}

pub(super) fn cut(endpoint: &Endpoint, error: &reqwest::Error) -> Fault {
    Fault::new(
        FaultKind::StreamTruncated,
        format!(
            "The connection to {} ({}) broke before the answer was complete: {}.",
            endpoint.provider,
            host(endpoint),
            innermost(error)
        ),
        "It is asked again.",
    )
    .retryable()
}

pub(super) fn broken(endpoint: &Endpoint, error: &reqwest::Error) -> Fault {
    let cause = innermost(error);
    let (provider, host) = (&endpoint.provider, host(endpoint));
    if error.is_builder() {
        return Fault::new(
            FaultKind::Config,
            format!("The request to {provider} could not be made: {cause}."),
            format!("Check `base_url` and `headers` of provider `{provider}`."),
        );
    }
    if cause.contains("certificate") {
        return Fault::new(
            FaultKind::Network,
            format!("The certificate of {host} ({provider}) is not trusted: {cause}."),
            "If it belongs to your proxy or server, name its PEM file in DUNLIN_CA_FILE.",
        );
    }
    let kind = if error.is_timeout() {
        FaultKind::Timeout
    } else {
        FaultKind::Network
    };
    let local = is_loopback(&endpoint.url);
    let hint = if local && error.is_connect() {
        format!("Start the server, or correct `base_url` of provider `{provider}`.")
    } else {
        "Check the network and the proxy settings.".to_owned()
    };
    let what = if error.is_connect() {
        format!("No connection to {provider} ({host}): {cause}.")
    } else {
        format!("The request to {provider} ({host}) failed: {cause}.")
    };
    Fault::new(kind, what, hint).retryable()
}

/// The cause at the bottom: the outer ones only say that something failed, and may hold the address.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut text = None;
    let mut source = error.source();
    while let Some(cause) = source {
        text = Some(cause.to_string());
        source = cause.source();
    }
    let text = text.unwrap_or_else(|| {
        if error.is_timeout() {
            "it took too long".to_owned()
        } else {
            "no reason is known".to_owned()
        }
    });
    text.trim_end_matches('.').chars().take(300).collect()
}
