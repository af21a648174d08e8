//! From the syntax tree to simple commands.
//!
//! Structure that only arranges commands is walked through; every command, wherever it stands, is
//! taken out. Order and nesting matter only for where a command runs and what it reads.

mod arithmetic;
mod command;
mod learn;
mod redirect;

use tree_sitter::{Node, Parser, Tree};

use super::cwd::Cwd;
use super::scope::Scope;
use super::word::Word;
use super::{Redirect, Script, Simple, Stdin, cross, literal};
use crate::permission::place::Place;

/// Longer command lines are not read.
const MAX_BYTES: usize = 64 << 10;
/// Deeper nesting is not followed.
pub(super) const MAX_DEPTH: usize = 150;
/// More commands than this in one line are not judged one by one.
const MAX_COMMANDS: usize = 1_000;

/// Takes a command line apart, as it would run in `cwd`.
pub fn read(text: &str, cwd: &Cwd, place: &Place) -> Script {
    if text.len() > MAX_BYTES {
        return Script::unreadable("it is longer than 64 KiB");
    }
    let Some(tree) = parse(text) else {
        return Script::unreadable("the shell grammar could not read it");
    };
    let home = place.home.to_string_lossy();
    let start = cwd
        .folders
        .first()
        .map_or_else(String::new, |f| f.to_string_lossy().into_owned());
    let mut walker = Walker {
        text,
        script: Script::default(),
        scope: Scope::new(&home, &start),
        cwd: cwd.clone(),
        stdin: Stdin::Nothing,
        around: Vec::new(),
        functions: Vec::new(),
        unsets: false,
        inside: Vec::new(),
        in_loop: false,
        depth: 0,
    };
    walker.learn(tree.root_node(), 0);
    walker.visit(tree.root_node());
    let mut script = walker.script;
    if tree.root_node().has_error() {
        script
            .problems
            .push("the shell grammar could not read all of it".to_owned());
    } else if !cross::agrees(text, &tree) {
        script
            .problems
            .push("two readings of it disagree about where its commands end".to_owned());
    }
    if script.shape.arithmetic && script.shape.quoted_code {
        script
            .problems
            .push("it evaluates text that holds a substitution".to_owned());
    }
    script
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    parser.parse(text, None)
}

struct Walker<'a> {
    text: &'a str,
    script: Script,
    scope: Scope,
    cwd: Cwd,
    stdin: Stdin,
    /// Redirections of the groups around.
    around: Vec<Redirect>,
    /// Functions that are sure to be defined after this byte.
    functions: Vec<(String, usize)>,
    /// Something is unset: it may be a function.
    unsets: bool,
    /// Functions whose bodies are being read.
    inside: Vec<String>,
    in_loop: bool,
    depth: usize,
}

impl<'a> Walker<'a> {
    fn source(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    fn problem(&mut self, what: &str) {
        if !self.script.problems.iter().any(|p| p == what) {
            self.script.problems.push(what.to_owned());
        }
    }

    fn visit(&mut self, node: Node<'_>) {
        if self.depth > MAX_DEPTH || self.script.commands.len() > MAX_COMMANDS {
            self.problem("it is nested or chained too far to be read");
            return;
        }
        self.depth += 1;
        match node.kind() {
            "command" => self.command(node, Vec::new()),
            "declaration_command" | "unset_command" => self.declaration(node),
            "variable_assignment" => {
                let assignments = self.assignments_of(node).into_iter().collect();
                self.bare(node, assignments);
                self.children(node);
            }
            "redirected_statement" => self.redirected(node),
            "pipeline" => self.pipeline(node),
            "list" => self.list(node),
            "subshell" | "command_substitution" | "process_substitution" => {
                if node.kind() != "subshell" {
                    self.script.shape.substitution = true;
                }
                self.group(node);
            }
            "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "function_definition" => {
                self.script.shape.compound = true;
                if node.kind() == "c_style_for_statement" {
                    self.script.shape.arithmetic = true;
                    for part in ["initializer", "condition", "update"] {
                        if let Some(part) = node.child_by_field_name(part) {
                            self.evaluated(part);
                        }
                    }
                }
                let function = node
                    .child_by_field_name("name")
                    .map(|n| self.source(n).to_owned());
                let entered = function.is_some();
                self.inside.extend(function);
                self.loop_variable(node);
                let outer = std::mem::replace(&mut self.in_loop, true);
                self.children(node);
                self.in_loop = outer;
                if entered {
                    self.inside.pop();
                }
            }
            "if_statement" | "case_statement" => {
                self.script.shape.compound = true;
                let before = self.cwd.clone();
                self.children(node);
                self.cwd = self.cwd.clone().or(&before);
            }
            "arithmetic_expansion" => {
                self.script.shape.arithmetic = true;
                self.evaluated(node);
                self.children(node);
            }
            "test_command" => {
                self.script.shape.arithmetic = true;
                self.test(node);
                self.children(node);
            }
            "subscript" => {
                self.script.shape.arithmetic = true;
                if let Some(index) = node.child_by_field_name("index") {
                    self.evaluated(index);
                }
                self.children(node);
            }
            "array" => {
                self.array(node);
                self.children(node);
            }
            "compound_statement" => {
                // `((…))` has this kind too
                if self.source(node).starts_with("((") {
                    self.script.shape.arithmetic = true;
                    self.evaluated(node);
                }
                self.children(node);
            }
            "expansion" => self.expansion(node),
            "file_redirect" => {
                let mut redirects = Vec::new();
                self.file_redirect(node, &mut redirects);
                self.push(Simple {
                    redirects,
                    ..self.blank(node)
                });
            }
            "raw_string" | "ansi_c_string" | "word" | "string_content" | "heredoc_content" => {
                self.note_quoted_code(self.source(node));
            }
            "heredoc_body" => {
                self.note_quoted_code(self.source(node));
                self.children(node);
            }
            "program" => {
                self.script.shape.compound |= statements(node) > 1;
                self.children(node);
            }
            "ERROR" => {
                self.problem("the shell grammar could not read all of it");
                self.children(node);
            }
            _ => self.children(node),
        }
        self.depth -= 1;
    }

