//! Where a model's string becomes a path, and what kind of place that path is.
//!
//! Built once per session by `app`, read by every tool and, through `Access`, by `permission`. No
//! other module may turn a string of a model into a path. It reads links, never contents.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

mod secret;
pub mod spelled;

/// A chain of more links than this is a loop (the kernel's own limit).
const MAX_LINKS: usize = 40;

/// Folders besides the worktree that a tool has to know.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The user's home, for `~`.
    pub home: Option<PathBuf>,
    /// Folders for temporary files.
    pub temp: Vec<PathBuf>,
    /// Folders of saved full outputs: may be read without asking.
    pub outputs: Vec<PathBuf>,
    /// Files and folders that are secret besides the well-known ones (dunlin's own keys).
    pub secrets: Vec<PathBuf>,
}

impl Places {
    /// Home and temp as the process's environment names them.
    pub fn from_environment() -> Self {
        Self {
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            temp: vec![std::env::temp_dir()],
            ..Self::default()
        }
    }
}

/// The worktree and the places around it. All paths in it are absolute with links resolved.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    cwd: PathBuf,
    places: Places,
}

impl Workspace {
    /// A workspace with this worktree; `cwd` is where relative paths begin. Links in all of them are
    /// resolved; folders that do not exist (yet) are taken as they are.
    pub fn new(root: &Path, cwd: &Path, places: &Places) -> Self {
        let real =
            |path: &Path| follow(PathBuf::new(), path).unwrap_or_else(|_loop| path.to_owned());
        let all = |paths: &[PathBuf]| paths.iter().map(|path| real(path)).collect();
        Self {
            root: real(root),
            cwd: real(cwd),
            places: Places {
                home: places.home.as_deref().map(real),
                temp: all(&places.temp),
                outputs: all(&places.outputs),
                secrets: all(&places.secrets),
            },
        }
    }

    /// The worktree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where relative paths begin and commands run.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The user's home.
    pub fn home(&self) -> Option<&Path> {
        self.places.home.as_deref()
    }

    /// Folders for temporary files.
    pub fn temp(&self) -> &[PathBuf] {
        &self.places.temp
    }

    /// The path that a model means: relative to `cwd`, with `~`, `..` and links resolved, also when
    /// its last components do not exist; `$'…'` spells a name that no line can hold. The error is a
    /// sentence for the model.
    pub fn resolve(&self, model_path: &str) -> Result<PathBuf, String> {
        let path = model_path.trim();
        if path.is_empty() {
            return Err("The path is empty; give the path of a file or folder.".to_owned());
        }
        if path.contains('\0') {
            return Err(format!(
                "The path `{}` contains a NUL byte, which no file name can have; give the path without it.",
                path.replace('\0', "\u{2400}")
            ));
        }
        if let Some(odd) = spelled::read(path) {
            return follow(self.cwd.clone(), &odd).map_err(|_loop| too_many_links(path));
        }
        let (start, rest) = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.home().ok_or_else(|| {
                    format!("`{path}` begins with `~`, but no home folder is known; give an absolute path.")
                })?;
                (home.to_owned(), rest.trim_start_matches('/'))
            }
            _ => (self.cwd.clone(), path),
        };
        follow(start, Path::new(rest)).map_err(|_loop| too_many_links(path))
    }

    /// True for the worktree and what is below it. `path` must be resolved.
    pub fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    /// True for what is below a folder for temporary files. `path` must be resolved.
    pub fn is_temp(&self, path: &Path) -> bool {
        self.places.temp.iter().any(|temp| path.starts_with(temp))
    }

    /// True for saved full outputs, which may be read without asking. `path` must be resolved.
    pub fn is_output(&self, path: &Path) -> bool {
        self.places.outputs.iter().any(|dir| path.starts_with(dir))
    }

    /// True for what looks like a secret (`.env`, private keys, `~/.ssh`, stored credentials), and
    /// for nothing that merely mentions one (`.env.example`, `*.pub`). `path` must be resolved.
    pub fn is_secret(&self, path: &Path) -> bool {
        self.places.secrets.iter().any(|one| path.starts_with(one)) || secret::looks_secret(path)
    }

    /// For people: relative to the worktree, else with `~`, else absolute.
    pub fn display(&self, path: &Path) -> String {
        if let Ok(inside) = path.strip_prefix(&self.root) {
            return if inside.as_os_str().is_empty() {
                ".".to_owned()
            } else {
                spelled::path(inside)
            };
        }
        match self.home().map(|home| path.strip_prefix(home)) {
            Some(Ok(below)) => spelled::path(&Path::new("~").join(below)),
            _ => spelled::path(path),
        }
    }

    /// For the model: what it may write to mean this path, relative to `cwd` if it is below.
    pub fn model_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
            Ok(below) => spelled::path(below),
            Err(_elsewhere) => spelled::path(path),
        }
    }
}

fn too_many_links(path: &str) -> String {
    format!(
        "`{path}` leads through more than {MAX_LINKS} symbolic links, probably in a circle; use another path."
    )
}

/// Too many links.
#[derive(Debug)]
struct LinkLoop;

/// Walks `path` from `start` (resolved, or empty for an absolute `path`) and resolves every link on
/// the way. Unlike `canonicalize` it goes on where nothing exists, because `write` creates files.
fn follow(start: PathBuf, path: &Path) -> Result<PathBuf, LinkLoop> {
    let mut at = start;
    let mut waiting: VecDeque<OsString> = VecDeque::new();
    push_front(&mut waiting, &mut at, path);
    let mut links = 0;
    // below a missing component nothing can be a link, so the kernel need not be asked
    let mut missing_from: Option<usize> = None;
    while let Some(name) = waiting.pop_front() {
        if name == OsStr::new("..") {
            at.pop();
            if missing_from.is_some_and(|depth| at.components().count() < depth) {
                missing_from = None;
            }
            continue;
        }
        at.push(&name);
        if missing_from.is_some() {
            continue;
        }
        match std::fs::symlink_metadata(&at) {
            Ok(meta) if meta.file_type().is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(LinkLoop);
                }
                if let Ok(target) = std::fs::read_link(&at) {
                    at.pop();
                    push_front(&mut waiting, &mut at, &target);
                }
            }
            Ok(_) => {}
            Err(_missing) => missing_from = Some(at.components().count()),
        }
    }
    Ok(at)
}

/// Puts the components of `path` before what waits; an absolute one starts over at the root.
fn push_front(waiting: &mut VecDeque<OsString>, at: &mut PathBuf, path: &Path) {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => {
                *at = PathBuf::from(component.as_os_str());
                names.clear();
            }
            Component::CurDir => {}
            Component::ParentDir => names.push(OsString::from("..")),
            Component::Normal(name) => names.push(name.to_owned()),
        }
    }
    for name in names.into_iter().rev() {
        waiting.push_front(name);
    }
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
