//! The view thread of one session: answers reads, keeps the sled view and `meta.json` up to date.
//!
//! It learns what was written by reading the journal, so what it shows is by construction what a
//! later process will see, and it can be thrown away at any time. It catches up once a second while
//! something is written and before every answer; it never stands in the way of the writer. If sled
//! fails, it is set aside and made again; if that fails too, a session read into memory answers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use super::commit::Announce;
use super::db::{Db, Fit, guarded};
use super::error::StoreError;
use super::frames::{self, Frames};
use super::history::{History, Page};
use super::image::Image;
use super::lost;
use super::meta::{FORK_VALUE, Meta, SummaryPatch, since_epoch};
use super::place::Place;
use crate::protocol::{Event, MessageId, NoticeLevel, Part, PartId};

/// Names of view threads begin so. A panic on them is caught: sled panics on damaged files.
pub(super) const THREAD: &str = "dunlin-view";

/// How long anyone waits for an answer before the view counts as hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A folder of a view that failed, kept for a look until the next one fails.
const QUARANTINE: &str = "db.damaged";

/// Where an answer goes.
pub(super) type Reply<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// What the view is asked.
pub(super) enum Ask {
    /// The newest page with the session's facts and values.
    Newest(usize, Reply<(History, Vec<String>)>),
    /// The page before a message.
    Page(Option<MessageId>, usize, Reply<Page>),
    /// Everything from a message on (everything if none).
    Since(Option<MessageId>, Reply<Page>),
    /// One part.
    Part(PartId, Reply<Option<Part>>),
    /// Facts for the listing.
    Summary(SummaryPatch),
    /// An answer for `frames`.
    Frames(Box<Frames>),
    /// A second has passed since something was written.
    Tick,
    /// End; answers when everything is let go of. True if something was written since it was opened.
    Close(bool, Reply<()>),
}

/// A question, and how far the journal was written when it was asked.
struct Request {
    to: u64,
    ask: Ask,
}

/// Where questions for the view go. The thread behind it can be replaced when it hangs.
#[derive(Clone)]
pub(super) struct Line {
    place: Place,
    /// Who is told what was found and mended; none for a session that is only read.
    announce: Option<Arc<dyn Announce>>,
    sender: Arc<Mutex<Sender<Request>>>,
    /// Threads that hung.
    hung: Arc<AtomicU32>,
}

impl Line {
    /// Starts the thread. It touches no file until it is asked something.
    pub(super) fn start(
        place: Place,
        announce: Option<Arc<dyn Announce>>,
    ) -> Result<Self, StoreError> {
        let memory_only = announce.is_none();
        let sender = View::start(place.clone(), announce.clone(), memory_only, Vec::new())?;
        Ok(Self {
            place,
            announce,
            sender: Arc::new(Mutex::new(sender)),
            hung: Arc::default(),
        })
    }

