//! Models over real connections: what is sent, what comes back, and what every way to fail is called.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod secure;
mod server;

use std::sync::Arc;
use std::time::Duration;

use dunlin::config::used::Config;
use dunlin::model::http::Http;
use dunlin::model::local;
use dunlin::model::provider::Registry;
use dunlin::model::{Block, Delta, Model, Request, RequestMessage, ToolSpec};
use dunlin::protocol::{Fault, FaultKind, Finish, IdMint, ModelRef};
use futures_util::StreamExt;
use serde_json::{Value, json};

use self::server::{Piece, Reply, Server};

const CHAT_START: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n";
const CHAT_MORE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n";
const CHAT_END: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n"
);

fn registry(provider: &str, origin: &str, idle: Duration) -> Registry {
    let mut config = Config::default();
    config.turn.idle_timeout = idle;
    let settings = config.providers.entry(provider.to_owned()).or_default();
    settings.base_url = Some(origin.to_owned());
    Registry::new(&config, &|name| {
        name.ends_with("_API_KEY").then(|| "secret-key".to_owned())
    })
}

fn model(provider: &str, origin: &str) -> Arc<dyn Model> {
    let name = ModelRef {
        provider: provider.to_owned(),
        model: "mock".to_owned(),
    };
    registry(provider, origin, Duration::from_secs(20))
        .model(&name)
        .expect("a model")
}

fn request(model: &dyn Model) -> Arc<Request> {
    let model = model.info().model.clone();
    Arc::new(Request {
        system_stable: Arc::from("You are dunlin."),
        system_dynamic: Arc::from(""),
        messages: vec![Arc::new(RequestMessage {
            assistant: false,
            blocks: vec![Block::Text("Hi".to_owned())],
            model: model.clone(),
        })]
        .into(),
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }]
        .into(),
        max_output: 100,
        effort: None,
        session: IdMint::new(1, 0).session(1),
        place: None,
        model,
    })
}

/// All deltas and the fault, if there was one.
async fn ask(model: &dyn Model) -> (Vec<Delta>, Option<Fault>) {
    let mut stream = model.ask(request(model));
    let mut deltas = Vec::new();
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => deltas.extend(batch),
            Err(fault) => {
                assert!(stream.next().await.is_none(), "a fault ends the stream");
                return (deltas, Some(fault));
            }
        }
    }
    (deltas, None)
}

fn text(deltas: &[Delta]) -> String {
    deltas
        .iter()
        .map(|d| match d {
            Delta::Text { text, .. } => text.as_str(),
            _ => "",
        })
        .collect()
}

fn finish(deltas: &[Delta]) -> Option<Finish> {
    deltas.iter().find_map(|d| match d {
        Delta::Finish { reason, .. } => Some(*reason),
        _ => None,
    })
}

async fn fault_of(reply: Reply) -> Fault {
    let server = Server::start(vec![reply]).await;
    let (_, fault) = ask(&*model("openai-chat", &server.origin)).await;
    fault.expect("a fault")
}

#[tokio::test]
async fn every_wire_asks_at_its_address_with_its_key_and_reads_its_stream() {
    let anthropic = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",",
        "\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
        "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":",
        "\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
    );
    let responses = concat!(
        "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":",
        "{\"type\":\"message\",\"id\":\"i\",\"role\":\"assistant\",\"content\":[]}}\n\n",
        "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,",
        "\"item_id\":\"i\",\"delta\":\"Hello\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":",
        "{\"type\":\"message\",\"id\":\"i\",\"role\":\"assistant\",\"content\":[{\"type\":",
        "\"output_text\",\"text\":\"Hello\"}]}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[],",
        "\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}}\n\n"
    );
    let gemini = concat!(
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hello\"}]},",
        "\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,",
        "\"candidatesTokenCount\":2}}\r\n\r\n"
    );
    let chat = format!("{CHAT_START}{CHAT_MORE}{CHAT_END}");
    for (provider, body, line, key, list) in [
        (
            "anthropic",
            anthropic,
            "POST /v1/messages ",
            "x-api-key: secret-key",
            "messages",
        ),
        (
            "openai-chat",
            &chat,
            "POST /v1/chat/completions ",
            "authorization: Bearer secret-key",
            "messages",
        ),
        (
            "openai",
            responses,
            "POST /v1/responses ",
            "authorization: Bearer secret-key",
            "input",
        ),
        (
            "gemini",
            gemini,
            "POST /v1beta/models/mock:streamGenerateContent?alt=sse ",
            "x-goog-api-key: secret-key",
            "contents",
        ),
    ] {
        let server = Server::start(vec![Reply::stream(&[body])]).await;
        let (deltas, fault) = ask(&*model(provider, &server.origin)).await;
        assert_eq!(fault, None, "{provider}");
        assert_eq!(text(&deltas), "Hello", "{provider}");
        assert_eq!(finish(&deltas), Some(Finish::Stop), "{provider}");
        assert!(
            deltas
                .iter()
                .any(|d| matches!(d, Delta::Usage(u) if u.output == Some(2))),
            "{provider}"
        );
        let asked = server.asked();
        assert!(asked[0].head.starts_with(line), "{}", asked[0].head);
        assert!(asked[0].head.contains(key), "{}", asked[0].head);
        let sent: Value = serde_json::from_str(&asked[0].body).expect("JSON");
        assert!(
            sent[list].as_array().is_some_and(|l| !l.is_empty()),
            "{sent}"
        );
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let body = format!("{CHAT_START}{CHAT_END}");
    let server = Server::start(vec![Reply::stream(&[&body])]).await;
    let model = model("openai-chat", &server.origin);
    for _ in 0..3 {
        assert_eq!(ask(&*model).await.1, None);
    }
    let connections: Vec<usize> = server.asked().iter().map(|a| a.connection).collect();
    assert_eq!(connections, [1, 1, 1]);
}

