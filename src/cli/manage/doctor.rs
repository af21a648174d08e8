//! `dunlin doctor`: terminal, keys, git, sandbox, store; what to do about each.

use std::io::IsTerminal;

use super::{Outcome, ground};
use crate::app::{self, confine::Confinement};
use crate::cli::arguments::Options;
use crate::cli::print;
use crate::headless::exit;
use crate::session::Project;

struct Finding {
    good: bool,
    what: &'static str,
    state: String,
    remedy: &'static str,
}

pub(super) fn run(options: &Options) -> Outcome {
    let ground = ground(options)?;
    let findings = [
        terminal(),
        keys(&ground),
        repository(&ground),
        sandbox(&ground),
        store(&ground),
        configuration(&ground),
    ];
    let mut code = exit::DONE;
    for finding in findings {
        let mark = if finding.good { "✓" } else { "!" };
        print(format_args!(
            "{mark} {:<14} {}",
            finding.what, finding.state
        ));
        if !finding.good {
            code = exit::ERROR;
            print(format_args!("  {:<14} {}", "", finding.remedy));
        }
    }
    Ok(code)
}

fn terminal() -> Finding {
    let good = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let name = std::env::var("TERM").unwrap_or_else(|_| "not set".to_owned());
    Finding {
        good,
        what: "terminal",
        state: if good {
            format!("TERM={name}")
        } else {
            "stdin or stdout is none".to_owned()
        },
        remedy: "The screen needs one; `dunlin exec` does not.",
    }
}

fn keys(ground: &app::Ground) -> Finding {
    let registry = app::registry(ground);
    let mut found = registry.found();
    found.extend(
        super::models::local_servers(&registry)
            .iter()
            .map(|server| {
                let count = server.models.len();
                format!("{} at {} ({count} models)", server.label, server.origin)
            }),
    );
    Finding {
        good: !found.is_empty(),
        what: "models",
        state: if found.is_empty() {
            "no key, no local server".to_owned()
        } else {
            found.join(", ")
        },
        remedy: "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run `dunlin auth login PROVIDER`.",
    }
}

fn repository(ground: &app::Ground) -> Finding {
    let is_git = ground.worktree.join(".git").exists();
    let state = if is_git {
        format!(
            "{} on {}",
            ground.worktree.display(),
            app::branch(&ground.worktree)
        )
    } else {
        format!(
            "{} is no repository; snapshots work all the same",
            ground.worktree.display()
        )
    };
    Finding {
        good: true,
        what: "worktree",
        state,
        remedy: "",
    }
}

fn sandbox(ground: &app::Ground) -> Finding {
    let chosen = Confinement::choose(&ground.config.sandbox, &ground.worktree, &ground.paths);
    Finding {
        good: chosen.is_on(),
        what: "sandbox",
        state: chosen.sentence(),
        remedy: "Commands run without one; mode `ask` asks before each.",
    }
}

fn store(ground: &app::Ground) -> Finding {
    let opened = Project::open(&ground.paths.data_dir, &ground.worktree)
        .and_then(|project| project.list().map(|sessions| sessions.len()));
    match opened {
        Ok(count) => Finding {
            good: true,
            what: "sessions",
            state: format!("{count} here, in {}", ground.paths.data_dir.display()),
            remedy: "",
        },
        Err(error) => Finding {
            good: false,
            what: "sessions",
            state: error.to_string(),
            remedy: "Nothing can be kept until this is mended; set DUNLIN_DATA_DIR to another folder.",
        },
    }
}

fn configuration(ground: &app::Ground) -> Finding {
    Finding {
        good: ground.warnings.is_empty(),
        what: "configuration",
        state: if ground.warnings.is_empty() {
            ground.paths.user_config().display().to_string()
        } else {
            ground.warnings.join(" ")
        },
        remedy: "`dunlin config` shows each value and where it came from.",
    }
}
