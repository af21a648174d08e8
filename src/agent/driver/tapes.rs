//! Recording what models answer, for `dunlin replay`: a tape per running stream, handed to the
//! session's store when the stream is over. Costs a copy of the bytes; nothing waits for it.

use super::Agent;
use crate::agent::input::StreamId;
use crate::model::Tape;
use crate::protocol::MessageId;
use crate::session::{AnswerEnd, Frames, FramesHead, Record, checksum};

/// A stream that is being recorded.
#[derive(Debug)]
pub(crate) struct Taping {
    message: MessageId,
    tape: Tape,
    /// Batches that the turn was given.
    taken: usize,
}

impl Agent {
    /// Begins to record a stream; none if its answers are not kept.
    pub(super) fn start_tape(&mut self, stream: StreamId) -> Option<Tape> {
        let wanted = self.ports.config.store.frames_days > 0 && self.active.writer().is_some();
        let (answers, message) = self.active.turn.answering()?;
        if !wanted || answers != stream {
            return None;
        }
        let tape = Tape::default();
        let taping = Taping {
            message,
            tape: tape.clone(),
            taken: 0,
        };
        self.active.tapes.insert(stream, taping);
        Some(tape)
    }

    /// The turn is given a batch.
    pub(super) fn count_batch(&mut self, stream: StreamId) {
        if let Some(taping) = self.active.tapes.get_mut(&stream) {
            taping.taken += 1;
        }
    }

    /// Texts and results that are complete: their checksums go along with the next answer, so that a
    /// replay sees whether what it is given is what was recorded.
    pub(super) fn note_complete(&mut self, records: &[Record]) {
        if self.ports.config.store.frames_days == 0 {
            return;
        }
        for record in records {
            if let Record::Part(part) = record
                && let Some(sum) = checksum(part)
            {
                self.active.checks.insert(part.id, sum);
            }
        }
    }

    /// A stream is over: what was recorded is kept.
    pub(super) fn end_tape(&mut self, stream: StreamId, end: AnswerEnd) {
        let Some(taping) = self.active.tapes.remove(&stream) else {
            return;
        };
        let (Some(reel), Some(store)) = (taping.tape.take(), self.active.writer().cloned()) else {
            return;
        };
        store.keep_frames(Frames {
            head: FramesHead {
                message: taping.message,
                wire: reel.wire.map(|wire| wire.name().to_owned()),
                ends: reel.ends,
                taken: taping.taken,
                finished: reel.finished,
                end,
                checks: std::mem::take(&mut self.active.checks)
                    .into_iter()
                    .collect(),
            },
            packed: reel.packed,
            rest: reel.rest,
        });
    }
}
