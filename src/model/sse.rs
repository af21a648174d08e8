//! SSE framing: bytes in, cut anywhere, events out.
//!
//! `decode::Decoder` feeds it; it knows nothing of JSON or of any wire. Our own instead of
//! `eventsource-stream`, which copies its whole buffer for every event and every chunk: 20,000
//! events in one chunk took it two seconds. Here every byte is looked at once and copied at most
//! twice, whatever the cuts. `benches/sse.rs` holds the figures.

use std::mem;

/// Longest event in bytes, its unfinished last line included. Larger than any answer a model gives:
/// an image of 20 MiB in base64 still fits.
pub const MAX_EVENT: usize = 32 * 1024 * 1024;

/// One event; borrowed from the framing until the next one is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The `event:` field; none if there was none or it was empty.
    pub event: Option<&'a str>,
    /// The `data:` lines, joined with newlines.
    pub data: &'a str,
}

/// An event that is too large to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "The server sent an event of more than {} MiB without an end. Check that the base URL points to a model API.",
    MAX_EVENT / 1024 / 1024
)]
pub struct TooLarge;

/// Turns bytes into events. Handles LF, CRLF and CR, a leading byte order mark, comments, a missing
/// space after the colon and data of several lines. Bytes that are no UTF-8 become U+FFFD.
#[derive(Debug, Default)]
pub struct Framing {
    /// The unfinished line.
    line: Vec<u8>,
    /// Data of the unfinished event.
    data: Vec<u8>,
    /// How many `data:` lines it has.
    data_lines: usize,
    /// Its `event:` field.
    event: Vec<u8>,
    /// The event given out last; here so that frames can borrow it.
    given: (String, String),
    /// True once the first line has been looked at for a byte order mark.
    past_first: bool,
    /// True if the last line ended with CR: an LF right after it belongs to it.
    after_cr: bool,
    /// True once a line of the format was seen, a comment included.
    is_stream: bool,
    /// The start of the lines since the last event that are none of the format's.
    stray: Vec<u8>,
}

/// The names of fields, the empty one of comments included.
const FIELDS: [&[u8]; 5] = [b"", b"data", b"event", b"id", b"retry"];

/// How much of what is no event is kept for the message.
const STRAY: usize = 4096;

impl Framing {
    /// The next event that ends within `input`; what was consumed is cut off `input`. `None` once
    /// `input` is used up.
    ///
    /// # Errors
    /// `TooLarge` for an event over `MAX_EVENT`; nothing sensible follows after it.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Frame<'_>>, TooLarge> {
        while let Some(first) = input.first() {
            if mem::take(&mut self.after_cr) && *first == b'\n' {
                *input = &input[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', input) else {
                self.grow_line(input)?;
                *input = &[];
                return Ok(None);
            };
            let (head, rest) = (&input[..end], &input[end + 1..]);
            self.after_cr = input[end] == b'\r';
            *input = rest;
            let complete = if self.line.is_empty() {
                self.take_line(head)?
            } else {
                self.grow_line(head)?;
                let line = mem::take(&mut self.line);
                let complete = self.take_line(&line);
                self.line = line;
                self.line.clear();
                complete?
            };
            if complete {
                return Ok(Some(self.give()));
            }
        }
        Ok(None)
    }

    /// The event that the body ended in without an empty line, or even without a newline. The caller
    /// judges whether it is whole.
    pub fn last(&mut self) -> Option<Frame<'_>> {
        let line = mem::take(&mut self.line);
        // a line that was cut inside the name of its field says nothing
        if !FIELDS.iter().any(|field| field.starts_with(&line)) {
            self.take_line(&line).ok()?;
        }
        (self.data_lines > 0).then(|| self.give())
    }

    /// The start of what came after the last event and is no line of an event stream: servers that
    /// fail while they stream write their error without `data:`.
    pub fn stray(&self) -> &[u8] {
        &self.stray
    }

    /// True if anything so far was a line of an event stream.
    pub const fn is_stream(&self) -> bool {
        self.is_stream
    }

    fn grow_line(&mut self, more: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + more.len() > MAX_EVENT {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(more);
        Ok(())
    }

    /// Takes a whole line; true if it ends an event that has data.
    fn take_line(&mut self, line: &[u8]) -> Result<bool, TooLarge> {
        let line = if mem::replace(&mut self.past_first, true) {
            line
        } else {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            let complete = self.data_lines > 0;
            if !complete {
                self.event.clear();
            }
            return Ok(complete);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if !FIELDS.contains(&field) {
            // nothing that anybody has thought of; kept in case it is the server's last word
            let room = STRAY.saturating_sub(self.stray.len());
            self.stray.extend(line.iter().chain(b"\n").take(room));
            return Ok(false);
        }
        self.is_stream = true;
        match field {
            b"data" => {
                if self.data.len() + value.len() >= MAX_EVENT {
                    return Err(TooLarge);
                }
                if self.data_lines > 0 {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.data_lines += 1;
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // comments, `id`, `retry`
            _ => {}
        }
        Ok(false)
    }

    fn give(&mut self) -> Frame<'_> {
        // The buffers change places instead of being copied; String::from_utf8 checks in place.
        refill(&mut self.given.1, &mut self.data);
        refill(&mut self.given.0, &mut self.event);
        self.data_lines = 0;
        self.stray.clear();
        Frame {
            event: Some(self.given.0.as_str()).filter(|name| !name.is_empty()),
            data: &self.given.1,
        }
    }
}

/// Moves `from` into `to` as text and leaves `from` empty with the memory that `to` had.
fn refill(to: &mut String, from: &mut Vec<u8>) {
    let mut spare = mem::take(to).into_bytes();
    spare.clear();
    *to = match String::from_utf8(mem::replace(from, spare)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