#[tokio::test]
async fn many_small_pieces_come_in_few_batches() {
    let mut chunks = vec![CHAT_START];
    chunks.extend(std::iter::repeat_n(CHAT_MORE, 5_000));
    chunks.push(CHAT_END);
    let server = Server::start(vec![Reply::stream(&chunks)]).await;
    let model = model("openai-chat", &server.origin);
    let mut stream = model.ask(request(&*model));
    let (mut batches, mut length) = (0, 0);
    while let Some(batch) = stream.next().await {
        batches += 1;
        length += text(&batch.expect("no fault")).len();
    }
    assert_eq!(length, 3 + 5_000 * 2);
    assert!(batches < 500, "{batches} batches");
}

#[tokio::test]
async fn error_statuses_are_classified_with_their_delays() {
    let body = "{\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_error\"}}";
    let limited = fault_of(
        Reply::stream(&[body])
            .status(429)
            .header("content-type", "application/json")
            .header("retry-after", "2"),
    )
    .await;
    assert_eq!(limited.kind, FaultKind::RateLimit);
    assert_eq!(
        (limited.retryable, limited.retry_after_ms),
        (true, Some(2_000))
    );
    let full =
        fault_of(Reply::stream(&["{\"error\":{\"type\":\"overloaded_error\"}}"]).status(529)).await;
    assert_eq!((full.kind, full.retryable), (FaultKind::Overloaded, true));
    let bad =
        fault_of(Reply::stream(&["{\"error\":{\"message\":\"no such key\"}}"]).status(401)).await;
    assert_eq!((bad.kind, bad.retryable), (FaultKind::Auth, false));
    let moved = fault_of(Reply::stream(&[""]).status(302).header("location", "/x")).await;
    assert_eq!(moved.status, Some(302));
}

#[tokio::test]
async fn a_broken_connection_keeps_what_was_said() {
    let reply = Reply::stream(&[CHAT_START, CHAT_MORE]).ending(Piece::Break);
    let server = Server::start(vec![reply]).await;
    let (deltas, fault) = ask(&*model("openai-chat", &server.origin)).await;
    assert_eq!(text(&deltas), "Hello");
    let fault = fault.expect("cut off");
    assert_eq!(
        (fault.kind, fault.retryable),
        (FaultKind::StreamTruncated, true)
    );
}

#[tokio::test]
async fn a_stream_that_ends_early_is_truncated() {
    let fault = fault_of(Reply::stream(&[CHAT_START, CHAT_MORE])).await;
    assert_eq!(
        (fault.kind, fault.retryable),
        (FaultKind::StreamTruncated, true)
    );
}

#[tokio::test]
async fn a_silent_stream_times_out() {
    let reply = Reply::stream(&[CHAT_START]).ending(Piece::Stall);
    let server = Server::start(vec![reply]).await;
    let registry = registry("openai-chat", &server.origin, Duration::from_millis(80));
    let model = registry
        .model(&"openai-chat/mock".parse().expect("a model"))
        .expect("made");
    let (deltas, fault) = ask(&*model).await;
    assert_eq!(text(&deltas), "Hel");
    let fault = fault.expect("timed out");
    assert_eq!((fault.kind, fault.retryable), (FaultKind::Timeout, true));
    server.wait_for_a_client_that_left().await;
}

