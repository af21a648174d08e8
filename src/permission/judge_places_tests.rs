//! Holes that depend on what is on the disk: patterns, links, repositories, temporary folders.

use super::*;

/// A worktree with links, a submodule and a folder that looks like a repository.
fn seen() -> Place {
    fn resolve(path: &Path) -> PathBuf {
        let text = path.to_string_lossy().into_owned();
        let led = text
            .strip_prefix("/home/u/w/links/etc")
            .map(|rest| format!("/etc{rest}"))
            .or_else(|| (text == "/home/u/w/pw").then(|| "/etc/passwd".to_owned()));
        led.map_or_else(|| path.to_owned(), PathBuf::from)
    }
    fn entries(path: &Path) -> Option<Vec<(String, Kind)>> {
        let names: &[(&str, Kind)] = match path.to_str()? {
            "/home/u/w" => &[
                ("a.txt", Kind::File),
                ("-o", Kind::File),
                ("pw", Kind::Link),
                (".env", Kind::File),
                ("src", Kind::Folder),
                ("links", Kind::Folder),
                ("secret", Kind::Folder),
                ("many", Kind::Folder),
            ],
            "/home/u/w/src" => &[("b.rs", Kind::File), ("c.rs", Kind::File)],
            "/home/u/w/secret" => &[("a", Kind::File), ("server.key", Kind::File)],
            "/home/u/w/links" => &[("etc", Kind::Link), ("in", Kind::Link)],
            "/home/u/w/many" => return None,
            _ => &[],
        };
        Some(names.iter().map(|(n, k)| ((*n).to_owned(), *k)).collect())
    }
    fn exists(path: &Path) -> bool {
        let text = path.to_string_lossy();
        [
            "/.git",
            "/bare/HEAD",
            "/bare/objects",
            "/bare/refs",
            "/nested/.git",
            "/sub/.git",
        ]
        .iter()
        .any(|p| text == format!("/home/u/w{p}"))
            || !text.contains(".git")
                && !text.ends_with("HEAD")
                && !text.ends_with("objects")
                && !text.ends_with("refs")
    }
    Place {
        sight: Some(Sight {
            resolve,
            entries,
            exists,
            git_link: |path| {
                path.starts_with("/home/u/w/sub")
                    .then(|| PathBuf::from("/home/u/w/.git/modules/sub"))
            },
        }),
        ..place()
    }
}

#[test]
fn patterns_and_links_are_judged_by_what_is_there() {
    for (line, word) in [
        ("cat a.txt", "allow"),
        ("cat pw", "ask"),
        ("cat src/*.rs", "allow"),
        ("wc -l src/*", "allow"),
        ("cat *", "ask"),
        ("cat ?w", "ask"),
        ("cat [op]w", "ask"),
        ("cat links/*/passwd", "ask"),
        ("for f in *; do cat \"$f\"; done", "ask"),
        ("for f in src/*; do cat \"$f\"; done", "allow"),
        ("sort *.txt", "allow"),
        ("sort -- -*", "allow"),
        ("sort *o", "ask"),
        ("cat .e*", "ask"),
        ("cat .*", "ask"),
        ("cat secret/*", "ask"),
        ("cat many/*", "ask"),
        ("cat [[:alpha:]]w", "ask"),
        ("ls *", "ask"),
        ("echo *", "allow"),
        ("grep -R root .", "ask"),
        ("grep -R x src", "allow"),
        ("grep -r x .", "allow"),
        ("rg -L x", "ask"),
        ("rg x", "allow"),
        ("find -L . -name passwd", "ask"),
        ("find . -follow -name passwd", "ask"),
        ("find -L src -name passwd", "allow"),
        ("find . -name pw -exec cat {} +", "ask"),
        ("find . -type f -name pw -exec cat {} +", "allow"),
        ("find src -name pw -exec cat {} +", "allow"),
        ("tree -l", "ask"),
        ("diff -r . src", "ask"),
        ("cat < pw", "ask"),
        ("cat < p*", "ask"),
        ("cd links/etc && cat passwd", "ask"),
        ("cat links/etc/passwd", "ask"),
    ] {
        let v = word_in(seen(), Mode::Ask, line);
        assert_eq!(v.word(), word, "{line}: {}", v.why());
    }
}

#[test]
fn git_is_trusted_in_the_worktrees_own_repository_only() {
    for (line, word) in [
        ("git status", "allow"),
        ("cd src && git log", "allow"),
        ("git -C src diff", "allow"),
        ("cd sub && git status", "allow"),
        ("git --git-dir=.git log", "allow"),
        ("cd bare && git status", "ask"),
        ("git -C bare status", "ask"),
        ("git --git-dir=bare status", "ask"),
        ("cd nested && git status", "ask"),
        ("git -C nested/x log", "ask"),
        ("cd $x && git status", "ask"),
    ] {
        let v = word_in(seen(), Mode::Ask, line);
        assert_eq!(v.word(), word, "{line}: {}", v.why());
    }
}

