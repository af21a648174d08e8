//! Where the transcript is looked at: the anchor, the selection, the search.
//!
//! Plain data and pure functions; `transcript` holds them and draws by them.

pub mod anchor;
pub mod find;
pub mod select;
