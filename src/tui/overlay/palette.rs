//! The command palette: every command and every action that has a name, in one fuzzy list.
//!
//! Made from the two tables and the user's own commands, so nothing can be missing from it.

use super::picker::{Entry, Kind, Picker};
use super::{Intent, Overlay};
use crate::tui::command::{self, Command};
use crate::tui::composer::offers::Offers;
use crate::tui::keymap::{Action, Context, Keymap, TABLE};

/// Actions of the composer that make sense from a list; the rest moves a cursor.
const FROM_THE_COMPOSER: [Action; 7] = [
    Action::SearchHistory,
    Action::Editor,
    Action::PasteImage,
    Action::Find,
    Action::Unfold,
    Action::Undo,
    Action::Redo,
];

/// The palette.
pub fn palette(keys: &Keymap, offers: &Offers) -> Overlay {
    let mut entries: Vec<Entry> = command::TABLE
        .iter()
        .map(|row| Entry {
            label: label(&format!("/{}", row.name), row.says),
            says: String::new(),
            detail: [row.takes.to_owned(), key_of(keys, row.command)]
                .join("   ")
                .trim()
                .to_owned(),
            intents: vec![if row.takes.is_empty() || row.takes.starts_with('[') {
                Intent::Run(row.command)
            } else {
                // It needs words: they are written in the composer.
                Intent::Compose(format!("/{} ", row.name))
            }],
        })
        .collect();
    entries.extend(offers.commands.iter().map(|own| Entry {
        label: label(&format!("/{}", own.name), &own.description),
        says: String::new(),
        detail: own.hint.clone(),
        intents: vec![Intent::Compose(format!("/{} ", own.name))],
    }));
    entries.extend(actions(keys));
    Overlay::Picker(Picker::new(Kind::Other, "Commands and actions", entries))
}

/// Actions that do what a command does: they are one row, the command's, with the key beside it.
const SAME: [(Action, Command); 10] = [
    (Action::Help, Command::Help),
    (Action::Sessions, Command::Sessions),
    (Action::Models, Command::Model),
    (Action::Changes, Command::Diff),
    (Action::Inspector, Command::Context),
    (Action::Subagents, Command::Subagents),
    (Action::Palette, Command::Palette),
    (Action::Editor, Command::Editor),
    (Action::Find, Command::Find),
    (Action::Quit, Command::Quit),
];

fn key_of(keys: &Keymap, command: Command) -> String {
    let same = SAME.iter().find(|(_, other)| *other == command);
    same.map(|(action, _)| keys.key(*action))
        .unwrap_or_default()
}

/// A name and what it does, in columns; both are searched.
fn label(name: &str, says: &str) -> String {
    format!("{name:<17} {says}")
}

fn actions(keys: &Keymap) -> impl Iterator<Item = Entry> + '_ {
    let named = TABLE.iter().filter(|row| match row.context {
        Context::Global => row.action != Action::Palette,
        Context::Running => row.action != Action::FollowUp && row.action != Action::InterruptSend,
        Context::Composer => FROM_THE_COMPOSER.contains(&row.action),
        _ => false,
    });
    let own = |row: &&crate::tui::keymap::Row| SAME.iter().all(|(same, _)| *same != row.action);
    named.filter(own).map(|row| Entry {
        label: label(row.name, row.says),
        says: String::new(),
        detail: keys.key(row.action),
        intents: vec![Intent::Do(row.action)],
    })
}
