//! What a script sets its variables to, collected before anything is judged.

use tree_sitter::Node;

use super::{MAX_DEPTH, Walker, named};
use crate::permission::shell::word::{self, Word};

impl Walker<'_> {
    /// Collects what the script sets its variables to, before anything is judged.
    pub(super) fn learn(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match node.kind() {
            "variable_assignment" => {
                if self.is_number_assignment(node) {
                    let name = node.child_by_field_name("name");
                    let name = name.map_or("", |n| self.source(n));
                    self.scope.set_number(name, node.end_byte());
                } else if let Some((name, value, plain)) = self.assignment(node) {
                    // the value may use variables that are known by now
                    let values = self.scope.expand(&value, node.start_byte());
                    for value in values {
                        let value = Some(value).filter(|_| plain);
                        self.scope.set(&name, node.end_byte(), value);
                    }
                }
            }
            "for_statement" => {
                let name = node
                    .child_by_field_name("variable")
                    .map(|n| self.source(n).to_owned());
                let mut cursor = node.walk();
                let values: Vec<Word> = node
                    .children_by_field_name("value", &mut cursor)
                    .map(|n| self.word(n))
                    .collect();
                let name = name.unwrap_or_default();
                self.scope.list(&name);
                if values.is_empty() {
                    self.scope.set(&name, node.start_byte(), None);
                }
                for value in values {
                    for value in self.scope.expand(&value, node.start_byte()) {
                        for value in word::expand_braces(&value) {
                            self.scope.set(&name, node.start_byte(), Some(value));
                        }
                    }
                }
            }
            "command" => self.learn_from_builtin(node),
            "expansion" => {
                if let Some(name) = self.set_by_expansion(node) {
                    self.scope.set(&name, node.start_byte(), None);
                }
            }
            "declaration_command" | "unset_command" => {
                self.unsets |= node.kind() == "unset_command";
                for child in named(node) {
                    if child.kind() == "variable_name" {
                        let name = self.source(child).to_owned();
                        self.scope.set(&name, node.start_byte(), None);
                    }
                }
            }
            "function_definition" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.function(node, name);
                }
            }
            _ => {}
        }
        for child in named(node) {
            self.learn(child, depth + 1);
        }
    }

    /// `x=$((…))` and `x=$(wc -l < f)`.
    fn is_number_assignment(&self, node: Node<'_>) -> bool {
        let name = node.child_by_field_name("name");
        let plain = name.is_some_and(|name| {
            name.kind() == "variable_name"
                && self.text.as_bytes().get(name.end_byte()) == Some(&b'=')
        });
        plain
            && node.child_by_field_name("value").is_some_and(|value| {
                value.kind() == "arithmetic_expansion" || self.is_numeric_substitution(value)
            })
    }

    /// The name in `${name=…}` and `${name:=…}`.
    pub(super) fn set_by_expansion(&self, node: Node<'_>) -> Option<String> {
        let inner = self.source(node).strip_prefix("${")?;
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let (name, rest) = inner.split_at(end);
        (rest.starts_with('=') || rest.starts_with(":=")).then(|| name.to_owned())
    }

    /// A function: it stands in for the program of its name only where it is sure to be defined by
    /// then. One that hides a command whose effects are followed here can't be judged.
    fn function(&mut self, node: Node<'_>, name: Node<'_>) {
        let text = self.source(name).to_owned();
        let followed = [
            "cd", "pushd", "popd", "read", "test", "[", "printf", "unset", "wc", "set", "shopt",
            "nproc", "id", "date", "git", "grep",
        ];
        if followed.contains(&text.as_str()) {
            self.problem("a function hides a command of the shell");
        }
        let top = node.parent().is_some_and(|p| p.kind() == "program");
        let mut next = node.next_sibling();
        while next.is_some_and(|n| n.kind() == "comment") {
            next = next.and_then(|n| n.next_sibling());
        }
        let ends = next.is_none_or(|n| matches!(n.kind(), ";" | "\n") || n.is_named());
        // without a separator between, what follows could take it into the background
        let rest = self.text.get(node.end_byte()..).unwrap_or("");
        let rest = rest.trim_start_matches([' ', '\t']);
        let parted = rest.is_empty() || rest.starts_with([';', '\n', '#']);
        if top && ends && parted {
            self.functions.push((text, node.end_byte()));
        }
    }

    /// Builtins that set variables by name.
    fn learn_from_builtin(&mut self, node: Node<'_>) {
        let name = node
            .child_by_field_name("name")
            .map_or("", |n| self.source(n));
        let sets = [
            "read",
            "mapfile",
            "readarray",
            "getopts",
            "printf",
            "let",
            "wait",
            "eval",
            "source",
            ".",
        ];
        if name == "unset" {
            self.unsets = true;
        }
        if !sets.contains(&name) {
            return;
        }
        let mut cursor = node.walk();
        let words: Vec<String> = node
            .children_by_field_name("argument", &mut cursor)
            .map(|n| self.source(n).trim_matches(['"', '\'']).to_owned())
            .collect();
        for word in words {
            let name = word.split(['=', '[']).next().unwrap_or("").to_owned();
            self.scope.set(&name, node.start_byte(), None);
        }
    }

    pub(super) fn assignment(&self, node: Node<'_>) -> Option<(String, Word, bool)> {
        let name = node.child_by_field_name("name")?;
        let plain = !self
            .source(node)
            .get(name.end_byte() - node.start_byte()..)?
            .starts_with('+')
            && name.kind() == "variable_name";
        let value = node.child_by_field_name("value");
        let is_array = value.is_some_and(|v| v.kind() == "array");
        let word = value.map_or_else(|| Word::literal(""), |v| self.word(v));
        Some((self.source(name).to_owned(), word, plain && !is_array))
    }
}
