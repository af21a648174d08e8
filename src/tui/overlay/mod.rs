//! What lies over the conversation: a stack, the topmost gets the keys.
//!
//! A layer answers with data: Ignored, Consumed, Emit(intents), Close(intents). `update::layers`
//! carries intents out. Each layer's file holds its data, its keys and how it is drawn.

pub mod diff;
pub mod help;
pub mod history;

pub mod inspector;
pub mod listed;
pub mod pager;
pub mod palette;
pub mod permissions;
pub mod picker;
pub mod queue;
pub mod rewind;
mod sample;
pub mod scroll;
pub mod search;
mod session_preview;
mod session_rows;
pub mod sessions;
pub mod spending;
pub mod subagent;
pub mod undo;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::command::Command;
use super::composer::buffer::Buffer;
use super::composer::history::Past;
use super::input::Key;
use super::keymap::{Action, Context, Keymap};
use super::state::State;
use super::view::row::Row;
use crate::protocol::event::ModelChoice;
use crate::protocol::{
    Effort, MessageId, Millis, ModelRef, Op, QueueItem, SessionId, SessionSummary,
};

/// What a layer wants to happen.
#[derive(Debug, Clone)]
pub enum Intent {
    /// Tell the agent.
    Op(Op),
    /// Tell the agent something that ends the running turn: the user has agreed.
    Leave(Op),
    /// Nothing: things stay as they are.
    Stay,
    /// Copy text (the user pressed the key for it).
    Copy(String),
    /// Put text into the composer, in place of what is there.
    Compose(String),
    /// Add text to the composer.
    Quote(String),
    /// Open a file of the worktree in the editor.
    OpenFile {
        /// Relative to the worktree.
        path: String,
        /// From 1.
        line: Option<u32>,
    },
    /// Change the theme.
    Theme(String),
    /// Another layer on top.
    Open(Box<Overlay>),
    /// Carry out a slash command.
    Run(Command),
    /// Do what a key would do.
    Do(Action),
    /// Mark these words in the part that is opened next.
    LookFor(String),
    /// The layer below goes too.
    CloseBelow,
    /// Take an earlier prompt up again: sending it makes a branch where it stood.
    EditPrompt {
        /// The prompt.
        message: MessageId,
        /// The end of its branch, if that is not the current one.
        branch: Option<MessageId>,
        /// What it says.
        text: String,
    },
    /// Take a queued message back into the composer.
    EditQueued(QueueItem),
    /// Open a subagent's transcript.
    Watch(SessionId),
}

/// What a layer made of a key.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Nothing: it means nothing here.
    Ignored,
    /// It changed itself.
    Consumed,
    /// It wants something and stays.
    Emit(Vec<Intent>),
    /// It goes, and wants something.
    Close(Vec<Intent>),
}

/// A layer.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// A list to choose from.
    Picker(picker::Picker),
    /// Sessions.
    Sessions(Box<sessions::SessionList>),
    /// The session's turns and branches.
    Rewind(rewind::Rewind),
    /// Search through all sessions.
    Search(search::SearchView),
    /// The changes.
    Diff(diff::DiffView),
    /// Keys and commands.
    Help(help::Help),
    /// A long text.
    Pager(pager::Pager),
    /// What an undo would do.
    Undo(undo::UndoView),
    /// What fills the context.
    Inspector(inspector::Inspector),
    /// What waits.
    Queue(queue::QueueView),
    /// The transcript of the subagent that the state holds open.
    Subagent,
    /// Earlier prompts.
    History(history::HistoryView),
    /// Permission rules.
    Permissions(permissions::PermissionsView),
    /// What the session cost.
    Spending(Box<spending::SpendingView>),
}

/// Keys and commands, from the tables.
pub fn help(keys: &Keymap) -> Overlay {
    Overlay::Help(help::Help::new(keys))
}

impl Overlay {
    /// The session picker; its entries come with `sessions_came`.
    pub fn sessions() -> Self {
        Self::Sessions(Box::new(sessions::SessionList::new()))
    }

    /// The model picker; its entries come with `models_came`.
    pub fn models(effort: Option<Effort>, now: Option<ModelRef>, recent: Vec<ModelRef>) -> Self {
        Self::Picker(picker::Picker::models(effort, now, recent))
    }

