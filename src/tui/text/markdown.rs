//! Markdown → rows.
//!
//! Called by the transcript's text cells for one or a few top-level blocks at a time, and by overlays
//! for whole texts. pulldown-cmark parses; what it says is laid out here. Reference definitions do
//! not exist for us: `stream` breaks them up, so that no later line can change an earlier block.

pub mod code;
mod lines;
mod plain;
mod table;

pub use plain::{last_code, plain};

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};

use super::highlight::Highlights;
use super::link::Links;
use super::row::{Row, Styled};
use crate::tui::term::sanitise::Safe;
use crate::tui::theme::{CodeKind, Theme};

/// What a layout depends on besides the text.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Styles and glyphs.
    pub theme: &'a Theme,
    /// Finished highlighting.
    pub highlights: &'a Highlights,
    /// Addresses, where they lead somewhere.
    pub links: Option<&'a Links>,
    /// Columns of margin before the text.
    pub left: usize,
    /// Columns that prose may use after the margin.
    pub measure: usize,
    /// Columns that code and tables may use after the margin.
    pub room: usize,
}

/// What of Markdown is understood.
pub const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// Lays out Markdown; a blank row between top-level blocks, none around.
pub fn rows(text: &str, page: &Page<'_>) -> Vec<Row> {
    let mut writer = Writer::new(page);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        writer.event(event, text.get(range).unwrap_or_default());
    }
    writer.flush();
    writer.rows
}

/// Further rows of a table that was cut: `head` is its first two lines.
pub fn more_rows(head: &str, text: &str, page: &Page<'_>) -> Vec<Row> {
    let mut writer = Writer::new(page);
    writer.headless = true;
    let whole = format!("{head}{text}");
    for (event, range) in Parser::new_ext(&whole, OPTIONS).into_offset_iter() {
        writer.event(event, whole.get(range).unwrap_or_default());
    }
    writer.flush();
    writer.rows
}

/// A container whose prefix stands before what is in it.
#[derive(Debug)]
enum Frame {
    Quote,
    List {
        next: Option<u64>,
        tight: bool,
        items: usize,
    },
    /// `marker` is used up by the first row.
    Item {
        marker: Option<Styled>,
        indent: usize,
    },
}

struct Writer<'a> {
    page: &'a Page<'a>,
    rows: Vec<Row>,
    frames: Vec<Frame>,
    line: Styled,
    style: Vec<Style>,
    /// Set while a code block is read: language and text.
    code: Option<(String, String)>,
    links: Vec<(String, usize)>,
    table: Option<table::Table>,
    /// True if the next table's head stands somewhere above already.
    headless: bool,
    /// A blank row is due before the next one.
    gap: bool,
}

impl<'a> Writer<'a> {
    fn new(page: &'a Page<'a>) -> Self {
        Self {
            page,
            rows: Vec::new(),
            frames: Vec::new(),
            line: Styled::new(),
            style: vec![page.theme.default()],
            code: None,
            links: Vec::new(),
            table: None,
            headless: false,
            gap: false,
        }
    }

