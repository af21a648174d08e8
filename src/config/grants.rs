//! Permissions that the user granted for a project: `.dunlin/permissions.toml`.
//!
//! The driver stores them here when the answer was "always, this project". Comments and order of the
//! file are kept.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::used::{Rule, RuleAction};

/// The file of a project.
pub fn file(worktree: &Path) -> PathBuf {
    worktree.join(".dunlin").join("permissions.toml")
}

/// Adds a rule at the end of the project's file.
pub fn store(worktree: &Path, rule: &Rule) -> io::Result<()> {
    let path = file(worktree);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let mut document: DocumentMut = text.parse().map_err(io::Error::other)?;
    let rules = document
        .entry("rule")
        .or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(rules) = rules.as_array_of_tables_mut() else {
        let message = format!(
            "`rule` in {} is not a list of [[rule]] tables",
            path.display()
        );
        return Err(io::Error::other(message));
    };
    let mut table = Table::new();
    let action = match rule.action {
        RuleAction::Allow => "allow",
        RuleAction::Ask => "ask",
        RuleAction::Deny => "deny",
    };
    table.insert("tool", value(rule.tool.as_str()));
    table.insert("pattern", value(rule.pattern.as_str()));
    table.insert("action", value(action));
    rules.push(table);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let temporary = path.with_extension("toml.new");
    std::fs::write(&temporary, document.to_string())?;
    std::fs::rename(&temporary, &path)
}
