//! Tape: what came off the wire for one answer, as it came, so that it can be played again.
//!
//! The agent's driver puts a tape into a request that it sends; the transport writes the raw bytes
//! onto it (a model without a wire: its deltas), batch by batch as they are handed to the agent. What
//! is sent (keys, headers) is never on it. `player` turns a reel back into the same batches.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use super::decode::{Decoder, Wire};
use super::delta::{self, Delta};
use crate::protocol::Fault;

/// Bytes that are gathered before they are packed.
const PIECE: usize = 256 << 10;
/// A longer answer is not kept: it is one that no model gives.
const MOST: usize = 64 << 20;
/// Packing must cost less than the network does.
const LEVEL: i32 = 1;

/// Written while an answer comes in, read when it is over. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Reel>>);

/// What is on a tape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reel {
    /// The wire format of the bytes; none if they are deltas as JSON.
    pub wire: Option<Wire>,
    /// Where each batch ends, in bytes from the start of the answer.
    pub ends: Vec<u64>,
    /// True if the body's end was reached (or its connection broke) and the decoder was told.
    pub finished: bool,
    /// The bytes, as zstd frames one after the other.
    pub packed: Vec<u8>,
    /// Bytes after those, not packed yet.
    pub rest: Vec<u8>,
    /// Bytes so far.
    length: u64,
}

impl Tape {
    fn with(&self, work: impl FnOnce(&mut Reel)) {
        let mut reel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reel.length <= MOST as u64 {
            work(&mut reel);
        }
    }

    /// Bytes of the body, before they are decoded.
    pub(super) fn bytes(&self, wire: Wire, bytes: &[u8]) {
        self.with(|reel| {
            reel.wire = Some(wire);
            reel.add(bytes);
        });
    }

    /// What came since the last call is handed to the agent now.
    pub(super) fn batch(&self) {
        self.with(|reel| reel.ends.push(reel.length));
    }

    /// The decoder was told that the body has ended.
    pub(super) fn finished(&self) {
        self.with(|reel| reel.finished = true);
    }

    /// A batch of a model that has no wire.
    pub fn deltas(&self, deltas: &[Delta]) {
        self.with(|reel| {
            // Deltas are our own plain types: they always serialise.
            if let Ok(json) = serde_json::to_vec(deltas) {
                reel.add(&json);
                reel.ends.push(reel.length);
            }
        });
    }

    /// How many batches were handed to the agent so far.
    pub fn batches(&self) -> usize {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .ends
            .len()
    }

    /// Takes what is on it; none if the answer was too long to be kept.
    pub fn take(&self) -> Option<Reel> {
        let mut reel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reel = std::mem::take(&mut *reel);
        (reel.length <= MOST as u64).then_some(reel)
    }
}

impl Reel {
    /// A reel that was stored.
    pub const fn stored(
        wire: Option<Wire>,
        ends: Vec<u64>,
        finished: bool,
        packed: Vec<u8>,
    ) -> Self {
        Self {
            wire,
            ends,
            finished,
            packed,
            rest: Vec::new(),
            length: 0,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.rest.extend_from_slice(bytes);
        if self.rest.len() >= PIECE {
            self.pack();
        }
    }

    fn pack(&mut self) {
        // It fails only without memory; then the answer cannot be played again, which is told there.
        if let Ok(packed) = zstd::bulk::compress(&self.rest, LEVEL) {
            self.packed.extend_from_slice(&packed);
        }
        self.rest.clear();
    }

    /// The bytes again. Fails if they are not what was written.
    fn unpack(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        if !self.packed.is_empty() {
            let failed = |e: std::io::Error| format!("its frames cannot be unpacked ({e})");
            zstd::Decoder::new(self.packed.as_slice())
                .map_err(failed)?
                .take(MOST as u64 + 1)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
        }
        bytes.extend_from_slice(&self.rest);
        Ok(bytes)
    }

    /// The first `batches` batches as the agent got them, and the fault of the decoder if it found
    /// one by then. `to_end` says that the answer ended by itself: what followed the last batch counts
    /// then too. Fails if the reel is not whole.
    pub fn play(&self, batches: usize, to_end: bool) -> Result<Played, String> {
        let bytes = self.unpack()?;
        let mut played = Played::default();
        let mut decoder = self.wire.map(Decoder::new);
        let mut from = 0;
        for &end in self.ends.iter().take(batches) {
            let piece = usize::try_from(end)
                .ok()
                .and_then(|to| bytes.get(from..to))
                .ok_or_else(|| "its frames are not complete".to_owned())?;
            from = end as usize;
            match &mut decoder {
                Some(decoder) => played.take(decoder.feed(piece)),
                None => played.batches.push(
                    serde_json::from_slice(piece)
                        .map_err(|e| format!("its frames cannot be read ({e})"))?,
                ),
            }
        }
        if let Some(mut decoder) = decoder
            && to_end
            && batches >= self.ends.len()
        {
            played.take_end(decoder.feed(bytes.get(from..).unwrap_or_default()));
            if self.finished {
                played.take_end(decoder.finish());
            }
        }
        Ok(played)
    }
}

/// What a reel gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Played {
    /// Deltas as they were handed over together.
    pub batches: Vec<Vec<Delta>>,
    /// What the decoder found wrong.
    pub fault: Option<Fault>,
}

