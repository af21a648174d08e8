//! `dunlin sessions` and its kin as a user meets them, and folders that cannot be used.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::world::{Ran, World, ran};

fn talked() -> World {
    let w = World::scripted(&json!({"steps": [{"text": "hello back"}]}));
    w.exec(&["say hello"]).code(0);
    w
}

#[test]
fn sessions_are_listed_renamed_packed_found_and_deleted() {
    let w = World::new();
    let said = w.run(&["sessions"]).code(0).stdout;
    assert!(said.contains("no sessions in this folder"), "{said}");
    assert!(
        w.run(&["search", "x"])
            .code(1)
            .stderr
            .contains("Nothing was found")
    );

    let w = talked();
    let id = w.newest();
    let said = w.run(&["sessions"]).code(0).stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("session ") && lines[0].ends_with("title"),
        "{said}"
    );
    assert!(lines[1].starts_with(&id), "{said}");
    assert!(lines[2].starts_with("1 session here: "), "{said}");
    assert!(
        w.run(&["sessions", "rename", &id, " "])
            .code(2)
            .stderr
            .contains("not empty")
    );
    w.run(&["sessions", "rename", &id, "a \u{1b}[31mred name"])
        .code(0);
    assert!(
        w.run(&["search", "  "])
            .code(2)
            .stderr
            .contains("nothing to look for")
    );
    let said = w.run(&["sessions", "list", "--all"]).code(0).stdout;
    assert!(
        said.contains("red name") && !said.contains('\u{1b}'),
        "{said}"
    );
    assert!(said.contains(&w.worktree().display().to_string()), "{said}");
    let said = w.run(&["sessions", "archive", &id]).code(0).stdout;
    assert!(said.starts_with("Packed, which freed"), "{said}");
    assert!(
        w.run(&["sessions", "archive", &id])
            .code(0)
            .stdout
            .contains("already")
    );
    assert!(
        w.run(&["sessions", "list"])
            .code(0)
            .stdout
            .contains("[packed]")
    );
    assert!(
        w.run(&["search", "HELLO back"])
            .code(0)
            .stdout
            .contains(&id)
    );
    assert!(
        w.run(&["sessions", "show", &id])
            .code(0)
            .stdout
            .contains("hello back")
    );
    assert!(
        w.run(&["sessions", "delete", &id])
            .code(1)
            .stderr
            .contains("Nothing was deleted")
    );
    w.run(&["sessions", "delete", &id, "--yes"]).code(0);
    let gone = w.run(&["sessions", "show", &id]).code(2).stderr;
    assert!(gone.contains("There is no session"), "{gone}");
}

#[test]
fn what_an_export_gives_an_import_takes() {
    let w = talked();
    for format in ["json", "jsonl"] {
        let file = w.root().join(format!("export.{format}"));
        let text = w.run(&["sessions", "export", "--format", format, &w.newest()]);
        fs::write(&file, text.code(0).stdout).expect("write");
        let id = w
            .run(&["sessions", "import", &file.display().to_string()])
            .code(0)
            .stdout;
        let shown = w.run(&["sessions", "show", id.trim()]).code(0).stdout;
        assert!(shown.contains("hello back"), "{shown}");
    }
    let file = fs::File::open(w.root().join("export.json")).expect("an export");
    let mut piped = w.command(&["sessions", "import", "-"]);
    let piped = piped.stdin(file).output().expect("dunlin runs");
    let id = String::from_utf8_lossy(&piped.stdout).trim().to_owned();
    let shown = w.run(&["sessions", "show", &id]).code(0).stdout;
    assert!(shown.contains("hello back"), "{shown}");
    let bad = w
        .run(&["sessions", "import", "nowhere.json"])
        .code(2)
        .stderr;
    assert!(bad.contains("nowhere.json cannot be read"), "{bad}");
}

