//! A session as Markdown, for people: who said what, calls with their results in fences that hold, and the
//! subagents' transcripts after it. Called by `export`; secrets are taken out of each text on the way.

use std::io::{self, Write};

use serde_json::Value;

use super::super::redact::Redactor;
use super::Tree;
use crate::protocol::{Message, Part, PartBody, Role, SessionId, ToolPart, ToolState};

/// Writes a session, and then what its subagents did, one after the other.
pub(super) fn markdown(tree: &Tree, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
    let (history, children) = (&tree.history, &tree.children);
    let title = if history.info.title.trim().is_empty() {
        "Session"
    } else {
        &history.info.title
    };
    let title = one_line(&redactor.text(title));
    match tree.works_for {
        Some(parent) => {
            writeln!(out, "# Subagent: {title}\n")?;
            writeln!(out, "- works for: `{parent}`")?;
        }
        None => writeln!(out, "# {title}\n")?,
    }
    writeln!(out, "- session: `{}`", history.info.id)?;
    writeln!(out, "- folder: {}", code(&history.info.worktree))?;
    writeln!(out, "- model: {}\n", history.info.model)?;
    let mut parts = history.parts.iter().peekable();
    for message in &history.messages {
        writeln!(out, "## {}\n", heading(message))?;
        while let Some(part) = parts.next_if(|part| part.message == message.id) {
            markdown_part(part, redactor, out)?;
            let below = children.iter().find(|c| is_of(part, c.history.info.id));
            if let Some(child) = below {
                let id = child.history.info.id;
                writeln!(
                    out,
                    "*What this subagent did stands below, under `{id}`.*\n"
                )?;
            }
        }
        if let Some(error) = &message.error {
            writeln!(out, "> {}\n", one_line(&redactor.text(&error.to_string())))?;
        }
    }
    children
        .iter()
        .try_for_each(|child| markdown(child, redactor, out))
}

/// True for the call that started the subagent of this session.
fn is_of(part: &Part, child: SessionId) -> bool {
    match &part.body {
        PartBody::Subtask { child: id, .. } => *id == child,
        PartBody::Tool(tool) => {
            let session = tool.state.metadata().and_then(|m| m.get("session"));
            let id = session.and_then(Value::as_str);
            id.is_some_and(|id| id.parse() == Ok(child))
        }
        _ => false,
    }
}

fn heading(message: &Message) -> String {
    match message.role {
        Role::User => "User".to_owned(),
        Role::Assistant if message.summary => format!("Summary ({})", message.model),
        Role::Assistant => format!("Assistant ({})", message.model),
    }
}

fn markdown_part(part: &Part, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
    match &part.body {
        PartBody::Text { text, ignored, .. } => {
            if *ignored {
                writeln!(out, "*(from an attempt that broke off)*\n")?;
            }
            writeln!(out, "{}\n", closed(&redactor.text(text.trim_end())))
        }
        PartBody::Reasoning { text, .. } if text.trim().is_empty() => Ok(()),
        PartBody::Reasoning { text, .. } => writeln!(
            out,
            "<details><summary>Reasoning</summary>\n\n{}\n\n</details>\n",
            closed(&redactor.text(text.trim_end())).replace("</details>", "&lt;/details>")
        ),
        PartBody::Tool(tool) => markdown_tool(tool, redactor, out),
        PartBody::File(file) => writeln!(out, "Attached: {} ({})\n", code(&file.name), file.mime),
        PartBody::Patch { files, .. } => {
            for file in files {
                let path = code(&file.path);
                writeln!(out, "- {path} +{} −{}", file.added, file.removed)?;
            }
            writeln!(out)
        }
        PartBody::Compaction { strategy, .. } => {
            writeln!(
                out,
                "*The conversation so far was compacted ({strategy}).*\n"
            )
        }
        PartBody::Subtask {
            description, agent, ..
        } => {
            let task = one_line(&redactor.text(description));
            writeln!(out, "*Task for {agent}: {task}*\n")
        }
        PartBody::Retry { attempt, error, .. } => {
            writeln!(
                out,
                "> Attempt {attempt} failed: {}\n",
                one_line(&redactor.text(&error.message))
            )
        }
        PartBody::StepStart { .. } | PartBody::StepFinish { .. } => Ok(()),
    }
}

fn markdown_tool(tool: &ToolPart, redactor: &Redactor, out: &mut dyn Write) -> io::Result<()> {
    let (title, result) = match &tool.state {
        ToolState::Pending { .. } => ("", None),
        ToolState::Running { title, .. } => (title.as_str(), None),
        ToolState::Completed { title, output, .. } => (title.as_str(), Some(output)),
        ToolState::Error { title, error, .. } => (title.as_str(), Some(error)),
    };
    let title = redactor.text(title);
    let title = if title.trim().is_empty() {
        String::new()
    } else {
        format!(" {}", code(&title))
    };
    let name = one_line(&tool.tool);
    writeln!(out, "**{name}**{title} ({})\n", tool.state.name())?;
    if let Some(input) = tool.state.input().filter(|input| !input.is_null()) {
        let mut input = input.clone();
        redactor.json(&mut input);
        fenced("json", &serde_json::to_string_pretty(&input)?, out)?;
    }
    match result {
        Some(text) if !text.is_empty() => fenced("", &redactor.text(text), out),
        _ => Ok(()),
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Code within a line, whatever backticks it holds.
fn code(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{text}{room}{fence}")
}

/// A text whose own code blocks are all closed, so that what follows is no code.
fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let Some(mark) = start.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            continue;
        };
        let rest = start.trim_start_matches(mark);
        let count = start.len() - rest.len();
        if line.len() - start.len() > 3 || count < 3 {
            continue;
        }
        open = match open {
            None if mark == '`' && rest.contains('`') => None,
            None => Some((mark, count)),
            Some((m, n)) if m == mark && count >= n && rest.trim().is_empty() => None,
            still => still,
        };
    }
    match open {
        Some((mark, count)) => format!("{text}\n{}", mark.to_string().repeat(count)),
        None => text.to_owned(),
    }
}

/// A code block whose fence is longer than any run of backticks in the text.
fn fenced(language: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let fence = "`".repeat(3.max(longest_run(text) + 1));
    writeln!(out, "{fence}{language}\n{}\n{fence}\n", text.trim_end())
}
