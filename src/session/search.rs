//! Full text over everything that was said and every tool call, in all sessions.
//!
//! Journals are read by a few threads, the sessions used last first; a hit names session, message
//! and part, so that a front end can jump there. No index: what is searched is always what is
//! stored. `scan` parses only lines that can match. The caller cancels a search by setting a flag.

mod scan;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use super::archive;
use super::error::StoreError;
use super::list;
use super::meta::{Meta, modified};
use super::place::Place;
use super::project::Project;
use super::redact::strings;
use crate::protocol::{
    MessageId, Millis, Part, PartBody, PartId, Role, SessionId, SessionInfo, ToolState,
};
use scan::Needle;

/// Bytes of text shown on either side of a match.
const AROUND: usize = 60;

/// What is searched for.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// Words that must all occur in a part, in any order and case; or a regular expression.
    pub text: String,
    /// True if `text` is a regular expression (case matters unless it says `(?i)`).
    pub regex: bool,
    /// Only what the user said counts, and one hit for each session.
    pub prompts: bool,
    /// Most hits.
    pub limit: usize,
}

/// A part that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its session.
    pub session: SessionId,
    /// The session's title, or the first line of its first prompt.
    pub title: String,
    /// The session's worktree.
    pub worktree: String,
    /// Its message.
    pub message: MessageId,
    /// Who said it.
    pub role: Role,
    /// The part.
    pub part: PartId,
    /// What kind of part: `text`, `reasoning`, `tool`, …
    pub kind: &'static str,
    /// When the part began.
    pub at: Millis,
    /// The line with the match and a little around it, on one line.
    pub excerpt: String,
    /// Byte range of the match within `excerpt`.
    pub found: std::ops::Range<usize>,
}

struct Matcher {
    all: Vec<Regex>,
    /// What must stand in the raw journal.
    needle: Needle,
    /// Only prompts count, the newest of each session.
    prompts: bool,
}

impl Matcher {
    fn new(query: &SearchQuery) -> Result<Self, StoreError> {
        let pattern = |text: &str, any_case: bool| {
            RegexBuilder::new(text)
                .case_insensitive(any_case)
                .build()
                .map_err(|e| {
                    StoreError::View(format!("`{}` is not a regular expression: {e}", query.text))
                })
        };
        let all = if query.regex {
            vec![pattern(&query.text, false)?]
        } else {
            let words = query.text.split_whitespace();
            words
                .map(|word| pattern(&regex::escape(word), true))
                .collect::<Result<_, _>>()?
        };
        let needle = if query.regex {
            Needle::of_expression(&query.text)
        } else {
            Needle::of_words(&query.text)
        };
        Ok(Self {
            all,
            needle,
            prompts: query.prompts,
        })
    }

    /// True for a part of the kind that is searched; by whom it is comes later.
    fn counts(&self, part: &Part) -> bool {
        let typed = matches!(
            part.body,
            PartBody::Text {
                synthetic: false,
                ..
            }
        );
        typed || !self.prompts
    }

    /// What is left of a session's hits, newest first.
    fn kept(&self, mut hits: Vec<Hit>, most: usize) -> Vec<Hit> {
        if self.prompts {
            hits.retain(|hit| hit.role == Role::User);
            hits.truncate(1);
        }
        hits.truncate(most);
        hits
    }

    /// The first match of the first word in a part that matches, with the text it stands in.
    fn find<'a>(&self, texts: &[&'a str]) -> Option<(&'a str, std::ops::Range<usize>)> {
        let everywhere = |word: &Regex| texts.iter().any(|text| word.is_match(text));
        let (first, rest) = self.all.split_first()?;
        let hit = texts
            .iter()
            .find_map(|text| first.find(text).map(|m| (*text, m.range())))?;
        rest.iter().all(everywhere).then_some(hit)
    }
}

/// The texts of a part that people would search.
fn texts(part: &Part) -> Vec<&str> {
    match &part.body {
        PartBody::Text { text, .. } | PartBody::Reasoning { text, .. } => vec![text],
        PartBody::Tool(tool) => {
            let mut texts: Vec<&str> = vec![&tool.tool];
            texts.extend(tool.state.input().into_iter().flat_map(strings));
            match &tool.state {
                ToolState::Completed { title, output, .. } => texts.extend([&**title, &**output]),
                ToolState::Error { title, error, .. } => texts.extend([&**title, &**error]),
                ToolState::Running { title, .. } => texts.push(title),
                ToolState::Pending { raw } => texts.push(raw),
            }
            texts
        }
        PartBody::File(file) => vec![&file.name],
        PartBody::Patch { files, .. } => files.iter().map(|f| f.path.as_str()).collect(),
        PartBody::Subtask {
            prompt,
            description,
            ..
        } => vec![description, prompt],
        PartBody::Compaction { focus, .. } => vec![focus],
        PartBody::Retry { error, .. } => vec![&error.message],
        PartBody::StepStart { .. } | PartBody::StepFinish { .. } => Vec::new(),
    }
}

