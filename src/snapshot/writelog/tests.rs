//! The log of writes: torn lines, dead processes, growth, a clock that went back.

use std::fs;

use super::*;

struct Two {
    dir: tempfile::TempDir,
    ours: WriteLog,
    theirs: WriteLog,
}

fn two() -> Two {
    let dir = tempfile::tempdir().expect("a folder");
    let store = dir.path().join("snap");
    let ours = WriteLog::new(Path::new("/work"), &store);
    let theirs = WriteLog::new(Path::new("/work"), &store);
    ours.begin();
    theirs.begin();
    Two { dir, ours, theirs }
}

impl Two {
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path().join(FOLDER)).expect("a folder");
        entries.flatten().map(|entry| entry.path()).collect()
    }

    fn heard(&self) -> Other {
        let mut others = self.ours.others(0);
        assert_eq!(others.len(), 1, "{others:?}");
        others.remove(0)
    }
}

fn state(letter: char) -> FileState {
    FileState {
        blob: letter.to_string().repeat(40),
        mode: 0o100_644,
        bits: Some(0o600),
    }
}

#[test]
fn others_hear_what_is_said_and_see_that_we_live() {
    let two = two();
    let write = two.theirs.about_to_write("msg_1", b"a b.txt");
    two.theirs.wrote(write, None, Some(state('a')));
    let failed = two.theirs.about_to_write("msg_1", b"c");
    two.theirs.did_not_write(failed);
    let run = two.theirs.command_begins("msg_1", "make\n all", false);
    let heard = two.heard();
    assert!(heard.alive);
    let writes: Vec<&Write> = heard.account.writes.values().collect();
    assert_eq!(writes.len(), 1);
    assert_eq!(writes[0].path, b"a b.txt");
    assert_eq!(writes[0].states, Some((None, Some(state('a')))));
    assert_eq!(heard.account.commands[&run].end, None);
    assert_eq!(heard.account.commands[&run].text, "make\n all");
    two.theirs.command_ends(run);
    let claim = Claim {
        at: 1,
        path: b"d".to_vec(),
        states: (Some(state('a')), None),
        disputed: true,
    };
    two.theirs.settle(vec![claim.clone()], &[run]);
    let heard = two.heard().account;
    assert!(heard.commands[&run].end.is_some() && heard.commands[&run].settled);
    assert_eq!(heard.claims, [claim]);
    assert_eq!(
        two.theirs.own(Account::clone),
        heard,
        "in memory it is the same"
    );
}

#[test]
fn torn_and_senseless_lines_are_passed_over_and_harm_no_other() {
    let two = two();
    two.theirs.about_to_write("", b"first");
    let name = two.files();
    let name = name
        .iter()
        .find(|f| fs::read_to_string(f).expect("text").contains("first"));
    let mut file = OpenOptions::new()
        .append(true)
        .open(name.expect("a log"))
        .expect("a file");
    let bad = [
        "{\"t\":\"write\",\"id\":3",
        "\n\u{0}\u{1}garbage\n[]\n{\"t\":\"other\"}\n",
        "{\"t\":\"write\",\"id\":4,\"at\":1,\"path\":\"../up\"}\n",
        "{\"t\":\"write\",\"id\":5,\"at\":1,\"path\":\"/etc/passwd\"}\n",
        "{\"t\":\"write\",\"id\":6,\"at\":1,\"path\":\".git/config\"}\n",
        "{\"t\":\"wrote\",\"id\":1,\"after\":{\"blob\":\"zz\",\"mode\":1}}\n",
        "{\"t\":\"end\",\"id\":99,\"at\":-5}\n{\"t\":\"begin\",\"id\":7,\"at\":9223372036854775807,\"command\":\"x\"}\n",
    ];
    for line in bad {
        file.write_all(line.as_bytes()).expect("written");
    }
    file.write_all(&vec![b'x'; 100_000]).expect("written");
    file.write_all(b"\n\xff\xfe\n").expect("written");
    two.theirs.about_to_write("", b"last");
    let heard = two.heard();
    let paths: Vec<&[u8]> = heard.account.writes.values().map(|w| &*w.path).collect();
    assert_eq!(paths, [b"first".as_slice(), b"last"]);
    assert!(heard.account.writes.values().all(|w| w.states.is_none()));
}

