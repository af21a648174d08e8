//! The four strategies: when each is due and what it keeps.

use super::{Plan, Strategy, TailStart, View, split};
use crate::context::overflow::is_overflow;

/// The strategy with this name; none if there is none.
pub fn by_name(name: &str) -> Option<&'static dyn Strategy> {
    ALL.into_iter().find(|s| s.name() == name)
}

/// The strategy that is used when none is chosen.
pub fn default() -> &'static dyn Strategy {
    &ReactiveOverflow
}

const ALL: [&dyn Strategy; 4] = [
    &ReactiveOverflow,
    &ProactiveThreshold,
    &MiddleRemoval,
    &Manual,
];

/// True if the next request holds more than this share of the window, or would not fit at all.
fn is_beyond(view: &View<'_>, share: f64) -> bool {
    view.window.usable > 0
        && (view.usage.next() as f64 > view.window.size as f64 * share
            || is_overflow(&view.usage, view.window))
}

/// Compacts when the next request would not fit; the default.
#[derive(Debug)]
struct ReactiveOverflow;

impl Strategy for ReactiveOverflow {
    fn name(&self) -> &'static str {
        "reactive-overflow"
    }

    fn is_due(&self, view: &View<'_>) -> bool {
        is_overflow(&view.usage, view.window)
    }

    fn plan(&self, view: &View<'_>) -> Option<Plan> {
        // A tail of more than a quarter of the window would be back at the limit within a few steps.
        split(
            view,
            view.settings.keep_turns,
            view.window.usable.max(4_000) / 4,
            TailStart::Prompt,
        )
    }
}

/// Compacts early, at a share of the window, and keeps the newest share.
#[derive(Debug)]
struct ProactiveThreshold;

impl Strategy for ProactiveThreshold {
    fn name(&self) -> &'static str {
        "proactive-threshold"
    }

    fn is_due(&self, view: &View<'_>) -> bool {
        is_beyond(view, view.settings.threshold)
    }

    fn plan(&self, view: &View<'_>) -> Option<Plan> {
        let keep = view.usage.next() as f64 * view.settings.threshold_keep;
        split(view, u32::MAX, keep as u64, TailStart::Anywhere)
    }
}

/// Leaves out the middle without asking a model.
#[derive(Debug)]
struct MiddleRemoval;

impl Strategy for MiddleRemoval {
    fn name(&self) -> &'static str {
        "middle-removal"
    }

    fn is_due(&self, view: &View<'_>) -> bool {
        is_beyond(view, view.settings.removal_at)
    }

    fn plan(&self, view: &View<'_>) -> Option<Plan> {
        let keep = view.window.usable / 4;
        let mut plan = split(view, u32::MAX, keep, TailStart::Anywhere)?;
        plan.summarise = false;
        Some(plan)
    }
}

/// Compacts only when the user says so.
#[derive(Debug)]
struct Manual;

impl Strategy for Manual {
    fn name(&self) -> &'static str {
        "manual"
    }

    fn is_due(&self, _view: &View<'_>) -> bool {
        false
    }

    fn plan(&self, view: &View<'_>) -> Option<Plan> {
        split(
            view,
            view.settings.keep_turns,
            view.window.usable.max(4_000) / 4,
            TailStart::Prompt,
        )
    }
}

#[cfg(test)]
#[path = "strategies_tests.rs"]
mod tests;
