//! The tree of a session: every turn on every branch, what each did to files, and where to go.
//!
//! The current branch runs straight down; other branches hang beside it where they part. Enter goes
//! to before a turn of the current branch, or to the end of another branch; `e` takes a prompt up
//! again, `f` makes a new session of all up to a turn.

use std::collections::HashMap;

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::SeenRows;
use super::picker::{Entry, Kind, Picker};
use super::{Frame, Intent, Outcome, Overlay, footer};
use crate::protocol::{MessageId, Millis, Op, TreeTurn};
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::view::numbers;
use crate::tui::view::row::Row;

/// Columns from which on the time is shown.
const WIDE: u16 = 80;
/// Rows that the chosen turn's files take at most.
const FILES: usize = 6;

/// What stands before a turn: how the branches it hangs in go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rail {
    /// The branch that it parted from goes on below: `│`.
    On,
    /// A branch begins here: `├`.
    Begins,
}

#[derive(Debug, Clone)]
struct Line {
    turn: usize,
    rails: Vec<Rail>,
}

/// The tree.
#[derive(Debug, Clone)]
pub struct Rewind {
    turns: Vec<TreeTurn>,
    lines: Vec<Line>,
    selected: usize,
    seen: SeenRows,
}

impl Rewind {
    /// From the agent's answer; the turn that was sought is chosen, else the newest of the current branch.
    pub fn new(turns: Vec<TreeTurn>, sought: Option<MessageId>) -> Self {
        let lines = lay_out(&turns);
        let found = |line: &Line| Some(turns[line.turn].prompt) == sought;
        let found = lines.iter().position(found);
        let last = lines.iter().rposition(|line| turns[line.turn].current);
        Self {
            selected: found.or(last).unwrap_or(lines.len().saturating_sub(1)),
            turns,
            lines,
            seen: SeenRows::default(),
        }
    }

    /// Chooses what a row shows; true if it shows a turn.
    pub fn click(&mut self, row: u16) -> bool {
        self.seen.choose(row, &mut self.selected)
    }

