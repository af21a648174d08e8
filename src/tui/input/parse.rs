//! Terminal bytes → `Input`: legacy keys, the kitty protocol, SGR mouse, bracketed paste, focus,
//! and the replies to our probes.
//!
//! `run` feeds what it read and, when nothing followed an escape for `ESC_WAIT_MS`, calls `flush`.
//! The parser keeps what is incomplete, never blocks, and drops what it does not know: bytes of an
//! unknown sequence must not become typed text.

use super::{Code, Input, Key, Mods, Mouse, MouseKind, Reply, replies};

/// A lone escape byte is the Escape key if nothing follows for so long.
pub const ESC_WAIT_MS: i64 = 25;
/// A paste whose end never comes is given up after so long without a byte.
pub const PASTE_WAIT_MS: i64 = 1_000;

const MAX_CSI: usize = 256;
const MAX_STRING: usize = 4_096;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Keeps the bytes of an unfinished sequence between reads.
#[derive(Debug, Default)]
pub struct Parser {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

/// What stands at the front of the buffer.
enum Step {
    /// So many bytes were used; an input, or nothing worth telling.
    Took(usize, Option<Input>),
    /// More bytes are needed.
    More,
    /// A bracketed paste begins after so many bytes.
    Paste(usize),
}

impl Parser {
    /// Reads bytes; everything complete comes out, in order.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.pending.extend_from_slice(bytes);
        self.drain(false)
    }

    /// How long to wait for the rest, in milliseconds; none if nothing is unfinished.
    pub fn wait(&self) -> Option<i64> {
        if self.paste.is_some() {
            return Some(PASTE_WAIT_MS);
        }
        (!self.pending.is_empty()).then_some(ESC_WAIT_MS)
    }

    /// Nothing more came: a lone escape is the key, an unfinished paste is what it has.
    pub fn flush(&mut self) -> Vec<Input> {
        let mut out = Vec::new();
        if let Some(mut paste) = self.paste.take() {
            paste.append(&mut self.pending);
            out.push(Input::Paste(String::from_utf8_lossy(&paste).into_owned()));
        }
        out.extend(self.drain(true));
        self.pending.clear();
        out
    }

    fn drain(&mut self, last: bool) -> Vec<Input> {
        let mut out = Vec::new();
        let mut at = 0;
        loop {
            if let Some(paste) = &mut self.paste {
                let rest = &self.pending[at..];
                let Some(end) = memchr::memmem::find(rest, PASTE_END) else {
                    // A partial end marker may stand at the end; all before it is text.
                    let keep = partial_suffix(rest, PASTE_END);
                    paste.extend_from_slice(&rest[..rest.len() - keep]);
                    at = self.pending.len() - keep;
                    break;
                };
                paste.extend_from_slice(&rest[..end]);
                at += end + PASTE_END.len();
                let bytes = self.paste.take().unwrap_or_default();
                out.push(Input::Paste(paste_text(&bytes)));
                continue;
            }
            let rest = &self.pending[at..];
            if rest.is_empty() {
                break;
            }
            match step(rest, last) {
                Step::Took(used, input) => {
                    at += used.max(1);
                    out.extend(input);
                }
                Step::Paste(used) => {
                    at += used;
                    self.paste = Some(Vec::new());
                }
                Step::More => break,
            }
        }
        self.pending.drain(..at);
        out
    }
}

/// Line ends inside a paste come as CR from most terminals.
fn paste_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

fn partial_suffix(text: &[u8], marker: &[u8]) -> usize {
    (1..marker.len())
        .rev()
        .find(|n| text.ends_with(&marker[..*n]))
        .unwrap_or(0)
}

fn step(bytes: &[u8], last: bool) -> Step {
    match bytes[0] {
        0x1b => escape(bytes, last),
        byte @ (0x00..=0x1f | 0x7f) => Step::Took(1, Some(Input::Key(control(byte)))),
        _ => character(bytes, last).map_or(Step::More, |(used, c)| {
            Step::Took(used, c.map(|c| Input::Key(Key::plain(Code::Char(c)))))
        }),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every caller answers with an option"
)]
fn key(code: Code, mods: Mods) -> Option<Input> {
    Some(Input::Key(Key::new(code, mods)))
}

fn control(byte: u8) -> Key {
    let (code, mods) = match byte {
        0x00 => (Code::Char(' '), Mods::CTRL),
        0x08 | 0x7f => (Code::Backspace, Mods::NONE),
        0x09 => (Code::Tab, Mods::NONE),
        0x0d => (Code::Enter, Mods::NONE),
        0x1b => (Code::Esc, Mods::NONE),
        0x01..=0x1a => (Code::Char(char::from(b'a' + byte - 1)), Mods::CTRL),
        _ => (Code::Char(char::from(b'@' + byte)), Mods::CTRL),
    };
    Key::new(code, mods)
}

