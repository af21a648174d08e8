//! Keys of the view: how ids and names become bytes that sort as wanted.
//!
//! Used by `db` only. Big-endian throughout, so byte order is creation order. One scan of
//! `01` reads a session in order: a header (17 bytes) sorts before the pieces of its parts (37).

use crate::protocol::{MessageId, PartId};

pub(super) const MARK: &[u8] = &[0x00];
pub(super) const MESSAGE: u8 = 0x01;
pub(super) const VALUE: u8 = 0x03;
pub(super) const INFO: u8 = 0x04;
pub(super) const HEADER_REST: u8 = 0x05;
pub(super) const CHECK: u8 = 0x06;

/// Key of a message header.
pub(super) fn message_key(message: MessageId) -> Vec<u8> {
    let mut key = Vec::with_capacity(37);
    key.push(MESSAGE);
    key.extend_from_slice(&message.to_bytes());
    key
}

/// What the keys of all pieces of a part begin with.
pub(super) fn part_key(message: MessageId, part: PartId) -> Vec<u8> {
    let mut key = message_key(message);
    key.extend_from_slice(&part.to_bytes());
    key
}

/// What the keys of all pieces of a named value begin with.
pub(super) fn value_key(name: &str) -> Vec<u8> {
    let mut key = vec![VALUE];
    key.extend_from_slice(&(name.len() as u16).to_be_bytes());
    key.extend_from_slice(name.as_bytes());
    key
}

/// Key of piece `n` under `prefix`.
pub(super) fn piece(prefix: &[u8], n: u32) -> Vec<u8> {
    let mut key = prefix.to_vec();
    key.extend_from_slice(&n.to_be_bytes());
    key
}

/// What a key under `01` stands for: a message header, or a piece of a part.
pub(super) fn split_key(key: &[u8]) -> Option<(MessageId, Option<(PartId, u32)>)> {
    let id = |bytes: &[u8]| bytes.try_into().ok().map(u128::from_be_bytes);
    let message = MessageId::from_raw(id(key.get(1..17)?)?);
    if key.len() == 17 {
        return Some((message, None));
    }
    let part = PartId::from_raw(id(key.get(17..33)?)?);
    let n = key.get(33..37)?.try_into().ok().map(u32::from_be_bytes)?;
    Some((message, Some((part, n))))
}

/// Prefix of the rest of a long message header.
pub(super) fn header_rest(message: MessageId) -> Vec<u8> {
    let mut key = message_key(message);
    key[0] = HEADER_REST;
    key
}

/// Key of a message's check.
pub(super) fn check_key(message: MessageId) -> Vec<u8> {
    let mut key = message_key(message);
    key[0] = CHECK;
    key
}

/// The message whose check a key counts for; none for named values and session facts.
pub(super) fn message_of(key: &[u8]) -> Option<MessageId> {
    let (kind, rest) = key.split_first()?;
    if !matches!(*kind, MESSAGE | HEADER_REST) {
        return None;
    }
    let id = rest.get(..16)?.try_into().ok().map(u128::from_be_bytes)?;
    Some(MessageId::from_raw(id))
}

/// The name of a value from the key of one of its pieces.
pub(super) fn value_name(key: &[u8]) -> Option<String> {
    let name = key.get(3..key.len().checked_sub(4)?)?;
    String::from_utf8(name.to_vec()).ok()
}
