//! Lines that look as if they only read, and ordinary ones that must not nag: each hole that was ever
//! found stands here by name.

use std::path::{Path, PathBuf};

use super::*;
use crate::permission::place::{Kind, Sight};

fn place() -> Place {
    Place {
        worktree: PathBuf::from("/home/u/w"),
        temp: vec![PathBuf::from("/tmp")],
        home: PathBuf::from("/home/u"),
        ..Place::default()
    }
}

fn word_in(place: Place, mode: Mode, line: &str) -> Verdict {
    let layers = Vec::new();
    Judge::new(layers, mode, place).decide(&Request {
        tool: "bash".to_owned(),
        what: What::Command {
            command: line.to_owned(),
            cwd: PathBuf::from("/home/u/w"),
        },
        can_write: true,
    })
}

/// Each of these runs code, writes, or shows what lies outside; none may run unasked in ask or plan.
const HOLES: &[&str] = &[
    // here-documents and backquotes
    "cat <<E\n`rm -rf ~`\nE",
    "cat <<E\nx `rm x` y\nE",
    "cat <<-E\n\t`touch p`\n\tE",
    "cat <<-E\n\t$(touch p)\n\tE",
    "cat <<- E\n  $(rm x)\nE",
    "cat <<E\nx \\\nE\n: '\nE\nrm -rf ~ #'",
    "cat <<E\n$\\\n(touch p)\nE",
    "echo \"$\\\n(touch p)\"",
    "echo $\\\n(touch p)",
    "echo `echo \\`touch p\\` `",
    "case x in `echo \\`touch p\\``) ;; esac",
    "set -- `echo \\`touch p\\``",
    "ls `echo '` ; touch p; echo `'`",
    // redirections in tests, and names of descriptors
    "[ x > victim ]",
    "[ a > .git/config ]",
    "[ x < /etc/passwd ]",
    "[ a ] > victim",
    "ls {PATH}<a; ls",
    // arithmetic runs what values hold
    "test -v 'a[$(touch p)]'",
    "[ -v 'a[$(touch p)]' ]",
    "[[ -v 'a[$(touch p)]' ]]",
    "[[ -v a[$(touch p)] ]]",
    "read x < inj; echo $((x))",
    "read x < inj; echo $[x]",
    "read x < inj; [[ $x -eq 0 ]]",
    "read x < inj; [[ 1 -lt x ]]",
    "read x < inj; ((x > 1))",
    "read x < inj; echo ${y:x}",
    "read x < inj; echo ${y:0:x}",
    "read x < inj; echo ${y[x]}",
    "read x < inj; [ $x ]",
    "read x < inj; test $x",
    "read x < inj; read y < inj; [ \"$x\" \"$y\" ]",
    "read x < inj; read y < inj; test \"$x\" \"$y\"",
    "read x < inj; printf \"$x\" \"$y\"",
    "read x < inj; printf $x",
    "while read l; do [[ $l -gt 3 ]] && echo big; done < inj",
    "for i in $(cat inj); do echo $((i + 1)); done",
    "for ((i = 0; i < $(cat inj); i++)); do ls; done",
    "read n < inj; for ((i = 0; i < n; i++)); do ls; done",
    "mapfile arr < inj; echo $((arr[0]))",
    "readarray -t a < inj; echo $((a))",
    "x=$(cat inj); echo $((x))",
    "x=$(cat inj); [[ x -gt 1 ]]",
    "x=$(cat inj); y=x; echo $((y))",
    "echo ${y[$(cat inj)]}",
    "printf '%s' $((`cat inj`))",
    "echo $(($(cat inj)))",
    "i=$(cat inj); a=([i]=1)",
    "read < inj; echo $((REPLY))",
    "f() { echo $(($1)); }; f \"$(cat inj)\"",
    "echo $((PATH=5)); ls",
    "let 'x=a[$(touch p)]'",
    "declare -i i; read i < inj",
    "local -i i; read i < inj",
    "typeset -i i; i='a[$(touch p)]'",
    "declare -n r=PATH; r=.; ls",
    "RANDOM='a[$(touch p)]'; ls",
    "SECONDS='a[$(touch p)]'; ls",
    "for RANDOM in 'a[$(touch p)]'; do ls; done",
    "read 'a[$(touch p)]' < a",
    "read -a 'a[$(touch p)]' < a",
    "unset 'a[$(touch p)]'",
    "wait -p 'a[$(touch p)]'",
    "printf -v 'a[$(touch p)]' x",
    // variables that lead elsewhere
    "read PATH < inj; ls",
    "mapfile PATH < inj; ls",
    "for PATH in .; do ls; done",
    ": ${PATH:=.}; ls",
    ": ${CDPATH:=/etc}; cd ssl && cat x",
    "f=; : ${f:=/etc/passwd}; cat $f",
    "export PATH=.; ls",
    "PATH=. ls",
    "_JAVA_OPTIONS=x java --version",
    "GCONV_PATH=. ls",
    "set -a; FOO=1; ls",
    "set -k; ls",
    "shopt -s extglob; ls",
    "shopt -s expand_aliases; ls",
    "alias ls=./evil",
    "hash -p ./evil ls; ls",
    "enable -f ./evil.so evil",
    "complete -C ./evil ls",
    "bind -x '\"a\":./evil'",
    "trap 'touch p' EXIT",
    "jobs -x touch p",
    "history -w p",
    "coproc touch p",
    "source ./x",
    "eval \"$x\"",
    "command -p touch p",
    "builtin printf -v x y",
    "exec ./evil",
    "fc -s touch",
    "compgen -C ./evil",
    // functions and programs of the same name
    "if false; then cat() { :; }; fi; cat /etc/passwd",
    "rm x; rm() { :; }",
    "rm() { :; } & rm x",
    "true && rm() { :; } ; unset -f rm; rm x",
    "rm() { :; }; unset -f rm; rm x",
    "cd() { :; }; cd src && cat ../x",
    "case x in x) rm a ;& y) ls;; esac",
    // expansion
    "cat .en{v..v}",
    "cat {A..z}",
    "cat ~root/x",
    "cat $'/etc/pass\\x77d'",
    "cat $'\\056\\056/x'",
    "cat$IFS/etc/passwd",
    "c\\\nat /etc/passwd",
    "cat /e\\\ntc/passwd",
    "x=(/etc/passwd); cat ${x[0]}",
    "cat \"${x:-/etc/passwd}\"",
    "cat <(touch p)",
    "echo ${x:-<(touch p)}",
    "echo \"${x:->(touch p)}\"",
    "cat <<< \"$(touch p)\"",
    "[[ a =~ $(touch p) ]]",
    // flags, their beginnings and their values
    "sort --o sorted a",
    "sort --outpu=sorted a",
    "sort -osorted a",
    "sort -uo sorted a",
    "sort -T . a",
    "sort --compress-prog=./x a",
    "sort --files0-from=a",
    "sort --random-source=/etc/passwd a",
    "file -C -m a",
    "file --compile",
    "file -f /etc/passwd",
    "file -f list",
    "file -m evil a",
    "xxd a out",
    "xxd -ps a out",
    "xxd -r a out",
    "xxd -revert a out",
    "xxd -s 1 a out",
    "uniq a out",
    "uniq -c a out",
    "tar tfI x.tar ./evil",
    "tar tfF x.tar ./evil",
    "tar -tf x.tar -I ./evil",
    "tar -tf x.tar --use-compress-program=./evil",
    "tar -tf x.tar --checkpoint-action=exec=./x",
    "tar -tf host:x.tar",
    "tar tf host:x.tar",
    "tar -tf x.tar --index-file=out",
    "cloc --out=x .",
    "cloc --extract-with=./x a",
    "scc -o x",
    "date -f /etc/passwd",
    "date -f list",
    "date -s now",
    "date --se now",
    "date 010100002030",
    "hostname evil",
    "hostname -F a",
    "du --files0-from=/etc/x",
    "du --files0-from=x",
    "wc --files0-from=/etc/x",
    "wc --files0=x",
    "jq -n env",
    "jq -n '$ENV'",
    "jq -n '$ENV.X'",
    "jq '[env]' a",
    "jq -n 'import \"a\" as a; 1'",
    "jq -f prog a",
    "jq --from-file prog a",
    "jq -L . x a",
    "jq --slurpfile a /etc/passwd . a",
    "tree -o out",
    "tree -R -H . -L 2",
    "tree --output out",
    "diff --from-file=/etc/passwd a",
    "diff3 --diff-program=./x a b c",
    "sdiff -o out a b",
    "diff -l a b",
    "rg --pre ./x foo",
    "rg --pre=./x foo",
    "rg -z foo",
    "rg --hostname-bin ./x foo",
    "rg -f /etc/passwd x",
    "fd -x rm",
    "fd -HX rm",
    "fd --exec rm",
    "fd --exec-batch rm",
    "fd . --base-directory /etc",
    "fd -l",
    "grep -f /etc/passwd a",
    "grep --file=/etc/passwd a",
    "grep --color x /etc/passwd",
    "grep --exclude-from=/etc/passwd x a",
    "strings @list",
    "zgrep x a",
    "find . -exec touch p \\;",
    "find . -execdir touch p \\;",
    "find . -ok touch p \\;",
    "find . -delete",
    "find . -fprint p",
    "find . -fprintf p x",
    "find . -fls p",
    "find . -files0-from list",
    "find . -name x -exec sh -c 'touch {}' \\;",
    "find . -unknown-test",
    "sed -i s/a/b/ f",
    "sed --in-place s/a/b/ f",
    "sed --in s/a/b/ f",
    "sed -s -i s/a/b/ f",
    "sed 'w out' f",
    "sed 's/a/b/w out' f",
    "sed '1e touch p' f",
    "sed 's/x/y/e' f",
    "sed -f prog f",
    "sed '\\%x%w out' f",
    "awk 'BEGIN{system(\"x\")}'",
    "awk '{print > \"p\"}' a",
    "awk '{print | \"sh\"}' a",
    "awk '{\"cmd\" | getline}' a",
    "awk 'BEGIN{print SYMTAB[\"ENV\" \"IRON\"][\"X\"]}'",
    "awk -f prog a",
    "gawk -i inplace '{print}' a",
    "gawk -l ./x '{print}' a",
    "mawk -W exec=x",
    "ls | xargs touch",
    "ls | xargs -I% sh -c 'cat %'",
    "ls | xargs -I{} bash -c \"wc {}\"",
    "ls | xargs -i sh -c 'cat {}'",
    "xargs -a /etc/passwd echo",
    "xargs --arg-file=/etc/passwd",
    "xargs --process-slot-var=PATH ls",
    "/usr/bin/time --output=p ls",
    "/usr/bin/time -op ls",
    "/usr/bin/time -o p ls",
    "command time --append --output=p ls",
    "env -S 'touch p'",
    "env -C /etc ls",
    "env 'BASH_FUNC_ls%%=() { ./evil; }' bash -c ls",
    "env A=b",
    "busybox sort -o p a",
    "xvfb-run -e p ls",
    "stdbuf --unknown ls",
    "timeout --unknown 5 ls",
    "watch -s ls",
    "time -o p ls",
    "yarn --version",
    "pnpm --version",
    "mvn --version",
    "less a",
    "more a",
    "man ls",
    "vi a",
    "ed a",
    "tee p",
    "split a",
    "csplit a 1",
    "dd if=a of=p",
    "make -n",
    "npm ls",
    "cargo tree",
    "python -c 'x'",
    "node -p 1",
    "perl -ne 'print' a",
    "ruby -e 1",
    "yq -i .a x",
    "ip a",
    "curl x",
    "ssh h",
    "bat a",
    "zip a b",
    // git
    "git -c core.fsmonitor=./x status",
    "git --config-env=core.pager=X log",
    "git --exec-path=. status",
    "git --git-dir=sub status",
    "git --git-dir sub status",
    "git --work-tree=/etc status",
    "git diff --outpu=p",
    "git diff --output p",
    "git log --ext-diff",
    "git log --textconv",
    "git show --textconv x",
    "git cat-file --textconv HEAD:a",
    "git cat-file --filters HEAD:a",
    "git grep -O x",
    "git grep --open-files-in-pager=./x x",
    "git grep -f /etc/passwd",
    "git fsck --lost-found",
    "git help -w x",
    "git help --web x",
    "git ls-remote --upload-pack=./x .",
    "git archive HEAD -o p",
    "git alias",
    "git bisect run ./x",
    "git submodule foreach ls",
    "git blame --contents /etc/passwd a",
    "git diff --no-index a b",
    "git diff /etc/passwd /etc/shadow",
    "git branch -m x",
    "git branch --edit-description",
    "git tag -d x",
    "git config --edit",
    "git config alias.x y",
    "git stash pop",
    "git reflog expire",
    "git notes add",
    "git worktree add x",
    "git -P -c a=b log",
    "git log $(cat inj)",
    "git diff $x",
];