/// The surroundings of a match on one line, and where the match is in them.
fn excerpt(text: &str, found: &std::ops::Range<usize>) -> (String, std::ops::Range<usize>) {
    let mut from = found.start.saturating_sub(AROUND);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = (found.end.min(found.start + 4 * AROUND) + AROUND).min(text.len());
    while !text.is_char_boundary(to) {
        to += 1;
    }
    let end = found.end.min(to);
    let flat = |piece: &str| piece.replace(['\n', '\r', '\t'], " ");
    let piece = |from, to| text.get(from..to).map(flat).unwrap_or_default();
    let mut line = String::new();
    if from > 0 {
        line.push('…');
    }
    line.push_str(&piece(from, found.start));
    let start = line.len();
    line.push_str(&piece(found.start, end));
    let range = start..line.len();
    line.push_str(&piece(end, to));
    if to < text.len() {
        line.push('…');
    }
    (line, range)
}

/// Where a hit stands.
struct Session<'a> {
    id: SessionId,
    title: &'a str,
    worktree: &'a str,
}

impl Session<'_> {
    fn hit(&self, matcher: &Matcher, part: &Part, role: Role) -> Option<Hit> {
        let (text, found) = matcher.find(&texts(part))?;
        let (excerpt, found) = excerpt(text, &found);
        Some(Hit {
            session: self.id,
            title: self.title.to_owned(),
            worktree: self.worktree.to_owned(),
            message: part.message,
            role,
            part: part.id,
            kind: part.body.kind(),
            at: part.start,
            excerpt,
            found,
        })
    }
}

fn named<'a>(info: &'a SessionInfo, first_prompt: &'a str) -> Session<'a> {
    Session {
        id: info.id,
        title: if info.title.is_empty() {
            first_prompt
        } else {
            &info.title
        },
        worktree: &info.worktree,
    }
}

fn search_session(place: &Place, matcher: &Matcher, most: usize) -> Vec<Hit> {
    if let Some(hits) = search_bytes(place, matcher, most) {
        return hits;
    }
    let Ok(image) = archive::image(place) else {
        return Vec::new();
    };
    let Some(info) = &image.info else {
        return Vec::new();
    };
    let session = named(info, &image.facts.first_prompt);
    let newest_first = image.parts.values().rev().filter(|p| matcher.counts(p));
    let hits = newest_first.filter_map(|part| {
        let role = image.messages.get(&part.message)?.role;
        session.hit(matcher, part, role)
    });
    // of prompts it is not known before which hits stay
    let enough = if matcher.prompts { usize::MAX } else { most };
    matcher.kept(hits.take(enough).collect(), most)
}

/// Without reading what cannot match; none if that is not possible here.
fn search_bytes(place: &Place, matcher: &Matcher, most: usize) -> Option<Vec<Hit>> {
    let summary = Meta::read(place)?.summary;
    let session = named(&summary.info, &summary.first_prompt);
    let file = archive::bytes(place).ok()?;
    let matches = |part: &Part| matcher.counts(part) && matcher.find(&texts(part)).is_some();
    let enough = if matcher.prompts { usize::MAX } else { most };
    let found = scan::scan(&file, &matcher.needle, enough, &matches).ok()?;
    let hits = found.iter();
    let hits = hits.filter_map(|(part, role)| session.hit(matcher, part, *role));
    Some(matcher.kept(hits.collect(), most))
}

fn search_folders(
    folders: &[PathBuf],
    query: &SearchQuery,
    cancel: &AtomicBool,
) -> Result<Vec<Hit>, StoreError> {
    let matcher = Matcher::new(query)?;
    if matcher.all.is_empty() {
        return Ok(Vec::new());
    }
    let mut places: Vec<_> = list::places(folders)?
        .into_iter()
        .map(|place| (modified(&place.journal()), place))
        .collect();
    places.sort_by_key(|(at, place)| std::cmp::Reverse((*at, place.id)));
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let count = AtomicUsize::new(0);
    let work = || {
        while !cancel.load(Ordering::Relaxed) && count.load(Ordering::Relaxed) < query.limit {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, place)) = places.get(n) else {
                return;
            };
            let hits = search_session(place, &matcher, query.limit);
            count.fetch_add(hits.len(), Ordering::Relaxed);
            if !hits.is_empty() {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.push((n, hits));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..list::threads(places.len(), 2) {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(n, _)| *n);
    let hits = found.into_iter().flat_map(|(_, hits)| hits);
    Ok(hits.take(query.limit).collect())
}

impl Project {
    /// Searches this project's sessions, the one used last first. Blocks; reads every journal if
    /// there are few hits.
    pub fn search(&self, query: &SearchQuery, cancel: &AtomicBool) -> Result<Vec<Hit>, StoreError> {
        search_folders(&[self.sessions_dir()], query, cancel)
    }

    /// Searches the sessions of all projects.
    pub fn search_all(
        data_dir: &Path,
        query: &SearchQuery,
        cancel: &AtomicBool,
    ) -> Result<Vec<Hit>, StoreError> {
        search_folders(&list::all_folders(data_dir)?, query, cancel)
    }
}
