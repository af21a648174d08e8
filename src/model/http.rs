//! The only place that speaks HTTP: sends a body, reads the stream, names what went wrong.
//!
//! `WireModel` is a model behind an endpoint; the registry makes it. Clients are built when they are
//! first needed (certificates cost milliseconds), shared by all models and never before the first
//! frame. Retries belong to the agent's loop, meaning of answers to `decode` and `error`.

use std::error::Error as _;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Certificate, Client, ClientBuilder, Response, Url};

use super::decode::{Decoder, Wire};
use super::encode::{Encoder, Quirks};
use super::{Answer, Delta, Model, ModelInfo, Request};
use crate::protocol::{Fault, FaultKind};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the body of an error answer may take, and how much of it is read.
const ERROR_TIMEOUT: Duration = Duration::from_secs(10);
const ERROR_LIMIT: usize = 256 * 1_024;
/// How long the end of the stream may take once the model has finished.
const GRACE: Duration = Duration::from_secs(1);
/// Pieces of the network that become one batch when they are there together.
const PIECES: usize = 256;
const BATCH_BYTES: usize = 64 * 1_024;
/// When batches follow each other faster than this, the next one is collected for a moment: every
/// batch costs the rest of the program a round. Slow streams and ends of answers never wait.
const BURST: Duration = Duration::from_millis(2);
const COLLECT: Duration = Duration::from_millis(4);

/// The shared clients.
#[derive(Debug, Default)]
pub struct Http {
    ca_file: Option<PathBuf>,
    loopback: OnceLock<Result<Client, String>>,
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl Http {
    /// Clients that also trust the certificates in this PEM file (`DUNLIN_CA_FILE`). The system's
    /// store, `SSL_CERT_FILE` and proxies of the environment are respected anyway.
    pub fn new(ca_file: Option<PathBuf>) -> Self {
        Self {
            ca_file,
            ..Self::default()
        }
    }

    /// Builds the client for secure connections now. Costs milliseconds: call it off the UI thread,
    /// before the user sends the first prompt.
    pub fn warm(&self) {
        if self.secure().is_err() {
            tracing::warn!("the HTTPS client could not be built; the first request will tell why");
        }
    }

    /// The client for this address.
    pub(super) fn client(&self, url: &Url) -> Result<&Client, Fault> {
        let built = if url.scheme() == "http" {
            let no_certificates = || base().tls_certs_only(Vec::new());
            if is_loopback(url) {
                // A proxy of the environment has no business on this machine.
                self.loopback
                    .get_or_init(|| finish(no_certificates().no_proxy()))
            } else {
                self.plain.get_or_init(|| finish(no_certificates()))
            }
        } else {
            self.secure()
        };
        built.as_ref().map_err(|cause| {
            Fault::new(
                FaultKind::Config,
                format!("The HTTPS client could not be built: {cause}."),
                "Check the certificates that DUNLIN_CA_FILE or SSL_CERT_FILE name and the proxy settings.",
            )
        })
    }

    fn secure(&self) -> &Result<Client, String> {
        self.secure.get_or_init(|| {
            let own = self.own_certificates()?;
            finish(base().tls_certs_merge(own.clone())).or_else(|_no_store| {
                // No certificate store on this machine (containers): Mozilla's roots.
                let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
                let roots = roots
                    .iter()
                    .filter_map(|der| Certificate::from_der(der).ok());
                finish(base().tls_certs_only(roots.chain(own)))
            })
        })
    }

    fn own_certificates(&self) -> Result<Vec<Certificate>, String> {
        let Some(path) = &self.ca_file else {
            return Ok(Vec::new());
        };
        let name = path.display();
        let pem = std::fs::read(path).map_err(|e| format!("{name} cannot be read: {e}"))?;
        let certificates = Certificate::from_pem_bundle(&pem)
            .map_err(|e| format!("{name} holds no certificates: {e}"))?;
        if certificates.is_empty() {
            return Err(format!("{name} holds no certificates"));
        }
        Ok(certificates)
    }
}

fn base() -> ClientBuilder {
    // Installing twice fails harmlessly: the first one stays.
    let installed = rustls::crypto::ring::default_provider().install_default();
    drop(installed);
    Client::builder()
        .user_agent(concat!("dunlin/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .redirect(reqwest::redirect::Policy::none())
        // Compressed events may be held back by servers.
        .no_gzip()
}

fn finish(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| innermost(&error))
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|ip| ip.is_loopback()),
        None => false,
    }
}

