//! Frames: what models answered, as it came off the wire, kept beside the journal for `dunlin replay`.
//!
//! An append-only file of packed answers that nothing depends on: written by the view thread without
//! a sync, bounded in size, removed when the session was not used for some days. A piece that is
//! damaged or torn is passed over and counted.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::place::Place;
use super::project::Project;
use crate::protocol::{Fault, MessageId, Part, PartBody, PartId, SessionId, ToolState};

/// What each answer begins with.
const MAGIC: &[u8; 4] = b"DF1\n";
/// Magic, length of the header, length of the data, checksum of both.
const PREFIX: usize = 16;
/// When the file is larger than this, it becomes the older one of two.
const MOST: u64 = 32 << 20;
/// Quick, and half as much again as the best.
const LEVEL: i32 = 3;

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerEnd {
    /// By itself.
    Ended,
    /// It failed.
    Failed(Fault),
    /// The user, or the end of the program, cut it.
    Cut,
}

/// One recorded answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    /// What it is, without its bytes.
    pub head: FramesHead,
    /// The bytes, as zstd frames one after the other.
    pub packed: Vec<u8>,
    /// Bytes after those, not packed yet; empty in what is read.
    pub rest: Vec<u8>,
}

/// What a recorded answer is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FramesHead {
    /// The assistant message that it became.
    pub message: MessageId,
    /// Name of the wire format; none for deltas as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
    /// Where each batch ends, in bytes from the start.
    pub ends: Vec<u64>,
    /// How many of them the agent took.
    pub taken: usize,
    /// True if the end of the body was reached.
    pub finished: bool,
    /// How it ended.
    pub end: AnswerEnd,
    /// Checksums (CRC-32) of the texts and tool results that were completed since the answer before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<(PartId, u32)>,
}

/// The checksum of a complete text or tool result; none for parts of other kinds.
pub fn checksum(part: &Part) -> Option<u32> {
    part.end?;
    let text = match &part.body {
        PartBody::Text { text, .. } => text,
        PartBody::Tool(tool) => match &tool.state {
            ToolState::Completed { output, .. } => output,
            ToolState::Error { error, .. } => error,
            ToolState::Pending { .. } | ToolState::Running { .. } => return None,
        },
        _ => return None,
    };
    Some(crc32fast::hash(text.as_bytes()))
}

/// All recorded answers of a session, in the order in which they ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedFrames {
    /// The answers.
    pub answers: Vec<Frames>,
    /// Places where something else stands.
    pub damaged: u64,
}

fn newer(place: &Place) -> PathBuf {
    place.folder.join("frames")
}

fn older(place: &Place) -> PathBuf {
    place.folder.join("frames.old")
}

/// The files of frames that a session may have.
pub(super) fn files(place: &Place) -> [PathBuf; 2] {
    [older(place), newer(place)]
}

/// Adds an answer. Blocks for a write and for the packing of at most a few hundred KiB.
pub(super) fn append(place: &Place, frames: &Frames) -> io::Result<()> {
    let bytes = encode(frames)?;
    let path = newer(place);
    let length = fs::metadata(&path).map_or(0, |facts| facts.len());
    if length > 0 && length + bytes.len() as u64 > MOST {
        fs::rename(&path, older(place))?;
    }
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(&bytes)
}

fn encode(frames: &Frames) -> io::Result<Vec<u8>> {
    let head = serde_json::to_vec(&frames.head)?;
    let mut data = frames.packed.clone();
    if !frames.rest.is_empty() {
        data.extend_from_slice(&zstd::bulk::compress(&frames.rest, LEVEL)?);
    }
    let mut bytes = Vec::with_capacity(PREFIX + head.len() + data.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head);
    sum.update(&data);
    bytes.extend_from_slice(&sum.finalize().to_le_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&data);
    Ok(bytes)
}