#[test]
fn old_outputs_are_cleaned_up_while_the_program_runs() {
    let w = World::scripted(&json!({"steps": [
        {"calls": [{"name": "bash", "input": {"command": "seq 1 20000"}}]}, {"text": "long"},
        {"calls": [{"name": "bash", "input": {"command":
            "for i in $(seq 1 4000); do [ -e $HOME/../gone ] && exit 0; sleep 0.05; done; exit 9"}}]},
        {"text": "it is gone"}
    ]}));
    w.exec(&["--mode", "auto", "print a lot"]).code(0);
    let projects = fs::read_dir(w.data().join("projects")).expect("projects");
    let project = projects
        .map(|p| p.expect("one").path())
        .next()
        .expect("one");
    let out = project.join("sessions").join(w.newest()).join("out");
    let full = fs::read_dir(&out)
        .expect("out")
        .next()
        .expect("one")
        .expect("one")
        .path();
    let old = SystemTime::now() - Duration::from_hours(24 * 8);
    let age = |path| {
        let file = fs::File::open(path).expect("open");
        file.set_modified(old).expect("age");
    };
    age(full.clone());
    if let Ok(note) = fs::metadata(project.join("cleaned")) {
        assert!(note.is_file());
        age(project.join("cleaned"));
    }
    let gone = w.root().join("gone");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // the clean-up runs at the lowest priority
            let until = SystemTime::now() + Duration::from_mins(2);
            while full.exists() && SystemTime::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            fs::write(&gone, "").expect("write");
        });
        w.exec(&["--mode", "auto", "wait for it"]).code(0);
    });
    assert!(!full.exists(), "the old output is still there");
    assert!(project.join("cleaned").exists());
}