/// Where a model is reached.
#[derive(Clone)]
pub struct Endpoint {
    /// Provider id, for messages.
    pub provider: String,
    /// Full address of the requests.
    pub url: Url,
    /// Headers, keys among them.
    pub headers: HeaderMap,
    /// A stream that is silent for so long has timed out.
    pub idle_timeout: Duration,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

/// A model behind an endpoint.
#[derive(Debug)]
pub struct WireModel {
    info: ModelInfo,
    http: Arc<Http>,
    endpoint: Arc<Endpoint>,
    encoder: Arc<Encoder>,
}

impl WireModel {
    /// A model of this endpoint.
    pub fn new(info: ModelInfo, http: Arc<Http>, mut endpoint: Endpoint, quirks: Quirks) -> Self {
        let headers = &mut endpoint.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        Self {
            info,
            http,
            endpoint: Arc::new(endpoint),
            encoder: Arc::new(Encoder::new(quirks)),
        }
    }

    /// Encodes requests to this model; `prefix_form` is for the cache ledger.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Where it is reached.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Model for WireModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn ask(&self, request: Arc<Request>) -> Answer {
        let asking = Asking {
            http: Arc::clone(&self.http),
            endpoint: Arc::clone(&self.endpoint),
            encoder: Arc::clone(&self.encoder),
            state: State::New(request),
            finished: false,
            last: None,
        };
        stream::unfold(asking, |mut asking| async move {
            let item = asking.next().await?;
            Some((item, asking))
        })
        .boxed()
    }
}

struct Asking {
    http: Arc<Http>,
    endpoint: Arc<Endpoint>,
    encoder: Arc<Encoder>,
    state: State,
    /// True once the model has said why it ended.
    finished: bool,
    /// When the last batch was handed over.
    last: Option<Instant>,
}

enum State {
    New(Arc<Request>),
    Streaming(Box<(Response, Decoder)>),
    Failed(Fault),
    Over,
}

impl Asking {
    async fn next(&mut self) -> Option<Result<Vec<Delta>, Fault>> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Failed(fault) => return Some(Err(fault)),
                State::New(request) => {
                    match send(&self.http, &self.endpoint, &self.encoder, &request).await {
                        Ok(response) => {
                            let wire = self.encoder.quirks().wire;
                            let decoder = Decoder::new(wire);
                            self.state = State::Streaming(Box::new((response, decoder)));
                        }
                        Err(fault) => return Some(Err(fault)),
                    }
                }
                State::Streaming(mut open) => {
                    let pace = Pace {
                        patience: if self.finished {
                            GRACE
                        } else {
                            self.endpoint.idle_timeout
                        },
                        last: self.last,
                    };
                    let (response, decoder) = &mut *open;
                    let (deltas, fault, more) = read(&self.endpoint, pace, response, decoder).await;
                    self.finished |= deltas.iter().any(|d| matches!(d, Delta::Finish { .. }));
                    // What fails after the model has finished takes nothing away from its answer.
                    let fault = fault.filter(|_| !self.finished);
                    self.state = match fault {
                        Some(fault) => State::Failed(fault),
                        None if more => State::Streaming(open),
                        None => State::Over,
                    };
                    if !deltas.is_empty() {
                        self.last = Some(Instant::now());
                        return Some(Ok(deltas));
                    }
                }
            }
        }
    }
}

async fn send(
    http: &Http,
    endpoint: &Endpoint,
    encoder: &Encoder,
    request: &Request,
) -> Result<Response, Fault> {
    let client = http.client(&endpoint.url)?;
    let body: Bytes = encoder.body(request);
    let sent = client
        .post(endpoint.url.clone())
        .headers(endpoint.headers.clone())
        .body(body)
        .send();
    let response = tokio::time::timeout(endpoint.idle_timeout, sent)
        .await
        .map_err(|_elapsed| silent(endpoint))?
        .map_err(|error| broken(endpoint, &error))?;
    if response.status().is_success() {
        return Ok(response);
    }
    Err(refused(endpoint, response).await)
}