    fn children(&mut self, node: Node<'_>) {
        for child in named(node) {
            let before = self.cwd.clone();
            self.visit(child);
            if self.cwd != before {
                // what follows runs also where a `cd` failed
                self.cwd = self.cwd.clone().or(&before);
            }
        }
        let mut cursor = node.walk();
        let background = node.children(&mut cursor).any(|c| c.kind() == "&");
        self.script.shape.background |= background;
    }

    /// A subshell or substitution: what it does to the current folder ends with it.
    fn group(&mut self, node: Node<'_>) {
        let cwd = self.cwd.clone();
        self.children(node);
        self.cwd = cwd;
    }

    fn note_quoted_code(&mut self, text: &str) {
        self.script.shape.quoted_code |=
            text.contains("$(") || text.contains('`') || text.contains("${");
    }

    /// `${…}`: some operators run what the value holds.
    fn expansion(&mut self, node: Node<'_>) {
        let source = self.source(node);
        if source.starts_with("${!")
            || source.contains('@')
                && source
                    .rsplit('@')
                    .next()
                    .is_some_and(|t| t.len() <= 2 && t != "]}" && t != "}")
        {
            self.problem("it expands a variable in a way that can run its value");
        }
        // `${x:offset}` evaluates arithmetic
        self.script.shape.arithmetic |= source.contains(':') || source.contains('[');
        self.offset(node);
        if let Some(name) = self.set_by_expansion(node) {
            let assignment = (name, Word::unknown(source));
            self.bare(node, vec![assignment]);
        }
        self.children(node);
    }

    /// `for NAME in …` sets the name like an assignment does.
    fn loop_variable(&mut self, node: Node<'_>) {
        if let Some(name) = node.child_by_field_name("variable") {
            let assignment = (self.source(name).to_owned(), Word::unknown("…"));
            self.bare(name, vec![assignment]);
        }
    }

    fn pipeline(&mut self, node: Node<'_>) {
        self.script.shape.pipe = true;
        let outer = self.stdin.clone();
        let cwd = self.cwd.clone();
        for (at, child) in named(node).into_iter().enumerate() {
            if at > 0 {
                self.stdin = Stdin::Pipe;
            }
            self.visit(child);
            self.cwd = cwd.clone();
        }
        self.stdin = outer;
    }

    /// `a && b || c`: after `&&` a `cd` is known to have worked.
    fn list(&mut self, node: Node<'_>) {
        self.script.shape.compound = true;
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let before = self.cwd.clone();
        for child in children {
            match child.kind() {
                "&&" => {}
                "||" | "&" | ";" => {
                    self.script.shape.background |= child.kind() == "&";
                    self.cwd = self.cwd.clone().or(&before);
                }
                _ if child.is_named() => self.visit(child),
                _ => {}
            }
        }
        self.cwd = self.cwd.clone().or(&before);
    }

    /// What is known of a word.
    fn word(&self, node: Node<'_>) -> Word {
        literal::word(self.text, node)
    }
}

pub(super) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// Statements directly below; comments do not count.
fn statements(node: Node<'_>) -> usize {
    named(node).iter().filter(|n| n.kind() != "comment").count()
}

fn is_statement(kind: &str) -> bool {
    matches!(
        kind,
        "command"
            | "list"
            | "redirected_statement"
            | "subshell"
            | "compound_statement"
            | "if_statement"
            | "for_statement"
            | "while_statement"
            | "case_statement"
            | "c_style_for_statement"
            | "negated_command"
            | "test_command"
            | "variable_assignment"
            | "variable_assignments"
            | "declaration_command"
            | "unset_command"
            | "function_definition"
    )
}
