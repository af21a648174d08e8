//! A full disk: nothing false is announced, earlier parts are safe, work goes on once there is room.
//!
//! The child runs with a limit on file size (RLIMIT_FSIZE), which fails writes to the journal the
//! way a full disk does, in the middle of a line too; then it lifts the limit.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use dunlin::protocol::FaultKind;
use dunlin::session::Commit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::support::{
    Heard, Model, World, commit, count, info, project, records, session_id, told,
};

const HOME: &str = "DUNLIN_TEST_FULL_HOME";

fn limit_files_to(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    let current = bytes.or(maximum);
    setrlimit(Resource::Fsize, Rlimit { current, maximum }).expect("limit");
}

#[test]
#[ignore = "the child of the disk-full test"]
fn child() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else {
        return;
    };
    let id = session_id(1);
    let heard = Heard::new();
    let store = project(&home)
        .create(&info(id, &home.join("work")), Arc::<Heard>::clone(&heard))
        .expect("create");
    for n in 1..=80 {
        store.commit(commit(id, n));
    }
    store.page(None, 1).expect("written");
    assert_eq!(heard.numbers().len(), 80);
    let journal = project(&home)
        .folder()
        .join("sessions")
        .join(id.to_string())
        .join("journal");
    let before = std::fs::metadata(&journal).expect("journal").len();

    // room for half a line: the write breaks off in its middle
    limit_files_to(Some(before + 20));
    let (now, safe) = Commit::now(records(id, 81), vec![told(81)]);
    store.commit(now);
    let fault = safe.blocking_recv().expect("answer").expect_err("full");
    assert_eq!(fault.kind, FaultKind::Storage);
    assert!(fault.retryable);
    assert!(fault.message.contains("journal"), "{fault}");
    assert_eq!(heard.numbers().len(), 80, "a lost commit was announced");
    let told_faults = heard.wait(|_, faults| (!faults.is_empty()).then(|| faults.to_vec()));
    assert_eq!(told_faults[0], fault);
    let after = std::fs::metadata(&journal).expect("journal").len();
    assert_eq!(after, before, "half a line was left");

    // 81 begins an assistant message; 82 and 83 build on what is missing
    limit_files_to(None);
    for n in [82, 83] {
        store.commit(commit(id, n));
    }
    heard.wait(|_, faults| (faults.len() == 3).then_some(()));
    for n in 81..=200 {
        store.commit(commit(id, n));
    }
    store.close_blocking();
    let expected: Vec<u64> = (1..=200).collect();
    assert_eq!(heard.numbers(), expected);
    assert_eq!(heard.faults().len(), 3);
}

#[test]
fn a_full_disk_loses_only_what_was_not_announced_and_work_goes_on_afterwards() {
    let world = World::new();
    // beyond the limit the kernel also sends a signal; ignored, it stays ignored across exec
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().expect("exe"))
        .args([
            "session::disk_full::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(HOME, world.home.path())
        .output()
        .expect("run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let id = session_id(1);
    let history = world.project.open_session_all(id).expect("all");
    assert_eq!(count(&history), 200);
    assert!(Model::of(&history) == Model::after(id, 200));
}
