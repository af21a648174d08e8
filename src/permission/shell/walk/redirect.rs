//! Redirections: what a command reads and writes besides its words.

use tree_sitter::Node;

use super::{Walker, is_statement, named};
use crate::permission::place::is_device;
use crate::permission::shell::{Redirect, Simple, Stdin};

impl Walker<'_> {
    pub(super) fn redirected(&mut self, node: Node<'_>) {
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
    pub(super) fn redirect<'t>(
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

    pub(super) fn file_redirect(&mut self, node: Node<'_>, redirects: &mut Vec<Redirect>) {
        let mut cursor = node.walk();
        let operator = node
            .children(&mut cursor)
            .find(|c| !c.is_named())
            .map_or("", |c| c.kind());
        // `{name}>file` sets the variable to the number of a descriptor
        let before = node.start_byte().checked_sub(1);
        if before.and_then(|at| self.text.as_bytes().get(at)) == Some(&b'}') {
            self.problem("a redirection sets a variable");
        }
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
}