    /// Earlier prompts; what is written begins the search.
    pub fn history(entries: &[Past], draft: &str) -> Self {
        Self::History(history::HistoryView::new(entries, draft))
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match self {
            Self::Picker(layer) => layer.key(key, keys),
            Self::Sessions(layer) => layer.key(key, keys),
            Self::Rewind(layer) => layer.key(key, keys),
            Self::Search(layer) => layer.key(key, keys),
            Self::Diff(layer) => layer.key(key, keys),
            Self::Help(layer) => layer.key(key, keys),
            Self::Pager(layer) => layer.key(key, keys),
            Self::Undo(layer) => layer.key(key, keys),
            Self::Inspector(layer) => layer.key(key, keys),
            Self::Queue(layer) => layer.key(key, keys),
            Self::Subagent => Outcome::Ignored,
            Self::History(layer) => layer.key(key, keys),
            Self::Permissions(layer) => layer.key(key, keys),
            Self::Spending(layer) => layer.key(key, keys),
        }
    }

    /// Pasted text; gives what is to be asked for because of it.
    pub fn paste(&mut self, text: &str) -> Option<Op> {
        match self {
            Self::Picker(layer) => layer.paste(text),
            Self::History(layer) => layer.paste(text),
            Self::Sessions(layer) => return layer.paste(text).or_else(|| layer.wants()),
            Self::Search(layer) => return layer.paste(text),
            _ => {}
        }
        None
    }

    /// The wheel; negative is up.
    pub fn scroll(&mut self, delta: isize) {
        match self {
            Self::Picker(layer) => layer.step(delta.signum()),
            Self::Sessions(layer) => layer.step(delta.signum()),
            Self::Rewind(layer) => layer.step(delta.signum()),
            Self::Search(layer) => layer.step(delta.signum()),
            Self::Diff(layer) => layer.scroll(delta),
            Self::Help(layer) => layer.scroll(delta),
            Self::Pager(layer) => layer.scroll(delta),
            Self::Undo(layer) => layer.scroll(delta),
            Self::Inspector(layer) => layer.scroll(delta),
            Self::Queue(layer) => layer.step(delta.signum()),
            Self::Subagent => {}
            Self::History(layer) => layer.step(delta.signum()),
            Self::Permissions(layer) => layer.step(delta.signum()),
            Self::Spending(layer) => layer.scroll(delta),
        }
    }

    /// Chooses the entry that a row of the screen shows; none if it shows none, else what comes of
    /// the choice alone.
    pub fn click(&mut self, row: u16) -> Option<Vec<Intent>> {
        match self {
            Self::Picker(layer) => return layer.click(row),
            Self::Sessions(layer) => return layer.click(row),
            Self::Rewind(layer) => layer.click(row),
            Self::Search(layer) => layer.click(row),
            Self::Queue(layer) => layer.click(row),
            Self::History(layer) => layer.click(row),
            Self::Permissions(layer) => layer.click(row),
            Self::Diff(_)
            | Self::Help(_)
            | Self::Pager(_)
            | Self::Undo(_)
            | Self::Inspector(_)
            | Self::Subagent
            | Self::Spending(_) => false,
        }
        .then(Vec::new)
    }

    /// Sessions were listed; `open` is the one that is open.
    pub fn sessions_came(&mut self, sessions: &[SessionSummary], open: Option<SessionId>) {
        if let Self::Sessions(layer) = self {
            layer.sessions_came(sessions, open);
        }
    }

    /// What it wants to be told besides what its keys asked for.
    pub fn wants(&mut self) -> Option<Op> {
        match self {
            Self::Sessions(layer) => layer.wants(),
            _ => None,
        }
    }

    /// Models were listed.
    pub fn models_came(&mut self, models: &[ModelChoice]) {
        if let Self::Picker(picker) = self {
            picker.models_came(models);
        }
    }

    /// Draws it over the whole area; gives the cursor's place if text is written in it.
    pub fn draw(
        &self,
        state: &State,
        area: Rect,
        buf: &mut Cells,
        now: Millis,
    ) -> Option<Position> {
        match self {
            Self::Picker(layer) => layer.draw(state, area, buf),
            Self::Sessions(layer) => session_rows::draw(layer, state, area, buf, now),
            Self::Rewind(layer) => layer.draw(state, area, buf, now),
            Self::Search(layer) => layer.draw(state, area, buf, now),
            Self::Diff(layer) => layer.draw(state, area, buf),
            Self::Help(layer) => layer.draw(state, area, buf),
            Self::Pager(layer) => layer.draw(state, area, buf),
            Self::Undo(layer) => layer.draw(state, area, buf),
            Self::Inspector(layer) => layer.draw(state, area, buf, now),
            Self::Queue(layer) => layer.draw(state, area, buf),
            // It changes the state's caches: see `subagent::draw`.
            Self::Subagent => None,
            Self::History(layer) => layer.draw(state, area, buf),
            Self::Permissions(layer) => layer.draw(state, area, buf),
            Self::Spending(layer) => layer.draw(state, area, buf),
        }
    }
}