#[tokio::test]
async fn a_finished_answer_is_whole_even_if_the_connection_never_ends() {
    let body = format!("{CHAT_START}{CHAT_END}");
    let reply = Reply::stream(&[&body]).ending(Piece::Stall);
    let server = Server::start(vec![reply]).await;
    let (deltas, fault) = ask(&*model("openai-chat", &server.origin)).await;
    assert_eq!((text(&deltas).as_str(), fault), ("Hel", None));
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_request() {
    let reply = Reply::stream(&[CHAT_START]).ending(Piece::Stall);
    let server = Server::start(vec![reply]).await;
    let model = model("openai-chat", &server.origin);
    let mut stream = model.ask(request(&*model));
    assert!(stream.next().await.is_some_and(|batch| batch.is_ok()));
    drop(stream);
    server.wait_for_a_client_that_left().await;
}

#[tokio::test]
async fn nonsense_errors_and_pages_with_status_200_are_faults() {
    let nonsense = fault_of(Reply::stream(&[
        CHAT_START,
        "data: {\"choices\": oops\n\n",
        CHAT_END,
    ]))
    .await;
    assert_eq!(nonsense.kind, FaultKind::Protocol);
    let error = "{\"error\":{\"message\":\"Insufficient credits\",\"code\":402}}";
    let json = fault_of(Reply::stream(&[error]).header("content-type", "application/json")).await;
    assert_eq!(json.kind, FaultKind::Quota, "{json}");
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let html = fault_of(Reply::stream(&[page]).header("content-type", "text/html")).await;
    assert!(!html.message.contains("<html>"), "{html}");
}

#[tokio::test]
async fn no_server_is_a_fault_of_the_network_that_names_the_place() {
    // bound and closed again: nobody listens there
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = format!("http://{}", listener.local_addr().expect("bound"));
    drop(listener);
    let (_, fault) = ask(&*model("ollama", &origin)).await;
    let fault = fault.expect("refused");
    assert_eq!((fault.kind, fault.retryable), (FaultKind::Network, true));
    assert!(fault.message.contains("127.0.0.1"), "{fault}");
    assert!(fault.hint.contains("Start the server"), "{fault}");
    assert!(!fault.to_string().contains("secret-key"), "{fault}");
}

#[tokio::test]
async fn local_servers_are_found_with_their_models() {
    let list = "{\"data\":[{\"id\":\"qwen3:8b\"},{\"id\":\"nomic-embed-text\"}]}";
    let good = Server::start(vec![Reply::stream(&[list])]).await;
    let silent = Server::start(vec![Reply::stream(&[""]).ending(Piece::Stall)]).await;
    let page = Server::start(vec![Reply::stream(&["<html>"])]).await;
    let servers = [
        ("llamacpp", "llama.cpp", page.origin.as_str()),
        ("lmstudio", "LM Studio", silent.origin.as_str()),
        ("ollama", "Ollama", good.origin.as_str()),
    ];
    let found = local::find(&Http::new(None), &servers).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].models,
        ["ollama/qwen3:8b".parse().expect("a model")]
    );
}

fn refusal(message: &str) -> Reply {
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    Reply::stream(&[&body.to_string()])
        .status(400)
        .header("content-type", "application/json")
}

#[tokio::test]
async fn what_an_endpoint_does_not_take_is_left_out_and_asked_again_at_once() {
    let server = Server::start(vec![
        refusal("acme does not support parameters: ['prompt_cache_key'], for model=mock."),
        refusal("Unsupported parameter: 'max_completion_tokens' is not supported with this model."),
        Reply::stream(&[CHAT_START, CHAT_MORE, CHAT_END]),
    ])
    .await;
    let model = model("openai-chat", &server.origin);
    let (deltas, fault) = ask(&*model).await;
    assert_eq!((text(&deltas).as_str(), fault), ("Hello", None));
    let (_, fault) = ask(&*model).await;
    assert_eq!(fault, None);
    let bodies: Vec<Value> = server
        .asked()
        .iter()
        .map(|asked| serde_json::from_str(&asked.body).expect("JSON"))
        .collect();
    assert_eq!(bodies.len(), 4, "the second request knows at once");
    assert!(bodies[0].get("prompt_cache_key").is_some());
    assert!(bodies[1].get("prompt_cache_key").is_none());
    for body in &bodies[2..] {
        assert!(body.get("prompt_cache_key").is_none());
        assert!(body.get("max_completion_tokens").is_none());
        assert_eq!(body["max_tokens"], 100);
        assert_eq!(body["messages"], bodies[0]["messages"]);
    }
}

#[tokio::test]
async fn a_refusal_that_leaving_out_does_not_mend_is_shown_and_nothing_is_learned() {
    let server = Server::start(vec![
        refusal("unknown parameter: stream_options"),
        refusal("messages.0: unknown role"),
        Reply::stream(&[CHAT_START, CHAT_MORE, CHAT_END]),
    ])
    .await;
    let model = model("openai-chat", &server.origin);
    let (_, fault) = ask(&*model).await;
    let fault = fault.expect("a fault");
    assert!(fault.message.contains("unknown role"), "{fault}");
    assert_eq!(ask(&*model).await.1, None);
    let asked = server.asked();
    assert!(!asked[1].body.contains("stream_options"));
    assert!(asked[2].body.contains("stream_options"));
}

#[tokio::test]
async fn a_refused_key_says_where_it_came_from() {
    let body = json!({"error": {"message": "Invalid API Key", "type": "authentication_error"}});
    let fault = fault_of(Reply::stream(&[&body.to_string()]).status(401)).await;
    assert_eq!(fault.kind, FaultKind::Auth);
    assert!(fault.hint.contains("came from OPENAI_API_KEY"), "{fault}");
    assert!(!fault.to_string().contains("secret-key"), "{fault}");
}
