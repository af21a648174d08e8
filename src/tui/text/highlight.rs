//! Syntax colours, made by one worker thread and remembered by content.
//!
//! A layout asks `Highlights::get`; what is not there yet is plain and noted as wanted. The loop
//! calls `Worker::poll` after a frame: it starts the thread with the first piece of work, hands
//! over what is wanted and takes results in. First use of a language can cost hundreds of
//! milliseconds, which is why nothing of it happens on the UI's thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::tui::theme::CodeKind;

/// Bytes of code beyond which it stays plain.
pub const LARGEST: usize = 64 * 1024;

/// Finished pieces that are remembered.
const REMEMBERED: usize = 128;

/// Pieces waiting for the worker; more are noted again by the next layout.
const WAITING: usize = 32;

/// Which code: by language and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// The key of a piece of code.
pub fn key(language: &str, code: &str) -> Key {
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    language.hash(&mut hasher);
    code.hash(&mut hasher);
    Key(hasher.finish())
}

/// Runs of one line: end in bytes, and kind.
type Runs = Vec<(u32, CodeKind)>;

/// A highlighted piece of code.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Painted {
    lines: Vec<Runs>,
}

impl Painted {
    /// The runs of a line, from 0.
    pub fn line(&self, n: usize) -> Option<&[(u32, CodeKind)]> {
        self.lines.get(n).map(Vec::as_slice)
    }
}

/// A piece of code to be highlighted.
#[derive(Debug, Clone)]
struct Job {
    key: Key,
    language: String,
    code: String,
}

/// What is known, and what is wanted.
#[derive(Debug, Default)]
pub struct Highlights {
    done: HashMap<Key, Option<Arc<Painted>>>,
    wanted: RefCell<Vec<Job>>,
    /// Changes with every result, so that plain layouts are known to be old.
    version: u64,
}

impl Highlights {
    /// The colours of a piece of code, or none yet. `code` gives the text if it is new.
    pub fn get(
        &self,
        key: Key,
        language: &str,
        code: impl FnOnce() -> String,
    ) -> Option<Arc<Painted>> {
        if language.is_empty() || !cfg!(feature = "highlight") {
            return None;
        }
        if let Some(done) = self.done.get(&key) {
            return done.clone();
        }
        let mut wanted = self.wanted.borrow_mut();
        if wanted.len() < WAITING && wanted.iter().all(|job| job.key != key) {
            let code = code();
            if code.len() <= LARGEST {
                wanted.push(Job {
                    key,
                    language: language.to_owned(),
                    code,
                });
            }
        }
        None
    }

    /// Grows with every result.
    pub const fn version(&self) -> u64 {
        self.version
    }

    fn insert(&mut self, key: Key, painted: Option<Arc<Painted>>) {
        if self.done.len() >= REMEMBERED {
            // Layouts hold their own colours; forgetting costs one more run at the next resize.
            self.done.clear();
        }
        self.done.insert(key, painted);
        self.version += 1;
    }
}
