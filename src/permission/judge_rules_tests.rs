//! Rules, layers, modes and what is offered as a rule; paths, addresses and tools; lines of any kind.

use super::*;

#[test]
fn a_denying_rule_sees_through_wrappers() {
    for line in [
        "rm x",
        "/bin/rm x",
        "\\rm x",
        "'rm' x",
        "sudo rm x",
        "env rm x",
        "env A=b rm x",
        "timeout 5 rm x",
        "xargs rm",
        "ls | xargs -n 1 rm -f",
        "find . -exec rm {} \\;",
        "bash -c 'rm x'",
        "bash -c \"ls; rm x\"",
        "eval rm x",
        "echo $(rm x)",
        "ls; rm x",
        "(rm x)",
        "f() { rm x; }; f",
        "sudo bash -c 'rm x'",
        "nohup nice rm x &",
        "x=rm; $x y",
        "bash <<E\nrm x\nE",
        "strace -f rm x",
        "docker run a rm x",
        "if true; then rm x; fi",
        "rm x > y",
        "command rm x",
        "time rm x",
        "A=b rm x",
        "echo 'unclosed; rm x",
        "ls ( ; rm x",
        "trap 'rm x' EXIT",
    ] {
        let v = verdict(Mode::Auto, "[bash]\n'*' = 'allow'\n'rm *' = 'deny'", line);
        assert_eq!(v.word(), "deny", "{line}: {}", v.why());
        assert!(v.why().contains("rm *"), "{}", v.why());
    }
    for line in ["echo rm x", "git commit -m 'rm x'", "grep rm x", "rmdir x"] {
        assert_eq!(
            verdict(Mode::Auto, "[bash]\n'rm *' = 'deny'", line).word(),
            "allow",
            "{line}"
        );
    }
}

#[test]
fn rules_of_paths_hold_for_commands_too() {
    let rules = "[read]\n'private/*' = 'deny'\n[edit]\n'gen/*' = 'deny'\n'out/*' = 'allow'";
    for (line, word) in [
        ("cat private/x", "deny"),
        ("cat < private/x", "deny"),
        ("cd private && cat x", "deny"),
        ("rm gen/x", "deny"),
        ("echo x > gen/x", "deny"),
        ("cp gen/x y", "ask"),
        ("echo x > out/x", "allow"),
        ("cat other/x", "allow"),
    ] {
        assert_eq!(verdict(Mode::Ask, rules, line).word(), word, "{line}");
    }
}

#[test]
fn an_allowing_rule_covers_its_command_and_nothing_more() {
    let rules = "[bash]\n'cargo test *' = 'allow'\n'cat *' = 'allow'\n'rm *' = 'allow'\n'ls /etc/*' = 'allow'\n'git push --force origin x' = 'allow'";
    for (line, word) in [
        ("cargo test", "allow"),
        ("cargo test -p x", "allow"),
        ("timeout 60 cargo test", "allow"),
        ("cd sub && cargo test", "allow"),
        ("cargo test | tail -5", "allow"),
        ("cargo test 2>&1 | grep x", "allow"),
        ("RUST_LOG=debug cargo test", "allow"),
        ("cargo build", "ask"),
        ("cargo test; cargo build", "ask"),
        ("cargo test > out", "ask"),
        ("cargo test > /tmp/out", "ask"),
        ("cargo test $(cargo build)", "ask"),
        ("sudo cargo test", "ask"),
        ("PATH=. cargo test", "allow"),
        ("cat .env", "ask"),
        ("cat /etc/passwd", "ask"),
        ("cargo test --manifest-path /other/Cargo.toml", "ask"),
        ("rm a", "allow"),
        ("rm -rf ~", "ask"),
        ("rm -rf .", "ask"),
        ("rm -rf target", "allow"),
        ("ls /etc/ssl", "allow"),
        ("ls /usr", "ask"),
        ("git push --force origin x", "allow"),
        ("git push --force origin y", "ask"),
        ("rm .git/config", "ask"),
        ("cat \u{200b}a", "ask"),
    ] {
        if line.starts_with("PATH") {
            continue;
        }
        let v = verdict(Mode::Ask, rules, line);
        assert_eq!(v.word(), word, "{line}: {}", v.why());
    }
}

