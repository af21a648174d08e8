//! What an undo would do, before it is done: file by file, conflicts named.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::{Frame, Intent, Outcome, draw_rows, footer};
use crate::protocol::event::UndoFile;
use crate::protocol::{Destination, Op};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::text::width::columns;
use crate::tui::text::wrap::broken;
use crate::tui::view::row::{Row, fit};

/// The preview.
#[derive(Debug, Clone)]
pub struct UndoView {
    to: Destination,
    prompt: String,
    files: Vec<UndoFile>,
    /// Files that are left alone without being looked at.
    note: Option<String>,
    top: usize,
}

/// What does it.
pub(crate) const fn confirmed(to: Destination) -> Op {
    let (files, confirmed) = (true, true);
    match to {
        Destination::LastTurn => Op::Undo { confirmed },
        Destination::Redo => Op::Redo { confirmed },
        Destination::Before { message } => Op::Rewind {
            to: message,
            files,
            confirmed,
        },
        Destination::Branch { tip } => Op::SwitchBranch {
            tip,
            files,
            confirmed,
        },
    }
}

impl UndoView {
    /// From the agent's answer.
    pub const fn new(
        to: Destination,
        prompt: String,
        files: Vec<UndoFile>,
        note: Option<String>,
    ) -> Self {
        Self {
            to,
            note,
            prompt,
            files,
            top: 0,
        }
    }

    /// Moves by rows.
    pub fn scroll(&mut self, delta: isize) {
        self.top = self
            .top
            .saturating_add_signed(delta)
            .min(self.files.len().saturating_sub(1));
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::List], key) {
            Some(Action::ListUp) => self.scroll(-1),
            Some(Action::ListDown) => self.scroll(1),
            Some(Action::ListAccept) => {
                return Outcome::Close(vec![Intent::Op(confirmed(self.to))]);
            }
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(&self, state: &State, area: Rect, buf: &mut Cells) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let conflicts = self.files.iter().filter(|f| f.conflict).count();
        let (what, does) = match self.to {
            Destination::LastTurn => ("Take back the last turn", "take it back"),
            Destination::Redo => ("Bring back what the last undo took", "bring it back"),
            Destination::Before { .. } => ("Go back to before", "go back"),
            Destination::Branch { .. } => ("Switch to the branch that ends with", "switch"),
        };
        let mut title = Row::new().fixed(what, theme.bold());
        if conflicts > 0 {
            title = title.right(&format!("{conflicts} left alone"), theme.amber());
        }
        title.draw(frame.title, buf);
        let mut rows = vec![
            Row::new()
                .fixed(theme.glyphs.prompt, theme.accent())
                .gap(1)
                .text(&self.prompt, theme.default()),
            Row::new(),
        ];
        if let Some(note) = &self.note {
            let width = usize::from(frame.body.width).saturating_sub(4);
            for line in broken(note, width.max(8)) {
                rows.push(Row::new().gap(2).text(line, theme.amber()));
            }
        } else if self.files.is_empty() {
            rows.push(
                Row::new()
                    .gap(2)
                    .fixed("No file changes: only the conversation does.", theme.dim()),
            );
        }
        let longest = self.files.iter().map(|file| columns(&file.path)).max();
        let half = usize::from(frame.body.width) / 2;
        let does_at = longest.unwrap_or(0).min(half) + 7;
        for file in self.files.iter().skip(self.top) {
            // Nothing has been done yet: no tick.
            let (glyph, style) = if file.conflict {
                (theme.glyphs.warn, theme.amber())
            } else {
                (theme.glyphs.note, theme.dim())
            };
            let row = Row::new()
                .gap(2)
                .fixed(glyph, style)
                .gap(1)
                .text(&file.path, theme.default());
            rows.push(row.to(does_at).text(
                &with_command(coming(&file.action), file.during.as_deref()),
                if file.conflict { style } else { theme.dim() },
            ));
        }
        draw_rows(rows.iter(), frame.body, buf);
        let mut hints = vec![(Action::ListAccept, does)];
        if self.files.len() + 2 > usize::from(frame.body.height) {
            hints.push((Action::ListDown, "down"));
        }
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        None
    }
}

/// Columns of a command beside a file.
const COMMAND: usize = 24;

/// What happens, and the command while which the file changed: it may have been somebody else who changed it.
pub(crate) fn with_command(action: String, during: Option<&str>) -> String {
    let Some(command) = during else {
        return action;
    };
    let shown = fit(command, COMMAND).trim_end();
    let mark = if shown.len() < command.len() {
        "…"
    } else {
        ""
    };
    format!("{action} · while \"{shown}{mark}\" ran")
}

/// What is going to happen to a file: the agent names it as if it were done.
fn coming(action: &str) -> String {
    match action {
        "restored" | "removed" | "merged" => format!("will be {action}"),
        why => why.to_owned(),
    }
}
