//! The composition root: reads the configuration, builds every part and passes it in. Nothing else
//! in the crate builds a store, a registry, tools or snapshots.

pub mod confine;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::driver::{Agent, Begin, Ports};
use crate::config::grants::Grants;
use crate::config::paths::Paths;
use crate::config::{Config, agents, commands, instructions, skills, trust, variables};
use crate::context::prompt::Environment;
use crate::error::AppError;
use crate::mcp::{Servers, Surroundings};
use crate::model::provider::Registry;
use crate::protocol::event::Place;
use crate::protocol::link::{OpReceiver, Outbox};
use crate::protocol::{Mode, ModelRef};
use crate::session::{GcPolicy, Project, start_upkeep};
use crate::snapshot::Snapshots;
use crate::tools::Outside;
use crate::tools::bash::{Environment as CommandEnvironment, Jobs};
use crate::tools::blocking::Blocking;
use crate::tools::registry::{ToolSettings, registry as build_tools};
use crate::tools::workspace::{Places, Workspace};
use crate::tui::composer::offers::Offers;
use crate::web::Web;
pub use confine::Confinement;

/// What the command line decided.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// `--model`
    pub model: Option<ModelRef>,
    /// `--mode`
    pub mode: Option<Mode>,
    /// `--agent`
    pub agent: Option<String>,
    /// `-C`
    pub folder: Option<PathBuf>,
    /// `--no-sandbox`
    pub no_sandbox: bool,
    /// `--config`
    pub config: Vec<String>,
    /// `--max-steps`
    pub max_steps: Option<u32>,
    /// True if there is no screen.
    pub headless: bool,
    /// True if the one who started a headless run answers questions (`--json-input`).
    pub answers: bool,
}

/// What is known before anything is opened: cheap enough to come before the first frame.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The user's folders.
    pub paths: Paths,
    /// The folder that was asked for, canonical.
    pub folder: PathBuf,
    /// The worktree: the root of the repository, or the folder itself.
    pub worktree: PathBuf,
    /// The configuration.
    pub config: Config,
    /// Sentences about it.
    pub warnings: Vec<String>,
    /// Where each setting came from.
    pub sources: Vec<crate::config::load::Setting>,
    /// True if the folder's own configuration counts.
    pub trusted: bool,
}

/// Steps of a headless turn, unless configured (SPEC §3).
const HEADLESS_STEPS: u32 = 200;

