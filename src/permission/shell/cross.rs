//! The second reading: a small scanner that knows only quoting, comments and here-documents, and
//! with it every place where the shell must see an operator.
//!
//! Where the grammar took such a place for plain text, grammar and shell may disagree about where a
//! command ends, and then nothing is allowed. The scanner may see too much (`case a)`, arithmetic):
//! those operators are tokens of the grammar too, so nothing is lost.

use tree_sitter::Tree;

/// Kinds of nodes that are plain text to the grammar.
const TEXT: &[&str] = &[
    "word",
    "raw_string",
    "string",
    "string_content",
    "translated_string",
    "ansi_c_string",
    "comment",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "regex",
    "extglob_pattern",
    "number",
    "variable_name",
    "special_variable_name",
    "command_name",
    "concatenation",
];

/// True if the grammar took no operator for text.
pub fn agrees(text: &str, tree: &Tree) -> bool {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        active: Vec::new(),
        waiting: Vec::new(),
        depth: 0,
    };
    if scanner.run(None).is_none() {
        return false;
    }
    let root = tree.root_node();
    scanner.active.iter().all(|at| {
        let Some(node) = root.descendant_for_byte_range(*at, *at + 1) else {
            return true;
        };
        let newline_in_command = scanner.bytes[*at] == b'\n' && node.kind() == "command";
        !TEXT.contains(&node.kind()) && !newline_in_command
    })
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Places of operators.
    active: Vec<usize>,
    /// Here-documents whose bodies begin at the next newline: delimiter, and whether tabs before it
    /// are left out.
    waiting: Vec<(Vec<u8>, bool)>,
    depth: usize,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Scans commands up to `close`, or to the end. None if a quote or bracket stays open.
    fn run(&mut self, close: Option<u8>) -> Option<()> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let mut word_start = true;
        while let Some(c) = self.peek(0) {
            if Some(c) == close {
                self.active.push(self.at);
                self.at += 1;
                self.depth -= 1;
                return Some(());
            }
            let begins_word = std::mem::replace(&mut word_start, false);
            match c {
                b'\\' => self.at += 2,
                b'\'' => self.single()?,
                b'"' => self.double()?,
                b'$' => self.dollar()?,
                b'#' if begins_word => {
                    while self.peek(0).is_some_and(|c| c != b'\n') {
                        self.at += 1;
                    }
                }
                b'`' => {
                    self.active.push(self.at);
                    self.at += 1;
                    self.run(Some(b'`'))?;
                }
                b'\n' => {
                    self.active.push(self.at);
                    self.at += 1;
                    self.bodies();
                    word_start = true;
                }
                b'<' if self.peek(1) == Some(b'<') && self.peek(2) != Some(b'<') => {
                    self.active.push(self.at);
                    self.heredoc()?;
                }
                b'<' if self.peek(1) == Some(b'<') => {
                    self.active.push(self.at);
                    self.at += 3;
                }
                b'(' => {
                    self.active.push(self.at);
                    self.at += 1;
                    self.run(Some(b')'))?;
                }
                b';' | b'|' | b'&' | b'<' | b'>' | b')' => {
                    self.active.push(self.at);
                    self.at += 1;
                    word_start = true;
                }
                b' ' | b'\t' => {
                    self.at += 1;
                    word_start = true;
                }
                _ => self.at += 1,
            }
        }
        self.depth -= 1;
        close.is_none().then_some(())
    }

    fn single(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at + 1..)?;
        self.at += memchr::memchr(b'\'', rest)? + 2;
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek(0)? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'$' if matches!(self.peek(1), Some(b'(' | b'{')) => self.dollar()?,
                b'`' => {
                    self.active.push(self.at);
                    self.at += 1;
                    self.run(Some(b'`'))?;
                }
                _ => self.at += 1,
            }
        }
    }

    fn dollar(&mut self) -> Option<()> {
        match self.peek(1) {
            Some(b'(') => {
                self.active.push(self.at);
                self.at += 2;
                self.run(Some(b')'))
            }
            Some(b'{') => {
                self.at += 2;
                self.braces()
            }
            Some(b'\'') => {
                self.at += 2;
                loop {
                    match self.peek(0)? {
                        b'\\' => self.at += 2,
                        b'\'' => {
                            self.at += 1;
                            return Some(());
                        }
                        _ => self.at += 1,
                    }
                }
            }
            _ => {
                self.at += 1;
                Some(())
            }
        }
    }

    /// The rest of `${…}`.
    fn braces(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        loop {
            match self.peek(0)? {
                b'\\' => self.at += 2,
                b'\'' => self.single()?,
                b'"' => self.double()?,
                b'$' => self.dollar()?,
                b'`' => {
                    self.active.push(self.at);
                    self.at += 1;
                    self.run(Some(b'`'))?;
                }
                b'}' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// `<<WORD`, whose body comes after the line.
    fn heredoc(&mut self) -> Option<()> {
        self.at += 2;
        let tabs = self.peek(0) == Some(b'-');
        if tabs {
            self.at += 1;
        }
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let mut delimiter = Vec::new();
        while let Some(c) = self.peek(0) {
            match c {
                b'\\' => {
                    delimiter.extend(self.peek(1));
                    self.at += 2;
                }
                quote @ (b'\'' | b'"') => {
                    let rest = self.bytes.get(self.at + 1..)?;
                    let end = memchr::memchr(quote, rest)?;
                    delimiter.extend_from_slice(&rest[..end]);
                    self.at += end + 2;
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                c => {
                    delimiter.push(c);
                    self.at += 1;
                }
            }
        }
        self.waiting.push((delimiter, tabs));
        Some(())
    }

    /// Skips the bodies that begin here; an unfinished one reaches to the end.
    fn bodies(&mut self) {
        for (delimiter, tabs) in std::mem::take(&mut self.waiting) {
            while self.at < self.bytes.len() {
                let rest = &self.bytes[self.at..];
                let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let mut line = &rest[..end];
                while tabs && line.first() == Some(&b'\t') {
                    line = &line[1..];
                }
                let is_end = line == delimiter;
                if is_end {
                    // its newline ends the command as well
                    self.at += end;
                    break;
                }
                self.at += (end + 1).min(rest.len());
            }
        }
    }
}
