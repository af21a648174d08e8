//! The line printer front end (`--plain`): everything is appended, nothing is drawn over, no escape
//! is ever written. For screen readers, dumb terminals, logs and pipes.
//!
//! `tui::run` hands over when the settings ask for it. Lines of stdin are prompts, commands, or
//! answers while a question is open. Shares `Op`, `Event`, the command table and the questions'
//! choices with the full screen; owns no state of the screen.

mod ask;
mod chosen;
mod commands;
mod lines;
mod reports;

use std::collections::VecDeque;
use std::io::BufRead as _;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::command::{self, Parsed};
use super::composer::buffer::Buffer;
use super::keymap::Keymap;
use super::overlay::undo::confirmed;
use super::run::{AgentLink, Exit, Next, Remember, Start, TuiError};
use super::state::asks::{Field, OpenAsk};
use super::term::guard::write_all;
use crate::protocol::event::PinChoice;
use crate::protocol::link::OpSender;
use crate::protocol::mentions::mentioned;
use crate::protocol::{
    Answer, Delivery, Destination, Event, Op, PromptInput, SearchHit, SessionId, SessionSummary,
    Status, TreeTurn,
};
use ask::Reply;
use lines::{Lines, clean};

/// Events taken at once.
const CHUNK: usize = 64;

struct Plain {
    ops: OpSender,
    remember: Option<Remember>,
    keys: Keymap,
    lines: Lines,
    asks: VecDeque<OpenAsk>,
    /// An undo was previewed: the next line says yes or no.
    undo: Option<Destination>,
    /// The turns and the places that were listed last, to be chosen by number.
    turns: Vec<TreeTurn>,
    places: Vec<SearchHit>,
    sessions: Vec<SessionSummary>,
    pins: Vec<PinChoice>,
    /// The session's status, for `/status`.
    status: Option<Status>,
    searches: u64,
    /// A turn runs, or was asked for.
    running: bool,
    /// A command was sent whose answer decides what the next line is.
    awaited: bool,
    /// The session can only be read here.
    read_only: bool,
    queued: usize,
    cut: bool,
    session: Option<SessionId>,
    /// stdin is a terminal: lines may come at any time, and `> ` invites them.
    interactive: bool,
    invited: bool,
    /// stdin is at its end.
    over: bool,
    next: Option<Next>,
    code: u8,
}

/// Runs until the user ends it or stdin is over and the work is done.
pub(super) fn run(start: Start) -> Result<Exit, TuiError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let keys = Keymap::new(&start.settings.keys, &start.settings.key_places);
    let AgentLink {
        ops,
        mut events,
        remember,
        ..
    } = (start.connect)();
    let mut plain = Plain {
        ops,
        remember,
        keys,
        lines: Lines::default(),
        asks: VecDeque::new(),
        undo: None,
        turns: Vec::new(),
        places: Vec::new(),
        sessions: Vec::new(),
        pins: Vec::new(),
        status: None,
        searches: 0,
        running: false,
        awaited: false,
        read_only: false,
        queued: 0,
        cut: false,
        session: None,
        interactive: rustix::termios::isatty(std::io::stdin()),
        invited: false,
        over: false,
        next: None,
        code: 0,
    };
    plain.print(&format!(
        "dunlin {}  {}",
        start.version, start.worktree_label
    ));
    if start.scripted_notice {
        plain.print("Scripted: answers come from a script, not from a model. The tools are real.");
    }
    let mut typed = read_lines()?;
    runtime.block_on(async {
        let mut ends = Ends::new()?;
        if let Some(prompt) = start.initial_prompt {
            plain.line(&prompt);
        }
        loop {
            plain.invite();
            tokio::select! {
                batch = events.recv(CHUNK) => {
                    for event in batch {
                        if event == Event::Closed {
                            return Ok(plain.exit());
                        }
                        plain.event(event);
                    }
                }
                line = typed.recv(), if plain.takes_lines() => match line {
                    Some(line) => {
                        plain.invited = false;
                        plain.line(&line);
                    }
                    None => plain.stdin_is_over(),
                },
                code = ends.next() => plain.signal_came(code),
            }
            plain.close_if_done();
        }
    })
}

/// Lines of stdin, from a thread of their own: a blocked read cannot be taken back.
fn read_lines() -> std::io::Result<UnboundedReceiver<String>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line)
                    .trim_end_matches('\r')
                    .to_owned();
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
    Ok(receiver)
}

