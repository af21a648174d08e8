//! Files of the worktree for `@`: listed once, kept for a few seconds, matched fuzzily.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::protocol::Event;

/// A listing is used again for so long.
const FRESH: Duration = Duration::from_secs(5);
/// Most paths of a listing.
const MOST: usize = 100_000;
/// Most answers.
const ANSWERS: usize = 100;

#[derive(Debug, Clone)]
struct Listing {
    paths: Arc<Vec<String>>,
    taken: Instant,
}

/// Finds files of the worktree.
#[derive(Debug, Clone)]
pub(super) struct Finder {
    root: PathBuf,
    listing: Arc<Mutex<Option<Listing>>>,
}

impl Finder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            listing: Arc::new(Mutex::new(None)),
        }
    }

    /// Best matches first. Blocks while the worktree is listed.
    pub(super) fn find(&self, query: &str, generation: u64) -> Event {
        let paths = self.paths();
        let found = if query.is_empty() {
            paths.iter().take(ANSWERS).cloned().collect()
        } else {
            let mut matcher = frizbee::Matcher::new(query, &frizbee::Config::default());
            let matches = matcher.match_list(paths.as_slice());
            matches
                .into_iter()
                .take(ANSWERS)
                .filter_map(|m| paths.get(m.index as usize).cloned())
                .collect()
        };
        Event::Files {
            generation,
            paths: found,
        }
    }

    fn paths(&self) -> Arc<Vec<String>> {
        let mut kept = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = kept.as_ref()
            && listing.taken.elapsed() < FRESH
        {
            return Arc::clone(&listing.paths);
        }
        let paths = Arc::new(list(&self.root));
        *kept = Some(Listing {
            paths: Arc::clone(&paths),
            taken: Instant::now(),
        });
        paths
    }
}

/// Files and folders below `root` that are not ignored, folders with a trailing slash.
fn list(root: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        .filter_entry(|e| e.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build();
    walk.filter_map(Result::ok)
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_str()?;
            let is_folder = entry.file_type().is_some_and(|t| t.is_dir());
            (!path.is_empty()).then(|| {
                if is_folder {
                    format!("{path}/")
                } else {
                    path.to_owned()
                }
            })
        })
        .take(MOST)
        .collect()
}
