//! Checks of the view: sled can lose or turn back single pages without an error.
//!
//! Each message has a sum over all keys and values it consists of, and knows the message before it.
//! `db` keeps them up to date with every write and verifies whatever it reads; what does not fit is
//! made again from the journal. Pure.

use crate::protocol::MessageId;

/// The share of one key and value in a sum. Shares are joined with XOR, so they come and go in any
/// order.
pub(super) fn sum(key: &[u8], value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(value);
    hasher.finalize()
}

/// What must be found for one message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Check {
    /// Sum over its header and the pieces of its parts.
    pub(super) sum: u32,
    /// Raw id of the message before it; 0 for none.
    before: u128,
}

impl Check {
    pub(super) fn link(&mut self, before: Option<MessageId>) {
        self.before = before.map_or(0, MessageId::raw);
    }

    pub(super) fn before(&self) -> Option<MessageId> {
        (self.before != 0).then(|| MessageId::from_raw(self.before))
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.sum.to_be_bytes().to_vec();
        bytes.extend_from_slice(&self.before.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (sum, before) = bytes.split_at_checked(4)?;
        Some(Self {
            sum: u32::from_be_bytes(sum.try_into().ok()?),
            before: u128::from_be_bytes(before.try_into().ok()?),
        })
    }
}

/// Which message must come next when reading backwards.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chain {
    /// This one; none if the session begins after the last one read.
    Next(Option<MessageId>),
    /// Any: the reading began in the middle.
    Unknown,
}

impl Chain {
    pub(super) fn fits(self, message: MessageId) -> bool {
        match self {
            Self::Next(next) => next == Some(message),
            Self::Unknown => true,
        }
    }
}
