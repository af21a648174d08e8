//! The one thread that owns a worktree's state and its shadow repository.
//!
//! Does one job after another, as the handle sends them; everything here blocks. Between jobs it
//! copies old contents into the shadow (`pins`), and sleeps when there is nothing left to do.

mod answers;
mod attribution;
mod beside;
mod court;
mod skipped;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::aside::Aside;
use super::held::Held;
use super::pass::{How, Pass, Signs};
use super::path;
use super::place::{self, Place};
use super::record::{FileWrite, Hints, Restored, SnapshotError, Taken};
use super::repo::{self, Repo};
use super::rules::OuterRules;
use super::seed::Seed;
use super::stat::stat_path;
use super::state::{Skip, Stat};
use super::tree::{Blob, Change, Id};
use super::visit::Worktree;
use super::writelog::{WriteLog, now};
use super::{carry, undo};
use crate::config::used::SnapshotSettings;
use crate::protocol::SnapshotId;
use court::Look;

/// Above this many changed files a snapshot relies on the user's objects instead of copying.
const OWN_LIMIT: usize = 512;
/// A look at everything while idle must not take longer, or a prompt that comes then would wait.
const LONGEST_IDLE_LOOK: Duration = Duration::from_millis(500);
/// It comes after this many times its own length of idle time, at least.
const IDLE_SHARE: u32 = 100;

/// Everything the thread owns.
#[derive(Debug)]
pub(super) struct Owner {
    place: Place,
    store: PathBuf,
    settings: SnapshotSettings,
    repo: Repo,
    worktree: Worktree,
    given_root: PathBuf,
    signs: Arc<Signs>,
    /// The newest snapshot.
    tree: Option<Id>,
    /// Tells collections of other processes so.
    held: Option<Held>,
    /// When the newest look ended, in nanoseconds.
    looked: i64,
    /// The next look must trust nothing: the last one broke off.
    distrust: bool,
    /// The user's index as it was when it was last read.
    index_stat: Option<Stat>,
    /// Old contents to be copied into the shadow, oldest first.
    pins: VecDeque<Id>,
    /// Files that came into view, or went out of it, without being written.
    revealed: HashMap<Vec<u8>, Blob>,
    hidden: HashMap<Vec<u8>, Blob>,
    /// Files that were changed or are gone: as they were, with their permission bits.
    bits: HashMap<Vec<u8>, (Blob, u32)>,
    /// When files became what they were found to be (ctime, in nanoseconds).
    times: HashMap<(Vec<u8>, Blob), i64>,
    /// When snapshots were taken, and when folders came to their places.
    looks: HashMap<Id, Look>,
    arrivals: HashMap<Vec<u8>, i64>,
    /// What we and others say of our writes.
    log: Arc<WriteLog>,
    /// Files that tools write and no snapshot holds.
    aside: Aside,
    /// Files that did not fit into the last snapshot.
    retry: Vec<Vec<u8>>,
    /// Files the user was told about.
    told: HashSet<Vec<u8>>,
    notices: Vec<String>,
    /// Something was looked at, but not everything, since everything was.
    unverified: bool,
    /// How long the last look at everything took.
    full_took: Duration,
}

fn snapshot_id(id: Id) -> SnapshotId {
    SnapshotId(id.to_string())
}

/// The tree's id in a snapshot's name.
pub(super) fn tree_id(snapshot: &SnapshotId) -> Result<Id, SnapshotError> {
    Id::from_hex(&snapshot.0).ok_or_else(|| SnapshotError::Missing {
        what: "snapshot",
        id: snapshot.0.chars().take(60).collect(),
    })
}

