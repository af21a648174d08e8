//! The summary of a compaction: asked for, in chunks if the history is larger than a window, streamed,
//! counted, tried again. What becomes of it is in `compaction`.

use super::compaction::{Compacting, MOST_CHUNKS};
use super::{State, Turn};
use crate::agent::effect::{Effect, Purpose};
use crate::agent::retry::{Decision, decide};
use crate::context::{Entry, compact};
use crate::model::Delta;
use crate::protocol::{Fault, FaultKind, Millis, NoticeLevel, PartBody};

/// How often chunks are made smaller because the provider says that they are too large.
const MOST_SHRINKS: u32 = 4;

impl Turn {
    pub(super) fn ask_for_summary(&mut self, now: Millis, mut compacting: Compacting) {
        let Some(chunk) = compacting.chunks.front().cloned() else {
            self.remove_instead(now, compacting);
            return;
        };
        compacting.stream = self.next_stream;
        self.next_stream += 1;
        let purpose = Purpose::Summary {
            chunk,
            notes: compacting.notes.clone(),
            focus: compacting.focus.clone(),
        };
        self.effects.push(Effect::Ask {
            stream: compacting.stream,
            purpose,
        });
        self.state = State::Compacting(compacting);
        self.announce_status(now);
    }

    pub(super) fn summary_deltas(&mut self, now: Millis, deltas: Vec<Delta>) {
        for delta in deltas {
            let State::Compacting(compacting) = &mut self.state else {
                return;
            };
            match delta {
                Delta::Text { text, .. } => {
                    compacting.streamed += text.len() as u64;
                    let (summary, part) = (compacting.summary, compacting.text);
                    if compacting.chunks.len() > 1 {
                        compacting.draft.push_str(&text);
                    } else if let Some(part) = part {
                        self.append_text(summary, part, text);
                    } else {
                        let body = PartBody::Text {
                            text,
                            synthetic: false,
                            ignored: false,
                        };
                        let made = self.create_part(now, summary, body, false);
                        if let State::Compacting(compacting) = &mut self.state {
                            compacting.text = Some(made);
                        }
                    }
                }
                Delta::Usage(usage) => compacting.usage = usage,
                // Reasoning about a summary is nobody's; calls are not on offer.
                _ => {}
            }
        }
    }

    pub(super) fn summary_ended(&mut self, now: Millis) {
        let State::Compacting(mut compacting) = std::mem::take(&mut self.state) else {
            return;
        };
        self.count_summary(now, &compacting);
        compacting.usage = crate::model::Usage::default();
        if compacting.chunks.len() > 1 {
            compacting.chunks.pop_front();
            compacting.failed = 0;
            let draft = std::mem::take(&mut compacting.draft);
            if !draft.trim().is_empty() {
                compacting.notes = draft;
            }
            if let Some(why) = self.over_budget(now) {
                let text =
                    format!("{why} The summary was not finished; older messages were left out.");
                self.notice(NoticeLevel::Warning, &text);
                self.remove_instead(now, compacting);
                return;
            }
            self.ask_for_summary(now, compacting);
            return;
        }
        let text = self
            .conversation
            .entry(compacting.summary)
            .map(Entry::text)
            .unwrap_or_default();
        if text.trim().is_empty() {
            self.notice(
                NoticeLevel::Warning,
                "The model gave no summary; older messages were left out.",
            );
            self.remove_instead(now, compacting);
            return;
        }
        self.complete(now, compacting, true);
    }

    /// Tokens and cost of one request of the summary, added to its message.
    pub(super) fn count_summary(&mut self, now: Millis, compacting: &Compacting) {
        let used = compacting.usage.tokens();
        let by = self.summarizer.as_ref().unwrap_or(&self.setup.model);
        let (model, price) = (by.model.clone(), by.price.clone());
        let cost = price.map(|p| p.cost(&used));
        self.spent.request(&used, cost);
        self.write_spent(now);
        self.update_message(compacting.summary, |m| {
            m.model = model;
            m.tokens += used;
            m.cost = match (m.cost, cost) {
                (Some(sum), Some(cost)) => Some(sum + cost),
                (None, cost) => cost,
                (sum, None) => sum,
            };
        });
    }

    pub(super) fn summary_failed(&mut self, now: Millis, fault: Fault) {
        let State::Compacting(mut compacting) = std::mem::take(&mut self.state) else {
            return;
        };
        compacting.failed += 1;
        compacting.draft.clear();
        if let Some(part) = compacting.text.take() {
            self.update_part(part, |p| {
                if let PartBody::Text { ignored, .. } = &mut p.body {
                    *ignored = true;
                }
            });
        }
        if fault.kind == FaultKind::ContextOverflow && self.shrink(&mut compacting) {
            self.ask_for_summary(now, compacting);
            return;
        }
        let decision = decide(&fault, compacting.failed, self.patience(), self.jitter(now));
        match decision {
            Decision::After(delay) if fault.kind != FaultKind::ContextOverflow => {
                self.wait_for_summary(now, compacting, fault, delay);
            }
            _ => {
                let text = format!(
                    "No summary could be had: {fault} Older messages were left out instead."
                );
                self.notice(NoticeLevel::Warning, &text);
                self.remove_instead(now, compacting);
            }
        }
    }

    /// The provider takes less than we thought: what is left is cut into chunks of half the size.
    fn shrink(&self, compacting: &mut Compacting) -> bool {
        let (Some(first), Some(last)) = (compacting.chunks.front(), compacting.chunks.back())
        else {
            return false;
        };
        let places = first.places.start..last.places.end;
        let refused = compact::tokens_in(&self.conversation, first.places.clone());
        let budget = refused.min(self.summary_limit(None)) / 2;
        if compacting.shrinks >= MOST_SHRINKS || budget < 500 {
            return false;
        }
        let chunks = compact::chunks(&self.conversation, places, budget);
        if chunks.len() > MOST_CHUNKS {
            return false;
        }
        compacting.shrinks += 1;
        compacting.chunks = chunks.into();
        true
    }
}
