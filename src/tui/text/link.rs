//! Addresses that the terminal opens with a click (OSC 8).
//!
//! Layouts ask `Links` for the style of a piece of text that leads somewhere; the painter asks which
//! address a cell has and writes it around the cell's text. A cell of the TUI library has no place for
//! an address: its underline colour, which nothing here uses, holds the address's number. Copies and
//! every other kind of output never see it. What a model writes is not trusted: only some kinds of
//! addresses, in ASCII, without anything a terminal would obey. Pure.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratatui::style::{Color, Style};

/// Addresses that are known at most; later ones are plain text.
const MOST: usize = 4_096;

/// Longer addresses are plain text.
const LONGEST: usize = 2_000;

/// All addresses of a screen. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Links {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    /// False: nothing leads anywhere.
    on: bool,
    /// The worktree, absolute, without a slash at its end; empty if not known.
    root: String,
    /// This machine's name, for addresses of files.
    host: String,
    known: HashMap<Arc<str>, u32>,
    list: Vec<Arc<str>>,
}

impl Links {
    /// Switches addresses on or off; off at first.
    pub fn switch(&self, on: bool) {
        self.table().on = on;
    }

    /// Where relative paths begin.
    pub fn begin_at(&self, root: &str) {
        root.trim_end_matches('/')
            .clone_into(&mut self.table().root);
    }

    /// On which machine files are.
    pub fn on_host(&self, host: &str) {
        host.trim().clone_into(&mut self.table().host);
    }

    /// The style that leads to what a link in Markdown names; nothing if it must not lead there.
    pub fn to(&self, target: &str) -> Style {
        let mut table = self.table();
        let address = address(target, &table.host).or_else(|| table.file(target));
        address.map_or_else(Style::new, |address| table.style(&address))
    }

    /// The style that leads to a file of the worktree, `path` or `path:line`.
    pub fn to_file(&self, path: &str) -> Style {
        let mut table = self.table();
        let address = table.file(path);
        address.map_or_else(Style::new, |address| table.style(&address))
    }

    /// The style for a piece of code, if it reads like the path of a file.
    pub fn to_code(&self, code: &str) -> Style {
        if is_path(code) {
            self.to_file(code)
        } else {
            Style::new()
        }
    }

