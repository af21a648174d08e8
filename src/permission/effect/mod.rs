//! What a simple command would do: read, write, delete, reach the network, run something else.
//!
//! `wrapper` takes `sudo`, `xargs`, `bash -c` and their like apart, so that what they run is judged
//! as well; `reading` is the table of commands that change nothing; `writing` knows what others touch;
//! `danger` knows what is hard to undo. A command in no table is simply not known to be harmless.

pub mod args;
mod danger;
mod disk;
mod git;
mod git_flags;
mod reading;
mod scripts;
mod shell_words;
mod table;
mod wrapper;
mod writing;

use std::path::PathBuf;

use super::hidden;
use super::place::Place;
use super::secret;
use super::shell::{Cwd, Script, Simple, Stdin, Word};

/// One command that would run, and what it would do.
#[derive(Debug, Clone, Default)]
pub struct Act {
    /// As typed.
    pub text: String,
    /// Forms of it that a denying rule may match: as typed, unwrapped, with a bare name.
    pub forms: Vec<String>,
    /// What it would do.
    pub effects: Effects,
}

/// What a command would do.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// True if it is known to change nothing and to reach no network.
    pub read_only: bool,
    /// Files it names and reads.
    pub reads: Vec<Target>,
    /// Files it names and writes, moves or deletes; those of `redirected` too.
    pub writes: Vec<Target>,
    /// Files that its output is redirected to.
    pub redirected: Vec<Target>,
    /// True if it would be read-only without its redirections.
    pub reads_but_for_redirects: bool,
    /// It deletes.
    pub deletes: bool,
    /// It reaches the network.
    pub network: bool,
    /// It runs as another user.
    pub root: bool,
    /// It runs what it reads from a pipe.
    pub pipes_into_shell: bool,
    /// It shows values that may be secret.
    pub shows_secrets: bool,
    /// Why it is hard to undo, one clause each.
    pub dangers: Vec<String>,
    /// More that the user should see, e.g. `writes Cargo.toml and Cargo.lock`.
    pub notes: Vec<String>,
    /// Why it can't be judged; none if it can.
    pub unclear: Option<String>,
    /// True if no wide grant may be offered for it, whatever its form.
    pub never_wide: bool,
}

/// A file that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As typed.
    pub typed: String,
    /// Where it may be; several if the current folder is not certain.
    pub paths: Vec<PathBuf>,
    /// True if only the shell knows.
    pub unknown: bool,
    /// True if it looks like a file with secrets.
    pub secret: bool,
}

/// What all commands of a script would do.
pub fn acts(script: &Script, place: &Place) -> (Vec<Act>, Vec<String>) {
    let mut found = Found {
        place,
        acts: Vec::new(),
        problems: script.problems.clone(),
    };
    for simple in &script.commands {
        found.simple(simple, &[], 0);
    }
    (found.acts, found.problems)
}

/// With more words than this what a pattern matches is no form for rules.
const MOST_FORMS: usize = 200;

/// Collects acts while wrappers are taken apart.
struct Found<'a> {
    place: &'a Place,
    acts: Vec<Act>,
    problems: Vec<String>,
}

