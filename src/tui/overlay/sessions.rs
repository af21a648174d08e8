//! The session picker: what it holds and what its keys do. `session_rows` draws it.
//!
//! Titles and first prompts are matched here as one types; all other prompts are searched by the agent,
//! whose answer joins. Sessions are grouped by day, forks and subagents under the session they came
//! from. Naming and deleting ask within the picker; the agent does the work.

use std::collections::HashMap;

use super::listed::SeenRows;
use super::{Intent, Outcome, edit_line};
use crate::protocol::{Message, NoticeLevel, Op, Part, SearchHit, SessionId, SessionSummary};
use crate::tui::composer::buffer::Buffer;
use crate::tui::fuzzy;
use crate::tui::input::{Code, Key};
use crate::tui::keymap::{Action, Context, Keymap};

/// Subagents shown under a session while nothing is searched.
const SUBAGENTS: usize = 5;
/// Fewer letters stand in nearly every prompt.
const LETTERS: usize = 3;
/// Bytes shown before the match in a later prompt.
const BEFORE: usize = 16;
/// Previews kept.
const PREVIEWS: usize = 64;

/// One session in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its place among the sessions.
    pub(super) index: usize,
    /// How many sessions it hangs under.
    pub(super) depth: usize,
    /// Matches in its title, by byte.
    pub(super) title: Vec<usize>,
    /// Matches in its first prompt, by byte; only if the title does not match.
    pub(super) prompt: Vec<usize>,
    /// A later prompt that matches, if neither of these does.
    pub(super) later: Option<(String, Vec<usize>)>,
    /// When its family was used last.
    pub(super) family: i64,
    /// Subagents after it that are not shown.
    pub(super) more: usize,
}

/// What the picker asks for at the moment.
#[derive(Debug, Clone, Default)]
pub(super) enum Asking {
    /// Nothing: keys go to the list and the query.
    #[default]
    Nothing,
    /// A new name for the chosen session.
    Name(Buffer),
    /// Whether the chosen session shall go for ever.
    Delete,
}

/// The picker.
#[derive(Debug, Clone, Default)]
pub struct SessionList {
    pub(super) query: Buffer,
    pub(super) everywhere: bool,
    pub(super) waiting: bool,
    pub(super) sessions: Vec<SessionSummary>,
    pub(super) lines: Vec<Line>,
    /// How many sessions match.
    pub(super) count: usize,
    pub(super) selected: usize,
    pub(super) asking: Asking,
    /// What came of the last change, to be shown.
    pub(super) said: Option<(NoticeLevel, String)>,
    previews: HashMap<SessionId, (Vec<Message>, Vec<Part>)>,
    previewing: Option<SessionId>,
    /// What the agent found for the query: the newest prompt of each session that matches.
    prompts: HashMap<SessionId, SearchHit>,
    generation: u64,
    /// Rows of the last frame.
    pub(super) seen: SeenRows,
}

impl SessionList {
    /// An empty list; `Event::Sessions` fills it.
    pub fn new() -> Self {
        Self {
            waiting: true,
            ..Self::default()
        }
    }

    /// Sessions were listed; the one that is open is left out.
    pub fn sessions_came(&mut self, sessions: &[SessionSummary], open: Option<SessionId>) {
        let chosen = self.chosen().map(|s| s.info.id);
        self.waiting = false;
        self.sessions = sessions
            .iter()
            .filter(|s| Some(s.info.id) != open)
            .cloned()
            .collect();
        self.filter();
        let at = self
            .lines
            .iter()
            .position(|line| Some(self.sessions[line.index].info.id) == chosen);
        self.selected = at.unwrap_or(self.selected);
        self.keep_in_list();
    }

    /// The end of a session came.
    pub fn preview_came(&mut self, id: SessionId, messages: Vec<Message>, parts: Vec<Part>) {
        if self.previewing == Some(id) {
            self.previewing = None;
        }
        if self.previews.len() >= PREVIEWS {
            self.previews.clear();
        }
        self.previews.insert(id, (messages, parts));
    }

