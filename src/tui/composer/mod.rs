//! Where the user writes: text with paste chips, mentions, history, completion.
//!
//! `update` drives it with actions, `view::composer` draws it. Pure data: what must happen outside
//! (finding files, keeping history) is told to `update` by return values.

pub mod buffer;
pub mod burst;
pub mod history;
pub mod layout;
pub mod popup;
mod undo;
pub mod vim;

use unicode_width::UnicodeWidthStr;

use buffer::{Buffer, CHIP_BASE, Row, chip_id};
use burst::Burst;
use history::History;
use popup::Popup;
use vim::{Mode, Vim};

use crate::protocol::{FilePart, FileSource, PromptInput};

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
    chips: Vec<String>,
    mentions: Vec<String>,
    stash: Option<String>,
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
                Some(content) => out.push_str(content),
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
        let long = text.chars().count() > CHIP_CHARS || text.lines().count() > CHIP_LINES;
        let chip = u32::try_from(self.chips.len())
            .ok()
            .and_then(|n| char::from_u32(CHIP_BASE + n));
        match chip {
            Some(chip) if long || hidden || reserved => {
                self.chips.push(text.to_owned());
                self.buffer.insert(chip.encode_utf8(&mut [0; 4]));
            }
            _ => self
                .buffer
                .insert(&text.replace(|c| chip_id(c).is_some(), "")),
        }
    }

    /// How a chip reads.
    pub fn chip_label(&self, id: usize) -> String {
        let Some(content) = self.chips.get(id) else {
            return String::new();
        };
        let (lines, chars) = (content.lines().count().max(1), content.chars().count());
        if lines > 1 {
            format!("[pasted {lines} lines]")
        } else {
            format!("[pasted {chars} characters]")
        }
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
        self.buffer.set(&text.replace(|c| chip_id(c).is_some(), ""));
        self.popup = None;
        if let Some(vim) = &mut self.vim {
            vim.deselect();
        }
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
        let text = self.expanded();
        let files = self.mentioned(&text);
        self.buffer.take();
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        self.popup = None;
        self.closed_at = None;
        self.mentions.clear();
        if self.stash.is_none() {
            self.chips.clear();
        }
        PromptInput { text, files }
    }

    /// The prompt that is written now, left in place.
    pub fn peek(&self) -> PromptInput {
        let text = self.expanded();
        let files = self.mentioned(&text);
        PromptInput { text, files }
    }

    fn mentioned(&self, text: &str) -> Vec<FilePart> {
        let mut files: Vec<FilePart> = Vec::new();
        for word in text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix('@'))
        {
            let path = word.split_once(':').map_or(word, |(path, _)| path);
            if self.mentions.iter().any(|m| m == path) && !files.iter().any(|f| f.name == word) {
                files.push(FilePart {
                    mime: mime(path).to_owned(),
                    name: word.to_owned(),
                    source: FileSource::Path(path.trim_end_matches('/').to_owned()),
                });
            }
        }
        files
    }

    /// Remembers that the user chose this file, so that it goes along with the prompt.
    pub fn mention(&mut self, path: &str) {
        if !self.mentions.iter().any(|m| m == path) {
            self.mentions.push(path.to_owned());
        }
    }

    /// Puts the text aside; false if there is none.
    pub fn stash(&mut self) -> bool {
        if self.buffer.is_empty() {
            return false;
        }
        self.stash = Some(self.buffer.take());
        self.popup = None;
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        true
    }

    /// Brings stashed text back; false if there is none.
    pub fn unstash(&mut self) -> bool {
        match self.stash.take() {
            Some(text) => {
                self.buffer.set(&text);
                true
            }
            None => false,
        }
    }

    /// True if some text is put aside.
    pub const fn has_stash(&self) -> bool {
        self.stash.is_some()
    }

    /// Opens, narrows or closes the list for the token at the cursor. A query for files that must be
    /// asked comes back, with its generation.
    pub fn refresh_popup(&mut self, recent: &[String]) -> Option<(String, u64)> {
        let token = popup::token(self.buffer.text(), self.buffer.cursor());
        if self.closed_at.is_some() && self.closed_at != token.as_ref().map(|t| t.range.start) {
            self.closed_at = None;
        }
        let Some(token) = token.filter(|t| self.closed_at != Some(t.range.start)) else {
            self.popup = None;
            return None;
        };
        let old = self.popup.take();
        let (popup, ask) = popup::open(token, old, recent, &mut self.generation);
        self.popup = popup;
        ask
    }

    /// Closes the list until the cursor leaves the token.
    pub fn close_popup(&mut self) {
        self.closed_at = self.popup.take().map(|p| p.token.start);
    }
}

/// Media type of a path by its name: enough to tell images and folders from text.
fn mime(path: &str) -> &'static str {
    if path.ends_with('/') {
        return "inode/directory";
    }
    match path
        .rsplit('.')
        .next()
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        _ => "text/plain",
    }
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
    fn only_chosen_files_go_along() {
        let mut composer = Composer::default();
        composer.mention("src/a.rs");
        composer
            .buffer
            .insert("@src/a.rs:10-40 and @nobody and @src/a.rs");
        let files = composer.take().files;
        let names: Vec<&str> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["src/a.rs:10-40", "src/a.rs"]);
        assert_eq!(files[0].source, FileSource::Path("src/a.rs".to_owned()));
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
}
