//! Stands in for `highlight` where dunlin was built without it: all code is plain.
//!
//! The same names, so that layouts need not know; no thread, nothing remembered.

use std::sync::Arc;

use crate::tui::theme::CodeKind;

/// Bytes of code beyond which it stays plain.
pub const LARGEST: usize = 64 * 1024;

/// Which code; here they are all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(());

/// The key of a piece of code.
pub const fn key(_language: &str, _code: &str) -> Key {
    Key(())
}

/// A highlighted piece of code; there never is one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Painted(());

impl Painted {
    /// The runs of a line: none.
    pub const fn line(&self, _n: usize) -> Option<&[(u32, CodeKind)]> {
        None
    }
}

/// What is known: nothing.
#[derive(Debug, Default)]
pub struct Highlights(());

impl Highlights {
    /// The colours of a piece of code: none.
    pub fn get(
        &self,
        _key: Key,
        _language: &str,
        _code: impl FnOnce() -> String,
    ) -> Option<Arc<Painted>> {
        None
    }

    /// Grows with every result; there is none.
    pub const fn version(&self) -> u64 {
        0
    }
}

/// Called when results are ready, which is never.
type Wake = Arc<dyn Fn() + Send + Sync>;

/// A worker without work.
#[derive(Debug, Default)]
pub struct Worker(());

impl Worker {
    /// Who would be told.
    pub fn set_waker(&mut self, _wake: Wake) {}

    /// Wakes whom the other one wakes: nobody.
    pub const fn wake_like(&mut self, _other: &Self) {}

    /// False: there are no results.
    pub const fn poll(&mut self, _highlights: &mut Highlights) -> bool {
        false
    }
}
