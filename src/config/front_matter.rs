//! The head of a Markdown file: `---`, a little YAML, `---`, then the body.
//!
//! Agents, commands and skills are written this way, also for other tools, so what occurs in the
//! wild is read: `key: value`, quoted strings, lists in both forms, nested maps, `|` and `>` blocks,
//! comments. It is a subset on purpose: no anchors, tags or types beyond true, false and integers.
//! Values come out as `TypedValue`, in order and with lines, so that permission rules read alike.

use super::document::{Typed, TypedValue};

/// A Markdown file taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The head, in order; empty if there is none.
    pub fields: Vec<(String, Typed)>,
    /// What follows it.
    pub body: String,
}

/// Takes a file apart. A head that is never closed or not understood gives a sentence with its line.
pub fn read(text: &str) -> Result<Page, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Ok(Page {
            fields: Vec::new(),
            body: text.to_owned(),
        });
    }
    let head: Vec<&str> = lines
        .by_ref()
        .take_while(|line| !matches!(line.trim_end(), "---" | "..."))
        .collect();
    let closed = text.lines().skip(head.len() + 1).next().is_some();
    if !closed {
        return Err(
            "the head that begins with --- is never closed: add a line with ---".to_owned(),
        );
    }
    let body: Vec<&str> = lines.collect();
    let mut parser = Parser { lines: head, at: 0 };
    let fields = parser.map(0)?;
    if parser.skip_blank().is_some() {
        return Err(parser.complaint("is indented in a way that fits nothing above it"));
    }
    Ok(Page {
        fields,
        body: body.join("\n").trim().to_owned(),
    })
}

