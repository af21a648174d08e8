//! Tool access → permission words → judgement, and the grants that answers leave behind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::Agent;
use crate::agent::input::{Input, Judgement};
use crate::config::used::{Rule, RuleAction, RuleLayer};
use crate::permission::{AskDetail, Judge, Place, Request, Sight, Verdict, What};
use crate::protocol::{AskBody, Event, GrantScope, NoticeLevel, PartId};
use crate::session::{Commit, Record};
use crate::tools::arguments::{clipped, short};
use crate::tools::output::bound::title;
use crate::tools::{Access, Need};

/// Characters of the model's own words about a call that a question shows.
const SAYS: usize = 1_000;

impl Agent {
    /// May this call run?
    pub(super) fn judge(&self, part: PartId, name: &str, input: &Value) -> Input {
        let judgement = self.bounded(name, self.judgement(part, name, input));
        Input::Judged { part, judgement }
    }

    /// Tier 1 holds for refusals too: they repeat what the model sent.
    fn bounded(&self, name: &str, mut judgement: Judgement) -> Judgement {
        let output = &self.active.output;
        match &mut judgement {
            Judgement::Allow(access) | Judgement::Ask { access, .. } => {
                access.title = title(std::mem::take(&mut access.title));
            }
            Judgement::Invalid(sentence) => {
                *sentence = output.sentence(name, std::mem::take(sentence));
            }
            Judgement::Deny {
                title: shown,
                reason,
            } => {
                *shown = title(std::mem::take(shown));
                *reason = output.sentence(name, std::mem::take(reason));
            }
        }
        judgement
    }

    fn judgement(&self, part: PartId, name: &str, input: &Value) -> Judgement {
        let Some(tool) = self.tool(name) else {
            // those that this agent has
            let agent = self.ports.agent(&self.active.turn.info().agent);
            let known = self.ports.all_tools();
            let names = known.iter().map(|t| t.name());
            let known: Vec<&str> = names
                .filter(|name| agent.is_none_or(|a| a.has_tool(name)))
                .collect();
            return Judgement::Invalid(format!(
                "There is no tool {}. The tools are: {}.",
                short(name),
                known.join(", ")
            ));
        };
        let access = match tool.access(input, &self.tool_context(part)) {
            Ok(access) => Access {
                says: clipped(&access.says, SAYS),
                ..access
            },
            Err(sentence) => return Judgement::Invalid(sentence),
        };
        let judge = Judge::new(
            self.layers(),
            self.active.turn.info().mode,
            self.judge_place(),
        );
        let mut ask: Option<(AskDetail, String)> = None;
        for need in &access.needs {
            let request = words(name, need, access.can_write);
            match with_arguments(judge.decide(&request), need, input) {
                Verdict::Allow { .. } => {}
                Verdict::Deny { why } => {
                    return Judgement::Deny {
                        title: access.title,
                        reason: why,
                    };
                }
                // The first open question stands for the call; the others are part of what is seen.
                Verdict::Ask(detail) => match &mut ask {
                    None => ask = Some((detail, diff_of(need))),
                    Some((first, _)) => {
                        first.sees.push(detail.subject.clone());
                        first.dangerous |= detail.dangerous;
                        first.pattern = None;
                    }
                },
            }
        }
        match ask {
            None => Judgement::Allow(access),
            Some((detail, diff)) => {
                let body = self.question(name, &access, detail, diff);
                Judgement::Ask { access, body }
            }
        }
    }

    fn question(&self, tool: &str, access: &Access, detail: AskDetail, diff: String) -> AskBody {
        AskBody::Permission {
            tool: tool.to_owned(),
            heading: detail.heading,
            subject: detail.subject,
            diff,
            says: access.says.clone(),
            sees: detail.sees,
            place: self.place_line(),
            pattern: detail.pattern,
            withheld: detail.withheld,
            dangerous: detail.dangerous,
        }
    }

    /// Folder and sandbox, as approval screens show them.
    pub(super) fn place_line(&self) -> String {
        format!(
            "{}   sandbox: {}",
            self.ports.place.worktree, self.ports.sandbox
        )
    }