impl Owner {
    /// Opens everything and takes the first snapshot. An error is the sentence that says why
    /// snapshots are off.
    pub(super) fn start(
        given_root: PathBuf,
        store: PathBuf,
        home: Option<&Path>,
        settings: SnapshotSettings,
        (signs, log): (Arc<Signs>, Arc<WriteLog>),
    ) -> Result<Self, String> {
        if !settings.enabled {
            return Err(
                "Snapshots are off by configuration. Set `snapshot.enabled = true` to have /undo and /diff."
                    .to_owned(),
            );
        }
        let place = place::find(&given_root, home)?;
        let off = |e: SnapshotError| format!("Snapshots are off: {e}");
        let objects = place.git.as_ref().filter(|git| git.usable);
        let objects = objects.map(|git| git.common_dir.join("objects"));
        let repo = Repo::open(&store, objects.as_deref()).map_err(off)?;
        let worktree = open_worktree(&place, &store, settings.watch).map_err(off)?;
        let mut owner = Self {
            place,
            store,
            settings,
            repo,
            worktree,
            given_root,
            signs,
            tree: None,
            held: None,
            looked: 0,
            distrust: false,
            index_stat: None,
            pins: VecDeque::new(),
            revealed: HashMap::new(),
            hidden: HashMap::new(),
            bits: HashMap::new(),
            times: HashMap::new(),
            looks: HashMap::new(),
            arrivals: HashMap::new(),
            log,
            aside: Aside::default(),
            retry: Vec::new(),
            told: HashSet::new(),
            notices: Vec::new(),
            unverified: false,
            full_took: Duration::ZERO,
        };
        owner.first().map_err(off)?;
        Ok(owner)
    }

    /// The first look: everything, with the user's index as a help.
    fn first(&mut self) -> Result<(), SnapshotError> {
        let begun = Instant::now();
        let seed = self.read_index();
        let outside_git = self.place.git.is_none();
        let until = outside_git.then(|| Instant::now() + self.settings.max_walk);
        self.worktree.reload_rules();
        let how = How {
            list: true,
            files: true,
            ..How::default()
        };
        let mut outcome = self.look(
            seed.as_ref(),
            Some((self.settings.max_files, until)),
            |w, p| w.visit_all(p, how),
        )?;
        if outcome.too_large {
            self.worktree = open_worktree(&self.place, &self.store, false)?;
            self.worktree.limited = true;
            self.worktree.reload_rules();
            self.notices.push(format!(
                "{} holds more than {} files that git does not track, too many for whole snapshots: \
                 /undo and /diff know only tracked files and files that tools wrote. Ignore files \
                 (.gitignore) that leave out generated folders bring them back.",
                self.place.worktree.display(),
                self.settings.max_files,
            ));
            outcome = self.look(seed.as_ref(), None, |w, p| w.visit_all(p, how))?;
        }
        if let Some(seed) = &seed {
            self.worktree.retrack(seed);
        }
        self.absorb(outcome, true)?;
        self.full_took = begun.elapsed();
        Ok(())
    }

    fn read_index(&mut self) -> Option<Seed> {
        let git = self.place.git.as_ref().filter(|git| git.usable)?;
        let index = git.git_dir.join("index");
        self.index_stat = stat_path(&index);
        let mut seed = repo::read_index(&index, &git.prefix)?;
        seed.rewritten = git.rewrites(&seed.attributes);
        Some(seed)
    }

    /// Takes a snapshot.
    pub(super) fn take(&mut self, hints: &Hints) -> Result<Taken, SnapshotError> {
        let begun = Instant::now();
        let full = hints.full || self.distrust;
        self.distrust = true;
        let rules_changed = self.worktree.reload_rules();
        let seed = (full || rules_changed || hints.unknown)
            .then(|| self.read_changed_index())
            .flatten();
        let untracked = seed.as_ref().is_some_and(|s| self.worktree.retrack(s));
        let rules_changed = rules_changed || untracked;
        let roots = [self.place.worktree.clone(), self.given_root.clone()];
        let roots = roots.each_ref().map(PathBuf::as_path);
        let named: Vec<Vec<u8>> = hints
            .paths
            .iter()
            .filter_map(|p| path::relative(p, &roots))
            .collect();
        let mut paths: Vec<Vec<u8>> = std::mem::take(&mut self.retry);
        paths.extend(named.iter().cloned());
        let unknown = hints.unknown;
        let outcome = self.look(seed.as_ref(), None, |worktree, pass| {
            let lost = worktree.drain();
            let watched = worktree.is_watched();
            for path in &paths {
                worktree.hint(pass, path)?;
            }
            worktree.hint_nested(pass)?;
            worktree.hint_linked();
            if full || rules_changed || lost || !watched {
                let how = How {
                    list: full,
                    files: full || lost || unknown,
                    recheck: full || rules_changed,
                    unveil: rules_changed,
                    rewatch: lost,
                    unseen: false,
                };
                worktree.visit_all(pass, how)?;
            }
            // a new folder's watch is set before it is listed, so one more round is the last
            for _ in 0..4 {
                worktree.visit_pending(pass)?;
                worktree.find_linked();
                if worktree.drain() {
                    let how = How {
                        files: true,
                        rewatch: true,
                        ..How::default()
                    };
                    worktree.visit_all(pass, how)?;
                }
                if !worktree.has_pending() {
                    break;
                }
            }
            Ok(())
        })?;
        let changed = self.absorb(outcome, false)?;
        let aside = self.look_aside(&named, hints)?;
        self.distrust = false;
        self.unverified = !full;
        if full {
            self.full_took = begun.elapsed();
        }
        let tree = self.tree.unwrap_or_else(repo::empty_tree);
        Ok(Taken {
            tree: snapshot_id(tree),
            changed,
            aside,
            notices: std::mem::take(&mut self.notices),
        })
    }

