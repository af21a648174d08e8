//! The answer on stdout, what happens meanwhile on stderr.
//!
//! Progress is for eyes: it never carries what a terminal would obey. The answer is what the model said,
//! byte for byte, unless stdout is a terminal.

use std::collections::HashSet;
use std::io::{self, Write};

use super::answer::unfenced;
use super::{Clean, Printer};
use crate::protocol::{
    AskBody, Event, MessageId, NoticeLevel, Part, PartBody, PartId, Role, ToolState,
};

/// Prints for a person or a script that wants the answer alone.
#[derive(Debug)]
pub(super) struct TextPrinter<O, E> {
    out: O,
    err: E,
    /// Takes out what a terminal would obey or hide.
    clean: Clean,
    /// True if the answer goes to a terminal.
    terminal: bool,
    /// True if a code fence around the answer is left out.
    pub(super) bare: bool,
    /// Messages of the assistant that are no summaries.
    said: HashSet<MessageId>,
    /// Texts of the newest message, by part, in order.
    texts: Vec<(PartId, String)>,
    /// Those of them that were told as progress, because the model went on working in the same message.
    told: HashSet<PartId>,
    newest: Option<MessageId>,
    /// Calls that began here and whose end was not told yet.
    begun: HashSet<PartId>,
}

impl<O: Write, E: Write> TextPrinter<O, E> {
    pub(super) fn new(out: O, err: E, clean: Clean, terminal: bool) -> Self {
        Self {
            out,
            err,
            clean,
            terminal,
            bare: false,
            said: HashSet::new(),
            texts: Vec::new(),
            told: HashSet::new(),
            newest: None,
            begun: HashSet::new(),
        }
    }

    /// One piece of progress.
    fn tell(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{}", (self.clean)(text))
    }

    fn part(&mut self, part: &Part) -> io::Result<()> {
        match &part.body {
            PartBody::Text { text, ignored, .. } if self.said.contains(&part.message) => {
                if self.newest != Some(part.message) {
                    self.progress_texts()?;
                    self.texts.clear();
                    self.told.clear();
                    self.newest = Some(part.message);
                }
                self.texts.retain(|(id, _)| *id != part.id);
                if !ignored {
                    self.texts.push((part.id, text.clone()));
                }
                Ok(())
            }
            PartBody::Tool(tool) => self.tool(part, &tool.tool, &tool.state),
            _ => Ok(()),
        }
    }

    /// What the model said before it went on working is progress.
    fn progress_texts(&mut self) -> io::Result<()> {
        let new: Vec<String> = self
            .texts
            .iter()
            .filter(|(id, text)| !text.trim().is_empty() && !self.told.contains(id))
            .map(|(_, text)| text.trim().to_owned())
            .collect();
        self.told.extend(self.texts.iter().map(|(id, _)| *id));
        new.iter().try_for_each(|text| self.tell(text))
    }

    fn tool(&mut self, part: &Part, name: &str, state: &ToolState) -> io::Result<()> {
        let id = part.id;
        let (title, mark) = match state {
            ToolState::Completed { title, .. } => (title, "✓"),
            ToolState::Error { title, .. } => (title, "✗"),
            _ => {
                self.begun.insert(id);
                return Ok(());
            }
        };
        // an old call is announced again when its output is cleared or restored
        if !self.begun.remove(&id) {
            return Ok(());
        }
        // in the order in which it was said and done
        if self.newest == Some(part.message) {
            self.progress_texts()?;
        }
        match state {
            ToolState::Error { error, .. } => {
                let first = error.lines().next().unwrap_or_default();
                self.tell(&format!("{mark} {name} {title}: {first}"))
            }
            _ => self.tell(&format!("{mark} {name} {title}")),
        }
    }
}

