//! What the user is shown of a command line that is asked about, and why a wide answer is withheld.

use super::Judge;
use super::rules::Word;
use crate::permission::effect::{Act, Target};
use crate::permission::hidden;
use crate::permission::pattern;
use crate::permission::request::AskDetail;
use crate::permission::shell::Script;

impl Judge {
    pub(super) fn detail(
        &self,
        command: &str,
        script: &Script,
        acts: &[Act],
        problems: &[String],
    ) -> AskDetail {
        let withheld = withheld(command, script, acts, problems);
        let simple = script.commands.iter().find(|c| !c.words.is_empty());
        let pattern = if withheld.is_empty() {
            simple.and_then(|c| {
                let wide = pattern::suggest(&c.words)?;
                if self.covers(&wide, acts) {
                    Some(wide)
                } else {
                    pattern::exactly(&c.words)
                }
            })
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

    /// True if a rule that allows this pattern would let the command pass.
    fn covers(&self, pattern: &str, acts: &[Act]) -> bool {
        let rule = Word {
            owner: String::new(),
            tool: "bash".to_owned(),
            pattern: pattern.to_owned(),
        };
        let asks = |act: &Act| self.special(act, Some(&rule), self.protects(act)).is_some();
        pattern::is_exact(pattern) || !acts.iter().any(asks)
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
