//! Import, fork, delete, packing, naming and a session's beginning, each cut by death after every step: what is
//! listed afterwards is whole, and the next clean-up leaves nothing of the rest.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use dunlin::protocol::{PartBody, SessionId, SessionInfo, ToolState};
use dunlin::session::{ExportFormat, FaultPoints, Fork, GcPolicy, Project, Redactor, StoreError};

use super::copies::search;
use super::rich::{now, rich};
use super::support::{Heard, World, arrival, assert_sound, commit, info, session_id};

/// Commits of each session of a family; some of them have messages.
const COMMITS: u64 = 17;
/// A session, two of its subagents, and one of the first of these.
const FAMILY: [(u128, Option<u128>); 4] =
    [(10, None), (11, Some(10)), (12, Some(11)), (13, Some(10))];

fn make_family(world: &World) {
    for (n, parent) in FAMILY {
        let id = session_id(n);
        let info = SessionInfo {
            parent: parent.map(session_id),
            ..info(id, &world.worktree())
        };
        let store = world.project.create(&info, Heard::new()).expect("create");
        for n in 1..=COMMITS {
            store.commit(commit(id, n));
        }
        store.close_blocking();
    }
}

fn exported(project: &Project, id: SessionId) -> Vec<u8> {
    let mut out = Vec::new();
    let open = Redactor::with_values([]);
    project
        .export(id, ExportFormat::Json, &open, &mut out)
        .expect("export");
    out
}

/// Everything but what differs from one session to the next.
fn said(project: &Project, id: SessionId) -> (usize, usize, bool) {
    let (history, damaged) = project.read_all(id).expect("readable");
    assert_eq!(damaged, 0);
    (
        history.messages.len(),
        history.parts.len(),
        history.complete,
    )
}

fn listed(world: &World) -> BTreeMap<SessionId, (usize, usize, bool)> {
    let rows = world.project.list().expect("list");
    rows.iter()
        .map(|row| {
            assert!(!row.damaged && !row.open_elsewhere, "{row:?}");
            let said = said(&world.project, row.info.id);
            assert_eq!(row.messages as usize, said.0, "the row tells the truth");
            (row.info.id, said)
        })
        .collect()
}

fn policy(dry_run: bool) -> GcPolicy {
    GcPolicy {
        now: now(),
        output_days: 7,
        frames_days: 7,
        archive_days: 0,
        quota: 0,
        dry_run,
    }
}