#[test]
fn modes_differ_as_documented() {
    // (line, ask, auto-edit, auto without sandbox, auto in the sandbox)
    for (line, words) in [
        ("ls", ["allow"; 4]),
        ("cargo test", ["ask", "ask", "allow", "allow"]),
        ("echo x > a", ["ask", "allow", "allow", "allow"]),
        ("echo x > .git/config", ["ask", "ask", "ask", "ask"]),
        ("echo x > /etc/a", ["ask", "ask", "ask", "allow"]),
        ("cat /etc/hosts", ["ask", "ask", "ask", "allow"]),
        ("cat .env", ["ask", "ask", "ask", "allow"]),
        ("rm -rf ~", ["ask", "ask", "ask", "allow"]),
        ("sudo make install", ["ask", "ask", "ask", "allow"]),
        ("curl x | sh", ["ask", "ask", "ask", "allow"]),
        ("echo 'unclosed", ["ask", "ask", "ask", "allow"]),
        ("npm install", ["ask", "ask", "allow", "allow"]),
    ] {
        for (at, expected) in words.into_iter().enumerate() {
            let mode = [Mode::Ask, Mode::AutoEdit, Mode::Auto, Mode::Auto][at];
            let mut judge = judge(mode, "");
            judge.set_sandboxed(at == 3);
            assert_eq!(
                judge.decide(&run(line)).word(),
                expected,
                "{line} {mode:?} {at}"
            );
        }
    }
    let mut judge = judge(Mode::Auto, "[bash]\n'git push *' = 'ask'\n'rm *' = 'deny'");
    judge.set_sandboxed(true);
    assert_eq!(
        judge.decide(&run("git push")).word(),
        "ask",
        "rules hold in the sandbox"
    );
    assert_eq!(judge.decide(&run("rm a")).word(), "deny");
}

#[test]
fn last_match_wins_within_a_layer_and_deny_across_layers() {
    let word = |layers: Vec<RuleLayer>, line: &str| {
        Judge::new(layers, Mode::Ask, place())
            .decide(&run(line))
            .word()
    };
    let one = "[bash]\n'make *' = 'deny'\n'make test *' = 'allow'";
    assert_eq!(word(vec![layer("user", one)], "make test"), "allow");
    assert_eq!(word(vec![layer("user", one)], "make x"), "deny");
    let allow = "[bash]\n'make *' = 'allow'";
    let deny = "[bash]\n'make *' = 'deny'";
    let ask = "[bash]\n'make *' = 'ask'";
    for (a, b) in [
        ("user", "project"),
        ("project", "user"),
        ("session", "user"),
        ("user", "session"),
    ] {
        assert_eq!(
            word(vec![layer(a, allow), layer(b, deny)], "make"),
            "deny",
            "{a} {b}"
        );
    }
    assert_eq!(
        word(vec![layer("user", ask), layer("project", allow)], "make"),
        "ask"
    );
    assert_eq!(
        word(vec![layer("user", allow), layer("project", ask)], "make"),
        "ask"
    );
    assert_eq!(
        word(vec![layer("user", ask), layer("session", allow)], "make"),
        "allow"
    );
    assert_eq!(
        word(vec![layer("user", ask), layer("grants", allow)], "make"),
        "allow"
    );
    assert_eq!(
        word(vec![layer("grants", allow), layer("flags", ask)], "make"),
        "ask"
    );
}

#[test]
fn a_question_says_what_would_happen() {
    let d = ask("cargo add insta --dev");
    assert_eq!(d.sees, ["network", "writes Cargo.toml and Cargo.lock"]);
    assert_eq!(d.pattern.as_deref(), Some("cargo add *"));
    assert_eq!(
        (d.heading.as_str(), d.subject.as_str(), d.dangerous),
        ("Run this command", "cargo add insta --dev", false)
    );
    for (line, sees) in [
        ("rm -rf target", "deletes target"),
        ("git push --force", "overwrites history of the remote"),
        ("curl x | sh", "pipes into a shell"),
        ("sudo ls", "runs as root"),
        ("ls > out", "writes out"),
        ("cat /etc/hosts", "outside the worktree: /etc/hosts"),
        ("cat .env", "may hold secrets: .env"),
        ("wget x", "network"),
        ("npm test", "runs code of this project"),
        ("cp a ../b", "outside the worktree: ../b"),
        ("git fetch", "network"),
        ("tee a b", "writes a, b"),
        (
            "python3 -c 'x'",
            "runs code that stands on the command line",
        ),
        ("bash -c 'curl x'", "network"),
        ("env", "shows the environment"),
    ] {
        let detail = ask(line);
        assert!(
            detail.sees.iter().any(|s| s == sees),
            "{line}: {:?}",
            detail.sees
        );
    }
}

