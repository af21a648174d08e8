//! Pastes that come as fast keys, where the terminal has no bracketed paste.
//!
//! An Enter that comes within a burst is held for a moment: if more text follows it was a line
//! break, else it was meant. So a pasted block is never sent line by line, and a prompt that a
//! script types with its Enter in one write is sent.

use crate::protocol::Millis;

/// Keys closer together than this are not typed by a hand.
const FAST_MS: Millis = 8;
/// How long an Enter within a burst waits for more text.
const HOLD_MS: Millis = 12;
/// After a line break within a burst, Enter makes line breaks for so long.
const SUPPRESS_MS: Millis = 120;
/// So many fast characters make a burst.
const BURST: u32 = 3;

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
}

impl Burst {
    /// A character was typed; true if a held Enter turns out to be a line break before it.
    pub fn typed(&mut self, now: Millis) -> bool {
        let fast = self.last.is_some_and(|last| now - last <= FAST_MS);
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

    /// When to ask whether a held Enter is to act.
    pub const fn deadline(&self) -> Option<Millis> {
        self.held
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
            assert!(!burst.typed(at));
        }
        assert_eq!(burst.enter(300), Enter::Act);
    }

    #[test]
    fn a_script_that_types_a_line_and_enter_is_obeyed() {
        let mut burst = Burst::default();
        (0..10).for_each(|_| assert!(!burst.typed(5)));
        assert_eq!(burst.enter(5), Enter::Hold);
        assert_eq!(burst.deadline(), Some(17));
        assert!(!burst.due(16, false));
        assert!(burst.due(17, false));
        assert!(!burst.due(18, false), "only once");
    }

    #[test]
    fn lines_that_follow_at_once_are_a_paste_to_the_end() {
        let mut burst = Burst::default();
        (0..10).for_each(|_| assert!(!burst.typed(5)));
        assert_eq!(burst.enter(5), Enter::Hold);
        assert!(burst.typed(6), "the held enter was a line break");
        assert_eq!(burst.enter(7), Enter::Break);
        assert_eq!(burst.enter(100), Enter::Break);
        assert_eq!(burst.enter(300), Enter::Act);
    }
}
