//! The inbox of questions: what is open, which one is on screen, and what its answers are.
//!
//! `update::asks` changes it, `view::ask` draws it. The choices of a question are made here, so that
//! keys, rows and defaults cannot disagree. Pure data.

use std::cell::Cell;

use crate::protocol::wildcard::may_cover;
use crate::protocol::{Answer, Ask, AskBody, AskId, GrantScope, Millis};
use crate::tui::composer::buffer::Buffer;
use crate::tui::keymap::Action;
use crate::tui::term::sanitise::Safe;

/// Keys are not taken for answers for so long after a question appears, and after a typed key.
pub const KEY_GUARD_MS: Millis = 400;

/// Open questions in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Asks {
    open: Vec<OpenAsk>,
    current: usize,
}

/// One open question and how far the user is with it.
#[derive(Debug, Clone)]
pub struct OpenAsk {
    /// What is asked.
    pub ask: Ask,
    /// When it came on screen; none while another one is there.
    pub shown: Option<Millis>,
    /// The selected choice.
    pub selected: usize,
    /// What is being written, if anything.
    pub field: Option<Field>,
    /// The pattern after the user edited it.
    pub pattern: Option<String>,
    /// Shown over the whole screen.
    pub full: bool,
    /// First row of the subject that is shown.
    pub scroll: usize,
    /// The largest `scroll` that the last frame had a use for.
    pub most_scroll: Cell<usize>,
}

/// A text the user writes within a question.
#[derive(Debug, Clone)]
pub struct Field {
    /// What it is for.
    pub purpose: Purpose,
    /// The text.
    pub text: Buffer,
    /// What is wrong with it; empty while nothing is.
    pub problem: &'static str,
}

/// What a text within a question is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A no with a message to the model.
    Say,
    /// The pattern that wide grants allow.
    Pattern,
    /// A free answer.
    Answer,
}

/// What choosing a row does.
#[derive(Debug, Clone, PartialEq)]
pub enum Pick {
    /// Answers.
    Answer(Answer),
    /// Opens a text field.
    Write(Purpose),
}

/// One row of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The key table's action whose key chooses it; none if only its number does.
    pub action: Option<Action>,
    /// What it is called.
    pub label: String,
    /// What exactly it does.
    pub detail: String,
    /// More about it, dimmer.
    pub note: String,
    /// What choosing it does.
    pub pick: Pick,
}

fn choice(action: Action, label: &str, detail: &str, pick: Pick) -> Choice {
    Choice {
        action: Some(action),
        label: label.to_owned(),
        detail: detail.to_owned(),
        note: String::new(),
        pick,
    }
}

const PLAIN_NO: Answer = Answer::No {
    message: String::new(),
};

impl OpenAsk {
    /// A question nobody has seen yet.
    pub fn new(ask: Ask) -> Self {
        let mut open = Self {
            ask,
            shown: None,
            selected: 0,
            field: None,
            pattern: None,
            full: false,
            scroll: 0,
            most_scroll: Cell::new(0),
        };
        open.selected = open.default_choice();
        open
    }

    /// True if what is to be approved holds characters that do not show.
    pub fn has_hidden(&self) -> bool {
        match &self.ask.body {
            AskBody::Permission { subject, diff, .. } => [subject, diff].iter().any(|text| {
                text.lines()
                    .any(|l| Safe::reveal(l).iter().any(|(_, odd)| *odd))
            }),
            _ => false,
        }
    }

    /// The rule that wide grants would store; none if they are withheld.
    pub fn grant(&self) -> Option<String> {
        match &self.ask.body {
            AskBody::Permission {
                pattern: Some(pattern),
                ..
            } if !self.has_hidden() => {
                Some(self.pattern.clone().unwrap_or_else(|| pattern.clone()))
            }
            _ => None,
        }
    }

    /// What is wrong with a pattern for this call; empty if nothing is. A grant has to cover what
    /// was asked, or the user would answer one question and grant another.
    pub fn problem_with(&self, pattern: &str) -> &'static str {
        let AskBody::Permission {
            tool,
            subject,
            pattern: Some(offered),
            ..
        } = &self.ask.body
        else {
            return "";
        };
        // Where even the offered rule is not recognised only the judge can tell.
        let covers = |pattern: &str| may_cover(pattern, tool, subject);
        match tool.as_str() {
            _ if !covers(offered) || covers(pattern) => "",
            "bash" | "shell" => "does not match this command",
            _ => "does not match this call",
        }
    }

    /// Why wide grants are not offered; empty if they are.
    pub fn withheld(&self) -> String {
        match &self.ask.body {
            AskBody::Permission { .. } if self.has_hidden() => "hidden characters".to_owned(),
            AskBody::Permission {
                pattern: None,
                withheld,
                ..
            } => withheld.clone(),
            _ => String::new(),
        }
    }

    /// The rows to choose from.
    pub fn choices(&self) -> Vec<Choice> {
        match &self.ask.body {
            AskBody::Permission { .. } => self.permission_choices(),
            AskBody::DoomLoop {
                tool,
                subject,
                again,
                limit,
                ..
            } => loop_choices(&loop_subject(tool, subject), (*again, *limit)),
            AskBody::Budget { .. } => vec![
                choice(
                    Action::AskOnce,
                    "Go on",
                    "the same amount again",
                    Pick::Answer(Answer::Once),
                ),
                choice(Action::AskNo, "Stop", "", Pick::Answer(PLAIN_NO)),
            ],
            AskBody::Question { options, .. } => question_choices(options),
        }
    }

    fn permission_choices(&self) -> Vec<Choice> {
        let mut rows = vec![choice(
            Action::AskOnce,
            "Once",
            "",
            Pick::Answer(Answer::Once),
        )];
        if let Some(pattern) = self.grant() {
            let wide = |scope| {
                Pick::Answer(Answer::Always {
                    scope,
                    pattern: pattern.clone(),
                })
            };
            let session = wide(GrantScope::Session);
            rows.push(choice(
                Action::AskSession,
                "This session",
                &pattern,
                session,
            ));
            let project = wide(GrantScope::Project);
            let mut row = choice(Action::AskProject, "This project", &pattern, project);
            "saved to .dunlin/permissions.toml".clone_into(&mut row.note);
            rows.push(row);
        }
        let say = Pick::Write(Purpose::Say);
        rows.push(choice(
            Action::AskNo,
            "No, and say what to do instead",
            "",
            say,
        ));
        if self.grant().is_some() {
            let edit = Pick::Write(Purpose::Pattern);
            rows.push(choice(
                Action::AskEdit,
                "Edit the pattern that s and p allow",
                "",
                edit,
            ));
        }
        rows
    }

    /// What Enter does before anything is moved: never more than Esc where that could hurt.
    fn default_choice(&self) -> usize {
        let safe = |action| {
            self.choices()
                .iter()
                .position(|c| c.action == Some(action))
                .unwrap_or(0)
        };
        match &self.ask.body {
            AskBody::Permission { dangerous, .. } if *dangerous || self.has_hidden() => {
                safe(Action::AskNo)
            }
            AskBody::DoomLoop { .. } => safe(Action::LoopStop),
            AskBody::Budget { .. } => safe(Action::AskNo),
            _ => 0,
        }
    }
}

