//! HTTPS: a server with a certificate of its own is refused, and trusted with `DUNLIN_CA_FILE`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dunlin::config::used::Config;
use dunlin::model::provider::Registry;
use dunlin::protocol::{FaultKind, ModelRef};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{CHAT_END, CHAT_MORE, CHAT_START, ask, text};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/provider/tls")
        .join(name)
}

/// Answers every request with the same short stream; ends with the test.
fn server() -> String {
    let chain = CertificateDer::from_pem_file(file("server.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(file("server.key.pem")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .expect("a key that fits");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = format!("https://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            // a client that does not trust us breaks off; that is for the test to see
            std::thread::spawn(move || drop(answer(socket, config)));
        }
    });
    origin
}

fn answer(socket: std::net::TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    let mut asked = Vec::new();
    let mut piece = [0; 4096];
    while !asked.ends_with(b"}") {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        asked.extend_from_slice(&piece[..read]);
    }
    let body = [CHAT_START, CHAT_MORE, CHAT_END].concat();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn registry(origin: &str, ca_file: Option<PathBuf>) -> Registry {
    let mut config = Config::default();
    config.turn.idle_timeout = Duration::from_secs(20);
    let settings = config
        .providers
        .entry("openai-chat".to_owned())
        .or_default();
    settings.base_url = Some(origin.to_owned());
    Registry::new(&config, &|name| match name {
        "DUNLIN_CA_FILE" => ca_file.as_ref().map(|path| path.display().to_string()),
        "OPENAI_API_KEY" => Some("secret-key".to_owned()),
        _ => None,
    })
}

fn mock() -> ModelRef {
    "openai-chat/mock".parse().expect("a model")
}

#[tokio::test]
async fn a_certificate_of_ones_own_is_trusted_only_when_it_is_named() {
    let origin = server();
    let model = registry(&origin, None).model(&mock()).expect("a model");
    let (_, fault) = ask(&*model).await;
    let fault = fault.expect("not trusted");
    assert_eq!(fault.kind, FaultKind::Network, "{fault}");
    assert!(!fault.retryable, "asking again does not help: {fault}");
    assert!(fault.hint.contains("DUNLIN_CA_FILE"), "{fault}");

    let model = registry(&origin, Some(file("ca.pem")))
        .model(&mock())
        .expect("a model");
    let (deltas, fault) = ask(&*model).await;
    assert_eq!(fault, None);
    assert_eq!(text(&deltas), "Hello");
}

#[tokio::test]
async fn a_file_without_certificates_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing here\n").expect("written");
    for path in [folder.path().join("missing.pem"), empty] {
        let name = path.display().to_string();
        let model = registry("https://127.0.0.1:9", Some(path))
            .model(&mock())
            .expect("a model");
        let (_, fault) = ask(&*model).await;
        let fault = fault.expect("no client");
        assert_eq!(fault.kind, FaultKind::Config, "{fault}");
        assert!(fault.message.contains(&name), "{fault}");
    }
}
