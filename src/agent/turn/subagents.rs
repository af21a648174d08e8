//! What a session keeps of its subagents, and what the loop guard remembers of its calls. The
//! subagents themselves are turns of their own, run by `driver::children`.

use super::{State, Turn};
use crate::agent::input::Subagent;
use crate::protocol::{Millis, PartBody, PartId, TurnEnd};

/// Newest calls that a resumed session's loop guard knows of.
const REMEMBERED: usize = 128;

impl Turn {
    /// A call has a subagent now: the call leads to its session, also after a crash.
    pub(super) fn subagent_began(&mut self, now: Millis, subagent: Subagent) {
        let Subagent {
            part,
            child,
            prompt,
            description,
            agent,
            model,
        } = subagent;
        let Some(message) = self.conversation.part(part).map(|p| p.message) else {
            return;
        };
        let facts = serde_json::json!({
            "session": child,
            "agent": agent,
            "model": model,
        });
        // First: who reads of the child in the call's facts and asks to see it must find it known already,
        // all the way up to the user's own session.
        let body = PartBody::Subtask {
            prompt,
            description,
            agent,
            model,
            child,
        };
        self.create_part(now, message, body, true);
        self.update_part(part, |p| {
            if let PartBody::Tool(tool) = &mut p.body
                && let crate::protocol::ToolState::Running { metadata, .. } = &mut tool.state
            {
                *metadata = facts;
            }
        });
    }

    /// A subagent was stopped by a refusal or by its loop guard: so is the turn that it works for.
    pub(super) fn subagent_stopped(&mut self, part: PartId, reason: TurnEnd) {
        let ours = match &self.state {
            State::Step(step) => step.calls.iter().any(|c| c.part == part),
            _ => false,
        };
        if let Some(running) = &mut self.running
            && ours
        {
            running.refused |= reason == TurnEnd::Refused;
            running.looped |= reason == TurnEnd::DoomLoop;
        }
    }

    /// A session that is opened again knows its last calls. Those that were cut do not count: they
    /// are made again for a reason.
    pub(super) fn remember_calls(&mut self) {
        let entries = self.conversation.entries();
        let tools = entries.iter().rev().flat_map(|e| e.parts.iter().rev());
        let mut known: Vec<_> = tools
            .filter_map(|part| match &part.body {
                PartBody::Tool(tool) => Some((part.id, tool)),
                _ => None,
            })
            .take(REMEMBERED)
            .collect();
        known.reverse();
        for (id, tool) in known {
            use crate::protocol::ToolState::{Completed, Error};
            let (input, result) = match &tool.state {
                Completed { input, output, .. } => (input.clone(), output),
                // Arguments that could not be read are known by their text.
                Error {
                    raw,
                    error,
                    interrupted: false,
                    ..
                } if !raw.is_empty() => (raw.clone().into(), error),
                Error {
                    input,
                    error,
                    interrupted: false,
                    ..
                } => (input.clone(), error),
                _ => continue,
            };
            self.guard.record(id.raw(), &tool.tool, &input);
            self.guard.result(id.raw(), result);
        }
    }

    /// What happened since the first call of a loop, for the one who must decide about it.
    pub(super) fn since(&self, now: Millis, first: u128) -> String {
        let first = PartId::from_raw(first);
        let Some(begun) = self.conversation.part(first) else {
            return "not known".to_owned();
        };
        let entries = self.conversation.entries();
        let later = entries.iter().filter(|e| e.message.id >= begun.message);
        let (mut files, mut tokens) = (std::collections::BTreeSet::new(), 0);
        for entry in later {
            let used = &entry.message.tokens;
            tokens += used.input + used.cache.write + used.output + used.reasoning;
            for part in &entry.parts {
                if let PartBody::Patch { files: changed, .. } = &part.body {
                    files.extend(changed.iter().map(|f| f.path.as_str()));
                }
            }
        }
        let files = match files.len() {
            0 => "no file changed".to_owned(),
            1 => "1 file changed".to_owned(),
            many => format!("{many} files changed"),
        };
        let time = span((now - begun.start).max(0).cast_unsigned() / 1_000);
        format!("{files}, {time} and {} tokens spent", count(tokens))
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens / 100 % 10),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_counts_are_short() {
        let spans = [19, 200, 7_260].map(span);
        assert_eq!(spans, ["19s", "3m 20s", "2h 01m"]);
        let counts = [940, 2_449, 1_250_000].map(count);
        assert_eq!(counts, ["940", "2.4k", "1.2M"]);
    }
}
