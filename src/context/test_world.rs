//! Conversations for tests, built turn by turn.

use super::Conversation;
use crate::protocol::{
    IdMint, Message, MessageId, ModelRef, Part, PartBody, PartId, Role, SessionId, Tokens,
    ToolPart, ToolState,
};

/// A conversation under construction.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) conversation: Conversation,
    mint: IdMint,
    session: SessionId,
    now: i64,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut mint = IdMint::new(1, 0);
        let session = mint.session(1);
        Self {
            conversation: Conversation::default(),
            mint,
            session,
            now: 1,
        }
    }

    pub(crate) fn message(&mut self, role: Role, summary: bool) -> MessageId {
        self.now += 1;
        let id = self.mint.message(self.now);
        self.conversation.put_message(Message {
            id,
            session: self.session,
            parent: self.conversation.tip().map(|e| e.message.id),
            role,
            agent: "build".to_owned(),
            model: ModelRef {
                provider: "scripted".to_owned(),
                model: "m".to_owned(),
            },
            summary,
            finish: None,
            error: None,
            tokens: Tokens::default(),
            cost: None,
            created: self.now,
            completed: Some(self.now),
        });
        id
    }

    pub(crate) fn part(&mut self, body: PartBody) -> PartId {
        let message = self.conversation.tip().expect("a message first").message.id;
        let id = self.mint.part(self.now);
        self.conversation.put_part(Part {
            id,
            message,
            session: self.session,
            start: self.now,
            end: Some(self.now),
            body,
        });
        id
    }

    pub(crate) fn prompt(&mut self, text: &str) -> MessageId {
        let id = self.message(Role::User, false);
        self.text(text);
        id
    }

    pub(crate) fn text(&mut self, text: &str) -> PartId {
        self.part(PartBody::Text {
            text: text.to_owned(),
            synthetic: false,
            ignored: false,
        })
    }

    /// One assistant message with one completed call.
    pub(crate) fn tool(&mut self, tool: &str, input: &str, output: &str) -> PartId {
        self.tool_at(tool, input, output, None)
    }

    pub(crate) fn tool_pruned(&mut self, tool: &str, input: &str, output: &str) -> PartId {
        self.tool_at(tool, input, output, Some(1))
    }

    fn tool_at(&mut self, tool: &str, input: &str, output: &str, pruned: Option<i64>) -> PartId {
        self.message(Role::Assistant, false);
        self.part(PartBody::Tool(ToolPart {
            call: format!("call_{}", self.now),
            tool: tool.to_owned(),
            provider: None,
            state: ToolState::Completed {
                input: serde_json::from_str(input).expect("json"),
                output: output.to_owned(),
                title: String::new(),
                metadata: serde_json::Value::Null,
                attachments: Vec::new(),
                truncated: None,
                compacted_at: pruned,
                start: self.now,
                end: self.now,
            },
        }))
    }

    /// From now on it is so late, if it was not later already.
    pub(crate) fn at(&mut self, now: i64) {
        self.now = self.now.max(now);
    }

    /// Clears a result at an instant, or brings it back.
    pub(crate) fn prune(&mut self, part: PartId, at: Option<i64>) {
        self.change(part, |tool| {
            if let ToolState::Completed { compacted_at, .. } = &mut tool.state {
                *compacted_at = at;
            }
        });
    }

    /// The call carries data of its wire.
    pub(crate) fn sign(&mut self, part: PartId) {
        self.change(part, |tool| {
            tool.provider = Some(serde_json::json!({"wire": "gemini", "thoughtSignature": "s"}));
        });
    }

    fn change(&mut self, part: PartId, change: impl FnOnce(&mut ToolPart)) {
        let mut part = self.conversation.part(part).expect("the part").clone();
        if let PartBody::Tool(tool) = &mut part.body {
            change(tool);
        }
        self.conversation.put_part(part);
    }

    /// A call of the newest message that failed.
    pub(crate) fn failed(&mut self, tool: &str, error: &str) {
        if self
            .conversation
            .tip()
            .is_none_or(|e| e.message.role == Role::User)
        {
            self.message(Role::Assistant, false);
        }
        self.now += 1;
        self.part(PartBody::Tool(ToolPart {
            call: format!("call_{}", self.now),
            tool: tool.to_owned(),
            provider: None,
            state: ToolState::Error {
                input: serde_json::json!({}),
                raw: String::new(),
                error: error.to_owned(),
                title: String::new(),
                metadata: serde_json::Value::Null,
                interrupted: false,
                start: self.now,
                end: self.now,
            },
        }));
    }

    /// A thought in the newest message.
    pub(crate) fn thought(&mut self, text: &str) {
        self.part(PartBody::Reasoning {
            text: text.to_owned(),
            provider: Some(
                serde_json::json!({"wire": "anthropic", "type": "thinking", "signature": "s"}),
            ),
            ignored: false,
        });
    }

    /// A compaction request that keeps from `tail` on, and its finished summary.
    pub(crate) fn compaction(&mut self, tail: Option<MessageId>, summary: &str) {
        self.message(Role::User, false);
        self.part(PartBody::Compaction {
            auto: true,
            strategy: "reactive-overflow".to_owned(),
            before: 0,
            after: 0,
            focus: String::new(),
            tail,
        });
        self.message(Role::Assistant, true);
        self.text(summary);
    }
}
