//! The judge against bash itself: lines are put together of pieces that hide a command in every way
//! the shell knows; whatever the judge lets run unasked is run, and must not have made the file that
//! the hidden command makes.

use std::path::Path;
use std::process::{Command, Stdio};

use dunlin::permission::{Judge, Place, Request, Sight, What};
use dunlin::protocol::Mode;

/// What would make the canary, if it were run.
const PAYLOADS: &[&str] = &[
    "touch C",
    "$(touch C)",
    "`touch C`",
    "\\`touch C\\`",
    "\\$(touch C)",
    "$\\\n(touch C)",
    "\"$(touch C)\"",
    "\"`touch C`\"",
    "'`touch C`'",
    "${x:-$(touch C)}",
    "$((`touch C`))",
    "a[$(touch C)]",
    "'a[$(touch C)]'",
    "<(touch C)",
    "> C",
    "x > C",
    "& touch C",
    "; touch C",
    "\ntouch C\n",
    "#\ntouch C",
    "sort -o C a",
    "sort --o C a",
    "xxd a C",
    "-o C",
];

/// Where it may stand; `@` is its place.
const CARRIERS: &[&str] = &[
    "@",
    "echo @",
    "echo \"@\"",
    "echo '@'",
    "echo $'@'",
    "echo `@`",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo \"`@`\"",
    "echo $((@))",
    "echo $[@]",
    "echo ${x:-@}",
    "echo \"${x:-@}\"",
    "echo ${x:@}",
    "echo {@,b}",
    "cat <<E\n@\nE",
    "cat <<E\nx @ y\nE",
    "cat <<-E\n\t@\n\tE",
    "cat <<- E\n @\nE",
    "cat <<'E'\n@\nE",
    "cat <<\\E\n@\nE",
    "cat <<E | cat\n@\nE",
    "cat <<< @",
    "cat <<< \"@\"",
    "[ @ ]",
    "[ a = @ ]",
    "[[ @ ]]",
    "[[ a == @ ]]",
    "[[ 1 -eq @ ]]",
    "test @",
    "x=@; echo $x",
    "x=@; echo $((x))",
    "x=@; [[ x -eq 1 ]]",
    "x=(@); echo ${x[0]}",
    "x=([@]=1)",
    "for i in @; do ls; done",
    "for ((i = 0; i < @; i++)); do break; done",
    "case x in @) ls;; esac",
    "case @ in x) ls;; esac",
    "if @; then ls; fi",
    "while @; do break; done",
    "ls @ \\\n b",
    "f() { @; }; f",
    "f() { echo $(($1)); }; f @",
    "(@)",
    "{ @; }",
    "! @",
    "printf '%s' @",
    "printf @ x",
    "read v <<< @; echo $((v))",
    "read v <<< @; [[ $v -eq 1 ]]",
    "read @ < a",
    "set -- @; echo $1",
    "bash -c '@'",
    "eval '@'",
    "eval \"@\"",
    "echo a | xargs -I% sh -c 'echo %; @'",
    "ls | xargs echo @",
    "find . -name a -exec echo @ \\;",
    "sed -n '@' a",
    "awk '@' a",
    "echo a # @",
    "ls @",
    "sort @ a",
    "echo a\\\n@",
    "export LANG=@; ls",
    "LANG=@ ls",
    "trap '@' EXIT",
    "time @",
    "command @",
    "unset @",
    "declare @",
    "test -v @",
    "echo ~@",
    "ls <@",
];

fn allowed(line: &str, folder: &Path) -> bool {
    let place = Place {
        worktree: folder.to_owned(),
        home: folder.join("home"),
        sight: Some(Sight::of_disk()),
        ..Place::default()
    };
    let request = Request {
        tool: "bash".to_owned(),
        what: What::Command {
            command: line.to_owned(),
            cwd: folder.to_owned(),
        },
        can_write: true,
    };
    let judge = Judge::new(Vec::new(), Mode::Ask, place);
    judge.decide(&request).word() == "allow"
}

/// Runs what was allowed; true if the canary is there.
fn sings(line: &str, folder: &Path) -> bool {
    let mut command = Command::new("bash");
    command
        .args(["--norc", "-c", line])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.join("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    _ = command.status().expect("bash runs");
    let canary = folder.join("C");
    let sings = canary.symlink_metadata().is_ok();
    drop(std::fs::remove_file(canary));
    sings
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or_default()
    }
}

fn campaign(rounds: usize, seed: u64) {
    let dir = tempfile::tempdir().expect("temp");
    let folder = dir.path().canonicalize().expect("real");
    std::fs::write(folder.join("a"), "b\na\n").expect("file");
    let mut dice = Dice(seed);
    let mut wrong = Vec::new();
    let mut ran = 0;
    let mut check = |line: &str| {
        if allowed(line, &folder) {
            ran += 1;
            if sings(line, &folder) {
                wrong.push(line.to_owned());
            }
        }
    };
    for carrier in CARRIERS {
        for payload in PAYLOADS {
            check(&carrier.replace('@', payload));
        }
    }
    for _ in 0..rounds {
        let mut line = PAYLOADS[dice.throw(PAYLOADS.len())].to_owned();
        for _ in 0..2 + dice.throw(2) {
            line = CARRIERS[dice.throw(CARRIERS.len())].replace('@', &line);
        }
        check(&line);
    }
    assert!(wrong.is_empty(), "{} of {ran}: {wrong:#?}", wrong.len());
    assert!(ran > 20, "something harmless is among them: {ran}");
}

fn has_bash() -> bool {
    Path::new("/usr/bin/bash").exists() || Path::new("/bin/bash").exists()
}

#[test]
fn what_runs_unasked_never_runs_what_is_hidden_in_it() {
    if has_bash() {
        campaign(1_500, 0x5eed_1234_abcd);
    }
}

#[test]
#[ignore = "a long campaign: cargo test --test it canary -- --ignored"]
fn what_runs_unasked_never_runs_what_is_hidden_in_it_for_long() {
    if has_bash() {
        let seed = std::env::var("DUNLIN_SEED")
            .ok()
            .and_then(|s| s.parse().ok());
        campaign(60_000, seed.unwrap_or(88_172_645_463_325_252));
    }
}
