//! `skill`: loads the instructions of a `SKILL.md`.
//!
//! A skill is a folder with a `SKILL.md`, whose front matter has `name` and `description`. The folders
//! that hold skills come from `app`, which leaves out those of an untrusted project.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{Form, short};
use super::{Access, Failure, Success, Tool, ToolContext};

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillInfo {
    /// What the model calls it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its folder.
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Input {
    /// Name of the skill.
    name: String,
}

/// `skill`.
#[derive(Debug)]
pub struct Skill {
    form: Form,
    skills: Vec<SkillInfo>,
}

impl Skill {
    /// The tool, with the skills found in these folders; of two with one name the first wins.
    pub fn new(folders: &[PathBuf]) -> Self {
        Self {
            form: Form::of::<Input>("skill", &[("skill", "name"), ("command", "name")]),
            skills: find(folders),
        }
    }

    /// The skills there are, by name.
    pub fn skills(&self) -> &[SkillInfo] {
        &self.skills
    }

    fn get(&self, name: &str) -> Result<&SkillInfo, String> {
        let wanted = name.trim();
        let named = short(wanted);
        self.skills
            .iter()
            .find(|skill| skill.name == wanted)
            .ok_or_else(|| {
                let known: Vec<&str> = self
                    .skills
                    .iter()
                    .map(|skill| skill.name.as_str())
                    .collect();
                match known.as_slice() {
                    [] => format!("There is no skill `{named}`: no skills are installed."),
                    _ => format!(
                        "There is no skill `{named}`. The skills are: {}.",
                        known.join(", ")
                    ),
                }
            })
    }
}

impl Tool for Skill {
    fn name(&self) -> &'static str {
        "skill"
    }

    fn description(&self) -> String {
        let mut text = String::from(
            "Loads the instructions of a skill. Call it before you begin work that a skill is for.\n",
        );
        for skill in &self.skills {
            _ = writeln!(text, "- {}: {}", skill.name, skill.description);
        }
        if self.skills.is_empty() {
            text.push_str("No skills are installed.\n");
        }
        text.push_str("Example: {\"name\": \"release-notes\"}");
        text
    }

    fn schema(&self) -> Value {
        self.form.schema()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, String> {
        let input: Input = self.form.read(input)?;
        let skill = self.get(&input.name)?;
        Ok(Access::reading(skill.name.clone(), Vec::new()))
    }

    fn run(
        &self,
        input: Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Result<Success, Failure>> {
        let skill = self
            .form
            .read::<Input>(&input)
            .and_then(|input| self.get(&input.name).cloned());
        Box::pin(async move { Ok(load(&skill?, &context)?) })
    }
}

fn load(skill: &SkillInfo, context: &ToolContext) -> Result<Success, String> {
    let file = skill.folder.join("SKILL.md");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        format!(
            "The skill `{}` cannot be read: {} ({error}).",
            skill.name,
            file.display()
        )
    })?;
    let (_, body) = front_matter(&text);
    let mut output = format!(
        "Skill {} (its files are in {}):\n\n",
        skill.name,
        skill.folder.display()
    );
    output.push_str(body.trim());
    output.push('\n');
    let fitted = context.output.fit("skill", output);
    Ok(Success {
        output: fitted.text,
        title: skill.name.clone(),
        metadata: json!({"skill": skill.name, "folder": skill.folder.to_string_lossy()}),
        truncated: fitted.full,
        ..Success::default()
    })
}

fn find(folders: &[PathBuf]) -> Vec<SkillInfo> {
    let mut skills: Vec<SkillInfo> = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            if let Some(skill) = describe(&entry.path())
                && !skills.iter().any(|known| known.name == skill.name)
            {
                skills.push(skill);
            }
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

fn describe(folder: &Path) -> Option<SkillInfo> {
    let text = std::fs::read_to_string(folder.join("SKILL.md")).ok()?;
    let (fields, body) = front_matter(&text);
    let get = |name: &str| {
        fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.clone())
    };
    let first_line = || {
        body.lines()
            .map(|line| line.trim_start_matches('#').trim())
            .find(|line| !line.is_empty())
    };
    Some(SkillInfo {
        name: get("name").unwrap_or_else(|| {
            folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        }),
        description: get("description")
            .or_else(|| first_line().map(str::to_owned))
            .unwrap_or_default(),
        folder: folder.to_owned(),
    })
}

/// The plain `key: value` lines between `---` lines at the beginning, and the rest.
fn front_matter(text: &str) -> (Vec<(String, String)>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return (Vec::new(), text);
    };
    let Some((head, body)) = rest.split_once("\n---") else {
        return (Vec::new(), text);
    };
    let fields = head.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (!key.starts_with([' ', '\t', '#'])).then(|| (key.trim().to_owned(), value.to_owned()))
    });
    (
        fields.collect(),
        body.split_once('\n').map_or("", |(_, body)| body),
    )
}