/// One UTF-8 character: bytes used and the character; none of it if bytes are not text. `None` asks
/// for more.
fn character(bytes: &[u8], last: bool) -> Option<(usize, Option<char>)> {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((1, None)),
    };
    let have = &bytes[..bytes.len().min(length)];
    match std::str::from_utf8(have) {
        Ok(text) => Some((have.len(), text.chars().next())),
        Err(error) if error.error_len().is_none() && !last => None,
        Err(_) => Some((1, None)),
    }
}

fn escape(bytes: &[u8], last: bool) -> Step {
    let Some(&second) = bytes.get(1) else {
        return if last {
            Step::Took(1, key(Code::Esc, Mods::NONE))
        } else {
            Step::More
        };
    };
    let found = match second {
        b'[' => csi(bytes, Mods::NONE),
        b'O' => ss3(bytes),
        b']' | b'P' | b'_' | b'^' | b'X' => string(bytes),
        0x1b => match bytes.get(2) {
            // Terminals that send alt as a prefix: escape, then the arrow's own sequence.
            Some(b'[') => match csi(&bytes[1..], Mods::ALT) {
                Step::Took(used, Some(input @ Input::Key(_))) => Step::Took(used + 1, Some(input)),
                Step::More if !last => Step::More,
                _ => Step::Took(1, key(Code::Esc, Mods::NONE)),
            },
            _ => Step::Took(1, key(Code::Esc, Mods::NONE)),
        },
        byte @ (0x00..=0x1f | 0x7f) => {
            let plain = control(byte);
            Step::Took(2, key(plain.code, plain.mods.with(Mods::ALT)))
        }
        _ => match character(&bytes[1..], last) {
            Some((used, Some(c))) => Step::Took(used + 1, key(Code::Char(c), Mods::ALT)),
            Some((used, None)) => Step::Took(used + 1, None),
            None => Step::More,
        },
    };
    match found {
        // Nothing followed: it was alt and that character.
        Step::More if last => Step::Took(2, key(Code::Char(char::from(second)), Mods::ALT)),
        other => other,
    }
}

fn ss3(bytes: &[u8]) -> Step {
    let Some(&last) = bytes.get(2) else {
        return Step::More;
    };
    let code = match last {
        b'P'..=b'S' => Some(Code::F(last - b'P' + 1)),
        b'M' => Some(Code::Enter),
        _ => arrow(last),
    };
    Step::Took(3, code.and_then(|code| key(code, Mods::NONE)))
}

const fn arrow(last: u8) -> Option<Code> {
    match last {
        b'A' => Some(Code::Up),
        b'B' => Some(Code::Down),
        b'C' => Some(Code::Right),
        b'D' => Some(Code::Left),
        b'H' => Some(Code::Home),
        b'F' => Some(Code::End),
        _ => None,
    }
}

/// OSC, DCS and the like: up to BEL or ST.
fn string(bytes: &[u8]) -> Step {
    let mut at = 2;
    while at < bytes.len() {
        let (used, body) = match bytes[at] {
            0x07 => (at + 1, &bytes[2..at]),
            0x1b if bytes.get(at + 1) == Some(&b'\\') => (at + 2, &bytes[2..at]),
            0x1b if at + 1 == bytes.len() => return Step::More,
            // Another escape breaks it off; what follows is read on its own.
            0x1b => return Step::Took(at, None),
            _ => {
                at += 1;
                continue;
            }
        };
        let reply = replies::string(bytes[1], body);
        return Step::Took(used, reply.map(Input::Reply));
    }
    if bytes.len() > MAX_STRING {
        Step::Took(bytes.len(), None)
    } else {
        Step::More
    }
}

fn csi(bytes: &[u8], held: Mods) -> Step {
    let body = &bytes[2..];
    let Some(length) = body.iter().position(|b| !(0x20..=0x3f).contains(b)) else {
        return if body.len() > MAX_CSI {
            Step::Took(bytes.len(), None)
        } else {
            Step::More
        };
    };
    if !(0x40..=0x7e).contains(&body[length]) {
        // A control byte inside: the sequence was broken off; that byte is read on its own.
        return Step::Took(2 + length, None);
    }
    let used = 2 + length + 1;
    let last = body[length];
    let text = String::from_utf8_lossy(&body[..length]).into_owned();
    if last == b'M' && text.is_empty() {
        // X10 mouse report: three raw bytes follow.
        return if bytes.len() < used + 3 {
            Step::More
        } else {
            Step::Took(used + 3, None)
        };
    }
    if last == b'[' {
        // Linux console function keys: ESC [ [ A … E.
        return match bytes.get(used) {
            None => Step::More,
            Some(b @ b'A'..=b'E') => Step::Took(used + 1, key(Code::F(b - b'A' + 1), held)),
            Some(_) => Step::Took(used + 1, None),
        };
    }
    if last == b'~' && text == "200" {
        return Step::Paste(used);
    }
    Step::Took(used, csi_meaning(&text, last, held))
}

