//! A subagent's transcript over the conversation: live while it works, whole afterwards.
//!
//! The transcript is in the state, because the layer only says that it is open; keys are
//! `update::subagents`' business.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::Rect;

use super::{Frame, footer};
use crate::protocol::{Millis, Status, TurnEnd};
use crate::tui::keymap::Action;
use crate::tui::state::State;
use crate::tui::state::subagents::Watched;
use crate::tui::transcript::Look;
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// Draws it; true if something in it moves.
pub fn draw(state: &mut State, area: Rect, buf: &mut Cells, now: Millis, spinner: usize) -> bool {
    let frame = Frame::of(area);
    let Some(mut watched) = state.subagents.watched.take() else {
        return false;
    };
    let theme = &state.theme;
    Row::new()
        .fixed("Subagent", theme.bold())
        .gap(2)
        .text(&watched.known.agent, theme.accent())
        .gap(2)
        .text(&watched.known.title, theme.default())
        .right(&doing(&watched, now), theme.dim())
        .draw(frame.title, buf);
    let unfold_key = state.keys.key(Action::SubagentUnfold);
    let look = Look {
        theme,
        now,
        spinner,
        motion: state.motion(),
        unfold_key: &unfold_key,
        // Its outputs are in another session: no key opens them from here.
        output_key: "",
    };
    // The transcript has margins of its own.
    let body = Rect {
        x: area.x,
        width: area.width,
        ..frame.body
    };
    let rendered = watched.transcript.render(body, buf, &look);
    let mut hints = vec![(Action::PageUp, "page up")];
    if !rendered.at_bottom {
        hints.push((Action::PagerBottom, "newest"));
    }
    if watched.at_work() {
        hints.push((Action::SubagentStop, "stop it"));
    }
    footer(state, &hints, Action::PagerClose).draw(frame.footer, buf);
    let moves = rendered.animating || watched.at_work();
    state.subagents.watched = Some(watched);
    moves
}

/// What it does, how long, and what it has cost.
fn doing(watched: &Watched, now: Millis) -> String {
    let cost = watched
        .status
        .as_ref()
        .and_then(|status: &Status| status.cost)
        .filter(|usd| *usd > 0.0)
        .map(numbers::money);
    let started = watched.status.as_ref().and_then(|s| s.turn_started);
    let state = match watched.ended {
        Some(TurnEnd::Done) => "done".to_owned(),
        Some(_) => "stopped".to_owned(),
        None if watched.at_work() => match started {
            Some(at) => format!("at work {}", numbers::elapsed(now - at)),
            None => "at work".to_owned(),
        },
        None => "done".to_owned(),
    };
    match cost {
        Some(cost) => format!("{cost}   {state}"),
        None => state,
    }
}
