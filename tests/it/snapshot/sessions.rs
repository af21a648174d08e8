//! Two sessions in one worktree: what the one writes is never taken back by the other's undo, whatever runs
//! at the same time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use dunlin::protocol::SnapshotId;
use dunlin::snapshot::{FileWrite, Hints, Restored, Running, Snapshots, Step};
use proptest::prelude::*;

use super::world::{World, contents};

/// A session, as far as snapshots are concerned.
struct Session {
    name: char,
    snapshots: Snapshots,
    /// Steps so far.
    steps: u32,
    from: Option<SnapshotId>,
    command: Option<Running>,
    told: bool,
    /// What undo would take back, oldest first.
    writes: Vec<FileWrite>,
}

impl Session {
    fn open(world: &World, name: char) -> Self {
        let snapshots = world.open_at(&world.root());
        world
            .wait(snapshots.take(Hints::none()))
            .expect("a snapshot");
        Self {
            name,
            snapshots,
            steps: 0,
            from: None,
            command: None,
            told: true,
            writes: Vec::new(),
        }
    }

    fn step(&self) -> String {
        format!("{}-{}", self.name, self.steps)
    }

    /// A step begins: with a command, or with tools alone.
    fn begin(&mut self, world: &World, command: Option<&str>) {
        self.steps += 1;
        let taken = world.wait(self.snapshots.take(Hints::unknown())).unwrap();
        self.from = Some(taken.tree);
        self.told = command.is_none();
        self.command = command.map(|text| self.snapshots.command(&self.step(), text, false));
    }

    /// `edit` or `write`: told before it is done.
    fn put(&self, world: &World, path: &str, after: Option<&str>) {
        let at = world.path(path);
        let before = fs::read(&at).ok();
        let bits = fs::metadata(&at).map_or(0, |meta| meta.permissions().mode() & 0o777);
        let told = self.snapshots.about_to_write(
            &self.step(),
            &at,
            before.as_deref().map(|b| (b, bits)),
            after.map(str::as_bytes),
        );
        assert!(told.is_some());
        match after {
            Some(text) => world.write(path, text),
            None => fs::remove_file(at).unwrap(),
        }
    }

    fn ended(&mut self) {
        self.command = None;
    }

    /// The step ends; gives its writes.
    fn end(&mut self, world: &World, paths: &[&str]) -> Vec<FileWrite> {
        self.ended();
        let step = Step {
            name: self.step(),
            told: self.told,
            ..Step::default()
        };
        let hints = Hints {
            paths: paths.iter().map(|path| world.path(path)).collect(),
            unknown: !self.told,
            ..Hints::default()
        };
        let to = world.wait(self.snapshots.take(hints)).unwrap().tree;
        let from = self.from.take().expect("a step has begun");
        let writes = world
            .wait(self.snapshots.step_writes(&from, &to, &step))
            .unwrap();
        self.writes.extend(writes.iter().cloned());
        writes
    }

    fn undo(&mut self, world: &World) -> Restored {
        let writes = std::mem::take(&mut self.writes);
        world.wait(self.snapshots.restore(writes, false)).unwrap()
    }
}

fn world() -> World {
    let world = World::plain();
    let lines: Vec<String> = (0..40).map(|n| format!("line {n}\n")).collect();
    world.write("shared.txt", &lines.concat());
    world
}

/// Puts a line after line `n`.
fn with_line(text: &str, n: usize, new: &str) -> String {
    text.replacen(&format!("line {n}\n"), &format!("line {n}\n{new}\n"), 1)
}

/// Longer than the steps of file times.
fn tick() {
    std::thread::sleep(std::time::Duration::from_millis(25));
}

fn paths(writes: &[FileWrite]) -> Vec<(&str, bool)> {
    writes.iter().map(|w| (w.path.as_str(), w.unsure)).collect()
}

