//! Undo brings back exactly what was there, and never what somebody else wrote.

use std::fs;

use dunlin::protocol::FileStatus::{Added, Deleted, Modified, TypeChanged};
use dunlin::snapshot::{FileWrite, Hints, Restored};

use super::world::{World, contents};

fn opened() -> World {
    let mut world = World::git();
    world.open();
    world.take(Hints::none());
    world
}

/// Path and action of every file, conflicts marked.
fn told(restored: &Restored) -> Vec<String> {
    let line = |f: &dunlin::protocol::event::UndoFile| {
        let mark = if f.conflict { "! " } else { "" };
        format!("{mark}{}: {}", f.path, f.action)
    };
    restored.files.iter().map(line).collect()
}

#[test]
fn everything_a_command_did_is_taken_back_and_brought_back() {
    let world = opened();
    world.sh("echo 1 > doomed; mkdir -p d/e; echo 2 > d/e/f; ln -s doomed l; echo 3 > swap; mkdir was; echo 4 > was/in
         mkdir -p dir/in; echo 8 > dir/in/x; ln -s d link");
    let before = contents(&world.root());
    let writes = world.tool(
        "sed -i s/hello/bye/ src/main.rs; chmod +x README.md; rm doomed; mv d moved; ln -sf swap l
         rm swap; mkdir swap; echo 5 > swap/f; rm -rf was; echo 6 > was; rm -rf dir; ln -s new dir; rm link; mkdir link; echo 9 > link/y
         mkdir -p new/a/b; echo 7 > new/a/b/c; printf 'no end' > bare; : > empty",
    );
    let after = contents(&world.root());
    let preview = world.restore(&writes, true);
    assert_eq!(contents(&world.root()), after, "a dry run touches nothing");
    let undone = world.restore(&writes, false);
    assert_eq!(undone.files, preview.files);
    assert_eq!(contents(&world.root()), before, "{:#?}", told(&undone));
    assert!(undone.files.iter().all(|f| !f.conflict));
    assert!(undone.safety.is_some());
    let redone = world.restore(&undone.undone, false);
    assert_eq!(contents(&world.root()), after, "{:#?}", told(&redone));
    world.restore(&redone.undone, false);
    assert_eq!(contents(&world.root()), before);
}

#[test]
fn a_file_that_the_user_changed_elsewhere_is_merged() {
    let world = opened();
    let lines: Vec<String> = (0..30).map(|n| format!("line {n}")).collect();
    world.write("text", &(lines.join("\n") + "\n"));
    let writes = world.tool("sed -i 's/^line 3$/agent 3/' text");
    world.sh("sed -i 's/^line 25$/user 25/' text");
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone), ["text: merged"]);
    let now = world.read("text").unwrap();
    assert!(
        now.contains("line 3\n") && now.contains("user 25\n"),
        "{now}"
    );
    world.restore(&undone.undone, false);
    let now = world.read("text").unwrap();
    assert!(
        now.contains("agent 3\n") && now.contains("user 25\n"),
        "{now}"
    );
}

#[test]
fn a_file_that_the_user_changed_in_the_same_lines_is_a_conflict_and_stays() {
    let world = opened();
    let writes = world.tool("echo agent > README.md; echo agent > other");
    world.write("README.md", "user\n");
    let undone = world.restore(&writes, false);
    assert_eq!(
        told(&undone),
        [
            "! README.md: changed since in the same lines",
            "other: removed"
        ]
    );
    assert_eq!(world.read("README.md").as_deref(), Some("user\n"));
    assert_eq!(world.read("other"), None);
    assert_eq!(undone.undone.len(), 1);
}

#[test]
fn what_the_user_made_deleted_or_made_again_stays() {
    let world = opened();
    world.sh("echo 1 > gone; echo 2 > again; printf 'a\\0b' > binary");
    let writes = world
        .tool("echo 3 >> src/main.rs; rm gone again; echo 4 > created; printf 'c\\0d' > binary");
    world.sh("rm src/main.rs; echo user > again; echo user >> created; printf 'e\\0f' > binary");
    world.sh("echo mine > mine");
    let before = contents(&world.root());
    let undone = world.restore(&writes, false);
    assert_eq!(
        told(&undone),
        [
            "! again: created again since",
            "! binary: changed since, and not a text",
            "! created: created by the agent and changed since",
            "gone: restored",
            "! src/main.rs: deleted since",
        ]
    );
    assert_eq!(world.read("gone").as_deref(), Some("1\n"));
    fs::remove_file(world.path("gone")).unwrap();
    assert_eq!(contents(&world.root()), before);
}

