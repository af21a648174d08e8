//! What the agent is given by the composition root: handles and facts, built once.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::Config;
use crate::config::agents::AgentDef;
use crate::config::grants::Grants;
use crate::config::instructions::Instruction;
use crate::config::paths::Paths;
use crate::context::prompt::{self, Environment, Instructions};
use crate::model::provider::Registry;
use crate::model::{ToolSpec, auth};
use crate::protocol::event::Place;
use crate::protocol::link::Outbox;
use crate::protocol::{Millis, Mode, ModelRef};
use crate::session::Project;
use crate::snapshot::Snapshots;
use crate::tools::blocking::Blocking;
use crate::tools::{Outside, Tool, workspace::Workspace};

/// Everything outside the turn that the agent uses.
#[derive(Debug, Clone)]
pub struct Ports {
    /// The user's folders.
    pub paths: Paths,
    /// The worktree, canonical.
    pub worktree: PathBuf,
    /// The configuration.
    pub config: Config,
    /// The store of this worktree's sessions.
    pub project: Project,
    /// Models.
    pub models: Arc<Registry>,
    /// The model of new sessions; none if there is no key and none was chosen.
    pub model: Option<ModelRef>,
    /// The model that was asked for on the command line: it wins over a resumed session's.
    pub chosen_model: Option<ModelRef>,
    /// The mode that was asked for on the command line.
    pub chosen_mode: Option<Mode>,
    /// Tools, in the order in which they are offered.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that come and go: those of MCP servers.
    pub outside: Option<Arc<dyn Outside>>,
    /// Agents by name.
    pub agents: Vec<AgentDef>,
    /// The user's and the project's instruction files.
    pub instructions: Vec<Instruction>,
    /// What the model is told about the place.
    pub environment: Environment,
    /// What the start screen shows about the place.
    pub place: Place,
    /// Snapshots of the worktree.
    pub snapshots: Snapshots,
    /// Paths.
    pub workspace: Arc<Workspace>,
    /// Folders outside the worktree that may be read without asking: skills, saved outputs.
    pub readable: Vec<PathBuf>,
    /// State of the sandbox for the eye, e.g. `no sandbox`.
    pub sandbox: String,
    /// True if commands run in a sandbox.
    pub sandboxed: bool,
    /// Answers that are kept for the project.
    pub grants: Grants,
    /// True if the user trusts the folder.
    pub trusted: bool,
    /// Threads for what blocks.
    pub blocking: Blocking,
    /// Where events go.
    pub outbox: Outbox,
    /// True if nobody can be asked.
    pub headless: bool,
    /// True if there is no screen, with or without somebody who answers.
    pub unattended: bool,
    /// 0 for the user's own session, 1 for its subagents, and so on.
    pub depth: u32,
    /// Where a test cuts the run.
    #[cfg(test)]
    pub(crate) cut: Arc<super::cut::Cut>,
}

impl Ports {
    /// Milliseconds since the epoch. The one clock of the agent.
    pub fn now(&self) -> Millis {
        jiff::Timestamp::now().as_millisecond()
    }

    /// Every key that dunlin knows, for taking them out of exports.
    pub fn known_keys(&self) -> Vec<String> {
        let env = |name: &str| std::env::var(name).ok();
        let mut keys = auth::known_keys(&self.paths.config_dir, &self.models.key_variables(), &env);
        keys.extend(self.config.secrets());
        keys
    }

    /// Runs something that blocks on a thread of its own; it sends its result itself.
    pub fn beside(&self, work: impl FnOnce() + Send + 'static) {
        let blocking = self.blocking.clone();
        tokio::spawn(async move {
            if let Err(error) = blocking.run(work).await {
                tracing::error!(message = error.message, "work beside the agent failed");
            }
        });
    }

    /// The agent with this name, or `build`.
    pub fn agent(&self, name: &str) -> Option<&AgentDef> {
        let named = |wanted: &str| self.agents.iter().find(|a| a.name == wanted);
        named(name).or_else(|| named("build"))
    }

    /// True if subagents may be started from here.
    const fn may_nest(&self) -> bool {
        self.depth < self.config.turn.subagent_depth
    }

    /// The agent of exactly this name.
    pub fn agent_named(&self, name: &str) -> Option<&AgentDef> {
        self.agents.iter().find(|a| a.name == name)
    }

    /// The model that writes summaries: the compaction agent's, or the small one; none for the
    /// session's own.
    pub fn summarizer(&self) -> Option<&ModelRef> {
        let own = self
            .agent_named("compaction")
            .and_then(|a| a.model.as_ref());
        own.or(self.config.small_model.as_ref())
    }

    /// The compaction strategy of an agent.
    pub fn strategy(&self, agent: &str) -> &str {
        let own = self.agent(agent).and_then(|a| a.strategy.as_deref());
        own.unwrap_or(&self.config.context.strategy)
    }

    /// The stable part of the system prompt for an agent.
    pub fn system_stable(&self, agent: &str) -> String {
        match self.agent(agent) {
            Some(AgentDef {
                prompt: Some(own), ..
            }) => own.clone(),
            Some(def) if def.name == "plan" => prompt::PLAN.to_owned(),
            Some(def) if def.name == "explore" => crate::agent::subagent::EXPLORE.to_owned(),
            Some(_) if self.depth > 0 => {
                format!("{}{}", prompt::BUILD, crate::agent::subagent::FOR_AN_AGENT)
            }
            _ => prompt::BUILD.to_owned(),
        }
    }

    /// The dynamic part.
    pub fn system_dynamic(&self) -> String {
        let files: Vec<Instructions> = self
            .instructions
            .iter()
            .map(|i| Instructions {
                label: i.label.clone(),
                text: i.text.clone(),
            })
            .collect();
        prompt::dynamic(&self.environment, &files)
    }

    /// All tools there are now: ours, then those of servers.
    pub fn all_tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut all = self.tools.clone();
        all.extend(super::outside::tools(self.outside.as_ref()));
        all
    }

    /// What an agent's tools look like to a model.
    pub fn tool_specs(&self, agent: &str, model: &ModelRef) -> Arc<[ToolSpec]> {
        // Models that were trained on patches get `apply_patch`, all others `edit`.
        let hidden = if prefers_patches(model) {
            "edit"
        } else {
            "apply_patch"
        };
        let def = self.agent(agent);
        self.all_tools()
            .iter()
            .filter(|tool| def.is_none_or(|d| d.has_tool(tool.name())))
            .filter(|tool| tool.name() != hidden)
            .filter(|tool| self.may_nest() || tool.name() != crate::agent::subagent::TASK)
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description(),
                schema: tool.schema(),
            })
            .collect()
    }
}

fn prefers_patches(model: &ModelRef) -> bool {
    let name = model.model.rsplit('/').next().unwrap_or_default();
    name.starts_with("gpt-5") || name.starts_with("gpt-4.1") || name.contains("codex")
}