    fn event(&mut self, event: Event<'_>, source: &str) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(code) => self.inline_code(&code),
            Event::Html(html) => {
                for line in html.lines() {
                    self.line.push(&Safe::strip(line), self.page.theme.dim());
                    self.flush();
                }
            }
            Event::InlineHtml(html) => self.line.push(&Safe::strip(&html), self.page.theme.dim()),
            Event::SoftBreak => self.line.fixed(" ", self.current()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.open_block();
                let columns = self.page.measure.saturating_sub(self.depth()).clamp(1, 24);
                self.line.repeat(
                    first_char(self.page.theme.glyphs.free),
                    columns,
                    self.page.theme.dim(),
                );
                self.flush();
                self.close_block();
            }
            Event::TaskListMarker(done) => {
                let boxes = self.page.theme.glyphs.boxes;
                let style = if done {
                    self.page.theme.good()
                } else {
                    self.page.theme.dim()
                };
                let sign = if done { boxes.1 } else { boxes.0 };
                // The box is the item's sign; a number stays.
                let bullet = self.page.theme.glyphs.note;
                match self.frames.last_mut() {
                    Some(Frame::Item {
                        marker: Some(marker),
                        ..
                    }) if marker.as_str().trim_end() == bullet => {
                        *marker = Styled::new();
                        marker.fixed(sign, style);
                        marker.fixed(" ", Style::new());
                    }
                    _ => {
                        self.line.fixed(sign, style);
                        self.line.fixed(" ", Style::new());
                    }
                }
            }
            // Not enabled; shown as they were written.
            Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {
                self.line.push(&Safe::strip(source), self.current());
            }
        }
    }

    fn current(&self) -> Style {
        self.style.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, over: Style) {
        self.style.push(self.current().patch(over));
    }

    fn text(&mut self, text: &str) {
        let style = self.current();
        self.line.push(&Safe::strip_inline(text), style);
    }

    fn inline_code(&mut self, code: &str) {
        let theme = self.page.theme;
        let style = self.current().patch(theme.code(CodeKind::String));
        let tick = if theme.has_colour() { "" } else { "`" };
        self.line.fixed(tick, style);
        let to = self
            .page
            .links
            .map_or(Style::new(), |links| links.to_code(code));
        self.line.push(&Safe::strip_inline(code), style.patch(to));
        self.line.fixed(tick, style);
    }

    fn start(&mut self, tag: Tag<'_>) {
        let theme = self.page.theme;
        let modifier = |m| Style::new().add_modifier(m);
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open_block(),
            Tag::Heading { level, .. } => {
                self.open_block();
                let over = match level {
                    HeadingLevel::H1 => theme.bold().add_modifier(Modifier::UNDERLINED),
                    HeadingLevel::H2 => theme.bold(),
                    _ => theme.dim().patch(theme.bold()),
                };
                self.push_style(over);
            }
            Tag::BlockQuote(_) => {
                self.open_block();
                self.frames.push(Frame::Quote);
                self.push_style(modifier(Modifier::ITALIC));
            }
            Tag::CodeBlock(kind) => {
                self.open_block();
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => code::language(info).to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                let nested = matches!(self.frames.last(), Some(Frame::Item { .. }));
                if nested {
                    self.flush();
                } else {
                    self.open_block();
                }
                self.frames.push(Frame::List {
                    next: first,
                    tight: true,
                    items: 0,
                });
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.open_block();
                self.table = Some(table::Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
                if matches!(tag, Tag::TableHead) {
                    self.push_style(theme.bold());
                }
            }
            Tag::TableCell => self.line = Styled::new(),
            Tag::Emphasis => self.push_style(modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.push_style(modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.line.len()));
                let to = self.leads_to(&dest_url);
                self.push_style(modifier(Modifier::UNDERLINED).patch(to));
            }
            Tag::Image { dest_url, .. } => {
                self.line.fixed(theme.glyphs.file, theme.dim());
                self.line.fixed(" ", Style::new());
                self.links.push((dest_url.to_string(), self.line.len()));
                let to = self.leads_to(&dest_url);
                self.push_style(to);
            }
            _ => {}
        }
    }

    fn leads_to(&self, target: &str) -> Style {
        self.page
            .links
            .map_or(Style::new(), |links| links.to(target))
    }

    fn start_item(&mut self) {
        let theme = self.page.theme;
        self.flush();
        let mut marker = Styled::new();
        if let Some(Frame::List { next, tight, items }) = self.frames.last_mut() {
            self.gap = *items > 0 && !*tight || *items == 0 && self.gap;
            *items += 1;
            if let Some(number) = next {
                marker.push(&Safe::from(*number), theme.default());
                marker.fixed(". ", theme.default());
                *number = number.saturating_add(1);
            } else {
                marker.fixed(theme.glyphs.note, theme.dim());
                marker.fixed(" ", Style::new());
            }
        }
        let indent = marker.columns();
        self.frames.push(Frame::Item {
            marker: Some(marker),
            indent,
        });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.close_block();
                // Only loose lists have paragraphs in their items.
                if let [.., Frame::List { tight, .. }, Frame::Item { .. }] =
                    self.frames.as_mut_slice()
                {
                    *tight = false;
                }
            }
            TagEnd::HtmlBlock => {
                self.flush();
                self.close_block();
            }
            TagEnd::Heading(_) => {
                self.style.pop();
                self.flush();
                self.close_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.frames.pop();
                self.style.pop();
                self.close_block();
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    self.code_block(&language, &text);
                }
                self.close_block();
            }
            TagEnd::List(_) => {
                self.flush();
                self.frames.pop();
                // Within an item, too: the next item decides for itself, a paragraph after it stands
                // apart.
                self.close_block();
            }
            TagEnd::Item => {
                self.flush();
                self.empty_item();
                self.frames.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let room = self.page.room.saturating_sub(self.depth());
                    let headless = std::mem::take(&mut self.headless);
                    for line in table.lay_out(room, self.page.theme, headless) {
                        self.whole(&line);
                    }
                }
                self.close_block();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.table.as_mut().and_then(|t| t.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead | TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.style.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// A link's address is shown unless the text already is it: what a link leads to is no secret.
    fn end_link(&mut self) {
        self.style.pop();
        let Some((url, from)) = self.links.pop() else {
            return;
        };
        let said = self.line.as_str().get(from..).unwrap_or_default();
        let url = Safe::strip_inline(&url);
        if url.is_empty()
            || said == url.as_str()
            || url.as_str().strip_prefix("mailto:") == Some(said)
        {
            return;
        }
        let dim = self.page.theme.dim();
        self.line.fixed(" (", dim);
        self.line.push(&url, dim.patch(self.leads_to(url.as_str())));
        self.line.fixed(")", dim);
    }
}

fn first_char(text: &str) -> char {
    text.chars().next().unwrap_or('-')
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
