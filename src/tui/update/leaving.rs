//! Leaving a session while its turn runs: asked first, because it stops the turn.
//!
//! Everything that opens another session goes through `to`; the answer comes back as
//! `Intent::Leave`.

use super::super::overlay::picker::{Entry, Kind, Picker};
use super::super::overlay::{Intent, Overlay};
use super::super::state::State;
use super::Effect;
use crate::protocol::Op;

/// Tells the agent, unless that would stop a running turn: then the user is asked.
pub(super) fn to(state: &mut State, op: Op) -> Vec<Effect> {
    let Some(does) = leads_away(state, &op).filter(|_| state.is_running()) else {
        return vec![Effect::Op(op)];
    };
    let queued = state.queue.guidance.len() + state.queue.follow_ups.len();
    let waits = match queued {
        0 => "what it has done stays".to_owned(),
        1 => "what it has done stays; 1 message waits there".to_owned(),
        many => format!("what it has done stays; {many} messages wait there"),
    };
    let entry = |label: String, says: String, intents| Entry {
        label,
        says,
        detail: String::new(),
        intents,
    };
    let entries = vec![
        entry(
            format!("Stop it and {does}"),
            waits,
            vec![Intent::Leave(op)],
        ),
        entry(
            "Stay here".to_owned(),
            "the turn goes on".to_owned(),
            vec![Intent::Stay],
        ),
    ];
    let picker = Picker::new(Kind::Other, "A turn is running", entries);
    state.overlays.push(Overlay::Picker(picker));
    Vec::new()
}

/// What an op that leaves this session does, in words; none if it stays here.
fn leads_away(state: &State, op: &Op) -> Option<&'static str> {
    let here = state.session.info.as_ref().map(|info| info.id);
    match op {
        Op::NewSession => Some("start a new session"),
        Op::OpenSession(id) if Some(*id) != here => Some("open the other session"),
        Op::OpenPart { session, .. } if Some(*session) != here => Some("open the other session"),
        Op::Fork { .. } | Op::ForkSession(_) => Some("go on in a copy"),
        _ => None,
    }
}
