//! A snapshot's tree is the tree that `git add -A && git write-tree` would make.

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use dunlin::snapshot::Hints;

use super::world::{World, has_git};

/// Runs each script, takes a snapshot and compares; once with the watch and once without.
fn follow(steps: &[(&str, &str)]) {
    if !has_git() {
        return;
    }
    for world in [World::git(), World::git().unwatched()] {
        let mut world = world;
        let how = if world.settings.watch {
            "watched"
        } else {
            "unwatched"
        };
        world.open();
        world.check(&world.take(Hints::none()), "first");
        for (what, script) in steps {
            world.sh(script);
            world.check(&world.after_command(), &format!("{what}, {how}"));
        }
        let last = world.take(Hints::none());
        world.check(&last, "at rest");
        assert_eq!(last.changed, Vec::<String>::new());
    }
}

#[test]
fn edits_and_replacements_are_seen() {
    follow(&[
        ("append", "echo more >> src/main.rs"),
        ("sed -i", "sed -i s/hello/bye/ src/main.rs"),
        ("same size, at once", "printf aaaa > a; printf bbbb > a"),
        ("same size, again", "printf cccc > a"),
        ("empty", ": > a"),
        ("remove", "rm a README.md"),
        ("many", "for i in 1 2 3 4 5 6 7 8 9; do echo $i > f$i; done"),
    ]);
}

#[test]
fn folders_that_appear_move_and_vanish_are_seen() {
    follow(&[
        (
            "mkdir -p",
            "mkdir -p new/a/b/c && echo 1 > new/a/b/c/f && echo 2 > new/g",
        ),
        ("write inside", "echo 3 >> new/a/b/c/f; echo 4 > new/a/h"),
        ("mv", "mv new moved"),
        (
            "write in the moved",
            "echo 5 > moved/a/b/c/f; mkdir moved/x; echo 6 > moved/x/y",
        ),
        (
            "mv into",
            "mkdir home && mv moved home/ && echo 7 > home/moved/a/z",
        ),
        (
            "swap",
            "mv src other; mv home src; mv other home; echo 8 > src/moved/a/z",
        ),
        ("rm -rf", "rm -rf home"),
        ("again", "mkdir home; echo 9 > home/back"),
        (
            "rm -rf and again at once",
            "rm -rf src; mkdir -p src/moved/a; echo 1 > src/moved/a/z",
        ),
        ("write in the new one", "echo 2 > src/moved/a/z"),
        ("empty folders", "mkdir -p e1/e2; rm -rf src/moved/a/z"),
        ("fill one", "echo 1 > e1/e2/f"),
        (
            "out and in",
            "mv e1 ../outside; mv ../outside e1; echo 2 > e1/e2/f",
        ),
    ]);
}

#[test]
fn bits_links_and_kinds_are_seen() {
    follow(&[
        ("chmod +x", "chmod +x src/main.rs"),
        ("chmod -x", "chmod -x src/main.rs"),
        ("chmod g+w", "chmod g+w src/main.rs"),
        (
            "link",
            "ln -s main.rs src/link; ln -s /nowhere broken; ln -s src dirlink",
        ),
        (
            "link to elsewhere",
            "ln -sfn deep dirlink; ln -sf ../README.md src/link",
        ),
        ("file to link", "rm README.md; ln -s src/main.rs README.md"),
        ("link to file", "rm src/link; echo text > src/link"),
        (
            "file to folder",
            "rm README.md; mkdir README.md; echo 1 > README.md/f",
        ),
        ("folder to file", "rm -rf src/deep; echo 1 > src/deep"),
        ("folder to link", "rm -rf README.md; ln -s src README.md"),
        (
            "link to folder",
            "rm README.md; mkdir README.md; echo 2 > README.md/g",
        ),
        ("pipe", "mkfifo pipe; echo 1 > near"),
        ("pipe to file", "rm pipe; echo 1 > pipe"),
        ("times only", "touch src/main.rs; touch -d 2001-01-01 near"),
        (
            "kept times",
            "cp -p near near2; echo x > near; touch -r near2 near",
        ),
    ]);
}

#[test]
fn ignore_rules_are_followed_when_they_change() {
    follow(&[
        (
            "ignored",
            "echo 1 > a.log; mkdir -p target/x; echo 1 > target/x/y",
        ),
        (
            "nested rules",
            "mkdir n; printf '*.tmp\\n!keep.tmp\\n' > n/.gitignore; echo 1 > n/a.tmp; echo 1 > n/keep.tmp",
        ),
        ("new rule", "echo '*.txt' >> .gitignore; echo 1 > b.txt"),
        ("write what it hides", "echo 2 > b.txt; echo 2 > n/c.txt"),
        ("rule gone", "printf '*.log\\n' > .gitignore"),
        (
            "write what it showed",
            "echo 3 > target/x/y; echo 3 > b.txt",
        ),
        ("folder rule", "echo 'n/' >> .gitignore"),
        ("write there", "echo 4 > n/keep.tmp"),
        ("folder rule gone", "sed -i '/^n/d' .gitignore"),
        ("deep rule gone", "rm n/.gitignore; echo 1 > n/d.tmp"),
        (
            "info/exclude",
            "mkdir -p .git/info; echo 'b.*' > .git/info/exclude",
        ),
        ("info/exclude gone", "echo > .git/info/exclude"),
        (
            "excludesFile",
            "mkdir -p ~/.config/git; echo '*.tmp' > ~/.config/git/ignore",
        ),
        (
            "tracked by force",
            "echo 1 > forced.log; git add -f forced.log",
        ),
        ("and changed", "echo 2 > forced.log"),
        (
            "rule on tracked files",
            "echo 'src/' >> .gitignore; echo 1 > src/new.rs",
        ),
        (
            "tracked file changed",
            "echo '// x' >> src/deep/er/lib.rs; echo 2 > src/new.rs",
        ),
    ]);
}

