//! Git trees as bytes: written from folder states, read back, compared.
//!
//! Called by the owner; the objects come through a closure, so this file knows neither git2 nor a
//! disk. Raw bytes on purpose: names need not be UTF-8 and nothing is filtered. Pure.

use std::fmt;

use super::record::{FileState, SnapshotError};

/// Mode of a folder.
pub(super) const DIR: u32 = 0o040_000;
/// Mode of a symbolic link.
pub(super) const LINK: u32 = 0o120_000;
/// Mode of a plain file.
pub(super) const PLAIN: u32 = 0o100_644;
/// Mode of an executable file.
pub(super) const EXEC: u32 = 0o100_755;

/// Id of an object: a SHA-1, because libgit2 and most of the users' repositories speak that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) [u8; 20]);

impl Id {
    /// Reads 40 hex digits.
    pub(super) fn from_hex(hex: &str) -> Option<Self> {
        if hex.len() != 40 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut raw = [0; 20];
        for (at, byte) in raw.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok()?;
        }
        Some(Self(raw))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A file or link of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Blob {
    /// Its content.
    pub(super) id: Id,
    /// `PLAIN`, `EXEC` or `LINK`.
    pub(super) mode: u32,
}

impl Blob {
    /// As it is recorded, with the permission bits that go with it.
    pub(super) fn with_bits(self, bits: Option<u32>) -> FileState {
        FileState {
            bits: bits.filter(|_| self.mode != LINK),
            ..self.into()
        }
    }
}

impl From<Blob> for FileState {
    fn from(blob: Blob) -> Self {
        Self {
            blob: blob.id.to_string(),
            mode: blob.mode,
            bits: None,
        }
    }
}

impl TryFrom<&FileState> for Blob {
    type Error = SnapshotError;
    fn try_from(state: &FileState) -> Result<Self, SnapshotError> {
        let id = Id::from_hex(&state.blob).ok_or_else(|| SnapshotError::Missing {
            what: "file content",
            id: state.blob.chars().take(60).collect(),
        })?;
        let mode = match state.mode & 0o170_000 {
            LINK => LINK,
            _ if state.mode & 0o111 != 0 => EXEC,
            _ => PLAIN,
        };
        Ok(Self { id, mode })
    }
}

/// A difference between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// Path from the tree's root.
    pub(super) path: Vec<u8>,
    /// Before.
    pub(super) before: Option<Blob>,
    /// After.
    pub(super) after: Option<Blob>,
    /// Permission bits before; none if not known (trees hold none).
    pub(super) bits: Option<u32>,
}

/// One entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item<'a> {
    /// Mode as stored.
    pub(super) mode: u32,
    /// Its name.
    pub(super) name: &'a [u8],
    /// The tree or blob.
    pub(super) id: Id,
}

/// The bytes of a tree object. Sorts as git does: a folder as if its name ended in a slash.
pub(super) fn encode(items: &mut [Item<'_>]) -> Vec<u8> {
    items.sort_by(|a, b| {
        let shared = a.name.len().min(b.name.len());
        a.name[..shared].cmp(&b.name[..shared]).then_with(|| {
            let next = |item: &Item<'_>| match item.name.get(shared) {
                Some(&byte) => byte,
                None if item.mode == DIR => b'/',
                None => 0,
            };
            next(a).cmp(&next(b))
        })
    });
    let mut out = Vec::with_capacity(items.iter().map(|item| item.name.len() + 28).sum());
    for item in items {
        out.extend_from_slice(format!("{:o} ", item.mode).as_bytes());
        out.extend_from_slice(item.name);
        out.push(0);
        out.extend_from_slice(&item.id.0);
    }
    out
}

/// The entries of a tree object; stops at the first byte that makes no sense.
pub(super) fn decode(bytes: &[u8]) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut rest = bytes;
    while let Some((item, after)) = decode_one(rest) {
        items.push(item);
        rest = after;
    }
    items
}

fn decode_one(bytes: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let space = memchr::memchr(b' ', bytes)?;
    let end = space + memchr::memchr(0, &bytes[space..])?;
    let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
    let id: [u8; 20] = bytes.get(end + 1..end + 21)?.try_into().ok()?;
    let item = Item {
        mode,
        name: &bytes[space + 1..end],
        id: Id(id),
    };
    Some((item, &bytes[end + 21..]))
}

/// How trees are fetched.
pub(super) type Read<'a> = dyn Fn(Id) -> Result<Vec<u8>, SnapshotError> + 'a;

