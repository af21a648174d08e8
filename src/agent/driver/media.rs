//! The bytes of files: what is kept of those that go along with a prompt, and what a request holds of them.
//!
//! Pictures and documents, and files outside of the worktree, become blobs when the prompt is taken: what becomes
//! of the file later does not matter, and no stored path is ever followed out of the worktree. Pictures are
//! made as small as models look at. Called by `ops` and `models`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::{Agent, Back};
use crate::protocol::{Event, FilePart, FileSource, NoticeLevel, PromptInput};
use crate::session::{Blobs, SessionStore};
use crate::tools::media;

/// Bytes of a file that are read at most: nothing larger is sent to a model or looked at.
const MOST_FILE: u64 = 64 << 20;
/// What stands as the media type of a file that models cannot take: a note goes in its place.
const NO_MEDIA: &str = "application/octet-stream";

/// What reads the files of a request, and remembers those that it could not read.
pub(super) struct Bytes {
    blobs: Option<Blobs>,
    root: PathBuf,
    missing: RefCell<Vec<String>>,
}

impl Bytes {
    pub(super) fn new(store: Option<&SessionStore>, root: &Path) -> Self {
        Self {
            blobs: store.map(SessionStore::blobs),
            root: root.to_owned(),
            missing: RefCell::default(),
        }
    }

    pub(super) fn of(&self, file: &FilePart) -> Option<bytes::Bytes> {
        let read = match &file.source {
            FileSource::Blob(blob) => self.blobs.as_ref().and_then(|blobs| blobs.get(blob).ok()),
            FileSource::Path(path) => inside(&self.root, path).and_then(|path| read(&path).ok()),
        };
        if read.is_none() {
            self.missing.borrow_mut().push(file.name.clone());
        }
        read.map(bytes::Bytes::from)
    }

    /// Names of the files that could not be read.
    pub(super) fn missing(self) -> Vec<String> {
        self.missing.into_inner()
    }
}

/// A path of the worktree as it is on the disk; none if it leads out of it.
fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let full = root.join(path).canonicalize().ok()?;
    full.starts_with(root.canonicalize().ok()?).then_some(full)
}

/// The bytes of an ordinary file; devices and pipes have no end.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let data = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !data.is_file() || data.len() > MOST_FILE {
        return Err("it is no ordinary file, or too large".to_owned());
    }
    std::fs::read(path).map_err(|e| e.to_string())
}

/// Keeps one file of a prompt; a sentence if it cannot go along as it was meant.
fn keep(file: &mut FilePart, root: &Path, blobs: &Blobs) -> Option<String> {
    let FileSource::Path(path) = &file.source else {
        return None;
    };
    let drawn = file.mime.ends_with("+xml");
    let is_media = !drawn && (file.mime.starts_with("image/") || file.mime == "application/pdf");
    let full = root.join(path);
    if full.is_dir() || (!is_media && inside(root, path).is_some()) {
        return None;
    }
    let stored = read(&full).and_then(|bytes| {
        let (mime, bytes) = if is_media {
            let fitted = media::fit(bytes)?;
            (fitted.mime.to_owned(), fitted.bytes)
        } else {
            (file.mime.clone(), bytes)
        };
        let blob = blobs.put(&bytes).map_err(|error| error.to_string())?;
        Ok((mime, blob))
    });
    match stored {
        Ok((mime, blob)) => {
            file.mime = mime;
            file.source = FileSource::Blob(blob);
            None
        }
        Err(why) => {
            if is_media {
                NO_MEDIA.clone_into(&mut file.mime);
            }
            Some(format!("{} is not attached: {why}", file.name))
        }
    }
}

impl Agent {
    /// Keeps what goes along with a prompt; files that its text only seems to name are left out.
    pub(super) async fn keep_media(&self, input: &mut PromptInput) {
        let root = self.ports.worktree.clone();
        input.files.retain(|file| match &file.source {
            FileSource::Path(path) if Path::new(path).is_relative() => root.join(path).exists(),
            _ => true,
        });
        if input.files.is_empty() {
            return;
        }
        let mut files = std::mem::take(&mut input.files);
        let blobs = self.ports.project.blobs();
        let unkept = files.clone();
        let kept = self.ports.blocking.run(move || {
            let mut said = Vec::new();
            for file in &mut files {
                said.extend(keep(file, &root, &blobs));
            }
            (files, said)
        });
        let (files, said) = kept.await.unwrap_or_else(|_broken| (unkept, Vec::new()));
        input.files = files;
        for text in said {
            self.notice(NoticeLevel::Warning, &text);
        }
    }

    /// Says once of each file of the session that its bytes are gone.
    pub(super) fn tell_missing(&mut self, names: Vec<String>) {
        for name in names {
            if self.active.missing.insert(name.clone()) {
                let text = format!(
                    "{name} cannot be read any more, so the model gets a note in its place. Attach it again if it matters."
                );
                self.notice(NoticeLevel::Warning, &text);
            }
        }
    }

    /// Announces the bytes of a picture or document, read beside.
    pub(super) fn read_file(&self, source: FileSource) {
        let project = self.ports.project.clone();
        let root = self.ports.worktree.clone();
        let back = self.active.back.clone();
        self.ports.beside(move || {
            let path = match &source {
                FileSource::Blob(blob) => project.blobs().path(blob).ok(),
                FileSource::Path(path) => Some(root.join(path)),
            };
            let bytes = path.and_then(|path| read(&path).ok());
            let bytes = bytes.map(bytes::Bytes::from);
            drop(back.send(Back::Event(Event::FileRead { source, bytes })));
        });
    }
}