impl Found<'_> {
    /// Judges one command. `typed` is it with its file-name patterns as they stand; `outer` are the texts of the wrappers around it.
    fn simple(&mut self, typed: &Simple, outer: &[String], depth: usize) {
        if depth > 12 {
            self.problems
                .push("commands within commands go too deep".to_owned());
            return;
        }
        let simple = &disk::matched(typed, self.place);
        if let Some(unwrapped) = wrapper::unwrap(simple, self.place) {
            self.unwrapped(simple, unwrapped, outer, depth);
            return;
        }
        let effects = effects(simple, self.place);
        self.push(typed, effects, outer);
        if simple.expanded.len() < MOST_FORMS {
            let words: Vec<String> = simple.expanded.iter().map(Word::shown).collect();
            if let Some(act) = self.acts.last_mut() {
                act.forms.push(words.join(" "));
                act.forms.dedup();
            }
        }
    }

    fn unwrapped(
        &mut self,
        simple: &Simple,
        unwrapped: wrapper::Unwrapped,
        outer: &[String],
        depth: usize,
    ) {
        let mut around = outer.to_vec();
        around.push(shown(simple));
        if let Some(own) = unwrapped.own {
            let mut effects = own;
            common(simple, self.place, &mut effects);
            self.push(simple, effects, outer);
        } else if !simple.redirects.is_empty() || !simple.assignments.is_empty() {
            let mut effects = Effects {
                read_only: true,
                ..Effects::default()
            };
            common(simple, self.place, &mut effects);
            self.push(
                &Simple {
                    words: Vec::new(),
                    ..simple.clone()
                },
                effects,
                outer,
            );
        }
        for inner in &unwrapped.inner {
            self.simple(inner, &around, depth + 1);
        }
        for (code, cwd) in &unwrapped.code {
            let script = super::shell::read(code, cwd, self.place);
            for problem in script.problems {
                self.problems
                    .push(format!("inside `{}`: {problem}", name_of(simple)));
            }
            for inner in &script.commands {
                self.simple(inner, &[], depth + 1);
            }
        }
    }

    fn push(&mut self, simple: &Simple, effects: Effects, outer: &[String]) {
        let mut forms = vec![shown(simple)];
        if let Some((name, rest)) = simple.words.split_first() {
            let name = name.shown();
            let base = name.rsplit('/').next().unwrap_or(&name).to_owned();
            let rest: Vec<String> = rest.iter().map(Word::shown).collect();
            forms.push([&[base], rest.as_slice()].concat().join(" "));
            // the values of variables
            let known: Vec<String> = simple.expanded.iter().map(Word::shown).collect();
            forms.push(known.join(" "));
            forms.extend(git::bare_form(simple));
        }
        forms.extend(outer.iter().cloned());
        forms.extend(wrapper::hidden_forms(simple));
        forms.retain(|form| !form.is_empty());
        forms.dedup();
        self.acts.push(Act {
            text: simple.text.clone(),
            forms,
            effects,
        });
    }
}

/// True for a variable that changes what programs or the shell do.
pub(super) fn is_powerful(name: &str) -> bool {
    scripts::is_powerful(name)
}

/// A command as rules see it: words separated by one blank, quotes gone.
pub fn shown(simple: &Simple) -> String {
    let words: Vec<String> = simple.words.iter().map(Word::as_rule).collect();
    words.join(" ")
}

/// The name of the program, without its folder if that is a usual one.
fn name_of(simple: &Simple) -> String {
    let name = simple
        .words
        .first()
        .and_then(Word::text)
        .unwrap_or_default();
    for folder in [
        "/bin/",
        "/usr/bin/",
        "/usr/local/bin/",
        "/sbin/",
        "/usr/sbin/",
        "/opt/homebrew/bin/",
    ] {
        if let Some(base) = name.strip_prefix(folder)
            && !base.contains('/')
        {
            return base.to_owned();
        }
    }
    name
}

/// What a command that wraps no other would do.
fn effects(simple: &Simple, place: &Place) -> Effects {
    let mut effects = Effects::default();
    let name = name_of(simple);
    // a variable's values were put in; without words there is only an assignment or a redirection
    let Some((first, words)) = simple.expanded.split_first() else {
        effects.read_only = true;
        common(simple, place, &mut effects);
        return effects;
    };
    if first.text().is_none() {
        effects.unclear = Some("the name of the program is only known to the shell".to_owned());
    }
    let command = Command {
        name: &name,
        words,
        cwd: &simple.cwd,
        stdin: &simple.stdin,
        place,
    };
    reading::describe(&command, &mut effects);
    if !effects.read_only {
        writing::describe(&command, &mut effects);
        danger::describe(&command, &mut effects);
    }
    common(simple, place, &mut effects);
    effects
}

