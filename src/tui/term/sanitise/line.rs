//! One line of a terminal, as far as text needs it: carriage returns and backspaces overwrite, tabs
//! expand, SGR changes the style, every other sequence is parsed and dropped.
//!
//! Used by `Safe` only. A new line gets a new parser, so a sequence that never ends can hide the
//! rest of its own line and no more.

use ratatui::style::Style;
use unicode_width::UnicodeWidthChar;

use super::charset;
use crate::tui::theme::sgr;

/// Combining marks that one character may carry. Real scripts need up to three.
const MARKS: usize = 3;

/// Columns of one line that are kept; the rest is dropped with the line's `…` as its mark.
const LONGEST: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
struct Glyph {
    /// NUL: the second column of the wide character before.
    base: char,
    marks: [char; MARKS],
    style: Style,
}

/// The line being written.
#[derive(Debug)]
pub(super) struct LineScreen {
    glyphs: Vec<Glyph>,
    cursor: usize,
    tab: usize,
    style: Style,
}

impl LineScreen {
    /// An empty line; text comes in `style` until SGR says otherwise.
    pub(super) const fn new(tab: usize, style: Style) -> Self {
        Self {
            glyphs: Vec::new(),
            cursor: 0,
            tab,
            style,
        }
    }

    /// The style that the next line begins with.
    pub(super) const fn style(&self) -> Style {
        self.style
    }

    /// Writes text to it.
    pub(super) fn feed(&mut self, line: &str) {
        let mut parser = vte::Parser::new();
        let line = line.trim_end_matches('\r');
        if line.chars().any(|c| matches!(c, '\u{80}'..='\u{9f}')) {
            // The parser knows the 7-bit spelling of C1 controls only.
            let mut seven_bit = String::with_capacity(line.len() + 8);
            for c in line.chars() {
                match c {
                    '\u{80}'..='\u{9f}' => {
                        seven_bit.push('\u{1b}');
                        seven_bit.push(char::from((u32::from(c) - 0x40) as u8));
                    }
                    c => seven_bit.push(c),
                }
            }
            parser.advance(self, seven_bit.as_bytes());
        } else {
            parser.advance(self, line.as_bytes());
        }
    }

    /// Gives the line in pieces of one style.
    pub(super) fn pieces(self, mut take: impl FnMut(String, Style)) {
        let mut text = String::new();
        let mut style = None;
        for glyph in &self.glyphs {
            if glyph.base == '\0' {
                continue;
            }
            if style != Some(glyph.style) {
                if let Some(style) = style
                    && !text.is_empty()
                {
                    take(std::mem::take(&mut text), style);
                }
                style = Some(glyph.style);
            }
            text.push(glyph.base);
            text.extend(glyph.marks.iter().take_while(|m| **m != '\0'));
        }
        if let Some(style) = style
            && !text.is_empty()
        {
            take(text, style);
        }
    }

    fn put(&mut self, base: char, width: usize) {
        if self.cursor + width > LONGEST {
            return;
        }
        let blank = Glyph {
            base: ' ',
            marks: ['\0'; MARKS],
            style: Style::new(),
        };
        while self.glyphs.len() < self.cursor + width {
            self.glyphs.push(blank);
        }
        // Half of a wide character may not stay behind.
        if self.glyphs[self.cursor].base == '\0' && self.cursor > 0 {
            self.glyphs[self.cursor - 1].base = ' ';
            self.glyphs[self.cursor - 1].marks = ['\0'; MARKS];
        }
        let end = self.cursor + width;
        if let Some(after) = self.glyphs.get_mut(end)
            && after.base == '\0'
        {
            after.base = ' ';
        }
        for (n, slot) in self.glyphs[self.cursor..end].iter_mut().enumerate() {
            *slot = Glyph {
                base: if n == 0 { base } else { '\0' },
                marks: ['\0'; MARKS],
                style: self.style,
            };
        }
        self.cursor = end;
    }

    fn mark(&mut self, mark: char) {
        let mut at = self.cursor;
        while let Some(before) = at.checked_sub(1) {
            at = before;
            let Some(glyph) = self.glyphs.get_mut(at) else {
                return;
            };
            if glyph.base != '\0' {
                if let Some(free) = glyph.marks.iter_mut().find(|m| **m == '\0') {
                    *free = mark;
                }
                return;
            }
        }
    }

    fn erase(&mut self, mode: u16) {
        match mode {
            0 => self.glyphs.truncate(self.cursor),
            1 => {
                let end = self.cursor.min(self.glyphs.len());
                for glyph in &mut self.glyphs[..end] {
                    glyph.base = ' ';
                    glyph.marks = ['\0'; MARKS];
                }
            }
            _ => self.glyphs.clear(),
        }
    }
}

impl vte::Perform for LineScreen {
    fn print(&mut self, c: char) {
        if c.is_control() || charset::is_hidden(c) {
            return;
        }
        let c = if charset::is_odd_space(c) && c != '\u{3000}' {
            ' '
        } else {
            c
        };
        match c.width() {
            None => {}
            // The sound marks of half-width kana have a column of their own on terminals.
            Some(0) if matches!(c, '\u{ff9e}' | '\u{ff9f}') => self.put(c, 1),
            Some(0) => self.mark(c),
            Some(width) => self.put(c, width),
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.cursor = 0,
            0x08 => self.cursor = self.cursor.saturating_sub(1),
            b'\t' => {
                let stop = (self.cursor / self.tab + 1) * self.tab;
                while self.cursor < stop.min(LONGEST) {
                    if self.glyphs.get(self.cursor).is_some() {
                        self.cursor += 1;
                    } else {
                        self.put(' ', 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn csi_dispatch(
        &mut self,
        params: &vte::Params,
        intermediates: &[u8],
        ignore: bool,
        action: char,
    ) {
        if ignore || !intermediates.is_empty() {
            return;
        }
        let first = params
            .iter()
            .next()
            .and_then(|p| p.first().copied())
            .unwrap_or(0);
        let count = usize::from(first.max(1)).min(LONGEST);
        match action {
            'm' => {
                let params: Vec<&[u16]> = params.iter().collect();
                self.style = sgr::apply(self.style, &params);
            }
            'K' => self.erase(first),
            'G' | '`' => self.cursor = count - 1,
            'C' => self.cursor = (self.cursor + count).min(LONGEST),
            'D' => self.cursor = self.cursor.saturating_sub(count),
            _ => {}
        }
    }
}