/// Title, body and footer of a full-screen layer, with the screen's margins.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// First row.
    pub title: Rect,
    /// Between a blank row and the footer's blank row.
    pub body: Rect,
    /// Last row.
    pub footer: Rect,
}

impl Frame {
    /// Divides an area.
    pub fn of(area: Rect) -> Self {
        let margin = if area.width < 80 { 0 } else { 2 };
        let width = area.width.saturating_sub(2 * margin);
        let row = |y: u16, height: u16| Rect {
            x: area.x + margin,
            y,
            width,
            height,
        };
        let blank = u16::from(area.height >= 8);
        let top = 1 + blank;
        let height = area.height.saturating_sub(top + 1 + blank);
        Self {
            title: row(area.y, area.height.min(1)),
            body: row(area.y + top.min(area.height), height),
            footer: row(area.bottom().saturating_sub(1), u16::from(area.height > 1)),
        }
    }
}

/// Draws rows from the top of an area.
pub fn draw_rows<'a, I: Iterator<Item = &'a Row>>(rows: I, area: Rect, buf: &mut Cells) {
    for (at, row) in rows.take(usize::from(area.height)).enumerate() {
        row.draw(
            Rect {
                y: area.y + at as u16,
                height: 1,
                ..area
            },
            buf,
        );
    }
}

/// The footer of a layer: keys with what they do, and the closing key at the right.
pub fn footer(state: &State, hints: &[(Action, &str)], close: Action) -> Row {
    let alone: Vec<([Action; 1], &str)> = hints.iter().map(|(a, says)| ([*a], *says)).collect();
    let hints: Vec<(&[Action], &str)> = alone.iter().map(|(a, says)| (&a[..], *says)).collect();
    footer_of(state, &hints, close)
}

/// The same where actions share words: `↑↓ hunk`.
pub fn footer_of(state: &State, hints: &[(&[Action], &str)], close: Action) -> Row {
    let theme = &state.theme;
    let mut row = Row::new();
    // What does not fit is left out as a whole, the last hint first.
    let margins = if state.is_narrow() { 0 } else { 4 };
    let closing = state.keys.key(close).chars().count() + " close".len() + 2;
    let room = usize::from(state.terminal.size.0).saturating_sub(margins + closing);
    for (actions, says) in hints {
        let key: String = actions.iter().map(|a| state.keys.key(*a)).collect();
        let wide = row.width() + 3 + key.chars().count() + 1 + says.len();
        if key.is_empty() || wide > room {
            continue;
        }
        if row.width() > 0 {
            row = row.gap(3);
        }
        row = row
            .text(&key, theme.accent())
            .gap(1)
            .text(says, theme.dim());
    }
    row.hint(
        &state.keys.key(close),
        "close",
        (theme.accent(), theme.dim()),
    )
}

/// A field with its cursor in the first row of `area`, after a label of one's own.
pub fn draw_field(
    label: &'static str,
    field: &Buffer,
    state: &State,
    area: Rect,
    buf: &mut Cells,
) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let theme = &state.theme;
    Row::new()
        .fixed(theme.glyphs.prompt, theme.accent())
        .gap(1)
        .fixed(label, theme.dim())
        .text(field.text(), theme.default())
        .draw(Rect { height: 1, ..area }, buf);
    let before = field.text().get(..field.cursor()).unwrap_or_default();
    let col = 2 + label.len() + unicode_width::UnicodeWidthStr::width(before);
    let x = (usize::from(area.x) + col).min(usize::from(area.right()).saturating_sub(1));
    Some(Position::new(x as u16, area.y))
}

/// Edits a one-line field with the composer's keys.
pub fn edit_line(buffer: &mut Buffer, key: Key, keys: &Keymap) {
    if let Some(c) = key.text() {
        buffer.insert(c.encode_utf8(&mut [0; 4]));
        return;
    }
    match keys.action(&[Context::Composer], key) {
        Some(Action::Left) => buffer.left(),
        Some(Action::Right) => buffer.right(),
        Some(Action::WordLeft) => buffer.left_word(),
        Some(Action::WordRight) => buffer.right_word(),
        Some(Action::LineStart) => buffer.home(),
        Some(Action::LineEnd) => buffer.end(),
        Some(Action::DeleteBack) => buffer.delete_back(),
        Some(Action::DeleteForward) => buffer.delete_forward(),
        Some(Action::DeleteWordBack) => buffer.kill_word_back(),
        Some(Action::DeleteWordForward) => buffer.kill_word_forward(),
        Some(Action::KillToEnd) => buffer.kill_to_end(),
        Some(Action::KillToStart) => buffer.kill_to_start(),
        Some(Action::Yank) => buffer.yank(),
        Some(Action::Undo) => buffer.undo(),
        Some(Action::Redo) => buffer.redo(),
        _ => {}
    }
}