fn exec_with(w: &World, data: &std::ffi::OsStr) -> Ran {
    let model = w.model();
    let mut command = w.command(&["exec", "--model", &model, "hi"]);
    ran(command.env("DUNLIN_DATA_DIR", data).output().expect("runs"))
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_with_the_remedy() {
    let w = World::scripted(&json!({"steps": [{"text": "hello"}]}));
    let file = w.root().join("file");
    fs::write(&file, "").expect("write");
    let around = w.root().join("around");
    std::os::unix::fs::symlink(&around, &around).expect("link");
    let long = w.root().join("d".repeat(300));
    let longer = w.root().join("d/".repeat(2_100));
    for (data, word) in [
        (file.clone(), "Move away"),
        (file.join("below"), "Move away"),
        (around.join("x"), "circle"),
        (long, "shorter path"),
        (longer, "shorter path"),
    ] {
        let ran = exec_with(&w, data.as_os_str());
        let said = &ran.stderr;
        assert_eq!(ran.code, 1, "{data:?}: {said}");
        assert!(said.contains(word), "{data:?}: {said}");
        assert!(said.contains("DUNLIN_DATA_DIR"), "{data:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// Runs it under a shell's limit; its arguments follow.
fn limited(w: &World, limit: &str, args: &[&str]) -> Ran {
    let mut command = std::process::Command::new("sh");
    let line = format!("ulimit {limit}; exec \"$@\"");
    command
        .args(["-c", &line, "sh", env!("CARGO_BIN_EXE_dunlin")])
        .args(args)
        .current_dir(w.worktree())
        .env_clear()
        .envs(w.environment())
        .stdin(std::process::Stdio::null());
    ran(command.output().expect("runs"))
}

#[test]
fn with_too_few_open_files_it_is_said_and_nothing_panics() {
    let w = World::scripted(&json!({"steps": [{"text": "hello"}]}));
    let model = w.model();
    let (mut failed, mut worked) = (0, 0);
    for files in (6..64).step_by(3) {
        let run = limited(
            &w,
            &format!("-n {files}"),
            &["exec", "--model", &model, "hi"],
        );
        let said = &run.stderr;
        assert!(!said.contains("panicked"), "{files}: {said}");
        if run.code == 0 {
            worked += 1;
            assert_eq!(run.stdout, "hello\n", "{files}");
        } else {
            failed += 1;
            assert!(said.contains("ulimit -n"), "{files}: {} {said}", run.code);
        }
    }
    assert!(failed > 0 && worked > 0, "{failed} failed, {worked} worked");
    // what was begun with too few is no worse for it
    let listed = w.run(&["sessions", "list", "--json"]).code(0).stdout;
    assert!(listed.contains("ses_"), "{listed}");
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

#[test]
fn without_the_right_to_write_the_folder_and_the_remedy_are_named() {
    let w = World::scripted(&json!({"steps": [{"text": "hello"}]}));
    if !rustix::process::getuid().is_root() {
        // whoever is not root is refused by the mode alone
        let data = w.root().join("closed");
        fs::create_dir(&data).expect("folder");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o500)).expect("chmod");
        let said = exec_with(&w, data.as_os_str()).stderr;
        assert!(said.contains("that you can write"), "{said}");
        return;
    }
    // root gives up its rights first
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(w.root(), open).expect("chmod");
    let model = w.model();
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(env!("CARGO_BIN_EXE_dunlin"))
        .args(["exec", "--model", &model, "hi"])
        .current_dir(w.worktree())
        .env_clear()
        .envs(w.environment())
        .stdin(std::process::Stdio::null());
    let Ok(output) = command.output() else {
        return skipped("there is no setpriv to give up rights with");
    };
    let ran = ran(output);
    if ran.code == 126 || ran.code == 127 {
        return skipped("the program itself stands where nobody else may look");
    }
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let said = &ran.stderr;
    assert!(said.contains("Permission denied"), "{said}");
    assert!(
        said.contains("Set DUNLIN_DATA_DIR to a folder that you can write"),
        "{said}"
    );
}

#[test]
fn folders_that_are_not_utf_8_work() {
    let w = World::scripted(&json!({"steps": [{"text": "hello"}]}));
    let odd = |stem: &str| {
        let mut name = stem.as_bytes().to_vec();
        name.push(0xff);
        w.root().join(std::ffi::OsString::from_vec(name))
    };
    let (work, data) = (odd("work"), odd("data"));
    fs::create_dir(&work).expect("folder");
    let model = w.model();
    let run = |args: &[&str]| {
        let mut command = w.command(args);
        command.current_dir(&work).env("DUNLIN_DATA_DIR", &data);
        ran(command.output().expect("runs")).code(0).stdout
    };
    assert_eq!(run(&["exec", "--model", &model, "hi"]), "hello\n");
    let listed = run(&["sessions", "list", "--json"]);
    assert!(listed.contains("\"parts\""), "{listed}");
    assert!(run(&["search", "hello"]).contains("hello"));
}

#[test]
fn sessions_of_a_folder_that_was_moved_are_shown_exported_copied_and_deleted_from_anywhere() {
    let w = talked();
    let id = w.newest();
    let moved = w.root().join("moved");
    fs::rename(w.worktree(), &moved).expect("move");
    fs::create_dir(w.worktree()).expect("a folder to be in");
    let elsewhere = w.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("folder");
    fs::remove_dir(w.worktree()).expect("remove");
    let run = |args: &[&str]| {
        let mut all = vec!["-C", elsewhere.to_str().expect("text")];
        all.extend(args);
        let mut command = w.command(&all);
        command.current_dir(&elsewhere);
        ran(command.output().expect("run"))
    };
    let refused = run(&["exec", "-r", &id, "go on"]).code(2).stderr;
    assert!(refused.contains("not there any more"), "{refused}");
    assert!(refused.contains("sessions import -"), "{refused}");
    let short = id.get(id.len() - 8..).expect("an end");
    assert!(!run(&["sessions", "show", short]).code(0).stdout.is_empty());
    let exported = run(&["sessions", "export", "--format", "json", &id])
        .code(0)
        .stdout;
    assert!(exported.contains(&id), "{exported}");
    run(&["inspect", &id]).code(0);
    run(&["sessions", "rename", &id, "what moved"]).code(0);
    run(&["sessions", "archive", &id]).code(0);
    run(&["sessions", "delete", "--yes", &id]).code(0);
    run(&["sessions", "show", &id]).code(2);
}
