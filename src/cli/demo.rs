//! `dunlin demo`: the scripted provider works on a small real repository in a temporary folder. Real
//! tools, real snapshots, real store; nothing of the user's is touched.

use std::path::Path;

use super::arguments::{Demo, Options};
use super::{fail, interactive};
use crate::error::AppError;
use crate::headless::{Format, Talk, Task, exit};
use crate::protocol::{Mode, ModelRef, PromptInput};
use crate::snapshot;

/// What the demo says first.
const PROMPT: &str = "A test fails. Find out why and fix it.";

/// The repository: path and content.
const FILES: [(&str, &str); 9] = [
    (
        "README.md",
        include_str!("../../assets/demo/repo/README.md"),
    ),
    (
        "receipt.sh",
        include_str!("../../assets/demo/repo/receipt.sh"),
    ),
    (
        "tests/run.sh",
        include_str!("../../assets/demo/repo/tests/run.sh"),
    ),
    (
        "tests/breakfast.txt",
        include_str!("../../assets/demo/repo/tests/breakfast.txt"),
    ),
    (
        "tests/breakfast.total",
        include_str!("../../assets/demo/repo/tests/breakfast.total"),
    ),
    (
        "tests/exactly-fifty.txt",
        include_str!("../../assets/demo/repo/tests/exactly-fifty.txt"),
    ),
    (
        "tests/exactly-fifty.total",
        include_str!("../../assets/demo/repo/tests/exactly-fifty.total"),
    ),
    (
        "tests/party.txt",
        include_str!("../../assets/demo/repo/tests/party.txt"),
    ),
    (
        "tests/party.total",
        include_str!("../../assets/demo/repo/tests/party.total"),
    ),
];

pub(super) fn run(options: &Options, demo: &Demo) -> u8 {
    match play(options, demo) {
        Ok(code) => code,
        Err(error) => fail(&error, error.code),
    }
}

fn play(options: &Options, demo: &Demo) -> Result<u8, AppError> {
    let folder = tempfile::Builder::new()
        .prefix("dunlin-demo-")
        .tempdir()
        .map_err(|e| trouble(&std::env::temp_dir(), &e))?;
    let repository = folder.path().join("receipt");
    lay_out(&repository)?;
    let mut options = options.clone();
    options.folder = Some(repository.clone());
    options.model = options.model.or_else(|| {
        Some(ModelRef {
            provider: "scripted".to_owned(),
            model: "demo".to_owned(),
        })
    });
    let code = if demo.headless {
        options.mode = options.mode.or(Some(Mode::Auto));
        let task = Task::Prompt(PromptInput {
            text: PROMPT.to_owned(),
            files: Vec::new(),
        });
        {
            let talk = Talk {
                format: Format::Text,
                orders: false,
            };
            super::exec::start(&options, options.wishes(true), task, talk, None)?
        }
    } else {
        interactive::run(&options, Some(PROMPT.to_owned()), true)
    };
    if demo.keep {
        let kept = folder.keep();
        super::print(format_args!(
            "The demo's folder is {}.",
            kept.join("receipt").display()
        ));
    }
    Ok(if code == exit::ERROR {
        exit::ERROR
    } else {
        code
    })
}

/// Writes the repository and commits it.
fn lay_out(repository: &Path) -> Result<(), AppError> {
    for (name, content) in FILES {
        let path = repository.join(name);
        let parent = path.parent().unwrap_or(repository);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, content))
            .map_err(|e| trouble(&path, &e))?;
    }
    snapshot::make_repository(repository, "A small shop")
        .map_err(|e| AppError::new(format!("The demo's repository could not be made: {e}"), ""))
}

fn trouble(path: &Path, cause: &std::io::Error) -> AppError {
    let message = format!("{} cannot be written: {cause}.", path.display());
    AppError::new(message, "Set TMPDIR to a folder that can be written.")
}
