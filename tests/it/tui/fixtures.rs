//! What an agent would send, for screens and keys.

use dunlin::protocol::event::Place;
use dunlin::protocol::{
    Ask, AskBody, ContextGauge, Event, IdMint, Message, MessageId, Mode, Part, PartBody, Phase,
    PromptInput, QueueItem, QueueKind, QueueState, Role, SessionId, SessionInfo, SessionSummary,
    Status, Tokens, ToolPart, ToolState,
};
use dunlin::tui::Harness;
use serde_json::{Value, json};

/// A front end with an open session, and ids for what follows.
pub(super) struct World {
    pub(super) tui: Harness,
    pub(super) mint: IdMint,
    pub(super) session: SessionId,
    /// What the user said, oldest first.
    pub(super) prompts: Vec<MessageId>,
}

/// How much of a window is used, as in the frames.
pub(super) const GAUGE: ContextGauge = ContextGauge {
    used: 52_341,
    pruned: 3_976,
    window: 200_000,
    compact_at: 160_000,
};

impl World {
    pub(super) fn new(width: u16, height: u16) -> Self {
        let mut mint = IdMint::new(1, 0);
        let mut tui = Harness::new(width, height);
        let session = mint.session(tui.now);
        tui.event(Event::SessionStarted {
            session: info(session, ""),
            writable: true,
            read_only: None,
            cut: false,
        });
        tui.ops();
        Self {
            tui,
            mint,
            session,
            prompts: Vec::new(),
        }
    }

    pub(super) fn status(&mut self, phase: Phase, since: i64, change: impl FnOnce(&mut Status)) {
        let idle = matches!(phase, Phase::Idle);
        let mut status = Status {
            phase,
            turn_started: (!idle).then_some(self.tui.now - since),
            turn_output: 0,
            context: GAUGE,
            cost: Some(0.42),
            mode: Mode::Ask,
            agent: "build".to_owned(),
            model: "anthropic/sonnet-x".parse().expect("a model"),
            model_label: "sonnet-x high".to_owned(),
            sandbox: "workspace-write".to_owned(),
        };
        change(&mut status);
        self.tui.event(Event::Status(status));
    }

    pub(super) fn say(&mut self, role: Role, text: &str) -> MessageId {
        let id = self.message_of(role);
        if role == Role::User {
            self.prompts.push(id);
        }
        let body = PartBody::Text {
            text: text.to_owned(),
            synthetic: false,
            ignored: false,
        };
        self.part(id, body);
        id
    }

    /// A message without parts yet.
    pub(super) fn message_of(&mut self, role: Role) -> MessageId {
        let id = self.mint.message(self.tui.now);
        let message = self.message(id, role);
        self.tui.event(Event::MessageCreated { message });
        id
    }

    /// What the assistant says in a message of its own.
    pub(super) fn answer(&mut self, text: &str) -> MessageId {
        self.say(Role::Assistant, text)
    }

    /// A text that streams: a first piece as a part, the rest as deltas.
    pub(super) fn streamed(&mut self, message: MessageId, text: &str) {
        let half = text.char_indices().nth(text.chars().count() / 2);
        let (first, rest) = text.split_at(half.map_or(0, |(at, _)| at));
        let part = self.open_part(message, first);
        for word in rest.split_inclusive(' ') {
            self.tui.event(Event::PartDelta {
                message,
                part: part.id,
                delta: word.to_owned(),
            });
        }
    }

    pub(super) fn open_part(&mut self, message: MessageId, text: &str) -> Part {
        let part = Part {
            id: self.mint.part(self.tui.now),
            message,
            session: self.session,
            start: self.tui.now,
            end: None,
            body: PartBody::Text {
                text: text.to_owned(),
                synthetic: false,
                ignored: false,
            },
        };
        self.tui.event(Event::PartUpdated { part: part.clone() });
        part
    }

