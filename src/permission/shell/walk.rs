//! From the syntax tree to simple commands.
//!
//! Structure that only arranges commands is walked through; every command, wherever it stands, is
//! taken out. Order and nesting matter only for where a command runs and what it reads.

use tree_sitter::{Node, Parser, Tree};

use super::cwd::Cwd;
use super::scope::Scope;
use super::word::{self, Piece, Word};
use super::{Redirect, Script, Simple, Stdin, cross, literal};
use crate::permission::place::{Place, is_device};

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
    functions: Vec<String>,
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

    /// Collects what the script sets its variables to, before anything is judged.
    fn learn(&mut self, node: Node<'_>, depth: usize) {
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

    fn assignment(&self, node: Node<'_>) -> Option<(String, Word, bool)> {
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
                }
                let function = node
                    .child_by_field_name("name")
                    .map(|n| self.source(n).to_owned());
                let entered = function.is_some();
                self.inside.extend(function);
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
            "arithmetic_expansion" | "test_command" | "subscript" => {
                self.script.shape.arithmetic = true;
                self.children(node);
            }
            "compound_statement" => {
                // `((…))` has this kind too
                self.script.shape.arithmetic |= self.source(node).starts_with("((");
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
        self.children(node);
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

    fn redirected(&mut self, node: Node<'_>) {
        let outer_stdin = self.stdin.clone();
        let mut redirects = Vec::new();
        let mut extra = Vec::new();
        let mut cursor = node.walk();
        for redirect in node.children_by_field_name("redirect", &mut cursor) {
            self.redirect(redirect, &mut redirects, &mut extra);
        }
        let Some(body) = node.child_by_field_name("body") else {
            // `> file` alone empties the file
            self.push(Simple {
                redirects,
                ..self.blank(node)
            });
            self.stdin = outer_stdin;
            return;
        };
        if body.kind() == "command" {
            self.command(body, redirects);
        } else {
            let depth = self.around.len();
            if redirects.iter().any(|r| r.writes) {
                self.push(Simple {
                    redirects: redirects.clone(),
                    ..self.blank(node)
                });
            }
            self.around.extend(redirects);
            self.visit(body);
            self.around.truncate(depth);
        }
        self.stdin = outer_stdin;
        // commands after `<<EOF |` and `<<EOF &&`
        for (node, piped) in extra {
            let outer = self.stdin.clone();
            if piped {
                self.script.shape.pipe = true;
                self.stdin = Stdin::Pipe;
            } else {
                self.script.shape.compound = true;
            }
            self.visit(node);
            self.stdin = outer;
        }
    }

    /// Reads one redirection; commands that hang on a here-document go to `extra`.
    fn redirect<'t>(
        &mut self,
        node: Node<'t>,
        redirects: &mut Vec<Redirect>,
        extra: &mut Vec<(Node<'t>, bool)>,
    ) {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, redirects),
            "herestring_redirect" => {
                self.script.shape.heredoc = true;
                let value = named(node).into_iter().next_back().map(|n| {
                    self.visit(n);
                    self.word(n)
                });
                self.stdin = Stdin::Text(value.and_then(|w| w.text()));
            }
            "heredoc_redirect" => {
                self.script.shape.heredoc = true;
                let mut quoted = false;
                for child in named(node) {
                    match child.kind() {
                        "heredoc_start" => {
                            quoted = self.source(child).contains(['\'', '"', '\\']);
                        }
                        "heredoc_body" => {
                            self.visit(child);
                            let body = self.source(child);
                            let known = quoted || !body.contains(['$', '`', '\\']);
                            self.stdin = Stdin::Text(known.then(|| body.to_owned()));
                        }
                        "heredoc_end" | "file_descriptor" => {}
                        "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                            let stdin = self.stdin.clone();
                            self.redirect(child, redirects, extra);
                            if child.kind() == "file_redirect" && self.stdin != Stdin::File {
                                self.stdin = stdin;
                            }
                        }
                        "pipeline" => extra.push((child, true)),
                        kind if is_statement(kind) => extra.push((child, false)),
                        _ => self.problem("arguments follow its here-document"),
                    }
                }
            }
            _ => self.visit(node),
        }
    }

    fn file_redirect(&mut self, node: Node<'_>, redirects: &mut Vec<Redirect>) {
        let mut cursor = node.walk();
        let operator = node
            .children(&mut cursor)
            .find(|c| !c.is_named())
            .map_or("", |c| c.kind());
        let reads = matches!(operator, "<" | "<&" | "<&-");
        let mut cursor = node.walk();
        for target in node.children_by_field_name("destination", &mut cursor) {
            self.visit(target);
            let word = self.word(target);
            let text = word.text().unwrap_or_default();
            let duplicates = operator.ends_with('&')
                && (text == "-" || text.trim_end_matches('-').parse::<u32>().is_ok());
            if duplicates {
                continue;
            }
            for value in self.expand(&word, node.start_byte()) {
                let harmless = value
                    .text()
                    .is_some_and(|t| is_device(std::path::Path::new(&t)));
                self.script.shape.redirect |= !reads && !harmless;
                redirects.push(Redirect {
                    writes: !reads,
                    target: value,
                });
            }
        }
        if reads {
            self.stdin = Stdin::File;
        }
    }

    fn command(&mut self, node: Node<'_>, mut redirects: Vec<Redirect>) {
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
        let is_function = name.is_some_and(|n| self.functions.contains(&n));
        if is_function && simple.assignments.is_empty() {
            // its body was judged where it is defined
            simple.words.clear();
            simple.expanded.clear();
        }
        self.push(simple);
    }

    /// `export`, `local`, `declare`, `unset` and their like.
    fn declaration(&mut self, node: Node<'_>) {
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
    fn bare(&mut self, node: Node<'_>, assignments: Vec<(String, Word)>) {
        let simple = Simple {
            assignments,
            text: self.source(node).to_owned(),
            ..self.blank(node)
        };
        self.push(simple);
    }

    fn assignments_of(&self, node: Node<'_>) -> Option<(String, Word)> {
        let (name, word, _) = self.assignment(node)?;
        Some((name, word))
    }

    fn blank(&self, node: Node<'_>) -> Simple {
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

    fn push(&mut self, simple: Simple) {
        self.script.commands.push(simple);
    }

    fn after_cd(&mut self, simple: &Simple) {
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

    fn home(&self) -> Option<String> {
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

    fn expand(&self, word: &Word, at: usize) -> Vec<Word> {
        self.scope
            .expand(word, at)
            .iter()
            .flat_map(word::expand_braces)
            .collect()
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
