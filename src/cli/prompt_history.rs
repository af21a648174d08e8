//! Prompts of earlier sessions, for the composer: one JSON line each, this project's last (they come
//! up first).

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::private;
use crate::tui::composer::history::Past;

/// Only so much of the end of the file is read.
const READ: u64 = 256 << 10;
/// Prompts that are longer are not kept.
const LONGEST: usize = 16 << 10;

#[derive(Serialize, Deserialize)]
struct Line {
    folder: String,
    prompt: String,
}

/// The file of prompts.
#[derive(Debug, Clone)]
pub(super) struct PromptHistory {
    file: PathBuf,
    folder: String,
}

impl PromptHistory {
    pub(super) fn new(data_dir: &Path, worktree: &Path) -> Self {
        Self {
            file: data_dir.join("prompts.jsonl"),
            folder: worktree.to_string_lossy().into_owned(),
        }
    }

    /// Prompts, oldest first, other projects' before this one's. A damaged line is skipped.
    pub(super) fn read(&self) -> Vec<Past> {
        let text = self.tail().unwrap_or_default();
        let lines: Vec<Line> = text
            .lines()
            .filter_map(|l| serde_json::from_str(l).ok())
            .collect();
        let (here, elsewhere): (Vec<Line>, Vec<Line>) =
            lines.into_iter().partition(|l| l.folder == self.folder);
        elsewhere
            .into_iter()
            .chain(here)
            .map(|line| self.past(line))
            .collect()
    }

    fn past(&self, line: Line) -> Past {
        let place = if line.folder == self.folder {
            String::new()
        } else {
            let name = line.folder.rsplit('/').next().unwrap_or_default();
            if name.is_empty() { "/" } else { name }.to_owned()
        };
        let text = line.prompt;
        Past { text, place }
    }

    fn tail(&self) -> std::io::Result<String> {
        let mut file = File::open(&self.file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What keeps a prompt. Losing one is no reason to stop: failures are logged.
    pub(super) fn keeper(self) -> Box<dyn FnMut(&str) + Send> {
        Box::new(move |prompt| {
            if prompt.len() > LONGEST {
                return;
            }
            let line = Line {
                folder: self.folder.clone(),
                prompt: prompt.to_owned(),
            };
            if let Err(error) = self.append(&line) {
                tracing::warn!(%error, "the prompt was not kept");
            }
        })
    }

    fn append(&self, line: &Line) -> std::io::Result<()> {
        if let Some(folder) = self.file.parent() {
            private::make_folder(folder)?;
        }
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.file)?;
        file.write_all(text.as_bytes())
    }
}