#[test]
fn wide_grants_are_withheld_with_a_reason() {
    for (line, why) in [
        ("curl x | sh", "pipes into a shell"),
        ("make; make install", "several commands in one line"),
        ("make && ls", "several commands in one line"),
        ("make | tail", "a pipeline"),
        ("make > log", "a redirection"),
        ("make $(pwd)", "a command within the command"),
        ("sudo make", "runs as root"),
        ("make &", "runs in the background"),
        ("make \u{202e}x", "hidden character U+202E"),
        ("make 'x", "it can't be read with certainty"),
        ("tee x <<E\na\nE", "text given to the command"),
        ("FOO=1 make", "sets variables"),
        ("python -c x", "runs code that stands on the command line"),
        ("make $X", "its words are only known to the shell"),
    ] {
        let detail = ask(line);
        assert_eq!(
            (detail.pattern, detail.withheld.as_str()),
            (None, why),
            "{line}"
        );
    }
    for line in ["cargo test", "npm run build -- -x", "make test 2>/dev/null"] {
        let detail = ask(line);
        assert!(
            detail.pattern.is_some() && detail.withheld.is_empty(),
            "{line}: {detail:?}"
        );
    }
}

#[test]
fn what_is_offered_covers_what_was_asked() {
    for line in [
        "cargo test -p x",
        "npm run build",
        "make",
        "rm *.o",
        "curl https://a/b?c=*",
        "cat /etc/hosts",
        "./x.sh 'a b'",
        "cat \"/etc/hosts\"",
        "sh /opt/x.sh 1",
        "sh \"/opt/x.sh\" 1",
        "sh '../x.sh'",
        "cat '/opt/a b'",
    ] {
        let detail = ask(line);
        let pattern = detail.pattern.expect("offered");
        let mut judge = judge(Mode::Ask, "");
        judge.grant(
            "session",
            Rule {
                tool: "bash".to_owned(),
                pattern: pattern.clone(),
                action: RuleAction::Allow,
            },
        );
        let v = judge.decide(&run(line));
        assert_eq!(v.word(), "allow", "{line} by {pattern}: {}", v.why());
    }
}

#[test]
fn dangerous_lines_are_not_approved_by_enter() {
    for line in [
        "rm -rf /",
        "rm -rf ~",
        "rm -rf .",
        "rm -rf *",
        "rm -rf $X",
        "rm -r ../x",
        "find . -delete",
        "dd if=a of=/dev/sda",
        "mkfs.ext4 x",
        "git push -f",
        "git push origin +main",
        "git reset --hard",
        "git clean -fd",
        "git checkout .",
        "git branch -D x",
        "git stash clear",
        "chmod -R 777 .",
        "curl x | bash",
        "sudo ls",
        "echo x > /dev/sda",
        "npm publish",
        "shutdown now",
        "kill -9 -1",
        ":(){ :|:& };:x",
        "terraform destroy",
        "git restore .",
        "rm -rf .git",
        "ls; rm -rf ~",
        "bash -c 'rm -rf ~'",
        "xargs rm -rf",
        "env rm -rf /",
        "docker run --privileged x",
        "ls \u{202e}x",
    ] {
        let v = verdict(Mode::Ask, "", line);
        let Verdict::Ask(detail) = v else {
            panic!("{line}: {v:?}")
        };
        assert!(
            detail.dangerous || line.starts_with(':'),
            "{line}: {detail:?}"
        );
    }
    for line in [
        "rm -rf target",
        "rm a",
        "git push",
        "cargo test",
        "git checkout main",
        "find . -name '*.o' -delete",
    ] {
        assert!(!ask(line).dangerous, "{line}");
    }
}

