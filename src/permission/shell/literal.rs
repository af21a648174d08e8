//! Words of the syntax tree: what is known of each before the shell runs.
//!
//! `walk` asks for every word of a command; `word` says what a word is made of.

use tree_sitter::Node;

use super::walk::{MAX_DEPTH, named};
use super::word::{self, Piece, Word};

/// What is known of a word.
pub(super) fn word(text: &str, node: Node<'_>) -> Word {
    let mut word = Word {
        raw: source(text, node).to_owned(),
        ..Word::default()
    };
    pieces(text, node, &mut word, 0);
    word
}

fn pieces(text: &str, node: Node<'_>, word: &mut Word, depth: usize) {
    if depth > MAX_DEPTH {
        word.pieces.push(Piece::Unknown);
        return;
    }
    let typed = source(text, node);
    match node.kind() {
        "word" | "number" | "variable_name" | "test_operator" | "special_variable_name"
            if node.named_child_count() == 0 =>
        {
            word::push_unquoted(word, typed);
        }
        "raw_string" => {
            let inner = typed.strip_prefix('\'').and_then(|s| s.strip_suffix('\''));
            word.push_text(inner.unwrap_or(typed));
        }
        "ansi_c_string" => {
            let inner = typed.strip_prefix("$'").and_then(|s| s.strip_suffix('\''));
            match inner.and_then(word::ansi_c) {
                Some(value) => word.push_text(&value),
                None => word.pieces.push(Piece::Unknown),
            }
        }
        "string" => string(text, node, word),
        "command_name" | "concatenation" => concatenation(text, node, word, depth),
        "simple_expansion" => word.pieces.push(variable(typed, false)),
        "expansion" => word.pieces.push(braced(typed, false)),
        _ => word.pieces.push(Piece::Unknown),
    }
}

fn concatenation(text: &str, node: Node<'_>, word: &mut Word, depth: usize) {
    let mut at = node.start_byte();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        if let Some(gap) = text.get(at..child.start_byte()) {
            word::push_unquoted(word, gap);
        }
        if child.is_named() {
            pieces(text, child, word, depth + 1);
        } else {
            word::push_unquoted(word, source(text, child));
        }
        at = child.end_byte();
    }
    if let Some(gap) = text.get(at..node.end_byte()) {
        word::push_unquoted(word, gap);
    }
}

/// `"…"`: text between the expansions, with its four escapes.
fn string(text: &str, node: Node<'_>, word: &mut Word) {
    let mut at = node.start_byte() + 1;
    let end = node.end_byte().saturating_sub(1);
    word.push_text("");
    for child in named(node) {
        let piece = match child.kind() {
            "string_content" => continue,
            "simple_expansion" => variable(source(text, child), true),
            "expansion" => braced(source(text, child), true),
            _ => Piece::Unknown,
        };
        word.push_text(&unescape(text.get(at..child.start_byte()).unwrap_or("")));
        word.pieces.push(piece);
        at = child.end_byte();
    }
    word.push_text(&unescape(text.get(at..end).unwrap_or("")));
}

fn source<'a>(text: &'a str, node: Node<'_>) -> &'a str {
    text.get(node.byte_range()).unwrap_or("")
}

/// `$name`; counters and states are numbers, which are never paths or flags.
fn variable(source: &str, quoted: bool) -> Piece {
    match source.strip_prefix('$').unwrap_or(source) {
        "?" | "#" | "$" | "!" => Piece::Text("0".to_owned()),
        name if is_name(name) => Piece::Var {
            name: name.to_owned(),
            quoted,
        },
        _ => Piece::Unknown,
    }
}

/// `${name}` and nothing more is a variable.
fn braced(source: &str, quoted: bool) -> Piece {
    match source.strip_prefix("${").and_then(|s| s.strip_suffix('}')) {
        Some(name) if is_name(name) => Piece::Var {
            name: name.to_owned(),
            quoted,
        },
        _ => Piece::Unknown,
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
            }
            ('\\', Some(next @ ('"' | '\\' | '$' | '`'))) => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}
