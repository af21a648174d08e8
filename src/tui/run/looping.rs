//! The loop: input first, then signals, the agent, timers; drain what waits, draw once.
//!
//! `run` starts it; `effects` carries out what `update` asks for. No decision about the screen is made
//! here.

mod effects;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep_until;

use super::frames::Frames;
use super::screen::Screen;
use super::signals::{Asked, Signals};
use super::stdin::Stdin;
use super::{AgentLink, Exit, Next, TuiError, farewell, now};
use crate::protocol::link::Inbox;
use crate::protocol::{Event, Op, Phase};
use crate::tui::composer::attach::Picture;
use crate::tui::input::{Input, Parser};
use crate::tui::state::State;
use crate::tui::term::osc::Clipboard;
use crate::tui::update::{Msg, update};

/// Events taken at once, and in all, before input is looked at again.
const CHUNK: usize = 32;
const MOST_EVENTS: usize = 256;
const MOST_TIME: Duration = Duration::from_millis(2);
/// How long the end waits for the agent to write what is left.
const CLOSING: Duration = Duration::from_secs(5);

/// What is there when the loop begins.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) state: State,
    pub(super) screen: Screen,
    pub(super) parser: Parser,
    pub(super) initial_prompt: Option<String>,
    pub(super) pictures: Option<PathBuf>,
}

struct Looping {
    state: State,
    screen: Screen,
    parser: Parser,
    frames: Frames,
    link: Link,
    clipboard: Clipboard,
    initial_prompt: Option<String>,
    pictures: Option<PathBuf>,
    /// The clipboard is being asked for a picture.
    pasting: Option<oneshot::Receiver<Result<Picture, String>>>,
    /// True if no event waited when they were looked at last.
    drained: bool,
    /// The screen changes by itself then.
    tick: Option<Instant>,
    /// An unfinished escape sequence is given up then.
    escape: Option<Instant>,
    /// The end comes at the latest then, with this code.
    closing: Option<(Instant, u8)>,
    ended: Option<Exit>,
    /// What is to follow the end.
    next: Option<Next>,
    /// To be done where the signals are at hand.
    suspend: bool,
    /// A child had the terminal: its interrupts were not for us.
    child_ran: bool,
}

/// The agent, or what waits for it.
#[derive(Default)]
struct Link {
    ops: Option<crate::protocol::link::OpSender>,
    waiting: Vec<Op>,
    remember: Option<super::Remember>,
    keep_hints: Option<super::KeepHints>,
}

impl Link {
    fn send(&mut self, op: Op) {
        match &self.ops {
            // An agent that is gone says so with `Event::Closed`; there is nobody to tell here.
            Some(ops) => drop(ops.send(op)),
            None => self.waiting.push(op),
        }
    }
}

/// Runs until the end.
pub(super) async fn run(parts: Parts, connect: super::Connect) -> Result<Exit, TuiError> {
    let stdin = Stdin::new()?;
    let mut signals = Signals::new()?;
    let (connected, mut connecting) = oneshot::channel();
    std::thread::Builder::new()
        .name("connect".to_owned())
        .spawn(move || {
            let zone = TimeZone::system();
            drop(connected.send((connect(), zone)));
        })?;
    let wake = Arc::new(Notify::new());
    let mut looping = Looping::new(parts);
    let waker = Arc::clone(&wake);
    let transcript = &mut looping.state.transcript;
    transcript.set_waker(Arc::new(move || waker.notify_one()));
    let mut inbox: Option<Inbox> = None;
    let mut asking = true;
    while looping.ended.is_none() {
        looping.draw_if_due(&mut inbox)?;
        let deadline = looping.deadline();
        let holding = looping.is_holding();
        tokio::select! {
            biased;
            bytes = stdin.read() => looping.bytes_came(&bytes?)?,
            asked = signals.next() => looping.signal_came(asked)?,
            events = receive(&mut inbox), if !holding => looping.events_came(events, &mut inbox),
            link = &mut connecting, if asking => {
                asking = false;
                inbox = looping.connected(link.ok());
            }
            () = wake.notified() => looping.highlighted(),
            picture = pasted(&mut looping.pasting) => {
                looping.pasting = None;
                looping.tell(Msg::Pictures(picture.map(|picture| vec![picture])));
                looping.frames.now(Instant::now());
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now).into()), if deadline.is_some() => {
                looping.time_passed();
            }
        }
        if std::mem::take(&mut looping.suspend) {
            looping.screen.leave();
            signals.stop().await?;
            looping.back()?;
        }
        if std::mem::take(&mut looping.child_ran) {
            signals.forget_interrupts();
        }
    }
    looping.screen.leave();
    looping.ended.ok_or(TuiError::NoTerminal)
}

