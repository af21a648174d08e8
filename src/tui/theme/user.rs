//! The user's own themes: `<config>/themes/NAME.toml`, chosen by `ui.theme = "NAME"`, `/theme`.
//!
//! `run` reads them once at the start (a missing folder costs one system call). A file that cannot
//! be used is told on the start screen and left out.

use std::path::Path;

use super::{ThemeChoice, UserTheme};

/// More than any theme needs.
const MOST_BYTES: u64 = 64 * 1_024;

/// The themes of a folder by name, sorted; and a sentence for each file that is none.
pub fn load(folder: &Path) -> (Vec<(String, ThemeChoice)>, Vec<String>) {
    let (mut themes, mut problems) = (Vec::new(), Vec::new());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.extension().is_none_or(|kind| kind != "toml") {
            continue;
        }
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        match read(&path) {
            Ok(theme) => themes.push((name.to_owned(), ThemeChoice::User(theme))),
            Err(sentence) => problems.push(sentence),
        }
    }
    themes.sort_by(|(a, _), (b, _)| a.cmp(b));
    problems.sort();
    (themes, problems)
}

fn read(path: &Path) -> Result<UserTheme, String> {
    let place = path.display().to_string();
    let fail = |error: std::io::Error| {
        format!("The theme {place} cannot be read: {error}. Check its permissions.")
    };
    if std::fs::metadata(path).map_err(fail)?.len() > MOST_BYTES {
        return Err(format!(
            "The theme {place} is larger than 64 KiB. A theme is ten lines of colours."
        ));
    }
    let text = std::fs::read_to_string(path).map_err(fail)?;
    UserTheme::from_toml(&text, &place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_files_are_themes_and_bad_ones_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        write("sea.toml", "accent = \"#010203\"");
        write("broken.toml", "accent = 3");
        write("notes.md", "no theme");
        let (themes, problems) = load(folder.path());
        assert_eq!(themes.len(), 1);
        assert_eq!(themes[0].0, "sea");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("broken.toml"), "{problems:?}");
        assert_eq!(
            load(&folder.path().join("missing")),
            (Vec::new(), Vec::new())
        );
    }
}
