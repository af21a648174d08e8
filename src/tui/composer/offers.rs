//! What the lists above the composer offer besides files: commands and skills, recent ones first.
//!
//! `run` brings the user's own commands and skills when the agent is there; `update` notes what was
//! used. Pure data.

use crate::config::commands::CommandDef;
use crate::config::skills::SkillDef;
use crate::protocol::{FilePart, FileSource};

/// Commands and skills that can be completed.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// Names of commands that were used, oldest first.
    pub recent: Vec<String>,
    /// The user's own commands.
    pub commands: Vec<CommandDef>,
    /// Skills.
    pub skills: Vec<SkillDef>,
    /// Agents for a session, each with when to use it.
    pub agents: Vec<(String, String)>,
}

impl Offers {
    /// A command was used.
    pub fn used(&mut self, name: &str) {
        self.recent.retain(|recent| recent != name);
        self.recent.push(name.to_owned());
    }

    /// The user's own command that a text calls, and what follows its name. Built-in names win
    /// elsewhere: this is asked only for others.
    pub fn called<'a>(&self, text: &'a str) -> Option<(&CommandDef, &'a str)> {
        let rest = text.trim().strip_prefix('/')?;
        let (name, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let command = self.commands.iter().find(|command| command.name == name)?;
        Some((command, after.trim()))
    }

    /// The skills that a text names with `$`: their pages go along with it.
    pub fn named(&self, text: &str) -> Vec<FilePart> {
        let mut parts: Vec<FilePart> = Vec::new();
        for word in text.split_whitespace() {
            let Some(name) = word.strip_prefix('$') else {
                continue;
            };
            let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
            let Some(skill) = self.skills.iter().find(|skill| skill.name == name) else {
                continue;
            };
            let label = format!("${name}");
            if !parts.iter().any(|part| part.name == label) {
                parts.push(FilePart {
                    mime: "text/markdown".to_owned(),
                    name: label,
                    source: FileSource::Path(skill.path.to_string_lossy().into_owned()),
                });
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str) -> SkillDef {
        SkillDef {
            name: name.to_owned(),
            description: String::new(),
            path: format!("/skills/{name}/SKILL.md").into(),
        }
    }

    #[test]
    fn a_skill_goes_along_once_however_often_it_is_named() {
        let offers = Offers {
            skills: vec![skill("review"), skill("release")],
            ..Offers::default()
        };
        let parts = offers.named("use $review, then $review. Not $HOME or $5 or a$release");
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["$review"]);
        let path = FileSource::Path("/skills/review/SKILL.md".to_owned());
        assert_eq!(parts[0].source, path);
    }
}