#[test]
fn what_is_already_as_it_was_is_left_alone() {
    let world = opened();
    let writes = world.tool("echo agent > README.md; echo 1 > new");
    world.sh("git checkout -q README.md; rm new");
    let undone = world.restore(&writes, false);
    assert_eq!(
        told(&undone),
        ["README.md: already there", "new: already there"]
    );
    assert_eq!(undone.safety, None);
    assert_eq!(undone.undone.len(), 2, "a redo would bring it back");
}

#[test]
fn the_bits_and_the_content_are_taken_back_each_for_itself() {
    let world = opened();
    let writes = world.tool("chmod +x README.md; echo agent >> src/main.rs");
    world.sh("echo user >> README.md; chmod +x src/main.rs");
    let undone = world.restore(&writes, false);
    assert!(
        undone.files.iter().all(|f| !f.conflict),
        "{:?}",
        told(&undone)
    );
    assert!(world.read("README.md").unwrap().ends_with("user\n"));
    assert!(!world.read("src/main.rs").unwrap().contains("agent"));
    world.sh("test ! -x README.md; test -x src/main.rs");
}

#[test]
fn permissions_beyond_the_executable_bits_stay() {
    let world = opened();
    world.mode("README.md", 0o600);
    world.mode("src/main.rs", 0o664);
    let writes = world.tool("echo x >> README.md; echo x >> src/main.rs; chmod +x src/main.rs");
    world.restore(&writes, false);
    world.sh("test $(stat -c %a README.md) = 600; test $(stat -c %a src/main.rs) = 664");
}

/// Permission bits of a file.
fn bits(world: &World, path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    let facts = fs::metadata(world.path(path)).unwrap();
    facts.permissions().mode() & 0o7777
}

#[test]
fn what_is_made_anew_has_its_own_permissions_never_wider_ones() {
    for watched in [true, false] {
        let mut world = World::git();
        if !watched {
            world = world.unwatched();
        }
        world.write("key", "secret\n");
        world.write("team/notes", "for us\n");
        world.write("tool", "#!/bin/sh\n");
        let modes = [("key", 0o600), ("team/notes", 0o640), ("tool", 0o700)];
        for (path, mode) in modes {
            world.mode(path, mode);
        }
        world.open();
        world.take(Hints::none());
        let writes = world.tool("rm key tool; rm -r team; umask 077; echo new > fresh");
        let undone = world.restore(&writes, false);
        assert!(
            undone.files.iter().all(|f| !f.conflict),
            "{:?}",
            told(&undone)
        );
        for (path, mode) in modes {
            assert_eq!(bits(&world, path), mode, "{path}, watched: {watched}");
        }
        // there and back again, from what was recorded
        let stored = serde_json::to_string(&undone.undone).unwrap();
        let stored: Vec<FileWrite> = serde_json::from_str(&stored).unwrap();
        let redone = world.restore(&stored, false);
        assert!(!world.path("key").exists());
        assert_eq!(bits(&world, "fresh"), 0o600, "watched: {watched}");
        world.restore(&redone.undone, false);
        for (path, mode) in modes {
            assert_eq!(bits(&world, path), mode, "{path}, again");
        }
        // another branch is gone to with the writes turned round
        let forward: Vec<FileWrite> = writes.into_iter().map(FileWrite::inverse).collect();
        world.restore(&forward, false);
        assert_eq!(bits(&world, "fresh"), 0o600, "forward");
    }
}

#[test]
fn a_write_of_an_earlier_version_without_permissions_is_still_taken_back() {
    let world = opened();
    let writes = world.tool("rm README.md");
    let mut old = serde_json::to_value(&writes).unwrap();
    assert!(
        old[0]["before"]
            .as_object_mut()
            .unwrap()
            .remove("bits")
            .is_some()
    );
    let old: Vec<FileWrite> = serde_json::from_value(old).unwrap();
    world.restore(&old, false);
    assert_eq!(world.read("README.md").as_deref(), Some("# a project\n"));
}

