//! The judge: rules first, then what the mode allows, for a path, a command, a URL or a tool.
//!
//! The driver asks it once per need of a tool call. Order of precedence (docs/permissions.md):
//! a `deny` of anybody; the plan mode; an `ask`; what is never covered by a wide rule (outside,
//! secrets, dangers); an `allow`; the mode.

use std::path::Path;

use super::effect::{self, Act, Target};
use super::hidden;
use super::pattern::{self, is_exact, is_general, matches_command, matches_path};
use super::place::Place;
use super::request::{AskDetail, Request, Verdict, What};
use super::secret;
use super::shell::{self, Cwd, Script};
use crate::config::used::{RuleAction, RuleLayer};
use crate::protocol::Mode;

/// Owners whose word is the user's newest, strongest first: their `allow` beats another's `ask`.
const STRONG: [&str; 3] = ["session", "flags", "grants"];

/// Decides.
#[derive(Debug, Clone)]
pub struct Judge {
    layers: Vec<RuleLayer>,
    mode: Mode,
    place: Place,
}

/// What the rules say about one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ruling {
    deny: Option<Word>,
    ask: Option<Word>,
    allow: Option<Word>,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    owner: String,
    tool: String,
    pattern: String,
}

impl Word {
    fn named(&self) -> String {
        format!(
            "the rule {} `{}` of the {} layer",
            self.tool, self.pattern, self.owner
        )
    }
}

/// What is said about one act of a command line.
enum Said {
    Allow(String),
    Ask(String),
    Deny(String),
}

impl Judge {
    /// A judge with these rules, in this mode and place. Owners of layers: `user`, `project`, `agent`,
    /// `flags` from configuration, `grants` for stored answers, `session` for answers of this session.
    pub const fn new(layers: Vec<RuleLayer>, mode: Mode, place: Place) -> Self {
        Self {
            layers,
            mode,
            place,
        }
    }

    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Changes the mode.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// The place.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Says whether commands run in the sandbox from now on.
    pub fn set_sandboxed(&mut self, sandboxed: bool) {
        self.place.sandboxed = sandboxed;
    }

    /// The rules.
    pub fn layers(&self) -> &[RuleLayer] {
        &self.layers
    }

    /// Adds a rule to the end of an owner's layer, as an "always" answer does.
    pub fn grant(&mut self, owner: &str, rule: crate::config::used::Rule) {
        match self.layers.iter_mut().find(|l| l.owner == owner) {
            Some(layer) => layer.rules.push(rule),
            None => self.layers.push(RuleLayer {
                owner: owner.to_owned(),
                rules: vec![rule],
            }),
        }
    }

    /// Decides on one need.
    pub fn decide(&self, request: &Request) -> Verdict {
        match &request.what {
            What::Read(path) => self.read(&request.tool, path),
            What::Write(path) => self.write(&request.tool, path),
            What::Command { command, cwd } => self.command(&request.tool, command, cwd),
            What::Fetch(url) => self.fetch(&request.tool, url),
            What::Other(name) => self.other(request, name),
        }
    }

    const fn contained(&self) -> bool {
        matches!(self.mode, Mode::Auto) && self.place.sandboxed
    }

    fn read(&self, tool: &str, path: &Path) -> Verdict {
        let shown = self.place.show(path);
        let ruling = self.ruling(&[tool, "read"], &|p| matches_path(p, path, &self.place));
        if let Some(rule) = ruling.deny {
            return refused(&format!("reading {shown}"), &rule);
        }
        let outside = !self.place.reads_inside(path);
        let secret = secret::is_secret(path);
        let covered = ruling
            .allow
            .as_ref()
            .is_some_and(|r| !is_general(&r.pattern));
        let mut ask = AskDetail {
            heading: "Read this file".to_owned(),
            subject: shown.clone(),
            pattern: Some(offered_path(path, &self.place, secret)),
            ..AskDetail::default()
        };
        if outside {
            ask.sees.push("outside the worktree".to_owned());
        }
        if secret {
            ask.sees.push("may hold secrets".to_owned());
        }
        if let Some(rule) = ruling.ask {
            ask.why = format!("{} asks.", rule.named());
        } else if covered {
            return allow(format!(
                "{shown} may be read: {}.",
                named(ruling.allow.as_ref())
            ));
        } else if outside {
            ask.why = format!("{shown} is outside the worktree.");
        } else if secret && !self.contained() {
            ask.why = format!("{shown} looks like a file with secrets.");
        } else {
            return allow(format!("{shown} is inside the worktree and only read."));
        }
        Verdict::Ask(ask)
    }

