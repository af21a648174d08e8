//! What one journal line holds, with its version. The only file that knows the stored shape.
//!
//! The writer encodes with `encode`; whoever reads a journal decodes with `decode`, which refuses
//! what a newer dunlin wrote and leaves large values as raw JSON, so that applying a line to the
//! view costs no second serialisation. When a stored shape changes, `FORMAT` goes up, a fixture of
//! the old format stays in the tests, and `decode` lifts old lines to the new shape.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::{
    Message, MessageId, Millis, Part, PartBody, PartId, SessionId, SessionInfo, ToolState,
};

/// The newest record format that this program writes and reads.
///
/// 1: the first. 2: `compacted`, where a whole part was written before.
pub const FORMAT: u32 = 2;

/// A commit whose number is further than this from the one before it is no commit of this journal: nobody
/// commits that often.
pub(super) const WIDEST_GAP: u64 = 1 << 53;

/// One thing to keep.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// A message header, new or changed.
    Message(Message),
    /// A whole part, new or changed.
    Part(Part),
    /// Text to be added to the end of a text or reasoning part, or to the raw arguments of a
    /// pending tool call.
    Append {
        /// The part.
        part: PartId,
        /// What is added.
        text: String,
    },
    /// A completed call's output was cleared from what the model sees, or brought back; it stays stored.
    Compacted {
        /// The message that the part belongs to.
        message: MessageId,
        /// The part.
        part: PartId,
        /// When; none if it is back.
        at: Option<Millis>,
    },
    /// A named value of the session (queue, todo list, grants); null removes it.
    Value {
        /// Its name.
        name: String,
        /// Its new value.
        value: serde_json::Value,
    },
    /// The session's facts, new or changed.
    Info(SessionInfo),
}

impl Record {
    /// The session that it names; none for records that name none.
    pub(super) const fn session(&self) -> Option<SessionId> {
        match self {
            Self::Message(message) => Some(message.session),
            Self::Part(part) => Some(part.session),
            Self::Info(info) => Some(info.id),
            Self::Append { .. } | Self::Compacted { .. } | Self::Value { .. } => None,
        }
    }
}

/// A record as it stands in a line, large values still as text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored<'a> {
    Message(#[serde(borrow)] &'a RawValue),
    Part(#[serde(borrow)] &'a RawValue),
    Append {
        part: PartId,
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    Compacted {
        message: MessageId,
        part: PartId,
        at: Option<Millis>,
    },
    Value {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        value: &'a RawValue,
    },
    Info(#[serde(borrow)] &'a RawValue),
}

impl Stored<'_> {
    /// The session that it names; none for records that name none, or none that can be read.
    pub(super) fn session(&self) -> Option<SessionId> {
        #[derive(Deserialize)]
        struct Of {
            session: SessionId,
        }
        #[derive(Deserialize)]
        struct Facts {
            id: SessionId,
        }
        match self {
            Self::Message(raw) | Self::Part(raw) => {
                let of: Of = serde_json::from_str(raw.get()).ok()?;
                Some(of.session)
            }
            Self::Info(raw) => {
                let facts: Facts = serde_json::from_str(raw.get()).ok()?;
                Some(facts.id)
            }
            Self::Append { .. } | Self::Compacted { .. } | Self::Value { .. } => None,
        }
    }

    /// The record itself; none if its shape is not what this format says.
    pub(super) fn owned(&self) -> Option<Record> {
        let record = match self {
            Self::Message(raw) => Record::Message(serde_json::from_str(raw.get()).ok()?),
            Self::Part(raw) => Record::Part(serde_json::from_str(raw.get()).ok()?),
            Self::Info(raw) => Record::Info(serde_json::from_str(raw.get()).ok()?),
            Self::Append { part, text } => Record::Append {
                part: *part,
                text: text.clone().into_owned(),
            },
            Self::Compacted { message, part, at } => Record::Compacted {
                message: *message,
                part: *part,
                at: *at,
            },
            Self::Value { name, value } => Record::Value {
                name: name.clone().into_owned(),
                value: serde_json::from_str(value.get()).ok()?,
            },
        };
        Some(record)
    }
}

/// One commit as it stands in a line.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    v: u32,
    /// Number of the commit, from 1, without gaps.
    pub(super) n: u64,
    /// Its records, in order.
    #[serde(borrow, rename = "r")]
    pub(super) records: Vec<Stored<'a>>,
}

#[derive(Serialize)]
struct LineOut<'a> {
    v: u32,
    n: u64,
    r: &'a [Record],
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

#[derive(Deserialize)]
struct Head {
    v: u32,
    n: u64,
}

/// Why a line whose checksum fits cannot be used.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// Its format number is higher than `FORMAT`.
    Newer(u32),
    /// It is not a commit.
    Malformed,
}