#[test]
fn a_process_that_is_gone_is_known_to_be() {
    let two = two();
    two.theirs.command_begins("", "sleep 1000", false);
    let all = two.files();
    let log = all
        .iter()
        .find(|f| fs::read_to_string(f).expect("text").contains("sleep"))
        .expect("a log");
    let text = fs::read_to_string(log).expect("text");
    let (pid, start) = process::own();
    // the same number, started at another time; and none at all
    for (pid, start) in [(pid, start + 1), (u32::MAX - 1, start)] {
        let head = Line::Open {
            v: VERSION,
            pid,
            start,
            root: "/work".to_owned(),
        };
        let rest = text.split_once('\n').expect("lines").1;
        let head = String::from_utf8(head.text().expect("a line")).expect("text");
        fs::write(log, head + rest).expect("written");
        let old = SystemTime::now() - Duration::from_mins(1);
        File::options()
            .append(true)
            .open(log)
            .expect("a file")
            .set_modified(old)
            .expect("a time");
        let heard = two.heard();
        assert_eq!(
            heard.alive,
            !cfg!(target_os = "linux") && pid != u32::MAX - 1
        );
        assert_eq!(heard.seen, since_epoch(old));
        assert_eq!(heard.account.commands.len(), 1);
    }
    assert!(
        two.ours.others(now()).is_empty(),
        "older than what is asked for"
    );
}

#[test]
fn other_worktrees_and_versions_are_none_of_our_business() {
    let two = two();
    let other = WriteLog::new(Path::new("/elsewhere"), &two.dir.path().join("snap"));
    other.begin();
    other.about_to_write("", b"x");
    assert_eq!(two.ours.others(0).len(), 1);
    let name = two.dir.path().join(FOLDER).join("newer");
    fs::write(
        &name,
        "{\"t\":\"open\",\"v\":2,\"pid\":1,\"root\":\"/work\"}\n",
    )
    .expect("written");
    assert_eq!(two.ours.others(0).len(), 1);
}

#[test]
fn a_full_log_is_begun_anew_and_keeps_the_last_hour() {
    let two = two();
    let line = "x".repeat(2_000);
    let first = two.theirs.command_begins("", &line, false);
    for _ in 0..200 {
        let run = two.theirs.command_begins("", &line, false);
        two.theirs.command_ends(run);
    }
    assert_eq!(two.files().len(), 2, "nothing is left over");
    let heard = two.heard().account;
    assert_eq!(heard.commands.len(), 201);
    assert_eq!(heard.commands[&first].end, None);
    assert_eq!(heard, two.theirs.own(Account::clone));
    // a clock that was set back must not make room by throwing away what is new
    let mut account = heard;
    account.forget(now() + HOUR);
    assert_eq!(account.commands.len(), 1, "what runs is kept");
}

#[test]
fn logs_go_when_they_are_empty_or_old() {
    let two = two();
    two.theirs.about_to_write("", b"x");
    let Two { dir, ours, theirs } = two;
    let store = dir.path().join("snap");
    drop((ours, theirs));
    let count = || {
        fs::read_dir(dir.path().join(FOLDER))
            .expect("a folder")
            .count()
    };
    assert_eq!(count(), 1, "one had nothing to say");
    let later = SystemTime::now() + Duration::from_hours(48);
    collect(&store, later);
    assert_eq!(count(), 1, "our own stay");
    let foreign = dir.path().join(FOLDER).join("1-1-0");
    fs::write(&foreign, "").expect("written");
    collect(&store, SystemTime::now());
    assert_eq!(count(), 2);
    collect(&store, later);
    assert_eq!(count(), 1);
}