    fn write(&self, tool: &str, path: &Path) -> Verdict {
        let shown = self.place.show(path);
        let ruling = self.ruling(&[tool, "edit"], &|p| matches_path(p, path, &self.place));
        if let Some(rule) = ruling.deny {
            return refused(&format!("writing {shown}"), &rule);
        }
        if self.mode == Mode::Plan {
            return Verdict::Deny {
                why: plan_sentence(&format!("{shown} was not written")),
            };
        }
        let outside = !self.place.writes_inside(path);
        let protected = self.place.is_protected(path);
        let secret = secret::is_secret(path);
        let mut ask = AskDetail {
            heading: "Edit this file".to_owned(),
            subject: shown.clone(),
            pattern: Some(offered_path(path, &self.place, secret || protected)),
            dangerous: protected,
            ..AskDetail::default()
        };
        if outside {
            ask.sees.push("outside the worktree".to_owned());
        }
        if protected {
            ask.sees
                .push("changes what git or dunlin will run".to_owned());
        }
        if secret {
            ask.sees.push("may hold secrets".to_owned());
        }
        let covered = ruling.allow.as_ref().filter(|r| !is_general(&r.pattern));
        if let Some(rule) = ruling.ask {
            ask.why = format!("{} asks.", rule.named());
        } else if let Some(rule) = covered {
            return allow(format!("{shown} may be written: {}.", rule.named()));
        } else if outside {
            ask.why = format!("{shown} is outside the worktree.");
        } else if protected {
            ask.why = format!("{shown} belongs to git or dunlin itself.");
        } else if let Some(rule) = ruling.allow {
            return allow(format!("{shown} may be written: {}.", rule.named()));
        } else if matches!(self.mode, Mode::AutoEdit | Mode::Auto) {
            return allow(format!(
                "edits inside the worktree run in mode {}.",
                self.mode.name()
            ));
        } else {
            ask.why = String::from("edits ask in mode ask.");
        }
        Verdict::Ask(ask)
    }

    fn fetch(&self, tool: &str, url: &str) -> Verdict {
        let ruling = self.ruling(&[tool, "web_fetch"], &|p| matches_command(p, url));
        if let Some(rule) = ruling.deny {
            return refused(&format!("fetching {url}"), &rule);
        }
        let hidden = hidden::find(url).map(hidden::name);
        let mut ask = AskDetail {
            heading: "Fetch this address".to_owned(),
            subject: url.to_owned(),
            sees: vec!["network".to_owned()],
            pattern: offered_url(url).filter(|_| hidden.is_none()),
            withheld: hidden.clone().unwrap_or_default(),
            dangerous: hidden.is_some(),
            ..AskDetail::default()
        };
        if let Some(rule) = ruling.ask {
            ask.why = format!("{} asks.", rule.named());
        } else if let (Some(rule), true) = (ruling.allow, hidden.is_none()) {
            return allow(format!("it may be fetched: {}.", rule.named()));
        } else if self.mode == Mode::Auto && hidden.is_none() {
            return allow("fetching runs in mode auto.".to_owned());
        } else {
            ask.why = String::from("it reaches the network.");
        }
        Verdict::Ask(ask)
    }

