//! Agents: the built-in ones, and Markdown files that add or change them.
//!
//! A file `agents/NAME.md` in `.dunlin/` or the user's configuration folder is an agent: its head
//! holds the settings, its body is the prompt. A file named like a built-in agent changes only what
//! it says. The agent module looks agents up by name; prompts of built-in agents are not here.

use std::path::{Path, PathBuf};

use super::document::TypedValue;
use super::markdown::{self, Found};
use super::rules;
use super::used::{Rule, RuleAction};
use super::value;
use crate::protocol::{Effort, Mode, ModelRef};

/// Who may use an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// The user picks it for a session.
    Primary,
    /// The `task` tool starts it.
    Subagent,
    /// Both.
    Both,
    /// dunlin uses it for itself (`title`, `compaction`).
    Utility,
}

/// A named configuration of the loop.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDef {
    /// Its name.
    pub name: String,
    /// When to use it, one line; the `task` tool shows it to the model.
    pub description: String,
    /// Who may use it.
    pub kind: AgentKind,
    /// Its model; none for the session's.
    pub model: Option<ModelRef>,
    /// Its reasoning effort; none for the session's.
    pub effort: Option<Effort>,
    /// The tools it has, by name, `*` as a wildcard; none for all.
    pub tools: Option<Vec<String>>,
    /// The mode it is held to; none for the session's.
    pub mode: Option<Mode>,
    /// Its permission rules, a layer of owner `agent`.
    pub permission: Vec<Rule>,
    /// Most steps of one turn; none for the configured limit.
    pub max_steps: Option<u32>,
    /// Its prompt; none for the built-in one of that name.
    pub prompt: Option<String>,
    /// Its compaction strategy; none for the configured one.
    pub strategy: Option<String>,
    /// The file it comes from; none if it is built in and unchanged.
    pub source: Option<PathBuf>,
}

impl AgentDef {
    fn new(name: &str, kind: AgentKind, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            kind,
            model: None,
            effort: None,
            tools: None,
            mode: None,
            permission: Vec::new(),
            max_steps: None,
            prompt: None,
            strategy: None,
            source: None,
        }
    }

    /// True if it may use this tool.
    pub fn has_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| {
            tools.iter().any(|t| match t.strip_suffix('*') {
                Some(prefix) => tool.starts_with(prefix),
                None => t == tool,
            })
        })
    }
}

/// Names of the compaction strategies.
const STRATEGIES: [&str; 4] = [
    "reactive-overflow",
    "proactive-threshold",
    "middle-removal",
    "manual",
];

/// Tools that only look.
const READING: [&str; 9] = [
    "read",
    "glob",
    "grep",
    "list",
    "bash",
    "bash_output",
    "web_fetch",
    "skill",
    "recall",
];

/// The agents that are always there.
pub fn built_in() -> Vec<AgentDef> {
    let words = |tools: &[&str]| Some(tools.iter().map(|t| (*t).to_owned()).collect());
    let mut plan = AgentDef::new(
        "plan",
        AgentKind::Primary,
        "Reads and plans; cannot change anything.",
    );
    plan.mode = Some(Mode::Plan);
    let mut explore = AgentDef::new(
        "explore",
        AgentKind::Subagent,
        "Searches the code and answers questions about it; read-only and fast.",
    );
    explore.mode = Some(Mode::Plan);
    explore.tools = words(&READING);
    let mut general = AgentDef::new(
        "general",
        AgentKind::Subagent,
        "Carries out a self-contained task with several steps and reports what it did.",
    );
    general.permission = vec![Rule {
        tool: "question".to_owned(),
        pattern: "*".to_owned(),
        action: RuleAction::Deny,
    }];
    let mut title = AgentDef::new("title", AgentKind::Utility, "Names a session.");
    title.tools = words(&[]);
    let mut compaction = AgentDef::new("compaction", AgentKind::Utility, "Summarises a history.");
    compaction.tools = words(&[]);
    vec![
        AgentDef::new(
            "build",
            AgentKind::Primary,
            "Reads, edits and runs commands; the default.",
        ),
        plan,
        general,
        explore,
        title,
        compaction,
    ]
}

/// All agents: built-in, then those of `folders` (the user's first, then the project's if it is
/// trusted), later ones winning. What is wrong in a file is a warning.
pub fn agents(folders: &[PathBuf], warnings: &mut Vec<String>) -> Vec<AgentDef> {
    let mut agents = built_in();
    for folder in folders {
        for found in markdown::folder(folder, warnings) {
            let name = found
                .page
                .text("name")
                .unwrap_or_else(|| found.name.clone());
            let at = agents.iter().position(|a| a.name == name);
            let base = at.map_or_else(
                || AgentDef::new(&name, AgentKind::Both, ""),
                |at| agents[at].clone(),
            );
            match change(base, &found) {
                Ok(agent) => match at {
                    Some(at) => agents[at] = agent,
                    None => agents.push(agent),
                },
                Err(what) => warnings.push(format!("{}: {what}.", found.path.display())),
            }
        }
    }
    agents
}

/// The folders in which agents (`agents`), commands (`commands`) or skills (`skills`) are looked
/// for, the weakest first.
pub fn folders(config_dir: &Path, worktree: &Path, trusted: bool, what: &str) -> Vec<PathBuf> {
    let mut folders = vec![config_dir.join(what)];
    if trusted {
        folders.push(worktree.join(".dunlin").join(what));
    }
    folders
}