    /// Asks; false if the thread is gone.
    pub(super) fn send(&self, to: u64, ask: Ask) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.send(Request { to, ask }).is_ok()
    }

    /// Leaves a hanging thread behind, and its files: a view made again answers from now on; if that
    /// hangs too, a session read into memory.
    pub(super) fn replace(&self) -> Result<(), StoreError> {
        let again = self.hung.fetch_add(1, Ordering::Relaxed) > 0;
        let owner = self.announce.is_some();
        // the thread may still hold the files open: under their new name they are in nobody's way
        let aside = owner && move_aside(&self.place).is_ok();
        let mut notices = Vec::new();
        if owner {
            notices.push(format!(
                "The index of this session did not answer within {} s and was set aside; {} \
                 Nothing is lost.",
                PATIENCE.as_secs(),
                if again || !aside {
                    "until the session is closed it is kept in memory and in its journal."
                } else {
                    "it was made again from the journal."
                }
            ));
        }
        let fresh = View::start(
            self.place.clone(),
            self.announce.clone(),
            !owner || again || !aside,
            notices,
        )?;
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }
}

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
                    reply(answer.map(|history| (history, std::mem::take(&mut self.notices))));
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
        if matches!(self.kept, Kept::Nothing) {
            self.kept = if self.memory_only {
                Kept::Memory(Box::default())
            } else {
                self.open()?
            };
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
        let db = Db::open(&self.place.db())?;
        if db.fit(&self.place.journal()) == Fit::Sound || !existed {
            return Ok(Kept::Sled(Box::new(db)));
        }
        let why = if db.is_new() {
            "it was empty or of another version"
        } else {
            "it does not fit the journal"
        };
        drop(db);
        self.set_aside(why);
        Db::open(&self.place.db()).map(|db| Kept::Sled(Box::new(db)))
    }

    /// Moves a view that cannot be used out of the way; the next use makes it again.
    fn set_aside(&mut self, why: &str) {
        if let Kept::Sled(db) = std::mem::replace(&mut self.kept, Kept::Nothing) {
            // dropping a sled that failed can panic or hang; its files are moved away anyway
            let _abandoned = std::mem::ManuallyDrop::new(db);
        }
        if move_aside(&self.place).is_err() {
            self.memory_only = true;
        }
        self.notices.push(format!(
            "The index of this session could not be used ({why}) and was made again from its \
             journal; nothing is lost."
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

    /// Says in `meta.json` that somebody has the session open, so that listings look at the lock.
    fn mark_in_use(&mut self) {
        let Some(mut meta) = Meta::read(&self.place) else {
            return;
        };
        self.patch = meta.patch.clone();
        if !meta.in_use || meta.summary.archived {
            meta.in_use = true;
            meta.summary.archived = false;
            if let Err(error) = meta.write(&self.place) {
                tracing::warn!(%error, "meta.json not written");
            }
        }
        self.written = Some(meta);
    }

    /// The listing row as it is now; none if nothing was read yet.
    fn meta(&self) -> Result<Option<Meta>, StoreError> {
        let now = since_epoch(SystemTime::now());
        let mut meta = match &self.kept {
            Kept::Nothing => return Ok(None),
            Kept::Memory(image) => match Meta::of_image(image, &self.patch, now) {
                Some(meta) => meta,
                None => return Ok(None),
            },
            Kept::Sled(db) => {
                let Some(info) = db.info()? else {
                    return Ok(None);
                };
                let mut meta = Meta::new(info, db.facts(), &self.patch, now);
                meta.fork = db.has_value(FORK_VALUE)?;
                meta.summary.damaged = db.damaged() > 0;
                meta
            }
        };
        meta.in_use = true;
        Ok(Some(meta))
    }

    fn write_meta(&mut self, in_use: bool) {
        let mut meta = match self.meta() {
            Ok(Some(meta)) => meta,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the listing row could not be made");
                return;
            }
        };
        meta.in_use = in_use;
        if let Some(written) = &self.written {
            // nothing but the time would change
            let mut same = meta.clone();
            same.summary.updated = written.summary.updated;
            if same == *written {
                return;
            }
        }
        match meta.write(&self.place) {
            Ok(()) => self.written = Some(meta),
            Err(error) => tracing::warn!(%error, "meta.json not written"),
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
        // a session that lived for less than a second has no sled yet and needs none for this
        if matches!(self.kept, Kept::Nothing) && !self.place.db().exists() {
            self.memory_only = true;
        }
        if self.try_both(to, |_| Ok(())).is_ok() {
            self.write_meta(false);
        }
        self.close_sled();
    }

    /// Nothing changed: only the note that somebody has the session open goes away.
    fn let_go(&mut self) {
        if let Some(mut meta) = self.written.take() {
            meta.in_use = false;
            if let Err(error) = meta.write(&self.place) {
                tracing::warn!(%error, "meta.json not written");
            }
        }
        self.close_sled();
    }

    fn close_sled(&mut self) {
        if let Kept::Sled(db) = std::mem::replace(&mut self.kept, Kept::Nothing)
            && let Err(error) = db.close()
        {
            tracing::warn!(%error, "the index was not closed cleanly; it is checked when opened");
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