impl Page {
    /// A field, by name.
    pub fn get(&self, name: &str) -> Option<&TypedValue> {
        self.fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, typed)| &typed.value)
    }

    /// A field as text: a string, or another scalar as it was typed.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            TypedValue::Text(text) => Some(text.clone()),
            TypedValue::List(_) | TypedValue::Table(_) => None,
            other => Some(other.show()),
        }
    }

    /// A field as a list: a list of strings, or a string with commas.
    pub fn words(&self, name: &str) -> Option<Vec<String>> {
        let words: Vec<String> = match self.get(name)? {
            TypedValue::Text(text) => text.split(',').map(|w| w.trim().to_owned()).collect(),
            TypedValue::List(items) => items
                .iter()
                .map(|item| match &item.value {
                    TypedValue::Text(text) => text.clone(),
                    other => other.show(),
                })
                .collect(),
            _ => return None,
        };
        Some(words.into_iter().filter(|w| !w.is_empty()).collect())
    }
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    /// Moves to the next line that says something; its indent and text.
    fn skip_blank(&mut self) -> Option<(usize, &'a str)> {
        while let Some(line) = self.lines.get(self.at) {
            let text = line.trim_start();
            if !text.is_empty() && !text.starts_with('#') {
                return Some((line.len() - text.len(), text.trim_end()));
            }
            self.at += 1;
        }
        None
    }

    /// Line number in the file: the head begins on line 2.
    const fn line(&self) -> usize {
        self.at + 2
    }

    fn complaint(&self, what: &str) -> String {
        format!("line {} {what}", self.line())
    }

    fn map(&mut self, indent: usize) -> Result<Vec<(String, Typed)>, String> {
        let mut fields = Vec::new();
        while let Some((here, text)) = self.skip_blank() {
            if here < indent {
                break;
            }
            if here > indent {
                return Err(self.complaint("is indented more than the line above it"));
            }
            let Some((key, rest)) = split_key(text) else {
                return Err(self.complaint("is not `key: value`"));
            };
            let line = self.line();
            self.at += 1;
            let value = self.value(indent, rest)?;
            fields.push((key, Typed { line, value }));
        }
        Ok(fields)
    }

    /// What stands after `key:`, or below it.
    fn value(&mut self, indent: usize, rest: &str) -> Result<TypedValue, String> {
        if let Some(style) = block_style(rest) {
            return Ok(TypedValue::Text(self.block(indent, style)));
        }
        if !rest.is_empty() {
            return Ok(self.flow(indent, rest));
        }
        match self.skip_blank() {
            // a list may stand at the indent of its key
            Some((here, text)) if here >= indent && is_item(text) => self.list(here),
            Some((here, _)) if here > indent => Ok(TypedValue::Table(self.map(here)?)),
            _ => Ok(TypedValue::Text(String::new())),
        }
    }

    fn list(&mut self, indent: usize) -> Result<TypedValue, String> {
        let mut items = Vec::new();
        while let Some((here, text)) = self.skip_blank() {
            if here != indent || !is_item(text) {
                break;
            }
            let line = self.line();
            let item = text[1..].trim();
            self.at += 1;
            let value = match split_key(item) {
                Some((key, rest)) if !item.starts_with(['"', '\'']) => {
                    let inner = indent + 2;
                    let value = self.value(inner, rest)?;
                    let mut fields = vec![(key, Typed { line, value })];
                    if self
                        .skip_blank()
                        .is_some_and(|(here, text)| here == inner && !is_item(text))
                    {
                        fields.extend(self.map(inner)?);
                    }
                    TypedValue::Table(fields)
                }
                _ => scalar(item),
            };
            items.push(Typed { line, value });
        }
        Ok(TypedValue::List(items))
    }

    /// A scalar or an inline list; a plain string may go on over deeper lines.
    fn flow(&mut self, indent: usize, rest: &str) -> TypedValue {
        let plain = !rest.starts_with(['"', '\'', '[', '{']);
        let mut text = rest.to_owned();
        while let Some((here, more)) = self.skip_blank()
            && here > indent
            && (plain || !balanced(&text))
        {
            text.push(' ');
            text.push_str(more);
            self.at += 1;
        }
        let inner = text.trim();
        if let Some(items) = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            let items = split_commas(items)
                .into_iter()
                .map(|item| Typed {
                    line: self.at + 1,
                    value: scalar(item),
                })
                .collect();
            return TypedValue::List(items);
        }
        scalar(inner)
    }

    /// The lines of a `|` or `>` block.
    fn block(&mut self, indent: usize, style: Block) -> String {
        let mut lines: Vec<&str> = Vec::new();
        let mut margin = None;
        while let Some(line) = self.lines.get(self.at) {
            let text = line.trim_start();
            let here = line.len() - text.len();
            if !text.is_empty() && here <= indent {
                break;
            }
            if !text.is_empty() && margin.is_none() {
                margin = Some(here);
            }
            lines.push(line.get(margin.unwrap_or(here).min(here)..).unwrap_or(""));
            self.at += 1;
        }
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        match style {
            Block::Literal => lines.join("\n"),
            Block::Folded => {
                let mut out = String::new();
                for line in lines {
                    if line.trim().is_empty() {
                        out.push('\n');
                    } else {
                        if !out.is_empty() && !out.ends_with('\n') {
                            out.push(' ');
                        }
                        out.push_str(line.trim());
                    }
                }
                out
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Block {
    Literal,
    Folded,
}

fn block_style(rest: &str) -> Option<Block> {
    let marks = rest.split(" #").next().unwrap_or("").trim();
    let tail = marks.get(1..).unwrap_or("");
    let fits = tail
        .bytes()
        .all(|b| matches!(b, b'-' | b'+') || b.is_ascii_digit());
    match marks.as_bytes().first()? {
        b'|' if fits => Some(Block::Literal),
        b'>' if fits => Some(Block::Folded),
        _ => None,
    }
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// `key: rest`, the key plain or quoted.
fn split_key(text: &str) -> Option<(String, &str)> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let close = text[1..].find(quote)? + 1;
        let rest = text[close + 1..].trim_start().strip_prefix(':')?;
        return Some((text[1..close].to_owned(), rest.trim()));
    }
    let at = text
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|at| text[at + 1..].is_empty() || text[at + 1..].starts_with([' ', '\t']))?;
    let key = text[..at].trim();
    (!key.is_empty()).then(|| (key.to_owned(), text[at + 1..].trim()))
}

fn scalar(text: &str) -> TypedValue {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"').and_then(|t| t.split_once('"')) {
        // JSON's escapes are YAML's, as far as they occur
        let whole = &text[..text.rfind('"').map_or(text.len(), |at| at + 1)];
        return TypedValue::Text(
            serde_json::from_str(whole).unwrap_or_else(|_| inner.0.to_owned()),
        );
    }
    if let Some(inner) = text.strip_prefix('\'') {
        let end = inner.rfind('\'').unwrap_or(inner.len());
        return TypedValue::Text(inner[..end].replace("''", "'"));
    }
    let text = text.find(" #").map_or(text, |at| text[..at].trim_end());
    match text {
        "true" => TypedValue::Bool(true),
        "false" => TypedValue::Bool(false),
        _ => text
            .parse()
            .map_or_else(|_| TypedValue::Text(text.to_owned()), TypedValue::Int),
    }
}