#[test]
fn rules_hold_through_options_and_patterns() {
    let layer = |text: &str| RuleLayer {
        owner: "user".to_owned(),
        rules: crate::config::rules::read_file(text).expect("rules"),
    };
    let word = |rules: &str, line: &str| {
        let judge = Judge::new(vec![layer(rules)], Mode::Auto, seen());
        judge
            .decide(&Request {
                tool: "bash".to_owned(),
                what: What::Command {
                    command: line.to_owned(),
                    cwd: PathBuf::from("/home/u/w"),
                },
                can_write: true,
            })
            .word()
    };
    let push = "[bash]\n'*' = 'allow'\n'git push *' = 'deny'";
    for line in [
        "git push",
        "git -C . push",
        "git --no-pager push origin x",
        "git -c a=b push",
        "git --git-dir=.git push",
        "/usr/bin/git -P push",
    ] {
        assert_eq!(word(push, line), "deny", "{line}");
    }
    assert_eq!(word(push, "git -C . log"), "allow");
    let files = "[bash]\n'*' = 'allow'\n[read]\n'secret/*' = 'deny'";
    for line in ["cat secret/a", "cat sec*/a", "cat */a", "cat secre?/*"] {
        assert_eq!(word(files, line), "deny", "{line}");
    }
    assert_eq!(word(files, "cat src/*"), "allow");
}

#[test]
fn temporary_folders_are_read_but_written_only_where_the_sandbox_stands_guard() {
    let word = |mode: Mode, sandboxed: bool, line: &str| {
        let place = Place {
            sandboxed,
            ..place()
        };
        word_in(place, mode, line).word()
    };
    assert_eq!(word(Mode::Ask, true, "cat /tmp/x"), "allow");
    assert_eq!(word(Mode::Ask, true, "echo hi > /tmp/x"), "ask");
    assert_eq!(word(Mode::AutoEdit, true, "echo hi > /tmp/x"), "ask");
    assert_eq!(word(Mode::AutoEdit, true, "echo hi > x"), "allow");
    assert_eq!(word(Mode::Auto, false, "echo hi > /tmp/x"), "ask");
    assert_eq!(word(Mode::Auto, true, "echo hi > /tmp/x"), "allow");
    let write = |mode: Mode, sandboxed: bool, path: &str| {
        let place = Place {
            sandboxed,
            ..place()
        };
        Judge::new(Vec::new(), mode, place)
            .decide(&Request {
                tool: "write".to_owned(),
                what: What::Write(PathBuf::from(path)),
                can_write: true,
            })
            .word()
    };
    assert_eq!(write(Mode::Ask, true, "/tmp/x"), "ask");
    assert_eq!(write(Mode::AutoEdit, true, "/tmp/x"), "ask");
    assert_eq!(write(Mode::Auto, false, "/tmp/x"), "ask");
    assert_eq!(write(Mode::Auto, true, "/tmp/x"), "allow");
    assert_eq!(write(Mode::Auto, true, "/etc/x"), "ask");
}

#[test]
fn lines_that_run_or_read_what_nobody_sees_ask() {
    let lines = [
        "test -v 'a[$(touch x)]'",
        "read x < inj.txt; echo $((x))",
        "read x < inj.txt; [[ $x -eq 0 ]]",
        "while read l; do [[ $l -gt 3 ]] && echo big; done < inj.txt",
        "read 'a[$(touch x)]' < a.txt",
        "mapfile arr <inj.txt; echo $((arr[0]))",
        "x=$(cat inj.txt); echo $((x))",
        "x=$(cat inj.txt); [[ x -gt 1 ]]",
        "printf '%s' $((`cat inj.txt`))",
        "echo ${y[$(cat inj.txt)]}",
        "RANDOM='a[$(touch x)]'; ls",
        "declare -i i; read i < inj.txt",
        "hash -p ./evil ls; ls",
        "jobs -x touch x",
        "git --git-dir=sub status",
        "git --git-dir sub log",
        "sort --o sorted a.txt",
        "sort --out=sorted a.txt",
        "file -C -m a.txt",
        "file --compile -m a.txt",
        "xxd a.txt out",
        "tar tfI x.tar ./evil",
        "cloc --out=x .",
        "scc -o x",
        "jq -n env",
        "jq -n '$ENV'",
        "jq -L lib 'import \"x\" as x; .' a.json",
        "find -L . -name passwd",
        "find . -follow -name passwd",
        "grep -R root: .",
        "grep --dereference-rec root: .",
        "rg --follow root .",
        "date -f /etc/passwd",
        "du --files0-from=/etc/x",
        "wc --files0-from=/etc/x",
        "echo hi > /tmp/x",
    ];
    let wrong: Vec<&str> = lines
        .into_iter()
        .filter(|line| word_in(place(), Mode::Ask, line).word() != "ask")
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for line in [
        "echo $((1 + 2))",
        "if [[ -n $(git status) ]]; then ls; fi",
        "jq .a a.json",
        "xxd a.txt",
        "tar tf x.tar",
    ] {
        let v = word_in(place(), Mode::Ask, line);
        assert_eq!(v.word(), "allow", "{line}: {}", v.why());
    }
}
