//! The permission rules in force, by who wrote them; what was granted can be taken back.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};

use super::listed::{Listed, SeenRows};
use super::{Frame, Intent, Outcome, footer};
use crate::protocol::Op;
use crate::protocol::event::PermissionRule;
use crate::tui::input::Key;
use crate::tui::keymap::{Action, Context, Keymap};
use crate::tui::state::State;
use crate::tui::text::wrap::broken;
use crate::tui::view::row::Row;

/// Columns at which the tool and the pattern begin.
const TOOL: usize = 10;
const PATTERN: usize = 22;

/// The rules, and which one is chosen.
#[derive(Debug, Clone)]
pub struct PermissionsView {
    rules: Vec<PermissionRule>,
    selected: usize,
    seen: SeenRows,
}

impl PermissionsView {
    /// From the agent's answer, in the order in which it gives them.
    pub fn new(rules: Vec<PermissionRule>) -> Self {
        Self {
            rules,
            selected: 0,
            seen: SeenRows::default(),
        }
    }

    /// Chooses what a row shows; true if it shows a rule.
    pub fn click(&mut self, row: u16) -> bool {
        self.seen.choose(row, &mut self.selected)
    }

    /// The rules as they are now; the choice stays where it is.
    pub fn show(&mut self, rules: Vec<PermissionRule>) {
        self.selected = self.selected.min(rules.len().saturating_sub(1));
        self.rules = rules;
    }

    /// The choice moves.
    pub fn step(&mut self, delta: isize) {
        let last = self.rules.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(delta).min(last);
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        match keys.action(&[Context::Rules, Context::List], key) {
            Some(Action::ListUp) => self.step(-1),
            Some(Action::ListDown) => self.step(1),
            Some(Action::ListPageUp) => self.step(-10),
            Some(Action::ListPageDown) => self.step(10),
            Some(Action::RuleRevoke) => {
                let rule = self.rules.get(self.selected);
                let revoke = rule.filter(|rule| rule.revocable).map(|rule| {
                    Intent::Op(Op::RevokePermission {
                        owner: rule.owner.clone(),
                        tool: rule.tool.clone(),
                        pattern: rule.pattern.clone(),
                    })
                });
                return revoke.map_or(Outcome::Consumed, |intent| Outcome::Emit(vec![intent]));
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
        let mode = state
            .status
            .as_ref()
            .map_or("", |status| status.mode.name());
        Row::new()
            .fixed("Permissions", theme.bold())
            .right("mode ", theme.dim())
            .right(mode, theme.accent())
            .draw(frame.title, buf);
        let rows = self.rows(state, frame.body.width);
        rows.draw(frame.body, &self.seen, buf);
        let chosen = self.rules.get(self.selected);
        let mut hints = Vec::new();
        if chosen.is_some_and(|rule| rule.revocable) {
            hints.push((Action::RuleRevoke, "take back"));
        }
        if self.rules.len() > 1 && rows.is_longer(frame.body.height) {
            hints.insert(0, (Action::ListDown, "down"));
        }
        footer(state, &hints, Action::ListClose).draw(frame.footer, buf);
        None
    }

    /// The rules under headings of who wrote them.
    fn rows(&self, state: &State, width: u16) -> Listed {
        let theme = &state.theme;
        let mut rows = Listed::default();
        if self.rules.is_empty() {
            let short = width < 40;
            let none = if short {
                "No rule: the mode alone decides."
            } else {
                "No rule is set and nothing was granted: the mode alone decides."
            };
            for text in [
                none,
                "`s` and `p` in a permission question grant more; [permission] in the configuration sets rules.",
            ] {
                let room = usize::from(width).saturating_sub(2).max(8);
                for line in broken(text, room) {
                    rows.plain(Row::new().gap(2).text(line, theme.dim()));
                }
            }
        }
        let mut owner = "";
        for (at, rule) in self.rules.iter().enumerate() {
            if rule.owner != owner {
                if at > 0 {
                    rows.plain(Row::new());
                }
                rows.plain(Row::new().gap(2).text(heading(&rule.owner), theme.dim()));
                owner = &rule.owner;
            }
            let selected = at == self.selected;
            let row = if selected {
                Row::new().fixed(theme.glyphs.prompt, theme.accent()).gap(1)
            } else {
                Row::new().gap(2)
            };
            let word = match rule.action.as_str() {
                "allow" => theme.good(),
                "deny" => theme.bad(),
                _ => theme.amber(),
            };
            let style = if selected {
                theme.bold()
            } else {
                theme.default()
            };
            let row = row
                .text(&rule.action, word)
                .to(TOOL)
                .text(&rule.tool, theme.dim())
                .to(PATTERN)
                .text(&rule.pattern, style);
            let note = if rule.revocable {
                ""
            } else {
                "in a file of yours"
            };
            let row = row.right(if selected { note } else { "" }, theme.dim());
            rows.entry(row, at, selected);
        }
        rows
    }
}

/// Who wrote a rule, in words.
fn heading(owner: &str) -> &str {
    match owner {
        "session" => "Granted for this session",
        "grants" => "Granted for this project   .dunlin/permissions.toml",
        "user" => "Your configuration",
        "project" => "The project's configuration",
        "agent" => "The agent's own rules",
        "flags" => "From the command line",
        other => other,
    }
}
