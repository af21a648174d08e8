//! Short names of parts: what the marker of a cleared result calls the part.
//!
//! An id is 36 characters, some twenty tokens for most models, and stands in every request from then
//! on. A handle is `prt_` and the shortest end of the id, five digits or more, that no older part of
//! the branch has: it never changes while the session lives, and no two parts have the same.

use std::collections::HashMap;

use super::Entry;
use crate::protocol::PartId;

/// Digits of the shortest handle.
pub const SHORTEST: usize = 5;

/// The handles of a branch.
#[derive(Debug, Default)]
pub struct Handles {
    digits: HashMap<PartId, usize>,
}

impl Handles {
    /// The handles of all parts of these entries.
    pub fn of(entries: &[Entry]) -> Self {
        let mut older: HashMap<u128, Vec<u128>> = HashMap::new();
        let mut digits = HashMap::new();
        for part in entries.iter().flat_map(|e| &e.parts) {
            let raw = part.id.raw();
            let alike = older.entry(end(raw, SHORTEST)).or_default();
            let mut length = SHORTEST;
            while length < 32 && alike.iter().any(|o| end(*o, length) == end(raw, length)) {
                length += 1;
            }
            alike.push(raw);
            if length > SHORTEST {
                digits.insert(part.id, length);
            }
        }
        Self { digits }
    }

    /// The handle of a part.
    pub fn name(&self, part: PartId) -> String {
        let length = self.digits.get(&part).copied().unwrap_or(SHORTEST);
        let end = end(part.raw(), length);
        format!("{}{end:0length$x}", PartId::PREFIX)
    }
}

const fn end(raw: u128, digits: usize) -> u128 {
    if digits >= 32 {
        raw
    } else {
        raw & ((1 << (digits * 4)) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::test_world::World;
    use crate::protocol::{Part, PartBody, Role};

    fn put(w: &mut World, raw: u128) -> PartId {
        let message = w.conversation.tip().expect("a message").message.clone();
        let id = PartId::from_raw(raw);
        w.conversation.put_part(Part {
            id,
            message: message.id,
            session: message.session,
            start: 1,
            end: Some(1),
            body: PartBody::Text {
                text: "x".to_owned(),
                synthetic: false,
                ignored: false,
            },
        });
        id
    }

    #[test]
    fn a_handle_is_as_short_as_older_parts_allow_and_never_changes() {
        let mut w = World::new();
        w.message(Role::Assistant, false);
        let first = put(&mut w, 0x1_0000_0000_00ab_cdef);
        let other = put(&mut w, 0x2_0000_0000_0012_3456);
        let before = Handles::of(w.conversation.entries());
        assert_eq!(before.name(first), "prt_bcdef");
        let same = put(&mut w, 0x3_0000_0000_00ab_cdef);
        let near = put(&mut w, 0x4_0000_0000_00fb_cdef);
        let handles = Handles::of(w.conversation.entries());
        assert_eq!(handles.name(first), before.name(first));
        assert_eq!(handles.name(other), "prt_23456");
        assert_eq!(handles.name(near), "prt_fbcdef");
        // The id differs only far in front.
        assert_eq!(handles.name(same), "prt_30000000000abcdef");
    }
}
