//! What the session cost, and what of it is pinned: reports for the user, made when they are asked for.
//!
//! Called by `ops`. Both are read from the journal, beside the driver: what stands before the last
//! compaction need not be in memory.

use super::{Agent, Back};
use crate::context::{Conversation, tokens};
use crate::model::ModelInfo;
use crate::protocol::event::PinChoice;
use crate::protocol::{
    CacheTokens, Event, Message, ModelRef, Part, PartBody, PartId, Role, SessionId, Spending,
    SpentOn, Tokens, ToolState,
};
use crate::session::{History, Project};

/// Parts that are offered for pinning at most, the newest first.
const OFFERED: usize = 200;
/// Characters of a text that name it.
const NAME: usize = 100;

impl Agent {
    /// Announces what the session cost.
    pub(super) fn tell_spending(&self) {
        let turn = &self.active.turn;
        let session = turn.info().id;
        let mut spending = Spending {
            total: turn.spent().cost(),
            limit: self.ports.config.budget.usd,
            ..Spending::default()
        };
        let project = self.ports.project.clone();
        let models = std::sync::Arc::clone(&self.ports.models);
        let back = self.active.back.clone();
        self.ports.beside(move || {
            // A session in which nothing was said yet has no journal.
            if let Ok(history) = project.open_session_all(session) {
                count(history, |model| models.info(model), &mut spending);
            }
            spending.subagents = subagents(&project, session);
            drop(back.send(Back::Event(Event::Spending(spending))));
        });
    }

    /// Announces what is pinned and what could be, the newest first.
    pub(super) fn tell_pins(&self) {
        let session = self.active.turn.info().id;
        let project = self.ports.project.clone();
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let history = project.open_session_all(session);
            let pins = history.map_or_else(|_nothing_said| Vec::new(), choices);
            drop(back.send(Back::Event(Event::Pins { pins })));
        });
    }
}

/// By model over all branches, by turn over the current one.
fn count(history: History, info: impl Fn(&ModelRef) -> ModelInfo, spending: &mut Spending) {
    let mut known: Vec<ModelInfo> = Vec::new();
    for message in history.messages.iter().filter(|m| answered(m)) {
        let name = message.model.to_string();
        let at = spending.models.iter().position(|m| m.name == name);
        let at = at.unwrap_or_else(|| {
            spending.models.push(SpentOn::new(name));
            known.push(info(&message.model));
            spending.models.len() - 1
        });
        spending.models[at].add(&message.tokens, message.cost);
        if let Some(saved) = known.get(at).and_then(|info| saved(info, &message.tokens)) {
            *spending.saved.get_or_insert(0.0) += saved;
        }
    }
    let (messages, parts) =
        super::branch::current(history.messages, history.parts, &history.values);
    for entry in Conversation::from_history(messages, parts).entries() {
        if entry.is_prompt() {
            spending
                .turns
                .push(SpentOn::new(first_line(&entry.text(), NAME)));
        }
        if answered(&entry.message)
            && let Some(turn) = spending.turns.last_mut()
        {
            turn.add(&entry.message.tokens, entry.message.cost);
        }
    }
}

/// True for an answer that was counted.
fn answered(message: &Message) -> bool {
    message.role == Role::Assistant && message.tokens.total() > 0
}

/// What the cache made cheaper: its tokens at the price of input, less what they cost.
fn saved(info: &ModelInfo, used: &Tokens) -> Option<f64> {
    let price = info.price.as_ref()?;
    let plain = Tokens {
        input: used.prompt(),
        cache: CacheTokens::default(),
        ..*used
    };
    Some(price.cost(&plain) - price.cost(used))
}

/// The session's own subagents, each with what it and its own subagents cost.
fn subagents(project: &Project, session: SessionId) -> Vec<SpentOn> {
    let mut children = project.list().unwrap_or_default();
    children.retain(|s| s.info.parent == Some(session) && !s.fork);
    children.sort_by_key(|s| s.info.id);
    let spent = |child: crate::protocol::SessionSummary| {
        let mut spent = SpentOn::new(child.info.title);
        let history = project.open_session_all(child.info.id);
        for message in history.iter().flat_map(|h| &h.messages) {
            if answered(message) {
                spent.add(&message.tokens, message.cost);
            }
        }
        // Its own subagents are in this sum.
        spent.cost = child.cost;
        spent
    };
    children.into_iter().map(spent).collect()
}

/// Everything of the current branch that can be pinned, as far as it is not too much; what is pinned
/// is always there.
fn choices(history: History) -> Vec<PinChoice> {
    let pinned = history.values.get("pins").cloned().unwrap_or_default();
    let pinned: Vec<PartId> = serde_json::from_value(pinned).unwrap_or_default();
    let (messages, parts) =
        super::branch::current(history.messages, history.parts, &history.values);
    let conversation = Conversation::from_history(messages, parts);
    // A summary is made anew by the next compaction.
    let said = conversation
        .entries()
        .iter()
        .rev()
        .filter(|entry| !entry.message.summary);
    let newest_first = said.flat_map(|entry| {
        let by_user = entry.message.role == Role::User;
        entry.parts.iter().rev().map(move |part| (part, by_user))
    });
    let mut offered = 0;
    newest_first
        .filter_map(|(part, by_user)| {
            let pinned = pinned.contains(&part.id);
            if !pinned && offered == OFFERED {
                return None;
            }
            let choice = choice(part, by_user, pinned)?;
            offered += usize::from(!pinned);
            Some(choice)
        })
        .collect()
}

/// A part as it is offered; none for parts that say nothing of their own.
fn choice(part: &Part, by_user: bool, pinned: bool) -> Option<PinChoice> {
    let (kind, name) = match &part.body {
        PartBody::Text {
            text,
            synthetic: false,
            ignored: false,
        } => {
            let kind = if by_user { "prompt" } else { "answer" };
            (kind, first_line(text, NAME))
        }
        PartBody::Tool(call) => match &call.state {
            ToolState::Completed { title, .. } => {
                let name = format!("{} {title}", call.tool);
                ("output", first_line(&name, NAME))
            }
            _ => return None,
        },
        _ => return None,
    };
    (!name.is_empty()).then(|| PinChoice {
        part: part.id,
        kind: kind.to_owned(),
        name,
        tokens: tokens::of_part(part),
        pinned,
    })
}

fn first_line(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(most).collect()
}

#[cfg(test)]
#[path = "spending_tests.rs"]
mod tests;
