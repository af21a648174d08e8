//! The sandbox with real children. The launcher is this test program: `launcher_child` becomes the
//! command when it is called with the variable below, because a library test has no dunlin to call.
//! Where the kernel lacks Landlock the tests say so and end.

use std::process::{Command, Output};

use super::*;

const ARGUMENTS: &str = "DUNLIN_TEST_LAUNCHER";

/// Not a test of its own: the launcher of the others.
#[test]
fn launcher_child() {
    if let Some(line) = std::env::var_os(ARGUMENTS) {
        let text = line.to_string_lossy().into_owned();
        let mut words: Vec<OsString> = vec!["dunlin".into()];
        words.extend(text.split('\u{1f}').map(OsString::from));
        let code = launcher_main(words);
        panic!("the launcher came back: {code:?}");
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn supported() -> bool {
    match detect() {
        Support::Full { .. } => true,
        Support::None { reason } => {
            eprintln!("skipped: {reason}");
            false
        }
    }
}

struct World {
    dir: tempfile::TempDir,
    policy: Policy,
}

impl World {
    /// A worktree that may be written, a home with a secret that may not be read. Not in the
    /// temporary folder's policy: only the worktree is writable.
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temp");
        for folder in ["work", "home/.ssh", "home/code", "other"] {
            std::fs::create_dir_all(dir.path().join(folder)).expect("dir");
        }
        std::fs::write(dir.path().join("home/.ssh/id"), "secret").expect("write");
        std::fs::write(dir.path().join("home/note"), "note").expect("write");
        let root = dir.path().canonicalize().expect("resolved");
        let policy = Policy {
            writable: vec![root.join("work")],
            unreadable: vec![root.join("home/.ssh")],
            network: false,
            temp: None,
        };
        Self { dir, policy }
    }

    fn run(&self, script: &str) -> Output {
        let (_, words) = wrap(
            &self.policy,
            OsStr::new("bash"),
            &["-c".into(), script.into()],
        );
        let words: Vec<String> = words
            .iter()
            .map(|w| w.to_string_lossy().into_owned())
            .collect();
        Command::new(std::env::current_exe().expect("exe"))
            .args([
                "--exact",
                "sandbox::tests::launcher_child",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ARGUMENTS, words.join("\u{1f}"))
            .env("SSH_AUTH_SOCK", "/x")
            .current_dir(self.dir.path().join("work"))
            .output()
            .expect("runs")
    }

    /// The exit code and all output.
    fn result(&self, script: &str) -> (Option<i32>, String) {
        let output = self.run(script);
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    fn works(&self, script: &str) {
        let (code, text) = self.result(script);
        assert_eq!(code, Some(0), "{script} must work: {text}");
    }

    fn fails(&self, script: &str) {
        let (code, text) = self.result(script);
        assert!(code.is_some_and(|c| c != 0), "{script} must fail: {text}");
    }
}

#[test]
fn writes_reach_the_worktree_and_nothing_else() {
    if !supported() {
        return;
    }
    let world = World::new();
    world.works("echo a > file && mkdir -p d/e && mv file d/e/ && rm -r d && ln -s x y && echo hi > /dev/null");
    assert!(!world.dir.path().join("work/d").exists());
    for script in [
        "echo a > ../other/file",
        "mkdir ../new",
        "rm ../home/note",
        "mv ../home/note .",
        "ln ../home/note hard",
        "echo a >> ../home/note",
        "truncate -s 0 ../home/note",
        "echo a > /etc/dunlin-test",
        "ln -s ../other out && echo a > out/file",
    ] {
        world.fails(script);
    }
    assert_eq!(
        std::fs::read_to_string(world.dir.path().join("home/note")).expect("note"),
        "note"
    );
    assert!(
        std::fs::read_dir(world.dir.path().join("other"))
            .expect("dir")
            .next()
            .is_none()
    );
}

#[test]
fn a_command_that_only_reads_writes_in_its_own_folder_and_nowhere_else() {
    if !supported() {
        return;
    }
    let mut world = World::new();
    let own = world.policy.writable[0].with_file_name("own");
    std::fs::create_dir(&own).expect("dir");
    world.policy = world.policy.reading_only(own.clone());
    world.works("ls && cat ../home/note && sort ../home/note > /dev/null");
    world.works("test \"$TMPDIR\" = \"$(cd ../own && pwd -P)\" && echo x > \"$(mktemp)\"");
    world.works("cat <<< text && cat <<E\n$(seq 1 20000)\nE");
    for script in [
        "touch made",
        "echo a > file",
        "sort --o sorted ../home/note",
        "mkdir d",
        "echo a > /tmp/dunlin-plan-test",
        "echo a > /dev/shm/dunlin-plan-test",
    ] {
        world.fails(script);
    }
    assert_eq!(
        std::fs::read_dir(world.dir.path().join("work"))
            .expect("dir")
            .count(),
        0
    );
}

#[test]
fn secrets_cannot_be_read_but_their_neighbours_can() {
    if !supported() {
        return;
    }
    let world = World::new();
    world.works(
        "test \"$(cat ../home/note)\" = note && ls ../home/code && cat /etc/passwd > /dev/null",
    );
    world.fails("cat ../home/.ssh/id");
    world.fails("ln -s ../home/.ssh/id link && cat link");
    world.fails("cp ../home/.ssh/id copy");
    let (code, text) = world.result("cat ../home/.ssh/id");
    let cwd = world.policy.writable[0].clone();
    let blocked = explain(&world.policy, &cwd, &text, code).expect("told");
    assert_eq!(blocked.kind, "read");
}

#[test]
fn a_secret_below_a_writable_folder_stays_secret() {
    if !supported() {
        return;
    }
    let mut world = World::new();
    let home = world.policy.unreadable[0]
        .parent()
        .expect("home")
        .to_owned();
    world.policy.writable.push(home);
    world.works("echo more >> ../home/note && echo x > ../home/code/x && cat ../home/code/x");
    world.fails("cat ../home/.ssh/id");
    world.fails("cat ../home/.ssh/../.ssh/id");
}

#[test]
fn there_is_no_network_and_no_way_around() {
    if !supported() {
        return;
    }
    let mut world = World::new();
    // bash opens its own sockets
    let (code, text) = world.result("exec 3<>/dev/tcp/127.0.0.1/9");
    assert_ne!(code, Some(0));
    assert!(
        text.contains("not permitted"),
        "refused, not merely unreachable: {text}"
    );
    world.fails("unshare -r true");
    world.works("test -z \"$SSH_AUTH_SOCK\"");
    // with the network on, nobody listens there: another error
    world.policy.network = true;
    let (_, text) = world.result("exec 3<>/dev/tcp/127.0.0.1/9");
    assert!(!text.contains("not permitted"), "{text}");
}

#[test]
fn exit_codes_and_arguments_come_through() {
    if !supported() {
        return;
    }
    let world = World::new();
    assert_eq!(world.result("exit 7").0, Some(7));
    let (code, text) = world.result("printf '%s|' \"a b\" 'é'; echo err >&2");
    assert_eq!(code, Some(0));
    assert!(text.contains("a b|é|") && text.contains("err"), "{text}");
}

#[test]
fn a_launcher_that_is_called_wrongly_runs_nothing() {
    let words = |list: &[&str]| -> Vec<OsString> { list.iter().map(OsString::from).collect() };
    assert_eq!(launcher_main(words(&["dunlin"])), None);
    assert_eq!(
        launcher_main(words(&["dunlin", "exec", LAUNCHER_WORD])),
        None
    );
    assert_eq!(
        launcher_main(words(&["dunlin", LAUNCHER_WORD])),
        Some(LAUNCHER_FAILED)
    );
    assert_eq!(
        launcher_main(words(&["dunlin", LAUNCHER_WORD, "{}", "--", "true"])),
        Some(LAUNCHER_FAILED)
    );
}