    /// A finished call: input, title and output; facts; how long it took.
    pub(super) fn done(
        &mut self,
        message: MessageId,
        tool: &str,
        (input, title, output): (Value, &str, &str),
        metadata: Value,
        took: i64,
    ) -> Part {
        let start = self.tui.now;
        self.tui.now += took;
        let state = ToolState::Completed {
            input,
            output: output.to_owned(),
            title: title.to_owned(),
            metadata,
            attachments: Vec::new(),
            truncated: None,
            compacted_at: None,
            start,
            end: start + took,
        };
        self.tool(message, tool, state)
    }

    fn tool(&mut self, message: MessageId, tool: &str, state: ToolState) -> Part {
        let call = ToolPart {
            call: "c".to_owned(),
            tool: tool.to_owned(),
            state,
            provider: None,
        };
        self.part(message, PartBody::Tool(call))
    }

    /// A command that has run for so long, with the tail of its output.
    pub(super) fn runs(
        &mut self,
        message: MessageId,
        command: &str,
        tail: &str,
        since: i64,
    ) -> Part {
        let state = ToolState::Running {
            input: json!({"command": command}),
            title: command.to_owned(),
            metadata: Value::Null,
            tail: tail.to_owned(),
            start: self.tui.now - since,
        };
        self.tool(message, "bash", state)
    }

    /// What the model thought, for so long.
    pub(super) fn thought(&mut self, message: MessageId, text: &str, took: i64) {
        let start = self.tui.now;
        self.tui.now += took;
        let part = Part {
            id: self.mint.part(start),
            message,
            session: self.session,
            start,
            end: Some(start + took),
            body: PartBody::Reasoning {
                text: text.to_owned(),
                provider: None,
                ignored: false,
            },
        };
        self.tui.event(Event::PartUpdated { part });
    }

    /// A compaction begins that keeps what was said from `tail` on; its summary's message is open.
    pub(super) fn compaction(&mut self, tail: MessageId) {
        let request = self.message_of(Role::User);
        let body = PartBody::Compaction {
            auto: true,
            strategy: "reactive-overflow".to_owned(),
            before: 0,
            after: 0,
            focus: String::new(),
            tail: Some(tail),
        };
        self.part(request, body);
    }

    /// The summary so far.
    pub(super) fn summary(&mut self, text: &str) {
        let id = self.mint.message(self.tui.now);
        let message = Message {
            summary: true,
            ..self.message(id, Role::Assistant)
        };
        self.tui.event(Event::MessageCreated { message });
        self.streamed(id, text);
    }

    pub(super) fn message(&self, id: MessageId, role: Role) -> Message {
        Message {
            id,
            session: self.session,
            parent: None,
            role,
            agent: "build".to_owned(),
            model: "anthropic/sonnet-x".parse().expect("a model"),
            summary: false,
            finish: None,
            error: None,
            tokens: Tokens::default(),
            cost: None,
            created: self.tui.now,
            completed: None,
        }
    }

    pub(super) fn part(&mut self, message: MessageId, body: PartBody) -> Part {
        let id = self.mint.part(self.tui.now);
        let now = self.tui.now;
        let part = Part {
            id,
            message,
            session: self.session,
            start: now,
            end: Some(now),
            body,
        };
        self.tui.event(Event::PartUpdated { part: part.clone() });
        part
    }

    /// Lets time pass until the spinner shows the sign of the frames.
    pub(super) fn third_spin(&mut self) {
        while (self.tui.now / 125) % 10 != 2 {
            self.tui.now += 1;
        }
    }

    /// A tool call that runs.
    pub(super) fn running(&mut self, message: MessageId, tool: &str, input: Value) -> Part {
        let state = ToolState::Running {
            input,
            title: String::new(),
            metadata: Value::Null,
            tail: String::new(),
            start: self.tui.now,
        };
        let call = ToolPart {
            call: "c1".to_owned(),
            tool: tool.to_owned(),
            state,
            provider: None,
        };
        self.part(message, PartBody::Tool(call))
    }

    /// A plan with two of four steps begun.
    pub(super) fn plan(&mut self, message: MessageId) {
        self.plan_at(message, 1);
    }

