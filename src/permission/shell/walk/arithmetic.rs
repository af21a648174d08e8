//! What the shell evaluates as arithmetic: `$((…))`, subscripts, offsets, `-eq` in `[[ ]]`.
//!
//! Evaluating runs commands: a variable whose value is `a[$(rm x)]` does so wherever it is used as a
//! number. So only numbers may be evaluated, and names that the line itself sets to numbers or does not
//! set at all. `walk` calls this for every place that is evaluated; everything else is a problem.

use tree_sitter::Node;

use super::{Walker, named};

const FOREIGN: &str = "it evaluates as arithmetic what nobody has read";

/// Variables of the shell that are numbers whatever is done to them.
const NUMBERS: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "EPOCHSECONDS",
    "COLUMNS",
    "LINES",
    "UID",
    "EUID",
    "PPID",
    "BASHPID",
    "SHLVL",
];

/// Programs that print one number, whatever they are given, and the words that make them do so.
fn prints_a_number(words: &[&str]) -> bool {
    let flags = |rest: &[&str]| rest.iter().all(|w| w.starts_with('-'));
    match words {
        ["wc", rest @ ..] => {
            !rest.is_empty() && flags(rest) && !rest.iter().any(|w| w.starts_with("--f"))
        }
        ["nproc"] | ["id", "-u" | "-g"] | ["date", "+%s"] => true,
        ["git", "rev-list", "--count", ..] => true,
        ["grep", "-c" | "-ci" | "-cv" | "-cE" | "-cF", _pattern] => true,
        _ => false,
    }
}

