//! Ids: prefixed, time-ordered, unique. Byte order of the text is creation order.
//!
//! The body is a UUIDv7 in 32 lower-case hex digits (48-bit milliseconds first). `IdMint` makes
//! them without asking a clock: the caller passes the time, so the turn machine stays pure. The
//! store keeps the 16 raw bytes as key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch, UTC.
pub type Millis = i64;

/// An id that does not parse; says which prefix was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind} id: it should read `{prefix}` and 32 hex digits")]
pub struct BadId {
    text: String,
    kind: &'static str,
    prefix: &'static str,
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// What the text of such an id begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id with this raw value; big-endian bytes of it are the store's key.
            pub const fn from_raw(raw: u128) -> Self {
                Self(raw)
            }

            /// The raw 128-bit value.
            pub const fn raw(self) -> u128 {
                self.0
            }

            /// The 16 bytes that sort like the id.
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_be_bytes()
            }

            /// When it was made, in milliseconds since the epoch.
            pub const fn created(self) -> Millis {
                (self.0 >> 80) as Millis
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:032x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                let bad = || BadId { text: text.chars().take(80).collect(), kind: $kind, prefix: $prefix };
                let body = text.strip_prefix($prefix).ok_or_else(bad)?;
                let hex = body.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if body.len() != 32 || !hex {
                    return Err(bad());
                }
                u128::from_str_radix(body, 16).map(Self).map_err(|_not_hex| bad())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id_type!(
    /// A session: one conversation, bound to a worktree.
    SessionId, "ses_", "session"
);
id_type!(
    /// One user or assistant entry of a session.
    MessageId, "msg_", "message"
);
id_type!(
    /// One piece of content of a message.
    PartId, "prt_", "part"
);
id_type!(
    /// A question to the user: permission, doom loop, trust.
    AskId, "ask_", "question"
);
id_type!(
    /// A queued guidance or follow-up.
    QueueId, "que_", "queue"
);

/// A git tree object of the worktree, as 40 hex digits, in the shadow repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(pub String);

/// Makes ids that never go backwards, even when the clock does.
///
/// Deterministic: the same seed and the same times give the same ids, which is what lets a turn be
/// replayed. The seed must differ between processes (the driver draws it once).
#[derive(Debug, Clone)]
pub struct IdMint {
    last: u128,
    state: u64,
}

impl IdMint {
    /// A mint whose ids all come after `after` (the newest id already stored, or 0).
    pub const fn new(seed: u64, after: u128) -> Self {
        Self {
            last: after,
            state: seed,
        }
    }

    /// All further ids come after `newest`.
    pub fn go_after(&mut self, newest: u128) {
        self.last = self.last.max(newest);
    }

    /// The next raw id at time `now`; the typed `from_raw` makes it an id.
    pub fn raw(&mut self, now: Millis) -> u128 {
        // SplitMix64: enough to keep two processes of one millisecond apart.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let time = (now.max(0) as u128 & 0xffff_ffff_ffff) << 80;
        let version = 0x7_u128 << 76;
        let variant = 0b10_u128 << 62;
        let random = u128::from(z);
        let candidate = time | version | ((random & 0xfff) << 64) | variant | (random >> 12);
        self.last = if candidate > self.last {
            candidate
        } else {
            self.last + 1
        };
        self.last
    }

    /// The next message id.
    pub fn message(&mut self, now: Millis) -> MessageId {
        MessageId(self.raw(now))
    }

    /// The next part id.
    pub fn part(&mut self, now: Millis) -> PartId {
        PartId(self.raw(now))
    }

    /// The next session id.
    pub fn session(&mut self, now: Millis) -> SessionId {
        SessionId(self.raw(now))
    }

    /// The next question id.
    pub fn ask(&mut self, now: Millis) -> AskId {
        AskId(self.raw(now))
    }

    /// The next queue id.
    pub fn queue(&mut self, now: Millis) -> QueueId {
        QueueId(self.raw(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_even_when_the_clock_goes_back() {
        let mut mint = IdMint::new(7, 0);
        let mut texts = Vec::new();
        for now in [1_000, 1_000, 2_000, 500, 2_000, 3_000] {
            texts.push(mint.part(now).to_string());
        }
        let mut sorted = texts.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(texts, sorted);
    }

    #[test]
    fn a_mint_goes_on_after_the_newest_stored_id() {
        let mut first = IdMint::new(1, 0);
        let old = first.message(9_000);
        let mut second = IdMint::new(2, old.raw());
        assert!(second.message(10) > old);
    }

    #[test]
    fn text_round_trips_and_bad_text_is_named() {
        let id = IdMint::new(3, 0).session(1_700_000_000_000);
        assert_eq!(id.to_string().parse::<SessionId>(), Ok(id));
        assert_eq!(id.created(), 1_700_000_000_000);
        for bad in [
            "",
            "ses_",
            "msg_0",
            "ses_zz",
            "ses_+0000000000000000000000000000001",
        ] {
            let error = bad.parse::<SessionId>().expect_err("not an id").to_string();
            assert!(error.contains("ses_"), "{error}");
        }
    }
}