/// What is judged alike for every command: redirections, assignments, hidden characters, and paths
/// among the words of an unknown program.
fn common(simple: &Simple, place: &Place, effects: &mut Effects) {
    let mut others = true;
    let moved = simple.cwd.unknown || simple.cwd.folders.iter().any(|f| !place.in_worktree(f));
    if moved && !simple.words.is_empty() {
        // `cd / && ls` names no file, but it looks at one
        effects
            .reads
            .push(target(&Word::literal("."), &simple.cwd, place));
    }
    for redirect in &simple.redirects {
        let target = target(&redirect.target, &simple.cwd, place);
        let typed = redirect.target.prefix();
        if typed.starts_with("/dev/tcp") || typed.starts_with("/dev/udp") {
            effects.network = true;
            others = false;
        } else if redirect.writes && typed.starts_with("/dev/") && !target.is_device() {
            effects.dangers.push("writes to a device".to_owned());
        }
        if redirect.writes {
            if !target.is_device() {
                effects.redirected.push(target.clone());
            }
            effects.writes.push(target);
        } else {
            effects.reads.push(target);
        }
    }
    let exported = !simple.words.is_empty();
    let reads_a_line = simple
        .words
        .first()
        .and_then(Word::text)
        .is_some_and(|name| name == "read");
    for (name, value) in &simple.assignments {
        // `IFS= read` holds for that line alone
        if reads_a_line && name == "IFS" {
            continue;
        }
        if !scripts::is_harmless_assignment(name, value, exported) {
            others = false;
            effects.notes.push(format!("sets {name}"));
        }
    }
    if let Some(c) = hidden::find(&simple.text) {
        others = false;
        effects.unclear = Some(format!("it holds the {}", hidden::name(c)));
    }
    effects.reads_but_for_redirects = effects.read_only && others;
    effects.read_only = effects.reads_but_for_redirects && effects.redirected.is_empty();
}

/// A command and its surroundings, for the tables.
struct Command<'a> {
    name: &'a str,
    words: &'a [Word],
    cwd: &'a Cwd,
    stdin: &'a Stdin,
    place: &'a Place,
}

impl Command<'_> {
    fn target(&self, word: &Word) -> Target {
        target(word, self.cwd, self.place)
    }

    fn targets(
        &self,
        words: impl IntoIterator<Item = impl std::borrow::Borrow<Word>>,
    ) -> Vec<Target> {
        words
            .into_iter()
            .map(|w| self.target(std::borrow::Borrow::borrow(&w)))
            .collect()
    }
}

/// A word as a path.
fn target(word: &Word, cwd: &Cwd, place: &Place) -> Target {
    let typed = word.raw.clone();
    let Some(pattern) = word.pattern() else {
        let known = word.prefix();
        let secret = secret::glob_wants_secret(known.trim_end_matches('/'));
        // `/etc/$x` is outside whatever x is; `src/$x` may lead anywhere
        let paths = if known.starts_with('/') || word.tilde {
            resolve(known, word.tilde, cwd, place).0
        } else {
            Vec::new()
        };
        return Target {
            typed,
            paths,
            unknown: true,
            secret,
        };
    };
    let (mut paths, mut unknown) = resolve(&pattern, word.tilde, cwd, place);
    if word.has_glob() && place.sight.is_some() {
        for found in disk::matches(word, cwd, place) {
            match found.text() {
                Some(text) => paths.extend(resolve(&text, false, cwd, place).0),
                None => unknown = true,
            }
        }
    }
    let secret = paths.iter().any(|p| secret::is_secret(p))
        || (word.has_glob() && secret::glob_wants_secret(&pattern));
    Target {
        typed,
        paths,
        unknown,
        secret,
    }
}

fn resolve(typed: &str, tilde: bool, cwd: &Cwd, place: &Place) -> (Vec<PathBuf>, bool) {
    let typed = match (tilde, typed.strip_prefix('~')) {
        (true, Some(rest)) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", place.home.display())
        }
        // ~user, ~+ and ~-
        (true, Some(_)) => return (Vec::new(), true),
        _ => typed.to_owned(),
    };
    let absolute = typed.starts_with('/');
    let unknown = cwd.unknown && !absolute;
    let mut paths: Vec<PathBuf> = cwd
        .folders
        .iter()
        .map(|folder| place.absolute(folder, &typed))
        .collect();
    paths.sort();
    paths.dedup();
    (paths, unknown)
}

impl Target {
    /// True for `/dev/null` and its like.
    pub fn is_device(&self) -> bool {
        !self.unknown && self.paths.iter().all(|p| super::place::is_device(p))
    }
}
