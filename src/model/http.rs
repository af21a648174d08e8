//! The only place that speaks HTTP: sends a body, reads the stream, names what went wrong.
//!
//! `WireModel` is a model behind an endpoint; the registry makes it. Clients are built when they are
//! first needed (certificates cost milliseconds), shared by all models and never before the first
//! frame. Retries belong to the agent's loop, meaning of answers to `decode` and `error`.

mod address;
mod clients;
mod trouble;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Response, Url};

pub use self::address::request_url;
pub use self::clients::Http;
pub(super) use self::clients::is_loopback;
use self::trouble::{broken, cut, refused, silent};
use super::decode::{Decoded, Decoder, Wire};
use super::delta::append;
use super::encode::{Encoder, Quirks};
use super::tape::Tape;
use super::{Answer, Delta, Model, ModelInfo, Request};
use crate::protocol::{Fault, FaultKind};

/// How long the end of the stream may take once the model has finished.
const GRACE: Duration = Duration::from_secs(1);
/// Pieces of the network that become one batch when they are there together.
const PIECES: usize = 256;
const BATCH_BYTES: usize = 64 * 1_024;
/// Text is handed over at most so often: every batch costs the rest of the program a round, up to the
/// screen, which draws 30 times a second. The first text after a silence, whatever is not text, and ends
/// of answers never wait.
const COLLECT: Duration = Duration::from_millis(32);

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
    /// What to do when the key is refused.
    pub key_hint: String,
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
        self.ask_with(request, None)
    }

    fn ask_taped(&self, request: Arc<Request>, tape: Tape) -> Answer {
        self.ask_with(request, Some(tape))
    }
}

impl WireModel {
    fn ask_with(&self, request: Arc<Request>, tape: Option<Tape>) -> Answer {
        let asking = Asking {
            tape,
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
    tape: Option<Tape>,
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
                    let mut decoding = Decoding {
                        decoder,
                        wire: self.encoder.quirks().wire,
                        tape: self.tape.as_ref(),
                    };
                    let (deltas, fault, more) =
                        read(&self.endpoint, pace, response, &mut decoding).await;
                    self.finished |= deltas.iter().any(|d| matches!(d, Delta::Finish { .. }));
                    // What fails after the model has finished takes nothing away from its answer.
                    let fault = fault.filter(|_| !self.finished);
                    self.state = match fault {
                        Some(fault) => State::Failed(fault),
                        None if more => State::Streaming(open),
                        None => State::Over,
                    };
                    if !deltas.is_empty() {
                        if let Some(tape) = &self.tape {
                            tape.batch();
                        }
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
    let mut learned = Vec::new();
    loop {
        let body: Bytes = encoder.body(request);
        let sent = client
            .post(endpoint.url.clone())
            .headers(endpoint.headers.clone())
            .body(body.clone())
            .send();
        let response = tokio::time::timeout(endpoint.idle_timeout, sent)
            .await
            .map_err(|_elapsed| silent(endpoint))?
            .map_err(|error| broken(endpoint, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (fault, words) = refused(endpoint, response).await;
        // What the endpoint does not take and the model does not need is left out; each lesson is
        // learned once, so this ends.
        let lesson = Some(&words)
            .filter(|_| fault.kind == FaultKind::BadRequest && !fault.retryable)
            .and_then(|words| encoder.learn(words, &body));
        let Some(lesson) = lesson else {
            encoder.unlearn(&learned);
            return Err(fault);
        };
        tracing::info!(
            provider = endpoint.provider,
            ?lesson,
            "asked again differently"
        );
        learned.push(lesson);
    }
}

/// How long to wait for pieces.
#[derive(Clone, Copy)]
struct Pace {
    /// For the first one, before the stream counts as silent.
    patience: Duration,
    /// When the last batch was handed over.
    last: Option<Instant>,
}

/// A decoder, and the tape that its bytes go onto.
struct Decoding<'a> {
    decoder: &'a mut Decoder,
    wire: Wire,
    tape: Option<&'a Tape>,
}

impl Decoding<'_> {
    fn feed(&mut self, bytes: &[u8]) -> Decoded {
        if let Some(tape) = self.tape {
            tape.bytes(self.wire, bytes);
        }
        self.decoder.feed(bytes)
    }

    fn finish(&mut self) -> Decoded {
        if let Some(tape) = self.tape {
            tape.finished();
        }
        self.decoder.finish()
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
    decoder: &mut Decoding<'_>,
) -> (Vec<Delta>, Option<Fault>, bool) {
    let mut deltas = Vec::new();
    let (mut bytes, mut pieces) = (0, 0);
    let Ok(mut piece) = tokio::time::timeout(pace.patience, response.chunk()).await else {
        return (deltas, Some(silent(endpoint)), false);
    };
    let due = pace.last.map(|last| last + COLLECT);
    let mut urgent = false;
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
        urgent |= is_urgent(&decoded.deltas);
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
            None if !urgent && !deltas.is_empty() => match due {
                Some(due) => tokio::time::timeout_at(due, response.chunk()).await.ok(),
                None => None,
            },
            next => next,
        };
        piece = match next {
            Some(piece) => piece,
            None => return (deltas, None, true),
        };
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
