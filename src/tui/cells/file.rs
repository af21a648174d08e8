//! An image or a document: a placeholder with its name and kind.

use super::frame::Cx;
use crate::protocol::FilePart;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::{Row, Styled};

/// An image or a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCell {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// True if the user attached it.
    pub attached: bool,
}

impl FileCell {
    /// The placeholder of a file.
    pub fn of(file: &FilePart, attached: bool) -> Self {
        Self {
            name: file.name.clone(),
            mime: file.mime.clone(),
            attached,
        }
    }

    pub(super) fn lay_out(&self, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut title = Styled::new();
        let kind = if self.mime.starts_with("image/") {
            "Image "
        } else {
            "File "
        };
        title.fixed(kind, theme.dim());
        title.push(&Safe::strip(&self.name), theme.default());
        let right = cx.dim(&Safe::strip(&self.mime));
        let mut row = cx.header((theme.glyphs.file, theme.dim()), title, &[right]);
        if self.attached {
            row.fill = Some(theme.tint_user());
        }
        vec![row]
    }
}
