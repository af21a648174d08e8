//! The user's own slash commands: Markdown files `commands/NAME.md` whose body is a prompt.
//!
//! `$ARGUMENTS` stands for everything after the command, `$1` … `$9` for its words (quotes keep
//! blanks together). Arguments to a body without any of these are appended. A command from a
//! subfolder is called by its path, `/git/review`.

use std::path::PathBuf;

use super::markdown;
use crate::protocol::ModelRef;

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDef {
    /// Its name without the slash.
    pub name: String,
    /// One line for the completion list.
    pub description: String,
    /// What stands for its arguments in the completion list, e.g. `<file>`; empty for nothing.
    pub hint: String,
    /// The agent to run it with; none for the session's.
    pub agent: Option<String>,
    /// The model to run it with; none for the session's.
    pub model: Option<ModelRef>,
    /// The prompt with its placeholders.
    pub template: String,
    /// The file.
    pub source: PathBuf,
}

/// The commands of these folders (`agents::folders(.., "commands")`), later ones winning, sorted by
/// name. What is wrong in a file is a warning.
pub fn commands(folders: &[PathBuf], warnings: &mut Vec<String>) -> Vec<CommandDef> {
    let mut commands: Vec<CommandDef> = Vec::new();
    for folder in folders {
        for found in markdown::folder(folder, warnings) {
            let page = &found.page;
            let model = page.text("model").and_then(|text| match text.parse() {
                Ok(model) => Some(model),
                Err(sentence) => {
                    warnings.push(format!("{}: {sentence}.", found.path.display()));
                    None
                }
            });
            let first_line = page
                .body
                .lines()
                .find(|l| !l.trim().is_empty())
                .unwrap_or("");
            let command = CommandDef {
                description: page
                    .text("description")
                    .unwrap_or_else(|| first_line.trim_start_matches('#').trim().to_owned()),
                hint: page.text("argument-hint").unwrap_or_default(),
                agent: page.text("agent"),
                model,
                template: page.body.clone(),
                source: found.path,
                name: found.name,
            };
            commands.retain(|c| c.name != command.name);
            commands.push(command);
        }
    }
    commands.sort_by(|a, b| a.name.cmp(&b.name));
    commands
}

impl CommandDef {
    /// The prompt with the arguments put in. Nothing that an argument contains is expanded again.
    pub fn expand(&self, arguments: &str) -> String {
        let arguments = arguments.trim();
        let words = split_words(arguments);
        let mut out = String::with_capacity(self.template.len() + arguments.len());
        let mut rest = self.template.as_str();
        let mut used = false;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = after;
            let place = placeholder(rest);
            if let Some(after) = rest.strip_prefix("ARGUMENTS") {
                out.push_str(arguments);
                rest = after;
                used = true;
            } else if let Some((index, after)) = place {
                out.push_str(words.get(index).map_or("", String::as_str));
                rest = after;
                used = true;
            } else {
                out.push('$');
            }
        }
        out.push_str(rest);
        if !used && !arguments.is_empty() {
            out.push_str("\n\n");
            out.push_str(arguments);
        }
        out
    }
}

/// The digit of `$1` … `$9` as an index, and what follows it; `$10` is none.
fn placeholder(text: &str) -> Option<(usize, &str)> {
    let digit = text.chars().next().filter(|c| ('1'..='9').contains(c))?;
    let after = text.strip_prefix(digit)?;
    let index = digit.to_digit(10)? as usize - 1;
    (!after.starts_with(|c: char| c.is_ascii_digit())).then_some((index, after))
}

/// Words separated by blanks; quotes keep blanks together.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(template: &str) -> CommandDef {
        CommandDef {
            name: "x".to_owned(),
            description: String::new(),
            hint: String::new(),
            agent: None,
            model: None,
            template: template.to_owned(),
            source: PathBuf::new(),
        }
    }

    #[test]
    fn arguments_are_put_in_once() {
        assert_eq!(
            command("Review $1 for $2, all: $ARGUMENTS").expand("'a b' $1"),
            "Review a b for $1, all: 'a b' $1"
        );
        assert_eq!(
            command("Cost $5.00 or $10 or $").expand(""),
            "Cost .00 or $10 or $"
        );
        assert_eq!(command("Do it.").expand("now"), "Do it.\n\nnow");
        assert_eq!(command("Do it.").expand("  "), "Do it.");
        assert_eq!(command("$1").expand("it's é"), "its é");
    }

    #[test]
    fn subfolders_name_commands_and_the_project_wins() {
        let dir = tempfile::tempdir().expect("temp");
        let (user, project) = (dir.path().join("u"), dir.path().join("p"));
        std::fs::create_dir_all(user.join("git")).expect("dir");
        std::fs::create_dir_all(&project).expect("dir");
        std::fs::write(user.join("git/review.md"), "# Review it\n$1").expect("write");
        std::fs::write(user.join("ship.md"), "user's").expect("write");
        std::fs::write(
            project.join("ship.md"),
            "---\ndescription: Ship\n---\nproject's",
        )
        .expect("write");
        let mut warnings = Vec::new();
        let commands = commands(&[user, project], &mut warnings);
        let names: Vec<_> = commands
            .iter()
            .map(|c| (&*c.name, &*c.description))
            .collect();
        assert_eq!(names, [("git/review", "Review it"), ("ship", "Ship")]);
        assert_eq!(commands[1].template, "project's");
        assert!(warnings.is_empty());
    }
}