impl Walker<'_> {
    /// All of this node is evaluated.
    pub(super) fn evaluated(&mut self, node: Node<'_>) {
        if node.kind() == "command_substitution" {
            if !self.is_numeric_substitution(node) {
                self.problem(FOREIGN);
            }
            return;
        }
        let mut text = self.source(node).to_owned();
        let mut substitutions = Vec::new();
        collect(node, &mut substitutions, 0);
        for inner in substitutions.iter().rev() {
            if !self.is_numeric_substitution(*inner) {
                self.problem(FOREIGN);
                return;
            }
            let from = inner.start_byte() - node.start_byte();
            let to = inner.end_byte() - node.start_byte();
            text.replace_range(from..to, "0");
        }
        if !self.is_harmless(&text) {
            self.problem(FOREIGN);
        }
    }

    /// True if every name in the text is a number.
    fn is_harmless(&self, text: &str) -> bool {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let after = rest.strip_prefix(c).unwrap_or_default();
            match c {
                '`' => return false,
                '$' if after.starts_with('(') && !after.starts_with("((") => return false,
                '$' if after.starts_with(|c: char| c.is_ascii_digit() || c == '@' || c == '*') => {
                    return false;
                }
                '$' if after.starts_with("{#") => {
                    // a length is a number
                    let name = after.strip_prefix("{#").unwrap_or_default();
                    let name =
                        name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                    let all = name
                        .strip_prefix("[@]")
                        .or_else(|| name.strip_prefix("[*]"));
                    rest = all.unwrap_or(name);
                }
                '$' if after.starts_with('{') => {
                    let inner = after.strip_prefix('{').unwrap_or_default();
                    if inner
                        .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*' | '!'))
                    {
                        return false;
                    }
                    rest = inner;
                }
                '$' if after.starts_with(['#', '?', '$', '!']) => {
                    rest = after.strip_prefix(['#', '?', '$', '!']).unwrap_or_default();
                }
                c if c.is_ascii_digit() => {
                    rest = rest.trim_start_matches(|c: char| {
                        c.is_ascii_alphanumeric() || matches!(c, '#' | '@' | '_')
                    });
                }
                c if c.is_ascii_alphabetic() || c == '_' => {
                    let end = rest
                        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .unwrap_or(rest.len());
                    let (name, after) = rest.split_at(end);
                    if !self.is_number_name(name) {
                        return false;
                    }
                    rest = after;
                }
                _ => rest = after,
            }
        }
        true
    }

    fn is_number_name(&self, name: &str) -> bool {
        NUMBERS.contains(&name)
            || self.scope.is_number(name) && !crate::permission::effect::is_powerful(name)
    }

    /// True for a substitution that gives a number: `$(… | wc -l)`.
    pub(super) fn is_numeric_substitution(&self, node: Node<'_>) -> bool {
        if node.kind() != "command_substitution" || !self.functions_are_none() {
            return false;
        }
        let mut statements = named(node).into_iter().filter(|n| n.kind() != "comment");
        let (Some(only), None) = (statements.next(), statements.next()) else {
            return false;
        };
        let mut last = only;
        if last.kind() == "pipeline" {
            let Some(end) = named(last).into_iter().next_back() else {
                return false;
            };
            last = end;
        }
        let mut fed = only.kind() == "pipeline";
        if last.kind() == "redirected_statement" {
            let redirects: Vec<&str> = named(last)
                .into_iter()
                .filter(|n| n.kind() != "command")
                .map(|n| self.source(n))
                .collect();
            fed |= redirects
                .iter()
                .any(|r| r.starts_with('<') && !r.starts_with("<("));
            match last.child_by_field_name("body") {
                Some(body) => last = body,
                None => return false,
            }
        }
        if last.kind() != "command" {
            return false;
        }
        let words: Vec<&str> = named(last).into_iter().map(|n| self.source(n)).collect();
        let reads_input = matches!(words.first(), Some(&("wc" | "grep")));
        prints_a_number(&words) && (fed || !reads_input)
    }

    const fn functions_are_none(&self) -> bool {
        self.functions.is_empty()
    }

    /// `[[ … ]]` and `[ … ]`.
    pub(super) fn test(&mut self, node: Node<'_>) {
        if self.source(node).starts_with("[[") {
            self.comparisons(node, 0);
        } else {
            self.single_bracket(node);
        }
    }

    /// Within `[[ ]]`: operands of `-eq` and its like are evaluated, and so are subscripts after `-v`.
    fn comparisons(&mut self, node: Node<'_>, depth: usize) {
        if depth > 40 {
            self.problem(FOREIGN);
            return;
        }
        let mut cursor = node.walk();
        let mut children = node.children(&mut cursor);
        let operator = children
            .find(|c| c.kind() == "test_operator")
            .map(|n| self.source(n));
        match (node.kind(), operator) {
            ("binary_expression", Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")) => {
                for side in ["left", "right"] {
                    if let Some(operand) = node.child_by_field_name(side) {
                        self.evaluated(operand);
                    }
                }
            }
            ("unary_expression", Some("-v" | "-R")) => {
                let operand = named(node).into_iter().next_back().map(|n| self.source(n));
                if !operand.is_some_and(is_name) {
                    self.problem(FOREIGN);
                }
            }
            _ => {}
        }
        for child in named(node) {
            self.comparisons(child, depth + 1);
        }
    }

    /// `[ … ]` is a command with words: a redirection in it is one, and an unquoted value may become
    /// several words, `-v` and a subscript among them.
    fn single_bracket(&mut self, node: Node<'_>) {
        let own = self.own_text(node);
        if own.contains(['<', '>', '|', '&', ';', '(', ')']) {
            self.problem("a test holds a redirection or an operator");
        }
        let words: Vec<&str> = own.split_whitespace().collect();
        if words.iter().any(|w| matches!(*w, "-v" | "-R")) {
            self.problem(FOREIGN);
        }
        let mut values = Vec::new();
        values_of(node, false, &mut values, 0);
        let joined = words.iter().any(|w| matches!(*w, "-a" | "-o"));
        let first = named(node).first().map(|n| first_leaf(*n).start_byte());
        let second = words.get(2).copied().unwrap_or("]");
        let compared = matches!(
            second,
            "=" | "=="
                | "!="
                | "-eq"
                | "-ne"
                | "-lt"
                | "-le"
                | "-gt"
                | "-ge"
                | "-nt"
                | "-ot"
                | "-ef"
                | "]"
        );
        for (value, quoted) in values {
            if !self.is_foreign_value(value) {
                continue;
            }
            let leads = first.is_some_and(|at| value.start_byte() <= at + 1);
            if !quoted || joined || (leads && !compared) {
                self.problem(FOREIGN);
            }
        }
    }

    /// True for a value that the line takes from somewhere: a substitution, an argument, what `read`
    /// filled.
    fn is_foreign_value(&self, node: Node<'_>) -> bool {
        if node.kind() == "command_substitution" {
            return !self.is_numeric_substitution(node);
        }
        let text = self.source(node).trim_start_matches(['$', '{', '#']);
        let name: String = text
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if self.source(node).starts_with("${#") {
            return false;
        }
        if name.is_empty() {
            // `$@` and `$*`; `$?` and `$#` are numbers
            return text.starts_with(['@', '*']);
        }
        name.starts_with(|c: char| c.is_ascii_digit()) && name != "0"
            || self.scope.is_foreign(&name)
    }

    /// A node's text with quoted text and substitutions left out.
    fn own_text(&self, node: Node<'_>) -> String {
        let mut text = self.source(node).to_owned();
        let mut inner = Vec::new();
        quoted_parts(node, &mut inner, 0);
        for part in inner.iter().rev() {
            let from = part.start_byte() - node.start_byte();
            let to = part.end_byte() - node.start_byte();
            text.replace_range(from..to, "Q");
        }
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\\' {
                chars.next();
                out.push('Q');
            } else {
                out.push(c);
            }
        }
        out
    }

    /// `a=([i]=x)` evaluates the index.
    pub(super) fn array(&mut self, node: Node<'_>) {
        for element in named(node) {
            if self.source(element).starts_with('[') {
                self.script.shape.arithmetic = true;
                self.evaluated(element);
            }
        }
    }

    /// `${name:offset:length}`.
    pub(super) fn offset(&mut self, node: Node<'_>) {
        let source = self.source(node);
        let Some(inner) = source.strip_prefix("${").and_then(|s| s.strip_suffix('}')) else {
            return;
        };
        let after = inner.trim_start_matches(|c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | '@' | '*')
        });
        let after = match after.split_once(']') {
            Some((_, rest)) if after.starts_with('[') => rest,
            _ => after,
        };
        let Some(offset) = after.strip_prefix(':') else {
            return;
        };
        if offset.starts_with(['-', '=', '+', '?']) {
            return;
        }
        let mut substitutions = Vec::new();
        collect(node, &mut substitutions, 0);
        if !substitutions.is_empty() || !self.is_harmless(offset) {
            self.problem(FOREIGN);
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The outermost substitutions below a node, in order.
fn collect<'t>(node: Node<'t>, found: &mut Vec<Node<'t>>, depth: usize) {
    if depth > 60 {
        return;
    }
    for child in named(node) {
        if matches!(
            child.kind(),
            "command_substitution" | "process_substitution"
        ) {
            found.push(child);
        } else {
            collect(child, found, depth + 1);
        }
    }
}

/// The outermost quoted parts, substitutions and expansions below a node, in order.
fn quoted_parts<'t>(node: Node<'t>, found: &mut Vec<Node<'t>>, depth: usize) {
    const PARTS: &[&str] = &[
        "string",
        "raw_string",
        "ansi_c_string",
        "command_substitution",
        "process_substitution",
        "expansion",
        "simple_expansion",
        "arithmetic_expansion",
    ];
    for child in named(node) {
        if PARTS.contains(&child.kind()) {
            found.push(child);
        } else if depth < 60 {
            quoted_parts(child, found, depth + 1);
        }
    }
}

/// Expansions below a node, and whether they stand in quotes.
fn values_of<'t>(node: Node<'t>, quoted: bool, found: &mut Vec<(Node<'t>, bool)>, depth: usize) {
    for child in named(node) {
        match child.kind() {
            "simple_expansion" | "expansion" | "command_substitution" => {
                found.push((child, quoted));
            }
            kind if depth < 60 => values_of(child, quoted || kind == "string", found, depth + 1),
            _ => {}
        }
    }
}

fn first_leaf(node: Node<'_>) -> Node<'_> {
    let mut at = node;
    while let Some(child) = at.child(0) {
        at = child;
    }
    at
}