    fn other(&self, request: &Request, name: &str) -> Verdict {
        let ruling = self.ruling(&[&request.tool, name], &|p| {
            is_general(p) || matches_command(p, name)
        });
        if let Some(rule) = ruling.deny {
            return refused(&format!("the tool {name}"), &rule);
        }
        if self.mode == Mode::Plan && request.can_write {
            return Verdict::Deny {
                why: plan_sentence(&format!(
                    "the tool {name} may change something and was not used"
                )),
            };
        }
        let why = if let Some(rule) = ruling.ask {
            format!("{} asks.", rule.named())
        } else if let Some(rule) = ruling.allow {
            return allow(format!("{name} may be used: {}.", rule.named()));
        } else if self.mode == Mode::Auto {
            return allow("tools run in mode auto.".to_owned());
        } else {
            "nothing is known about what this tool does.".to_owned()
        };
        Verdict::Ask(AskDetail {
            heading: "Use this tool".to_owned(),
            subject: name.to_owned(),
            pattern: Some("*".to_owned()),
            why,
            ..AskDetail::default()
        })
    }

    fn command(&self, tool: &str, command: &str, cwd: &Path) -> Verdict {
        let script = shell::read(command, &Cwd::at(cwd), &self.place);
        let (acts, problems) = effect::acts(&script, &self.place);
        let mut asks = Vec::new();
        let mut allows = Vec::new();
        for act in &acts {
            match self.act(tool, act) {
                Said::Deny(why) => return Verdict::Deny { why },
                Said::Ask(why) => asks.push(why),
                Said::Allow(why) => allows.push(why),
            }
        }
        if !problems.is_empty() || hidden::find(command).is_some() {
            if let Some(verdict) = self.denied_piece(tool, command) {
                return verdict;
            }
            let why = match hidden::find(command) {
                Some(c) => format!("it holds the {}.", hidden::name(c)),
                None => format!("{}.", problems.join("; ")),
            };
            if self.mode == Mode::Plan {
                return Verdict::Deny {
                    why: plan_sentence(&format!("`{command}` was not run: {why}")),
                };
            }
            if !self.contained() {
                asks.insert(0, format!("It can't be judged: {why}"));
            }
        }
        if asks.is_empty() {
            allows.dedup();
            let why = if allows.is_empty() {
                "it runs nothing.".to_owned()
            } else {
                allows.join(" ")
            };
            return allow(why);
        }
        let mut detail = self.detail(command, &script, &acts, &problems);
        asks.dedup();
        detail.why = asks.join(" ");
        Verdict::Ask(detail)
    }

    fn act(&self, tool: &str, act: &Act) -> Said {
        let effects = &act.effects;
        let own = act.forms.first().map_or("", String::as_str);
        let named_any = |p: &str| act.forms.iter().any(|form| matches_command(p, form));
        let any = self.ruling(&[tool, "bash"], &named_any);
        let shown = if own.is_empty() { &act.text } else { own };
        if let Some(rule) = any.deny {
            return Said::Deny(refusal(&format!("`{shown}`"), &rule));
        }
        let mut ask = any.ask;
        for (targets, class) in [(&effects.reads, "read"), (&effects.writes, "edit")] {
            for path in targets.iter().flat_map(|t| &t.paths) {
                let ruling = self.ruling(&[class], &|p| matches_path(p, path, &self.place));
                if let Some(rule) = ruling.deny {
                    return Said::Deny(refusal(&format!("`{shown}`"), &rule));
                }
                ask = ask.or(ruling.ask.filter(|r| !is_general(&r.pattern)));
            }
        }
        if self.mode == Mode::Plan && !effects.read_only {
            return Said::Deny(plan_sentence(&format!(
                "`{shown}` is not known to be read-only and was not run"
            )));
        }
        if let Some(rule) = ask {
            return Said::Ask(format!("`{shown}`: {} asks.", rule.named()));
        }
        let protected = effects
            .writes
            .iter()
            .any(|t| t.paths.iter().any(|p| self.place.is_protected(p)) && !effects.read_only);
        let allowed = self
            .ruling(&[tool, "bash"], &|p| {
                !own.is_empty() && matches_command(p, own)
            })
            .allow;
        let exact = allowed.as_ref().is_some_and(|r| is_exact(&r.pattern));
        if self.contained() && !protected {
            return Said::Allow(format!("`{shown}` runs in the sandbox."));
        }
        if !exact && let Some(why) = self.special(act, allowed.as_ref(), protected) {
            return Said::Ask(format!("`{shown}` {why}."));
        }
        self.ordinary(act, shown, allowed)
    }