struct Ends {
    interrupt: Signal,
    term: Signal,
    hangup: Signal,
}

impl Ends {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.term.recv() => 143,
            _ = self.hangup.recv() => 129,
        }
    }
}

impl Plain {
    fn print(&mut self, line: &str) {
        let before = if std::mem::take(&mut self.invited) {
            "\n"
        } else {
            ""
        };
        // A reader that is gone is noticed when stdin ends; the session is kept in any case.
        drop(write_all(format!("{before}{line}\n").as_bytes()));
    }

    fn invite(&mut self) {
        let waits = !self.running || !self.asks.is_empty();
        if self.interactive && waits && !self.invited && self.session.is_some() && !self.over {
            drop(write_all(b"> "));
            self.invited = true;
        }
    }

    /// A script's next line waits until there is something for it to be.
    fn takes_lines(&self) -> bool {
        let wanted = !self.running && !self.awaited || !self.asks.is_empty();
        !self.over && (self.interactive || (wanted && self.session.is_some()))
    }

    fn send(&self, op: Op) {
        // An agent that is gone says so with `Event::Closed`.
        drop(self.ops.send(op));
    }

    fn event(&mut self, event: Event) {
        for line in self.lines.event(&event) {
            self.print(&line);
        }
        self.awaited &= !is_an_answer(&event);
        match event {
            Event::SessionStarted {
                session,
                read_only,
                cut,
                ..
            } => {
                self.session = Some(session.id);
                self.cut = cut;
                self.read_only = read_only.is_some();
                if let Some(why) = read_only {
                    let why = why.in_short(&session.open_there());
                    self.print(&clean(&format!("Read only: {why}.")));
                }
                if cut {
                    self.print("The last turn was cut off. An empty line continues it.");
                }
            }
            Event::Onboarding { reason, found } => {
                self.running = false;
                self.print(&clean(&reason));
                for line in found {
                    self.print(&clean(&format!("Found: {line}")));
                }
                self.print("/demo shows a scripted demonstration, /model PROVIDER/MODEL chooses a model, `dunlin auth` stores a key.");
            }
            Event::TurnStarted => self.running = true,
            Event::TurnFinished { .. } => self.running = false,
            Event::Error { .. } if self.asks.is_empty() => self.running = false,
            Event::Queued { .. } => self.queued += 1,
            // the error before it ended nothing
            Event::Returned { .. } => self.running = true,
            Event::Dequeued { count, .. } => self.queued = self.queued.saturating_sub(count),
            Event::QueueChanged { queue } => {
                self.queued = queue.guidance.len() + queue.follow_ups.len();
            }
            Event::Asked { ask } => {
                self.asks.push_back(OpenAsk::new(ask));
                if self.over {
                    self.refuse_all();
                } else if self.asks.len() == 1 {
                    self.show_question();
                }
            }
            Event::AskClosed { ask } => {
                let was_first = self.asks.front().is_some_and(|open| open.ask.id == ask);
                self.asks.retain(|open| open.ask.id != ask);
                if was_first {
                    self.show_question();
                }
            }
            Event::Diff(report) => self.all(&lines::diff(&report)),
            Event::UndoPreview {
                to,
                prompt,
                files,
                note,
            } => {
                self.all(&lines::preview(to, &prompt, &files));
                self.all(note.as_slice());
                self.print("y does it, anything else leaves it.");
                self.undo = Some(to);
            }
            Event::Tree { turns } => {
                self.all(&chosen::tree(&turns));
                self.turns = turns;
            }
            Event::Found {
                generation,
                hits,
                more,
            } if generation == self.searches => {
                self.all(&chosen::places(&hits, more));
                self.places = hits;
            }
            Event::BranchChanged { prompt, .. } if !prompt.is_empty() => {
                self.print(&clean(&format!("Taken back; the prompt was: {prompt}")));
            }
            Event::BranchChanged { .. } => self.print("Done."),
            Event::Sessions { sessions } => {
                self.all(&lines::sessions(&sessions));
                self.sessions = sessions;
            }
            Event::Spending(spending) => self.all(&reports::spending(&spending)),
            Event::Pins { pins } => {
                self.all(&reports::pins(&pins));
                self.pins = pins;
            }
            Event::Permissions { rules } => self.all(&reports::permissions(&rules)),
            Event::Status(status) => self.status = Some(status),
            Event::Facts { facts } => {
                let lines = reports::status(self.status.as_ref(), &facts);
                self.all(&lines);
            }
            _ => {}
        }
    }

