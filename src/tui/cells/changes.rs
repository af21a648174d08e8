//! What a step changed in the worktree without an edit tool (a command did it).

use super::frame::Cx;
use super::words;
use crate::protocol::PatchFile;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// Files that are kept by name.
const KEPT: usize = 50;

/// What a step changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The first files: path, lines added, lines removed.
    pub files: Vec<(String, u32, u32)>,
    /// Files in all.
    pub total: usize,
    added: u64,
    removed: u64,
}

impl Changes {
    /// The changes of a patch part.
    pub fn of(files: &[PatchFile]) -> Self {
        Self {
            files: files
                .iter()
                .take(KEPT)
                .map(|f| (f.path.clone(), f.added, f.removed))
                .collect(),
            total: files.len(),
            added: files.iter().map(|f| u64::from(f.added)).sum(),
            removed: files.iter().map(|f| u64::from(f.removed)).sum(),
        }
    }

    pub(super) fn text(&self) -> String {
        let paths: Vec<&str> = self.files.iter().map(|(path, ..)| path.as_str()).collect();
        paths.join("\n")
    }

    fn figures(cx: &Cx<'_>, added: u64, removed: u64) -> Styled {
        let theme = cx.theme;
        let mut right = Styled::new();
        right.fixed(theme.glyphs.plus, theme.good());
        right.push(&Safe::from(added), theme.good());
        right.pad(1);
        right.fixed(theme.glyphs.minus, theme.bad());
        right.push(&Safe::from(removed), theme.bad());
        right
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut title = Styled::new();
        title.fixed("Changed ", theme.dim());
        match self.files.as_slice() {
            [(path, ..)] => title.push(&Safe::strip(path), theme.dim()),
            _ => title.push(
                &Safe::strip(&words::count(self.total, "file", "files")),
                theme.dim(),
            ),
        }
        let right = Self::figures(cx, self.added, self.removed);
        let mut rows = vec![cx.header((theme.glyphs.done, theme.good()), title, &[right])];
        if cx.unfolded {
            for (path, added, removed) in &self.files {
                let mut line = Styled::new();
                line.pad(cx.geometry.text);
                let gutter = line.len();
                line.push(&Safe::strip(path), theme.dim());
                line.pad(2);
                line.extend(&Self::figures(cx, u64::from(*added), u64::from(*removed)));
                rows.push(Row {
                    line: line.fit(cx.geometry.right),
                    gutter,
                    ..Row::BLANK
                });
            }
        }
        rows
    }
}
