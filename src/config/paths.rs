//! Where the user's configuration and data live.
//!
//! Called once by the composition root. `DUNLIN_CONFIG_DIR` and `DUNLIN_DATA_DIR` win, then the XDG
//! variables, then `~/.config` and `~/.local/share`. Creates nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Looks up an environment variable; `|name| std::env::var_os(name)` in the program, a map in tests.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The folders that belong to the user rather than to a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Holds `config.toml`, `AGENTS.md`, `agents/`, `commands/`, `skills/`.
    pub config_dir: PathBuf,
    /// Holds sessions, snapshots, full outputs and the list of trusted folders.
    pub data_dir: PathBuf,
    /// The home folder; `/` if there is none at all, so that `~` still resolves to something.
    pub home: PathBuf,
}

impl Paths {
    /// Finds the folders with this environment. Relative values of the XDG variables are ignored,
    /// as their specification asks; the `DUNLIN_*` ones may be relative to the current folder.
    pub fn find(env: Env<'_>) -> Self {
        let home = set(env, "HOME")
            .or_else(|| etcetera::home_dir().ok())
            .unwrap_or_else(|| PathBuf::from("/"));
        let config_dir = set(env, "DUNLIN_CONFIG_DIR").unwrap_or_else(|| {
            xdg(env, "XDG_CONFIG_HOME")
                .unwrap_or_else(|| home.join(".config"))
                .join("dunlin")
        });
        let data_dir = set(env, "DUNLIN_DATA_DIR").unwrap_or_else(|| {
            xdg(env, "XDG_DATA_HOME")
                .unwrap_or_else(|| home.join(".local/share"))
                .join("dunlin")
        });
        Self {
            config_dir,
            data_dir,
            home,
        }
    }

    /// The user's configuration file.
    pub fn user_config(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }
}

/// A path with its links followed as far as it exists, the rest appended with `..` taken out. What
/// `permission::Place::resolve` wants.
pub fn resolve(path: &Path) -> PathBuf {
    follow(path, 0)
}

fn follow(path: &Path, links: usize) -> PathBuf {
    let mut rest = Vec::new();
    let mut at = path;
    loop {
        if let Ok(real) = at.canonicalize() {
            return rest.iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return path.to_owned();
        };
        // a link that leads to nothing yet is written through
        if let Ok(link) = at.read_link()
            && links < 40
        {
            let target = follow(&parent.join(link), links + 1);
            return rest.iter().rev().fold(target, |path, name| path.join(name));
        }
        rest.push(name);
        at = parent;
    }
}

/// A variable that is set and not empty. `~/` begins with the home folder also where no shell has
/// written it out.
fn set(env: Env<'_>, name: &str) -> Option<PathBuf> {
    let path = env(name).filter(|v| !v.is_empty()).map(PathBuf::from)?;
    match path.strip_prefix("~") {
        Ok(rest) if name != "HOME" => Some(set(env, "HOME")?.join(rest)),
        _ => Some(path),
    }
}

fn xdg(env: Env<'_>, name: &str) -> Option<PathBuf> {
    set(env, name).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(vars: &[(&str, &str)]) -> Paths {
        let vars: Vec<(String, OsString)> = vars
            .iter()
            .map(|(k, v)| ((*k).to_owned(), OsString::from(v)))
            .collect();
        Paths::find(&|name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn own_variables_win_over_xdg_and_xdg_over_home() {
        let home = find(&[("HOME", "/h")]);
        assert_eq!(home.config_dir, Path::new("/h/.config/dunlin"));
        assert_eq!(home.data_dir, Path::new("/h/.local/share/dunlin"));
        let xdg = find(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_DATA_HOME", "rel"),
        ]);
        assert_eq!(xdg.config_dir, Path::new("/c/dunlin"));
        assert_eq!(xdg.data_dir, Path::new("/h/.local/share/dunlin"));
        let own = find(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("DUNLIN_CONFIG_DIR", "/own"),
            ("DUNLIN_DATA_DIR", ""),
        ]);
        assert_eq!(own.config_dir, Path::new("/own"));
        assert_eq!(own.data_dir, Path::new("/h/.local/share/dunlin"));
    }

    #[test]
    fn a_tilde_that_no_shell_wrote_out_is_the_home_folder() {
        let own = find(&[
            ("HOME", "/h"),
            ("DUNLIN_DATA_DIR", "~/data"),
            ("DUNLIN_CONFIG_DIR", "~"),
        ]);
        assert_eq!(own.data_dir, Path::new("/h/data"));
        assert_eq!(own.config_dir, Path::new("/h"));
        let other = find(&[("HOME", "/h"), ("DUNLIN_DATA_DIR", "~other/data")]);
        assert_eq!(other.data_dir, Path::new("~other/data"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_also_where_the_end_is_missing() {
        let dir = tempfile::tempdir().expect("temp");
        let root = dir.path().canonicalize().expect("real");
        std::fs::create_dir_all(root.join("a")).expect("dir");
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).expect("link");
        std::os::unix::fs::symlink("a/new", root.join("dangling")).expect("link");
        std::os::unix::fs::symlink("loop", root.join("loop")).expect("link");
        assert_eq!(resolve(&root.join("link/x/y")), root.join("a/x/y"));
        assert_eq!(resolve(&root.join("dangling")), root.join("a/new"));
        assert!(resolve(&root.join("loop")).starts_with(&root));
    }
}
