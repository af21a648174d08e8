//! The judge: rules first, then what the mode allows, for a path, a command, a URL or a tool.
//!
//! The driver asks it once per need of a tool call. Order of precedence (docs/permissions.md):
//! a `deny` of anybody; the plan mode; an `ask`; what is never covered by a wide rule (outside,
//! secrets, dangers); an `allow`; the mode.

mod command;
mod rules;
mod show;

use std::path::Path;

use self::rules::Word;
use super::hidden;
use super::pattern::{self, is_general, matches_command, matches_path};
use super::place::Place;
use super::request::{AskDetail, Request, Verdict, What};
use super::secret;
use crate::config::used::RuleLayer;
use crate::protocol::Mode;

/// Decides.
#[derive(Debug, Clone)]
pub struct Judge {
    layers: Vec<RuleLayer>,
    mode: Mode,
    place: Place,
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

    /// True if this path may be written without being outside: in the worktree and, where the sandbox
    /// would let a command do it unasked, in a folder for temporary files.
    fn writes_inside(&self, path: &Path) -> bool {
        self.place.writes_inside(path) || self.contained() && self.place.in_temp(path)
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
        let outside = !self.writes_inside(path);
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
        } else if self.mode == Mode::Auto && !request.can_write {
            return allow("tools that say that they only read run in mode auto.".to_owned());
        } else {
            "nothing is known about what this tool does, and no sandbox holds it.".to_owned()
        };
        Verdict::Ask(AskDetail {
            heading: "Use this tool".to_owned(),
            subject: name.to_owned(),
            pattern: Some("*".to_owned()),
            why,
            ..AskDetail::default()
        })
    }
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

#[cfg(test)]
#[path = "judge_holes_tests.rs"]
mod holes_tests;