    /// True if there is nothing to go to.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    fn chosen(&self) -> Option<&TreeTurn> {
        self.turns.get(self.lines.get(self.selected)?.turn)
    }

    /// The choice moves; negative is up.
    pub fn step(&mut self, delta: isize) {
        let last = self.lines.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(delta).min(last);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Tree, Context::List], key) {
            Some(Action::ListUp | Action::TreeUp) => self.step(-1),
            Some(Action::ListDown | Action::TreeDown) => self.step(1),
            Some(Action::ListPageUp) => self.step(-10),
            Some(Action::ListPageDown) => self.step(10),
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            Some(Action::ListAccept) => {
                return match self.chosen() {
                    Some(turn) => Outcome::Emit(vec![Intent::Open(Box::new(how(turn)))]),
                    None => Outcome::Consumed,
                };
            }
            Some(Action::TreeEdit) => {
                return match self.chosen() {
                    Some(turn) => Outcome::Close(vec![Intent::EditPrompt {
                        message: turn.prompt,
                        branch: (!turn.current).then_some(turn.tip),
                        text: turn.text.clone(),
                    }]),
                    None => Outcome::Consumed,
                };
            }
            Some(Action::TreeFork) => {
                return match self.chosen() {
                    Some(turn) => Outcome::Close(vec![Intent::Op(Op::Fork {
                        at: Some(turn.last),
                    })]),
                    None => Outcome::Consumed,
                };
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Draws it.
    pub fn draw(
        &self,
        state: &State,
        area: Rect,
        buf: &mut Cells,
        now: Millis,
    ) -> Option<Position> {
        let frame = Frame::of(area);
        let theme = &state.theme;
        let branches = self.branches();
        let turns = match self.turns.len() {
            1 => "1 turn".to_owned(),
            many => format!("{many} turns"),
        };
        let count = if branches > 1 {
            format!("{turns}   {branches} branches")
        } else {
            turns
        };
        Row::new()
            .fixed("Rewind", theme.bold())
            .right(&count, theme.dim())
            .draw(frame.title, buf);
        let files = self.files(state);
        let below = if frame.body.height >= 12 {
            files.len() as u16 + 2
        } else {
            0
        };
        let room = usize::from(frame.body.height.saturating_sub(below)).max(1);
        let first = (self.selected + 1).saturating_sub(room);
        let rows: Vec<Row> = (first..self.lines.len())
            .take(room)
            .map(|at| self.row(state, at, (area.width, now)))
            .collect();
        super::draw_rows(rows.iter(), frame.body, buf);
        self.seen.begin();
        for (at, y) in (first..self.lines.len()).take(room).zip(frame.body.y..) {
            self.seen.shows(y, at);
        }
        if below > 0 {
            let y = frame.body.y + rows.len() as u16 + 1;
            let rule = theme.glyphs.free.repeat(usize::from(frame.body.width));
            let rest = Rect {
                y,
                height: frame.body.bottom().saturating_sub(y),
                ..frame.body
            };
            let rule = Row::new().text(&rule, theme.dim());
            super::draw_rows(std::iter::once(&rule).chain(&files), rest, buf);
        }
        let goes = match self.chosen() {
            Some(turn) if !turn.current => "switch to it",
            _ => "back to before it",
        };
        let hints = [
            (Action::ListAccept, goes),
            (Action::TreeEdit, "edit"),
            (Action::TreeFork, "fork"),
        ];
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        None
    }

    /// Ends of branches: turns that nothing follows.
    fn branches(&self) -> usize {
        let followed: std::collections::HashSet<MessageId> =
            self.turns.iter().filter_map(|t| t.parent).collect();
        let ends = self.turns.iter().filter(|t| !followed.contains(&t.prompt));
        ends.count()
    }

    fn row(&self, state: &State, at: usize, (width, now): (u16, Millis)) -> Row {
        let theme = &state.theme;
        let glyphs = &theme.glyphs;
        let line = &self.lines[at];
        let turn = &self.turns[line.turn];
        let selected = at == self.selected;
        let mut row = if selected {
            Row::new().fixed(glyphs.prompt, theme.accent()).gap(1)
        } else {
            Row::new().gap(2)
        };
        for rail in &line.rails {
            let sign = match rail {
                Rail::On => glyphs.bar,
                Rail::Begins => glyphs.tree.0,
            };
            row = row.fixed(sign, theme.dim()).gap(1);
        }
        let style = match (selected, turn.current) {
            (true, _) => theme.bold(),
            (_, true) => theme.default(),
            _ => theme.dim(),
        };
        let text = turn.text.lines().next().unwrap_or_default();
        let mut row = row.text(text, style);
        let (added, removed) = counts(turn);
        if !turn.files.is_empty() {
            row = row
                .right(&format!("+{added}"), theme.good())
                .right(&format!(" {}{removed}", glyphs.minus), theme.bad());
        }
        if width >= WIDE {
            let when = numbers::when(turn.at, now, &state.zone);
            row = row.right(&format!("{when:>9}"), theme.dim());
        }
        row
    }

    /// The files of the chosen turn.
    fn files(&self, state: &State) -> Vec<Row> {
        let theme = &state.theme;
        let Some(turn) = self.chosen() else {
            return Vec::new();
        };
        if turn.files.is_empty() {
            return vec![Row::new().gap(2).fixed("no file was changed", theme.dim())];
        }
        let mut rows: Vec<Row> = turn
            .files
            .iter()
            .take(FILES)
            .map(|file| {
                Row::new()
                    .gap(2)
                    .text(&file.path, theme.default())
                    .gap(2)
                    .text(&format!("+{}", file.added), theme.good())
                    .text(
                        &format!(" {}{}", theme.glyphs.minus, file.removed),
                        theme.bad(),
                    )
            })
            .collect();
        if turn.files.len() > FILES {
            let more = format!("{} more files", turn.files.len() - FILES);
            rows.push(
                Row::new()
                    .gap(2)
                    .fixed(theme.glyphs.hidden, theme.dim())
                    .gap(1)
                    .text(&more, theme.dim()),
            );
        }
        rows
    }
}

fn counts(turn: &TreeTurn) -> (u32, u32) {
    let sum = |of: fn(&crate::protocol::PatchFile) -> u32| turn.files.iter().map(of).sum();
    (sum(|f| f.added), sum(|f| f.removed))
}

/// With files or without. Files go with a preview first.
fn how(turn: &TreeTurn) -> Overlay {
    let go = |files: bool| {
        let confirmed = !files;
        if turn.current {
            let to = turn.prompt;
            Op::Rewind {
                to,
                files,
                confirmed,
            }
        } else {
            let tip = turn.tip;
            Op::SwitchBranch {
                tip,
                files,
                confirmed,
            }
        }
    };
    let entry = |label: &str, says: &str, files| Entry {
        label: label.to_owned(),
        says: says.to_owned(),
        detail: String::new(),
        intents: vec![Intent::CloseBelow, Intent::Op(go(files))],
    };
    let (title, what) = if turn.current {
        (
            "Go back to before it",
            "what was written since is taken back; you see it first",
        )
    } else {
        (
            "Switch to the end of this branch",
            "files become what it left; you see it first",
        )
    };
    let entries = vec![
        entry("Conversation and files", what, true),
        entry("Conversation only", "files stay as they are", false),
    ];
    Overlay::Picker(Picker::new(Kind::Other, title, entries))
}

/// The order of the lines: a turn, the branches that part after it, then the branch that goes on.
fn lay_out(turns: &[TreeTurn]) -> Vec<Line> {
    let place: HashMap<MessageId, usize> = turns
        .iter()
        .enumerate()
        .map(|(at, turn)| (turn.prompt, at))
        .collect();
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        let parent = turn.parent.and_then(|p| place.get(&p)).copied();
        children
            .entry(parent.filter(|p| *p < at))
            .or_default()
            .push(at);
    }
    let mut lines = Vec::with_capacity(turns.len());
    // What is still to be laid out, the next one last: a turn with its rails.
    let mut stack: Vec<(usize, Vec<Rail>)> = Vec::new();
    let follow = |stack: &mut Vec<(usize, Vec<Rail>)>, parent: Option<usize>, rails: &[Rail]| {
        let mut below = children.get(&parent).cloned().unwrap_or_default();
        // The current branch goes on straight; where there is none, the newest.
        below.sort_by_key(|at| (turns[*at].current, turns[*at].tip));
        let Some(main) = below.pop() else { return };
        stack.push((main, rails.to_vec()));
        for side in below.into_iter().rev() {
            let mut rails = rails.to_vec();
            rails.push(Rail::Begins);
            stack.push((side, rails));
        }
    };
    follow(&mut stack, None, &[]);
    while let Some((turn, rails)) = stack.pop() {
        let inner = vec![Rail::On; rails.len()];
        lines.push(Line { turn, rails });
        follow(&mut stack, Some(turn), &inner);
    }
    lines
}

#[cfg(test)]
#[path = "rewind_tests.rs"]
mod tests;
