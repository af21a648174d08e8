//! Drives a turn with recorded answers, message by message in the order of their ids.
//!
//! One turn runs on as long as the session did: prompts, guidance, retries and interrupts reach it as
//! they once did. Where the session took another way (a branch, a compaction, a crash, another
//! process), a new turn is made over the stored conversation and goes on from there.

use std::collections::{BTreeMap, HashMap};

use super::live::Live;
use super::{Difference, Report, compare};
use crate::agent::input::Input;
use crate::agent::turn::Setup;
use crate::config::used::{Budget, ContextSettings, TurnSettings};
use crate::context::Conversation;
use crate::model::tape::{Played, Reel};
use crate::model::{Delta, ModelInfo};
use crate::protocol::{
    Delivery, FaultKind, FilePart, Finish, Message, MessageId, Part, PartBody, PartId, PromptInput,
    Role, ToolState,
};
use crate::session::{AnswerEnd, Frames, History, RecordedFrames, checksum};

/// Messages that a new turn is given: what it does depends on fewer.
const BEFORE: usize = 64;
/// No limit; far from where sums overflow.
const MANY: u32 = 1_000_000;

pub(super) struct Player<'a> {
    history: &'a History,
    parts: HashMap<MessageId, &'a [Part]>,
    /// Place of each message in the history.
    places: HashMap<MessageId, usize>,
    answers: HashMap<MessageId, Vec<&'a Frames>>,
    live: Option<Live>,
    report: Report,
}

impl<'a> Player<'a> {
    pub(super) fn new(history: &'a History, recorded: &'a RecordedFrames) -> Self {
        let by_message = history.parts.chunk_by(|a, b| a.message == b.message);
        let mut answers: HashMap<MessageId, Vec<&Frames>> = HashMap::new();
        for answer in &recorded.answers {
            answers.entry(answer.head.message).or_default().push(answer);
        }
        let mut player = Self {
            history,
            parts: by_message.map(|parts| (parts[0].message, parts)).collect(),
            places: HashMap::new(),
            answers,
            live: None,
            report: Report::default(),
        };
        let ids = history.messages.iter().map(|m| m.id);
        player.places = ids.enumerate().map(|(n, id)| (id, n)).collect();
        player.check(recorded);
        player
    }

    pub(super) fn run(mut self) -> Report {
        for (n, message) in self.history.messages.iter().enumerate() {
            match message.role {
                Role::User => self.user(message),
                Role::Assistant => self.assistant(n, message),
            }
        }
        let mut lost: Vec<MessageId> = self.answers.keys().copied().collect();
        lost.sort_unstable();
        for message in lost {
            let stored = "no such message".to_owned();
            self.differ(Some(message), "message", stored, "an answer".to_owned());
        }
        self.report
    }

    fn differ(
        &mut self,
        message: Option<MessageId>,
        place: &str,
        stored: String,
        replayed: String,
    ) {
        self.report.differences.push(Difference {
            message,
            place: place.to_owned(),
            stored,
            replayed,
        });
    }

