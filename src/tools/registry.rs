//! Builds the tools and finds them by name. Called by `app` once.

use std::path::PathBuf;
use std::sync::Arc;

use super::Tool;
use super::bash::{Bash, BashOutput, CommandWrapper, Environment, Jobs, Kill};
use super::blocking::Blocking;
use super::edit::Edit;
use super::patch::ApplyPatch;
use super::question::Question;
use super::read::Read;
use super::search::{Glob, Grep, List};
use super::skill::Skill;
use super::todo::Todo;
use super::web_fetch::WebFetch;
use super::write::Write;
use crate::config::used::BashSettings;
use crate::web::Web;

/// What the tools need from outside.
#[derive(Debug)]
pub struct ToolSettings {
    /// `[bash]`
    pub bash: BashSettings,
    /// The environment of commands.
    pub environment: Environment,
    /// The sandbox; none runs commands as they are.
    pub wrapper: Option<Arc<dyn CommandWrapper>>,
    /// Background jobs; hold it as long as they may live.
    pub jobs: Arc<Jobs>,
    /// Folders that hold skills, most important first.
    pub skills: Vec<PathBuf>,
    /// Pages of the web.
    pub web: Arc<Web>,
    /// Threads for walks, searches and large files.
    pub blocking: Blocking,
}

/// All built-in tools that need nothing of the agent (`task` and `recall` do, MCP tools come on top).
pub fn registry(settings: ToolSettings) -> Vec<Arc<dyn Tool>> {
    let ToolSettings {
        bash,
        environment,
        wrapper,
        jobs,
        skills,
        web,
        blocking,
    } = settings;
    vec![
        Arc::new(Bash::new(bash, environment, wrapper, Arc::clone(&jobs))),
        Arc::new(BashOutput::new(Arc::clone(&jobs), blocking.clone())),
        Arc::new(Kill::new(jobs)),
        Arc::new(Read::new(blocking.clone())),
        Arc::new(Edit::new(blocking.clone())),
        Arc::new(Write::new(blocking.clone())),
        Arc::new(ApplyPatch::new(blocking.clone())),
        Arc::new(Glob::new(blocking.clone())),
        Arc::new(Grep::new(blocking.clone())),
        Arc::new(List::new(blocking.clone())),
        Arc::new(WebFetch::new(web, blocking)),
        Arc::new(Todo::new()),
        Arc::new(Question::new()),
        Arc::new(Skill::new(&skills)),
    ]
}

/// A tool by the name that a model says; case does not matter.
pub fn by_name(tools: &[Arc<dyn Tool>], name: &str) -> Option<Arc<dyn Tool>> {
    let name = name.trim();
    let exact = tools.iter().find(|tool| tool.name() == name);
    exact
        .or_else(|| {
            tools
                .iter()
                .find(|tool| tool.name().eq_ignore_ascii_case(name))
        })
        .cloned()
}

/// The tools to offer a model: those trained on patches get `apply_patch`, all others `edit`.
pub fn offered(tools: &[Arc<dyn Tool>], prefers_patches: bool) -> Vec<Arc<dyn Tool>> {
    let other = if prefers_patches {
        "edit"
    } else {
        "apply_patch"
    };
    tools
        .iter()
        .filter(|tool| tool.name() != other)
        .cloned()
        .collect()
}
