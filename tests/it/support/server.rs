//! A model server over HTTP: plays prepared answers as chunked SSE, keeps what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// One prepared answer.
#[derive(Debug, Clone)]
pub enum Reply {
    /// 200 with these chunks of a stream.
    Stream(Vec<String>),
    /// 200, these chunks, then the connection breaks.
    Broken(Vec<String>),
    /// 200, these chunks, then nothing more comes.
    Hang(Vec<String>),
    /// A status with headers and a body.
    Status(u16, Vec<(&'static str, String)>, String),
}

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

#[derive(Debug, Default)]
struct Shared {
    replies: Mutex<std::collections::VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    aside: Mutex<Vec<Value>>,
}

/// A running server; it ends with the test.
pub struct Server {
    pub base: String,
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Requests without tools (titles) are answered apart and do not use up a reply.
    pub fn start(replies: Vec<Reply>) -> Self {
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into()),
            asked: Mutex::new(Vec::new()),
            aside: Mutex::new(Vec::new()),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        runtime.spawn(async move {
            // It ends with the runtime.
            drop(axum::serve(listener, app).await);
        });
        Self {
            base,
            shared,
            _runtime: runtime,
        }
    }

    /// Bodies of requests without tools so far: titles, summaries.
    pub fn aside(&self) -> Vec<Value> {
        self.shared.aside.lock().expect("a lock").clone()
    }

    /// Requests of the conversation so far, titles left out.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().expect("a lock").clone()
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if body.get("tools").is_none() {
        shared.aside.lock().expect("a lock").push(body);
        return stream(vec![text("A title"), end("end_turn")], None);
    }
    let headers = headers
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_str().unwrap_or_default().to_owned()))
        .collect();
    let asked = Asked {
        path: uri.path().to_owned(),
        headers,
        body,
    };
    shared.asked.lock().expect("a lock").push(asked);
    let reply = shared.replies.lock().expect("a lock").pop_front();
    match reply {
        None => stream(vec![text("The script is over."), end("end_turn")], None),
        Some(Reply::Stream(chunks)) => stream(chunks, None),
        Some(Reply::Broken(chunks)) => stream(chunks, Some(true)),
        Some(Reply::Hang(chunks)) => stream(chunks, Some(false)),
        Some(Reply::Status(code, headers, body)) => {
            let mut response = Response::builder().status(code);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("a response")
        }
    }
}

/// `after`: none to end well, true to break off, false to hang.
fn stream(chunks: Vec<String>, after: Option<bool>) -> Response {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(16);
    tokio::spawn(async move {
        for chunk in chunks {
            if sender.send(Ok(Bytes::from(chunk))).await.is_err() {
                return;
            }
        }
        match after {
            None => {}
            Some(true) => drop(sender.send(Err(std::io::Error::other("broken"))).await),
            Some(false) => sender.closed().await,
        }
    });
    let body = futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|item| (item, receiver))
    });
    Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(body.boxed()))
        .expect("a response")
}

fn event(value: &Value) -> String {
    format!(
        "event: {}\ndata: {value}\n\n",
        value["type"].as_str().expect("a type")
    )
}

/// Anthropic: the beginning of a message and one whole text block.
pub fn text(text: &str) -> String {
    let start = json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 100, "output_tokens": 1}}});
    let block = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}});
    let delta = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": text}});
    let stop = json!({"type": "content_block_stop", "index": 0});
    [start, block, delta, stop].iter().map(event).collect()
}

/// Anthropic: a tool call as block 1.
pub fn call(id: &str, name: &str, input: &Value) -> String {
    let block = json!({"type": "content_block_start", "index": 1,
        "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}});
    let delta = json!({"type": "content_block_delta", "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": input.to_string()}});
    let stop = json!({"type": "content_block_stop", "index": 1});
    [block, delta, stop].iter().map(event).collect()
}

/// Anthropic: the end of a message.
pub fn end(reason: &str) -> String {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 20}});
    let stop = json!({"type": "message_stop"});
    [delta, stop].iter().map(event).collect()
}
