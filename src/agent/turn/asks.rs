//! Questions to the user: opened, answered, closed. Several may be open at once.

use serde_json::{Value, json};

use super::calls::Stage;
use super::{State, Turn};
use crate::agent::effect::Effect;
use crate::protocol::{Answer, Ask, AskBody, AskId, Event, Millis, NoticeLevel, PartId, TurnEnd};

/// Facts for front ends: the user refused the call, and with which words.
fn refused(words: &str) -> Value {
    json!({"refused": {"by": "user", "words": words}})
}

/// What the model reads after a plain no.
const REFUSED: &str = "The user refused this call. Do not try it again in another way.";
/// What the model reads when nobody can be asked.
const HEADLESS: &str =
    "This call needs the user's permission, and nobody can be asked here. It was not run.";
/// What the model reads when its loop was stopped.
const LOOPING: &str = "This call was not run: you are repeating the same calls. Stop and think about what \
                       else could be the cause, or say what you need from the user.";

impl Turn {
    /// Opens a question; headless, it is answered with no at once.
    pub(super) fn ask(&mut self, now: Millis, part: Option<PartId>, body: AskBody) {
        let ask = Ask {
            id: self.mint.ask(now),
            session: self.setup.info.id,
            part,
            created: now,
            body,
        };
        self.write_event(Event::Asked { ask: ask.clone() });
        if self.setup.headless {
            self.refuse_headless(now, &ask);
            return;
        }
        self.asks.push(ask);
        self.announce_status(now);
    }

    fn refuse_headless(&mut self, now: Millis, ask: &Ask) {
        let Some(part) = ask.part else { return };
        let sentence = match (&ask.body, &mut self.running) {
            (AskBody::DoomLoop { .. }, Some(running)) => {
                running.looped = true;
                LOOPING
            }
            (AskBody::Permission { .. }, Some(running)) => {
                running.refused = true;
                HEADLESS
            }
            _ => HEADLESS,
        };
        self.fail_call(now, part, sentence.to_owned());
    }

    /// The user decided.
    pub(super) fn answered(&mut self, now: Millis, id: AskId, answer: Answer) {
        let Some(at) = self.asks.iter().position(|a| a.id == id) else {
            self.notice(NoticeLevel::Info, "That question is not open any more.");
            return;
        };
        let ask = self.asks.remove(at);
        self.write_event(Event::AskClosed { ask: id });
        self.sync_soon();
        match (&ask.body, ask.part) {
            (AskBody::Permission { tool, .. }, Some(part)) => {
                let tool = tool.clone();
                self.permission_answered(now, part, &tool, answer);
            }
            (AskBody::DoomLoop { tool, input, .. }, Some(part)) => {
                let (tool, input) = (tool.clone(), input.clone());
                self.loop_answered(now, part, &tool, &input, answer);
            }
            (AskBody::Budget { .. }, _) => self.budget_answered(now, &answer),
            (AskBody::Question { .. }, None) => self.room_answered(now, &answer),
            _ => {}
        }
        self.announce_status(now);
    }

    fn permission_answered(&mut self, now: Millis, part: PartId, tool: &str, answer: Answer) {
        match answer {
            Answer::Once => {
                self.set_stage(part, Stage::Allowed);
                self.start_calls(now);
            }
            Answer::Always { scope, pattern } => {
                self.effects.push(Effect::Grant {
                    scope,
                    tool: tool.to_owned(),
                    pattern,
                });
                self.set_stage(part, Stage::Allowed);
                self.judge_waiting_again();
                self.start_calls(now);
            }
            // Words are no permission.
            Answer::No { message } | Answer::Text { text: message }
                if message.trim().is_empty() =>
            {
                if let Some(running) = &mut self.running {
                    running.refused = true;
                }
                self.refuse_call(now, part, REFUSED.to_owned(), refused(""));
            }
            Answer::No { message } | Answer::Text { text: message } => {
                let sentence = format!("The user refused this call and says: {message}");
                self.refuse_call(now, part, sentence, refused(&message));
            }
        }
    }

    /// A wider permission may settle questions that are open: of this step, or of a subagent whose
    /// sibling was allowed something. They stay open until the judge has spoken.
    pub(super) fn judge_waiting_again(&mut self) {
        let waiting: Vec<PartId> = self
            .asks
            .iter()
            .filter(|a| matches!(a.body, AskBody::Permission { .. }))
            .filter_map(|a| a.part)
            .collect();
        for part in waiting {
            let Some(call) = self.call_mut(part) else {
                continue;
            };
            let (tool, input) = (call.tool.clone(), call.input.clone());
            self.effects.push(Effect::Judge { part, tool, input });
        }
    }

    /// Closes the permission question about a call; somebody else's answer has settled it.
    pub(super) fn close_permission_ask(&mut self, part: PartId) {
        let of_call =
            |a: &Ask| a.part == Some(part) && matches!(a.body, AskBody::Permission { .. });
        if let Some(at) = self.asks.iter().position(of_call) {
            let ask = self.asks.remove(at).id;
            self.write_event(Event::AskClosed { ask });
        }
    }

    fn loop_answered(
        &mut self,
        now: Millis,
        part: PartId,
        tool: &str,
        input: &Value,
        answer: Answer,
    ) {
        let Some(Stage::Asking(next)) = self.call_mut(part).map(|c| c.stage.clone()) else {
            return;
        };
        let limits = self.limits();
        match answer {
            Answer::Once => {
                self.guard.forgive();
                self.guard.record(part.raw(), tool, input);
                self.go_on_with(now, part, next);
            }
            Answer::Always { .. } => {
                self.guard.allow_always(tool, input, limits);
                self.go_on_with(now, part, next);
            }
            Answer::No { message } | Answer::Text { text: message }
                if message.trim().is_empty() =>
            {
                self.refuse_call(now, part, LOOPING.to_owned(), refused(""));
            }
            Answer::No { message } | Answer::Text { text: message } => {
                let sentence = format!("{LOOPING} The user says: {message}");
                self.refuse_call(now, part, sentence, refused(&message));
            }
        }
    }

    fn budget_answered(&mut self, now: Millis, answer: &Answer) {
        match answer {
            Answer::Once | Answer::Always { .. } => {
                self.granted += 1;
                let granted = self.granted;
                self.write_value("granted", &granted);
                if self.running.as_ref().is_some_and(|r| r.no_steps) {
                    self.compact_now(now);
                } else {
                    self.begin_step(now);
                }
            }
            _ => self.end_turn(now, TurnEnd::Budget),
        }
    }

    /// Closes every open question without an answer.
    pub(super) fn close_asks(&mut self) {
        for ask in std::mem::take(&mut self.asks) {
            self.write_event(Event::AskClosed { ask: ask.id });
        }
    }

    /// True while a step waits for nothing but the user.
    pub fn waits_for_user(&self) -> bool {
        !self.asks.is_empty() && !matches!(self.state, State::Idle)
    }
}