#[test]
fn several_steps_are_taken_back_together_and_one_by_one() {
    let world = opened();
    let before = contents(&world.root());
    let steps = [
        world.tool("echo 1 > a; echo 1 >> src/main.rs"),
        world.tool("echo 2 > a; rm README.md; mkdir m; echo 2 > m/n"),
        world.tool("rm a; echo 3 > README.md; echo 3 >> src/main.rs; mv m o"),
    ];
    let all: Vec<FileWrite> = steps.concat();
    let undone = world.restore(&all, false);
    assert_eq!(contents(&world.root()), before, "{:#?}", told(&undone));
    world.restore(&undone.undone, false);
    for step in steps.iter().rev() {
        world.restore(step, false);
    }
    assert_eq!(contents(&world.root()), before);
}

#[test]
fn two_sessions_do_not_undo_each_other() {
    let mut world = opened();
    let lines: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
    world.write("shared", &(lines.join("\n") + "\n"));
    let mut first = world.tool("sed -i 's/^line 2$/first 2/' shared; echo first > one");
    // another process on the same project and store
    let other = world.open_at(&world.root());
    let take = |hints| world.wait(other.take(hints)).unwrap().tree;
    let from = take(Hints::none());
    world.sh("sed -i 's/^line 20$/second 20/' shared; echo second > two");
    let to = take(Hints::unknown());
    let second = world.wait(other.writes(&from, &to)).unwrap();
    first.extend(world.tool("sed -i 's/^line 37$/first 37/' shared; echo again > one"));
    // the first session's two writes of `shared` have the second session's between them
    let undone = world.restore(&first, false);
    assert_eq!(told(&undone), ["one: removed", "shared: merged"]);
    let text = world.read("shared").unwrap();
    assert!(
        text.contains("second 20") && !text.contains("first"),
        "{text}"
    );
    assert_eq!(world.read("two").as_deref(), Some("second\n"));
    let undone = world.wait(other.restore(second, false)).unwrap();
    assert!(
        undone.files.iter().all(|f| !f.conflict),
        "{:?}",
        told(&undone)
    );
    assert_eq!(world.read("shared").unwrap(), lines.join("\n") + "\n");
    assert_eq!(world.read("two"), None);
    world.open();
}

#[test]
fn a_link_in_the_place_of_a_folder_is_never_followed() {
    let world = opened();
    let outside = world.temp().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("lib.rs"), "precious").unwrap();
    let writes = world.tool("echo x >> src/deep/er/lib.rs; mkdir n; echo 1 > n/f");
    world.sh("mv src/deep/er ../kept; ln -s ../../../outside src/deep/er; rm -rf n; ln -s ../outside n; echo 1 > ../outside/f");
    let undone = world.restore(&writes, false);
    assert_eq!(
        told(&undone),
        [
            "! n/f: its folder is a link now",
            "! src/deep/er/lib.rs: its folder is a link now"
        ]
    );
    assert_eq!(
        fs::read_to_string(outside.join("lib.rs")).unwrap(),
        "precious"
    );
    assert!(outside.join("f").exists());
}

#[test]
fn paths_that_lead_out_are_refused() {
    let world = opened();
    let writes = world.tool("echo 1 > victim");
    for path in [
        "../home/victim",
        "/etc/hostname",
        ".git/config",
        "a/../../x",
        "\"broken",
    ] {
        let bad = FileWrite {
            path: path.to_owned(),
            ..writes[0].clone()
        };
        let undone = world.restore(&[bad], false);
        assert!(undone.files[0].conflict, "{path}");
    }
    assert!(world.read(".git/config").is_some());
    assert_eq!(world.read("victim").as_deref(), Some("1\n"));
}

#[test]
fn a_folder_that_holds_more_than_the_undo_knows_is_not_removed() {
    let world = opened();
    world.write("thing", "file\n");
    let writes = world.tool("rm thing; mkdir thing; echo 1 > thing/agent");
    world.write("thing/user", "mine\n");
    let undone = world.restore(&writes, false);
    assert_eq!(
        told(&undone),
        [
            "! thing: a folder with other files is in its place",
            "thing/agent: removed"
        ]
    );
    assert_eq!(world.read("thing/user").as_deref(), Some("mine\n"));
}