    /// Prompts that match came; an older answer is dropped.
    pub fn prompts_found(&mut self, generation: u64, hits: Vec<SearchHit>) {
        if generation == self.generation {
            self.prompts = hits.into_iter().map(|hit| (hit.session, hit)).collect();
            self.filter();
        }
    }

    /// What is to be asked for after the query or the scope changed.
    fn ask_for_prompts(&mut self) -> Option<Op> {
        self.generation += 1;
        self.prompts.clear();
        self.filter();
        let text = self.query.text().trim().to_owned();
        (text.chars().count() >= LETTERS).then_some(Op::Search {
            text,
            prompts: true,
            all: self.everywhere,
            generation: self.generation,
        })
    }

    /// Says what came of a change.
    pub fn say(&mut self, level: NoticeLevel, text: String) {
        self.said = Some((level, text));
        // It may have another end now.
        self.previews.clear();
    }

    /// The preview that should be asked for: one at a time, the newest choice wins.
    pub fn wants(&mut self) -> Option<Op> {
        let id = self.chosen()?.info.id;
        if self.previewing.is_some() || self.previews.contains_key(&id) {
            return None;
        }
        self.previewing = Some(id);
        Some(Op::Preview(id))
    }

    /// The end of the chosen session, if it came.
    pub(super) fn preview(&self) -> Option<&(Vec<Message>, Vec<Part>)> {
        self.previews.get(&self.chosen()?.info.id)
    }

    /// The chosen session.
    pub(super) fn chosen(&self) -> Option<&SessionSummary> {
        self.sessions.get(self.lines.get(self.selected)?.index)
    }

    fn keep_in_list(&mut self) {
        self.selected = self.selected.min(self.lines.len().saturating_sub(1));
    }

    /// Ranks anew after the query or the sessions changed.
    fn filter(&mut self) {
        let query = self.query.text().trim();
        let marks = |texts: &[&str]| -> Marks {
            let hits = fuzzy::rank(query, texts, 5_000);
            hits.into_iter().map(|h| (h.index, h.marks)).collect()
        };
        let titles: Vec<&str> = self.sessions.iter().map(title).collect();
        let prompts: Vec<&str> = self.sessions.iter().map(|s| &*s.first_prompt).collect();
        let found = Found {
            all: query.is_empty(),
            title: marks(&titles),
            prompt: marks(&prompts),
            later: self.later(),
        };
        self.count = (0..self.sessions.len()).filter(|at| found.hit(*at)).count();
        let (roots, children) = self.families();
        let mut families: Vec<Vec<Line>> = roots
            .into_iter()
            .map(|root| self.family(root, &children, &found))
            .filter(|lines| !lines.is_empty())
            .collect();
        families.sort_by_key(|lines| std::cmp::Reverse(lines.first().map(|l| l.family)));
        self.lines = families.into_iter().flatten().collect();
        self.keep_in_list();
    }

    /// Prompts that the agent found, by the place of their session, with what matches in them.
    fn later(&self) -> HashMap<usize, (String, Vec<usize>)> {
        let places = self.sessions.iter().enumerate();
        places
            .filter_map(|(at, s)| {
                let hit = super::search::marked(self.prompts.get(&s.info.id)?);
                Some((at, match_in_sight(hit)))
            })
            .collect()
    }

    /// Sessions that hang under no other, and what hangs under each.
    fn families(&self) -> (Vec<usize>, HashMap<usize, Vec<usize>>) {
        let ids = self.sessions.iter().map(|s| s.info.id);
        let place: HashMap<SessionId, usize> = ids.enumerate().map(|(at, id)| (id, at)).collect();
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut roots = Vec::new();
        for (at, session) in self.sessions.iter().enumerate() {
            // Only an older session can be a parent: damaged facts must not make a ring.
            let parent = session.info.parent.filter(|p| *p < session.info.id);
            match parent.and_then(|p| place.get(&p)) {
                Some(parent) => children.entry(*parent).or_default().push(at),
                None => roots.push(at),
            }
        }
        (roots, children)
    }

