//! The list above the composer: slash commands, `@` files, `$` skills.
//!
//! All are the same list over different entries. Commands come from the one command table and the
//! user's own files; files
//! are asked for with a generation, so that late answers to an older query are dropped.

use std::ops::Range;

use super::offers::Offers;
use crate::tui::command;
use crate::tui::fuzzy;

/// Rows shown at once.
pub const ROWS: usize = 8;
const MOST: usize = 50;

/// What the list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Slash commands.
    Commands,
    /// Files of the worktree.
    Files,
    /// Skills.
    Skills,
}

impl Kind {
    /// The sign that begins a word of this kind.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Commands => "/",
            Self::Files => "@",
            Self::Skills => "$",
        }
    }
}

/// The word at the cursor that a list completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its bytes, with the sign before it.
    pub range: Range<usize>,
    /// The word without its sign.
    pub query: String,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The name shown and inserted, without its sign.
    pub name: String,
    /// What it does, or nothing.
    pub detail: String,
    /// Bytes of the name at which characters matched.
    pub marks: Vec<usize>,
}

/// An open list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popup {
    /// What it holds.
    pub kind: Kind,
    /// The bytes it would replace.
    pub token: Range<usize>,
    /// What was typed.
    pub query: String,
    /// The entries, best first.
    pub items: Vec<Item>,
    /// The chosen entry.
    pub selected: usize,
    /// Which file query the entries must answer.
    pub generation: u64,
}

impl Popup {
    /// Moves the choice, around the ends.
    pub fn step(&mut self, delta: isize) {
        let count = self.items.len();
        if count > 0 {
            let at = self.selected.cast_signed() + delta;
            self.selected = at.rem_euclid(count.cast_signed()).cast_unsigned();
        }
    }

    /// The first entry that is shown: the chosen one stays in sight.
    pub const fn first(&self) -> usize {
        (self.selected + 1).saturating_sub(ROWS)
    }

    /// The chosen entry.
    pub fn chosen(&self) -> Option<&Item> {
        self.items.get(self.selected)
    }

    /// Takes the answer to a file query; false if it answers an older one.
    pub fn files(&mut self, generation: u64, paths: &[String]) -> bool {
        if self.kind != Kind::Files || generation != self.generation {
            return false;
        }
        let names: Vec<&str> = paths.iter().map(String::as_str).take(MOST).collect();
        // The answer is ranked already; matching again is only for the marks.
        let mut items: Vec<Item> = names.iter().map(|name| item(name, "")).collect();
        for hit in fuzzy::rank(&self.query, &names, MOST) {
            if let Some(item) = items.get_mut(hit.index) {
                item.marks = hit.marks;
            }
        }
        self.items = items;
        self.selected = 0;
        true
    }
}

fn item(name: &str, detail: &str) -> Item {
    Item {
        name: name.to_owned(),
        detail: detail.to_owned(),
        marks: Vec::new(),
    }
}

/// The word at the cursor if a list completes it: `/word` at the start, `@path` and `$skill` anywhere.
pub fn token(text: &str, cursor: usize, offers: &Offers) -> Option<Token> {
    let before = text.get(..cursor)?;
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let start = before.len() - word.len();
    if let Some(query) = word.strip_prefix('/')
        && start == 0
        && (command::is_word(query) || offers.commands.iter().any(|c| c.name.starts_with(query)))
    {
        return Some(Token {
            kind: Kind::Commands,
            range: 0..cursor,
            query: query.to_owned(),
        });
    }
    if let Some(query) = word.strip_prefix('$')
        && !offers.skills.is_empty()
        && !text.starts_with('!')
        && command::is_word(query)
    {
        return Some(Token {
            kind: Kind::Skills,
            range: start..cursor,
            query: query.to_owned(),
        });
    }
    let query = word.strip_prefix('@')?;
    let query = query.split_once(':').map_or(query, |(path, _)| path);
    Some(Token {
        kind: Kind::Files,
        range: start..cursor,
        query: query.to_owned(),
    })
}

/// The list for a token, going on from the one that was open; and the file query to ask, if any.
pub fn open(
    token: Token,
    old: Option<Popup>,
    offers: &Offers,
    generation: &mut u64,
) -> (Option<Popup>, Option<(String, u64)>) {
    let Token { kind, range, query } = token;
    let same = old.filter(|old| old.kind == kind && old.token.start == range.start);
    match kind {
        Kind::Commands | Kind::Skills => {
            let items = match kind {
                Kind::Skills => skills(&query, offers),
                _ => commands(&query, offers),
            };
            let kept = same
                .filter(|old| old.query == query)
                .map_or(0, |old| old.selected);
            let selected = kept.min(items.len().saturating_sub(1));
            let popup = Popup {
                kind,
                token: range,
                query,
                items,
                selected,
                generation: 0,
            };
            ((!popup.items.is_empty()).then_some(popup), None)
        }
        Kind::Files => {
            if let Some(mut old) = same {
                old.token = range;
                if old.query == query {
                    return (Some(old), None);
                }
                *generation += 1;
                old.generation = *generation;
                old.query.clone_from(&query);
                return (Some(old), Some((query, *generation)));
            }
            *generation += 1;
            let popup = Popup {
                kind,
                token: range,
                query: query.clone(),
                items: Vec::new(),
                selected: 0,
                generation: *generation,
            };
            (Some(popup), Some((query, *generation)))
        }
    }
}

