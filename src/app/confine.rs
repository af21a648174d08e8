//! The sandbox as the bash tool uses it: which policy, and whether commands may use the network.
//!
//! `auto` runs commands without asking, so there they get no network unless the configuration allows
//! it. In the other modes each command that is not known to only read was allowed by the user or by a
//! rule, network included; then only writing is confined. In `plan` a command writes nowhere but in a
//! temporary folder of its own, whatever the judge believed of it. Confined or not, on Linux a command runs in
//! a session of its own, without a terminal.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use crate::config::paths::Paths;
use crate::config::used::SandboxSettings;
use crate::protocol::Mode;
use crate::sandbox::{self, Blocked, Policy, Support};
use crate::tools::bash::{CommandWrapper, Confine, Guard};

/// Whether and how commands are confined.
#[derive(Debug)]
pub struct Confinement {
    state: Result<Policy, String>,
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
        Self { state }
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
        let policy = self.state.as_ref().ok().cloned();
        if policy.is_none() && !sandbox::MAKES_SESSION {
            return None;
        }
        let plan_folder = OnceLock::new();
        Some(Arc::new(Confined {
            policy,
            plan_folder,
            guard: Guard::default(),
        }))
    }
}

/// What stands around each command.
#[derive(Debug)]
struct Confined {
    /// None: nothing is confined, commands only get a session of their own.
    policy: Option<Policy>,
    /// Where commands may write in mode plan; made when the first one runs, gone with the session.
    /// None inside: it could not be made.
    plan_folder: OnceLock<Option<TempDir>>,
    /// Ends what runs if dunlin is killed.
    guard: Guard,
}

impl Confined {
    /// The policy of one command; none if it is not confined.
    fn policy(&self, confine: Confine) -> Option<Policy> {
        let Confine::By(mode) = confine else {
            return None;
        };
        let policy = self.policy.clone()?;
        if mode == Mode::Plan {
            let folder = self.plan_folder.get_or_init(|| {
                tempfile::Builder::new()
                    .prefix("dunlin-plan-")
                    .tempdir()
                    .ok()
            });
            return Some(match folder {
                Some(folder) => policy.reading_only(folder.path().to_owned()),
                None => Policy {
                    writable: Vec::new(),
                    network: false,
                    ..policy
                },
            });
        }
        let network = policy.network || matches!(mode, Mode::Ask | Mode::AutoEdit);
        Some(Policy { network, ..policy })
    }
}

impl CommandWrapper for Confined {
    fn wrap(
        &self,
        confine: Confine,
        program: &OsStr,
        args: &[OsString],
    ) -> (OsString, Vec<OsString>) {
        match self.policy(confine) {
            Some(policy) => sandbox::wrap(&policy, program, args),
            None => sandbox::wrap_free(program, args),
        }
    }

    fn makes_session(&self) -> bool {
        sandbox::MAKES_SESSION
    }

    fn guard(&self) -> Option<&Guard> {
        Some(&self.guard)
    }

    fn explain(
        &self,
        confine: Confine,
        cwd: &Path,
        exit: Option<i32>,
        output: &str,
    ) -> Option<Blocked> {
        sandbox::explain(&self.policy(confine)?, cwd, output, exit)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn confined() -> Confined {
        let policy = Policy {
            writable: vec![PathBuf::from("/w")],
            ..Policy::default()
        };
        Confined {
            policy: Some(policy),
            plan_folder: OnceLock::new(),
            guard: Guard::default(),
        }
    }

    #[test]
    fn in_plan_a_command_writes_in_a_folder_of_its_own_and_nowhere_else() {
        let confined = confined();
        let plan = confined.policy(Confine::By(Mode::Plan)).expect("a policy");
        let own = plan.temp.clone().expect("a folder");
        assert_eq!(plan.writable, std::slice::from_ref(&own));
        assert!(own.is_dir() && !own.starts_with("/w"));
        let again = confined.policy(Confine::By(Mode::Plan)).expect("a policy");
        assert_eq!(again.temp.as_ref(), Some(&own), "one folder for all");
        drop(confined);
        assert!(!own.exists(), "it goes with the session");
        assert_eq!(
            Confined {
                policy: Some(Policy::default()),
                plan_folder: OnceLock::new(),
                guard: Guard::default(),
            }
            .policy(Confine::By(Mode::AutoEdit))
            .and_then(|p| p.temp),
            None
        );
    }

    #[test]
    fn only_auto_and_plan_have_no_network_and_a_command_that_is_not_confined_has_no_policy() {
        let network = |confine| confined().policy(confine).map(|p| p.network);
        assert_eq!(network(Confine::By(Mode::Ask)), Some(true));
        assert_eq!(network(Confine::By(Mode::AutoEdit)), Some(true));
        assert_eq!(network(Confine::By(Mode::Auto)), Some(false));
        assert_eq!(network(Confine::By(Mode::Plan)), Some(false));
        assert_eq!(network(Confine::Not), None);
    }

    #[test]
    fn a_failed_look_up_is_the_sandboxs_doing_only_where_there_is_no_network() {
        let explain = |confine| {
            confined()
                .explain(
                    confine,
                    Path::new("/w"),
                    Some(6),
                    "curl: (6) Could not resolve host: x.y",
                )
                .map(|b| b.kind)
        };
        assert_eq!(explain(Confine::By(Mode::Auto)), Some("network"));
        assert_eq!(explain(Confine::By(Mode::Ask)), None);
        assert_eq!(explain(Confine::Not), None);
    }
}