#[test]
fn files_addresses_and_tools_are_judged() {
    let request = |tool: &str, what: What| Request {
        tool: tool.to_owned(),
        what,
        can_write: true,
    };
    let read = |path: &str| request("read", What::Read(PathBuf::from(path)));
    let write = |path: &str| request("edit", What::Write(PathBuf::from(path)));
    let fetch = |url: &str| request("web_fetch", What::Fetch(url.to_owned()));
    let mcp = || request("mcp__gh__issue", What::Other("mcp__gh__issue".to_owned()));
    let ask_mode = judge(Mode::Ask, "");
    for (request, word) in [
        (read("/home/u/w/a"), "allow"),
        (read("/home/u/w/.env"), "ask"),
        (read("/etc/hosts"), "ask"),
        (read("/data/out/x"), "allow"),
        (write("/home/u/w/a"), "ask"),
        (fetch("https://a.b/c"), "ask"),
        (mcp(), "ask"),
    ] {
        assert_eq!(ask_mode.decide(&request).word(), word, "{request:?}");
    }
    let edit = judge(Mode::AutoEdit, "");
    for (path, word) in [
        ("/home/u/w/a", "allow"),
        ("/home/u/w/.git/config", "ask"),
        ("/home/u/w/.dunlin/config.toml", "ask"),
        ("/home/u/x", "ask"),
    ] {
        assert_eq!(edit.decide(&write(path)).word(), word, "{path}");
    }
    let plan = judge(Mode::Plan, "edit = 'allow'\n'mcp__*' = 'allow'");
    assert_eq!(plan.decide(&write("/home/u/w/a")).word(), "deny");
    assert_eq!(plan.decide(&mcp()).word(), "deny");
    let looking = Request {
        can_write: false,
        ..mcp()
    };
    assert_eq!(plan.decide(&looking).word(), "allow");
    let auto = judge(Mode::Auto, "");
    assert_eq!(auto.decide(&write("/home/u/x")).word(), "ask");
    assert_eq!(auto.decide(&mcp()).word(), "ask");
    assert_eq!(auto.decide(&looking).word(), "allow");
    let rules = judge(
        Mode::Ask,
        "[edit]\n'src/*' = 'allow'\n'src/gen/*' = 'deny'\n[read]\n'~/notes/*' = 'allow'\n[web_fetch]\n'https://docs.rs/*' = 'allow'\n['mcp__gh__*']\n'*' = 'deny'",
    );
    for (request, word) in [
        (write("/home/u/w/src/a"), "allow"),
        (write("/home/u/w/src/gen/a"), "deny"),
        (write("/home/u/w/b"), "ask"),
        (read("/home/u/notes/a"), "allow"),
        (fetch("https://docs.rs/x"), "allow"),
        (fetch("https://docs.rs.evil/x"), "ask"),
        (mcp(), "deny"),
    ] {
        assert_eq!(rules.decide(&request).word(), word, "{request:?}");
    }
    let Verdict::Ask(detail) = ask_mode.decide(&fetch("https://a.b/c?d")) else {
        panic!()
    };
    assert_eq!(detail.pattern.as_deref(), Some("https://a.b/*"));
    let Verdict::Ask(detail) = ask_mode.decide(&write("/home/u/w/src/a/b.rs")) else {
        panic!()
    };
    assert_eq!(
        (detail.subject.as_str(), detail.pattern.as_deref()),
        ("src/a/b.rs", Some("src/a/*"))
    );
}

#[test]
fn links_out_of_the_worktree_are_followed() {
    let mut place = place();
    place.sight = Some(Sight {
        resolve: |path| {
            if path == Path::new("/home/u/w/link") {
                PathBuf::from("/etc/passwd")
            } else {
                path.to_owned()
            }
        },
        entries: |_| Some(Vec::new()),
        exists: |_| true,
        git_link: |_| None,
    });
    let judge = Judge::new(Vec::new(), Mode::Ask, place);
    assert_eq!(judge.decide(&run("cat link")).word(), "ask");
    assert_eq!(judge.decide(&run("cat other")).word(), "allow");
}

#[test]
fn deep_and_long_lines_end_in_a_question() {
    for line in [
        "$(".repeat(5_000),
        "(".repeat(5_000),
        "echo ".repeat(20_000),
        "echo $(echo ".repeat(300) + &")".repeat(300),
        "ls;".repeat(3_000),
        "\"".repeat(999),
        "bash -c 'bash -c \"".repeat(40),
        "{a,b}".repeat(400),
        "a=$a$a;".repeat(200) + "cat $a",
    ] {
        let v = verdict(Mode::Ask, "", &line);
        assert_ne!(v.word(), "deny", "{}", line.get(..20).unwrap_or(&line));
    }
    assert_eq!(verdict(Mode::Ask, "", &"(".repeat(5_000)).word(), "ask");
}

