//! The tool against a server on this machine, with private addresses allowed; and without.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::config::used::WebSettings;
use crate::model::http::Http;
use crate::tools::blocking::Blocking;
use crate::tools::test_world::World;
use crate::tools::{BlobSink, Failure, Need, Success, Tool};
use crate::web::Web;

/// Serves what `answer` gives for a path, each connection once; `None` says nothing at all.
fn server(answer: fn(&str) -> Option<Vec<u8>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                let mut request = vec![0; 4_096];
                let count = stream.read(&mut request).unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..count]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                match answer(&path) {
                    // the client may have gone after it had enough
                    Some(bytes) => drop(stream.write_all(&bytes)),
                    // until the client gives up
                    None => drop(stream.read(&mut [0])),
                }
            });
        }
    });
    address
}

fn http(status: &str, mime: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {mime}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn moved(to: &str) -> Vec<u8> {
    let answer = format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    answer.into_bytes()
}

fn tool(private: bool) -> WebFetch {
    let settings = WebSettings {
        private,
        timeout: Duration::from_secs(20),
        max_bytes: 100_000,
    };
    let web = Web::new(settings, Arc::new(Http::new(None)));
    WebFetch::new(Arc::new(web), Blocking::new(2))
}

async fn fetch(address: SocketAddr, path: &str) -> Result<Success, Failure> {
    let url = format!("http://{address}{path}");
    World::new().call(&tool(true), json!({"url": url})).await
}

fn site(path: &str) -> Option<Vec<u8>> {
    Some(match path {
        "/page" => http(
            "200 OK",
            "text/html; charset=utf-8",
            b"<title>T</title><h2>Head</h2><p>Text",
        ),
        "/json" => http("200 OK", "application/json", b"{\"a\": [1]}"),
        "/binary" => http("200 OK", "application/zip", b"PK\x03\x04\0\0"),
        "/gone" => http("404 Not Found", "text/html", b"<h1>No such page</h1>"),
        "/here" => moved("/page"),
        "/round" => moved("/round"),
        "/away" => moved("http://elsewhere.example/x"),
        "/scheme" => moved("file:///etc/passwd"),
        "/long" => http(
            "200 OK",
            "text/plain",
            "0123456789\n".repeat(30_000).as_bytes(),
        ),
        "/image" => http("200 OK", "image/png", b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;"),
        _ => return None,
    })
}

#[tokio::test]
async fn a_page_comes_as_markdown_and_other_text_as_it_is() {
    let address = server(site);
    let page = fetch(address, "/page").await.expect("a page");
    assert_eq!(
        page.output,
        format!("http://{address}/page\n\n# T\n\n## Head\n\nText\n")
    );
    assert_eq!(page.metadata["mime"], "text/html");
    let json = fetch(address, "/json").await.expect("json");
    assert!(
        json.output.ends_with("\n\n{\"a\": [1]}\n"),
        "{}",
        json.output
    );
    let raw = World::new()
        .call(
            &tool(true),
            json!({"url": format!("http://{address}/page"), "format": "html"}),
        )
        .await
        .expect("html");
    assert!(raw.output.contains("<h2>Head</h2>"), "{}", raw.output);
}

#[tokio::test]
async fn redirects_are_followed_within_a_site_and_told_beyond_it() {
    let address = server(site);
    let page = fetch(address, "/here").await.expect("followed");
    assert!(page.output.contains("## Head"));
    assert_eq!(page.metadata["url"], format!("http://{address}/page"));
    let away = fetch(address, "/away").await.expect("told");
    assert_eq!(away.metadata["moved"], "http://elsewhere.example/x");
    let round = fetch(address, "/round").await.expect_err("endless");
    assert!(
        round.message.contains("more than 10 times"),
        "{}",
        round.message
    );
    let scheme = fetch(address, "/scheme").await.expect_err("no http");
    assert!(scheme.message.contains("only http"), "{}", scheme.message);
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_a_long_page_is_cut() {
    let address = server(site);
    let gone = fetch(address, "/gone").await.expect_err("404");
    assert!(
        gone.message.contains("status 404") && gone.message.contains("No such page"),
        "{}",
        gone.message
    );
    let binary = fetch(address, "/binary").await.expect_err("a zip file");
    assert!(
        binary.message.contains("application/zip"),
        "{}",
        binary.message
    );
    let long = fetch(address, "/long").await.expect("cut");
    assert_eq!(long.metadata["cut"], true);
    assert_eq!(long.metadata["bytes"], 100_000);
    assert!(long.truncated.is_some(), "tier 1 holds for pages too");
    assert!(long.output.len() < 60_000);
}

/// Keeps nothing, but says where it would be.
#[derive(Debug)]
struct Kept;

impl BlobSink for Kept {
    fn keep(&self, _mime: &str, _bytes: &[u8]) -> Result<crate::protocol::FileSource, String> {
        Ok(crate::protocol::FileSource::Path("kept".to_owned()))
    }
}

#[tokio::test]
async fn an_image_becomes_an_attachment() {
    let address = server(site);
    let mut world = World::new();
    world.context.blobs = Some(Arc::new(Kept));
    let url = format!("http://{address}/image");
    let image = world
        .call(&tool(true), json!({"url": url}))
        .await
        .expect("an image");
    assert_eq!(image.attachments.len(), 1);
    // by its bytes, whatever the server says
    assert_eq!(image.attachments[0].mime, "image/gif");
    assert!(image.output.contains("is attached"), "{}", image.output);
}

#[tokio::test]
async fn private_addresses_are_refused_before_anything_is_sent() {
    let address = server(|_| panic!("nothing may be sent"));
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/page", address.port());
        let refused = World::new()
            .call(&tool(false), json!({"url": url}))
            .await
            .expect_err("private");
        assert!(
            refused.message.contains("no public address"),
            "{host}: {}",
            refused.message
        );
    }
}

#[tokio::test]
async fn a_fetch_that_is_cancelled_ends_at_once_and_a_slow_one_at_its_limit() {
    let address = server(|_| None);
    let world = World::new();
    let url = format!("http://{address}/silent");
    let cancel = world.context.cancel.clone();
    let tool = tool(true);
    let fetching = world.call(&tool, json!({"url": url}));
    let (done, ()) = tokio::join!(fetching, async { cancel.cancel() });
    let failure = done.expect_err("cancelled");
    assert!(
        failure.message.contains("interrupted"),
        "{}",
        failure.message
    );
    let settings = WebSettings {
        private: true,
        timeout: Duration::from_millis(50),
        ..WebSettings::default()
    };
    let web = Web::new(settings, Arc::new(Http::new(None)));
    let slow = web.get(&url).await.expect_err("too slow");
    assert!(slow.contains("longer than 0.05 s"), "{slow}");
}

#[test]
fn it_asks_for_the_address_and_changes_nothing() {
    let world = World::new();
    let access = tool(false)
        .access(&json!({"url": "docs.rs/x"}), &world.context)
        .expect("fine");
    assert_eq!(access.needs, [Need::Fetch("https://docs.rs/x".to_owned())]);
    assert!(!access.can_write);
    let bad = tool(false).access(&json!({"url": "file:///x"}), &world.context);
    assert!(bad.is_err());
}
