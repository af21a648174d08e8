//! Where the user writes: text with paste chips, mentions, history, completion.
//!
//! `update` drives it with actions, `view::composer` draws it. Pure data: what must happen outside
//! (finding files, keeping history) is told to `update` by return values.

pub mod attach;
pub mod buffer;
pub mod burst;
pub mod history;
pub mod layout;
pub mod offers;
pub mod popup;
mod undo;
pub mod vim;

use unicode_width::UnicodeWidthStr;

use attach::{Chip, Picture};
use buffer::{Buffer, CHIP_BASE, Row, chip_id};
use burst::Burst;
use history::History;
use offers::Offers;
use popup::Popup;
use vim::{Mode, Vim};

use crate::protocol::mentions::mentioned;
use crate::protocol::{FileSource, Millis, PromptInput};

/// A paste of more characters becomes a chip.
const CHIP_CHARS: usize = 1_000;
/// A paste of more lines becomes a chip.
const CHIP_LINES: usize = 10;

/// What is being written and how the user gets at earlier texts.
#[derive(Debug, Clone, Default)]
pub struct Composer {
    /// The text.
    pub buffer: Buffer,
    /// Earlier prompts.
    pub history: History,
    /// Fast keys that are a paste.
    pub burst: Burst,
    /// The list above, if one is open.
    pub popup: Option<Popup>,
    /// Vim's keys, if they are switched on.
    pub vim: Option<Vim>,
    /// Commands and skills that can be completed.
    pub offers: Offers,
    chips: Vec<Chip>,
    /// Texts put aside, the newest last.
    stash: Vec<String>,
    /// The start of a token whose list the user closed: it stays closed.
    closed_at: Option<usize>,
    generation: u64,
}

impl Composer {
    /// True if nothing is written.
    pub const fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// True if what is written is a shell command.
    pub fn is_shell(&self) -> bool {
        self.buffer.text().starts_with('!')
    }

    /// The text with chips written out.
    pub fn expanded(&self) -> String {
        self.expand(self.buffer.text())
    }

    fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match chip_id(c).and_then(|id| self.chips.get(id)) {
                Some(chip) => out.push_str(&chip.sent()),
                None => out.push(c),
            }
        }
        out
    }

    /// Takes a paste: verbatim, as a chip if it is long or holds what cannot be shown.
    pub fn paste(&mut self, text: &str) {
        let hidden = text
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t');
        let reserved = text.chars().any(|c| chip_id(c).is_some());
        if is_long(text) || hidden || reserved {
            self.push(Chip::Text(text.to_owned()));
        } else {
            self.buffer.insert(text);
        }
    }

    /// Makes a chip of a long paste that came as fast keys, once it is over; true if it did. `anyway`:
    /// another key ends it.
    pub fn fold_burst(&mut self, now: Millis, anyway: bool) -> bool {
        let Some(from) = self.burst.ended(now, anyway) else {
            return false;
        };
        let range = from..self.buffer.cursor();
        let pasted = self.buffer.text().get(range.clone()).unwrap_or_default();
        // A chip within it, or a cursor that went elsewhere: it stays as it is.
        if !is_long(pasted) || pasted.chars().any(|c| chip_id(c).is_some()) {
            return false;
        }
        let text = pasted.to_owned();
        self.buffer.replace(range, "");
        self.push(Chip::Text(text));
        true
    }

    /// Takes a picture in, where the cursor stands.
    pub fn attach(&mut self, mut picture: Picture) {
        let (stem, ending) = match picture.name.rsplit_once('.') {
            Some((stem, ending)) => (stem.to_owned(), format!(".{ending}")),
            None => (picture.name.clone(), String::new()),
        };
        let taken = |name: &str, chips: &[Chip]| {
            let is = |chip: &Chip| matches!(chip, Chip::Picture(other) if other.name == name);
            chips.iter().any(is)
        };
        let mut number = 2;
        while taken(&picture.name, &self.chips) {
            picture.name = format!("{stem}-{number}{ending}");
            number += 1;
        }
        self.push(Chip::Picture(picture));
    }

    fn push(&mut self, chip: Chip) {
        if let Some(sign) = chip_sign(self.chips.len()) {
            self.chips.push(chip);
            self.buffer.insert(sign.encode_utf8(&mut [0; 4]));
        }
    }

    /// How a chip reads.
    pub fn chip_label(&self, id: usize) -> String {
        self.chips.get(id).map(Chip::label).unwrap_or_default()
    }

    /// The text wrapped to `width` columns.
    pub fn rows(&self, width: usize) -> Vec<Row> {
        buffer::layout(self.buffer.text(), width, |grapheme| {
            match grapheme.chars().next().and_then(chip_id) {
                Some(id) => self.chip_label(id).width(),
                None => buffer::grapheme_width(grapheme),
            }
        })
    }

    /// Replaces the text, e.g. by an earlier prompt or what the editor wrote.
    pub fn set(&mut self, text: &str) {
        let mut text = text.replace(|c| chip_id(c).is_some(), "");
        // Pictures stay what they are on their way through an editor or the queue.
        for (id, chip) in self.chips.iter().enumerate() {
            if let (Chip::Picture(picture), Some(sign)) = (chip, chip_sign(id)) {
                text = text.replacen(&picture.mark(), sign.encode_utf8(&mut [0; 4]), 1);
            }
        }
        self.buffer.set(&text);
        self.popup = None;
        if let Some(vim) = &mut self.vim {
            vim.deselect();
        }
    }

    /// Puts a prompt back to be edited, with its pictures and mentions.
    pub fn restore(&mut self, input: &PromptInput) {
        for file in &input.files {
            match &file.source {
                FileSource::Path(path) if file.name.starts_with('$') => {
                    // A skill is named in the text.
                    debug_assert!(!path.is_empty());
                }
                // A file is mentioned in the text.
                FileSource::Path(_) if !input.text.contains(&format!("[{}]", file.name)) => {}
                source => self.chips.push(Chip::Picture(Picture {
                    name: file.name.clone(),
                    mime: file.mime.clone(),
                    path: match source {
                        FileSource::Path(path) => path.clone(),
                        FileSource::Blob(blob) => blob.0.clone(),
                    },
                    bytes: 0,
                    pixels: None,
                })),
            }
        }
        self.set(&input.text);
    }

    /// The bytes that vim's visual mode holds.
    pub fn selection(&self) -> Option<std::ops::Range<usize>> {
        self.vim.as_ref()?.selection(&self.buffer)
    }

    /// True if keys are vim's commands, not text.
    pub fn commands_text(&self) -> bool {
        self.vim
            .as_ref()
            .is_some_and(|vim| vim.mode() != Mode::Insert)
    }

    /// Takes the text out as a prompt, with the files it mentions; it becomes part of the history.
    pub fn take(&mut self) -> PromptInput {
        self.end_walk();
        let PromptInput { text, files } = self.peek();
        self.buffer.take();
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        self.popup = None;
        self.closed_at = None;
        // What was put aside or cut may hold chips; they can be brought back.
        let cut = self.buffer.kills().iter();
        if self.stash.is_empty()
            && !cut
                .flat_map(|text| text.chars())
                .any(|c| chip_id(c).is_some())
        {
            self.chips.clear();
        }
        PromptInput { text, files }
    }

    /// The prompt that is written now, left in place.
    pub fn peek(&self) -> PromptInput {
        let text = self.expanded();
        let mut files = mentioned(&text);
        files.extend(self.offers.named(&text));
        let signs = self.buffer.text().chars().filter_map(chip_id);
        files.extend(signs.filter_map(|id| match self.chips.get(id)? {
            Chip::Picture(picture) => Some(picture.part()),
            Chip::Text(_) => None,
        }));
        PromptInput { text, files }
    }

    /// Makes text of the paste that the cursor stands on; false if it stands on none.
    pub fn open_chip(&mut self) -> bool {
        let at = self.buffer.cursor();
        let sign = self
            .buffer
            .text()
            .get(at..)
            .and_then(|rest| rest.chars().next());
        let Some((sign, id)) = sign.and_then(|sign| Some((sign, chip_id(sign)?))) else {
            return false;
        };
        let Some(Chip::Text(text)) = self.chips.get(id).cloned() else {
            return false;
        };
        if text.chars().any(|c| chip_id(c).is_some()) {
            return false;
        }
        self.buffer.replace(at..at + sign.len_utf8(), &text);
        true
    }

    /// Puts the text aside; false if there is none.
    pub fn stash(&mut self) -> bool {
        if self.buffer.is_empty() {
            return false;
        }
        let text = self.buffer.take();
        self.stash.push(text);
        self.popup = None;
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        true
    }

    /// The walk through earlier prompts ends with one of them changed or sent: the draft from before it
    /// is put aside.
    pub fn end_walk(&mut self) {
        self.stash.extend(self.history.leave());
    }

    /// Another text takes the place of what is written, which is put aside unless it is part of it (the
    /// words that it was searched by).
    pub fn replace(&mut self, text: &str) {
        if !text.contains(&self.expanded()) {
            self.stash();
        }
        self.set(text);
    }

    /// Brings the text back that was put aside last; false if there is none.
    pub fn unstash(&mut self) -> bool {
        match self.stash.pop() {
            Some(text) => {
                self.buffer.set(&text);
                true
            }
            None => false,
        }
    }

    /// True if some text is put aside.
    pub const fn has_stash(&self) -> bool {
        !self.stash.is_empty()
    }

    /// Opens, narrows or closes the list for the token at the cursor. A query for files that must be
    /// asked comes back, with its generation.
    pub fn refresh_popup(&mut self) -> Option<(String, u64)> {
        let token = popup::token(self.buffer.text(), self.buffer.cursor(), &self.offers);
        if self.closed_at.is_some() && self.closed_at != token.as_ref().map(|t| t.range.start) {
            self.closed_at = None;
        }
        let Some(token) = token.filter(|t| self.closed_at != Some(t.range.start)) else {
            self.popup = None;
            return None;
        };
        let old = self.popup.take();
        let (popup, ask) = popup::open(token, old, &self.offers, &mut self.generation);
        self.popup = popup;
        ask
    }

    /// Closes the list until the cursor leaves the token.
    pub fn close_popup(&mut self) {
        self.closed_at = self.popup.take().map(|p| p.token.start);
    }
}

