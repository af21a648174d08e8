//! The second reading: a small scanner that knows only quoting, comments and here-documents, and
//! with it every place where the shell must see an operator or a substitution.
//!
//! Where the grammar took such a place for plain text, grammar and shell may disagree about where a
//! command ends, and then nothing is allowed. The scanner may see too much (`case a)`, arithmetic):
//! those operators are tokens of the grammar too, so nothing is lost. What it does not want to follow
//! (escapes within backquotes, lines joined within a word) it calls a disagreement.

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
        backquotes: 0,
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
    /// Here-documents whose bodies begin at the next newline.
    waiting: Vec<Waiting>,
    depth: usize,
    /// Backquotes that are open: their text is read twice, so escapes in it mean something else.
    backquotes: usize,
}

/// A here-document whose body is still to come.
struct Waiting {
    delimiter: Vec<u8>,
    /// Tabs before the delimiter are left out.
    tabs: bool,
    /// The delimiter is quoted: the body is text.
    quoted: bool,
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
                b'\\' => self.escape(true)?,
                b'\'' => self.single()?,
                b'"' => self.double()?,
                b'$' => self.dollar()?,
                b'#' if begins_word => {
                    while self.peek(0).is_some_and(|c| c != b'\n') {
                        self.at += 1;
                    }
                }
                b'`' => self.backquote()?,
                b'\n' => {
                    self.active.push(self.at);
                    self.at += 1;
                    self.bodies()?;
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

    /// A backslash and what follows it. A line that is joined within a word could make an operator of
    /// two halves; within backquotes an escape is undone before the text is read.
    fn escape(&mut self, outside_quotes: bool) -> Option<()> {
        if self.backquotes > 0 {
            return None;
        }
        if self.peek(1) == Some(b'\n') {
            let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
            let parted = matches!(before, None | Some(b' ' | b'\t' | b'\n'));
            if (outside_quotes && !parted) || before == Some(&b'$') {
                return None;
            }
        }
        self.at += 2;
        Some(())
    }

    /// A backquote ends at the next one, in quotes or not: so none may stand in quotes within.
    fn backquote(&mut self) -> Option<()> {
        self.active.push(self.at);
        self.at += 1;
        self.backquotes += 1;
        self.run(Some(b'`'))?;
        self.backquotes -= 1;
        Some(())
    }

    fn single(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at + 1..)?;
        let length = memchr::memchr(b'\'', rest)?;
        if self.backquotes > 0 && rest[..length].iter().any(|c| matches!(c, b'`' | b'\\')) {
            return None;
        }
        self.at += length + 2;
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek(0)? {
                b'\\' => self.escape(false)?,
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'$' if matches!(self.peek(1), Some(b'(' | b'{')) => self.dollar()?,
                b'`' if self.backquotes > 0 => return None,
                b'`' => self.backquote()?,
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
                self.active.push(self.at);
                self.at += 2;
                self.braces()
            }
            Some(b'\'') => {
                self.at += 2;
                loop {
                    match self.peek(0)? {
                        b'\\' if self.backquotes > 0 => return None,
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
                b'\\' => self.escape(true)?,
                b'\'' => self.single()?,
                b'"' => self.double()?,
                b'$' => self.dollar()?,
                b'`' => self.backquote()?,
                // a process substitution in here is plain text to the grammar
                b'<' | b'>' if self.peek(1) == Some(b'(') => return None,
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
        let mut quoted = false;
        while let Some(c) = self.peek(0) {
            match c {
                b'\\' => {
                    quoted = true;
                    delimiter.extend(self.peek(1));
                    self.at += 2;
                }
                quote @ (b'\'' | b'"') => {
                    quoted = true;
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
        self.waiting.push(Waiting {
            delimiter,
            tabs,
            quoted,
        });
        Some(())
    }

    /// Passes the bodies that begin here; an unfinished one reaches to the end. In a body that is not
    /// quoted every substitution must be one to the grammar too.
    fn bodies(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.waiting) {
            while self.at < self.bytes.len() {
                let rest = &self.bytes[self.at..];
                let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let mut line = &rest[..end];
                while document.tabs && line.first() == Some(&b'\t') {
                    line = &line[1..];
                }
                if line == document.delimiter {
                    // its newline ends the command as well
                    self.at += end;
                    break;
                }
                if !document.quoted {
                    self.body_line(self.at, self.at + end)?;
                }
                self.at += (end + 1).min(rest.len());
            }
        }
        Some(())
    }

    /// A line of a body: none if it holds backquotes, or is joined with the next.
    fn body_line(&mut self, from: usize, to: usize) -> Option<()> {
        let mut at = from;
        while at < to {
            match (self.bytes[at], self.bytes.get(at + 1)) {
                (b'`', _) => return None,
                (b'\\', Some(b'\n') | None) => return None,
                (b'\\', _) => at += 2,
                (b'$', Some(b'(' | b'{')) => {
                    self.active.push(at);
                    at += 2;
                }
                _ => at += 1,
            }
        }
        Some(())
    }
}
