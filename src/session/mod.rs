//! What was said, kept. The store of one worktree's sessions.
//!
//! ```text
//! Project ── create / open ─▶ SessionStore ── Commit ─▶ intake ─▶ writer ─▶ journal ─▶ Announce
//!    │                             │                                  ├─▶ syncer (fdatasync)
//!    └── list, search, gc, …       └── page, since ──▶ view (sled, meta.json) ◀── reads the journal
//! ```
//!
//! The journal is the truth; everything else can be made again from it (docs/durability.md). Three
//! threads per open session, so that neither a disk's fdatasync nor sled ever stands in the way of
//! the next record, and a slow disk not in the way of the agent. Only `db` names sled.

mod archive;
mod blob;
mod branch;
mod check;
mod commit;
mod db;
mod disk;
mod error;
mod export;
mod facts;
mod family;
mod faults;
mod follow;
mod found;
mod frames;
mod gc;
mod history;
mod home;
mod image;
mod import;
mod intake;
mod journal;
mod keys;
mod list;
mod lost;
mod meta;
mod needed;
mod newer;
mod place;
mod project;
mod record;
mod redact;
mod repeats;
mod search;
mod staging;
mod store;
mod syncer;
mod upkeep;
mod view;
mod whole;
mod writer;

pub use blob::Blobs;
pub use branch::Fork;
pub use commit::{Announce, Commit, Record, Sync};
pub use disk::DiskUse;
pub use error::StoreError;
pub use export::{ExportFormat, WRITING_EXPORT};
pub use faults::{FaultPoints, ViewFault};
pub use follow::Follower;
pub use frames::{AnswerEnd, Frames, FramesHead, RecordedFrames, checksum};
pub use gc::{GcPolicy, GcReport};
pub use history::{History, PAGE_PARTS, Page};
pub use import::Arrival;
pub use meta::SummaryPatch;
pub use needed::SnapshotsInUse;
pub use project::Project;
pub use record::FORMAT;
pub use redact::{REDACTED, Redactor};
pub use search::{Hit, SearchQuery};
pub use store::{Opened, SessionStore};
pub use upkeep::start_upkeep;

/// A journal up to this size is read whole and kept in memory: quicker than sled, and without its threads.
const SMALL: u64 = 1 << 20;

/// True if a panic on a thread of this name is caught and told by the store (sled panics on damaged
/// files). A panic hook must then neither restore the terminal nor print: the program goes on.
pub fn panic_is_contained(thread: Option<&str>) -> bool {
    let ours = [view::THREAD, syncer::THREAD, intake::THREAD];
    thread.is_some_and(|name| ours.contains(&name) || name.starts_with("sled"))
}