/// What lies in a folder of the project.
fn names(world: &World, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(world.project.folder().join(folder));
    let entries = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Does the work in one fresh world after the other and lets it die one step later each time, until it gets
/// through. `check` hears whether it died. Returns the number of steps.
fn dying_at_each_step(
    prepare: impl Fn(&World),
    work: impl Fn(&World, &Project),
    check: impl Fn(&World, bool),
) -> u32 {
    for step in 1..500 {
        let world = World::new();
        prepare(&world);
        let faults = Arc::new(FaultPoints::new(Duration::from_mins(3)));
        let project = world.project.clone().with_faults(Arc::clone(&faults));
        faults.die_at(step);
        let died = catch_unwind(AssertUnwindSafe(|| work(&world, &project))).is_err();
        faults.live();
        check(&world, died);
        if !died {
            return step - 1;
        }
    }
    panic!("it never got through");
}

/// After a clean-up, which a dry run foretells, nothing unfinished is there, and the same is listed.
fn assert_cleaned(world: &World) {
    let before = listed(world);
    let planned = world.project.gc(&policy(true)).expect("dry run");
    assert_eq!(listed(world), before, "a dry run changes nothing");
    let done = world.project.gc(&policy(false)).expect("gc");
    assert_eq!(done.problems, Vec::<String>::new());
    assert_eq!(planned.leftovers, done.leftovers);
    assert_eq!(listed(world), before);
    assert_eq!(names(world, "staging"), Vec::<String>::new());
    let mut ids: Vec<String> = before.keys().map(ToString::to_string).collect();
    ids.sort();
    assert_eq!(
        names(world, "sessions"),
        ids,
        "no session that is not listed"
    );
}

#[test]
fn an_import_that_dies_at_any_step_is_there_whole_or_not_at_all() {
    let source = World::new();
    make_family(&source);
    let export = exported(&source.project, session_id(10));
    let one = said(&source.project, session_id(10));
    let import = |world: &World, project: &Project, id| {
        project.import(&export, &arrival(session_id(id), &world.worktree()))
    };
    let steps = dying_at_each_step(
        |_| (),
        |world, project| drop(import(world, project, 50).expect("import")),
        |world, died| {
            let found = listed(world);
            assert!(found.is_empty() || found.len() == FAMILY.len(), "{found:?}");
            assert!(died || found.len() == FAMILY.len());
            assert!(found.values().all(|said| *said == one), "{found:?}");
            let newest = world.project.newest().expect("newest");
            assert_eq!(newest, (!found.is_empty()).then(|| session_id(50)));
            let hits = search(world, "prompt", false);
            assert!(hits.iter().all(|hit| found.contains_key(&hit.session)));
            assert_eq!(hits.is_empty(), found.is_empty());
            // a dunlin that knows nothing of this sees sessions that are whole each for itself
            for name in names(world, "sessions") {
                assert_eq!(said(&world.project, name.parse().expect("a session")), one);
            }
            assert_cleaned(world);
            import(world, &world.project, 80).expect("a second import");
            assert_eq!(listed(world).len(), found.len() + FAMILY.len());
        },
    );
    assert!(steps > 15, "{steps} steps");
}

#[test]
fn the_next_import_removes_what_one_left_that_died() {
    let source = World::new();
    make_family(&source);
    let export = exported(&source.project, session_id(10));
    let world = World::new();
    let faults = Arc::new(FaultPoints::new(Duration::from_mins(3)));
    let project = world.project.clone().with_faults(Arc::clone(&faults));
    let import = |n| project.import(&export, &arrival(session_id(n), &world.worktree()));
    faults.die_at(9);
    catch_unwind(AssertUnwindSafe(|| import(50))).expect_err("death");
    assert_eq!(names(&world, "staging").len(), 1);
    faults.live();
    import(80).expect("import");
    assert_eq!(names(&world, "staging"), Vec::<String>::new());
    assert_eq!(names(&world, "sessions").len(), FAMILY.len());
}

#[test]
fn what_is_being_made_is_no_left_over() {
    let world = World::new();
    rich(&world, session_id(1));
    let making = world.project.folder().join("staging").join("x");
    fs::create_dir_all(&making).expect("folder");
    let lock = fs::File::create(world.project.folder().join("staging.lock")).expect("lock");
    lock.lock_shared().expect("a worker's lock");
    assert_eq!(world.project.gc(&policy(false)).expect("gc").leftovers, 0);
    assert!(making.exists());
    drop(lock);
    assert_eq!(world.project.gc(&policy(false)).expect("gc").leftovers, 1);
    assert!(!making.exists());
}

#[test]
fn a_fork_that_dies_at_any_step_is_there_whole_or_not_at_all() {
    let (id, copy) = (session_id(1), session_id(2));
    let steps = dying_at_each_step(
        |world| rich(world, id),
        |_, project| {
            let fork = Fork {
                source: id,
                at: None,
                id: copy,
                now: 77,
                values: vec!["todo".to_owned()],
            };
            drop(project.fork(&fork).expect("fork"));
        },
        |world, died| {
            let found = listed(world);
            let forked = found.contains_key(&copy);
            assert!(died || forked);
            assert_eq!(found.len(), 1 + usize::from(forked));
            if forked {
                assert_eq!(found[&copy], found[&id]);
                let history = world.project.open_session_all(copy).expect("all");
                assert!(history.values.contains_key("todo"));
                let outputs = history.parts.iter().filter_map(|part| match &part.body {
                    PartBody::Tool(tool) => match &tool.state {
                        ToolState::Completed { truncated, .. } => truncated.clone(),
                        _ => None,
                    },
                    _ => None,
                });
                for output in outputs {
                    assert!(output.path.contains(&copy.to_string()), "{}", output.path);
                    assert!(fs::exists(&output.path).expect("looked"), "{}", output.path);
                }
            }
            assert_cleaned(world);
        },
    );
    assert!(steps >= 7, "{steps} steps");
}

#[test]
fn a_deletion_that_dies_at_any_step_is_finished_by_the_next_clean_up() {
    let steps = dying_at_each_step(
        make_family,
        |_, project| project.delete(session_id(10)).expect("delete"),
        |world, _| {
            let found = listed(world);
            assert!(found.is_empty(), "its name went first: {found:?}");
            assert_eq!(world.project.newest().expect("newest"), None);
            assert!(search(world, "prompt", false).is_empty());
            assert_cleaned(world);
            assert_eq!(names(world, "sessions"), Vec::<String>::new());
        },
    );
    assert!(steps >= 8, "{steps} steps");
}

#[test]
fn a_clean_up_that_dies_shows_nothing_half_and_is_finished_by_the_next() {
    dying_at_each_step(
        |world| {
            make_family(world);
            let sessions = world.project.folder().join("sessions");
            let id = session_id(10);
            fs::rename(world.folder(id), sessions.join(format!("deleted-{id}"))).expect("rename");
        },
        |_, project| drop(project.gc(&policy(false)).expect("gc")),
        |world, _| {
            assert!(listed(world).is_empty());
            assert_cleaned(world);
        },
    );
}

#[test]
fn a_subagents_session_that_somebody_looks_at_outlives_its_parent_with_those_below_it() {
    for killed in [false, true] {
        let world = World::new();
        make_family(&world);
        let looked_at = session_id(11);
        let open = world
            .project
            .open_session(looked_at, Heard::new())
            .expect("open");
        assert!(open.writable);
        if killed {
            let sessions = world.project.folder().join("sessions");
            let id = session_id(10);
            fs::rename(world.folder(id), sessions.join(format!("deleted-{id}"))).expect("rename");
            world.project.gc(&policy(false)).expect("gc");
        } else {
            world.project.delete(session_id(10)).expect("delete");
        }
        open.store.close_blocking();
        let left: Vec<SessionId> = listed(&world).into_keys().collect();
        assert_eq!(left, [session_id(11), session_id(12)], "killed: {killed}");
    }
}

#[test]
fn packing_that_dies_at_any_step_loses_nothing_and_says_what_is() {
    let id = session_id(1);
    let packing = |packed: bool| {
        dying_at_each_step(
            |world| {
                world.session(id, 40);
                if packed {
                    world.project.archive(id).expect("pack");
                }
            },
            |_, project| {
                if packed {
                    let opened = project.open_session(id, Heard::new()).expect("open");
                    opened.store.close_blocking();
                } else {
                    project.archive(id).expect("pack");
                }
            },
            |world, died| {
                let row = world.project.list().expect("list").remove(0);
                assert!(!row.damaged, "{row:?}");
                let is_packed = world.project.is_packed(id).expect("there");
                assert_eq!(row.archived, is_packed, "died: {died}");
                let all = world.project.open_session_all(id).expect("all");
                assert_eq!(assert_sound(&all), 40);
                world.project.archive(id).expect("packed again");
                let opened = world.project.open_session(id, Heard::new()).expect("open");
                assert_eq!(opened.notices, Vec::<String>::new());
                opened.store.commit(commit(id, 41));
                opened.store.close_blocking();
                let all = world.project.open_session_all(id).expect("all");
                assert_eq!(assert_sound(&all), 41);
            },
        )
    };
    assert!(packing(false) >= 4);
    assert!(packing(true) >= 3);
}

#[test]
fn a_name_that_was_given_when_the_program_died_is_the_same_everywhere() {
    let id = session_id(1);
    let steps = dying_at_each_step(
        |world| world.session(id, 16),
        |_, project| project.rename(id, "new").expect("rename"),
        |world, died| {
            let row = world.project.list().expect("list").remove(0);
            let history = world.project.open_session_all(id).expect("all");
            assert_eq!(row.info.title, history.info.title);
            assert!(died || row.info.title == "new");
            assert!(["", "new"].contains(&&*row.info.title));
        },
    );
    assert!(steps >= 2, "{steps} steps");
}

#[test]
fn a_session_that_dies_while_it_begins_is_not_there() {
    let id = session_id(1);
    dying_at_each_step(
        |_| (),
        |world, project| {
            let made = project.create(&info(id, &world.worktree()), Heard::new());
            made.expect("create").close_blocking();
        },
        |world, _| {
            assert_eq!(world.project.list().expect("list"), vec![]);
            assert_eq!(world.project.newest().expect("newest"), None);
            assert!(search(world, "prompt", false).is_empty());
            let error = world.project.fork(&Fork {
                source: session_id(7),
                at: None,
                id: session_id(8),
                now: 7,
                values: vec![],
            });
            assert!(matches!(error, Err(StoreError::NotFound(_))), "{error:?}");
        },
    );
}
