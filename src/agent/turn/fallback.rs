//! Another model for the rest of a turn when the chosen one stays overloaded. Called by `stop` when
//! a stream failed; the user is told of every change, and the next turn begins with the chosen model.

use super::{State, Turn};
use crate::model::ModelInfo;
use crate::protocol::{Event, Fault, FaultKind, Millis, NoticeLevel};

/// Overloaded attempts of one step in a row after which another model is asked.
const AFTER: u32 = 3;

impl Turn {
    /// Goes on with the next model of the list, if the failure is of the kind that it helps against;
    /// false if the failure is to be handled in the usual way.
    pub(super) fn fall_back(
        &mut self,
        now: Millis,
        failed: u32,
        fault: &Fault,
        grace: bool,
    ) -> bool {
        let overloaded =
            fault.retryable && matches!(fault.kind, FaultKind::RateLimit | FaultKind::Overloaded);
        let stands_in = self.chosen.is_some();
        let Some(running) = &mut self.running else {
            return false;
        };
        running.overloaded = if overloaded {
            running.overloaded + 1
        } else {
            0
        };
        // A stand-in that cannot be asked at all (no key, unknown) is passed over.
        let useless = stands_in && !fault.retryable;
        if running.overloaded < AFTER && !useless {
            return false;
        }
        let Some(next) = self.next_model(useless) else {
            return false;
        };
        let why = if useless {
            "cannot be asked"
        } else {
            "stays overloaded"
        };
        let text = format!(
            "{} {why} ({}). Going on with {} for the rest of this turn.",
            self.setup.info.model, fault.message, next.model
        );
        if let Some(running) = &mut self.running {
            running.fallen += 1;
            running.overloaded = 0;
        }
        self.break_attempt(now, failed, fault, now);
        self.write_event(Event::Notice {
            level: NoticeLevel::Warning,
            text,
        });
        self.stand_in(next);
        self.state = State::Idle;
        if !self.budget_reached(now) {
            self.start_attempt(now, 0, grace);
        }
        true
    }

    /// The models take turns: the fallbacks in order, then the chosen one again. A model that cannot
    /// be asked at all does not lead round again.
    fn next_model(&self, once: bool) -> Option<ModelInfo> {
        let chosen = self.chosen.as_deref().unwrap_or(&self.setup.model);
        let others = self
            .fallbacks
            .iter()
            .filter(|m| m.model != chosen.model)
            .collect::<Vec<_>>();
        let taken = self.running.as_ref().map_or(0, |r| r.fallen);
        if others.is_empty() || (once && taken >= others.len()) {
            return None;
        }
        let at = taken % (others.len() + 1);
        Some(
            others
                .get(at)
                .map_or_else(|| chosen.clone(), |m| (*m).clone()),
        )
    }

    fn stand_in(&mut self, next: ModelInfo) {
        let was = std::mem::replace(&mut self.setup.model, next);
        self.setup.info.model = self.setup.model.model.clone();
        let chosen = self.chosen.take().unwrap_or_else(|| Box::new(was));
        self.chosen = (chosen.model != self.setup.model.model).then_some(chosen);
    }

    /// The turn is over: the chosen model is asked again.
    pub(super) fn use_chosen_model(&mut self) {
        if let Some(chosen) = self.chosen.take() {
            self.setup.info.model = chosen.model.clone();
            self.setup.model = *chosen;
        }
    }
}