/// How long to wait for pieces.
#[derive(Clone, Copy)]
struct Pace {
    /// For the first one, before the stream counts as silent.
    patience: Duration,
    /// When the last batch was handed over.
    last: Option<Instant>,
}

/// Adds deltas, joining what continues the delta before.
fn append(deltas: &mut Vec<Delta>, more: Vec<Delta>) {
    for delta in more {
        match (deltas.last_mut(), delta) {
            (
                Some(Delta::Text { block, text }),
                Delta::Text {
                    block: same,
                    text: more,
                },
            ) if *block == same => text.push_str(&more),
            (
                Some(Delta::Reasoning { block, text }),
                Delta::Reasoning {
                    block: same,
                    text: more,
                },
            ) if *block == same => text.push_str(&more),
            (
                Some(Delta::CallArguments { block, json }),
                Delta::CallArguments {
                    block: same,
                    json: more,
                },
            ) if *block == same => json.push_str(&more),
            (_, delta) => deltas.push(delta),
        }
    }
}

/// True for what the loop acts on: it is handed over at once.
fn is_urgent(deltas: &[Delta]) -> bool {
    deltas.iter().any(|delta| {
        !matches!(
            delta,
            Delta::Text { .. } | Delta::Reasoning { .. } | Delta::CallArguments { .. }
        )
    })
}

/// Reads what is there: the deltas, a fault, and whether more may come.
async fn read(
    endpoint: &Endpoint,
    pace: Pace,
    response: &mut Response,
    decoder: &mut Decoder,
) -> (Vec<Delta>, Option<Fault>, bool) {
    let mut deltas = Vec::new();
    let (mut bytes, mut pieces) = (0, 0);
    let Ok(mut piece) = tokio::time::timeout(pace.patience, response.chunk()).await else {
        return (deltas, Some(silent(endpoint)), false);
    };
    let start = Instant::now();
    let burst = pace.last.is_some_and(|last| start - last < BURST);
    loop {
        let decoded = match piece {
            Ok(Some(chunk)) => {
                bytes += chunk.len();
                decoder.feed(&chunk)
            }
            Ok(None) => {
                let decoded = decoder.finish();
                append(&mut deltas, decoded.deltas);
                return (deltas, decoded.fault, false);
            }
            Err(error) => {
                // An answer that was complete before the connection broke is complete.
                let decoded = decoder.finish();
                append(&mut deltas, decoded.deltas);
                let fault = decoded.fault.map(|_cut| cut(endpoint, &error));
                return (deltas, fault, false);
            }
        };
        let urgent = is_urgent(&decoded.deltas);
        append(&mut deltas, decoded.deltas);
        if let Some(fault) = decoded.fault {
            return (deltas, Some(fault), false);
        }
        pieces += 1;
        if bytes >= BATCH_BYTES || pieces >= PIECES {
            return (deltas, None, true);
        }
        // Servers send one event per piece; what has arrived already is taken along. The connection's
        // task hands over one piece at a time, so it gets its turn first.
        tokio::task::yield_now().await;
        let next = match response.chunk().now_or_never() {
            None if burst && !urgent && !deltas.is_empty() => {
                let left = COLLECT.saturating_sub(start.elapsed());
                tokio::time::timeout(left, response.chunk()).await.ok()
            }
            next => next,
        };
        piece = match next {
            Some(piece) => piece,
            None => return (deltas, None, true),
        };
    }
}

async fn refused(endpoint: &Endpoint, mut response: Response) -> Fault {
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
    super::error::classify(&endpoint.provider, status, &headers, &body)
}

fn host(endpoint: &Endpoint) -> String {
    let url = &endpoint.url;
    let host = url.host_str().unwrap_or("the provider");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn silent(endpoint: &Endpoint) -> Fault {
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

fn cut(endpoint: &Endpoint, error: &reqwest::Error) -> Fault {
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

fn broken(endpoint: &Endpoint, error: &reqwest::Error) -> Fault {
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
fn innermost(error: &reqwest::Error) -> String {
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

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