/// True if a quoted string or an inline list that begins here also ends here.
fn balanced(text: &str) -> bool {
    match text.chars().next() {
        Some('[') => text.ends_with(']'),
        Some('{') => text.ends_with('}'),
        Some(quote @ ('"' | '\'')) => text.len() > 1 && text.ends_with(quote),
        _ => true,
    }
}

fn split_commas(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut start = 0;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ',') => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    items.retain(|item| !item.is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_occurs_in_the_wild_is_read() {
        let page = read(
            "---\nname: reviewer # who\ndescription: Use when: code is done\ntools: [read, \"grep\"]\n\
             list:\n- a\n  \n- 'b: c'\nlong: >-\n  one\n  two\n\n  three\nraw: |\n  x\n    y\npermission:\n  \
             edit: deny\n  bash:\n    \"git push *\": ask\n    '*': allow\nsteps: 5\nhidden: true\n---\n\nBody\n---\nmore\n",
        )
        .expect("valid");
        assert_eq!(page.text("name").as_deref(), Some("reviewer"));
        assert_eq!(
            page.text("description").as_deref(),
            Some("Use when: code is done")
        );
        assert_eq!(
            page.words("tools"),
            Some(vec!["read".to_owned(), "grep".to_owned()])
        );
        assert_eq!(
            page.words("list"),
            Some(vec!["a".to_owned(), "b: c".to_owned()])
        );
        assert_eq!(page.text("long").as_deref(), Some("one two\nthree"));
        assert_eq!(page.text("raw").as_deref(), Some("x\n  y"));
        assert_eq!(page.get("steps"), Some(&TypedValue::Int(5)));
        assert_eq!(page.get("hidden"), Some(&TypedValue::Bool(true)));
        assert_eq!(page.body, "Body\n---\nmore");
        let Some(TypedValue::Table(permission)) = page.get("permission") else {
            panic!("permission is a map")
        };
        let rules = crate::config::rules::read_table(permission).expect("rules");
        assert_eq!(rules.len(), 3);
        assert_eq!(rules[1].pattern, "git push *");
    }

    #[test]
    fn a_file_without_a_head_is_all_body() {
        let page = read("# Title\n\ntext\n").expect("valid");
        assert!(page.fields.is_empty());
        assert_eq!(page.body, "# Title\n\ntext\n");
    }

    #[test]
    fn what_is_not_understood_is_said_with_its_line() {
        assert!(
            read("---\nname: x\n")
                .expect_err("open")
                .contains("never closed")
        );
        let error = read("---\nname: x\nnonsense\n---\n").expect_err("no key");
        assert_eq!(error, "line 3 is not `key: value`");
        let error = read("---\na:\n    b: 2\n  c: 3\n---\n").expect_err("fits nothing");
        assert!(error.starts_with("line 4 is indented"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn no_text_makes_it_panic(head in "[a-z:\\-\\[\\]\"'|> #\n{},é\t]{0,120}") {
            drop(read(&format!("---\n{head}\n---\nbody")));
        }
    }
}