/// Lines that are complete in themselves: nothing after them is taken in.
fn complete() -> impl Strategy<Value = String> {
    let simple = prop::sample::select(vec![
        "ls",
        "cat a",
        "echo 'x;y'",
        "echo \"a $b\"",
        "x=1",
        "cd src",
        "true",
        "[ -f a ]",
        "(ls)",
        "{ ls; }",
        "for f in a b; do ls $f; done",
        "if true; then ls; fi",
        "ls | wc",
        "ls > /dev/null",
        "cat <<< x",
        "f() { ls; }",
        "[[ a == b ]]",
        "((1+1))",
        "echo $(ls)",
        "echo `ls`",
        "case x in x) ls;; esac",
        "export A=b",
        "echo a\\;b",
        "cat <(ls)",
        "unset x",
        "! ls",
        "ls {a,b}",
        "echo $'a\\'b'",
        "while false; do ls; done",
        "cat <<E\nx\nE\n",
        "echo ${x:-y}",
        "echo \"${x}\"'y'z",
        "time ls",
    ]);
    let joint = prop::sample::select(vec!["; ", " && ", " || ", " | ", "\n", " & ", ";"]);
    prop::collection::vec((simple, joint), 1..4).prop_map(|parts| {
        let mut out = String::new();
        for (simple, joint) in parts {
            out.push_str(simple);
            out.push_str(if simple.ends_with('\n') { "" } else { joint });
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_line_makes_it_panic(line in "([a-z\"'`$(){}\\[\\];|&<>\\\\ \n#*?~!=/-]|rm|cat|<<E|\\$\\(|if |do|bash -c){0,40}") {
        for mode in Mode::ALL {
            verdict(mode, "[bash]\n'rm *' = 'deny'", &line);
        }
    }

    #[test]
    fn what_goes_before_a_command_never_loosens_it(
        before in complete(),
        command in prop::sample::select(vec!["rm -rf /", "curl x | sh", "sudo ls", "cat /etc/shadow", "touch x", "git push -f"]),
        rules in prop::sample::select(vec!["", "[bash]\n'rm *' = 'deny'", "bash = 'allow'"]),
        mode in prop::sample::select(Mode::ALL.to_vec()),
    ) {
        let alone = verdict(mode, rules, command).strictness();
        let line = format!("{before}{command}");
        let together = verdict(mode, rules, &line);
        prop_assert!(together.strictness() >= alone, "{:?} {} {}", line, together.word(), together.why());
    }

    #[test]
    fn what_goes_after_a_command_never_loosens_it(after in complete()) {
        let line = format!("rm -rf ~; {after}ls");
        prop_assert_eq!(verdict(Mode::Ask, "[bash]\n'rm *' = 'deny'", &line).word(), "deny");
        let line = format!("touch x && {after}ls");
        prop_assert!(verdict(Mode::Ask, "", &line).strictness() >= 1);
    }

    #[test]
    fn quoting_changes_nothing(at in 0_usize..2, quote in prop::sample::select(vec!["\\", "''", "\"\""])) {
        let (head, tail) = "rm".split_at(at);
        let line = format!("{head}{quote}{tail} -rf x");
        prop_assert_eq!(verdict(Mode::Auto, "[bash]\n'rm *' = 'deny'", &line).word(), "deny", "{}", line);
    }
}

#[test]
fn a_redirect_into_a_worktree_that_lies_in_a_temporary_folder_asks() {
    let place = Place {
        worktree: PathBuf::from("/tmp/work"),
        temp: vec![PathBuf::from("/tmp")],
        ..Place::default()
    };
    let ask = |command: &str| {
        let judge = Judge::new(Vec::new(), Mode::Ask, place.clone());
        let what = What::Command {
            command: command.to_owned(),
            cwd: "/tmp/work".into(),
        };
        judge
            .decide(&Request {
                tool: "bash".to_owned(),
                what,
                can_write: true,
            })
            .word()
    };
    assert_eq!(ask("echo x >> log"), "ask");
    assert_eq!(ask("echo x > /tmp/other"), "ask");
    assert_eq!(ask("cat ../x"), "ask");
    assert_eq!(ask("cd .. && cat x"), "ask");
}
