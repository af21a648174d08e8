//! A search over the conversation, newest first, in slices; and the fetching of one part.
//!
//! `driver::recall` lets it go on slice by slice. What a part says of itself is in `part`.

use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::part::{Whole, find_part, heading, names_file, texts, whole};
use super::tool::Input;
use crate::context::{Conversation, Entry};
use crate::protocol::{Part, PartBody};
use crate::tools::arguments::{Form, clipped, short};

/// Hits of a search, unless the model asks for another number.
const HITS: usize = 20;
/// Most hits of one search.
const MOST_HITS: usize = 100;
/// Matching lines that are shown of a hit.
const LINES: usize = 3;
/// Characters that are shown of a line.
pub(super) const LINE_CHARS: usize = 240;
/// Characters of a query, and words in it: each word is a pattern of its own.
const QUERY: (usize, usize) = (4_000, 64);

/// A search under way: it goes from the newest message to the oldest, as far as it is let.
#[derive(Debug)]
pub struct Search {
    words: Vec<Regex>,
    tool: Option<String>,
    file: Option<String>,
    turn: Option<usize>,
    part: Option<String>,
    offset: usize,
    limit: usize,
    /// The entry that is looked at next, counted from the oldest, and its turn.
    at: Option<(usize, usize)>,
    found: usize,
    hits: Vec<String>,
}

impl Search {
    /// From the tool's JSON arguments; the error is a sentence for the model.
    pub fn from_json(input: &Value) -> Result<Self, String> {
        let input = Form::of::<Input>("recall", &[]).read::<Input>(input)?;
        Self::new(&input)
    }

    pub(super) fn new(input: &Input) -> Result<Self, String> {
        let given = |text: &Option<String>| text.clone().filter(|t| !t.trim().is_empty());
        let query = given(&input.query).unwrap_or_default();
        check_length(&query)?;
        let words = if input.regex == Some(true) {
            vec![pattern(&query, false)?]
        } else {
            query
                .split_whitespace()
                .map(|word| pattern(&regex::escape(word), true))
                .collect::<Result<_, _>>()?
        };
        let search = Self {
            words,
            tool: given(&input.tool),
            file: given(&input.file),
            turn: input.turn.map(|turn| turn as usize),
            part: given(&input.part),
            offset: input.offset.unwrap_or(0) as usize,
            limit: input.limit.unwrap_or(0) as usize,
            at: None,
            found: 0,
            hits: Vec::new(),
        };
        let empty = search.words.is_empty() && search.tool.is_none() && search.file.is_none();
        if empty && search.turn.is_none() && search.part.is_none() {
            return Err("Say what to recall: query, part, tool, file or turn.".to_owned());
        }
        Ok(search)
    }

    /// Goes on until about so many bytes were looked at; the answer once the search is over.
    pub fn step(
        &mut self,
        conversation: &Conversation,
        bytes: usize,
    ) -> Option<Result<String, String>> {
        let entries = conversation.entries();
        if let Some(id) = &self.part {
            let part = find_part(entries, id);
            return Some(part.and_then(|part| self.fetched(conversation, part)));
        }
        let (mut at, mut turn) = self.at.unwrap_or_else(|| {
            let turns = entries.iter().filter(|e| e.is_prompt()).count();
            (entries.len(), turns)
        });
        let most = if self.limit == 0 {
            HITS
        } else {
            self.limit.min(MOST_HITS)
        };
        let shown = conversation.visible();
        let mut looked = 0;
        while at > 0 && self.found <= self.offset + most {
            if looked > bytes {
                self.at = Some((at, turn));
                return None;
            }
            at -= 1;
            let Some(entry) = entries.get(at) else {
                continue;
            };
            if self.turn.is_none_or(|wanted| wanted == turn) {
                let in_context = shown.contains(&at);
                for part in entry.parts.iter().rev() {
                    looked += self.look(entry, part, (turn, in_context, most));
                }
            }
            turn -= usize::from(entry.is_prompt());
        }
        Some(Ok(self.listed(most)))
    }

    /// Looks at one part; returns the bytes that were searched.
    fn look(
        &mut self,
        entry: &Entry,
        part: &Part,
        (turn, in_context, most): (usize, bool, usize),
    ) -> usize {
        if !self.is_wanted(part) {
            return 0;
        }
        let texts = texts(part);
        let size = texts.iter().map(|text| text.len()).sum();
        let matches = |word: &Regex| texts.iter().any(|text| word.is_match(text));
        if texts.is_empty() || !self.words.iter().all(matches) {
            return size;
        }
        self.found += 1;
        if self.found > self.offset && self.found <= self.offset + most {
            let mut hit = format!("{} {}", part.id, heading(entry, part, turn, in_context));
            for line in self.lines(&texts) {
                hit.push_str("\n  ");
                hit.push_str(&line);
            }
            self.hits.push(hit);
        }
        size
    }