#[test]
fn what_another_sessions_tools_write_while_a_command_runs_is_not_the_commands() {
    let world = world();
    let (mut a, mut b) = (Session::open(&world, 'a'), Session::open(&world, 'b'));
    world.write("doomed.txt", "old\n");
    a.begin(
        &world,
        Some("sleep 3; echo A > fa.txt; echo A >> shared.txt"),
    );
    b.begin(&world, None);
    b.put(&world, "fb.txt", Some("B\n"));
    b.put(&world, "doomed.txt", None);
    let text = world.read("shared.txt").unwrap();
    b.put(
        &world,
        "shared.txt",
        Some(&with_line(&text, 2, "B was here")),
    );
    b.end(&world, &["fb.txt", "doomed.txt", "shared.txt"]);
    world.write("fa.txt", "A\n");
    let text = world.read("shared.txt").unwrap();
    world.write("shared.txt", &(text + "A\n"));
    let writes = a.end(&world, &[]);
    assert_eq!(paths(&writes), [("fa.txt", false), ("shared.txt", false)]);
    a.undo(&world);
    assert_eq!(world.read("fa.txt"), None);
    assert_eq!(world.read("fb.txt").as_deref(), Some("B\n"));
    assert_eq!(
        world.read("doomed.txt"),
        None,
        "it does not come back either"
    );
    let text = world.read("shared.txt").unwrap();
    assert!(
        text.contains("B was here") && !text.contains("A\n"),
        "{text}"
    );
    b.undo(&world);
    assert_eq!(world.read("fb.txt"), None);
    assert_eq!(world.read("doomed.txt").as_deref(), Some("old\n"));
    assert!(!world.read("shared.txt").unwrap().contains("B was here"));
}

#[test]
fn a_step_of_tools_takes_its_writes_from_them_and_not_from_the_disk() {
    let world = world();
    let (mut a, mut b) = (Session::open(&world, 'a'), Session::open(&world, 'b'));
    a.begin(&world, None);
    let text = world.read("shared.txt").unwrap();
    a.put(&world, "shared.txt", Some(&with_line(&text, 5, "from a")));
    b.begin(&world, None);
    let text = world.read("shared.txt").unwrap();
    b.put(&world, "shared.txt", Some(&with_line(&text, 30, "from b")));
    // the user, too
    let text = world.read("shared.txt").unwrap();
    world.write("shared.txt", &with_line(&text, 20, "from the user"));
    world.write("mine.txt", "the user's\n");
    a.end(&world, &["shared.txt"]);
    b.end(&world, &["shared.txt"]);
    a.undo(&world);
    let text = world.read("shared.txt").unwrap();
    assert!(
        !text.contains("from a") && text.contains("from b"),
        "{text}"
    );
    b.undo(&world);
    let text = world.read("shared.txt").unwrap();
    assert!(
        !text.contains("from b") && text.contains("from the user"),
        "{text}"
    );
    assert_eq!(world.read("mine.txt").as_deref(), Some("the user's\n"));
}

#[test]
fn what_changed_before_a_command_began_is_not_its_write() {
    let world = world();
    let mut a = Session::open(&world, 'a');
    a.begin(&world, None);
    // permission was asked for, and the user went on working
    world.write("mine.txt", "the user's\n");
    world.sh("mkdir folder; echo x > folder/f; sed -i 's/line 3$/mine 3/' shared.txt");
    tick();
    a.told = false;
    a.command = Some(a.snapshots.command(&a.step(), "make", false));
    world.write("made.txt", "made\n");
    world.sh("mkdir out; mv folder/f out/f");
    let writes = a.end(&world, &[]);
    assert_eq!(paths(&writes), [("made.txt", false), ("out/f", false)]);
}

#[test]
fn a_folder_that_a_command_moved_is_its_write_however_old_its_files_are() {
    let world = world();
    world.sh("mkdir -p dir/sub; echo 1 > dir/c; echo 2 > dir/sub/d");
    let mut a = Session::open(&world, 'a');
    tick();
    a.begin(&world, Some("mv dir other"));
    world.sh("mv dir other");
    let writes = a.end(&world, &[]);
    let moved = ["dir/c", "dir/sub/d", "other/c", "other/sub/d"];
    assert_eq!(paths(&writes), moved.map(|path| (path, false)));
    a.undo(&world);
    assert_eq!(world.read("dir/sub/d").as_deref(), Some("2\n"));
    assert!(!world.path("other").exists());
}