/// What people and models type all day; none of it may be asked, in ask or in plan.
const ORDINARY: &[&str] = &[
    "ls",
    "ls -la",
    "ls -lah --color=auto src",
    "ls -1 | wc -l",
    "cat README.md",
    "cat -n src/main.rs | head -50",
    "head -20 a.txt",
    "head -n 5 a.txt b.txt",
    "head -c 100 a.txt",
    "tail -5 a.log",
    "tail -n +10 a.log",
    "tail -n 20 a.log | grep -i error",
    "wc -l src/*.rs",
    "find . -name '*.rs' | xargs -n1 echo",
    "find . -name '*.rs' -type f | wc -l",
    "find . -type f -name '*.toml' -not -path './target/*'",
    "find src -maxdepth 2 -type d",
    "find . -mtime -1 -size +10k -print",
    "find . -name '*.rs' -exec grep -n foo {} +",
    "find . -name '*.rs' -exec wc -l {} \\;",
    "find . \\( -name a -o -name b \\) -prune -o -print",
    "grep -rn TODO src",
    "grep -rn --include='*.rs' 'fn main' .",
    "grep -E 'a|b' a.txt",
    "grep -c x a.txt",
    "grep -A3 -B 2 x a.txt",
    "grep -v '^#' a.txt | sort -u",
    "grep -oP '\\d+' a.txt",
    "rg foo",
    "rg -n foo src",
    "rg -l --type rust foo | sort",
    "rg -C 3 'fn .*new' src/lib.rs",
    "rg --files | head",
    "rg -g '*.rs' -i foo",
    "fd -e rs",
    "fd main src -t f",
    "sort a | uniq -c | sort -rn | head",
    "sort -t, -k2 -n a.csv",
    "cut -d: -f1 a.txt",
    "cut -c1-80 a.txt",
    "tr -d '\\r' < a.txt",
    "sed -n '10,20p' a.txt",
    "sed -n -e 1p -e 3p a.txt",
    "sed 's/foo/bar/g' a.txt | head",
    "sed -E 's/(a)(b)/\\2\\1/' a.txt",
    "awk '{print $1}' a.txt",
    "awk -F, 'NR==1 {print NF}' a.csv",
    "awk '/x/ {n++} END {print n}' a.txt",
    "jq . package.json",
    "jq -r '.scripts | keys[]' package.json",
    "jq --arg n x '.a[$n]' a.json",
    "jq '.env' a.json",
    "diff a b",
    "diff -u a b | head",
    "stat -c %s a",
    "file a.bin",
    "du -sh src",
    "du -h --max-depth=1 .",
    "tree -L 2 -a",
    "xxd a.bin | head",
    "xxd -l 16 a.bin",
    "od -c a.bin | head",
    "md5sum a",
    "sha256sum a b",
    "base64 -d a",
    "strings a.bin | head",
    "column -t -s, a.csv",
    "nl a",
    "paste -d, a b",
    "comm -12 a b",
    "tar -tzf a.tgz",
    "tar tvf a.tar",
    "unzip -l a.zip",
    "unzip -p a.zip x",
    "git status",
    "git status -s",
    "git status --short --branch",
    "git status --porcelain",
    "git diff",
    "git diff --stat",
    "git diff --cached",
    "git diff --name-only main...HEAD",
    "git diff -w HEAD~1 -- src/main.rs",
    "git log --oneline -5",
    "git log --oneline --graph --all | head -20",
    "git log -p --follow src/main.rs",
    "git log --since=yesterday --author=x --format='%h %s'",
    "git log -n 3 --stat",
    "git show HEAD",
    "git show --stat HEAD~2",
    "git show HEAD:src/main.rs | head -30",
    "git blame -L 1,20 src/main.rs",
    "git branch",
    "git branch -vv",
    "git branch --show-current",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --show-toplevel",
    "git ls-files",
    "git ls-files '*.rs' | wc -l",
    "git remote -v",
    "git tag -l",
    "git stash list",
    "git describe --tags --always",
    "git shortlog -sn",
    "git grep -n foo",
    "git --no-pager log -3",
    "git -C src log -1",
    "git config --get user.email",
    "git merge-base main HEAD",
    "git rev-list --count HEAD",
    "git cat-file -p HEAD",
    "git ls-tree -r HEAD --name-only",
    "cd src && ls -la",
    "cd src && git status",
    "pwd; ls",
    "echo \"files: $(ls | wc -l)\"",
    "for f in a b c; do wc -l \"$f\"; done",
    "for i in 1 2 3; do echo $((i * 2)); done",
    "for i in {1..3}; do echo $i; done",
    "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i + 1)); done",
    "n=$(ls | wc -l); echo $((n + 1))",
    "if [ $(ls | wc -l) -gt 3 ]; then echo many; fi",
    "if [ -f a ] && [ -d src ]; then cat a; fi",
    "[[ -f a && ! -d b ]] && echo yes",
    "[[ $x == y ]] || echo no",
    "[ -n \"$HOME\" ] && echo home",
    "test -f a && cat a || echo none",
    "while read -r line; do echo \"$line\"; done < a.txt",
    "cat a.txt | while IFS= read -r l; do echo \"$l\"; done",
    "x=a.txt; cat \"$x\"",
    "echo ${x:-default} ${#x}",
    "set -euo pipefail; ls",
    "printf '%s\\n' a b",
    "printf '%-10s %s\\n' \"$a\" \"$b\"",
    "date",
    "date +%Y-%m-%d",
    "date -u -Iseconds",
    "hostname",
    "whoami",
    "uname -a",
    "which cargo node python3",
    "command -v rg",
    "type ls",
    "ps aux | grep foo",
    "df -h .",
    "free -m",
    "nproc",
    "env LC_ALL=C sort a",
    "LC_ALL=C sort a",
    "timeout 10 rg foo",
    "timeout -k 5 10s ls",
    "nice -n 10 wc -l a",
    "time ls",
    "ls 2>/dev/null | head",
    "ls -la > /dev/null 2>&1; echo $?",
    "cat <<'E'\n`x` $(y)\nE",
    "cat <<E\nhello $USER\nE",
    "echo `pwd`",
    "ls -la \\\n  src",
    "cargo --version && rustc --version",
    "node --version; npm -v",
    "sleep 1; ls",
    "true && false || :",
    "ls src/{a,b}.rs",
    "basename \"$PWD\"",
    "readlink -f a",
    "f() { ls; }; f",
];

#[test]
fn nothing_that_looks_like_reading_runs_code_or_writes_unasked() {
    let mut wrong = Vec::new();
    for line in HOLES {
        for mode in [Mode::Ask, Mode::Plan, Mode::AutoEdit] {
            let v = word_in(place(), mode, line);
            let writes = mode == Mode::AutoEdit && *line == "[ a ] > victim";
            if v.word() == "allow" && !writes {
                wrong.push(format!("{mode:?} {line:?}: {}", v.why()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}: {wrong:#?}",
        wrong.len(),
        HOLES.len()
    );
    assert!(HOLES.len() > 200);
}

#[test]
fn ordinary_reading_is_never_asked() {
    let mut wrong = Vec::new();
    for line in ORDINARY {
        for mode in [Mode::Ask, Mode::Plan] {
            let v = word_in(place(), mode, line);
            if v.word() != "allow" {
                wrong.push(format!("{mode:?} {line:?}: {} {}", v.word(), v.why()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(ORDINARY.len() >= 100);
}

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
