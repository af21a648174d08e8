//! The words that every other module speaks: ids, messages, parts, tool states, usage, `Op` in and
//! `Event` out.
//!
//! Everything here is plain data. It imports nothing of the crate, does no I/O and knows no clock,
//! so any module may use it. The serde form of `Message`, `Part` and `Event` is public: it is what
//! `dunlin exec --json` prints, what exports contain and what the journal keeps (`session::record`
//! versions it), so a change of shape is a change of contract.

pub mod ask;
pub mod diff;
pub mod event;
pub mod fault;
pub mod ids;
pub mod link;
pub mod listing;
pub mod mentions;
pub mod message;
pub mod op;
pub mod outside;
pub mod part;
pub mod queue;
pub mod session;
pub mod spending;
pub mod status;
pub mod tool;
pub mod tree;
pub mod usage;
pub mod wildcard;

pub use ask::{Answer, Ask, AskBody, GrantScope};
pub use diff::{DiffLine, DiffReport, DiffScope, FileDiff, FileStatus, Hunk, LineKind};
pub use event::{Event, NoticeLevel, Phase, ReadOnly, Status, TurnEnd};
pub use fault::{Fault, FaultKind};
pub use ids::{AskId, IdMint, MessageId, Millis, PartId, QueueId, SessionId, SnapshotId};
pub use message::{Effort, Finish, Message, Mode, ModelRef, Role};
pub use op::{Delivery, Op, PromptInput, QueueEdit};
pub use part::{BlobRef, FilePart, FileSource, OutputRef, Part, PartBody, PatchFile};
pub use queue::{QueueItem, QueueKind, QueueState};
pub use session::{ContextGauge, SessionInfo, SessionSummary};
pub use spending::{Spending, SpentOn};
pub use tool::{ToolPart, ToolState};
pub use tree::{Destination, SearchHit, TreeTurn};
pub use usage::{CacheTokens, Tokens};
