//! The sandbox as the bash tool uses it: which policy, and whether commands may use the network.
//!
//! `auto` runs commands without asking, so there they get no network unless the configuration allows
//! it. In the other modes each command that is not known to only read was allowed by the user or by a
//! rule, network included; then only writing is confined.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::paths::Paths;
use crate::config::used::SandboxSettings;
use crate::protocol::Mode;
use crate::sandbox::{self, Policy, Support};
use crate::tools::bash::CommandWrapper;

/// Whether and how commands are confined.
#[derive(Debug)]
pub struct Confinement {
    state: Result<Policy, String>,
    worktree: PathBuf,
    network: Arc<AtomicBool>,
}

impl Confinement {
    /// Chooses by what the system offers and what the user wants.
    pub fn choose(settings: &SandboxSettings, worktree: &Path, paths: &Paths) -> Self {
        let state = if settings.enabled {
            match sandbox::detect() {
                Support::Full { .. } => Ok(Policy::for_session(worktree, &paths.home, settings)
                    .hide(paths.config_dir.join("auth.json"))),
                Support::None { reason } => Err(reason),
            }
        } else {
            Err("The sandbox is switched off.".to_owned())
        };
        let network = Arc::new(AtomicBool::new(settings.network));
        Self {
            state,
            worktree: worktree.to_owned(),
            network,
        }
    }

    /// True if commands are confined.
    pub const fn is_on(&self) -> bool {
        self.state.is_ok()
    }

    /// For the status line and the approval screen.
    pub fn label(&self) -> String {
        match &self.state {
            Ok(policy) => policy.label().to_owned(),
            Err(_) => "no sandbox".to_owned(),
        }
    }

    /// For the model and `dunlin doctor`.
    pub fn sentence(&self) -> String {
        match &self.state {
            Ok(_) => "Commands may write only in the worktree and in temporary folders.".to_owned(),
            Err(reason) => reason.clone(),
        }
    }

    /// What the bash tool puts around its commands; none if they run as they are.
    pub fn wrapper(&self) -> Option<Arc<dyn CommandWrapper>> {
        let policy = self.state.as_ref().ok()?.clone();
        let (worktree, network) = (self.worktree.clone(), Arc::clone(&self.network));
        Some(Arc::new(Confined {
            policy,
            worktree,
            network,
        }))
    }

    /// What opens and closes the network by the session's mode.
    pub fn network(&self, settings: &SandboxSettings) -> NetworkByMode {
        NetworkByMode {
            always: settings.network,
            open: Arc::clone(&self.network),
        }
    }
}

/// Opens the network for commands that the user or a rule allowed.
#[derive(Debug, Clone)]
pub struct NetworkByMode {
    always: bool,
    open: Arc<AtomicBool>,
}

impl crate::agent::driver::NetworkSwitch for NetworkByMode {
    fn set(&self, mode: Mode) {
        let open = self.always || matches!(mode, Mode::Ask | Mode::AutoEdit);
        self.open.store(open, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Confined {
    policy: Policy,
    worktree: PathBuf,
    network: Arc<AtomicBool>,
}

impl CommandWrapper for Confined {
    fn wrap(&self, program: &OsStr, args: &[OsString]) -> (OsString, Vec<OsString>) {
        let network = self.network.load(Ordering::Relaxed);
        let policy = Policy {
            network,
            ..self.policy.clone()
        };
        sandbox::wrap(&policy, program, args)
    }

    fn explain(&self, exit: Option<i32>, output: &str) -> Option<String> {
        sandbox::explain(&self.policy, &self.worktree, output, exit).map(|blocked| blocked.sentence)
    }
}
