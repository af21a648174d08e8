//! The signs of the screen, in Unicode and in ASCII.
//!
//! Every state has a glyph and a word (UX §7). The ASCII set is for terminals whose width probe
//! failed, for `TERM=linux` and for C locales. Each glyph is one column wide.

/// One set of signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glyphs {
    /// Before what the user said, the composer, the selected row.
    pub prompt: &'static str,
    /// Succeeded.
    pub done: &'static str,
    /// Failed.
    pub failed: &'static str,
    /// Folded, can be opened.
    pub folded: &'static str,
    /// Opened, can be folded.
    pub open: &'static str,
    /// Reasoning.
    pub thought: &'static str,
    /// Another attempt.
    pub retry: &'static str,
    /// Compaction.
    pub compact: &'static str,
    /// Before output lines.
    pub bar: &'static str,
    /// In place of hidden lines.
    pub hidden: &'static str,
    /// Before the rest of a line of code that was broken at the edge.
    pub goes_on: &'static str,
    /// Needs the user.
    pub ask: &'static str,
    /// Warns.
    pub warn: &'static str,
    /// Between words of one row.
    pub dot: &'static str,
    /// Says something in passing; a bullet.
    pub note: &'static str,
    /// Waits for the user.
    pub waiting: &'static str,
    /// Goes in at the next step.
    pub next_step: &'static str,
    /// After the turn; a cut.
    pub later: &'static str,
    /// An image or a document.
    pub file: &'static str,
    /// Removed line.
    pub minus: &'static str,
    /// Added line.
    pub plus: &'static str,
    /// To the newest.
    pub down: &'static str,
    /// From → to.
    pub arrow: &'static str,
    /// Context line: in use.
    pub used: &'static str,
    /// Context line: pruned.
    pub pruned: &'static str,
    /// Context line: free; a rule.
    pub free: &'static str,
    /// Context line: the auto-compact point.
    pub compact_at: &'static str,
    /// Context line: the auto-compact point, passed.
    pub compact_passed: &'static str,
    /// The part of a bar that is not there yet.
    pub bar_rest: &'static str,
    /// A column rule.
    pub column: &'static str,
    /// A branch of a tree that others follow, and the last one.
    pub tree: (&'static str, &'static str),
    /// Where rules cross.
    pub cross: &'static str,
    /// Task list: open and done.
    pub boxes: (&'static str, &'static str),
    /// In progress.
    pub active: &'static str,
    /// The spinner's frames.
    pub spinner: &'static [&'static str],
}

/// What stands for a sign of words (quotes, arrows of keys, a cut) where only ASCII can be shown; none
/// if the sign may stay.
pub fn in_ascii(symbol: &str) -> Option<&'static str> {
    let sign = match symbol {
        "…" => "~",
        "“" | "”" | "„" => "\"",
        "‘" | "’" => "'",
        "←" => "<",
        "→" => ">",
        "↑" => "^",
        "↓" | "▾" => "v",
        "▸" => ">",
        "·" | "•" => ".",
        "–" | "—" | "−" => "-",
        "×" => "x",
        "│" | "┃" | "┊" | "╎" => "|",
        "─" | "━" => "-",
        "┌" | "┐" | "└" | "┘" | "├" | "┤" | "┬" | "┴" | "┼" => "+",
        "▁" | "▂" | "▃" => ".",
        "▄" | "▅" | "▆" => "o",
        "▇" | "█" => "#",
        _ => return None,
    };
    Some(sign)
}

impl Glyphs {
    /// For terminals that can.
    pub const UNICODE: Self = Self {
        prompt: "❯",
        done: "✓",
        failed: "✗",
        folded: "▸",
        open: "▾",
        thought: "⋮",
        retry: "⟲",
        compact: "⌁",
        bar: "│",
        hidden: "┊",
        goes_on: "↳",
        ask: "?",
        warn: "!",
        dot: "·",
        note: "•",
        waiting: "⠿",
        next_step: "↳",
        later: "⋯",
        file: "◫",
        minus: "−",
        plus: "+",
        down: "↓",
        arrow: "→",
        used: "━",
        pruned: "╍",
        free: "─",
        compact_at: "┼",
        compact_passed: "┿",
        bar_rest: "╌",
        column: "│",
        tree: ("├", "└"),
        cross: "┼",
        boxes: ("☐", "☑"),
        active: "▸",
        spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    };

    /// For all others.
    pub const ASCII: Self = Self {
        prompt: ">",
        done: "*",
        failed: "x",
        folded: "+",
        open: "v",
        thought: ":",
        retry: "@",
        compact: "~",
        bar: "|",
        hidden: ":",
        goes_on: "\\",
        ask: "?",
        warn: "!",
        dot: "|",
        note: ".",
        waiting: "=",
        next_step: ">",
        later: "~",
        file: "#",
        minus: "-",
        plus: "+",
        down: "v",
        arrow: ">",
        used: "=",
        pruned: "~",
        free: "-",
        compact_at: "+",
        compact_passed: "#",
        bar_rest: ".",
        column: "|",
        tree: ("|", "`"),
        cross: "+",
        boxes: ("-", "x"),
        active: "o",
        spinner: &["|", "/", "-", "\\"],
    };

    /// The spinner's sign at a tick; the third one when nothing may move.
    pub fn spin(&self, tick: usize, motion: bool) -> &'static str {
        let at = if motion { tick } else { 2 };
        self.spinner
            .get(at % self.spinner.len().max(1))
            .copied()
            .unwrap_or(self.note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn all(set: &Glyphs) -> Vec<&'static str> {
        let mut all = vec![
            set.prompt,
            set.done,
            set.failed,
            set.folded,
            set.open,
            set.thought,
            set.retry,
            set.compact,
            set.bar,
            set.hidden,
            set.goes_on,
            set.ask,
            set.warn,
            set.dot,
            set.note,
            set.waiting,
            set.next_step,
            set.later,
            set.file,
            set.minus,
            set.plus,
            set.down,
            set.arrow,
            set.used,
            set.pruned,
            set.free,
            set.compact_at,
            set.compact_passed,
            set.bar_rest,
            set.column,
            set.tree.0,
            set.tree.1,
            set.cross,
            set.boxes.0,
            set.boxes.1,
            set.active,
        ];
        all.extend(set.spinner);
        all
    }

    #[test]
    fn every_glyph_is_one_column() {
        for set in [Glyphs::UNICODE, Glyphs::ASCII] {
            for glyph in all(&set) {
                assert_eq!(glyph.width(), 1, "{glyph}");
            }
        }
    }

    #[test]
    fn the_ascii_set_is_ascii() {
        assert!(all(&Glyphs::ASCII).iter().all(|g| g.is_ascii()));
    }
}
