//! The only place that changes the state: a message in, effects out.
//!
//! No I/O and no clock: every message carries the time. `run` makes the messages and performs the
//! effects; the harness of the tests does the same without a terminal.

mod agent;
mod asks;
mod command;
mod compose;
mod keys;
mod layers;
mod leaving;
mod mouse;
mod servers;
mod subagents;

use super::composer::attach::Picture;
use super::composer::history::Past;
use super::composer::offers::Offers;
use super::input::{Input, Reply};
use super::picture::way::Brand;
use super::state::State;
use super::state::hints::Hints;
use super::term::guard::{PROBED_COLUMNS, Question};
use super::theme::Glyphs;
use crate::protocol::{Event, Millis, NoticeLevel, Op};

/// Something that happened.
#[derive(Debug)]
pub enum Msg {
    /// At the terminal.
    Input(Input),
    /// In the agent.
    Event(Event),
    /// The agent is there, and what was kept for the user.
    Connected(Box<Known>),
    /// A prompt from the command line.
    Submit(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// Time passed.
    Tick,
    /// The external editor ended; its text, or why there is none.
    Edited(Result<String, String>),
    /// Pictures to attach, or why there are none.
    Pictures(Result<Vec<Picture>, String>),
    /// A paste that looked like paths is only text.
    PlainPaste(String),
    /// A copy was made; true if it is known to have arrived.
    Copied(bool),
}

/// What is kept for the user between sessions.
#[derive(Debug, Default)]
pub struct Known {
    /// Earlier prompts, oldest first, this project's last.
    pub history: Vec<Past>,
    /// The user's commands and skills.
    pub offers: Offers,
    /// How often hints were used.
    pub hints: Hints,
}

/// Something that must happen outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Tell the agent.
    Op(Op),
    /// Close: tell the agent, wait for it, end.
    Quit,
    /// End now with this code.
    Exit(u8),
    /// End, then run the scripted demo.
    Demo,
    /// Back to the shell until SIGCONT.
    Suspend,
    /// Draw everything again.
    Redraw,
    /// Edit a text in the external editor.
    Edit(String),
    /// Open a file of the worktree in the external editor.
    OpenFile {
        /// Relative to the worktree.
        path: String,
        /// From 1.
        line: Option<u32>,
    },
    /// Print the conversation to the normal screen.
    PrintTranscript,
    /// Put text on the clipboard (only on the user's own key).
    Copy(String),
    /// Keep a prompt for later sessions.
    SaveHistory(String),
    /// Attach these files if they are pictures; else the text is pasted.
    Attach {
        /// As they were dropped.
        paths: Vec<String>,
        /// The paste.
        text: String,
    },
    /// Attach the picture on the clipboard.
    PasteImage,
    /// Keep what the user knows already.
    SaveHints,
    /// Notify: the window has not the focus.
    Notify(String),
    /// Ask the terminal more: answers come as input.
    Ask(Question),
}

/// Changes the state.
pub fn update(state: &mut State, msg: Msg, now: Millis) -> Vec<Effect> {
    match msg {
        Msg::Input(input) => input_came(state, input, now),
        Msg::Event(event) => agent::event(state, event, now),
        Msg::Connected(known) => {
            state.connected = true;
            state.composer.history.load(known.history);
            state.composer.offers = known.offers;
            state.hints = known.hints;
            vec![Effect::Op(Op::ListSessions { all: false })]
        }
        Msg::Submit(text) => {
            state.composer.set(&text);
            compose::submit(state, crate::protocol::Delivery::Guidance, now)
        }
        Msg::Resize(width, height) => {
            state.terminal.size = (width, height);
            Vec::new()
        }
        Msg::Tick => tick(state, now),
        Msg::Edited(Ok(text)) => {
            state.composer.set(text.trim_end_matches('\n'));
            Vec::new()
        }
        Msg::Edited(Err(why)) => {
            state.say(NoticeLevel::Error, why, now);
            Vec::new()
        }
        Msg::Pictures(Ok(pictures)) => {
            for picture in pictures {
                state.composer.attach(picture);
            }
            compose::changed(state)
        }
        Msg::Pictures(Err(why)) => {
            state.say(NoticeLevel::Warning, why, now);
            Vec::new()
        }
        Msg::PlainPaste(text) => {
            state.composer.paste(&text);
            compose::changed(state)
        }
        Msg::Copied(known) => {
            let text = if known {
                "Copied."
            } else {
                "Sent to the terminal's clipboard."
            };
            state.say(NoticeLevel::Info, text, now);
            Vec::new()
        }
    }
}

fn input_came(state: &mut State, input: Input, now: Millis) -> Vec<Effect> {
    match input {
        Input::Key(key) => keys::key(state, key, now),
        Input::Paste(text) => keys::paste(state, &text, now),
        Input::Mouse(mouse) => mouse::mouse(state, mouse, now),
        Input::Focus(focused) => {
            state.terminal.focused = focused;
            Vec::new()
        }
        Input::Reply(reply) => {
            let facts = &mut state.terminal.pictures;
            match reply {
                Reply::Background(r, g, b) => {
                    state.terminal.background = Some((r, g, b));
                    state.restyle();
                }
                Reply::Keyboard(flags) => state.terminal.kitty = flags & 1 == 1,
                Reply::Width(columns) => {
                    if columns != PROBED_COLUMNS {
                        // Signs that take another width than ours would tear every row.
                        state.theme = state.theme.clone().with_glyphs(Glyphs::ASCII);
                        state.recanvas();
                    }
                }
                Reply::Brand(brand) if facts.brand != Brand::Multiplexer => {
                    facts.brand = brand;
                    state.recanvas();
                    if brand == Brand::Placeholders {
                        return vec![Effect::Ask(Question::Graphics)];
                    }
                }
                Reply::Brand(_) => {}
                Reply::Graphics => {
                    facts.kitty = true;
                    state.recanvas();
                }
                Reply::Registers(count) => {
                    facts.registers = count;
                    state.recanvas();
                }
                Reply::CellPixels(width, height) => {
                    facts.cell = Some((width, height));
                    state.recanvas();
                }
                Reply::Done { sixel } => {
                    let asks = sixel && !facts.sixel && facts.brand != Brand::Multiplexer;
                    facts.sixel = sixel;
                    state.recanvas();
                    if asks {
                        return vec![Effect::Ask(Question::Pixels)];
                    }
                }
            }
            Vec::new()
        }
    }
}

fn tick(state: &mut State, now: Millis) -> Vec<Effect> {
    if state.flash.as_ref().is_some_and(|flash| now >= flash.until) {
        state.flash = None;
    }
    if let Some((_, cell)) = state.times.fold.filter(|(at, _)| now >= *at) {
        state.times.fold = None;
        state.transcript.toggle_fold_of(cell);
    }
    if state.composer.burst.due(now, false) {
        return keys::enter(state, now);
    }
    if state.composer.fold_burst(now, false) {
        return compose::changed(state);
    }
    Vec::new()
}
