//! Markdown without its marks: for searching what shows, and for copying a code block.
//!
//! Called by the transcript's search and by `/copy code`. Nothing here lays anything out.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::OPTIONS;

/// What Markdown says without its marks: blocks on lines of their own.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for event in Parser::new_ext(text, OPTIONS) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                out.push_str(&text);
            }
            Event::SoftBreak => out.push(' '),
            Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => {
                out.push('\n');
            }
            Event::End(TagEnd::TableCell | TagEnd::TableRow | TagEnd::TableHead) => out.push('\n'),
            _ => {}
        }
    }
    out
}

/// The text of the last code block, without its fence.
pub fn last_code(text: &str) -> Option<String> {
    let (mut last, mut open) = (None, None);
    for event in Parser::new_ext(text, OPTIONS) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => open = Some(String::new()),
            Event::End(TagEnd::CodeBlock) => last = open.take().or(last),
            Event::Text(text) => {
                if let Some(code) = &mut open {
                    code.push_str(&text);
                }
            }
            _ => {}
        }
    }
    last
}
