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
    let closed = text.lines().nth(head.len() + 1).is_some();
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
            let item = text.strip_prefix('-').unwrap_or(text).trim();
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
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let (key, rest) = quoted.split_once(quote)?;
            let rest = rest.trim_start().strip_prefix(':')?;
            return Some((key.to_owned(), rest.trim()));
        }
    }
    let (key, rest) = match text.strip_suffix(':') {
        // a colon at the end, unless an earlier one has a blank after it
        Some(key) if !key.contains(": ") => (key, ""),
        _ => text.split_once(": ").or_else(|| text.split_once(":\t"))?,
    };
    let key = key.trim();
    (!key.is_empty()).then(|| (key.to_owned(), rest.trim()))
}

fn scalar(text: &str) -> TypedValue {
    let text = text.trim();
    if text.starts_with('"') {
        // JSON's escapes are YAML's, as far as they occur
        let whole = text.rsplit_once('"').map_or(text, |(whole, _)| whole);
        let read = serde_json::from_str(&format!("{whole}\""));
        return TypedValue::Text(read.unwrap_or_else(|_| whole.trim_matches('"').to_owned()));
    }
    if let Some(inner) = text.strip_prefix('\'') {
        let inner = inner.rsplit_once('\'').map_or(inner, |(inner, _)| inner);
        return TypedValue::Text(inner.replace("''", "'"));
    }
    let text = text.split(" #").next().unwrap_or("").trim_end();
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

/// Splits at commas outside quotes; empty pieces are left out.
fn split_commas(text: &str) -> Vec<&str> {
    let mut quote = None;
    text.split(|c: char| match (quote, c) {
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (Some(open), c) if open == c => {
            quote = None;
            false
        }
        (None, ',') => true,
        _ => false,
    })
    .map(str::trim)
    .filter(|item| !item.is_empty())
    .collect()
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
