//! Values that are known to be secrets, found in the disguises that tools give them: JSON escapes, percent
//! signs, entities, hex, base64, broken over lines or by colours.
//!
//! A pattern of a value in all of them is large, so it is made only when a few letters of the value (its
//! anchors) were met; one automaton looks for the anchors of all values at once. Long values are cut
//! into pieces that are looked for by themselves.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::Regex;

/// A value shorter than this is too likely to be an ordinary word.
const SHORTEST: usize = 8;
/// A longer value is cut into pieces of this many characters.
const PIECE: usize = 64;
/// A longer one is no key that a program takes (a limit of Linux for one variable).
const LONGEST: usize = 128 << 10;
/// Letters of an anchor: so many that few texts hold them by chance.
const ANCHOR: usize = 6;
/// A shorter run of letters is no anchor.
const LEAST: usize = 4;

/// One value, or a piece of a long one.
#[derive(Debug)]
struct Piece {
    text: String,
    made: OnceLock<Vec<Regex>>,
}

/// All values.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The longest first: a secret that is part of another one must not spoil it.
    pieces: Vec<Piece>,
    anchors: Option<AhoCorasick>,
    /// The piece of each anchor.
    owners: Vec<usize>,
    /// Pieces without anchors: they are always looked for.
    bare: Vec<usize>,
}

impl Values {
    pub(super) fn add(&mut self, secrets: impl IntoIterator<Item = String>) {
        let known = std::mem::take(self).pieces.into_iter().map(|p| p.text);
        let new = secrets.into_iter().map(|value| value.trim().to_owned());
        let new = new
            .filter(|value| (SHORTEST..=LONGEST).contains(&value.len()) && !is_path(value))
            .flat_map(|value| cut(&value));
        let mut texts: Vec<String> = known.chain(new).collect();
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        let mut all: Vec<String> = Vec::new();
        for (piece, text) in texts.iter().enumerate() {
            let found = anchors(text);
            if found.is_empty() {
                self.bare.push(piece);
            }
            self.owners.extend(found.iter().map(|_| piece));
            all.extend(found);
        }
        let made = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&all);
        self.anchors = match made {
            Ok(anchors) => Some(anchors),
            // without it every value is looked for
            Err(_too_many) => {
                self.bare = (0..texts.len()).collect();
                None
            }
        };
        let piece = |text| Piece {
            text,
            made: OnceLock::new(),
        };
        self.pieces = texts.into_iter().map(piece).collect();
    }

    /// How many pieces were met so far.
    #[cfg(test)]
    pub(super) fn made(&self) -> usize {
        let made = self.pieces.iter().filter(|p| p.made.get().is_some());
        made.count()
    }

    /// The text without the values; none if it holds none.
    pub(super) fn clean(&self, text: &str, instead: &str) -> Option<String> {
        let mut met: BTreeSet<usize> = self.bare.iter().copied().collect();
        if let Some(anchors) = &self.anchors {
            let found = anchors.find_overlapping_iter(text);
            met.extend(found.filter_map(|m| self.owners.get(m.pattern().as_usize())));
        }
        let mut clean: Option<String> = None;
        for piece in met.into_iter().filter_map(|at| self.pieces.get(at)) {
            for pattern in piece.made.get_or_init(|| patterns(&piece.text)) {
                let now = clean.as_deref().unwrap_or(text);
                if pattern.is_match(now) {
                    clean = Some(pattern.replace_all(now, instead).into_owned());
                }
            }
        }
        // pieces of one value that follow each other
        let twice = instead.repeat(2);
        while let Some(joined) = clean.as_ref().filter(|text| text.contains(&twice)) {
            clean = Some(joined.replace(&twice, instead));
        }
        clean
    }
}

/// True for what is rather a path to a file of keys than a key.
fn is_path(value: &str) -> bool {
    let inside = value.strip_prefix('/').unwrap_or_default();
    inside.contains('/') && !value.contains(['+', '='])
}

/// A value, or the pieces of a long one; the last piece is never a short one.
fn cut(value: &str) -> Vec<String> {
    let letters: Vec<char> = value.chars().collect();
    if letters.len() < 2 * PIECE {
        return vec![value.to_owned()];
    }
    let mut pieces: Vec<String> = Vec::new();
    for chunk in letters.chunks(PIECE) {
        match pieces.last_mut() {
            Some(last) if chunk.len() < PIECE => last.extend(chunk),
            _ => pieces.push(chunk.iter().collect()),
        }
    }
    pieces
}