    fn is_wanted(&self, part: &Part) -> bool {
        let tool = match &part.body {
            PartBody::Tool(tool) => Some(tool.tool.as_str()),
            _ => None,
        };
        // Earlier searches hold the same words and nothing new; so does the call that is running.
        let itself = tool == Some("recall") && self.tool.as_deref() != Some("recall");
        let by_tool = self
            .tool
            .as_deref()
            .is_none_or(|wanted| tool == Some(wanted));
        let by_file = self
            .file
            .as_deref()
            .is_none_or(|file| names_file(part, file));
        !itself && by_tool && by_file
    }

    /// The first lines that match, or the first line if nothing was asked for.
    fn lines(&self, texts: &[&str]) -> Vec<String> {
        let mut shown = Vec::new();
        for text in texts {
            for (number, line) in text.lines().enumerate() {
                let found = self.words.iter().find_map(|word| word.find(line));
                if let Some(found) = found {
                    shown.push(format!("{}: {}", number + 1, around(line, found.start())));
                }
                if shown.len() >= LINES {
                    return shown;
                }
            }
        }
        if shown.is_empty() {
            let first = texts
                .iter()
                .flat_map(|t| t.lines())
                .find(|l| !l.trim().is_empty());
            shown.extend(first.map(|line| around(line, 0)));
        }
        shown
    }

    fn listed(&self, most: usize) -> String {
        if self.hits.is_empty() {
            let hint = "Try fewer or other words, or a regular expression with regex: true.";
            return format!("Nothing in this session matches. {hint}");
        }
        let mut text = self.hits.join("\n");
        if self.found > self.offset + most {
            let next = self.offset + most;
            text.push_str(&format!("\n\nThere is more: go on with offset: {next}."));
        }
        text.push_str("\n\nFetch one whole with part: its id.");
        text
    }

    fn fetched(&self, conversation: &Conversation, part: &Part) -> Result<String, String> {
        let entries = conversation.entries();
        let at = entries.partition_point(|e| e.message.id < part.message);
        let entry = entries
            .get(at)
            .ok_or_else(|| format!("The message of {} is not on this branch.", part.id))?;
        let turn = entries[..=at].iter().filter(|e| e.is_prompt()).count();
        let in_context = conversation.visible().contains(&at);
        let mut text = format!("{} {}\n", part.id, heading(entry, part, turn, in_context));
        let Whole { input, body } = whole(part);
        let first = self.offset.max(1);
        let most = if self.limit == 0 {
            usize::MAX
        } else {
            self.limit
        };
        if self.words.is_empty() && first == 1 && most == usize::MAX {
            if let Some(input) = input {
                text.push_str(&input);
                text.push('\n');
            }
            text.push_str(&body);
            return Ok(text);
        }
        let is_match =
            |line: &str| self.words.is_empty() || self.words.iter().any(|word| word.is_match(line));
        // never a list of all lines: a part may be millions of empty ones
        let wanted = (1..)
            .zip(body.lines())
            .filter(|(n, line)| *n >= first && is_match(line));
        let mut shown = 0;
        let word = |input: &String| {
            self.words
                .iter()
                .find_map(|word| word.find(input))
                .map(|at| at.start())
        };
        if let Some((input, at)) = input.and_then(|input| word(&input).map(|at| (input, at))) {
            _ = writeln!(text, "{}", around(&input, at));
            shown += 1;
        }
        for (number, line) in wanted.take(most) {
            _ = writeln!(text, "{number}: {line}");
            shown += 1;
        }
        if shown == 0 {
            _ = writeln!(text, "None of its {} lines matches.", body.lines().count());
        }
        Ok(text)
    }
}

fn check_length(query: &str) -> Result<(), String> {
    let (chars, words) = QUERY;
    if query.chars().nth(chars).is_some() || query.split_whitespace().nth(words).is_some() {
        return Err(format!(
            "The query is longer than {words} words or {chars} characters. Search for the few words that \
             tell most."
        ));
    }
    Ok(())
}

fn pattern(text: &str, any_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .case_insensitive(any_case)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| {
            // the lines before the last repeat the pattern
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            format!(
                "`{}` is not a regular expression: {}. Mend it, or leave regex out to search for words.",
                short(text),
                clipped(why, 200)
            )
        })
}

/// The piece of a long line in which something was found.
pub(super) fn around(line: &str, at: usize) -> String {
    let chars = line.chars().count();
    if chars <= LINE_CHARS {
        return line.to_owned();
    }
    let before = line.get(..at).map_or(0, |head| head.chars().count());
    let from = before.saturating_sub(LINE_CHARS / 3);
    let piece: String = line.chars().skip(from).take(LINE_CHARS).collect();
    let (left, right) = (
        if from > 0 { "…" } else { "" },
        if from + LINE_CHARS < chars { "…" } else { "" },
    );
    format!("{left}{piece}{right}")
}
