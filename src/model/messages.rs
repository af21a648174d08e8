//! The messages of a request as a list that consecutive requests share.
//!
//! A long conversation has thousands of messages and each request adds two or three: assembling, the
//! encoder and the cache ledger all keep the list. It is held in shared blocks of pointers, so a copy
//! costs a pointer per block, and what two requests have in common is found block by block. Plain data.

use std::sync::Arc;

use super::RequestMessage;

/// Messages in a block; all blocks but the last are full.
const BLOCK: usize = 64;

/// Messages, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Messages {
    blocks: Vec<Arc<Vec<Arc<RequestMessage>>>>,
    len: usize,
}

impl Messages {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The message with this number, from 0.
    pub fn get(&self, at: usize) -> Option<&Arc<RequestMessage>> {
        self.blocks.get(at / BLOCK)?.get(at % BLOCK)
    }

    /// Adds one at the end.
    pub fn push(&mut self, message: Arc<RequestMessage>) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => Arc::make_mut(block).push(message),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(message);
                self.blocks.push(Arc::new(block));
            }
        }
        self.len += 1;
    }

    /// Keeps the first `len`.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.blocks.truncate(len.div_ceil(BLOCK));
        if let Some(last) = self.blocks.last_mut()
            && !len.is_multiple_of(BLOCK)
        {
            Arc::make_mut(last).truncate(len % BLOCK);
        }
        self.len = len;
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<RequestMessage>> + Clone {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    /// Those from this number on.
    pub fn iter_from(&self, from: usize) -> impl Iterator<Item = &Arc<RequestMessage>> + Clone {
        let blocks = self.blocks.get(from / BLOCK..).unwrap_or_default();
        let all = blocks.iter().flat_map(|block| block.iter());
        all.skip(from % BLOCK)
    }

    /// How many of the first messages are the very same in both, told by their pointers.
    pub fn same(&self, other: &Self) -> usize {
        let blocks = self.blocks.iter().zip(&other.blocks);
        let shared = blocks.take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        let from = (shared * BLOCK).min(self.len);
        let rest = self.iter_from(from).zip(other.iter_from(from));
        from + rest.take_while(|(a, b)| Arc::ptr_eq(a, b)).count()
    }
}

impl Extend<Arc<RequestMessage>> for Messages {
    fn extend<T: IntoIterator<Item = Arc<RequestMessage>>>(&mut self, messages: T) {
        for message in messages {
            self.push(message);
        }
    }
}

impl FromIterator<Arc<RequestMessage>> for Messages {
    fn from_iter<T: IntoIterator<Item = Arc<RequestMessage>>>(messages: T) -> Self {
        let mut all = Self::default();
        all.extend(messages);
        all
    }
}

impl From<Vec<Arc<RequestMessage>>> for Messages {
    fn from(messages: Vec<Arc<RequestMessage>>) -> Self {
        messages.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Block;
    use crate::protocol::ModelRef;

    fn message(n: usize) -> Arc<RequestMessage> {
        Arc::new(RequestMessage {
            assistant: n % 2 == 1,
            blocks: vec![Block::Text(n.to_string())],
            model: ModelRef {
                provider: "p".to_owned(),
                model: "m".to_owned(),
            },
        })
    }

    fn number(message: &RequestMessage) -> usize {
        match &message.blocks[0] {
            Block::Text(text) => text.parse().expect("a number"),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn it_behaves_like_a_list_at_every_length() {
        for len in [0, 1, 63, 64, 65, 128, 200] {
            let mut all: Messages = (0..len).map(message).collect();
            assert_eq!((all.len(), all.is_empty()), (len, len == 0));
            assert_eq!(
                all.iter().map(|m| number(m)).collect::<Vec<_>>(),
                (0..len).collect::<Vec<_>>()
            );
            for from in [0, 1, 63, 64, 65, 130, 300] {
                assert_eq!(
                    all.iter_from(from).map(|m| number(m)).collect::<Vec<_>>(),
                    (from..len).collect::<Vec<_>>()
                );
                assert_eq!(all.get(from).is_some(), from < len);
            }
            for keep in [199, 128, 127, 65, 64, 63, 1, 0] {
                all.truncate(keep);
                let left = keep.min(len);
                assert_eq!(
                    all.iter().map(|m| number(m)).collect::<Vec<_>>(),
                    (0..left).collect::<Vec<_>>()
                );
                assert_eq!(all.len(), left);
                let mut more = all.clone();
                more.push(message(left));
                assert_eq!(
                    more.iter().map(|m| number(m)).collect::<Vec<_>>(),
                    (0..=left).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn a_copy_goes_its_own_way_and_tells_how_much_is_the_same() {
        let first: Messages = (0..150).map(message).collect();
        let mut second = first.clone();
        assert_eq!(first.same(&second), 150);
        second.push(message(150));
        assert_eq!((first.same(&second), second.same(&first)), (150, 150));
        second.truncate(70);
        second.push(message(70));
        assert_eq!((first.same(&second), first.len()), (70, 150));
        assert_eq!(first.same(&(0..150).map(message).collect()), 0);
    }
}
