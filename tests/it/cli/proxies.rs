//! Proxies of the environment: used for servers elsewhere, not for what `NO_PROXY` names, never for this
//! machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use crate::support::server::{Reply, Server, end, text};
use crate::support::world::{Ran, World};

fn world(base: &str) -> World {
    let mut w = World::new();
    w.set("ANTHROPIC_API_KEY", "sk-ant-test");
    w.set("ANTHROPIC_BASE_URL", base);
    w
}

/// A proxy that refuses everything and tells what it was asked.
fn refusing() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut first = String::new();
            let read = BufReader::new(&socket).read_line(&mut first);
            drop(read);
            drop(tell.send(first));
            drop(socket.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"));
        }
    });
    (address, told)
}

/// Asks the model of this world once.
fn ask(w: &World) -> Ran {
    w.run(&["exec", "--model", "anthropic/claude-test", "hi"])
}

fn without_retries(w: &World) {
    let file = w.config().join("config.toml");
    std::fs::write(file, "[loop]\nretries = 0\n").expect("a configuration");
}

#[test]
fn plain_http_goes_through_the_proxy_of_the_environment() {
    let proxy = Server::start(vec![Reply::Stream(vec![text("Hello."), end("end_turn")])]);
    let mut w = world("http://models.example");
    w.set("HTTP_PROXY", &proxy.base);
    w.set("http_proxy", &proxy.base);
    let ran = ask(&w).code(0);
    assert_eq!(ran.stdout, "Hello.\n");
    let asked = proxy.asked();
    let host = asked[0].headers.iter().find(|(name, _)| name == "host");
    assert_eq!(host.map(|(_, host)| host.as_str()), Some("models.example"));
    assert_eq!(asked[0].path, "/v1/messages");
}

#[test]
fn https_asks_the_proxy_for_a_tunnel_and_its_refusal_is_told() {
    let (proxy, told) = refusing();
    let mut w = world("https://models.example");
    w.set("HTTPS_PROXY", &proxy);
    w.set("https_proxy", &proxy);
    without_retries(&w);
    let ran = ask(&w).code(1);
    let first = told.try_recv().expect("the proxy was asked");
    assert!(first.starts_with("CONNECT models.example:443 "), "{first}");
    assert!(ran.stderr.contains("models.example"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("sk-ant-test"), "{}", ran.stderr);
}

#[test]
fn this_machine_and_what_no_proxy_names_are_reached_directly() {
    let (proxy, told) = refusing();
    let server = Server::start(vec![Reply::Stream(vec![text("Hello."), end("end_turn")])]);
    let mut w = world(&server.base);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        w.set(name, &proxy);
    }
    w.set("NO_PROXY", "");
    assert_eq!(ask(&w).code(0).stdout, "Hello.\n");
    // a name that leads nowhere: reached directly, so there is no such host
    w.set("ANTHROPIC_BASE_URL", "http://nowhere.invalid");
    w.set("NO_PROXY", "nowhere.invalid");
    w.set("no_proxy", "nowhere.invalid");
    without_retries(&w);
    ask(&w).code(1);
    assert!(told.try_recv().is_err(), "nobody asked the proxy");
}
