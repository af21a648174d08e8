//! One JSON event a line (docs/exec-json.md).

use std::io::{self, Write};

use super::Printer;
use crate::protocol::Event;

/// Version of the line format; said in `session.started`.
const FORMAT: u32 = 1;

/// Prints the public events as JSON lines.
#[derive(Debug)]
pub(super) struct JsonPrinter<W> {
    out: W,
}

impl<W: Write> JsonPrinter<W> {
    pub(super) const fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Printer for JsonPrinter<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        if !is_public(event) {
            return Ok(());
        }
        let mut value = serde_json::to_value(event).map_err(io::Error::other)?;
        if let (Event::SessionStarted { .. }, Some(fields)) = (event, value.as_object_mut()) {
            fields.insert("format".to_owned(), FORMAT.into());
        }
        let mut line = escaped(value.to_string());
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// JSON escapes the controls of ASCII; what else a terminal would obey or reorder is escaped here, so
/// that a line is the same value everywhere and harmless on a screen.
fn escaped(line: String) -> String {
    let steers = |c: char| {
        let shapes =
            matches!(c as u32, 0x061C | 0x200E | 0x200F | 0x2028..=0x202E | 0x2066..=0x2069);
        c.is_control() || shapes
    };
    if !line.contains(steers) {
        return line;
    }
    let mut out = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        if steers(c) {
            // all of them are one unit of UTF-16
            out.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

/// Screens' own events are not part of the contract.
fn is_public(event: &Event) -> bool {
    if let Event::Subagent { event, .. } = event {
        return matches!(**event, Event::History { .. }) || is_public(event);
    }
    !matches!(
        event,
        Event::History { .. }
            | Event::Status(_)
            | Event::Place(_)
            | Event::Servers(_)
            | Event::Sessions { .. }
            | Event::Models { .. }
            | Event::Files { .. }
            | Event::Output { .. }
            | Event::FileRead { .. }
            | Event::Spending(_)
            | Event::Pins { .. }
            | Event::UndoPreview { .. }
            | Event::Tree { .. }
            | Event::Preview { .. }
            | Event::Found { .. }
            | Event::Show { .. }
            | Event::Kept { .. }
            | Event::Onboarding { .. }
            | Event::Permissions { .. }
            | Event::Facts { .. }
            | Event::Closed
    )
}
