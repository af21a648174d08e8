//! When the next frame is due: the earliest wish wins, wishes coalesce, rates are capped.
//!
//! Pure: the time is passed in. Without a wish nothing is due, so an idle program sleeps.

use std::time::{Duration, Instant};

/// 60 frames a second at most.
const FRAME: Duration = Duration::from_millis(16);
/// 30 while text streams: the agent hands text over 30 times a second (`agent::driver`). The gap is
/// a little shorter than that, so that what comes is drawn when it comes and never a frame later.
const STREAMING: Duration = Duration::from_millis(28);

/// The next frame's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frames {
    due: Option<Instant>,
    last: Option<Instant>,
}

impl Frames {
    /// For a key: now.
    pub fn now(&mut self, now: Instant) {
        self.wish(now);
    }

    /// For what the agent or the mouse did: as soon as the rate allows.
    pub fn soon(&mut self, now: Instant, streaming: bool) {
        let gap = if streaming { STREAMING } else { FRAME };
        self.wish(self.last.map_or(now, |last| (last + gap).max(now)));
    }

    fn wish(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// When the next frame is due; none if nobody wants one.
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// True if a frame is due.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// A frame was drawn: wishes up to now are met.
    pub const fn drawn(&mut self, now: Instant) {
        self.due = None;
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_coalesce_into_the_earliest_and_rates_are_capped() {
        let start = Instant::now();
        let ms = |n| start + Duration::from_millis(n);
        let mut frames = Frames::default();
        assert_eq!(frames.due(), None, "idle: nothing is due");
        frames.soon(ms(0), true);
        assert!(frames.is_due(ms(0)), "the first delta shows at once");
        frames.drawn(ms(0));
        for at in [1, 5, 9, 20] {
            frames.soon(ms(at), true);
        }
        assert_eq!(frames.due(), Some(ms(28)));
        frames.soon(ms(21), false);
        assert_eq!(frames.due(), Some(ms(21)), "16 ms have passed");
        frames.drawn(ms(21));
        frames.soon(ms(22), false);
        frames.now(ms(23));
        assert_eq!(frames.due(), Some(ms(23)), "a key is shown at once");
    }
}