/// The agent's next events; never, while there is no agent.
async fn receive(inbox: &mut Option<Inbox>) -> Vec<Event> {
    match inbox {
        Some(inbox) => inbox.recv(CHUNK).await,
        None => std::future::pending().await,
    }
}

/// The picture that the clipboard gave; never, while it is not asked.
async fn pasted(
    asked: &mut Option<oneshot::Receiver<Result<Picture, String>>>,
) -> Result<Picture, String> {
    match asked {
        Some(answer) => answer
            .await
            .unwrap_or_else(|_| Err("The clipboard could not be asked.".to_owned())),
        None => std::future::pending().await,
    }
}

impl Looping {
    fn new(parts: Parts) -> Self {
        Self {
            state: parts.state,
            screen: parts.screen,
            parser: parts.parser,
            frames: Frames::default(),
            link: Link::default(),
            clipboard: Clipboard::default(),
            initial_prompt: parts.initial_prompt,
            pictures: parts.pictures,
            pasting: None,
            drained: false,
            tick: None,
            escape: None,
            closing: None,
            ended: None,
            next: None,
            suspend: false,
            child_ran: false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let closing = self.closing.map(|(at, _)| at);
        [self.frames.due(), self.tick, self.escape, closing]
            .into_iter()
            .flatten()
            .min()
    }

    /// True while events can wait: a frame is on its way, and they are looked at right before it.
    /// Meanwhile deltas merge in the queue, and nobody is woken for each.
    fn is_holding(&self) -> bool {
        self.drained && self.frames.due().is_some()
    }

    fn draw_if_due(&mut self, inbox: &mut Option<Inbox>) -> Result<(), TuiError> {
        if !self.frames.is_due(Instant::now()) {
            return Ok(());
        }
        if self.drained && inbox.is_some() {
            self.events_came(Vec::new(), inbox);
        }
        let at = Instant::now();
        let clock = now();
        let next = self.screen.draw(&mut self.state, clock)?;
        self.frames.drawn(at);
        let soonest = [next, self.state.deadline()].into_iter().flatten().min();
        self.tick = soonest
            .map(|millis| at + Duration::from_millis(u64::try_from(millis - clock).unwrap_or(0)));
        if self.state.poll_highlights() {
            self.frames.soon(at, true);
        }
        for op in self.state.wanted_files() {
            self.link.send(op);
        }
        Ok(())
    }

    fn tell(&mut self, msg: Msg) {
        let effects = update(&mut self.state, msg, now());
        for effect in effects {
            self.perform(effect);
        }
    }

    fn bytes_came(&mut self, bytes: &[u8]) -> Result<(), TuiError> {
        if bytes.is_empty() {
            // The terminal is gone.
            self.end(129);
            return Ok(());
        }
        let inputs = self.parser.feed(bytes);
        self.inputs_came(inputs)?;
        self.escape = self.parser.wait().map(|millis| {
            Instant::now() + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
        });
        Ok(())
    }

    fn inputs_came(&mut self, inputs: Vec<Input>) -> Result<(), TuiError> {
        for input in inputs {
            if self.screen.printed {
                if matches!(input, Input::Key(_)) {
                    self.back()?;
                }
                continue;
            }
            let at = Instant::now();
            match &input {
                Input::Mouse(_) => self.frames.soon(at, false),
                _ => self.frames.now(at),
            }
            self.tell(Msg::Input(input));
        }
        // A held Enter and the like: also without a frame that would set the timer.
        Ok(())
    }

    fn signal_came(&mut self, asked: Asked) -> Result<(), TuiError> {
        match asked {
            Asked::End(code) => self.end(code),
            Asked::Resize => {
                let (width, height) = self.screen.measure();
                self.tell(Msg::Resize(width, height));
                self.frames.now(Instant::now());
            }
            // Stopped from outside: the shell had the terminal in between.
            Asked::GoOn => self.back()?,
        }
        Ok(())
    }

    /// Takes the screen again after someone else had it.
    fn back(&mut self) -> Result<(), TuiError> {
        self.screen.enter()?;
        let (width, height) = self.screen.measure();
        self.tell(Msg::Resize(width, height));
        self.screen.forget();
        self.frames.now(Instant::now());
        Ok(())
    }

    fn connected(&mut self, link: Option<(AgentLink, TimeZone)>) -> Option<Inbox> {
        let Some((link, zone)) = link else {
            // It panicked; the log has the reason.
            self.end(1);
            return None;
        };
        self.state.zone = zone;
        self.link.ops = Some(link.ops);
        self.link.remember = link.remember;
        self.link.keep_hints = link.keep_hints;
        for op in std::mem::take(&mut self.link.waiting) {
            self.link.send(op);
        }
        self.tell(Msg::Connected(Box::new(link.known)));
        if let Some(prompt) = self.initial_prompt.take() {
            self.tell(Msg::Submit(prompt));
        }
        self.frames.now(Instant::now());
        Some(link.events)
    }

    fn events_came(&mut self, first: Vec<Event>, inbox: &mut Option<Inbox>) {
        let begun = Instant::now();
        let mut count = 0;
        let mut events = first;
        loop {
            count += events.len();
            for event in events {
                self.tell(Msg::Event(event));
            }
            self.drained = false;
            if count >= MOST_EVENTS || begun.elapsed() >= MOST_TIME {
                break;
            }
            events = inbox
                .as_mut()
                .map(|inbox| inbox.try_recv(CHUNK))
                .unwrap_or_default();
            if events.is_empty() {
                self.drained = true;
                break;
            }
        }
        if count == 0 {
            return;
        }
        // Nothing repaints while something is selected.
        if !self.state.transcript.has_selection() {
            let streaming = matches!(self.state.phase(), Phase::Streaming);
            self.frames.soon(Instant::now(), streaming);
        }
    }

    fn highlighted(&mut self) {
        if self.state.poll_highlights() && !self.state.transcript.has_selection() {
            self.frames.soon(Instant::now(), true);
        }
    }

    fn time_passed(&mut self) {
        let at = Instant::now();
        if self.escape.is_some_and(|due| due <= at) {
            self.escape = None;
            let inputs = self.parser.flush();
            // A key that brings the screen back can fail only with the terminal itself.
            if self.inputs_came(inputs).is_err() {
                self.end(129);
            }
        }
        if self.tick.is_some_and(|due| due <= at) {
            self.tick = None;
            self.tell(Msg::Tick);
            self.frames.now(at);
        }
        if let Some((due, code)) = self.closing
            && due <= at
        {
            self.finish(code);
        }
    }

    /// Ends: tells the agent, and waits for it within limits. The terminal is given back at once.
    fn end(&mut self, code: u8) {
        self.screen.leave();
        if self.link.ops.is_none() || self.closing.is_some() {
            return self.finish(code);
        }
        self.link.send(Op::Close);
        self.closing = Some((Instant::now() + CLOSING, code));
    }

    fn finish(&mut self, code: u8) {
        let farewell = farewell::text(&self.state);
        let next = self.next.take();
        self.ended = Some(Exit {
            code,
            farewell,
            next,
        });
    }
}