    /// The address of a cell by its underline colour.
    pub fn of(&self, colour: Color) -> Option<(u32, Arc<str>)> {
        let Color::Rgb(a, b, c) = colour else {
            return None;
        };
        let number = u32::from_be_bytes([0, a, b, c]);
        let table = self.table();
        let address = table.list.get(number as usize)?;
        Some((number, Arc::clone(address)))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn style(&mut self, address: &str) -> Style {
        if !self.on || address.len() > LONGEST {
            return Style::new();
        }
        let number = match self.known.get(address) {
            Some(number) => *number,
            None if self.list.len() < MOST => {
                let number = self.list.len() as u32;
                let address: Arc<str> = address.into();
                self.known.insert(Arc::clone(&address), number);
                self.list.push(address);
                number
            }
            None => return Style::new(),
        };
        let [_, a, b, c] = number.to_be_bytes();
        Style::new().underline_color(Color::Rgb(a, b, c))
    }

    /// The address of a path: absolute, or relative to the worktree.
    fn file(&self, path: &str) -> Option<String> {
        let path = path.split(['#', '?']).next().unwrap_or_default();
        // A line number is for the reader: terminals open files, not places.
        let path = match path.split_once(':') {
            Some((file, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => file,
            Some(_) => return None,
            None => path,
        };
        if path.is_empty() || path.starts_with("//") || path.starts_with('~') {
            return None;
        }
        let path = if path.starts_with('/') {
            path.to_owned()
        } else if self.root.is_empty() {
            return None;
        } else {
            format!("{}/{}", self.root, path.trim_start_matches("./"))
        };
        Some(format!("file://{}{}", self.host, encoded(&path)))
    }
}

/// An address as it may be handed to the terminal; none if its kind is not allowed.
fn address(target: &str, host: &str) -> Option<String> {
    let target = target.trim();
    let (kind, rest) = target.split_once(':')?;
    let kind = kind.to_ascii_lowercase();
    let allowed = match kind.as_str() {
        "http" | "https" => rest.starts_with("//") && rest.len() > 2,
        "mailto" => !rest.is_empty(),
        // Files of this machine only: a click must not send someone's name to another one.
        "file" => rest.strip_prefix("//").is_some_and(|rest| {
            let named = rest.split('/').next().unwrap_or_default();
            named.is_empty() || named == "localhost" || named == host
        }),
        _ => false,
    };
    allowed.then(|| format!("{kind}:{}", encoded(rest)))
}

/// Only what may stand in an address: all else as `%xx`, control characters not at all.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => {
                out.push_str(&format!("%{:02X}", c as u32));
            }
            '!'..='~' => out.push(c),
            _ => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    out
}

/// True for what reads like a file's path: a slash or an ending, and nothing that paths seldom have.
fn is_path(code: &str) -> bool {
    let path = code.split(':').next().unwrap_or_default();
    let signs = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let short = (1..=5).contains(&ending.len());
        !stem.is_empty() && short && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let letters = path.chars().any(char::is_alphabetic);
    letters && ending && path.contains('/') && path.chars().all(signs) && !path.starts_with('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let links = Links::default();
        links.switch(true);
        links.begin_at("/home/me/code/");
        links.on_host("box\n");
        links
    }

    fn leads(style: Style, links: &Links) -> Option<String> {
        let (_, address) = links.of(style.underline_color?)?;
        Some(address.to_string())
    }

    #[test]
    fn addresses_of_the_web_mail_and_files_lead_somewhere() {
        let links = links();
        for (target, address) in [
            ("https://docs.rs/x?y=1#z", "https://docs.rs/x?y=1#z"),
            ("HTTP://a.b", "http://a.b"),
            ("mailto:me@x.org", "mailto:me@x.org"),
            ("README.md", "file://box/home/me/code/README.md"),
            ("./src/a b.rs#L3", "file://box/home/me/code/src/a%20b.rs"),
            ("/etc/hosts", "file://box/etc/hosts"),
            ("file:///etc/hosts", "file:///etc/hosts"),
            ("https://ü.de/日", "https://%C3%BC.de/%E6%97%A5"),
        ] {
            assert_eq!(leads(links.to(target), &links).as_deref(), Some(address));
        }
        assert_eq!(
            leads(links.to_code("src/main.rs:12"), &links).as_deref(),
            Some("file://box/home/me/code/src/main.rs")
        );
    }

    #[test]
    fn nothing_else_does() {
        let links = links();
        for target in [
            "javascript:alert(1)",
            "data:text/html,x",
            "ssh://host",
            "x-man-page:ls",
            "file://evil.example/share",
            "//evil.example/x",
            "https:",
            "#part",
            "",
            "vscode://file/x",
        ] {
            assert_eq!(leads(links.to(target), &links), None, "{target}");
        }
        for code in [
            "let x = 1.5",
            "a.b",
            "@types/node.js",
            "1/2.5",
            "cargo test",
        ] {
            assert_eq!(leads(links.to_code(code), &links), None, "{code}");
        }
        let off = Links::default();
        assert_eq!(off.to("https://a.b"), Style::new());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(256))]

        #[test]
        fn an_address_holds_nothing_a_terminal_would_obey(target in "(https://|file:///|)\\PC*[\\x00-\\x9f]*\\PC*") {
            let links = links();
            if let Some(address) = leads(links.to(&target), &links) {
                proptest::prop_assert!(address.bytes().all(|b| (0x21..=0x7e).contains(&b)), "{address:?}");
            }
        }
    }
}