    /// What no wide rule and no mode covers outside the sandbox.
    fn special(&self, act: &Act, allowed: Option<&Word>, protected: bool) -> Option<String> {
        let effects = &act.effects;
        if let Some(unclear) = &effects.unclear {
            return Some(format!("can't be judged: {unclear}"));
        }
        if let Some(danger) = effects.dangers.first() {
            return Some(danger.clone());
        }
        if effects.shows_secrets {
            return Some("shows values that may be secret".to_owned());
        }
        if protected {
            return Some("changes what git or dunlin will run".to_owned());
        }
        let covers = |target: &Target| {
            allowed.is_some_and(|rule| {
                rule.pattern.split(' ').any(|word| {
                    word.starts_with(['/', '~', '.'])
                        && !is_general(word)
                        && pattern::glob(word, &target.typed)
                })
            })
        };
        let secret = effects
            .reads
            .iter()
            .chain(&effects.writes)
            .find(|t| t.secret && !covers(t));
        if let Some(target) = secret {
            return Some(format!("touches {}, which may hold secrets", target.typed));
        }
        let reads = effects.reads.iter().filter(|t| !self.inside(t, false));
        let writes = effects.writes.iter().filter(|t| !self.inside(t, true));
        let mut outside = reads.chain(writes).filter(|t| !covers(t));
        outside.next().map(|target| {
            if target.unknown && target.paths.is_empty() {
                format!("touches {}, which only the shell knows", target.typed)
            } else {
                format!("reaches outside the worktree: {}", target.typed)
            }
        })
    }

    fn inside(&self, target: &Target, write: bool) -> bool {
        !target.unknown
            && target.paths.iter().all(|path| {
                if write {
                    self.place.writes_inside(path)
                } else {
                    self.place.reads_inside(path)
                }
            })
    }

    fn ordinary(&self, act: &Act, shown: &str, allowed: Option<Word>) -> Said {
        let effects = &act.effects;
        if effects.read_only {
            return Said::Allow(format!("`{shown}` only reads, inside the worktree."));
        }
        let edits = matches!(self.mode, Mode::AutoEdit | Mode::Auto);
        let may_redirect = edits
            || effects.redirected.iter().all(|t| {
                t.paths.iter().all(|path| {
                    let rules = self.ruling(&["edit"], &|p| matches_path(p, path, &self.place));
                    // a worktree may itself lie in a temporary folder: its files are no leavings
                    let passing = !path.starts_with(&self.place.worktree)
                        && self.place.temp.iter().any(|dir| path.starts_with(dir));
                    rules.allow.is_some() || passing
                })
            });
        if let Some(rule) = allowed {
            return if may_redirect {
                Said::Allow(format!("`{shown}`: {}.", rule.named()))
            } else {
                Said::Ask(format!("`{shown}` writes its output to a file."))
            };
        }
        if effects.reads_but_for_redirects && may_redirect {
            return Said::Allow(format!("`{shown}` writes only files that may be edited."));
        }
        if self.mode == Mode::Auto {
            return Said::Allow(format!("`{shown}` runs in mode auto."));
        }
        Said::Ask(format!("`{shown}` is not known to be harmless."))
    }

    /// For text that could not be read: a piece between operators that a rule denies.
    fn denied_piece(&self, tool: &str, command: &str) -> Option<Verdict> {
        let pieces = command.split(['\n', ';', '|', '&', '(', ')', '`', '{', '}', '\r']);
        pieces
            .flat_map(|piece| {
                let words: Vec<&str> = piece
                    .split_whitespace()
                    .skip_while(|w| matches!(*w, "do" | "then" | "else" | "!" | "time" | "$"))
                    .collect();
                let plain: Vec<String> = words
                    .iter()
                    .map(|w| {
                        w.chars()
                            .filter(|c| !matches!(c, '"' | '\'' | '\\') && !hidden::is_hidden(*c))
                            .collect()
                    })
                    .collect();
                [words.join(" "), plain.join(" ")]
            })
            .filter(|form| !form.is_empty())
            .find_map(|form| {
                let ruling = self.ruling(&[tool, "bash"], &|p| matches_command(p, &form));
                ruling.deny.map(|rule| refused(&format!("`{form}`"), &rule))
            })
    }

