//! The slash commands: ONE table that feeds parsing, completion and help.
//!
//! `update::command` carries them out. A text that begins with `/` but is not a word (a path) is a
//! prompt like any other.

use super::keymap::nearest;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Keys and commands.
    Help,
    /// A new session.
    New,
    /// The session picker.
    Sessions,
    /// A copy of this session.
    Fork,
    /// Names the session.
    Rename,
    /// Back to an earlier message.
    Rewind,
    /// Takes the last turn back.
    Undo,
    /// Brings it back.
    Redo,
    /// What changed.
    Diff,
    /// Summarises the history.
    Compact,
    /// What fills the context.
    Context,
    /// Prunes old outputs.
    Prune,
    /// Brings pruned outputs back.
    Restore,
    /// Chooses the model.
    Model,
    /// Reasoning effort.
    Effort,
    /// Permission mode.
    Mode,
    /// The agent.
    Agent,
    /// What subagents did and do.
    Subagents,
    /// What waits.
    Queue,
    /// The plan.
    Todo,
    /// Writes the session to a file.
    Export,
    /// Copies the last answer.
    Copy,
    /// Searches the conversation.
    Find,
    /// Searches all sessions.
    Search,
    /// Colours.
    Theme,
    /// Drafts AGENTS.md.
    Init,
    /// What it cost.
    Cost,
    /// What every compaction keeps.
    Pin,
    /// Model, mode, session, folders.
    Status,
    /// Permission rules.
    Permissions,
    /// MCP servers.
    Mcp,
    /// Skills.
    Skills,
    /// Every command and action.
    Palette,
    /// Vim's keys on or off.
    Vim,
    /// The external editor.
    Editor,
    /// Goes on after a turn that was cut.
    Continue,
    /// The scripted demo.
    Demo,
    /// Ends.
    Quit,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What it does.
    pub command: Command,
    /// What is typed after `/`.
    pub name: &'static str,
    /// What may follow; empty if nothing.
    pub takes: &'static str,
    /// A few words for completion and help.
    pub says: &'static str,
}

const fn row(command: Command, name: &'static str, takes: &'static str, says: &'static str) -> Row {
    Row {
        command,
        name,
        takes,
        says,
    }
}

/// All commands, in the order in which they are listed.
pub const TABLE: &[Row] = &[
    row(Command::Help, "help", "", "keys and commands"),
    row(Command::New, "new", "", "start a new session"),
    row(Command::Sessions, "sessions", "", "open another session"),
    row(Command::Fork, "fork", "", "go on in a copy of this session"),
    row(Command::Rename, "rename", "TITLE", "name this session"),
    row(
        Command::Rewind,
        "rewind",
        "",
        "all turns and branches: go back, switch, edit, fork",
    ),
    row(
        Command::Undo,
        "undo",
        "",
        "take back the last turn, files too",
    ),
    row(Command::Redo, "redo", "", "bring back what undo took"),
    row(
        Command::Diff,
        "diff",
        "[turn|session|step]",
        "what changed in the worktree",
    ),
    row(
        Command::Compact,
        "compact",
        "[FOCUS]",
        "summarise the conversation so far",
    ),
    row(
        Command::Context,
        "context",
        "",
        "what fills the window, and when it was pruned",
    ),
    row(Command::Prune, "prune", "", "clear old tool outputs now"),
    row(Command::Restore, "restore", "", "bring pruned outputs back"),
    row(
        Command::Model,
        "model",
        "[PROVIDER/MODEL]",
        "choose the model",
    ),
    row(
        Command::Effort,
        "effort",
        "[none…max|default]",
        "how hard the model thinks",
    ),
    row(
        Command::Mode,
        "mode",
        "[ask|auto-edit|auto|plan]",
        "what runs without asking",
    ),
    row(Command::Agent, "agent", "[NAME]", "change the agent"),
    row(
        Command::Subagents,
        "subagents",
        "",
        "what subagents did and do",
    ),
    row(Command::Queue, "queue", "", "edit what waits to be sent"),
    row(Command::Todo, "todo", "", "the plan"),
    row(
        Command::Export,
        "export",
        "[md|json|jsonl] [PATH]",
        "write the conversation to a file",
    ),
    row(
        Command::Copy,
        "copy",
        "[code]",
        "copy the last answer, or its last code block",
    ),
    row(Command::Find, "find", "WORDS", "search the conversation"),
    row(
        Command::Search,
        "search",
        "[WORDS]",
        "search everything said in all sessions",
    ),
    row(Command::Theme, "theme", "[NAME]", "change the colours"),
    row(
        Command::Init,
        "init",
        "",
        "draft an AGENTS.md for this project",
    ),
    row(
        Command::Cost,
        "cost",
        "",
        "what this session cost: by model, turn and subagent",
    ),
    row(
        Command::Pin,
        "pin",
        "",
        "what every compaction keeps: list, add, remove",
    ),
    row(
        Command::Status,
        "status",
        "",
        "session, model, mode, sandbox",
    ),
    row(
        Command::Permissions,
        "permissions",
        "",
        "the rules for this project",
    ),
    row(
        Command::Mcp,
        "mcp",
        "[restart NAME]",
        "outside tool servers",
    ),
    row(
        Command::Skills,
        "skills",
        "",
        "pages that $NAME sends along",
    ),
    row(
        Command::Palette,
        "palette",
        "",
        "every command and action, by name",
    ),
    row(
        Command::Vim,
        "vim",
        "",
        "vim keys in the composer, on or off",
    ),
    row(Command::Editor, "editor", "", "write in $VISUAL or $EDITOR"),
    row(
        Command::Continue,
        "continue",
        "",
        "go on with a turn that was cut",
    ),
    row(
        Command::Demo,
        "demo",
        "",
        "a scripted demonstration in a temporary folder",
    ),
    row(Command::Quit, "quit", "", "end"),
];