/// The answer that begins at the start of `bytes` and how long it is; none if none does.
fn decode(bytes: &[u8]) -> Option<(Frames, usize)> {
    let number = |at: usize| -> Option<u32> {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    if bytes.get(..4)? != MAGIC {
        return None;
    }
    let (head, data) = (number(4)? as usize, number(8)? as usize);
    let body = bytes.get(PREFIX..PREFIX.checked_add(head)?.checked_add(data)?)?;
    if crc32fast::hash(body) != number(12)? {
        return None;
    }
    let (head_bytes, data) = body.split_at(head);
    let frames = Frames {
        head: serde_json::from_slice(head_bytes).ok()?,
        packed: data.to_vec(),
        rest: Vec::new(),
    };
    Some((frames, PREFIX + body.len()))
}

fn read(path: &Path, into: &mut RecordedFrames) -> io::Result<()> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mut at = 0;
    while at < bytes.len() {
        if let Some((frames, length)) = decode(&bytes[at..]) {
            into.answers.push(frames);
            at += length;
            continue;
        }
        into.damaged += 1;
        let rest = &bytes[at + 1..];
        match memchr::memmem::find(rest, MAGIC) {
            Some(next) => at += 1 + next,
            None => break,
        }
    }
    Ok(())
}

impl Project {
    /// What models answered in a session, as far as it is still kept. Reads at most 64 MiB.
    pub fn frames(&self, id: SessionId) -> Result<RecordedFrames, StoreError> {
        let place = self.existing(id)?;
        let mut recorded = RecordedFrames::default();
        for path in files(&place) {
            read(&path, &mut recorded)
                .map_err(|e| StoreError::io("read the recorded answers in", &path, e))?;
        }
        Ok(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(n: u128) -> Frames {
        Frames {
            head: FramesHead {
                message: MessageId::from_raw(n),
                wire: Some("anthropic".to_owned()),
                ends: vec![5, 9],
                taken: 2,
                finished: true,
                end: AnswerEnd::Ended,
                checks: vec![(PartId::from_raw(n), 7)],
            },
            packed: Vec::new(),
            rest: format!("answer {n}").into_bytes(),
        }
    }

    fn place(home: &Path) -> Place {
        let place = Place::new(home, SessionId::from_raw(7));
        fs::create_dir_all(&place.folder).expect("folder");
        place
    }

    fn all(place: &Place) -> RecordedFrames {
        let mut recorded = RecordedFrames::default();
        for path in files(place) {
            read(&path, &mut recorded).expect("read");
        }
        recorded
    }

    fn numbers(recorded: &RecordedFrames) -> Vec<u128> {
        let heads = recorded.answers.iter().map(|a| &a.head);
        heads.map(|head| head.message.raw()).collect()
    }

    #[test]
    fn answers_come_back_in_order_and_packed() {
        let home = tempfile::tempdir().expect("temp");
        let place = place(home.path());
        for n in 1..=3 {
            append(&place, &answer(n)).expect("append");
        }
        let found = all(&place);
        assert_eq!((numbers(&found), found.damaged), (vec![1, 2, 3], 0));
        let bytes = zstd::decode_all(found.answers[1].packed.as_slice()).expect("zstd");
        assert_eq!(bytes, b"answer 2");
        assert_eq!(found.answers[2].head, answer(3).head);
    }

    #[test]
    fn a_torn_or_damaged_answer_costs_only_itself() {
        let home = tempfile::tempdir().expect("temp");
        let place = place(home.path());
        append(&place, &answer(1)).expect("append");
        let whole = fs::read(newer(&place)).expect("read");
        for cut in 1..whole.len() {
            fs::write(newer(&place), &whole[..cut]).expect("cut");
            append(&place, &answer(2)).expect("append");
            let found = all(&place);
            assert_eq!(
                (numbers(&found), found.damaged),
                (vec![2], 1),
                "cut at {cut}"
            );
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(newer(&place), &bytes).expect("flip");
            append(&place, &answer(2)).expect("append");
            let found = all(&place);
            assert_eq!(numbers(&found), [2], "flip of bit {bit}");
            assert!(found.damaged > 0, "flip of bit {bit}");
        }
    }

    #[test]
    fn old_answers_make_room_for_new_ones() {
        let home = tempfile::tempdir().expect("temp");
        let place = place(home.path());
        append(&place, &answer(1)).expect("append");
        OpenOptions::new()
            .append(true)
            .open(newer(&place))
            .and_then(|f| f.set_len(MOST))
            .expect("grow");
        append(&place, &answer(2)).expect("append");
        append(&place, &answer(3)).expect("append");
        assert!(super::super::disk::size(&older(&place)) > 0);
        assert!(fs::metadata(older(&place)).expect("old").len() >= MOST);
        assert_eq!(numbers(&all(&place)), [1, 2, 3]);
        assert!(fs::metadata(newer(&place)).expect("new").len() < 1_000);
    }
}