impl<O: Write, E: Write> Printer for TextPrinter<O, E> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::MessageCreated { message } => {
                if message.role == Role::Assistant && !message.summary {
                    self.said.insert(message.id);
                }
                Ok(())
            }
            Event::PartUpdated { part } => self.part(part),
            Event::PartDelta { part, delta, .. } => {
                if let Some((_, text)) = self.texts.iter_mut().find(|(id, _)| id == part) {
                    text.push_str(delta);
                }
                Ok(())
            }
            Event::Retry {
                attempt,
                delay_ms,
                error,
            } => self.tell(&format!(
                "⟲ attempt {attempt} failed: {} Trying again in {} s.",
                error.message,
                delay_ms.div_ceil(1_000)
            )),
            Event::Pruned {
                count,
                tokens_saved,
            } => self.tell(&format!(
                "⌁ cleared {count} old outputs, {tokens_saved} tokens"
            )),
            Event::Compacted {
                before_tokens,
                after_tokens,
                ..
            } => {
                self.tell(&format!(
                    "⌁ compacted {before_tokens} → {after_tokens} tokens"
                ))
            }
            Event::Notice {
                level: NoticeLevel::Info,
                ..
            } => Ok(()),
            Event::Notice { text, .. } => self.tell(&format!("! {text}")),
            Event::Asked { ask } => match &ask.body {
                AskBody::Permission { subject, tool, .. } => self.tell(&format!(
                    "? {tool} needs permission, and nobody can be asked: {subject}\n  Allow it with a rule in \
                     [permission], or use --mode auto-edit or --mode auto."
                )),
                AskBody::DoomLoop {
                    subject, repeats, ..
                } => {
                    self.tell(&format!(
                        "! the same call {repeats} times in a row: {subject}"
                    ))
                }
                _ => Ok(()),
            },
            Event::Error { error } => self.tell(&format!("dunlin: {error}")),
            Event::Onboarding { reason, .. } => self.tell(&format!(
                "dunlin: {reason} Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, run `dunlin auth \
                 login`, or try `dunlin demo`."
            )),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        // a terminal shows both streams: what it has is not shown again
        let told = |id: &PartId| self.terminal && self.told.contains(id);
        let texts: Vec<String> = std::mem::take(&mut self.texts)
            .into_iter()
            .filter(|(id, _)| !told(id))
            .map(|(_, text)| text)
            .collect();
        let answer = texts.join("\n");
        if !answer.trim().is_empty() {
            let answer = if self.bare {
                unfenced(&answer)
            } else {
                answer.trim_end()
            };
            if self.terminal {
                writeln!(self.out, "{}", (self.clean)(answer))?;
            } else {
                writeln!(self.out, "{answer}")?;
            }
        }
        self.out.flush()?;
        self.err.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SESSION: &str = "ses_01a201c53139763d800fb633e217103e";

    fn created(message: &str) -> Event {
        let message = json!({
            "id": message, "session": SESSION, "role": "assistant", "agent": "build", "model": "a/b",
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "created": 1
        });
        let message = serde_json::from_value(message).expect("a message");
        Event::MessageCreated { message }
    }

    fn running(part: &str, message: &str) -> Event {
        let part = json!({
            "id": part, "message": message, "session": SESSION, "start": 1, "type": "tool",
            "call": "c", "tool": "bash", "state": {
                "status": "running", "input": {"command": "ls"}, "title": "ls -l", "start": 1
            }
        });
        let part = serde_json::from_value(part).expect("a part");
        Event::PartUpdated { part }
    }

    fn called(part: &str, message: &str) -> Event {
        let part = json!({
            "id": part, "message": message, "session": SESSION, "start": 1, "type": "tool",
            "call": "c", "tool": "bash", "state": {
                "status": "completed", "input": {"command": "ls"}, "output": "", "title": "ls -l",
                "metadata": {}, "start": 1, "end": 2
            }
        });
        let part = serde_json::from_value(part).expect("a part");
        Event::PartUpdated { part }
    }

    fn says(part: &str, message: &str, text: &str) -> Event {
        let part = json!({
            "id": part, "message": message, "session": SESSION, "start": 1, "type": "text", "text": text,
            "synthetic": false, "ignored": false
        });
        let part = serde_json::from_value(part).expect("a part");
        Event::PartUpdated { part }
    }

    #[test]
    fn what_is_said_before_a_call_is_told_before_it_and_the_answer_is_that_of_the_last_step() {
        let messages = [
            "msg_01a201c5313a7f42800b7e9c4440a63d",
            "msg_01a201c5313a7f42800b7e9c4440a63e",
        ];
        let events = [
            created(messages[0]),
            says(
                "prt_01a201c531427c20800becd95d9dbff1",
                messages[0],
                "first I look",
            ),
            running("prt_01a201c531427c20800becd95d9dbff2", messages[0]),
            called("prt_01a201c531427c20800becd95d9dbff2", messages[0]),
            created(messages[1]),
            says(
                "prt_01a201c531427c20800becd95d9dbff3",
                messages[1],
                "and now",
            ),
            running("prt_01a201c531427c20800becd95d9dbff4", messages[1]),
            called("prt_01a201c531427c20800becd95d9dbff4", messages[1]),
        ];
        for (terminal, stdout) in [(false, "and now\n"), (true, "")] {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut printer = TextPrinter::new(&mut out, &mut err, str::to_owned, terminal);
            for event in &events {
                printer.event(event).expect("memory");
            }
            printer.end().expect("memory");
            assert_eq!(
                String::from_utf8_lossy(&err),
                "first I look\n✓ bash ls -l\nand now\n✓ bash ls -l\n"
            );
            assert_eq!(String::from_utf8_lossy(&out), stdout);
        }
    }

    #[test]
    fn a_call_is_told_once_and_those_of_earlier_runs_not_at_all() {
        let (old, new) = (
            "msg_01a201c5313a7f42800b7e9c4440a63d",
            "msg_01a201c5313a7f42800b7e9c4440a63e",
        );
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut printer = TextPrinter::new(&mut out, &mut err, str::to_owned, false);
        let told = [
            // its output was cleared, so it is announced again
            called("prt_01a201c531427c20800becd95d9dbff2", old),
            created(new),
            running("prt_01a201c531427c20800becd95d9dbff3", new),
            called("prt_01a201c531427c20800becd95d9dbff3", new),
            called("prt_01a201c531427c20800becd95d9dbff3", new),
        ];
        for event in &told {
            printer.event(event).expect("memory");
        }
        let pruned = Event::Pruned {
            count: 3,
            tokens_saved: 900,
        };
        printer.event(&pruned).expect("memory");
        let said = String::from_utf8(err).expect("text");
        assert_eq!(said, "✓ bash ls -l\n⌁ cleared 3 old outputs, 900 tokens\n");
    }
}
