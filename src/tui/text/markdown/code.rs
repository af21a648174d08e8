//! Lines of a code block: highlighted if the worker is done, plain until then.
//!
//! Used by the Markdown writer and by the streamed code blocks, so that both look the same.

use ratatui::style::Style;

use super::Page;
use crate::tui::term::sanitise::Safe;
use crate::tui::text::highlight;
use crate::tui::text::row::Styled;
use crate::tui::text::wrap::Prefix;

/// Columns that code stands further in than prose.
pub const INDENT: usize = 2;

/// Puts a code block's indent behind a prefix. Where a line goes on that was broken at the edge, a sign
/// says so, and nothing of the prefix is copied.
pub fn indent(prefix: &mut Prefix, page: &Page<'_>, goes_on: bool) {
    let all = prefix.gutter == prefix.line.len();
    if goes_on {
        prefix
            .line
            .fixed(page.theme.glyphs.goes_on, page.theme.dim());
    }
    prefix.line.pad(INDENT - usize::from(goes_on));
    if all || goes_on {
        prefix.gutter = prefix.line.len();
    }
}

/// The language of a fence's info string: its first word, lower case is up to the highlighter.
pub fn language(info: &str) -> &str {
    info.split(|c: char| c.is_whitespace() || matches!(c, ',' | '{'))
        .next()
        .unwrap_or_default()
}

/// The lines of a code block's text.
pub fn lines(language: &str, text: &str, page: &Page<'_>) -> Vec<Styled> {
    let painted = page
        .highlights
        .get(highlight::key(language, text), language, || text.to_owned());
    text.strip_suffix('\n')
        .unwrap_or(text)
        .split('\n')
        .enumerate()
        .filter(|_| !text.is_empty())
        .map(|(n, line)| styled(line, painted.as_deref().and_then(|p| p.line(n)), page))
        .collect()
}

/// One line of code.
pub fn styled(
    line: &str,
    painted: Option<&[(u32, crate::tui::theme::CodeKind)]>,
    page: &Page<'_>,
) -> Styled {
    let mut styled = Styled::new();
    let plain = page.theme.default();
    match painted {
        None => styled.push(&Safe::strip(line), plain),
        Some(runs) => {
            let mut start = 0;
            for (end, kind) in runs {
                let end = (*end as usize).min(line.len());
                if let Some(piece) = line.get(start..end) {
                    push_expanded(&mut styled, piece, page.theme.code(*kind));
                    start = end;
                }
            }
            push_expanded(&mut styled, line.get(start..).unwrap_or_default(), plain);
        }
    }
    styled
}

/// Tabs in later pieces must reach the stops of the whole line.
fn push_expanded(styled: &mut Styled, piece: &str, style: Style) {
    for (n, part) in piece.split('\t').enumerate() {
        if n > 0 {
            let column = styled.columns();
            styled.repeat(
                ' ',
                crate::tui::term::sanitise::TAB - column % crate::tui::term::sanitise::TAB,
                style,
            );
        }
        styled.push(&Safe::strip_inline(part), style);
    }
}