#[test]
fn a_file_comes_back_where_only_empty_folders_are() {
    let world = opened();
    let writes = world.tool("rm README.md; mkdir -p README.md/a/b README.md/c");
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone), ["README.md: restored"]);
    assert_eq!(world.read("README.md").as_deref(), Some("# a project\n"));
}

#[test]
fn a_file_that_a_rule_only_brought_into_view_is_not_removed() {
    let world = opened();
    world.write("secret.log", "key\n");
    world.write("target/x", "built\n");
    world.after_command();
    // a file as young as the last snapshot is left alone too, so the new one must be younger
    let writes = world.tool(
        "printf '*.tmp\\n' > .gitignore; touch ../mark
         until echo 1 > new.log && test new.log -nt ../mark; do rm new.log; done",
    );
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone), [".gitignore: restored", "new.log: removed"]);
    assert_eq!(world.read("secret.log").as_deref(), Some("key\n"));
    assert_eq!(world.read("target/x").as_deref(), Some("built\n"));
    // written after it came into view: it was there before all the same
    let writes = world.tool("echo > .gitignore; echo more >> secret.log; echo more >> target/x");
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone), [".gitignore: restored"]);
    assert_eq!(world.read("secret.log").as_deref(), Some("key\nmore\n"));
    let writes = world.tool("echo 'README.md' >> .gitignore; echo 'src/' >> .gitignore; echo '*.cfg' >> .gitignore; echo 1 > x.cfg");
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone), [".gitignore: restored"]);
}

#[test]
fn a_file_too_large_for_snapshots_is_never_removed() {
    let mut world = World::git();
    world.settings.max_file = 1000;
    world.open();
    world.take(Hints::none());
    world.write("large", &"x".repeat(2000));
    let taken = world.after_command();
    assert!(taken.notices[0].contains("large"), "{:?}", taken.notices);
    let writes = world.tool("echo small > large");
    assert_eq!(
        writes,
        [],
        "what it was is not known, so nothing can be taken back"
    );
    let writes = world.tool("yes | head -c 2000 > large");
    let undone = world.restore(&writes, false);
    let left = "! large: in no snapshot since (ignored, too large, or in a repository of its own)";
    assert_eq!(told(&undone), [left]);
    assert_eq!(world.read("large").unwrap().len(), 2000);
}

#[test]
fn an_undo_survives_the_users_own_garbage_collection() {
    let mut world = opened();
    let before = contents(&world.root());
    let from = world.after_command().tree;
    world.sh("echo agent > README.md; rm -rf src");
    let to = world.after_command().tree;
    let writes = world.writes(&from, &to);
    // old contents are copied after the answer; one more job comes after that began
    let pinned = |world: &World| {
        let object = |id: &str| {
            let (dir, name) = id.split_at(2);
            world.store().join("objects").join(dir).join(name)
        };
        let blobs = writes.iter().filter_map(|w| w.before.as_ref());
        blobs
            .map(|b| &b.blob)
            .chain([&from.0])
            .all(|id| object(id).exists())
    };
    while !pinned(&world) {
        world.take(Hints::none());
    }
    fs::remove_dir_all(world.path(".git")).unwrap();
    world.open();
    world.take(Hints::none());
    let undone = world.restore(&writes, false);
    let mut now = contents(&world.root());
    let mut before = before;
    now.retain(|(path, _, _)| !path.starts_with(world.path(".git")));
    before.retain(|(path, _, _)| !path.starts_with(world.path(".git")));
    assert_eq!(now, before, "{:#?}", told(&undone));
}

#[test]
fn diffs_and_counts_tell_the_same_story() {
    let mut world = World::git();
    let snapshots = world.open();
    let from = world.take(Hints::none()).tree;
    world.sh("sed -i s/hello/bye/ src/main.rs; printf 'a\\nb\\nc' > new; rm README.md; printf 'x\\0y' > bin; chmod +x src/deep/er/lib.rs");
    let to = world.after_command().tree;
    let counts = world.wait(snapshots.counts(&from, &to)).unwrap();
    let diff = world.wait(snapshots.diff(&from, &to, 3)).unwrap();
    let counted: Vec<_> = counts
        .iter()
        .map(|c| (c.path.as_str(), c.added, c.removed, c.status))
        .collect();
    let shown: Vec<_> = diff
        .iter()
        .map(|d| (d.path.as_str(), d.added, d.removed, d.status))
        .collect();
    assert_eq!(counted, shown);
    assert_eq!(
        counted,
        [
            ("README.md", 0, 1, Deleted),
            ("bin", 0, 0, Added),
            ("new", 3, 0, Added),
            ("src/deep/er/lib.rs", 0, 0, TypeChanged),
            ("src/main.rs", 1, 1, Modified),
        ]
    );
    assert!(diff[1].binary && diff[1].hunks.is_empty());
    let lines: Vec<_> = diff[4].hunks[0]
        .lines
        .iter()
        .map(|l| (l.old, l.new, l.text.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (Some(1), Some(1), "fn main() {"),
            (Some(2), None, "    println!(\"hello\");"),
            (None, Some(2), "    println!(\"bye\");"),
            (Some(3), Some(3), "}"),
        ]
    );
}

