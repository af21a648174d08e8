//! A small HTTP/1.1 server that answers with prepared bytes and records what it was asked.
//!
//! Raw sockets instead of a framework: the tests need connections that break in the middle of a chunk.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One piece of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// A chunk of the body.
    Chunk(String),
    /// The end of the body.
    End,
    /// Nothing, until the client goes away.
    Stall,
    /// The connection breaks.
    Break,
}

/// What the server answers to one request.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) pieces: Vec<Piece>,
}

impl Reply {
    /// A stream of these chunks, whole.
    pub(crate) fn stream(chunks: &[&str]) -> Self {
        // an empty chunk would be the end
        let mut pieces: Vec<Piece> = chunks
            .iter()
            .filter(|c| !c.is_empty())
            .map(|c| Piece::Chunk((*c).to_owned()))
            .collect();
        pieces.push(Piece::End);
        Self {
            status: 200,
            headers: vec![("content-type", "text/event-stream")],
            pieces,
        }
    }

    pub(crate) fn ending(mut self, end: Piece) -> Self {
        self.pieces.pop();
        self.pieces.push(end);
        self
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value));
        self
    }
}

/// What a client asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Request line and headers, lower case names.
    pub(crate) head: String,
    pub(crate) body: String,
    /// Number of the connection it came on.
    pub(crate) connection: usize,
}

#[derive(Debug, Default)]
struct Log {
    asked: Vec<Asked>,
    gone: usize,
}

/// The running server; it ends with the test's runtime.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) origin: String,
    log: Arc<Mutex<Log>>,
}

impl Server {
    /// Answers the first request with the first reply, and so on; the last one again and again.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let log = Arc::new(Mutex::new(Log::default()));
        let server = Self {
            origin,
            log: Arc::clone(&log),
        };
        tokio::spawn(async move {
            let mut connection = 0;
            while let Ok((socket, _)) = listener.accept().await {
                connection += 1;
                tokio::spawn(serve(socket, connection, replies.clone(), Arc::clone(&log)));
            }
        });
        server
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().expect("no panic").asked.clone()
    }

    /// Waits until a client closed its connection before the answer's end.
    pub(crate) async fn wait_for_a_client_that_left(&self) {
        while self.log.lock().expect("no panic").gone == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn serve(
    mut socket: TcpStream,
    connection: usize,
    replies: Vec<Reply>,
    log: Arc<Mutex<Log>>,
) {
    while let Some(mut asked) = read_request(&mut socket).await {
        asked.connection = connection;
        let number = {
            let mut log = log.lock().expect("no panic");
            log.asked.push(asked);
            log.asked.len() - 1
        };
        let reply = replies.get(number).or(replies.last()).expect("a reply");
        let mut head = format!(
            "HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n",
            reply.status
        );
        for (name, value) in &reply.headers {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        // What can be sent at once is, so that clients find many pieces in one read.
        let mut waiting = head;
        for piece in &reply.pieces {
            match piece {
                Piece::Chunk(text) => {
                    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
                    waiting.push_str(&chunk);
                    continue;
                }
                Piece::End => waiting.push_str("0\r\n\r\n"),
                Piece::Break | Piece::Stall => {}
            }
            if socket.write_all(waiting.as_bytes()).await.is_err() {
                return;
            }
            waiting.clear();
            match piece {
                Piece::Break => return,
                Piece::Stall => {
                    let mut byte = [0];
                    // 0 bytes or an error: the client has gone
                    while socket.read(&mut byte).await.is_ok_and(|n| n > 0) {}
                    log.lock().expect("no panic").gone += 1;
                    return;
                }
                Piece::Chunk(_) | Piece::End => {}
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = socket.read(&mut buffer).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        if body.len() >= length {
            return Some(Asked {
                head: head.to_owned(),
                body: body.to_owned(),
                connection: 0,
            });
        }
    }
}
