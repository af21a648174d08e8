//! One simple command: its words, what variables make of them, and where it runs.

use tree_sitter::Node;

use super::{Walker, named};
use crate::permission::shell::word::{self, Piece, Word};
use crate::permission::shell::{Redirect, Simple};

impl Walker<'_> {
    pub(super) fn command(&mut self, node: Node<'_>, mut redirects: Vec<Redirect>) {
        let outer_stdin = self.stdin.clone();
        let start = node.start_byte();
        let mut simple = self.blank(node);
        let mut extra = Vec::new();
        let mut typed: Vec<&str> = Vec::new();
        for child in named(node) {
            match child.kind() {
                "variable_assignment" => {
                    simple.assignments.extend(self.assignments_of(child));
                    typed.push(self.source(child));
                    self.children(child);
                }
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut redirects, &mut extra);
                }
                "command_name" => {
                    let inner = named(child).into_iter().next().unwrap_or(child);
                    simple.words.push(self.word(inner));
                    typed.push(self.source(child));
                    self.visit(child);
                }
                "comment" => {}
                "subshell" => {
                    self.problem("the shell grammar could not read all of it");
                    self.visit(child);
                }
                _ => {
                    simple.words.push(self.word(child));
                    typed.push(self.source(child));
                    self.visit(child);
                }
            }
        }
        // operators such as `==` stand as words without being named
        let mut cursor = node.walk();
        let bare: Vec<&str> = node
            .children_by_field_name("argument", &mut cursor)
            .filter(|c| !c.is_named())
            .map(|c| self.source(c))
            .collect();
        simple.words.extend(bare.into_iter().map(Word::literal));
        simple.text = typed.join(" ");
        simple.expanded = simple
            .words
            .iter()
            .flat_map(|w| self.expand(w, start))
            .collect();
        simple.redirects = redirects;
        simple
            .redirects
            .extend(self.around.iter().filter(|r| !r.writes).cloned());
        simple.stdin = std::mem::replace(&mut self.stdin, outer_stdin);
        self.after_cd(&simple);
        let name = simple.words.first().and_then(Word::text);
        if name.as_ref().is_some_and(|n| self.inside.contains(n)) {
            self.problem("a function calls itself");
        }
        let is_function = name.is_some_and(|n| {
            self.functions
                .iter()
                .any(|(known, end)| *known == n && *end <= start)
        });
        if is_function && !self.unsets && simple.assignments.is_empty() {
            // its body was judged where it is defined
            simple.words.clear();
            simple.expanded.clear();
        }
        self.push(simple);
    }

    /// `export`, `local`, `declare`, `unset` and their like.
    pub(super) fn declaration(&mut self, node: Node<'_>) {
        let mut simple = self.blank(node);
        let name = self
            .source(node)
            .split_whitespace()
            .next()
            .unwrap_or("")
            .to_owned();
        simple.words.push(Word::literal(&name));
        for child in named(node) {
            if child.kind() == "variable_assignment" {
                simple.assignments.extend(self.assignments_of(child));
            } else {
                simple.words.push(self.word(child));
            }
        }
        simple.expanded.clone_from(&simple.words);
        simple.text = String::from(self.source(node));
        self.push(simple);
        self.children(node);
    }

    /// Assignments that stand alone.
    pub(super) fn bare(&mut self, node: Node<'_>, assignments: Vec<(String, Word)>) {
        let simple = Simple {
            assignments,
            text: self.source(node).to_owned(),
            ..self.blank(node)
        };
        self.push(simple);
    }

    pub(super) fn assignments_of(&self, node: Node<'_>) -> Option<(String, Word)> {
        let (name, word, _) = self.assignment(node)?;
        Some((name, word))
    }

    pub(super) fn blank(&self, node: Node<'_>) -> Simple {
        Simple {
            text: self.source(node).to_owned(),
            words: Vec::new(),
            expanded: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            stdin: self.stdin.clone(),
            cwd: self.cwd.clone(),
        }
    }

    pub(super) fn push(&mut self, simple: Simple) {
        self.script.commands.push(simple);
    }

    pub(super) fn after_cd(&mut self, simple: &Simple) {
        let words: Vec<Option<String>> = simple.expanded.iter().map(Word::text).collect();
        let known: Vec<&str> = words.iter().map_while(|w| w.as_deref()).collect();
        let next = match known.as_slice() {
            ["cd"] if words.len() == 1 => self.cwd.changed(self.home().as_deref()),
            ["cd" | "pushd", "-"] | ["popd" | "pushd", ..]
                if known.len() != 2 || known[1] == "-" =>
            {
                self.cwd.changed(None)
            }
            ["cd" | "pushd", path] | ["cd" | "pushd", "--" | "-P" | "-L", path]
                if known.len() == words.len() =>
            {
                let tilde = simple.expanded.last().is_some_and(|w| w.tilde);
                match (tilde, path.strip_prefix('~')) {
                    (true, Some(rest)) if rest.is_empty() || rest.starts_with('/') => {
                        let home = self.home().map(|h| format!("{h}{rest}"));
                        self.cwd.changed(home.as_deref())
                    }
                    (true, _) => self.cwd.changed(None),
                    _ => self.cwd.changed(Some(path)),
                }
            }
            ["cd" | "pushd" | "popd", ..] => self.cwd.changed(None),
            _ => return,
        };
        self.cwd = if self.in_loop {
            // the next round begins where this one ended
            next.changed(None)
        } else {
            next
        };
    }

    pub(super) fn home(&self) -> Option<String> {
        let var = Word {
            pieces: vec![Piece::Var {
                name: "HOME".to_owned(),
                quoted: true,
            }],
            ..Word::default()
        };
        match self.scope.expand(&var, usize::MAX).as_slice() {
            [home] => home.text(),
            _ => None,
        }
    }

    pub(super) fn expand(&self, word: &Word, at: usize) -> Vec<Word> {
        self.scope
            .expand(word, at)
            .iter()
            .flat_map(word::expand_braces)
            .collect()
    }
}
