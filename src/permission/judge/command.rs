//! A command line: each of its acts is judged, the strictest word holds.

use std::path::Path;

use super::rules::Word;
use super::{Judge, allow, plan_sentence, refusal, refused};
use crate::permission::effect::{self, Act, Target};
use crate::permission::hidden;
use crate::permission::pattern::{self, is_exact, is_general, matches_command, matches_path};
use crate::permission::request::Verdict;
use crate::permission::shell::{self, Cwd};
use crate::protocol::Mode;

/// What is said about one act of a command line.
enum Said {
    Allow(String),
    Ask(String),
    Deny(String),
}

impl Judge {
    pub(super) fn command(&self, tool: &str, command: &str, cwd: &Path) -> Verdict {
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
        let protected = self.protects(act);
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

    /// True if the command changes what git or dunlin will run.
    pub(super) fn protects(&self, act: &Act) -> bool {
        let effects = &act.effects;
        let mut written = effects.writes.iter().flat_map(|t| &t.paths);
        !effects.read_only && written.any(|p| self.place.is_protected(p))
    }

    /// What no wide rule and no mode covers outside the sandbox.
    pub(super) fn special(
        &self,
        act: &Act,
        allowed: Option<&Word>,
        protected: bool,
    ) -> Option<String> {
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
                        && pattern::glob(word, unquoted(&target.typed))
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

    pub(super) fn inside(&self, target: &Target, write: bool) -> bool {
        !target.unknown
            && target.paths.iter().all(|path| {
                if write {
                    self.writes_inside(path)
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
                    rules.allow.is_some()
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
}

/// What stands in quotes, if all of a word does and nothing in it means anything to the shell: rules know no
/// quotes.
fn unquoted(typed: &str) -> &str {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| typed.strip_prefix(*quote)?.strip_suffix(*quote));
    let special = ['"', '\'', '\\', '$', '`', '*', '?', '['];
    inner
        .filter(|text| !text.contains(special))
        .unwrap_or(typed)
}