#[test]
fn one_hunk_of_a_change_is_taken_back_and_the_rest_stays() {
    let mut world = World::git();
    let snapshots = world.open();
    world.sh("seq 1 40 > numbers");
    let from = world.take(Hints::unknown()).tree;
    world.sh("sed -i -e 's/^3$/three/' -e 's/^30$/thirty/' numbers; printf 'x\ny\n' > new");
    let to = world.after_command().tree;
    let diff = world.wait(snapshots.diff(&from, &to, 3)).unwrap();
    let numbers = diff.iter().find(|file| file.path == "numbers").unwrap();
    assert_eq!((numbers.hunks.len(), numbers.lines), (2, 40));
    let whole = world
        .wait(snapshots.file_diff(&from, &to, ("numbers", 1 << 24)))
        .unwrap()
        .unwrap();
    assert_eq!((whole.hunks.len(), whole.hunks[0].lines.len()), (1, 42));
    let place = ("numbers", &numbers.hunks[1]);
    let write = world
        .wait(snapshots.hunk(&from, &to, place))
        .unwrap()
        .unwrap();
    let undone = world.restore(&[write], false);
    let now = world.read("numbers").unwrap();
    assert!(now.contains("three") && !now.contains("thirty"), "{now}");
    world.restore(&undone.undone, false);
    assert!(world.read("numbers").unwrap().contains("thirty"));
    let new = diff.iter().find(|file| file.path == "new").unwrap();
    let place = ("new", &new.hunks[0]);
    let write = world
        .wait(snapshots.hunk(&from, &to, place))
        .unwrap()
        .unwrap();
    world.restore(&[write], false);
    assert_eq!(
        world.read("new"),
        None,
        "a new file's only hunk is the file"
    );
}

#[test]
fn the_last_commit_is_found_in_all_its_forms() {
    let mut world = World::git();
    world.sh("echo one > committed");
    world.commit();
    let snapshots = world.open();
    world.sh("echo two > committed");
    let now = world.take(Hints::unknown()).tree;
    let changed = |world: &World, snapshots: &dunlin::snapshot::Snapshots| -> Vec<String> {
        let head = world.wait(snapshots.head()).unwrap().expect("a commit");
        let diff = world.wait(snapshots.diff(&head, &now, 3)).unwrap();
        diff.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(changed(&world, &snapshots), ["committed"]);
    world.sh("git pack-refs --all");
    assert_eq!(changed(&world, &snapshots), ["committed"]);
    world.sh("git checkout -q --detach");
    assert_eq!(changed(&world, &snapshots), ["committed"]);
    world.sh("rm .git/refs/heads/* -f; git symbolic-ref HEAD refs/heads/unborn");
    assert_eq!(world.wait(snapshots.head()).unwrap(), None);
}

#[test]
fn a_filter_that_keeps_the_length_does_not_put_the_stored_form_into_the_file() {
    let mut world = World::git();
    world.sh("git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'");
    world.write(".gitattributes", "*.u filter=up\n");
    world.write("x.u", "hello\n");
    world.commit();
    // long ago, so that nothing but the filter makes the index doubtful
    world.sh(
        "touch -d '1 hour ago' x.u; git update-index -q --refresh; git status --short >/dev/null",
    );
    world.open();
    world.take(Hints::none());
    let writes = world.tool("echo more >> x.u");
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone).len(), 1);
    assert_eq!(world.read("x.u").as_deref(), Some("hello\n"));
}

