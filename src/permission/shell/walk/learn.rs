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
                if let Some((name, value, plain)) = self.assignment(node) {
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
            "declaration_command" | "unset_command" => {
                for child in named(node) {
                    if child.kind() == "variable_name" {
                        let name = self.source(child).to_owned();
                        self.scope.set(&name, node.start_byte(), None);
                    }
                }
            }
            "function_definition" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.functions.push(self.source(name).to_owned());
                }
            }
            _ => {}
        }
        for child in named(node) {
            self.learn(child, depth + 1);
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
