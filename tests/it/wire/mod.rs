//! The decoders and the error classification against recorded answers of real servers, whole and cut
//! at every byte. The recordings are in the shared folder beside the repository; without it the tests
//! say so and pass.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests fail the test and say what they skip"
)]

mod errors;
mod hostile;
mod streams;

use std::path::{Path, PathBuf};

/// The folder with the recordings; none if there is none here.
fn fixtures() -> Option<PathBuf> {
    let shared = std::env::var_os("DUNLIN_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let folder = shared.join("fixtures");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recordings at {}", folder.display());
    None
}

/// The files of a folder with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    files.sort();
    files
}