/// The call of a loop question for the eye: `read src/main.rs`; a command speaks for itself.
pub fn loop_subject(tool: &str, subject: &str) -> String {
    if matches!(tool, "bash" | "shell") || subject.starts_with(tool) {
        subject.to_owned()
    } else {
        format!("{tool} {subject}")
    }
}

/// The figures are the settings' own; 0 where an older question does not say them.
fn loop_choices(subject: &str, (again, limit): (u32, u32)) -> Vec<Choice> {
    let once_more = match again {
        0 => "run it once more".to_owned(),
        1 => "run it once more, ask again at the next repeat".to_owned(),
        again => format!("run it once more, ask again after {again} repeats"),
    };
    let limit = match limit {
        0 => String::new(),
        limit => format!(", hard limit {limit}"),
    };
    let first = subject.lines().next().unwrap_or_default();
    let always = Answer::Always {
        scope: GrantScope::Session,
        pattern: String::new(),
    };
    let rows = [
        (
            Action::LoopContinue,
            "Continue",
            once_more,
            Pick::Answer(Answer::Once),
        ),
        (
            Action::LoopStop,
            "Stop",
            "refuse the call and tell the model it is looping".to_owned(),
            Pick::Answer(PLAIN_NO),
        ),
        (
            Action::LoopSay,
            "Stop and say…",
            "refuse, with your own words".to_owned(),
            Pick::Write(Purpose::Say),
        ),
        (
            Action::LoopAlways,
            "Always allow",
            format!("this session, only `{first}`{limit}"),
            Pick::Answer(always),
        ),
    ];
    rows.into_iter()
        .map(|(action, label, detail, pick)| choice(action, label, &detail, pick))
        .collect()
}

fn question_choices(options: &[String]) -> Vec<Choice> {
    let free = Choice {
        action: None,
        label: "Something else".to_owned(),
        detail: "write an answer".to_owned(),
        note: String::new(),
        pick: Pick::Write(Purpose::Answer),
    };
    let option = |text: &String| Choice {
        action: None,
        label: text.clone(),
        detail: String::new(),
        note: String::new(),
        pick: Pick::Answer(Answer::Text { text: text.clone() }),
    };
    options.iter().map(option).chain([free]).collect()
}

impl Asks {
    /// Takes a question in; one that is known already is replaced.
    pub fn add(&mut self, ask: Ask, now: Millis) {
        match self.open.iter_mut().find(|open| open.ask.id == ask.id) {
            Some(known) => known.ask = ask,
            None => self.open.push(OpenAsk::new(ask)),
        }
        self.show(now);
    }

    /// Takes a question out.
    pub fn close(&mut self, id: AskId, now: Millis) {
        if let Some(at) = self.open.iter().position(|open| open.ask.id == id) {
            self.open.remove(at);
            if self.current > at || self.current >= self.open.len() {
                self.current = self.current.saturating_sub(1);
            }
            // What comes up now is new to the eye: its guard begins.
            if let Some(next) = self.open.get_mut(self.current) {
                next.shown = None;
            }
            self.show(now);
        }
    }

    fn show(&mut self, now: Millis) {
        if let Some(current) = self.open.get_mut(self.current) {
            current.shown.get_or_insert(now);
        }
    }

    /// Puts the next question on screen.
    pub fn next(&mut self, now: Millis) {
        if self.open.len() > 1 {
            self.current = (self.current + 1) % self.open.len();
            if let Some(next) = self.open.get_mut(self.current) {
                next.shown = None;
            }
            self.show(now);
        }
    }

    /// The question on screen.
    pub fn current(&self) -> Option<&OpenAsk> {
        self.open.get(self.current)
    }

    /// The question on screen.
    pub fn current_mut(&mut self) -> Option<&mut OpenAsk> {
        self.open.get_mut(self.current)
    }

    /// Its place from 1, and how many there are.
    pub const fn place(&self) -> (usize, usize) {
        (self.current + 1, self.open.len())
    }

    /// All of them.
    pub fn all(&self) -> &[OpenAsk] {
        &self.open
    }

    /// Forgets all of them (another session).
    pub fn clear(&mut self) {
        self.open.clear();
        self.current = 0;
    }
}