    /// The lines of a session and of all below it, as far as they match.
    fn family(
        &self,
        root: usize,
        children: &HashMap<usize, Vec<usize>>,
        found: &Found,
    ) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut stack = vec![(root, 0)];
        while let Some((at, depth)) = stack.pop() {
            let mut below = children.get(&at).cloned().unwrap_or_default();
            let more = if found.all { self.cut(&mut below) } else { 0 };
            lines.push(found.line(at, depth, more));
            // Popped in reverse: the one used last comes first.
            stack.extend(below.into_iter().rev().map(|c| (c, depth + 1)));
        }
        let used = lines.iter().map(|l| self.sessions[l.index].updated).max();
        let family = used.unwrap_or_default();
        // What matches nothing is shown only to hang what matches under it.
        let keep = kept(&lines, |at| found.hit(at));
        let lines = lines.into_iter().zip(keep).filter(|(_, keep)| *keep);
        lines.map(|(line, _)| Line { family, ..line }).collect()
    }

    /// Leaves only the newest subagents; says how many are left out.
    fn cut(&self, below: &mut Vec<usize>) -> usize {
        let mut subagents = 0;
        below.retain(|at| {
            let fork = self.sessions[*at].fork;
            subagents += usize::from(!fork);
            fork || subagents <= SUBAGENTS
        });
        subagents.saturating_sub(SUBAGENTS)
    }

    /// The choice moves, around the ends.
    pub fn step(&mut self, delta: isize) {
        let count = self.lines.len().cast_signed();
        if count > 0 {
            self.selected = (self.selected.cast_signed() + delta)
                .rem_euclid(count)
                .cast_unsigned();
        }
    }

    /// Chooses what a row shows; none if it shows no session. Its preview is asked for.
    pub fn click(&mut self, row: u16) -> Option<Vec<Intent>> {
        let at = self.seen.at(row)?;
        if !matches!(self.asking, Asking::Nothing) {
            return None;
        }
        self.selected = at;
        self.said = None;
        Some(self.wants().map(Intent::Op).into_iter().collect())
    }

    /// Pasted text joins what is written; gives what to ask for.
    pub fn paste(&mut self, text: &str) -> Option<Op> {
        match &mut self.asking {
            Asking::Name(name) => name.insert(text),
            Asking::Delete => {}
            Asking::Nothing => {
                self.query.insert(text);
                return self.ask_for_prompts();
            }
        }
        None
    }

    /// A key.
    pub fn key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        self.said = None;
        let outcome = match &self.asking {
            Asking::Name(_) => self.name_key(key, keys),
            Asking::Delete => self.delete_key(key),
            Asking::Nothing => self.list_key(key, keys),
        };
        match (outcome, self.wants()) {
            (Outcome::Consumed, Some(op)) => Outcome::Emit(vec![Intent::Op(op)]),
            (Outcome::Emit(mut intents), Some(op)) => {
                intents.push(Intent::Op(op));
                Outcome::Emit(intents)
            }
            (outcome, _) => outcome,
        }
    }

    fn list_key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let id = self.chosen().map(|s| s.info.id);
        let close = |op: Option<Op>| match op {
            Some(op) => Outcome::Close(vec![Intent::Op(op)]),
            None => Outcome::Consumed,
        };
        match keys.action(&[Context::Sessions, Context::List], key) {
            Some(Action::ListUp) => self.step(-1),
            Some(Action::ListDown) => self.step(1),
            Some(Action::ListPageUp) => self.selected = self.selected.saturating_sub(10),
            Some(Action::ListPageDown) => {
                self.selected += 10;
                self.keep_in_list();
            }
            Some(Action::ListClose) => return Outcome::Close(Vec::new()),
            Some(Action::ListAccept) => return close(id.map(Op::OpenSession)),
            Some(Action::SessionFork) => return close(id.map(Op::ForkSession)),
            Some(Action::SessionScope) => {
                self.everywhere = !self.everywhere;
                self.waiting = true;
                let all = self.everywhere;
                let list = Op::ListSessions { all };
                let ops = std::iter::once(list).chain(self.ask_for_prompts());
                return Outcome::Emit(ops.map(Intent::Op).collect());
            }
            Some(Action::SessionArchive) => {
                return match id {
                    Some(id) => Outcome::Emit(vec![Intent::Op(Op::ArchiveSession(id))]),
                    None => Outcome::Consumed,
                };
            }
            Some(Action::SessionRename) => {
                if let Some(session) = self.chosen() {
                    let mut name = Buffer::default();
                    name.insert(title(session));
                    self.asking = Asking::Name(name);
                }
            }
            Some(Action::SessionDelete) => {
                if id.is_some() {
                    self.asking = Asking::Delete;
                }
            }
            _ => {
                let before = self.query.text().to_owned();
                edit_line(&mut self.query, key, keys);
                if self.query.text() != before
                    && let Some(op) = self.ask_for_prompts()
                {
                    return Outcome::Emit(vec![Intent::Op(op)]);
                }
            }
        }
        Outcome::Consumed
    }

    fn name_key(&mut self, key: Key, keys: &Keymap) -> Outcome {
        let Asking::Name(name) = &mut self.asking else {
            return Outcome::Ignored;
        };
        match keys.action(&[Context::List], key) {
            Some(Action::ListAccept) => {
                let new = name.text().trim().to_owned();
                self.asking = Asking::Nothing;
                let id = self.chosen().map(|s| s.info.id);
                if let Some(id) = id.filter(|_| !new.is_empty()) {
                    let op = Op::RenameSession { id, title: new };
                    return Outcome::Emit(vec![Intent::Op(op)]);
                }
            }
            Some(Action::ListClose) => self.asking = Asking::Nothing,
            _ => edit_line(name, key, keys),
        }
        Outcome::Consumed
    }

    /// Only `y` deletes; every other key keeps.
    fn delete_key(&mut self, key: Key) -> Outcome {
        self.asking = Asking::Nothing;
        let id = self.chosen().map(|s| s.info.id);
        match (key.code, id) {
            (Code::Char('y' | 'Y'), Some(id)) => {
                Outcome::Emit(vec![Intent::Op(Op::DeleteSession(id))])
            }
            _ => Outcome::Consumed,
        }
    }
}

