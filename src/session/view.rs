//! The view thread of one session: answers reads, keeps the sled view and `meta.json` up to date.
//!
//! It learns what was written by reading the journal, so what it shows is by construction what a
//! later process will see, and it can be thrown away at any time. It catches up once a second while
//! something is written and before every answer; it never stands in the way of the writer. A small session
//! is kept in memory: sled begins with the first megabyte, because its threads, once there, wake seven
//! times a second for ever. If sled fails, it is set aside and made again; if that fails too, a session
//! read into memory answers.

mod line;
mod row;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{fs, io};

use super::commit::Announce;
use super::db::{Db, Fit, guarded};
use super::error::StoreError;
use super::frames;
use super::history::{History, Page};
use super::image::Image;
use super::lost;
use super::meta::{Meta, SummaryPatch};
use super::place::Place;
use crate::protocol::{Event, MessageId, NoticeLevel, Part, PartId};
use line::Request;
pub(super) use line::{Ask, Line, Newest, PATIENCE, Reply};

/// Names of view threads begin so. A panic on them is caught: sled panics on damaged files.
pub(super) const THREAD: &str = "dunlin-view";

/// A folder of a view that failed, kept for a look until the next one fails.
const QUARANTINE: &str = "db.damaged";

/// Stands beside a view until it was closed for the first time.
const BEGUN: &str = "db.begun";

enum Kept {
    /// Nobody asked yet.
    Nothing,
    Sled(Box<Db>),
    Memory(Box<Image>),
}

/// The thread's state.
struct View {
    place: Place,
    kept: Kept,
    /// True: sled is not to be touched (read-only session, or it failed twice).
    memory_only: bool,
    patch: SummaryPatch,
    /// What `meta.json` says; none if not known.
    written: Option<Meta>,
    /// Sentences for the user that wait for somebody to fetch them.
    notices: Vec<String>,
    /// None for a session that is only read: then nothing is written.
    announce: Option<Arc<dyn Announce>>,
    /// True if the listing row may have changed since the session was opened.
    changed: bool,
}