/// A few letters of a value as every disguise has them; empty if it has no run of letters. Two places of
/// the value, so that one may be broken.
fn anchors(value: &str) -> Vec<String> {
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    let runs: Vec<&str> = runs.filter(|run| run.len() >= LEAST).collect();
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
        return Vec::new();
    };
    let start = first.get(..ANCHOR.min(first.len())).unwrap_or(first);
    let end = last
        .get(last.len().saturating_sub(ANCHOR)..)
        .unwrap_or(last);
    let mut all = in_base64(value);
    for encoded in &mut all {
        encoded.truncate(SHORTEST);
    }
    for anchor in BTreeSet::from([start, end]) {
        let each = |of: &dyn Fn(u32) -> String| anchor.chars().map(|c| of(c.into())).collect();
        let spelled: [String; 8] = [
            anchor.to_owned(),
            each(&|c| format!("%{c:02x}")),
            each(&|c| format!("\\u{c:04x}")),
            each(&|c| format!("\\u{{{c:x}}}")),
            each(&|c| format!("\\x{c:02x}")),
            each(&|c| format!("&#{c};")),
            each(&|c| format!("&#x{c:x};")),
            each(&|c| format!("{c:02x}")),
        ];
        all.extend(spelled);
    }
    all
}

/// What may stand between any two characters of a value: the end of a line with the quoting of both sides
/// (a diff's sign too), a colour.
const BREAK: &str = r"(?:\\?\r?\n[ \t>|+-]*|(?:\\+r)?\\+n[+-]?|\x1b\[[0-9;]*m|\\+(?:u001b|x1b|e|033)\[[0-9;]*m){0,2}";

/// Patterns of a value in all its disguises: as it is, escaped, in percent signs or entities, as hex or
/// base64, broken over lines.
fn patterns(value: &str) -> Vec<Regex> {
    let mut spelled = String::new();
    for (n, letter) in value.chars().enumerate() {
        if n > 0 {
            spelled.push_str(BREAK);
        }
        spelled.push_str(&spellings(letter));
    }
    let mut all = Vec::new();
    // too large a pattern is no reason to let the value pass as it is
    all.extend(built(&spelled).or_else(|| built(&regex::escape(value))));
    let mut hex = String::new();
    for byte in value.bytes() {
        _ = write!(hex, "{byte:02x}");
    }
    all.extend(built(&format!("(?i:{hex})")));
    let encoded: Vec<String> = in_base64(value).iter().map(|text| broken(text)).collect();
    all.extend(built(&encoded.join("|")));
    all
}

fn built(pattern: &str) -> Option<Regex> {
    regex::RegexBuilder::new(pattern)
        .size_limit(32 << 20)
        .build()
        .ok()
}

/// A text that may be broken anywhere.
fn broken(text: &str) -> String {
    let letters = text
        .chars()
        .map(|c| regex::escape(c.encode_utf8(&mut [0; 4])));
    letters.collect::<Vec<_>>().join(BREAK)
}

/// Every way in which a letter may stand in text, JSON, addresses and HTML.
fn spellings(letter: char) -> String {
    let plain = regex::escape(letter.encode_utf8(&mut [0; 4]));
    let mut percent = String::new();
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        // writing to a string cannot fail
        _ = write!(percent, "%{byte:02X}");
    }
    let code = u32::from(letter);
    let escaped = if letter.is_ascii_alphanumeric() {
        ""
    } else {
        r"\\*"
    };
    format!(
        r"(?:{escaped}{plain}|(?i:{percent}|\\+u{code:04x}|\\+u\{{0*{code:x}\}}|\\+x{code:02x}|&#0*{code};|&#x0*{code:x};))"
    )
}

/// What a value becomes in base64, wherever it begins within three bytes; the ends that depend on its
/// neighbours are left out.
fn in_base64(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(value.as_bytes());
        // letters that hold a bit of what stands before or after
        let from = (before * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for text in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            let core = text.get(from..to).unwrap_or_default();
            if core.len() >= SHORTEST && !all.iter().any(|known| known == core) {
                all.push(core.to_owned());
            }
        }
    }
    all
}
