//! A server at an address: streamable HTTP, with a session, headers and an answer as a stream.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::support::world::{World, tools};

/// What was asked of the server: method, authorization, session.
type Asked = Arc<Mutex<Vec<(String, String, String)>>>;

async fn answer(State(asked): State<Asked>, headers: HeaderMap, body: String) -> Response {
    let header = |name: &str| {
        let value = headers.get(name).and_then(|v| v.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let request: Value = serde_json::from_str(&body).expect("json");
    let method = request["method"].as_str().unwrap_or_default().to_owned();
    let seen = (
        method.clone(),
        header("authorization"),
        header("mcp-session-id"),
    );
    asked.lock().expect("lock").push(seen);
    let result = match method.as_str() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "2"}}),
        "tools/list" => json!({"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "pong"}]}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    if method == "tools/call" {
        let stream = format!("event: message\ndata: {message}\n\n");
        return ([("content-type", "text/event-stream")], stream).into_response();
    }
    let head = [
        ("content-type", "application/json"),
        ("mcp-session-id", "s1"),
    ];
    (head, message.to_string()).into_response()
}

/// Serves on a thread of its own; gives its port.
fn serve(asked: Asked) -> u16 {
    let (sender, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port");
            sender
                .send(listener.local_addr().expect("an address").port())
                .expect("sent");
            let app = Router::new().route("/mcp", post(answer)).with_state(asked);
            axum::serve(listener, app).await.expect("serves");
        });
    });
    port.recv().expect("a port")
}

fn world(config: &str) -> World {
    let world = World::scripted(&json!({"steps": [
        {"calls": [{"name": "mcp__far__ping", "input": {}}]},
        {"text": "done"}
    ]}));
    std::fs::write(world.config().join("config.toml"), config).expect("a configuration");
    world
}

#[test]
fn a_server_at_an_address_is_called_in_its_session_with_our_headers() {
    let asked = Asked::default();
    let port = serve(Arc::clone(&asked));
    let mut world = world(&format!(
        "[mcp.far]\nurl = \"http://127.0.0.1:{port}/mcp\"\nstart_timeout = \"60s\"\n\
         headers = {{ Authorization = \"Bearer ${{FAR}}\" }}\n\
         [permission]\n\"mcp__far__*\" = \"allow\"\n"
    ));
    world.set("FAR", "k3y");
    let (ran, events) = world.events(&["go"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(tools(&events)[0]["state"]["output"], "pong", "{events:#?}");
    let asked = asked.lock().expect("lock").clone();
    let call = asked.iter().find(|(method, ..)| method == "tools/call");
    let (_, authorization, session) = call.expect("it was called");
    assert_eq!(
        (authorization.as_str(), session.as_str()),
        ("Bearer k3y", "s1")
    );
}

#[test]
fn an_address_where_nobody_answers_is_told() {
    let world = world("[mcp.far]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    let (_, events) = world.events(&["go"]);
    let told = events.iter().filter(|e| e["type"] == "notice");
    let texts: Vec<_> = told.filter_map(|e| e["text"].as_str()).collect();
    assert!(
        texts.iter().any(|t| t.contains("MCP server far failed")),
        "{texts:?}"
    );
}
