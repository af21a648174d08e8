//! Pastes that come as fast keys, where the terminal has no bracketed paste.
//!
//! An Enter that comes within a burst is held for a moment: if more text follows it was a line
//! break, else it was meant. So a pasted block is never sent line by line, and a prompt that a
//! script types with its Enter in one write is sent. When the burst is over, the composer makes a chip
//! of what it brought, if that is much.

use crate::protocol::Millis;

/// Keys closer together than this are not typed by a hand.
const FAST_MS: Millis = 8;
/// How long an Enter within a burst waits for more text.
const HOLD_MS: Millis = 12;
/// After a line break within a burst, Enter makes line breaks for so long.
const SUPPRESS_MS: Millis = 120;
/// So many fast characters make a burst.
const BURST: u32 = 3;
/// A silence of so long ends a paste; a paste comes in pieces.
const OVER_MS: Millis = 120;
/// Fewer characters are no paste that anybody wants folded: a held key repeats slower than this.
const LINE: u32 = 20;

/// What an Enter is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enter {
    /// What Enter does.
    Act,
    /// A line break of a paste.
    Break,
    /// Not known yet: ask `due` again.
    Hold,
}

/// Watches the times of keys.
#[derive(Debug, Clone, Default)]
pub struct Burst {
    last: Option<Millis>,
    run: u32,
    held: Option<Millis>,
    breaks_until: Option<Millis>,
    /// What came without a silence, if it may be a paste.
    block: Option<Block>,
}

/// Text that came without a silence.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// The byte of the text at which it began.
    from: usize,
    /// How many characters came, and how many of them faster than a hand.
    chars: u32,
    fast: u32,
}

impl Burst {
    /// A character was typed, the cursor being at this byte; true if a held Enter turns out to be a
    /// line break before it.
    pub fn typed(&mut self, now: Millis, cursor: usize) -> bool {
        let fast = self.last.is_some_and(|last| now - last <= FAST_MS);
        let goes_on = self.last.is_some_and(|last| now - last <= OVER_MS);
        let block = self.block.filter(|_| goes_on).unwrap_or(Block {
            from: cursor,
            chars: 0,
            fast: 0,
        });
        self.block = Some(Block {
            chars: block.chars + 1,
            fast: block.fast + u32::from(fast),
            ..block
        });
        self.run = if fast { self.run + 1 } else { 1 };
        self.last = Some(now);
        let broke = self.held.take().is_some();
        if broke {
            self.breaks_until = Some(now + SUPPRESS_MS);
        }
        broke
    }

    /// Enter was pressed.
    pub fn enter(&mut self, now: Millis) -> Enter {
        if self.breaks_until.is_some_and(|until| now <= until) {
            self.breaks_until = Some(now + SUPPRESS_MS);
            return Enter::Break;
        }
        let fast = self.last.is_some_and(|last| now - last <= FAST_MS);
        if fast && self.run >= BURST {
            self.held = Some(now + HOLD_MS);
            return Enter::Hold;
        }
        Enter::Act
    }

    /// When to ask whether a held Enter is to act, or whether a paste is over.
    pub fn deadline(&self) -> Option<Millis> {
        let over = self.last.filter(|_| self.is_block()).map(|at| at + OVER_MS);
        self.held.or(over)
    }

    /// True if what came last is nothing that a hand has typed: fast, and at least a few lines.
    fn is_block(&self) -> bool {
        let pasted = |block: &Block| block.chars > LINE && block.fast * 10 >= block.chars * 8;
        self.block.as_ref().is_some_and(pasted)
    }

    /// True if a paste came and nothing has come since for a while.
    pub fn is_over(&self, now: Millis) -> bool {
        self.is_block() && self.last.is_some_and(|last| now - last > OVER_MS)
    }

    /// The byte at which a paste began, once, when it is over. `anyway`: another key ends it.
    pub fn ended(&mut self, now: Millis, anyway: bool) -> Option<usize> {
        if !self.is_block() || (!anyway && !self.is_over(now)) {
            return None;
        }
        self.block.take().map(|block| block.from)
    }

    /// True, once, if a held Enter is to act now. `anyway`: another key came, so it was meant.
    pub fn due(&mut self, now: Millis, anyway: bool) -> bool {
        if self.held.is_some_and(|at| anyway || now >= at) {
            self.held = None;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hands_enter_acts_at_once() {
        let mut burst = Burst::default();
        for at in [0, 90, 180, 260] {
            assert!(!burst.typed(at, 0));
        }
        assert_eq!(burst.enter(300), Enter::Act);
    }

    #[test]
    fn a_script_that_types_a_line_and_enter_is_obeyed() {
        let mut burst = Burst::default();
        (0..10).for_each(|_| assert!(!burst.typed(5, 0)));
        assert_eq!(burst.enter(5), Enter::Hold);
        assert_eq!(burst.deadline(), Some(17));
        assert!(!burst.due(16, false));
        assert!(burst.due(17, false));
        assert!(!burst.due(18, false), "only once");
    }

    #[test]
    fn lines_that_follow_at_once_are_a_paste_to_the_end() {
        let mut burst = Burst::default();
        (0..10).for_each(|_| assert!(!burst.typed(5, 0)));
        assert_eq!(burst.enter(5), Enter::Hold);
        assert!(burst.typed(6, 0), "the held enter was a line break");
        assert_eq!(burst.enter(7), Enter::Break);
        assert_eq!(burst.enter(100), Enter::Break);
        assert_eq!(burst.enter(300), Enter::Act);
    }

    #[test]
    fn a_block_ends_with_a_silence_and_a_hand_makes_none() {
        let mut burst = Burst::default();
        for n in 0..40 {
            burst.typed(n * 2, 5 + n as usize);
        }
        assert_eq!(burst.deadline(), Some(78 + 120));
        assert_eq!(burst.ended(100, false), None, "more may come");
        assert_eq!(burst.ended(300, false), Some(5));
        assert_eq!(burst.ended(300, true), None, "only once");
        for n in 0..200 {
            burst.typed(1_000 + n * 33, 0);
        }
        assert_eq!(burst.ended(90_000, true), None, "a held key is no paste");
    }
}