/// Nanoseconds since the epoch.
fn clock() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_nanos()).unwrap()
}

/// Writes a file until its time is after this moment: the system's clock for files has steps of milliseconds.
fn write_after(world: &World, moment: i64, path: &str, text: &str) {
    use std::os::unix::fs::MetadataExt as _;
    loop {
        world.write(path, text);
        let facts = fs::metadata(world.path(path)).unwrap();
        if facts.ctime() * 1_000_000_000 + facts.ctime_nsec() > moment {
            return;
        }
    }
}

#[test]
fn what_was_written_after_the_tool_had_ended_is_left_alone_and_listed() {
    for mut world in [World::git(), World::git().unwatched(), World::plain()] {
        world.open();
        world.write("shared", "1\n");
        world.write("theirs", "1\n");
        let from = world.after_command().tree;
        world.sh("echo agent >> shared; echo agent > own; echo agent > README.md");
        let ended = clock();
        write_after(&world, ended, "shared", "user\n1\nagent\n");
        write_after(&world, ended, "theirs", "user\n");
        write_after(&world, ended, "new", "user\n");
        // however late it is looked at
        let to = world.after_command().tree;
        write_after(&world, ended, "later", "user\n");
        world.after_command();
        let snapshots = world.handle();
        let writes = world.wait(snapshots.writes_until(&from, &to, Some(ended)));
        let writes = writes.unwrap();
        let undone = world.restore(&writes, false);
        let left = "changed right after the tool had ended";
        assert!(
            told(&undone).contains(&"own: removed".to_owned()),
            "{:?}",
            told(&undone)
        );
        for path in ["shared", "theirs", "new"] {
            let line = format!("! {path}: {left}");
            assert!(told(&undone).contains(&line), "{:?}", told(&undone));
        }
        assert_eq!(world.read("shared").as_deref(), Some("user\n1\nagent\n"));
        assert_eq!(world.read("theirs").as_deref(), Some("user\n"));
        assert_eq!(world.read("new").as_deref(), Some("user\n"));
        assert_eq!(world.read("own"), None);
    }
}

#[test]
fn a_write_of_which_is_not_known_what_it_left_does_not_hinder_the_undo_of_a_later_one() {
    let world = opened();
    world.write("f", "1\n");
    let from = world.after_command().tree;
    let ended = clock();
    write_after(&world, ended, "f", "2\n");
    let to = world.after_command().tree;
    let mut writes = world
        .wait(world.handle().writes_until(&from, &to, Some(ended)))
        .unwrap();
    writes.extend(world.tool("echo 3 >> f; echo 3 > g"));
    let undone = world.restore(&writes, false);
    assert_eq!(told(&undone), ["f: restored", "g: removed"]);
    assert_eq!(world.read("f").as_deref(), Some("2\n"));
    let stored = serde_json::to_string(&writes).unwrap();
    let read: Vec<FileWrite> = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, writes);
}

#[test]
fn a_redo_brings_back_what_another_undo_had_taken_before() {
    let world = opened();
    let writes = world.tool("echo one > new; sed -i s/hello/bye/ src/main.rs; rm README.md");
    let after = contents(&world.root());
    // a copy of the session took it back already
    world.restore(&writes, false);
    let second = world.restore(&writes, false);
    assert!(second.files.iter().all(|f| f.action == "already there"));
    let redone = world.restore(&second.undone, false);
    assert_eq!(contents(&world.root()), after, "{:#?}", told(&redone));
    // and what the user made of it since stays
    world.restore(&writes, false);
    let second = world.restore(&writes, false);
    world.write("new", "mine\n");
    let redone = world.restore(&second.undone, false);
    assert!(redone.files.iter().any(|f| f.path == "new" && f.conflict));
    assert_eq!(world.read("new").as_deref(), Some("mine\n"));
}

#[test]
fn a_file_without_any_permission_comes_back_as_that() {
    let world = opened();
    let writes = world.tool("echo z > closed; chmod 000 closed");
    if writes.is_empty() {
        return; // only root can read it, so nobody else's snapshot holds it
    }
    let undone = world.restore(&writes, false);
    assert!(!world.path("closed").exists());
    world.restore(&undone.undone, false);
    let mode = fs::metadata(world.path("closed")).unwrap().permissions();
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode);
    assert_eq!(mode & 0o777, 0);
}