#[test]
fn tracked_files_that_rules_exclude_are_kept() {
    if !has_git() {
        return;
    }
    for watch in [true, false] {
        let mut world = World::git();
        world.settings.watch = watch;
        world.sh("mkdir -p target/keep; echo 1 > target/keep/a; echo 1 > target/b; echo 1 > c.log");
        world.run("add", &["-f", "target/keep/a", "c.log"]);
        world.open();
        world.check(&world.take(Hints::none()), "first");
        for script in [
            "echo 2 > target/keep/a; echo 2 > target/b",
            "echo 2 > c.log; echo 2 > d.log; echo 1 > target/keep/other",
            "rm target/keep/a c.log",
            "echo 3 > target/keep/a; echo 3 > c.log",
            "rm -rf target",
            "mkdir -p target/keep; echo 4 > target/keep/a; echo 4 > target/x",
        ] {
            world.sh(script);
            world.check(&world.after_command(), script);
        }
    }
}

#[test]
fn a_checkout_and_a_clean_are_seen() {
    if !has_git() {
        return;
    }
    for watch in [true, false] {
        let mut world = World::git();
        world.settings.watch = watch;
        world.run("checkout", &["-q", "-b", "side"]);
        world.sh("git rm -q -r src/deep; echo side > README.md; mkdir s; echo 1 > s/1");
        world.commit();
        world.run("checkout", &["-q", "main"]);
        world.open();
        world.take(Hints::none());
        for script in [
            "git checkout -q side",
            "echo dirt > dirt; echo dirt > s/dirt; mkdir -p d/e; echo 1 > d/e/f",
            "git clean -fdq",
            "git checkout -q main",
            "echo x >> README.md; git stash -q",
            "git stash pop -q",
            "git reset -q --hard",
        ] {
            world.sh(script);
            world.check(&world.after_command(), script);
        }
    }
}

#[test]
fn a_burst_that_overflows_the_queue_is_seen() {
    if !has_git() {
        return;
    }
    let mut world = World::git();
    world.open();
    world.take(Hints::none());
    // created, written, closed: more than three events each, so the queue of 16,384 overflows
    for dir in 0..90 {
        for file in 0..100 {
            world.write(&format!("burst/d{dir}/f{file}"), &format!("{dir} {file}\n"));
        }
    }
    world.check(&world.after_command(), "9,000 files");
    world.sh("rm -rf burst/d1; mv burst/d2 burst/d1; echo new > burst/d1/f0; echo 1 > src/x");
    world.check(&world.after_command(), "after the overflow");
    // all of them again, and a folder replaced while the queue is full
    world.sh(
        "for f in burst/d*/f*; do : > $f; done; rm -rf burst/d5; mkdir burst/d5; : > burst/d5/f0",
    );
    world.check(&world.after_command(), "overflow again");
    world.sh("echo 2 > burst/d5/f0");
    world.check(&world.after_command(), "written in the replaced folder");
    world.sh("echo 3 > burst/d5/f0; mkdir -p burst/d5/n; echo 1 > burst/d5/n/m");
    world.check(&world.after_command(), "a new folder in the replaced one");
}

#[test]
fn a_hint_is_enough_where_nothing_is_watched() {
    if !has_git() {
        return;
    }
    let mut world = World::git().unwatched();
    world.open();
    world.take(Hints::none());
    world.write("src/main.rs", "fn main() {}\n");
    let taken = world.take(Hints::paths([world.path("src/main.rs")]));
    world.check(&taken, "an edited file");
    assert_eq!(taken.changed, ["src/main.rs"]);
    world.write("brand/new/file.rs", "x\n");
    let taken = world.take(Hints::paths(["brand/new/file.rs".into()]));
    world.check(&taken, "a new file in new folders");
    std::fs::remove_file(world.path("README.md")).unwrap();
    let taken = world.take(Hints::none());
    world.check(&taken, "a removed file shows in its folder's stat");
}

#[test]
fn a_process_that_still_writes_is_followed() {
    if !has_git() {
        return;
    }
    let mut world = World::git();
    world.open();
    world.take(Hints::none());
    let mut open = std::fs::File::create(world.path("open.txt")).unwrap();
    for round in 0..20 {
        writeln!(open, "line {round}").unwrap();
        open.flush().unwrap();
        world.check(&world.after_command(), "an open file");
    }
}

#[test]
fn names_that_are_not_text_survive() {
    if !has_git() {
        return;
    }
    let mut world = World::git();
    world.open();
    let from = world.take(Hints::none()).tree;
    let dir = world.root().join(std::ffi::OsStr::from_bytes(b"d\xff"));
    std::fs::create_dir(&dir).unwrap();
    let file = dir.join(std::ffi::OsStr::from_bytes(b"caf\xe9 \n\"x"));
    std::fs::write(&file, "1\n").unwrap();
    let taken = world.after_command();
    world.check(&taken, "odd names");
    assert_eq!(taken.changed, [r#""d\377/caf\351 \012\"x""#]);
    let writes = world.writes(&from, &taken.tree);
    let undone = world.restore(&writes, false);
    assert!(!dir.exists(), "{:?}", undone.files);
    world.restore(&undone.undone, false);
    assert_eq!(std::fs::read(&file).unwrap(), b"1\n");
}