fn csi_meaning(text: &str, last: u8, held: Mods) -> Option<Input> {
    if let Some(rest) = text.strip_prefix('<') {
        return mouse(rest, last);
    }
    if let Some(rest) = text.strip_prefix('?') {
        return replies::private(rest, last).map(Input::Reply);
    }
    let params = Params::read(text);
    if params.released {
        return None;
    }
    let mods = params.mods.with(held);
    match last {
        b'I' => Some(Input::Focus(true)),
        b'O' => Some(Input::Focus(false)),
        b't' => replies::window(text).map(Input::Reply),
        b'Z' => key(Code::Tab, mods.with(Mods::SHIFT)),
        // The probe stands in the second row, so this is no F3 with modifiers.
        b'R' if params.first == 2 => width(text).map(Input::Reply),
        b'P' | b'Q' | b'S' => key(Code::F(last - b'P' + 1), mods),
        // xterm's modifyOtherKeys: `27 ; modifiers ; character`.
        b'~' if params.first == 27 => kitty(params.third?, mods),
        b'~' => key(tilde(params.first)?, mods),
        b'u' => kitty(params.first, mods),
        _ => key(arrow(last)?, mods),
    }
}

/// `2 ; column`: the cursor after the signs of the width probe, from 1.
fn width(text: &str) -> Option<Reply> {
    let column: u16 = text.split_once(';')?.1.parse().ok()?;
    Some(Reply::Width(column.saturating_sub(1)))
}

/// `code:shifted:base ; mods:event ; text`.
struct Params {
    first: u32,
    mods: Mods,
    released: bool,
    third: Option<u32>,
}

impl Params {
    fn read(text: &str) -> Self {
        let mut fields = text.split(';');
        let number = |field: Option<&str>| field.and_then(|f| f.parse::<u32>().ok());
        let mut code = fields.next().unwrap_or_default().split(':');
        let first = number(code.next()).unwrap_or(0);
        let mut second = fields.next().unwrap_or_default().split(':');
        let bits = number(second.next()).unwrap_or(1).saturating_sub(1);
        let mods = Mods(u8::try_from(bits & 0x0f).unwrap_or(0));
        Self {
            first,
            mods,
            released: number(second.next()) == Some(3),
            third: number(fields.next()),
        }
    }
}

const fn tilde(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        2 => Code::Insert,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        11..=15 => Code::F((number - 10) as u8),
        17..=21 => Code::F((number - 11) as u8),
        23 | 24 => Code::F((number - 12) as u8),
        _ => return None,
    })
}

fn kitty(code: u32, mods: Mods) -> Option<Input> {
    let code = match code {
        9 => Code::Tab,
        13 | 57_414 => Code::Enter,
        27 => Code::Esc,
        8 | 127 => Code::Backspace,
        57_417 => Code::Left,
        57_418 => Code::Right,
        57_419 => Code::Up,
        57_420 => Code::Down,
        57_421 => Code::PageUp,
        57_422 => Code::PageDown,
        57_423 => Code::Home,
        57_424 => Code::End,
        57_425 => Code::Insert,
        57_426 => Code::Delete,
        57_399..=57_408 => Code::Char(char::from_digit(code - 57_399, 10)?),
        57_409 => Code::Char('.'),
        57_410 => Code::Char('/'),
        57_411 => Code::Char('*'),
        57_412 => Code::Char('-'),
        57_413 => Code::Char('+'),
        57_415 => Code::Char('='),
        // The rest of the private area: lock keys, media keys, modifiers alone.
        57_344..=63_743 => return None,
        other => {
            let c = char::from_u32(other).filter(|c| !c.is_control())?;
            let shifted = mods.has(Mods::SHIFT) && !mods.has(Mods::CTRL) && !mods.has(Mods::ALT);
            Code::Char(if shifted {
                c.to_uppercase().next().unwrap_or(c)
            } else {
                c
            })
        }
    };
    key(code, mods)
}

fn mouse(text: &str, last: u8) -> Option<Input> {
    let mut fields = text.split(';').map(str::parse::<u16>);
    let mut next = || fields.next().and_then(Result::ok);
    let (button, col, row) = (next()?, next()?, next()?);
    let kind = match (button & 0b1110_0011, last) {
        (0, b'M') => MouseKind::Down,
        (0, b'm') => MouseKind::Up,
        (32, b'M') => MouseKind::Drag,
        (64, b'M') => MouseKind::WheelUp,
        (65, b'M') => MouseKind::WheelDown,
        _ => return None,
    };
    Some(Input::Mouse(Mouse {
        kind,
        col: col.saturating_sub(1),
        row: row.saturating_sub(1),
    }))
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