/// Other names people type.
const ALIASES: &[(&str, Command)] = &[
    ("exit", Command::Quit),
    ("q", Command::Quit),
    ("clear", Command::New),
    ("resume", Command::Sessions),
    ("models", Command::Model),
    ("keys", Command::Help),
    ("plan", Command::Todo),
];

/// What a text that begins with `/` is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// A command and what follows it.
    Command(Command, String),
    /// A word that is no command, and the closest one.
    Unknown {
        /// What was typed.
        name: String,
        /// The closest command.
        closest: &'static str,
    },
    /// A prompt.
    Prompt,
}

/// True if a command could be named so (as far as it is typed).
pub fn is_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Reads a text that was submitted.
pub fn parse(text: &str) -> Parsed {
    let Some(rest) = text.trim().strip_prefix('/') else {
        return Parsed::Prompt;
    };
    let (name, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !is_word(name) {
        return Parsed::Prompt;
    }
    match find(&name.to_ascii_lowercase()) {
        Some(command) => Parsed::Command(command, after.trim().to_owned()),
        None => Parsed::Unknown {
            name: name.to_owned(),
            closest: nearest(name, TABLE.iter().map(|row| row.name)),
        },
    }
}

fn find(name: &str) -> Option<Command> {
    let listed = TABLE
        .iter()
        .find(|row| row.name == name)
        .map(|row| row.command);
    listed.or_else(|| {
        ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|(_, c)| *c)
    })
}

/// The row of a command's name.
pub fn row_of(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_aliases_unknown_words_and_paths() {
        assert_eq!(
            parse("/compact the parser"),
            Parsed::Command(Command::Compact, "the parser".to_owned())
        );
        assert_eq!(
            parse("/exit"),
            Parsed::Command(Command::Quit, String::new())
        );
        assert_eq!(parse("/usr/bin/env is odd"), Parsed::Prompt);
        assert_eq!(parse("why / how"), Parsed::Prompt);
        assert_eq!(
            parse("/contxt"),
            Parsed::Unknown {
                name: "contxt".to_owned(),
                closest: "context"
            }
        );
    }

    #[test]
    fn every_command_is_found_by_its_own_name() {
        for row in TABLE {
            assert_eq!(
                parse(&format!("/{}", row.name)),
                Parsed::Command(row.command, String::new())
            );
        }
    }
}