    /// The layers of rules: configuration, the agent's own, and what was granted.
    pub(super) fn layers(&self) -> Vec<RuleLayer> {
        let mut layers = self.ports.config.permission.clone();
        if let Some(agent) = self.ports.agent(&self.active.turn.info().agent)
            && !agent.permission.is_empty()
        {
            layers.push(RuleLayer {
                owner: "agent".to_owned(),
                rules: agent.permission.clone(),
            });
        }
        // A file that nobody vouches for grants nothing; the start has said so.
        if let Ok(granted) = self.ports.grants.layer(self.ports.trusted) {
            layers.push(granted);
        }
        layers.push(RuleLayer {
            owner: "session".to_owned(),
            rules: self.active.grants.rules(),
        });
        layers
    }

    /// Where the session works, as the judge sees it.
    fn judge_place(&self) -> Place {
        let workspace = &self.ports.workspace;
        let mut readable = vec![self.active.output.dir().to_owned()];
        readable.extend(self.ports.readable.iter().cloned());
        Place {
            worktree: workspace.root().to_owned(),
            temp: workspace.temp().to_vec(),
            readable,
            writable: self.ports.config.sandbox.writable.clone(),
            home: self.ports.paths.home.clone(),
            sandboxed: self.ports.sandboxed,
            sight: Some(Sight::of_disk()),
        }
    }

    /// Remembers a permission: for the session and its subagents, or in the project's file. Open
    /// questions of subagents that it settles are closed.
    pub(super) fn grant(&mut self, scope: GrantScope, tool: &str, pattern: &str) {
        let rule = Rule {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
            action: RuleAction::Allow,
        };
        self.active.grants.add(rule);
        self.keep_grants();
        if scope == GrantScope::Project
            && let Err(error) = self.ports.grants.add(tool, pattern, self.ports.trusted)
        {
            let text = format!(
                "The permission holds for this session only: it could not be stored for the project. {error}"
            );
            let notice = Event::Notice {
                level: NoticeLevel::Warning,
                text,
            };
            self.active.announce(&self.ports, vec![notice]);
        }
        self.tell_children_granted();
    }

    /// Writes down what is granted for the session.
    pub(super) fn keep_grants(&self) {
        if let (Some(store), Ok(value)) = (
            self.active.writer(),
            serde_json::to_value(self.active.grants.rules()),
        ) {
            let record = Record::Value {
                name: "grants".to_owned(),
                value,
            };
            store.commit(Commit::soon(vec![record], Vec::new()));
        }
    }

    /// Somebody in the tree was permitted more: what is asked here may be settled by it.
    pub(super) fn judge_again(&mut self) {
        self.input(Input::JudgeAgain);
        self.tell_children_granted();
    }
}

/// Rules that the user granted for a session. A session and its subagents hold the same ones: what is
/// allowed to one is allowed to all, also to those that are at work already.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionGrants(Arc<Mutex<Vec<Rule>>>);

impl SessionGrants {
    /// As they were stored.
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        Self(Arc::new(Mutex::new(rules)))
    }

    /// In the order in which they were given.
    pub(super) fn rules(&self) -> Vec<Rule> {
        self.lock().clone()
    }

    fn add(&self, rule: Rule) {
        let mut rules = self.lock();
        // The newest counts: a rule that is given again moves to the end.
        rules.retain(|known| *known != rule);
        rules.push(rule);
    }

    /// Takes back; false if there was none like it.
    pub(super) fn remove(&self, tool: &str, pattern: &str) -> bool {
        let mut rules = self.lock();
        let before = rules.len();
        rules.retain(|rule| rule.tool != tool || rule.pattern != pattern);
        rules.len() != before
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of a tool that nothing more is known about, the user sees the arguments, too.
fn with_arguments(verdict: Verdict, need: &Need, input: &Value) -> Verdict {
    match (verdict, need) {
        (Verdict::Ask(mut detail), Need::Other(name)) => {
            let arguments = serde_json::to_string_pretty(input).unwrap_or_default();
            detail.subject = format!("{name} {arguments}");
            Verdict::Ask(detail)
        }
        (verdict, _) => verdict,
    }
}

fn words(tool: &str, need: &Need, can_write: bool) -> Request {
    let what = match need {
        Need::Read(path) => What::Read(path.clone()),
        Need::Write { path, .. } => What::Write(path.clone()),
        Need::Command { command, cwd } => What::Command {
            command: command.clone(),
            cwd: cwd.clone(),
        },
        Need::Fetch(url) => What::Fetch(url.clone()),
        Need::Other(name) => What::Other(name.clone()),
    };
    Request {
        tool: tool.to_owned(),
        what,
        can_write,
    }
}

fn diff_of(need: &Need) -> String {
    match need {
        Need::Write { diff, .. } => diff.clone(),
        _ => String::new(),
    }
}