/// Writes the JSON of one commit to `out`.
pub(super) fn encode(n: u64, records: &[Record], out: impl io::Write) -> serde_json::Result<()> {
    serde_json::to_writer(
        out,
        &LineOut {
            v: FORMAT,
            n,
            r: records,
        },
    )
}

fn unreadable(json: &[u8]) -> Unreadable {
    match serde_json::from_slice::<Version>(json) {
        Ok(Version { v }) if v > u64::from(FORMAT) => {
            Unreadable::Newer(u32::try_from(v).unwrap_or(u32::MAX))
        }
        _ => Unreadable::Malformed,
    }
}

/// Reads one commit.
pub(super) fn decode(json: &[u8]) -> Result<Line<'_>, Unreadable> {
    let line: Line<'_> = serde_json::from_slice(json).map_err(|_shape| unreadable(json))?;
    if line.v > FORMAT {
        return Err(Unreadable::Newer(line.v));
    }
    Ok(line)
}

/// Reads only the number of a commit; much cheaper than `decode` for long lines.
pub(super) fn number(json: &[u8]) -> Result<u64, Unreadable> {
    let head: Head = serde_json::from_slice(json).map_err(|_shape| unreadable(json))?;
    if head.v > FORMAT {
        return Err(Unreadable::Newer(head.v));
    }
    Ok(head.n)
}

/// Adds `text` to the part that grows; false if this kind of part does not grow.
pub(super) fn append(part: &mut Part, text: &str) -> bool {
    match &mut part.body {
        PartBody::Text { text: old, .. } | PartBody::Reasoning { text: old, .. } => {
            old.push_str(text);
            true
        }
        PartBody::Tool(tool) => match &mut tool.state {
            ToolState::Pending { raw } => {
                raw.push_str(text);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Marks a completed call's output as cleared, or not; false if the part is none.
pub(super) fn compact(part: &mut Part, at: Option<Millis>) -> bool {
    if let PartBody::Tool(tool) = &mut part.body
        && let ToolState::Completed { compacted_at, .. } = &mut tool.state
    {
        *compacted_at = at;
        return true;
    }
    false
}

/// How a commit follows those before it in its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As it was written.
    Next,
    /// Lines between them are missing.
    Gap,
    /// A commit of this number, or of a higher one, was there already.
    Again,
    /// Its number is one that no journal reaches.
    Senseless,
}

impl Order {
    /// Of the commit `n` after the commit `last`, with so many unusable lines between them, which stand for
    /// any number of commits.
    pub(super) const fn of(n: u64, last: u64, unusable: u64) -> Self {
        if n <= last {
            Self::Again
        } else if n - last > WIDEST_GAP {
            Self::Senseless
        } else if n == last + 1 || unusable > 0 {
            Self::Next
        } else {
            Self::Gap
        }
    }

    /// True if the commit counts: readers and the writer go on from its number.
    pub(super) const fn counts(self) -> bool {
        matches!(self, Self::Next | Self::Gap)
    }
}