impl Played {
    fn take(&mut self, decoded: super::decode::Decoded) {
        let mut deltas = Vec::new();
        delta::append(&mut deltas, decoded.deltas);
        self.batches.push(deltas);
        self.fault = decoded.fault.or(self.fault.take());
    }

    /// What the end of the body gave belongs to the last batch.
    fn take_end(&mut self, decoded: super::decode::Decoded) {
        match self.batches.last_mut() {
            Some(last) => delta::append(last, decoded.deltas),
            None => self.batches.push(decoded.deltas),
        }
        self.fault = decoded.fault.or(self.fault.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Finish;

    fn said(text: &str) -> Delta {
        Delta::Text {
            block: 0,
            text: text.to_owned(),
        }
    }

    #[test]
    fn deltas_come_back_batch_by_batch() {
        let tape = Tape::default();
        let first = vec![said("one"), said("two")];
        let last = vec![Delta::Finish {
            reason: Finish::Stop,
            raw: "end_turn".to_owned(),
        }];
        tape.deltas(&first);
        tape.deltas(&last);
        let reel = tape.take().expect("short");
        assert_eq!(
            reel.play(2, true).expect("whole").batches,
            [first.clone(), last.clone()]
        );
        assert_eq!(reel.play(1, false).expect("whole").batches, [first]);
    }

    #[test]
    fn bytes_come_back_as_they_were_cut_however_long_the_answer() {
        let tape = Tape::default();
        let event = |text: &str| {
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
            )
        };
        let mut expected = String::new();
        for n in 0..20_000 {
            let text = format!("word {n} ");
            tape.bytes(Wire::OpenaiChat, event(&text).as_bytes());
            expected.push_str(&text);
            if n % 7 == 0 {
                tape.batch();
            }
        }
        let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                   data: [DONE]\n\n";
        tape.bytes(Wire::OpenaiChat, end.as_bytes());
        tape.batch();
        tape.finished();
        let reel = tape.take().expect("short");
        assert!(reel.packed.len() < 200_000, "{}", reel.packed.len());
        let played = reel.play(reel.ends.len(), true).expect("whole");
        assert_eq!(played.fault, None);
        assert_eq!(played.batches.len(), reel.ends.len());
        let mut found = String::new();
        for delta in played.batches.iter().flatten() {
            if let Delta::Text { text, .. } = delta {
                found.push_str(text);
            }
        }
        assert_eq!(found, expected);
        let half = reel.play(10, false).expect("whole");
        assert_eq!(half.batches.len(), 10);
        assert_eq!(
            half.fault, None,
            "it was cut by the user, not by the server"
        );
    }

    #[test]
    fn a_reel_that_is_not_whole_says_so() {
        let tape = Tape::default();
        tape.deltas(&[said("x")]);
        let mut reel = tape.take().expect("short");
        reel.rest.truncate(3);
        assert!(
            reel.play(1, true)
                .expect_err("cut")
                .contains("not complete")
        );
        reel.packed = b"no zstd".to_vec();
        assert!(
            reel.play(1, true)
                .expect_err("damaged")
                .contains("unpacked")
        );
    }
}