/// Matches by a session's place: byte positions.
type Marks = HashMap<usize, Vec<usize>>;

/// What matches the query.
struct Found {
    /// Nothing is searched: everything does.
    all: bool,
    title: Marks,
    prompt: Marks,
    /// Those with a later prompt that matches.
    later: HashMap<usize, (String, Vec<usize>)>,
}

impl Found {
    fn hit(&self, at: usize) -> bool {
        self.all
            || self.title.contains_key(&at)
            || self.prompt.contains_key(&at)
            || self.later.contains_key(&at)
    }

    fn line(&self, index: usize, depth: usize, more: usize) -> Line {
        let title = self.title.get(&index).cloned();
        let prompt = match title {
            Some(_) => Vec::new(),
            None => self.prompt.get(&index).cloned().unwrap_or_default(),
        };
        let here = title.is_some() || !prompt.is_empty();
        Line {
            index,
            depth,
            later: self.later.get(&index).filter(|_| !here).cloned(),
            title: title.unwrap_or_default(),
            prompt,
            family: 0,
            more,
        }
    }
}

/// A found prompt whose match stands near the beginning, because the row is short.
fn match_in_sight((text, marks): (String, Vec<usize>)) -> (String, Vec<usize>) {
    let first = marks.first().copied().unwrap_or_default();
    let mut places = text.char_indices().map(|(at, _)| at);
    let Some(cut) = places.find(|at| at + BEFORE >= first).filter(|at| *at > 0) else {
        return (text, marks);
    };
    let sign = "…";
    let rest = text.get(cut..).unwrap_or_default();
    let moved = marks.iter().map(|at| at - cut + sign.len()).collect();
    (format!("{sign}{rest}"), moved)
}

/// Which lines match, or have one below them that does.
fn kept(lines: &[Line], hit: impl Fn(usize) -> bool) -> Vec<bool> {
    (0..lines.len())
        .map(|at| {
            let depth = lines[at].depth;
            hit(lines[at].index)
                || lines[at + 1..]
                    .iter()
                    .take_while(|below| below.depth > depth)
                    .any(|below| hit(below.index))
        })
        .collect()
}

/// A session's title, or its first prompt until it has one.
pub(super) fn title(session: &SessionSummary) -> &str {
    if session.info.title.is_empty() {
        &session.first_prompt
    } else {
        &session.info.title
    }
}