fn skills(query: &str, offers: &Offers) -> Vec<Item> {
    let table = offers.skills.iter();
    matching(
        query,
        &table
            .map(|s| (s.name.as_str(), s.description.as_str()))
            .collect::<Vec<_>>(),
    )
}

fn commands(query: &str, offers: &Offers) -> Vec<Item> {
    let built_in = command::TABLE.iter().map(|row| (row.name, row.says));
    let own = offers
        .commands
        .iter()
        .map(|c| (c.name.as_str(), c.description.as_str()));
    let mut table: Vec<(&str, &str)> = built_in.chain(own).collect();
    // Recent ones first; the sort is stable, so the rest keeps the table's order.
    table.sort_by_key(|row| {
        let mut recent = offers.recent.iter().rev();
        recent.position(|r| r == row.0).unwrap_or(usize::MAX)
    });
    matching(query, &table)
}

/// The entries whose names, or else whose descriptions, match; best first.
fn matching(query: &str, table: &[(&str, &str)]) -> Vec<Item> {
    let names: Vec<&str> = table.iter().map(|row| row.0).collect();
    let mut items: Vec<Item> = fuzzy::rank(query, &names, MOST)
        .into_iter()
        .map(|hit| Item {
            marks: hit.marks,
            ..item(names[hit.index], table[hit.index].1)
        })
        .collect();
    if !query.is_empty() {
        // A beginning is what most people type: such names go before scattered matches.
        items.sort_by_key(|item| !item.name.starts_with(query));
        // Descriptions match by the beginnings of their words: letters strewn over a sentence would
        // offer a command that nobody meant.
        let query = query.to_lowercase();
        for (name, says) in table.iter().filter(|_| query.len() > 2) {
            let begins = |word: &str| word.to_lowercase().starts_with(&query);
            let words = says.split(|c: char| !c.is_alphanumeric());
            if words.into_iter().any(begins) && !items.iter().any(|item| item.name == *name) {
                items.push(item(name, says));
            }
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(query: &str, recent: &[&str]) -> Vec<String> {
        let offers = Offers {
            recent: recent.iter().map(|r| (*r).to_owned()).collect(),
            ..Offers::default()
        };
        commands(query, &offers)
            .into_iter()
            .map(|i| i.name)
            .collect()
    }

    #[test]
    fn a_token_is_a_command_only_at_the_start_and_a_file_anywhere() {
        let offers = Offers::default();
        let token = |text: &str, cursor| token(text, cursor, &offers);
        assert_eq!(token("/he", 3).map(|t| t.kind), Some(Kind::Commands));
        assert_eq!(token("a /he", 5), None);
        assert_eq!(token("/usr/bin", 8), None);
        let file = token("see @src/ma now", 11).expect("a file token");
        assert_eq!((file.range, file.query.as_str()), (4..11, "src/ma"));
        assert_eq!(token("mail me@x", 9), None);
    }

    #[test]
    fn what_begins_so_comes_first_and_recent_ones_lead_an_empty_query() {
        assert_eq!(names("mod", &[])[0], "model");
        assert_eq!(names("", &["undo", "diff"])[..2], ["diff", "undo"]);
        assert!(
            names("window", &[]).contains(&"context".to_owned()),
            "descriptions count"
        );
        for mistyped in ["foo", "modle"] {
            assert_eq!(names(mistyped, &[]), Vec::<String>::new(), "{mistyped}");
        }
    }

    #[test]
    fn an_answer_to_an_older_query_is_dropped() {
        let mut generation = 0;
        let offers = Offers::default();
        let token = |text: &str, cursor| token(text, cursor, &offers);
        let first = token("@a", 2).expect("a token");
        let (popup, ask) = open(first, None, &offers, &mut generation);
        assert_eq!(ask, Some(("a".to_owned(), 1)));
        let (popup, ask) = open(
            token("@ab", 3).expect("a token"),
            popup,
            &offers,
            &mut generation,
        );
        assert_eq!(ask, Some(("ab".to_owned(), 2)));
        let mut popup = popup.expect("a list");
        assert!(!popup.files(1, &["a".to_owned()]));
        assert!(popup.files(2, &["ab".to_owned(), "abc".to_owned()]));
        popup.step(-1);
        assert_eq!(popup.chosen().map(|i| i.name.as_str()), Some("abc"));
    }
}
