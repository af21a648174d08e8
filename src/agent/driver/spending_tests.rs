//! What a session cost and what of it can be pinned, from a history made by hand.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::told::{self, said};
use super::*;
use crate::model::Price;
use crate::protocol::{CacheTokens, IdMint, MessageId, Mode, SessionInfo, ToolPart};

/// A session of prompts and answers.
struct Told {
    mint: IdMint,
    history: History,
}

impl Told {
    fn new() -> Self {
        let info = SessionInfo {
            id: SessionId::from_raw(1),
            parent: None,
            title: String::new(),
            worktree: "/w".to_owned(),
            model: "p/m".parse().expect("a model"),
            agent: "build".to_owned(),
            mode: Mode::Ask,
            created: 0,
        };
        let history = History {
            info,
            messages: Vec::new(),
            parts: Vec::new(),
            values: BTreeMap::new(),
            complete: true,
            last_id: 0,
        };
        Self {
            mint: IdMint::new(7, 0),
            history,
        }
    }

    fn message(&mut self, parent: Option<MessageId>, role: Role, body: PartBody) -> MessageId {
        let into = (&mut self.history.messages, &mut self.history.parts);
        told::add(&mut self.mint, into, (parent, role), body)
    }

    fn prompt(&mut self, parent: Option<MessageId>, text: &str) -> MessageId {
        self.message(parent, Role::User, said(text))
    }

    fn answer(&mut self, parent: MessageId, model: &str, cost: Option<f64>) -> MessageId {
        let id = self.message(Some(parent), Role::Assistant, said("An answer."));
        let message = self.history.messages.last_mut().expect("a message");
        message.model = model.parse().expect("a model");
        message.cost = cost;
        message.tokens = Tokens {
            input: 100,
            output: 10,
            reasoning: 0,
            cache: CacheTokens {
                read: 1_000,
                write: 0,
            },
        };
        id
    }
}

/// A model whose input costs 10 dollars a million, 1 from the cache.
fn priced(model: &ModelRef) -> ModelInfo {
    let price = Price {
        input: 10.0,
        output: 30.0,
        cache_read: 1.0,
        cache_write: 12.5,
        tiers: Vec::new(),
    };
    ModelInfo {
        model: model.clone(),
        label: String::new(),
        context: 200_000,
        max_input: None,
        max_output: 8_000,
        tools: true,
        reasoning: false,
        images: false,
        pdf: false,
        price: (model.model != "free").then_some(price),
        known: true,
    }
}

#[test]
fn spending_is_counted_by_model_over_all_branches_and_by_turn_of_this_one() {
    let mut told = Told::new();
    let first = told.prompt(None, "Find the bug\nplease");
    let one = told.answer(first, "p/m", Some(0.25));
    let two = told.answer(one, "p/m", Some(0.5));
    let left = told.prompt(Some(two), "A branch that was left");
    told.answer(left, "p/m", Some(1.0));
    let here = told.prompt(Some(two), "The current branch");
    told.answer(here, "p/free", None);
    let mut spending = Spending::default();
    count(told.history, priced, &mut spending);

    let models = spending.models.iter().map(|m| (&*m.name, m.steps, m.cost));
    assert_eq!(
        models.collect::<Vec<_>>(),
        [("p/m", 3, Some(1.75)), ("p/free", 1, None)]
    );
    assert_eq!(spending.models[0].tokens.cache.read, 3_000);
    let turns: Vec<_> = spending
        .turns
        .iter()
        .map(|t| (&*t.name, t.steps, t.cost))
        .collect();
    assert_eq!(
        turns,
        [
            ("Find the bug", 2, Some(0.75)),
            ("The current branch", 1, None)
        ]
    );
    // Three answers read 1,000 tokens each for a tenth of the price; the free one has no price.
    let saved = spending.saved.expect("prices are known");
    assert!((saved - 0.027).abs() < 1e-9, "{saved}");
}

#[test]
fn what_can_be_pinned_is_offered_newest_first_and_pins_are_always_there() {
    let mut told = Told::new();
    let first = told.prompt(None, "The oldest prompt");
    let pinned = told.history.parts[0].id;
    told.history
        .values
        .insert("pins".to_owned(), json!([pinned]));
    let mut last = told.answer(first, "p/m", None);
    let done = |n: usize| {
        let state = ToolState::Completed {
            input: json!({"command": "ls"}),
            output: "x".repeat(4_000),
            title: format!("ls {n}"),
            metadata: json!(null),
            attachments: Vec::new(),
            truncated: None,
            compacted_at: None,
            start: 0,
            end: 1,
        };
        PartBody::Tool(ToolPart {
            call: "c".to_owned(),
            tool: "bash".to_owned(),
            state,
            provider: None,
        })
    };
    for n in 0..OFFERED {
        last = told.message(Some(last), Role::Assistant, done(n));
    }
    let offered = choices(told.history);
    assert_eq!(
        offered.len(),
        OFFERED + 1,
        "the answer is too old, the pin is not"
    );
    assert_eq!(offered[0].name, format!("bash ls {}", OFFERED - 1));
    assert_eq!(offered[0].kind, "output");
    assert!(
        (1_000..1_100).contains(&offered[0].tokens),
        "{}",
        offered[0].tokens
    );
    let oldest = offered.last().expect("a choice");
    assert_eq!(
        (&*oldest.kind, &*oldest.name),
        ("prompt", "The oldest prompt")
    );
    assert!(oldest.pinned && !offered[0].pinned);
}