    /// The user's index, if it changed: a command may have added a file that the rules exclude, or
    /// taken one out.
    fn read_changed_index(&mut self) -> Option<Seed> {
        let git = self.place.git.as_ref().filter(|git| git.usable)?;
        let changed = stat_path(&git.git_dir.join("index")) != self.index_stat;
        changed.then(|| self.read_index()).flatten()
    }

    /// One look, and what came of it.
    fn look(
        &mut self,
        seed: Option<&Seed>,
        allowance: Option<(usize, Option<Instant>)>,
        work: impl FnOnce(&mut Worktree, &mut Pass<'_>) -> Result<(), SnapshotError>,
    ) -> Result<Outcome, SnapshotError> {
        let begun = now();
        let git = self.place.git.as_ref();
        let converts = git.is_some_and(|git| git.converts);
        let mut pass = Pass {
            repo: &self.repo,
            limits: &self.settings,
            seed,
            check_len: converts || seed.is_some_and(|seed| !seed.attributes.is_empty()),
            own: if self.tree.is_some() { OWN_LIMIT } else { 0 },
            racy_from: begun - self.worktree.slack(),
            previous: self.looked,
            budget: self.settings.max_bytes,
            allowance,
            signs: &self.signs,
            changes: Vec::new(),
            revealed: Vec::new(),
            hidden: Vec::new(),
            skipped: Vec::new(),
            arrived: Vec::new(),
            too_large: false,
        };
        work(&mut self.worktree, &mut pass)?;
        let outcome = Outcome {
            changes: pass.changes,
            revealed: pass.revealed,
            hidden: pass.hidden,
            skipped: pass.skipped,
            arrived: pass.arrived,
            look: (begun, now()),
            too_large: pass.too_large,
        };
        self.looked = outcome.look.1;
        Ok(outcome)
    }

    /// Writes the trees and takes over what a look found. Gives the changed paths.
    fn absorb(&mut self, outcome: Outcome, first: bool) -> Result<Vec<String>, SnapshotError> {
        let own = !first && outcome.changes.len() <= OWN_LIMIT;
        let mut pins = Vec::new();
        let tree = self.worktree.dirs.write_trees(&self.repo, own, &mut pins)?;
        self.hold(tree);
        remember(&mut self.looks, vec![(tree, outcome.look)]);
        self.notice_skipped(&outcome.skipped);
        if first {
            return Ok(Vec::new());
        }
        pins.extend(outcome.changes.iter().filter_map(|c| Some(c.before?.id)));
        let bits = |c: &Change| Some((c.path.clone(), (c.before?, c.bits?)));
        remember(
            &mut self.bits,
            outcome.changes.iter().filter_map(bits).collect(),
        );
        let times = outcome.changes.iter().filter_map(|c| {
            let file = self.known(&c.path, c.after?)?;
            Some(((c.path.clone(), file.blob()), file.stat.ctime))
        });
        let times = times.collect();
        remember(&mut self.times, times);
        self.pins.extend(pins);
        remember(&mut self.revealed, outcome.revealed);
        // what changed before it went out of view in the same look was something else before that
        let mut first: HashMap<&[u8], Option<Blob>> = HashMap::new();
        for change in &outcome.changes {
            first.entry(&change.path).or_insert(change.before);
        }
        let hidden = outcome.hidden.into_iter().filter_map(|(path, blob)| {
            let before = first.get(&*path).copied().unwrap_or(Some(blob));
            Some((path, before?))
        });
        let hidden = hidden.collect();
        remember(&mut self.hidden, hidden);
        remember(&mut self.arrivals, outcome.arrived);
        let mut changed: Vec<String> = net(outcome.changes)
            .iter()
            .map(|c| path::to_text(&c.path))
            .collect();
        changed.sort();
        Ok(changed)
    }

    /// A tree is the newest, and other processes' collections are told so.
    fn hold(&mut self, tree: Id) {
        if self.tree == Some(tree) {
            return;
        }
        self.tree = Some(tree);
        let told = match &mut self.held {
            Some(held) => held.note(tree),
            none => Held::begin(&self.store).and_then(|held| none.insert(held).note(tree)),
        };
        if let Err(error) = told {
            tracing::warn!(%error, "other processes do not know which snapshot is in use");
        }
    }

    /// Takes writes back.
    pub(super) fn restore(
        &mut self,
        writes: &[FileWrite],
        dry_run: bool,
    ) -> Result<Restored, SnapshotError> {
        let plan = undo::plan(&self.repo, &self.place.worktree, writes)?;
        if dry_run || !plan.does_anything() {
            return Ok(plan.preview());
        }
        let safety = self.take(&Hints::full())?;
        self.notices.extend(safety.notices);
        Ok(carry::apply(
            &self.repo,
            &self.place.worktree,
            plan,
            (safety.tree, &self.log),
        ))
    }

    /// True if there is something to do between jobs.
    pub(super) fn has_upkeep(&self) -> bool {
        !self.pins.is_empty()
    }

    /// A small piece of it.
    pub(super) fn upkeep(&mut self) {
        if let Some(id) = self.pins.pop_front()
            && let Err(e) = self.repo.pin(id)
        {
            tracing::warn!("an old content could not be kept: {e}");
        }
    }

    /// After how much idle time everything is to be verified: a look that trusts the watch and the
    /// stats may have missed something. None if that was done since, or would take too long for
    /// whoever comes meanwhile.
    pub(super) fn verify_after(&self) -> Option<Duration> {
        let wanted = self.unverified && !self.settings.verify_after.is_zero();
        let idle = self.settings.verify_after.max(self.full_took * IDLE_SHARE);
        (wanted && self.full_took <= LONGEST_IDLE_LOOK).then_some(idle)
    }

    /// Looks at everything. What is found belongs to nobody's step: it happened before the next one.
    pub(super) fn verify(&mut self) {
        match self.take(&Hints::full()) {
            // They are told with the next snapshot that somebody asks for.
            Ok(taken) => self.notices.extend(taken.notices),
            Err(error) => {
                tracing::warn!(%error, "the worktree was not verified");
                self.unverified = false;
            }
        }
    }

    /// What can still be done when dunlin ends, within a moment.
    pub(super) fn finish(&mut self) {
        let until = Instant::now() + Duration::from_millis(200);
        while self.has_upkeep() && Instant::now() < until {
            self.upkeep();
        }
    }

    /// The newest snapshot, which no collection may touch.
    pub(super) fn newest(&self) -> Option<SnapshotId> {
        self.tree.map(snapshot_id)
    }

    /// Folder of the shadow repository.
    pub(super) fn store(&self) -> &Path {
        &self.store
    }
}

/// What a look found.
struct Outcome {
    changes: Vec<Change>,
    revealed: Vec<(Vec<u8>, Blob)>,
    hidden: Vec<(Vec<u8>, Blob)>,
    skipped: Vec<(Vec<u8>, Skip)>,
    arrived: Vec<(Vec<u8>, i64)>,
    look: Look,
    too_large: bool,
}

/// Changes of one path in sequence become one; those that end where they began are none.
fn net(changes: Vec<Change>) -> Vec<Change> {
    let mut first: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut out: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes {
        if let Some(&at) = first.get(&change.path) {
            out[at].after = change.after;
        } else {
            first.insert(change.path.clone(), out.len());
            out.push(change);
        }
    }
    out.retain(|c| c.before != c.after);
    out
}

fn remember<K: std::hash::Hash + Eq, T>(map: &mut HashMap<K, T>, new: Vec<(K, T)>) {
    // only writes() of a recent interval asks, so an old past may go
    if map.len() + new.len() > 100_000 {
        map.clear();
    }
    map.extend(new);
}

fn open_worktree(place: &Place, store: &Path, watch: bool) -> Result<Worktree, SnapshotError> {
    // the project's data folder, if somebody keeps it inside the worktree
    let data = store.parent().unwrap_or(store);
    let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
    let excluded = path::relative(&data, &[&place.worktree]).filter(|_| data.is_absolute());
    Worktree::open(&place.worktree, OuterRules::new(place), excluded, watch)
        .map_err(|e| SnapshotError::file(format!("Opening {}", place.worktree.display()), e))
}
