//! Reports as the agent sends them: the changes of frame 5, the context of frame 7.

use dunlin::protocol::{
    DiffLine, DiffReport, DiffScope, FileDiff, FileStatus, Hunk, LineKind, Millis, PartId,
};
use serde_json::{Value, json};

/// A hunk from its lines as a unified diff has them; numbers begin at `old` and `new`.
pub(super) fn hunk(heading: &str, (mut old, mut new): (u32, u32), lines: &[&str]) -> Hunk {
    let line = |text: &&str| {
        let kind = match text.as_bytes().first() {
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            _ => LineKind::Context,
        };
        let line = DiffLine {
            kind,
            old: (kind != LineKind::Added).then_some(old),
            new: (kind != LineKind::Removed).then_some(new),
            text: text.get(1..).unwrap_or_default().to_owned(),
        };
        old += u32::from(kind != LineKind::Added);
        new += u32::from(kind != LineKind::Removed);
        line
    };
    Hunk {
        heading: heading.to_owned(),
        lines: lines.iter().map(line).collect(),
    }
}

/// The report of frame 5.
pub(super) fn diff() -> DiffReport {
    let file = |path: &str, status, (added, removed), hunks| FileDiff {
        path: path.to_owned(),
        status,
        added,
        removed,
        binary: false,
        lines: 156,
        hunks,
    };
    let resize = hunk(
        "impl Pager :: on_resize",
        (38, 38),
        &[
            "     fn on_resize(&mut self, width: u16) {",
            "         let cells = self.cells.len();",
            "-        self.reflow(width);",
            "+        if self.replaying {",
            "+            self.pending_width = Some(width);",
            "+        } else {",
            "+            self.reflow(cells, width);",
            "+        }",
            "     }",
            " ",
        ],
    );
    let replay = hunk(
        "impl Pager :: finish_replay",
        (88, 92),
        &[
            "     pub fn finish_replay(&mut self) {",
            "         self.replaying = false;",
            "+        if let Some(width) = self.pending_width.take() {",
            "+            self.reflow(self.cells.len(), width);",
            "+        }",
            "         self.request_frame();",
            "     }",
        ],
    );
    let other = hunk("", (1, 1), &["-a", "+b"]);
    DiffReport {
        scope: DiffScope::Turn,
        files: vec![
            file(
                "src/reflow.rs",
                FileStatus::Modified,
                (9, 3),
                vec![resize, replay],
            ),
            file(
                "src/replay.rs",
                FileStatus::Modified,
                (44, 15),
                vec![other.clone()],
            ),
            file("tests/large.rs", FileStatus::Added, (8, 0), vec![other]),
        ],
        notes: Vec::new(),
    }
}

/// The report of frame 7; its bars in fortieths of the compaction point.
pub(super) fn context(now: Millis) -> Value {
    const BARS: [u64; 27] = [
        1, 2, 3, 4, 6, 9, 10, 13, 15, 17, 20, 24, 27, 30, 33, 29, 33, 36, 40, 6, 7, 9, 10, 9, 11,
        12, 13,
    ];
    let requests: Vec<u64> = BARS.iter().map(|level| level * 4_000).collect();
    let minutes = |n: Millis| now + n * 60_000;
    let large = |tokens: u64, tool: &str, title: &str, turn: u64| json!({"tool": tool, "title": title, "tokens": tokens, "turn": turn});
    let mut stale = large(7_402, "read", "src/session/processor.rs", 3);
    stale["changed_in"] = json!(9);
    let mut again = large(2_951, "grep", "fn reflow", 2);
    again["superseded"] = json!(true);
    let part = json!(PartId::from_raw(1));
    json!({
        "messages": 87, "parts": 423, "total_tokens": 52_341, "cache_hit_rate": 0.81,
        "reclaimed": 160_098,
        "distribution": {"system": 8_217, "tools": 6_438, "instructions": 2_146, "user": 3_925,
            "assistant": 9_683, "reasoning": 2_826, "tool_results": 19_106},
        "largest": [stale, large(4_118, "bash", "cargo test --workspace", 7), again],
        "requests": requests,
        "timeline": [
            {"at": minutes(9), "kind": "pruned", "request": 15, "count": 12, "freed": 19_204,
                "parts": [part], "note": "3 stale reads, 9 old outputs"},
            {"at": minutes(24), "kind": "compacted", "request": 19, "count": 61, "before": 161_030,
                "after": 24_112, "note": "kept the last 2 turns, plan, 5 files"},
            {"at": minutes(38), "kind": "pruned", "request": 23, "count": 4, "freed": 3_976,
                "parts": [part]},
        ],
    })
}