    /// Prints lines that others had a hand in.
    fn all(&mut self, lines: &[String]) {
        for line in lines {
            self.print(&clean(line));
        }
    }

    fn show_question(&mut self) {
        let Some(open) = self.asks.front() else {
            return;
        };
        for line in ask::shown(open, self.asks.len(), &self.keys) {
            self.print(&line);
        }
    }

    fn line(&mut self, line: &str) {
        if !self.asks.is_empty() {
            return self.reply(line);
        }
        if let Some(to) = self.undo.take() {
            if matches!(line.trim().to_lowercase().as_str(), "y" | "yes") {
                self.awaited = true;
                self.send(confirmed(to));
            } else {
                self.print("Left as it is.");
            }
            return;
        }
        if line.trim().is_empty() {
            if std::mem::take(&mut self.cut) {
                self.running = true;
                self.send(Op::Continue);
            }
            return;
        }
        match command::parse(line) {
            Parsed::Command(command, rest) => self.command(command, rest),
            Parsed::Unknown { name, closest } => {
                let text =
                    format!("There is no /{name}. The closest is /{closest}; /help lists all.");
                self.print(&clean(&text));
            }
            Parsed::Prompt => self.prompt(line),
        }
    }

    fn prompt(&mut self, line: &str) {
        if self.read_only {
            return self
                .print("Warning: This session can only be read here: /fork goes on in a copy.");
        }
        if let Some(remember) = &mut self.remember {
            remember(line);
        }
        self.running = true;
        self.cut = false;
        self.send(match line.strip_prefix('!') {
            Some(shell) => Op::Shell {
                command: shell.trim().to_owned(),
            },
            None => Op::Prompt {
                input: PromptInput {
                    text: line.to_owned(),
                    files: mentioned(line),
                },
                delivery: Delivery::Guidance,
            },
        });
    }

    fn reply(&mut self, line: &str) {
        let Some(open) = self.asks.front_mut() else {
            return;
        };
        match ask::reply(open, line, &self.keys) {
            Reply::Answer(answer) => {
                let ask = open.ask.id;
                self.asks.pop_front();
                self.send(Op::Answer { ask, answer });
                self.show_question();
            }
            Reply::Write(purpose, sentence) => {
                open.field = Some(Field {
                    purpose,
                    text: Buffer::default(),
                    problem: "",
                });
                self.print(sentence);
            }
            Reply::Again => self.show_question(),
            Reply::Unclear(sentence) => self.print(&sentence),
        }
    }

    fn stdin_is_over(&mut self) {
        self.over = true;
        self.refuse_all();
    }

    /// Nobody is left to answer: that is a no.
    fn refuse_all(&mut self) {
        for open in std::mem::take(&mut self.asks) {
            let message = String::new();
            self.send(Op::Answer {
                ask: open.ask.id,
                answer: Answer::No { message },
            });
        }
    }

    fn signal_came(&mut self, code: u8) {
        if code == 130 && self.running {
            return self.send(Op::Interrupt);
        }
        self.code = code;
        self.close();
    }

    fn close_if_done(&mut self) {
        if self.over && !self.running && !self.awaited && self.queued == 0 {
            self.close();
        }
    }

    fn close(&mut self) {
        self.over = true;
        self.send(Op::Close);
    }

    fn exit(&mut self) -> Exit {
        let farewell = self
            .session
            .map(|id| format!("Continue with: dunlin --plain -r {id}\n"))
            .unwrap_or_default();
        Exit {
            code: self.code,
            farewell,
            next: self.next.take(),
        }
    }
}

/// True if the event ends the wait for what a command asked: its answer, or a sentence why there is none.
const fn is_an_answer(event: &Event) -> bool {
    matches!(
        event,
        Event::UndoPreview { .. }
            | Event::Tree { .. }
            | Event::Found { .. }
            | Event::Diff(_)
            | Event::Sessions { .. }
            | Event::Spending(_)
            | Event::Pins { .. }
            | Event::Facts { .. }
            | Event::Permissions { .. }
            | Event::BranchChanged { .. }
            | Event::SessionStarted { .. }
            | Event::Notice { .. }
            | Event::Error { .. }
    )
}