#[test]
fn a_folder_that_became_a_link_comes_back_whole() {
    let world = world();
    world.sh("mkdir -p dir/sub; echo 1 > dir/c; echo 2 > dir/sub/d");
    let before = contents(&world.root());
    let mut a = Session::open(&world, 'a');
    tick();
    a.begin(&world, Some("mv dir other; ln -s other dir"));
    world.sh("mv dir other; ln -s other dir");
    a.end(&world, &[]);
    a.undo(&world);
    assert_eq!(contents(&world.root()), before);
}

/// Two commands at the same time; the second ends first.
fn two_commands(first: (&str, &str), second: (&str, &str)) -> [Vec<FileWrite>; 2] {
    let world = world();
    let (mut a, mut b) = (Session::open(&world, 'a'), Session::open(&world, 'b'));
    a.begin(&world, Some(first.0));
    b.begin(&world, Some(second.0));
    tick();
    world.sh(first.1);
    world.sh(second.1);
    tick();
    let theirs = b.end(&world, &[]);
    tick();
    let ours = a.end(&world, &[]);
    [ours, theirs]
}

#[test]
fn of_two_commands_that_run_together_each_has_the_files_that_it_names() {
    let (a, b) = (
        "echo a > fa.txt",
        "for i in 1 2; do echo b > fb$i.txt; done",
    );
    let [ours, theirs] = two_commands((a, a), (b, b));
    assert_eq!(paths(&ours), [("fa.txt", false)]);
    assert_eq!(paths(&theirs), [("fb1.txt", false), ("fb2.txt", false)]);
}

#[test]
fn what_neither_of_two_commands_names_is_nobodys_and_told_as_a_conflict() {
    let [ours, theirs] = two_commands(("make a", "echo a > fa.txt"), ("make b", ":"));
    assert_eq!(paths(&ours), [("fa.txt", true)]);
    assert_eq!(paths(&theirs), [("fa.txt", true)]);
    assert!(ours[0].disputed && theirs[0].disputed);
    // both name it, and both wrote
    let (a, b) = ("echo a >> shared.txt", "echo b >> shared.txt");
    let [ours, theirs] = two_commands((a, a), (b, b));
    assert_eq!(paths(&ours), [("shared.txt", true)]);
    assert_eq!(paths(&theirs), [("shared.txt", true)]);
}

#[test]
fn a_command_that_ends_within_anothers_time_keeps_what_it_did() {
    let world = world();
    let (mut a, mut b) = (Session::open(&world, 'a'), Session::open(&world, 'b'));
    a.begin(&world, Some("sleep 3; echo A >> shared.txt"));
    b.begin(&world, Some("make b"));
    world.write("made-by-b.txt", "b\n");
    tick();
    let disputed = b.end(&world, &[]);
    assert_eq!(paths(&disputed), [("made-by-b.txt", true)]);
    tick();
    world.sh("echo A >> shared.txt; echo more > gen.txt");
    let ours = a.end(&world, &[]);
    let right = [
        ("gen.txt", false),
        ("made-by-b.txt", true),
        ("shared.txt", false),
    ];
    assert_eq!(paths(&ours), right);
    let undone = a.undo(&world);
    let left = undone
        .files
        .iter()
        .find(|f| f.path == "made-by-b.txt")
        .unwrap();
    assert!(
        left.conflict && left.action.contains("another session"),
        "{left:?}"
    );
    assert_eq!(world.read("made-by-b.txt").as_deref(), Some("b\n"));
    assert_eq!(world.read("gen.txt"), None);
}

#[test]
fn an_undo_in_another_session_is_not_the_commands_work() {
    let world = world();
    let (mut a, mut b) = (Session::open(&world, 'a'), Session::open(&world, 'b'));
    b.begin(&world, None);
    b.put(&world, "fb.txt", Some("B\n"));
    b.end(&world, &["fb.txt"]);
    a.begin(&world, Some("make"));
    b.undo(&world);
    world.write("made.txt", "made\n");
    let writes = a.end(&world, &[]);
    assert_eq!(paths(&writes), [("made.txt", false)]);
}