fn change(mut agent: AgentDef, found: &Found) -> Result<AgentDef, String> {
    for (name, typed) in &found.page.fields {
        let wrong = |expected: String| {
            format!(
                "{name} in line {} is {}: write {expected}",
                typed.line,
                typed.value.show()
            )
        };
        match name.as_str() {
            "description" => agent.description = value::text(&typed.value).map_err(wrong)?,
            "mode" | "kind" => set_kind(&mut agent, &typed.value).map_err(wrong)?,
            "permission_mode" => agent.mode = Some(mode(&typed.value).map_err(wrong)?),
            "model" => agent.model = inherit(&typed.value, value::model).map_err(wrong)?,
            "effort" => agent.effort = inherit(&typed.value, value::effort).map_err(wrong)?,
            "tools" => {
                let tools = found
                    .page
                    .words("tools")
                    .ok_or_else(|| wrong("a list".to_owned()))?;
                let all = tools.iter().any(|t| t == "*");
                agent.tools =
                    (!all).then(|| tools.iter().map(|t| t.to_ascii_lowercase()).collect());
            }
            "max_steps" | "steps" => {
                let steps = value::whole(&typed.value, 1, u64::from(u32::MAX)).map_err(wrong)?;
                agent.max_steps = Some(steps as u32);
            }
            "strategy" | "compaction" => {
                agent.strategy = Some(value::choice(&typed.value, &STRATEGIES).map_err(wrong)?);
            }
            "permission" | "permissions" => {
                let TypedValue::Table(table) = &typed.value else {
                    return Err(wrong(
                        "tools with allow, ask or deny, one per line".to_owned(),
                    ));
                };
                agent.permission = rules::read_table(table).map_err(|bad| {
                    bad.iter()
                        .map(|b| b.message.clone())
                        .collect::<Vec<_>>()
                        .join("; ")
                })?;
            }
            // the name was read before; the rest is written for other tools and harmless
            _ => {}
        }
    }
    if !found.page.body.is_empty() {
        agent.prompt = Some(found.page.body.clone());
    }
    agent.source = Some(found.path.clone());
    Ok(agent)
}

/// `mode` says who may use it; the name of a permission mode is understood too.
fn set_kind(agent: &mut AgentDef, typed: &TypedValue) -> Result<(), String> {
    match value::text(typed)?.as_str() {
        "primary" => agent.kind = AgentKind::Primary,
        "subagent" => agent.kind = AgentKind::Subagent,
        "all" | "both" => agent.kind = AgentKind::Both,
        _ => {
            agent.mode = Some(mode(typed).map_err(|_expected| {
                "primary, subagent, all, or a permission mode: ask, auto-edit, auto, plan"
                    .to_owned()
            })?);
        }
    }
    Ok(())
}

fn mode(typed: &TypedValue) -> Result<Mode, String> {
    let names = Mode::ALL.map(Mode::name);
    value::choice(typed, &names)?.parse()
}

fn inherit<T>(
    typed: &TypedValue,
    read: impl Fn(&TypedValue) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if matches!(typed, TypedValue::Text(text) if text == "inherit") {
        return Ok(None);
    }
    read(typed).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_add_agents_and_change_built_in_ones() {
        let dir = tempfile::tempdir().expect("temp");
        let user = dir.path().join("user");
        let project = dir.path().join("project");
        std::fs::create_dir_all(&user).expect("dir");
        std::fs::create_dir_all(&project).expect("dir");
        std::fs::write(user.join("plan.md"), "---\nmodel: anthropic/opus\n---\n").expect("write");
        std::fs::write(
            project.join("docs.md"),
            "---\ndescription: Writes docs\nmode: subagent\ntools: Read, edit, mcp__*\n\
             permission:\n  bash: deny\n---\nYou write docs.\n",
        )
        .expect("write");
        std::fs::write(project.join("bad.md"), "---\nmodel: nothing\n---\n").expect("write");
        let mut warnings = Vec::new();
        let agents = agents(&[user, project], &mut warnings);
        let plan = agents.iter().find(|a| a.name == "plan").expect("plan");
        assert_eq!(
            plan.mode,
            Some(Mode::Plan),
            "what the file does not say stays"
        );
        assert_eq!(
            plan.model.as_ref().map(ToString::to_string).as_deref(),
            Some("anthropic/opus")
        );
        assert_eq!(plan.prompt, None);
        let docs = agents.iter().find(|a| a.name == "docs").expect("docs");
        assert_eq!(docs.kind, AgentKind::Subagent);
        assert_eq!(docs.prompt.as_deref(), Some("You write docs."));
        assert!(docs.has_tool("read") && docs.has_tool("mcp__x__y") && !docs.has_tool("bash"));
        assert_eq!(docs.permission[0].action, RuleAction::Deny);
        assert!(agents.iter().all(|a| a.name != "bad"));
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].contains("bad.md") && warnings[0].contains("line 2"),
            "{warnings:?}"
        );
    }

    #[test]
    fn an_untrusted_project_adds_nothing() {
        let folders = folders(Path::new("/c"), Path::new("/w"), false, "agents");
        assert_eq!(folders, vec![PathBuf::from("/c/agents")]);
    }
}