    /// A plan of four steps, the first ones done, the next one in progress.
    pub(super) fn plan_at(&mut self, message: MessageId, done: usize) {
        let steps = [
            "Find the cause",
            "Guard reflow during replay",
            "Run the tests",
            "Update the changelog",
        ];
        let step = |(at, content): (usize, &&str)| {
            let status = match at {
                _ if at < done => "completed",
                _ if at == done => "in_progress",
                _ => "pending",
            };
            json!({"content": content, "status": status})
        };
        let steps: Vec<Value> = steps.iter().enumerate().map(step).collect();
        let todos = json!({ "todos": steps });
        self.running(message, "todo", todos);
    }

    pub(super) fn ask(&mut self, body: AskBody) -> Ask {
        self.ask_about(None, body)
    }

    /// A question about a call.
    pub(super) fn ask_about(&mut self, part: Option<Part>, body: AskBody) -> Ask {
        let id = self.mint.ask(self.tui.now);
        let ask = Ask {
            id,
            session: self.session,
            part: part.map(|part| part.id),
            created: self.tui.now,
            body,
        };
        self.tui.event(Event::Asked { ask: ask.clone() });
        ask
    }

    pub(super) fn queued(&mut self, guidance: &[&str], follow_ups: &[&str], paused: bool) {
        let mut item = |kind, text: &&str| QueueItem {
            id: self.mint.queue(self.tui.now),
            kind,
            input: PromptInput {
                text: (*text).to_owned(),
                files: Vec::new(),
            },
            created: self.tui.now,
        };
        let guidance = guidance
            .iter()
            .map(|t| item(QueueKind::Guidance, t))
            .collect();
        let follow_ups = follow_ups
            .iter()
            .map(|t| item(QueueKind::FollowUp, t))
            .collect();
        let queue = QueueState {
            guidance,
            follow_ups,
            paused,
        };
        self.tui.event(Event::QueueChanged { queue });
    }
}

pub(super) fn info(id: SessionId, title: &str) -> SessionInfo {
    SessionInfo {
        id,
        parent: None,
        title: title.to_owned(),
        worktree: "/home/u/code/pager".to_owned(),
        model: "anthropic/sonnet-x".parse().expect("a model"),
        agent: "build".to_owned(),
        mode: Mode::Ask,
        created: 0,
    }
}

pub(super) fn summary(id: SessionId, title: &str, updated: i64, percent: u8) -> SessionSummary {
    SessionSummary {
        info: info(id, title),
        updated,
        parts: 40,
        messages: 8,
        cost: Some(0.42),
        first_prompt: format!("{title}, please"),
        context_percent: percent,
        added: 0,
        removed: 0,
        branch: "main".to_owned(),
        open_elsewhere: false,
        fork: false,
        archived: false,
        damaged: false,
    }
}

pub(super) fn place() -> Place {
    Place {
        worktree: "~/code/pager".to_owned(),
        branch: "main".to_owned(),
        git_state: "clean".to_owned(),
        instructions: vec![("AGENTS.md".to_owned(), 2_100)],
        skills: 4,
        mcp: 1,
    }
}

pub(super) fn permission(subject: &str) -> AskBody {
    AskBody::Permission {
        tool: "bash".to_owned(),
        heading: "Run this command".to_owned(),
        subject: subject.to_owned(),
        diff: String::new(),
        says: "Adds the snapshot testing crate.".to_owned(),
        sees: vec![
            "network".to_owned(),
            "writes Cargo.toml and Cargo.lock".to_owned(),
        ],
        place: "~/code/pager   sandbox: workspace-write".to_owned(),
        pattern: Some("cargo add *".to_owned()),
        withheld: String::new(),
        dangerous: false,
    }
}

pub(super) fn doom_loop() -> AskBody {
    let fact = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    AskBody::DoomLoop {
        tool: "bash".to_owned(),
        subject: "cargo test -p pager resize".to_owned(),
        input: json!({"command": "cargo test -p pager resize"}),
        repeats: 4,
        cycle: 1,
        again: 3,
        limit: 20,
        facts: vec![
            fact("same call", "4 times in a row, identical arguments"),
            fact("same result", "3 of 3: exit 101, identical output"),
            fact("since then", "no file changed, 19s and 2.4k tokens spent"),
        ],
    }
}