    fn detail(
        &self,
        command: &str,
        script: &Script,
        acts: &[Act],
        problems: &[String],
    ) -> AskDetail {
        let withheld = withheld(command, script, acts, problems);
        let simple = script.commands.iter().find(|c| !c.words.is_empty());
        let pattern = if withheld.is_empty() {
            simple.and_then(|c| pattern::suggest(&c.words))
        } else {
            None
        };
        let withheld = if withheld.is_empty() && pattern.is_none() {
            "its words are only known to the shell".to_owned()
        } else {
            withheld
        };
        AskDetail {
            heading: "Run this command".to_owned(),
            subject: command.to_owned(),
            sees: self.sees(acts),
            why: String::new(),
            pattern,
            withheld,
            dangerous: hidden::find(command).is_some()
                || acts
                    .iter()
                    .any(|a| !a.effects.dangers.is_empty() || a.effects.pipes_into_shell),
        }
    }

    /// What was derived, the most important first, each once.
    fn sees(&self, acts: &[Act]) -> Vec<String> {
        let mut sees: Vec<String> = Vec::new();
        let mut add = |text: String| {
            if !sees.contains(&text) {
                sees.push(text);
            }
        };
        for act in acts {
            for danger in &act.effects.dangers {
                add(danger.clone());
            }
        }
        if acts.iter().any(|a| a.effects.pipes_into_shell) {
            add("pipes into a shell".to_owned());
        }
        if acts.iter().any(|a| a.effects.network) {
            add("network".to_owned());
        }
        for act in acts {
            for note in &act.effects.notes {
                add(note.clone());
            }
        }
        let mut listed = |verb: &str, targets: Vec<&Target>| {
            let mut typed: Vec<&str> = targets.iter().map(|t| t.typed.as_str()).collect();
            typed.dedup();
            if !typed.is_empty() {
                let more = typed.len().saturating_sub(4);
                typed.truncate(4);
                let rest = if more > 0 {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
                add(format!("{verb} {}{rest}", typed.join(", ")));
            }
        };
        let all = |pick: fn(&Act) -> bool| -> Vec<&Target> {
            acts.iter()
                .filter(|a| pick(a))
                .flat_map(|a| &a.effects.writes)
                .filter(|t| !t.is_device())
                .collect()
        };
        listed("deletes", all(|a| a.effects.deletes));
        listed("writes", all(|a| !a.effects.deletes));
        let reads = || acts.iter().flat_map(|a| &a.effects.reads);
        let writes = || acts.iter().flat_map(|a| &a.effects.writes);
        let outside = reads()
            .filter(|t| !self.inside(t, false))
            .chain(writes().filter(|t| !self.inside(t, true)));
        listed("outside the worktree:", outside.collect());
        listed(
            "may hold secrets:",
            reads().chain(writes()).filter(|t| t.secret).collect(),
        );
        if acts.iter().any(|a| a.effects.shows_secrets) {
            add("shows the environment".to_owned());
        }
        sees
    }

    /// What the rules say: within a layer the last match; across layers a deny of anybody, then the
    /// strong owners' word, then ask before allow.
    fn ruling(&self, tools: &[&str], matches: &dyn Fn(&str) -> bool) -> Ruling {
        let mut ruling = Ruling::default();
        let mut strong: Option<(usize, RuleAction, Word)> = None;
        for layer in &self.layers {
            let last = layer.rules.iter().rev().find(|rule| {
                tools.iter().any(|t| names_tool(&rule.tool, t)) && matches(&rule.pattern)
            });
            let Some(rule) = last else { continue };
            let word = Word {
                owner: layer.owner.clone(),
                tool: rule.tool.clone(),
                pattern: rule.pattern.clone(),
            };
            let rank = STRONG.iter().position(|o| *o == layer.owner);
            match (rule.action, rank) {
                (RuleAction::Deny, _) => ruling.deny = ruling.deny.or(Some(word)),
                (action, Some(rank)) => {
                    if strong.as_ref().is_none_or(|(best, ..)| rank < *best) {
                        strong = Some((rank, action, word));
                    }
                }
                (RuleAction::Ask, None) => ruling.ask = ruling.ask.or(Some(word)),
                (RuleAction::Allow, None) => ruling.allow = ruling.allow.or(Some(word)),
            }
        }
        if ruling.ask.is_some() {
            ruling.allow = None;
        }
        match strong {
            Some((_, RuleAction::Allow, word)) => {
                ruling.allow = Some(word);
                ruling.ask = None;
            }
            Some((_, _, word)) => {
                ruling.ask = Some(word);
                ruling.allow = None;
            }
            None => {}
        }
        ruling
    }
}

fn names_tool(rule: &str, tool: &str) -> bool {
    matches_command(&rule.to_ascii_lowercase(), &tool.to_ascii_lowercase())
}

/// Why a wide grant is not offered; empty if it is.
fn withheld(command: &str, script: &Script, acts: &[Act], problems: &[String]) -> String {
    if let Some(c) = hidden::find(command) {
        return hidden::name(c);
    }
    if !problems.is_empty() {
        return "it can't be read with certainty".to_owned();
    }
    if acts.iter().any(|a| a.effects.pipes_into_shell) {
        return "pipes into a shell".to_owned();
    }
    if acts.iter().any(|a| a.effects.root) {
        return "runs as root".to_owned();
    }
    let shape = &script.shape;
    let forms = [
        (shape.pipe, "a pipeline"),
        (shape.compound, "several commands in one line"),
        (shape.substitution, "a command within the command"),
        (shape.redirect, "a redirection"),
        (shape.heredoc, "text given to the command"),
        (shape.background, "runs in the background"),
    ];
    if let Some((_, why)) = forms.iter().find(|(is, _)| *is) {
        return (*why).to_owned();
    }
    if acts.iter().any(|a| a.effects.never_wide) {
        return "runs code that stands on the command line".to_owned();
    }
    if script.commands.iter().any(|c| !c.assignments.is_empty()) {
        return "sets variables".to_owned();
    }
    if script
        .commands
        .iter()
        .filter(|c| !c.words.is_empty())
        .count()
        != 1
        || acts.len() > 1
    {
        return "several commands in one line".to_owned();
    }
    String::new()
}

fn allow(why: String) -> Verdict {
    let mut chars = why.chars();
    let why = match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => why,
    };
    Verdict::Allow { why }
}

