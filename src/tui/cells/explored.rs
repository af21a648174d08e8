//! Reads and searches in a row, folded into one line: `▸ Explored  4 reads, 2 searches   1.8s`.

use super::frame::Cx;
use super::tool::{Outcome, ToolFacts};
use super::words;
use crate::protocol::PartId;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// What kind of looking it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file was read.
    Read,
    /// Contents or names were searched.
    Search,
    /// A folder was listed.
    List,
}

impl Kind {
    /// The kind of a tool; none if it is not one that only looks.
    pub fn of(tool: &str) -> Option<Self> {
        match tool {
            "read" => Some(Self::Read),
            "grep" | "glob" => Some(Self::Search),
            "list" | "ls" => Some(Self::List),
            _ => None,
        }
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Read => ("read", "reads"),
            Self::Search => ("search", "searches"),
            Self::List => ("list", "lists"),
        }
    }
}

/// One call of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its part.
    pub part: PartId,
    /// What kind.
    pub kind: Kind,
    /// The call. Of its output nothing is kept unless it failed.
    pub facts: ToolFacts,
}

/// Reads and searches in a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explored {
    /// In call order.
    pub entries: Vec<Entry>,
}

impl Explored {
    /// Takes a call in, or what is new about it.
    pub fn put(&mut self, part: PartId, kind: Kind, mut facts: ToolFacts) {
        if facts.outcome != Outcome::Failed {
            facts.output = super::tool::Kept::default();
        }
        let known = self.entries.iter().find(|e| e.part == part);
        if let Some(known) = known.filter(|_| facts.outcome.is_running()) {
            facts.asked = known.facts.asked;
            facts.asked_why.clone_from(&known.facts.asked_why);
        }
        let entry = Entry { part, kind, facts };
        match self.entries.iter_mut().find(|e| e.part == part) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }

    /// The facts of one of its calls.
    pub fn facts_mut(&mut self, part: PartId) -> Option<&mut ToolFacts> {
        let entry = self.entries.iter_mut().find(|e| e.part == part)?;
        Some(&mut entry.facts)
    }

    /// The call that the user is asked about, if any.
    pub fn asked(&self) -> Option<&Entry> {
        self.entries.iter().find(|e| e.facts.asked)
    }

    /// True while one of them runs.
    pub const fn is_running(&self) -> bool {
        let mut n = 0;
        while n < self.entries.len() {
            if self.entries.as_slice()[n].facts.outcome.is_running() {
                return true;
            }
            n += 1;
        }
        false
    }

    pub(super) fn text(&self) -> String {
        let lines: Vec<&str> = self
            .entries
            .iter()
            .map(|e| e.facts.title.as_str())
            .collect();
        lines.join("\n")
    }

    pub(super) fn weight(&self) -> usize {
        self.entries
            .iter()
            .map(|e| size_of::<Entry>() + e.facts.weight())
            .sum()
    }

    /// Milliseconds during which at least one of them ran.
    fn took(&self) -> i64 {
        let mut spans: Vec<(i64, i64)> = self
            .entries
            .iter()
            .map(|e| (e.facts.start, e.facts.end))
            .collect();
        spans.sort_unstable();
        let (mut total, mut until) = (0, i64::MIN);
        for (start, end) in spans {
            total += (end - start.max(until)).max(0);
            until = until.max(end);
        }
        total
    }

    fn counts(&self) -> String {
        let mut parts = Vec::new();
        for kind in [Kind::Read, Kind::Search, Kind::List] {
            let n = self.entries.iter().filter(|e| e.kind == kind).count();
            let (one, many) = kind.words();
            if n > 0 {
                parts.push(words::count(n, one, many));
            }
        }
        parts.join(", ")
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let running = self.is_running();
        let mut title = Styled::new();
        title.fixed(
            if running { "Exploring  " } else { "Explored  " },
            theme.dim(),
        );
        title.push(&Safe::strip(&self.counts()), theme.dim());
        let count = |refused: bool| {
            let bad = self.entries.iter().filter(|e| {
                e.facts.outcome == Outcome::Failed && e.facts.refused.is_some() == refused
            });
            bad.count()
        };
        for (count, word) in [(count(false), "failed"), (count(true), "refused")] {
            if count > 0 {
                title.fixed(", ", theme.dim());
                title.push(&Safe::strip(&format!("{count} {word}")), theme.bad());
            }
        }
        let glyph = match (running, cx.unfolded) {
            (true, _) => cx.spin(),
            (false, true) => (theme.glyphs.open, theme.dim()),
            (false, false) => (theme.glyphs.folded, theme.dim()),
        };
        let time = if running {
            let start = self
                .entries
                .iter()
                .map(|e| e.facts.start)
                .min()
                .unwrap_or(cx.now);
            words::running(cx.now - start)
        } else {
            words::took(self.took())
        };
        let mut rows = vec![match self.asked() {
            Some(entry) => Self::waiting(entry, cx),
            None => cx.header(glyph, title, &[cx.dim(&time)]),
        }];
        if cx.unfolded {
            for entry in &self.entries {
                self.entry(entry, cx, &mut rows);
            }
        }
        rows
    }

    /// `⠿ Waiting for you  read src/main.rs                 4th identical call`.
    fn waiting(entry: &Entry, cx: &Cx<'_>) -> Row {
        let theme = cx.theme;
        let mut title = Styled::new();
        title.fixed("Waiting for you  ", theme.default());
        title.push(&Safe::strip(&entry.facts.tool), theme.default());
        title.pad(1);
        title.push(&entry.facts.shown_title(), theme.default());
        let why = Safe::strip(&entry.facts.asked_why);
        let right = if entry.facts.asked_why.is_empty() {
            cx.dim(&words::running(cx.now - entry.facts.start))
        } else {
            Styled::of(&why, theme.amber())
        };
        cx.header((theme.glyphs.waiting, theme.amber()), title, &[right])
    }

    #[expect(clippy::unused_self, reason = "belongs to the group's layout")]
    fn entry(&self, entry: &Entry, cx: &Cx<'_>, rows: &mut Vec<Row>) {
        let theme = cx.theme;
        let mut line = Styled::new();
        line.pad(cx.geometry.text);
        let gutter = line.len();
        let (word, _) = entry.kind.words();
        let bad = entry.facts.outcome == Outcome::Failed;
        line.fixed(word, if bad { theme.bad() } else { theme.dim() });
        line.pad(8_usize.saturating_sub(word.len()));
        line.push(&entry.facts.shown_title(), theme.dim());
        rows.push(Row {
            line: line.fit(cx.geometry.right),
            gutter,
            ..Row::BLANK
        });
        if let Some(words) = &entry.facts.refused {
            let text = Safe::strip(format!("refused by you  {words}").trim_end());
            return cx.output(&[(text, theme.default())], rows);
        }
        for text in entry.facts.output.last(2) {
            cx.output(&[(Safe::strip(text), theme.default())], rows);
        }
    }
}