impl View {
    fn start(
        place: Place,
        announce: Option<Arc<dyn Announce>>,
        memory_only: bool,
        notices: Vec<String>,
    ) -> Result<Sender<Request>, StoreError> {
        let (sender, inbox) = channel();
        let folder = place.folder.clone();
        let view = Self {
            place,
            kept: Kept::Nothing,
            memory_only,
            patch: SummaryPatch::default(),
            written: None,
            notices,
            announce,
            changed: false,
        };
        std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || view.run(&inbox))
            .map_err(|e| StoreError::io("start a thread for", &folder, e))?;
        Ok(sender)
    }

    fn run(mut self, inbox: &Receiver<Request>) {
        if self.is_owner() {
            self.mark_in_use();
        }
        while let Ok(Request { to, ask }) = inbox.recv() {
            match ask {
                Ask::Newest(most, reply) => {
                    let answer = self.try_both(to, |view| view.newest(most));
                    if let Kept::Sled(db) = &self.kept {
                        self.notices.extend(damage_notice(db.damaged()));
                    }
                    let answer = answer.map(|history| Newest {
                        history,
                        n: self.reached(),
                        notices: std::mem::take(&mut self.notices),
                    });
                    reply(answer);
                }
                Ask::Page(before, most, reply) => {
                    reply(self.try_both(to, |view| view.page(before, most)));
                }
                Ask::Since(from, reply) => reply(self.try_both(to, |view| view.since(from))),
                Ask::Part(id, reply) => reply(self.try_both(to, |view| view.part(id))),
                Ask::Summary(patch) => {
                    self.changed = true;
                    self.patch.merge(patch);
                }
                Ask::Frames(answer) => {
                    if self.is_owner()
                        && let Err(error) = frames::append(&self.place, &answer)
                    {
                        tracing::warn!(%error, "an answer was not recorded");
                    }
                }
                Ask::Tick => {
                    self.changed = true;
                    let caught_up = self.try_both(to, |_| Ok(()));
                    if caught_up.is_ok() {
                        self.write_meta(true);
                    }
                }
                Ask::Close(written, reply) => {
                    self.changed |= written;
                    self.finish(to);
                    reply(Ok(()));
                    return;
                }
            }
            self.tell();
        }
    }

    const fn is_owner(&self) -> bool {
        self.announce.is_some()
    }

    /// Tells what nobody fetched: in the running program an index can fail at any time.
    fn tell(&mut self) {
        let Some(announce) = &self.announce else {
            return;
        };
        let level = NoticeLevel::Warning;
        let notices = std::mem::take(&mut self.notices).into_iter();
        let events: Vec<Event> = notices.map(|text| Event::Notice { level, text }).collect();
        if !events.is_empty() {
            announce.announce(events);
        }
    }

    /// Catches up and answers; if sled fails at either, once more with a view made again.
    fn try_both<T>(
        &mut self,
        to: u64,
        work: impl Fn(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let first = self.catch_up(to).and_then(|()| work(self));
        match first {
            Err(StoreError::View(why)) => {
                self.set_aside(&why);
                let second = self.catch_up(to).and_then(|()| work(self));
                match second {
                    Err(StoreError::View(why)) => {
                        self.give_up(&why);
                        self.catch_up(to)?;
                        work(self)
                    }
                    other => other,
                }
            }
            other => other,
        }
    }

    fn catch_up(&mut self, to: u64) -> Result<(), StoreError> {
        let journal = self.place.journal();
        let small = to <= self.place.small();
        match &self.kept {
            Kept::Nothing if self.memory_only || small => {
                self.kept = Kept::Memory(Box::new(Image::of(self.place.id)));
            }
            Kept::Nothing => self.kept = self.open()?,
            // it has outgrown memory
            Kept::Memory(_) if !self.memory_only && !small => self.kept = self.open()?,
            Kept::Memory(_) | Kept::Sled(_) => {}
        }
        match &mut self.kept {
            Kept::Nothing => Ok(()),
            Kept::Sled(db) => {
                if let Some(faults) = &self.place.faults {
                    guarded(|| faults.view())?;
                }
                db.catch_up(&journal, to)
            }
            Kept::Memory(image) => {
                image.catch_up(&journal, Some(to))?;
                if to > 0 {
                    lost::heal(image, &self.place);
                }
                Ok(())
            }
        }
    }

    fn open(&mut self) -> Result<Kept, StoreError> {
        let existed = self.place.db().exists();
        let begun = self.place.folder.join(BEGUN);
        // its first content reaches the disk when it is closed: a kill before that is no damage
        let unfinished = existed && begun.exists();
        if !existed {
            // without the note the next process says that the index was made again, no more
            drop(fs::write(&begun, b""));
        }
        let db = Db::open(self.place.id, &self.place.db())?;
        let expected_empty = !existed || unfinished && db.is_new();
        if db.fit(&self.place.journal()) == Fit::Sound || expected_empty {
            return Ok(Kept::Sled(Box::new(db)));
        }
        let why = if db.is_new() {
            "it was empty or of another version"
        } else {
            "it does not fit the journal"
        };
        drop(db);
        self.set_aside(why);
        Db::open(self.place.id, &self.place.db()).map(|db| Kept::Sled(Box::new(db)))
    }

    /// Moves a view that cannot be used out of the way; the next use makes it again.
    fn set_aside(&mut self, why: &str) {
        if let Kept::Sled(db) = std::mem::replace(&mut self.kept, Kept::Nothing) {
            // dropping a sled that failed can panic or hang; its files are moved away anyway
            let _abandoned = std::mem::ManuallyDrop::new(db);
        }
        let moved = move_aside(&self.place).is_ok();
        self.memory_only |= !moved;
        let instead = if moved {
            "was made again from its journal"
        } else {
            "could not be moved away; until it is closed the session is kept in memory and in its journal"
        };
        self.notices.push(format!(
            "The index of this session could not be used ({why}) and {instead}; nothing is lost."
        ));
    }

    fn give_up(&mut self, why: &str) {
        self.set_aside(why);
        self.memory_only = true;
        self.notices.push(
            "The index could not be made again either; this session is kept in memory and in its \
             journal until it is closed."
                .to_owned(),
        );
    }

    fn nothing_yet() -> StoreError {
        StoreError::View("it is not open".to_owned())
    }

    /// Number of the last commit that counts, of those that were read.
    fn reached(&self) -> u64 {
        match &self.kept {
            Kept::Nothing => 0,
            Kept::Memory(image) => image.n,
            Kept::Sled(db) => db.n(),
        }
    }

    fn newest(&self, most: usize) -> Result<History, StoreError> {
        let damaged = |detail: &str| StoreError::Damaged {
            path: self.place.journal(),
            detail: detail.to_owned(),
        };
        let missing = || {
            damaged(
                "it does not say which session it is; export what is left with `dunlin sessions export`",
            )
        };
        match &self.kept {
            Kept::Nothing => Err(Self::nothing_yet()),
            Kept::Memory(image) => image.history(image.page(None, most)).ok_or_else(missing),
            Kept::Sled(db) => {
                let page = db.page(None, most)?;
                let lost = || lost::facts(&self.place, page.messages.first());
                Ok(History {
                    info: db.info()?.or_else(lost).ok_or_else(missing)?,
                    messages: page.messages,
                    parts: page.parts,
                    values: db.values()?,
                    complete: page.first,
                    last_id: db.facts().last_id(),
                })
            }
        }
    }

    fn page(&self, before: Option<MessageId>, most: usize) -> Result<Page, StoreError> {
        match &self.kept {
            Kept::Nothing => Err(Self::nothing_yet()),
            Kept::Sled(db) => db.page(before, most),
            Kept::Memory(image) => Ok(image.page(before, most)),
        }
    }

    fn since(&self, from: Option<MessageId>) -> Result<Page, StoreError> {
        match &self.kept {
            Kept::Nothing => Err(Self::nothing_yet()),
            Kept::Sled(db) => db.since(from),
            Kept::Memory(image) => Ok(image.since(from.unwrap_or(MessageId::from_raw(0)))),
        }
    }

    fn part(&self, id: PartId) -> Result<Option<Part>, StoreError> {
        match &self.kept {
            Kept::Nothing => Err(Self::nothing_yet()),
            Kept::Sled(db) => db.find(id),
            Kept::Memory(image) => Ok(image.find(id)),
        }
    }

    /// The last catch-up, `meta.json`, and sled let go of.
    fn finish(&mut self, to: u64) {
        if !self.is_owner() {
            return;
        }
        if !self.changed {
            self.let_go();
            return;
        }
        // what nobody asked for is read once for this, without sled
        if matches!(self.kept, Kept::Nothing) && !self.place.db().exists() {
            self.memory_only = true;
        }
        if self.try_both(to, |_| Ok(())).is_ok() {
            self.write_meta(false);
        }
        self.close_sled();
    }

    fn close_sled(&mut self) {
        let Kept::Sled(db) = std::mem::replace(&mut self.kept, Kept::Nothing) else {
            return;
        };
        match db.close() {
            Ok(()) => drop(fs::remove_file(self.place.folder.join(BEGUN))),
            Err(error) => {
                tracing::warn!(%error, "the index was not closed cleanly; it is checked when opened");
            }
        }
    }
}

/// What the user is told about damaged lines of the journal.
pub(super) fn damage_notice(damaged: u64) -> Option<String> {
    (damaged > 0).then(|| {
        format!(
            "The journal of this session is damaged in {damaged} place{}; what stood there is \
             lost, everything else is shown.",
            if damaged == 1 { "" } else { "s" }
        )
    })
}

/// Moves `db/` to the quarantine, in place of an older one.
fn move_aside(place: &Place) -> io::Result<()> {
    let quarantine: PathBuf = place.folder.join(QUARANTINE);
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    gone(fs::remove_dir_all(&quarantine))?;
    gone(fs::rename(place.db(), &quarantine))
}