/// The process's environment.
pub fn environment(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

fn environment_text(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Finds folders and reads the configuration.
pub fn ground(wishes: &Wishes) -> Result<Ground, AppError> {
    let folder = match &wishes.folder {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().map_err(|e| AppError::folder(Path::new("."), &e))?,
    };
    let folder = folder
        .canonicalize()
        .map_err(|e| AppError::folder(&folder, &e))?;
    if !folder.is_dir() {
        let error = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(AppError::folder(&folder, &error));
    }
    let worktree = repository_root(&folder).unwrap_or_else(|| folder.clone());
    let paths = Paths::find(&environment);
    let trusted = trust::is_trusted(&paths.data_dir, &worktree);
    let loaded =
        crate::config::load::load(&paths, &worktree, &environment, &wishes.config, trusted)?;
    let mut config = loaded.config;
    if let Some(model) = &wishes.model {
        config.model = Some(model.clone());
    }
    if let Some(mode) = wishes.mode {
        config.mode = mode;
    }
    if let Some(agent) = &wishes.agent {
        config.agent.clone_from(agent);
    }
    let mut warnings = loaded.warnings;
    warnings.extend(variables::unknown(
        std::env::vars_os().map(|(name, _)| name),
    ));
    if let Err(error) = chosen_agent(&config.agent, &paths, &worktree, trusted) {
        if wishes.agent.is_some() {
            return Err(error);
        }
        // An agent of another project's folder may be the default of all: that must not stop dunlin.
        warnings.push(format!("{error} Until then build is used."));
        "build".clone_into(&mut config.agent);
    }
    config.sandbox.enabled &= !wishes.no_sandbox;
    let mut sources = loaded.sources;
    let flags = [
        (
            "model",
            "--model",
            wishes.model.as_ref().map(ToString::to_string),
        ),
        ("mode", "--mode", wishes.mode.map(|m| m.name().to_owned())),
        ("agent", "--agent", wishes.agent.clone()),
        (
            "loop.max_steps",
            "--max-steps",
            wishes.max_steps.map(|n| n.to_string()),
        ),
        (
            "sandbox.enabled",
            "--no-sandbox",
            wishes.no_sandbox.then(|| "false".to_owned()),
        ),
    ];
    for (key, flag, value) in flags {
        let place = sources.iter_mut().find(|setting| setting.key == key);
        if let (Some(setting), Some(value)) = (place, value) {
            setting.value = value;
            flag.clone_into(&mut setting.source);
        }
    }
    config.turn.max_steps = wishes
        .max_steps
        .or(config.turn.max_steps)
        .or_else(|| wishes.headless.then_some(HEADLESS_STEPS));
    Ok(Ground {
        paths,
        folder,
        worktree,
        config,
        warnings,
        sources,
        trusted,
    })
}

/// Fails if there is no agent of this name that a session can be held with.
fn chosen_agent(name: &str, paths: &Paths, worktree: &Path, trusted: bool) -> Result<(), AppError> {
    // Always there; a file can change it, but not take it away.
    if name == "build" {
        return Ok(());
    }
    let folders = agents::folders(&paths.config_dir, worktree, trusted, "agents");
    let known = agents::agents(&folders, &mut Vec::new());
    let fits = |kind| matches!(kind, agents::AgentKind::Primary | agents::AgentKind::Both);
    let (fit, others): (Vec<_>, Vec<_>) = known.iter().partition(|agent| fits(agent.kind));
    if fit.iter().any(|agent| agent.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = fit.iter().map(|agent| agent.name.as_str()).collect();
    let list = names.join(", ");
    let Some(other) = others.iter().find(|agent| agent.name == name) else {
        let meant = crate::config::value::closest(name, &names)
            .map_or_else(String::new, |close| format!(" Did you mean {close}?"));
        return Err(AppError::usage(
            format!("There is no agent {name}.{meant}"),
            format!("The agents are: {list}."),
        ));
    };
    let why = if other.kind == agents::AgentKind::Subagent {
        "is a subagent, which the task tool starts"
    } else {
        "is used by dunlin itself"
    };
    Err(AppError::usage(
        format!("The agent {name} {why}; a session can't be held with it."),
        format!("The agents are: {list}."),
    ))
}

/// The nearest folder upward that holds `.git`.
fn repository_root(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|f| f.join(".git").exists())
        .map(Path::to_owned)
}

/// The compaction strategy of an agent: its file's, or the configured one.
pub fn strategy(ground: &Ground, agent: &str) -> String {
    let (config, worktree) = (&ground.paths.config_dir, &ground.worktree);
    let folders = agents::folders(config, worktree, ground.trusted, "agents");
    let known = agents::agents(&folders, &mut Vec::new());
    let own = known.into_iter().find(|a| a.name == agent);
    own.and_then(|a| a.strategy)
        .unwrap_or_else(|| ground.config.context.strategy.clone())
}

/// The registry of models for a configuration.
pub fn registry(ground: &Ground) -> Registry {
    Registry::new(&ground.config, &environment_text)
}

/// The servers of tools of the configuration; none if there are none.
fn servers(worktree: &Path, config: &Config, models: &Registry) -> Option<Arc<dyn Outside>> {
    if config.mcp.is_empty() {
        return None;
    }
    let keys = models.key_variables();
    let surroundings = Surroundings {
        worktree: worktree.to_owned(),
        environment: CommandEnvironment::of_process(&keys, &std::collections::BTreeMap::new()),
        http: Arc::clone(models.http()),
    };
    Some(Arc::new(Servers::new(&config.mcp, &surroundings)))
}

/// Builds everything the agent uses. Costs some milliseconds: never before the first frame.
pub fn ports(ground: Ground, wishes: &Wishes, outbox: Outbox) -> Result<Ports, AppError> {
    let Ground {
        paths,
        folder,
        worktree,
        config,
        trusted,
        ..
    } = ground.clone();
    let models = Arc::new(registry(&ground));
    for fault in models.problems() {
        let (level, text) = (crate::protocol::NoticeLevel::Warning, fault.to_string());
        outbox.send([crate::protocol::Event::Notice { level, text }]);
    }
    let model = config.model.clone().or_else(|| models.default_model());
    warm(&models);
    let project = Project::open(&paths.data_dir, &worktree)?;
    let snapshots = Snapshots::open(
        worktree.clone(),
        project.snapshot_dir(),
        Some(paths.home.clone()),
        config.snapshot.clone(),
    );
    let found = instructions::find(&paths, &worktree);
    let mut warnings = Vec::new();
    let agent_folders = agents::folders(&paths.config_dir, &worktree, trusted, "agents");
    let agents = agents::agents(&agent_folders, &mut warnings);
    let skill_folders = skills::folders(&paths.config_dir, &worktree, trusted);
    let sandbox = Confinement::choose(&config.sandbox, &worktree, &paths);
    let places = Places {
        home: Some(paths.home.clone()),
        temp: vec![std::env::temp_dir()],
        outputs: vec![project.folder().to_owned()],
        secrets: vec![paths.config_dir.join("auth.json")],
    };
    let workspace = Arc::new(Workspace::new(&worktree, &folder, &places));
    let blocking = Blocking::new(4);
    let jobs = Arc::new(Jobs::new());
    let tools = build_tools(ToolSettings {
        environment: CommandEnvironment::new(
            std::env::vars_os(),
            &models.key_variables(),
            &config.bash.env,
        ),
        bash: config.bash.clone(),
        wrapper: sandbox.wrapper(),
        jobs,
        skills: skill_folders.clone(),
        web: Arc::new(Web::new(config.web.clone(), Arc::clone(models.http()))),
        blocking: blocking.clone(),
    });
    let outside = servers(&worktree, &config, &models);
    let branch = branch(&worktree);
    let environment = Environment {
        worktree: worktree.to_string_lossy().into_owned(),
        git: worktree.join(".git").exists(),
        branch: branch.clone(),
        platform: std::env::consts::OS.to_owned(),
        date: jiff::Zoned::now().date().to_string(),
        sandbox: sandbox.sentence(),
    };
    let place = Place {
        worktree: shown(&worktree, &paths.home),
        branch,
        git_state: String::new(),
        instructions: found.iter().map(|i| (i.label.clone(), i.tokens)).collect(),
        skills: skills::skills(&skill_folders, &mut warnings).len() as u32,
        mcp: config.mcp.values().filter(|server| server.enabled).count() as u32,
    };
    let command_folders = agents::folders(&paths.config_dir, &worktree, trusted, "commands");
    commands::commands(&command_folders, &mut warnings);
    for text in ground.warnings.into_iter().chain(warnings) {
        let level = crate::protocol::NoticeLevel::Warning;
        outbox.send([crate::protocol::Event::Notice { level, text }]);
    }
    let grants = Grants::new(&worktree, &paths.data_dir);
    if let Err(text) = grants.layer(trusted) {
        let level = crate::protocol::NoticeLevel::Warning;
        outbox.send([crate::protocol::Event::Notice { level, text }]);
    }
    keep_tidy(&project, &config);
    Ok(Ports {
        chosen_model: wishes.model.clone(),
        chosen_mode: wishes.mode,
        paths,
        worktree,
        project,
        models,
        model,
        tools,
        outside,
        agents,
        instructions: found,
        environment,
        place,
        snapshots,
        workspace,
        readable: skill_folders,
        sandboxed: sandbox.is_on(),
        sandbox: sandbox.label(),
        blocking,
        grants,
        trusted,
        outbox,
        headless: wishes.headless && !wishes.answers,
        unattended: wishes.headless,
        depth: 0,
        #[cfg(test)]
        cut: Arc::default(),
        config,
    })
}

/// What may be cleaned up now.
pub fn gc_policy(config: &Config) -> GcPolicy {
    GcPolicy {
        now: jiff::Timestamp::now().as_millisecond(),
        output_days: config.output.keep_days,
        frames_days: config.store.frames_days,
        archive_days: config.store.archive_days,
        quota: config.store.quota,
        dry_run: false,
    }
}

/// Old outputs and idle sessions are cleaned up now and every hour, on a thread of their own.
fn keep_tidy(project: &Project, config: &Config) {
    let config = config.clone();
    if let Err(error) = start_upkeep(project.clone(), move || gc_policy(&config)) {
        tracing::warn!(%error, "nothing is cleaned up in the background");
    }
}

/// The catalog and the HTTPS client cost milliseconds: made ready while the user types.
fn warm(models: &Arc<Registry>) {
    let models = Arc::clone(models);
    let spawned = std::thread::Builder::new()
        .name("dunlin-warm".to_owned())
        .spawn(move || models.warm());
    if let Err(error) = spawned {
        // Then the first request builds them.
        tracing::warn!(%error, "nothing was warmed");
    }
}

/// The user's own commands and skills, for the lists above the composer. What is wrong with them is
/// said when the agent starts.
pub fn offers(ground: &Ground) -> Offers {
    let (config, worktree) = (&ground.paths.config_dir, &ground.worktree);
    let folders = agents::folders(config, worktree, ground.trusted, "commands");
    let mut warnings = Vec::new();
    let agent_folders = agents::folders(config, worktree, ground.trusted, "agents");
    let chosen = |kind| matches!(kind, agents::AgentKind::Primary | agents::AgentKind::Both);
    let known = agents::agents(&agent_folders, &mut warnings).into_iter();
    Offers {
        agents: known
            .filter(|agent| chosen(agent.kind))
            .map(|agent| (agent.name, agent.description))
            .collect(),
        recent: Vec::new(),
        commands: commands::commands(&folders, &mut warnings),
        skills: skills::skills(
            &skills::folders(config, worktree, ground.trusted),
            &mut warnings,
        ),
    }
}

/// Branch of a repository, read from its HEAD; empty outside git or on a detached HEAD.
pub fn branch(worktree: &Path) -> String {
    let dot_git = worktree.join(".git");
    let folder = match std::fs::read_to_string(&dot_git) {
        // A linked worktree: `.git` is a file that names the real folder.
        Ok(text) => match text.trim().strip_prefix("gitdir: ") {
            Some(path) => worktree.join(path),
            None => return String::new(),
        },
        Err(_) => dot_git,
    };
    let head = std::fs::read_to_string(folder.join("HEAD")).unwrap_or_default();
    head.trim()
        .strip_prefix("ref: refs/heads/")
        .unwrap_or_default()
        .to_owned()
}

/// A path for the eye: `~` for the home folder.
pub fn shown(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

/// Files that are open at once while a turn runs, at least: the runtime's own, the session's, a command's.
const OPEN_FILES: usize = 32;

/// Tries whether that many files can be opened. The runtime panics where it cannot open its own.
pub fn may_open_files() -> Result<(), AppError> {
    let open = |_| std::fs::File::open("/dev/null");
    match (0..OPEN_FILES).map(open).collect::<Result<Vec<_>, _>>() {
        Ok(_) => Ok(()),
        Err(error) => Err(AppError::new(
            format!("dunlin cannot open the {OPEN_FILES} files that it needs: {error}."),
            "Close other programs, or raise the limit (see `ulimit -n`).",
        )),
    }
}

/// The async runtime: one worker. What it runs only waits and hands on (what takes long has threads of
/// its own: `tools::blocking`, store, snapshots, screen); two workers woke each other for every piece
/// of an answer.
pub fn runtime() -> Result<tokio::runtime::Runtime, AppError> {
    may_open_files()?;
    let failed = |e| AppError::new(format!("The runtime could not be started: {e}."), "");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("dunlin-worker")
        .enable_all()
        .build()
        .map_err(failed)?;
    outlive_file_limits(&runtime).map_err(failed)?;
    Ok(runtime)
}

/// A file that reaches the limit of its size (`ulimit -f`) becomes an error of the write, not the program's
/// end. What is caught here programs that are started do not inherit.
fn outlive_file_limits(runtime: &tokio::runtime::Runtime) -> std::io::Result<()> {
    let _inside = runtime.enter();
    let too_large = rustix::process::Signal::XFSZ.as_raw();
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(too_large)).map(drop)
}

/// Runs the agent until the front end closes it. What fails before there is an agent reaches the
/// front end as an error event.
pub async fn run_agent(
    ground: Ground,
    wishes: Wishes,
    begin: Begin,
    (ops, outbox): (OpReceiver, Outbox),
) {
    match ports(ground, &wishes, outbox.clone()) {
        Ok(ports) => {
            let agent = Box::pin(Agent::start(ports, ops, begin)).await;
            Box::pin(agent.run()).await;
        }
        Err(error) => {
            outbox.send([
                crate::protocol::Event::Error {
                    error: error.to_fault(),
                },
                crate::protocol::Event::Closed,
            ]);
        }
    }
}