/// The file at a path of a tree; none if there is none.
pub(super) fn find(root: Id, path: &[u8], read: &Read<'_>) -> Result<Option<Blob>, SnapshotError> {
    let mut at = root;
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        let bytes = read(at)?;
        let item = decode(&bytes).into_iter().find(|item| item.name == name);
        match item {
            Some(item) if item.mode == DIR && names.peek().is_some() => at = item.id,
            item if names.peek().is_none() => return Ok(blob_of(item.as_ref())),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// What differs between two trees, sorted by path. Equal subtrees cost nothing.
pub(super) fn changes(from: Id, to: Id, read: &Read<'_>) -> Result<Vec<Change>, SnapshotError> {
    let mut out = Vec::new();
    compare(Some(from), Some(to), &mut Vec::new(), read, &mut out)?;
    out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(out)
}

fn compare(
    from: Option<Id>,
    to: Option<Id>,
    path: &mut Vec<u8>,
    read: &Read<'_>,
    out: &mut Vec<Change>,
) -> Result<(), SnapshotError> {
    if from == to {
        return Ok(());
    }
    let fetch = |id: Option<Id>| id.map_or_else(|| Ok(Vec::new()), read);
    let (old_bytes, new_bytes) = (fetch(from)?, fetch(to)?);
    let (mut old, mut new) = (decode(&old_bytes), decode(&new_bytes));
    // by plain name, so that a file and a folder of one name meet
    old.sort_by_key(|item| item.name);
    new.sort_by_key(|item| item.name);
    let (mut o, mut n) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (o.peek(), n.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.name.cmp(b.name),
        };
        let a = if order.is_le() { o.next() } else { None };
        let b = if order.is_ge() { n.next() } else { None };
        let Some(name) = a.or(b).map(|item| item.name) else {
            return Ok(());
        };
        let keep = path.len();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let dir = |item: Option<&Item<'_>>| item.filter(|i| i.mode == DIR).map(|i| i.id);
        let (before, after) = (blob_of(a), blob_of(b));
        if before != after {
            out.push(Change {
                path: path.clone(),
                before,
                after,
                bits: None,
            });
        }
        compare(dir(a), dir(b), path, read, out)?;
        path.truncate(keep);
    }
}

fn blob_of(item: Option<&Item<'_>>) -> Option<Blob> {
    let item = item?;
    match item.mode & 0o170_000 {
        DIR | 0o160_000 => None,
        LINK => Some(Blob {
            id: item.id,
            mode: LINK,
        }),
        _ if item.mode & 0o111 != 0 => Some(Blob {
            id: item.id,
            mode: EXEC,
        }),
        _ => Some(Blob {
            id: item.id,
            mode: PLAIN,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn id(n: u8) -> Id {
        Id([n; 20])
    }

    fn item(mode: u32, name: &str, n: u8) -> Item<'_> {
        Item {
            mode,
            name: name.as_bytes(),
            id: id(n),
        }
    }

    #[test]
    fn folders_sort_as_if_they_ended_in_a_slash() {
        let mut items = [
            item(DIR, "lib", 1),
            item(PLAIN, "lib.rs", 2),
            item(PLAIN, "lib-a", 3),
            item(PLAIN, "lib0", 4),
        ];
        let bytes = encode(&mut items);
        let names: Vec<_> = decode(&bytes).iter().map(|i| i.name.to_vec()).collect();
        assert_eq!(names, [&b"lib-a"[..], b"lib.rs", b"lib", b"lib0"]);
    }

    #[test]
    fn a_file_that_became_a_folder_is_gone_and_its_files_are_new() {
        let trees = HashMap::from([
            (
                id(1),
                encode(&mut [item(PLAIN, "a", 10), item(PLAIN, "z", 11)]),
            ),
            (id(2), encode(&mut [item(DIR, "a", 3), item(EXEC, "z", 11)])),
            (id(3), encode(&mut [item(PLAIN, "b", 12)])),
        ]);
        let read = |id: Id| Ok(trees[&id].clone());
        let changes = changes(id(1), id(2), &read).unwrap();
        let words: Vec<_> = changes
            .iter()
            .map(|c| {
                (
                    c.path.as_slice(),
                    c.before.map(|b| b.mode),
                    c.after.map(|b| b.mode),
                )
            })
            .collect();
        assert_eq!(
            words,
            [
                (&b"a"[..], Some(PLAIN), None),
                (b"a/b", None, Some(PLAIN)),
                (b"z", Some(PLAIN), Some(EXEC)),
            ]
        );
    }

    #[test]
    fn damaged_bytes_end_the_list_and_do_not_panic() {
        let good = encode(&mut [item(PLAIN, "a", 1), item(PLAIN, "b", 2)]);
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).len() < 2);
        }
        assert!(decode(b"9z junk\0").is_empty());
    }
}