    fn parts_of(&self, message: MessageId) -> &'a [Part] {
        self.parts.get(&message).copied().unwrap_or_default()
    }

    /// Texts and results must be what they were when the answers were recorded.
    fn check(&mut self, recorded: &RecordedFrames) {
        let stored: HashMap<PartId, &Part> = self.history.parts.iter().map(|p| (p.id, p)).collect();
        // a later answer knows the newer state
        let checks: BTreeMap<PartId, u32> = recorded
            .answers
            .iter()
            .flat_map(|answer| answer.head.checks.iter().copied())
            .collect();
        for (id, sum) in checks {
            let Some(part) = stored.get(&id) else {
                let place = format!("part {id}");
                let was = format!("checksum {sum:08x}");
                self.differ(None, &place, "no such part".to_owned(), was);
                continue;
            };
            let now = checksum(part);
            if now != Some(sum) {
                let now = now.map_or_else(
                    || "not complete".to_owned(),
                    |now| format!("checksum {now:08x}"),
                );
                let place = format!("{} {id} as recorded", part.body.kind());
                let was = format!("checksum {sum:08x}");
                self.differ(Some(part.message), &place, now, was);
            }
        }
    }

    /// A prompt goes to the turn that waits for it; guidance was given to it before.
    fn user(&mut self, message: &Message) {
        let parts = self.parts_of(message.id);
        let follows = |live: &Live| message.parent == Some(live.tip) && live.timer.is_none();
        let Some(mut live) = self.live.take().filter(follows) else {
            return;
        };
        let Some(input) = prompt(parts) else {
            return;
        };
        if live.asked.is_none() {
            live.now = live.now.max(message.created);
            let delivery = Delivery::Guidance;
            let effects = live.turn.apply(live.now, Input::Prompt { input, delivery });
            live.perform(effects, &[]);
            live.tip = message.id;
            self.live = Some(live);
            return;
        }
        // the message before the one that the turn asks for
        let entries = live.turn.conversation().entries();
        let injected = entries.len().checked_sub(2).map(|at| &entries[at]);
        let Some(injected) = injected.filter(|e| e.message.role == Role::User) else {
            return;
        };
        let said = prompt(&injected.parts).unwrap_or_default();
        let report = &mut self.report;
        compare::text(message, "guidance", &input.text, &said.text, report);
        live.tip = message.id;
        self.live = Some(live);
    }

    fn assistant(&mut self, place: usize, message: &Message) {
        let parts = self.parts_of(message.id);
        let Some(answers) = self.answers.remove(&message.id) else {
            self.live = None;
            if is_answer(message, parts) {
                self.report.unrecorded.push(message.id);
            }
            return;
        };
        let Some(last) = answers.last() else {
            return;
        };
        if message.completed.is_none() {
            // another process is at it, or died and nobody opened the session since
            self.live = None;
            self.report.unrecorded.push(message.id);
            return;
        }
        let Some(played) = self.play(message, last) else {
            self.live = None;
            return;
        };
        self.report.answers += 1;
        if message.summary {
            self.live = None;
            self.summary(message, parts, last, &played);
        } else {
            self.step(place, message, last, played);
        }
    }

    fn play(&mut self, message: &Message, frames: &Frames) -> Option<Played> {
        let head = &frames.head;
        let wire = head.wire.as_deref().map(str::parse).transpose();
        let reel = wire.map(|wire| {
            Reel::stored(
                wire,
                head.ends.clone(),
                head.finished,
                frames.packed.clone(),
            )
        });
        let played = reel.and_then(|reel| reel.play(head.taken, head.end != AnswerEnd::Cut));
        match played {
            Ok(played) => Some(played),
            Err(why) => {
                self.differ(Some(message.id), "frames", "an answer".to_owned(), why);
                None
            }
        }
    }

    /// The summary's text must be what the model said. (What else a compaction writes depends on the
    /// settings of its day.)
    fn summary(&mut self, message: &Message, parts: &[Part], frames: &Frames, played: &Played) {
        self.report.summaries += 1;
        let stored = parts.iter().rev().find_map(|part| match &part.body {
            PartBody::Text {
                text,
                synthetic: false,
                ..
            } => Some(text.as_str()),
            _ => None,
        });
        let mut said = String::new();
        for delta in played.batches.iter().flatten() {
            if let Delta::Text { text, .. } = delta {
                said.push_str(text);
            }
        }
        // without a text the model's answer was not used
        if let Some(stored) = stored.filter(|_| frames.head.end == AnswerEnd::Ended) {
            compare::text(message, "summary", stored, &said, &mut self.report);
        }
    }

    fn step(&mut self, place: usize, message: &Message, frames: &Frames, played: Played) {
        let parts = self.parts_of(message.id);
        let mut live = self.live_at(message, &frames.head.end);
        live.now = live.now.max(message.created);
        let (Some(stream), Some((_, id))) = (live.asked.take(), live.turn.answering()) else {
            return;
        };
        if let Some(input) = self.guidance_after(place, message, parts) {
            let delivery = Delivery::Guidance;
            live.give(Input::Prompt { input, delivery }, parts);
        }
        for deltas in played.batches {
            live.give(Input::Deltas { stream, deltas }, parts);
        }
        match &frames.head.end {
            AnswerEnd::Cut => live.give(Input::Interrupt, parts),
            AnswerEnd::Ended => match played.fault {
                None => live.give(Input::StreamEnded { stream }, parts),
                Some(fault) => live.give(Input::StreamFailed { stream, fault }, parts),
            },
            AnswerEnd::Failed(fault) => {
                let by_network = matches!(
                    fault.kind,
                    FaultKind::Network | FaultKind::Timeout | FaultKind::StreamTruncated
                );
                let found = played.fault.filter(|f| !by_network && f.kind != fault.kind);
                let fault = found.unwrap_or_else(|| fault.clone());
                live.give(Input::StreamFailed { stream, fault }, parts);
            }
        }
        let cut = parts.iter().any(is_interrupted);
        let crashed = compare::was_crashed(message, parts);
        if cut && crashed {
            live.recover();
        } else if cut && frames.head.end != AnswerEnd::Cut {
            live.give(Input::Interrupt, parts);
        }
        live.tip = message.id;
        match live.turn.conversation().entry(id) {
            Some(entry) => compare::step(message, parts, entry, &mut self.report),
            None => self.differ(
                Some(message.id),
                "message",
                "a step".to_owned(),
                "nothing".to_owned(),
            ),
        }
        self.live = (!crashed).then_some(live);
    }

    /// The turn at the point where it waits for this message's answer: the one that runs, or a new one.
    fn live_at(&mut self, message: &Message, end: &AnswerEnd) -> Live {
        let running = self.live.take().filter(|l| message.parent == Some(l.tip));
        if let Some(mut live) = running {
            if let Some(timer) = live.timer.take() {
                live.give(Input::Timer(timer), &[]);
                if live.asked.is_some() {
                    return live;
                }
            }
            let failed = matches!(end, AnswerEnd::Failed(_));
            if live.asked.is_some() && !failed {
                return live;
            }
            if live.asked.is_none() && self.went_on_by_itself(live.tip) {
                self.differ(
                    Some(message.id),
                    "loop",
                    "another step".to_owned(),
                    "the turn had ended".to_owned(),
                );
            }
        }
        let tip = message.parent.unwrap_or(message.id);
        let before = self.branch_before(message);
        Live::new(self.setup(message), before, tip, message.created)
    }

    /// True if after this message nobody but the loop can have begun another step.
    fn went_on_by_itself(&self, tip: MessageId) -> bool {
        let Some(message) = self.places.get(&tip).map(|&n| &self.history.messages[n]) else {
            return false;
        };
        message.role == Role::Assistant
            && message.error.is_none()
            && !message.summary
            && message
                .finish
                .is_some_and(|f| !matches!(f, Finish::Interrupted | Finish::Error))
    }

    /// What the user said while this step ran: it follows the step's results.
    fn guidance_after(
        &self,
        place: usize,
        message: &Message,
        parts: &[Part],
    ) -> Option<PromptInput> {
        let calls = parts.iter().any(|p| matches!(p.body, PartBody::Tool(_)));
        if !calls || message.error.is_some() || message.finish == Some(Finish::Interrupted) {
            return None;
        }
        let later = &self.history.messages[place + 1..];
        let next = later.iter().find(|m| m.parent == Some(message.id))?;
        (next.role == Role::User).then_some(())?;
        prompt(self.parts_of(next.id))
    }

    /// The branch up to the message before this one, its newest messages.
    fn branch_before(&self, message: &Message) -> Conversation {
        let mut entries = Conversation::default();
        let mut next = message.parent;
        for _ in 0..BEFORE {
            let Some(&at) = next.as_ref().and_then(|id| self.places.get(id)) else {
                break;
            };
            let message = &self.history.messages[at];
            entries.put_message(message.clone());
            for part in self.parts_of(message.id) {
                entries.put_part(part.clone());
            }
            next = message.parent;
        }
        entries
    }

    /// No limit that would end the turn where the session went on.
    fn setup(&self, message: &Message) -> Setup {
        let mut info = self.history.info.clone();
        info.model = message.model.clone();
        info.agent.clone_from(&message.agent);
        Setup {
            info,
            model: ModelInfo {
                model: message.model.clone(),
                label: String::new(),
                context: u64::MAX / 4,
                max_input: None,
                max_output: 0,
                tools: true,
                reasoning: true,
                images: true,
                pdf: true,
                price: None,
                known: false,
            },
            turn: TurnSettings {
                retries: self.retries_from(message),
                parallel_tools: MANY as usize,
                loop_repeats: MANY,
                loop_repeats_polling: MANY,
                max_steps: None,
                ..TurnSettings::default()
            },
            context: ContextSettings {
                prune: false,
                compact: false,
                ..ContextSettings::default()
            },
            budget: Budget::default(),
            headless: false,
            overhead: 0,
            effort: None,
            sandbox: String::new(),
            seed: 1,
        }
    }

    /// As many as were made from here on, if the last of them was given up.
    fn retries_from(&self, message: &Message) -> u32 {
        let mut retries = 0;
        let mut next = Some(message);
        while let Some(message) = next {
            let retried = |p: &Part| matches!(p.body, PartBody::Retry { .. });
            if !self.parts_of(message.id).iter().any(retried) {
                return if message.error.is_some() {
                    retries
                } else {
                    MANY
                };
            }
            retries += 1;
            let later = self.places.get(&message.id).map_or(0, |n| n + 1);
            next = self.history.messages[later..]
                .iter()
                .find(|m| m.parent == Some(message.id));
        }
        MANY
    }
}

fn is_interrupted(part: &Part) -> bool {
    matches!(
        &part.body,
        PartBody::Tool(tool) if matches!(tool.state, ToolState::Error { interrupted: true, .. })
    )
}

/// What the user said in these parts; none if dunlin said it.
fn prompt(parts: &[Part]) -> Option<PromptInput> {
    let mut input = PromptInput::default();
    for part in parts {
        match &part.body {
            PartBody::Text {
                text,
                synthetic: false,
                ..
            } => input.text.push_str(text),
            PartBody::File(file) => input.files.push(FilePart::clone(file)),
            _ => return None,
        }
    }
    (!parts.is_empty()).then_some(input)
}

/// True for a message that a model made, or began to.
fn is_answer(message: &Message, parts: &[Part]) -> bool {
    let step = |p: &Part| matches!(p.body, PartBody::StepStart { .. });
    let said = |p: &Part| {
        matches!(
            p.body,
            PartBody::Text {
                synthetic: false,
                ..
            }
        )
    };
    if message.summary {
        return parts.iter().any(said);
    }
    // an attempt that failed before anything came has nothing to play
    parts.iter().any(step) && (message.error.is_none() || parts.iter().any(said))
}
