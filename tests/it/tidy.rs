//! The rules of the house, checked: who imports whom, file sizes, headers, where foreign types live.
//!
//! The table is docs/architecture.md's; a new arrow is a decision, not an accident.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Module, and what it may import. `agent` may import everything below the front ends.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("config", &["protocol"]),
    ("permission", &["protocol", "config"]),
    // Of `model` only the words of a request: see `context_sees_only_the_request_words`.
    ("context", &["protocol", "config", "model"]),
    ("model", &["protocol", "config"]),
    ("sandbox", &["protocol", "config"]),
    // Of `model` only its HTTP clients.
    ("web", &["protocol", "config", "model"]),
    ("tools", &["protocol", "config", "sandbox", "web"]),
    // Of `model` only its HTTP clients; its tools are `tools`' tools.
    ("mcp", &["protocol", "config", "model", "tools"]),
    ("session", &["protocol", "config"]),
    ("snapshot", &["protocol", "config"]),
    (
        "agent",
        &[
            "protocol",
            "config",
            "permission",
            "context",
            "model",
            "tools",
            "session",
            "snapshot",
        ],
    ),
    ("tui", &["protocol", "config"]),
    ("headless", &["protocol", "config"]),
];

/// Modules at the top that put everything together.
const MAY_IMPORT_ANYTHING: &[&str] = &["app", "cli", "error", "main", "lib"];

/// Crates that only one place may name.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("sled::", &["src/session/db.rs", "src/session/db/"]),
    ("git2::", &["src/snapshot/repo.rs", "src/snapshot/repo/"]),
    ("reqwest::", &["src/model/", "src/web/"]),
    ("crossterm::", &["src/tui/"]),
    ("rmcp::", &["src/mcp/"]),
];

const NO_SUCH_FOLDERS: &[&str] = &[
    "util", "utils", "common", "helpers", "manager", "core", "misc",
];
const LONGEST_FILE: usize = 800;
const LONGEST_SWITCHBOARD: usize = 800;

struct Source {
    /// Relative to the project, with slashes.
    name: String,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join("src"), &mut found);
    assert!(found.len() > 50, "the sources were not found");
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = path
                .file_name()
                .and_then(|n| n.to_str())
                .expect("a UTF-8 name");
            assert!(
                !NO_SUCH_FOLDERS.contains(&name),
                "{} says nothing",
                path.display()
            );
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let name = path
                .strip_prefix(root())
                .expect("inside")
                .to_string_lossy()
                .replace('\\', "/");
            found.push(Source {
                name,
                text: std::fs::read_to_string(&path).expect("a source"),
            });
        }
    }
}

fn is_test(source: &Source) -> bool {
    source.name.ends_with("_tests.rs")
        || source.name.contains("/test_")
        || source.name.ends_with("/tests.rs")
}

/// The code before the file's own unit tests, without comments.
fn code(source: &Source) -> String {
    let end = source
        .text
        .find("\n#[cfg(test)]\nmod tests")
        .unwrap_or(source.text.len());
    source.text[..end]
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The top module a file belongs to.
fn module(source: &Source) -> &str {
    let rest = source.name.strip_prefix("src/").expect("below src");
    rest.split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs")
}

/// Top modules that a file names by `crate::`.
fn imported(source: &Source) -> BTreeSet<String> {
    let text = code(source);
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let inside = &group[..group.find("};").unwrap_or(group.len())];
            found.extend(inside.split(',').map(|part| word(part.trim_start())));
        } else {
            found.insert(word(rest));
        }
    }
    found.remove("");
    found
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_lowercase() || *c == '_')
        .collect()
}

#[test]
fn modules_import_only_what_the_house_allows() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|s| !is_test(s)) {
        let own = module(source);
        if MAY_IMPORT_ANYTHING.contains(&own) {
            continue;
        }
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == own) else {
            wrong.push(format!(
                "{} is in a module that the table does not know",
                source.name
            ));
            continue;
        };
        for other in imported(source) {
            if other != own && !allowed.contains(&other.as_str()) {
                wrong.push(format!("{} imports {other}", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn context_sees_only_the_request_words() {
    for source in sources()
        .iter()
        .filter(|s| module(s) == "context" && !is_test(s))
    {
        let text = code(source);
        for (at, _) in text.match_indices("crate::model::") {
            let rest = &text[at + "crate::model::".len()..];
            assert_eq!(word(rest), "request", "{}", source.name);
        }
    }
}

#[test]
fn files_have_a_header_and_a_bearable_size() {
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if !is_test(&source) && !source.text.starts_with("//!") {
            wrong.push(format!("{} begins without a `//!` header", source.name));
        }
        let most = if source.name.ends_with("/mod.rs") {
            LONGEST_SWITCHBOARD
        } else {
            LONGEST_FILE
        };
        let own = code(&source).lines().count();
        if !is_test(&source) && own > most {
            wrong.push(format!("{} has {own} lines, {most} at most", source.name));
        }
        if is_test(&source) && lines > 3 * LONGEST_FILE {
            wrong.push(format!("{} has {lines} lines", source.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn foreign_types_stay_in_their_place() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|s| !is_test(s)) {
        let text = code(source);
        for (named, places) in ONLY_IN {
            let used = text.match_indices(named).any(|(at, _)| {
                // `self::sled::` or `my_git2::` are other words.
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
            });
            if used && !places.iter().any(|place| source.name.starts_with(place)) {
                wrong.push(format!("{} names {named}", source.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_modules_do_no_io_and_know_no_clock() {
    const PURE: &[&str] = &[
        "src/protocol/",
        "src/context/",
        "src/permission/",
        "src/agent/turn/",
        "src/tui/text/",
        "src/tui/view/",
        "src/tui/update/",
        "src/tui/cells/",
    ];
    const FORBIDDEN: &[&str] = &[
        "std::fs",
        "std::net",
        "std::process",
        "std::env",
        "SystemTime",
        "Instant::now",
        "Timestamp::now",
        "tokio::spawn",
        "tokio::time",
        "async fn",
    ];
    // The event queue is a queue between threads; waiting on it is its purpose.
    const EXEMPT: &[&str] = &["src/protocol/link.rs"];
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|s| !is_test(s)) {
        let pure = PURE.iter().any(|p| source.name.starts_with(p));
        if !pure || EXEMPT.contains(&source.name.as_str()) {
            continue;
        }
        let text = code(source);
        for word in FORBIDDEN.iter().filter(|w| text.contains(**w)) {
            wrong.push(format!("{} names {word}", source.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