/// True for a paste that becomes a chip.
fn is_long(text: &str) -> bool {
    text.chars().count() > CHIP_CHARS || text.lines().count() > CHIP_LINES
}

/// The character that stands for a chip.
fn chip_sign(id: usize) -> Option<char> {
    let code = u32::try_from(id).ok()?.checked_add(CHIP_BASE)?;
    char::from_u32(code).filter(|sign| chip_id(*sign).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paste_is_one_thing_to_the_cursor_and_all_of_it_when_sent() {
        let mut composer = Composer::default();
        composer.buffer.insert("see ");
        let long = "line\n".repeat(30);
        composer.paste(&long);
        assert_eq!(composer.chip_label(0), "[pasted 30 lines]");
        let rows = composer.rows(60);
        assert_eq!(rows.len(), 1);
        composer.buffer.delete_back();
        assert_eq!(composer.buffer.text(), "see ");
        composer.buffer.undo();
        assert_eq!(composer.take().text, format!("see {long}"));
    }

    #[test]
    fn a_short_paste_is_text_and_one_with_escapes_is_kept_verbatim_in_a_chip() {
        let mut composer = Composer::default();
        composer.paste("a\tb\nc");
        assert_eq!(composer.buffer.text(), "a\tb\nc");
        composer.paste("\x1b[31mred");
        assert_eq!(composer.expanded(), "a\tb\nc\x1b[31mred");
        assert!(!composer.buffer.text().contains('\x1b'));
    }

    #[test]
    fn files_are_named_with_or_without_lines_and_signs_around_them() {
        let mut composer = Composer::default();
        composer
            .buffer
            .insert("@src/a.rs:10-40, (see @b.md) and me@x.org @src/a.rs? `@docs/`");
        let files = composer.take().files;
        let names: Vec<&str> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["src/a.rs:10-40", "b.md", "src/a.rs", "docs/"]);
        assert_eq!(files[0].source, FileSource::Path("src/a.rs".to_owned()));
    }

    #[test]
    fn texts_put_aside_come_back_the_newest_first() {
        let mut composer = Composer::default();
        for text in ["one", "two"] {
            composer.buffer.insert(text);
            assert!(composer.stash());
        }
        for text in ["two", "one"] {
            assert!(composer.unstash());
            assert_eq!(composer.buffer.take(), text);
        }
        assert!(!composer.unstash());
    }

    #[test]
    fn a_paste_under_the_cursor_becomes_text() {
        let mut composer = Composer::default();
        let long = "line\n".repeat(30);
        composer.paste(&long);
        assert!(!composer.open_chip(), "the cursor stands behind it");
        composer.buffer.left();
        assert!(composer.open_chip());
        assert_eq!(composer.buffer.text(), long);
        composer.buffer.undo();
        assert_eq!(composer.expanded(), long);
    }

    #[test]
    fn stashed_text_comes_back_with_its_chips() {
        let mut composer = Composer::default();
        composer.paste(&"x".repeat(2_000));
        assert!(composer.stash());
        composer.buffer.insert("other");
        assert_eq!(composer.take().text, "other");
        assert!(composer.unstash());
        assert_eq!(composer.expanded().len(), 2_000);
    }

    fn shot() -> Picture {
        Picture {
            name: "shot.png".to_owned(),
            mime: "image/png".to_owned(),
            path: "/tmp/shot.png".to_owned(),
            bytes: 2_048,
            pixels: None,
        }
    }

    #[test]
    fn a_picture_is_a_chip_a_mark_in_the_text_and_a_file() {
        let mut composer = Composer::default();
        composer.buffer.insert("why is ");
        composer.attach(shot());
        composer.buffer.insert(" unlike ");
        composer.attach(shot());
        assert_eq!(composer.chip_label(0), "[shot.png 2 KB]");
        let input = composer.take();
        assert_eq!(input.text, "why is [shot.png] unlike [shot-2.png]");
        let names: Vec<&str> = input.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["shot.png", "shot-2.png"]);
        composer.restore(&input);
        assert_eq!(composer.peek(), input, "as it was, to be edited");
        composer.buffer.delete_back();
        assert_eq!(composer.peek().files.len(), 1);
    }

    #[test]
    fn a_picture_survives_the_editor() {
        let mut composer = Composer::default();
        composer.attach(shot());
        let edited = format!("{} and more", composer.expanded());
        composer.set(&edited);
        assert_eq!(composer.take().files.len(), 1);
    }
}
