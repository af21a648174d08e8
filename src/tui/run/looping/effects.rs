//! What `update` wants done outside: tell the agent, copy, edit, print, end.
//!
//! Part of the loop; nothing here looks at the screen's state but to do what it was asked for.

use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::oneshot;

use super::{CLOSING, Looping};
use crate::protocol::Op;
use crate::tui::run::{Next, editor, pictures};
use crate::tui::term::osc;
use crate::tui::term::sanitise::Safe;
use crate::tui::update::{Effect, Msg};

impl Looping {
    /// Does what `update` asked for.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Op(op) => self.link.send(op),
            Effect::Quit if self.link.ops.is_none() => self.finish(0),
            Effect::Quit => {
                self.link.send(Op::Close);
                self.closing = Some((Instant::now() + CLOSING, 0));
            }
            Effect::Exit(code) => {
                let code = self.closing.map_or(code, |(_, code)| code);
                self.finish(code);
            }
            Effect::Demo => {
                self.next = Some(Next::Demo);
                self.perform(Effect::Quit);
            }
            Effect::Suspend => self.suspend = true,
            Effect::Redraw => self.screen.forget(),
            Effect::Edit(text) => {
                let edited = self.lend(|| editor::edit(&text));
                self.tell(Msg::Edited(edited));
            }
            Effect::OpenFile { path, line } => self.open_file(&path, line),
            Effect::PrintTranscript => {
                let text = self.state.transcript.plain_text(self.state.terminal.size.0);
                if self.screen.print(&text).is_err() {
                    self.end(129);
                }
            }
            Effect::Copy(text) => self.copy(&text),
            Effect::SaveHistory(prompt) => {
                if let Some(remember) = &mut self.link.remember {
                    remember(&prompt);
                }
            }
            Effect::SaveHints => {
                if let Some(keep) = &mut self.link.keep_hints {
                    keep(self.state.hints.uses());
                }
            }
            Effect::Ask(question) => self.screen.also(question.bytes()),
            Effect::PasteImage => self.paste_image(),
            Effect::Attach { paths, text } => {
                let found = pictures::dropped(&paths, &self.worktree(), home().as_deref());
                self.tell(match found {
                    Some(pictures) => Msg::Pictures(Ok(pictures)),
                    None => Msg::PlainPaste(text),
                });
            }
            Effect::Notify(what) => {
                let what = format!("dunlin: {what}");
                let kitty = std::env::var_os("KITTY_WINDOW_ID").is_some();
                self.screen
                    .also(&osc::notification(&Safe::strip(&what), kitty));
            }
        }
    }

    /// Gives the terminal to a child and takes it back.
    fn lend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.screen.leave();
        let result = work();
        self.child_ran = true;
        if self.back().is_err() {
            self.end(129);
        }
        result
    }

    /// The session's worktree; the folder we are in until there is one.
    fn worktree(&self) -> PathBuf {
        let info = self.state.session.info.as_ref();
        info.map(|info| PathBuf::from(&info.worktree))
            .unwrap_or_default()
    }

    /// Asks the clipboard on a thread of its own: its owner may take its time.
    fn paste_image(&mut self) {
        if self.pasting.is_some() {
            return;
        }
        let (found, asked) = oneshot::channel();
        let folder = self.pictures.clone();
        let started = std::thread::Builder::new()
            .name("clipboard".to_owned())
            .spawn(move || {
                let get = |name: &str| std::env::var(name).ok();
                drop(found.send(pictures::clipboard(&get, folder.as_deref())));
            });
        if started.is_ok() {
            self.pasting = Some(asked);
        }
    }

    fn open_file(&mut self, path: &str, line: Option<u32>) {
        let full = self.worktree().join(path);
        let opened = self.lend(|| editor::open(&full.to_string_lossy(), line));
        if let Err(why) = opened {
            self.tell(Msg::Edited(Err(why)));
        }
    }

    fn copy(&mut self, text: &str) {
        let known = self.clipboard.put(text);
        if !known {
            let Some(bytes) = osc::clipboard(text) else {
                let why = "This is too long for the terminal's clipboard; /export writes a file.";
                return self.tell(Msg::Edited(Err(why.to_owned())));
            };
            self.screen.also(&bytes);
        }
        self.tell(Msg::Copied(known));
    }
}

/// The user's home folder.
fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}
