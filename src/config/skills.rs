//! Skills: folders with a `SKILL.md` that the `skill` tool loads when the model asks for it.
//!
//! Only name and description are read at the start; the body stays on disk until it is wanted.

use std::path::{Path, PathBuf};

use super::markdown;

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDef {
    /// Its name: of the head, else of its folder.
    pub name: String,
    /// When to use it, for the model.
    pub description: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
}

/// The folders that are searched, the weakest first: the user's, then the trusted project's own and
/// the two that other agents use.
pub fn folders(config_dir: &Path, worktree: &Path, trusted: bool) -> Vec<PathBuf> {
    let mut folders = vec![config_dir.join("skills")];
    if trusted {
        for name in [".claude", ".agents", ".dunlin"] {
            folders.push(worktree.join(name).join("skills"));
        }
    }
    folders
}

/// The skills of these folders, later ones winning, sorted by name.
pub fn skills(folders: &[PathBuf], warnings: &mut Vec<String>) -> Vec<SkillDef> {
    let mut skills: Vec<SkillDef> = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path().join("SKILL.md");
            if !path.is_file() {
                continue;
            }
            match markdown::read(&path) {
                Ok(page) => {
                    let name = page
                        .text("name")
                        .filter(|n| !n.trim().is_empty())
                        .unwrap_or_else(|| entry.file_name().to_string_lossy().into_owned());
                    skills.retain(|s| s.name != name);
                    skills.push(SkillDef {
                        description: page.text("description").unwrap_or_default(),
                        name,
                        path,
                    });
                }
                Err(sentence) => warnings.push(sentence),
            }
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// The body of a skill, without its head; the error is a sentence.
pub fn body(skill: &SkillDef) -> Result<String, String> {
    markdown::read(&skill.path).map(|page| page.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_a_folder_with_its_file() {
        let dir = tempfile::tempdir().expect("temp");
        for (name, text) in [
            (
                "pdf",
                "---\nname: pdf-forms\ndescription: >\n  Fills forms.\n  Use it.\n---\nSteps",
            ),
            ("plain", "Just text"),
            ("broken", "---\nname: x\n"),
        ] {
            std::fs::create_dir_all(dir.path().join(name)).expect("dir");
            std::fs::write(dir.path().join(name).join("SKILL.md"), text).expect("write");
        }
        std::fs::create_dir_all(dir.path().join("empty")).expect("dir");
        let mut warnings = Vec::new();
        let skills = skills(&[dir.path().to_owned()], &mut warnings);
        let names: Vec<_> = skills.iter().map(|s| &*s.name).collect();
        assert_eq!(names, ["pdf-forms", "plain"]);
        assert_eq!(skills[0].description, "Fills forms. Use it.");
        assert_eq!(body(&skills[0]).as_deref(), Ok("Steps"));
        assert_eq!(warnings.len(), 1);
    }
}