fn named(rule: Option<&Word>) -> String {
    rule.map_or_else(String::new, Word::named)
}

fn refusal(what: &str, rule: &Word) -> String {
    format!(
        "{what} was refused by {}. Don't try it in another way; go on without it, or ask the user.",
        rule.named()
    )
}

fn refused(what: &str, rule: &Word) -> Verdict {
    Verdict::Deny {
        why: refusal(what, rule),
    }
}

fn plan_sentence(what: &str) -> String {
    format!(
        "In plan mode nothing may be changed: {what}. Read what you need with read-only commands, and \
         describe the change in your plan; the user switches the mode when it is to be made."
    )
}

/// The pattern to offer for a file: its folder below the worktree, the folder outside, or only it.
fn offered_path(path: &Path, place: &Place, only_this: bool) -> String {
    let shown = place.show(path);
    match shown.rsplit_once('/') {
        Some((folder, _)) if !only_this && !folder.is_empty() && folder != "~" => {
            format!("{}/*", pattern::escape(folder))
        }
        _ => pattern::escape(&shown),
    }
}

/// `https://host/*`.
fn offered_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest
        .split(['/', '?', '#'])
        .next()
        .filter(|h| !h.is_empty())?;
    // a name before the host could look like one
    (!host.contains(['@', '*', '\\', ' '])).then(|| format!("{scheme}://{host}/*"))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