#[test]
fn eight_sessions_take_back_exactly_their_own() {
    let world = world();
    let mut all: Vec<Session> = ('0'..'8').map(|name| Session::open(&world, name)).collect();
    for (n, session) in all.iter_mut().enumerate() {
        session.begin(
            &world,
            Some(&format!("for i in 1 2 3; do echo s{n} > s{n}-$i.txt; done")),
        );
    }
    tick();
    for round in 1..4 {
        for n in 0..8 {
            world.write(&format!("s{n}-{round}.txt"), &format!("s{n}\n"));
        }
    }
    tick();
    for session in &mut all {
        session.end(&world, &[]);
    }
    for n in [3, 0, 7, 5, 1, 6, 2, 4] {
        let undone = all[n].undo(&world);
        let mut told: Vec<String> = undone.files.iter().map(|f| f.path.clone()).collect();
        told.sort();
        let own: Vec<String> = (1..4).map(|i| format!("s{n}-{i}.txt")).collect();
        assert_eq!(told, own);
        assert!(undone.files.iter().all(|f| f.action == "removed"));
    }
    assert_eq!(fs::read_dir(world.root()).unwrap().count(), 1);
}

/// What a session does next in the play below.
#[derive(Debug, Clone, Copy)]
enum Move {
    /// A tool puts a line of its own after this line.
    Edit(usize),
    /// A tool makes a file of its own.
    Make(u8),
    /// The step ends, and another begins: with a command, or without.
    Turn(bool),
    /// Its command puts a line of its own after this line, if one runs.
    Run(usize),
}

fn moves() -> impl Strategy<Value = Vec<(bool, Move)>> {
    let one = prop_oneof![
        4 => (0_usize..40).prop_map(Move::Edit),
        2 => (0_u8..4).prop_map(Move::Make),
        2 => any::<bool>().prop_map(Move::Turn),
        3 => (0_usize..40).prop_map(Move::Run),
    ];
    proptest::collection::vec((any::<bool>(), one), 1..14)
}

/// Plays moves of two sessions. Commands of one session only, so that no dispute arises: what is the
/// other's is then known to the line. Gives what each wrote, and its own files.
fn play(moves: &[(bool, Move)]) -> Result<(), TestCaseError> {
    let world = world();
    let mut sessions = ['a', 'b'].map(|name| Session::open(&world, name));
    for session in &mut sessions {
        session.begin(&world, None);
    }
    let mut lines: [Vec<String>; 2] = Default::default();
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    let all = [
        "shared.txt",
        "s0-0",
        "s0-1",
        "s0-2",
        "s0-3",
        "s1-0",
        "s1-1",
        "s1-2",
        "s1-3",
    ];
    for (number, (second, step)) in moves.iter().enumerate() {
        let at = usize::from(*second);
        let line = format!("s{at} move {number}");
        let text = world.read("shared.txt").unwrap();
        match step {
            Move::Edit(n) => {
                sessions[at].put(&world, "shared.txt", Some(&with_line(&text, *n, &line)));
                lines[at].push(line);
            }
            Move::Make(n) => {
                let name = format!("s{at}-{n}");
                sessions[at].put(&world, &name, Some(&format!("{number}\n")));
                files.insert(name, at);
            }
            Move::Turn(command) => {
                sessions[at].end(&world, &all);
                let command = (*command && at == 0).then_some("make");
                sessions[at].begin(&world, command);
            }
            Move::Run(n) if sessions[at].command.is_some() => {
                world.write("shared.txt", &with_line(&text, *n, &line));
                lines[at].push(line);
            }
            Move::Run(_) => {}
        }
    }
    for session in &mut sessions {
        session.end(&world, &all);
    }
    let before = world.read("shared.txt").unwrap();
    let undone = sessions[0].undo(&world);
    let conflict = |path: &str| undone.files.iter().any(|f| f.path == path && f.conflict);
    let text = world.read("shared.txt").unwrap();
    for line in &lines[1] {
        prop_assert!(
            text.contains(&format!("{line}\n")),
            "{line} of the other is lost: {text}"
        );
    }
    if conflict("shared.txt") {
        prop_assert_eq!(&text, &before);
    } else {
        for line in &lines[0] {
            prop_assert!(
                !text.contains(&format!("{line}\n")),
                "{line} is left: {undone:?} {text}"
            );
        }
    }
    for (name, owner) in &files {
        let there = world.path(name).exists();
        prop_assert_eq!(there, *owner == 1 || conflict(name), "{}", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_the_others_is_ever_lost(moves in moves()) {
        play(&moves)?;
    }
}
