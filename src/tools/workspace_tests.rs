//! Paths: how a model's words become one, and what lies outside.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Home {
    dir: tempfile::TempDir,
    space: Workspace,
}

fn home() -> Home {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let root = dir.path().join("tree");
    fs::create_dir_all(root.join("src/deep")).expect("folders");
    fs::create_dir_all(dir.path().join("out")).expect("folders");
    let places = Places {
        home: Some(dir.path().join("home")),
        temp: vec![dir.path().join("temp")],
        outputs: vec![dir.path().join("out")],
        secrets: vec![dir.path().join("keys")],
    };
    let space = Workspace::new(&root, &root, &places);
    Home { dir, space }
}

#[test]
fn relative_absolute_home_and_dotted_paths_mean_what_they_say() {
    let home = home();
    let root = home.space.root().to_owned();
    let is = |text: &str, path: PathBuf| assert_eq!(home.space.resolve(text), Ok(path), "{text}");
    is("src/a.rs", root.join("src/a.rs"));
    is("./src//deep/../a.rs", root.join("src/a.rs"));
    is(" src/a.rs ", root.join("src/a.rs"));
    is(".", root.clone());
    is(&root.join("x").to_string_lossy(), root.join("x"));
    is("~", home.space.home().expect("home").to_owned());
    is("~/a", home.space.home().expect("home").join("a"));
    is("~user/a", root.join("~user/a"));
    is("new/../../tree/src", root.join("src"));
    is("/../../..", PathBuf::from("/"));
}

#[test]
fn a_path_that_leaves_the_worktree_is_seen_to_leave_it() {
    let home = home();
    for text in [
        "../evil",
        "src/../../evil",
        "nowhere/../../evil",
        "/etc/passwd",
        "~/x",
    ] {
        let path = home.space.resolve(text).expect("a path");
        assert!(!home.space.is_inside(&path), "{text} -> {}", path.display());
    }
    // a neighbour whose name only begins like the worktree's
    let path = home.space.resolve("../tree-two/x").expect("a path");
    assert!(!home.space.is_inside(&path));
}

#[test]
fn links_are_followed_even_where_the_target_does_not_exist() {
    let home = home();
    let root = home.space.root();
    symlink("/etc", root.join("etc")).expect("link");
    symlink("../out/not-yet", root.join("dangling")).expect("link");
    symlink("src", root.join("alias")).expect("link");
    symlink("alias/deep", root.join("twice")).expect("link");
    let resolve = |text| home.space.resolve(text).expect("a path");
    assert_eq!(resolve("etc/new"), PathBuf::from("/etc/new"));
    assert!(resolve("dangling/file").ends_with("out/not-yet/file"));
    assert!(!home.space.is_inside(&resolve("dangling")));
    assert_eq!(resolve("twice/new.rs"), root.join("src/deep/new.rs"));
    // `..` behind a link leaves the link's target, as in the kernel
    assert_eq!(resolve("twice/../x"), root.join("src/x"));
    // a missing folder does not hide a link that comes after going up again
    assert_eq!(resolve("missing/../etc/x"), PathBuf::from("/etc/x"));
}

#[test]
fn a_circle_of_links_is_an_error_and_not_a_hang() {
    let home = home();
    symlink("b", home.space.root().join("a")).expect("link");
    symlink("a", home.space.root().join("b")).expect("link");
    let error = home.space.resolve("a/x").expect_err("a circle");
    assert!(error.contains("symbolic links"), "{error}");
}

#[test]
fn empty_and_nul_paths_are_refused_with_a_sentence() {
    let home = home();
    assert!(
        home.space
            .resolve("  ")
            .expect_err("empty")
            .contains("empty")
    );
    assert!(home.space.resolve("a\0b").expect_err("nul").contains("NUL"));
}

#[test]
fn resolving_agrees_with_the_kernel_on_what_exists() {
    let home = home();
    let root = home.space.root();
    fs::write(root.join("src/deep/f"), "x").expect("file");
    symlink("deep/../deep", root.join("src/round")).expect("link");
    symlink(root.join("src"), root.join("absolute")).expect("link");
    for text in [
        "src/round/f",
        "absolute/deep/./f",
        "absolute/round/../deep/f",
    ] {
        let ours = home.space.resolve(text).expect("a path");
        assert_eq!(
            ours,
            fs::canonicalize(root.join(text)).expect("exists"),
            "{text}"
        );
    }
}

#[test]
fn a_worktree_behind_a_link_is_known_by_its_real_path() {
    let home = home();
    let link = home.dir.path().join("link");
    symlink(home.space.root(), &link).expect("link");
    let space = Workspace::new(&link, &link.join("src"), &Places::default());
    assert_eq!(space.root(), home.space.root());
    assert!(space.is_inside(&space.resolve("a.rs").expect("a path")));
    assert_eq!(
        space.display(&space.resolve("a.rs").expect("a path")),
        "src/a.rs"
    );
    assert_eq!(
        space.model_path(&space.resolve("a.rs").expect("a path")),
        "a.rs"
    );
}

#[test]
fn display_is_short_where_it_can_be() {
    let home = home();
    let show = |text: &str| {
        home.space
            .display(&home.space.resolve(text).expect("a path"))
    };
    assert_eq!(show("src/a.rs"), "src/a.rs");
    assert_eq!(show("."), ".");
    assert_eq!(show("~/notes"), "~/notes");
    assert_eq!(show("/etc/hosts"), "/etc/hosts");
}

#[test]
fn secrets_are_seen_and_templates_are_not() {
    let home = home();
    let secret = |text: &str| {
        home.space
            .is_secret(&home.space.resolve(text).expect("a path"))
    };
    for text in [
        ".env",
        ".env.local",
        "prod.env",
        "config/master.key",
        "certs/server.pem",
        "/home/u/.ssh/config",
        "/root/.aws/credentials",
        "id_ed25519",
        ".netrc",
        "/proc/self/environ",
        "../keys/api",
        "ID_RSA",
        "/home/u/.docker/config.json",
        "/home/u/.config/gh/hosts.yml",
    ] {
        assert!(secret(text), "{text} is a secret");
    }
    for text in [
        ".env.example",
        "env.rs",
        "src/keys.rs",
        "id_rsa.pub",
        "key.rs",
        "environment",
        ".github/ci.yml",
        "docs/secret.md",
        "a.ssh/x",
        "config.json",
        ".sshx/y",
        ".env.schema",
    ] {
        assert!(!secret(text), "{text} is no secret");
    }
}

#[test]
fn places_are_told_apart() {
    let home = home();
    let resolve = |text| home.space.resolve(text).expect("a path");
    assert!(home.space.is_output(&resolve("../out/x.txt")));
    assert!(!home.space.is_output(&resolve("../outside")));
    assert!(home.space.is_temp(&resolve("../temp/x")));
}

#[test]
#[cfg(unix)]
fn names_that_no_line_can_hold_are_spelled_and_found_again() {
    use std::os::unix::ffi::OsStrExt;
    let home = home();
    for name in [&b"new\nline.txt"[..], b"bad\xff.txt", b"tab\tand 'quote'"] {
        let path = home.space.cwd().join(OsStr::from_bytes(name));
        let told = home.space.model_path(&path);
        assert!(!told.contains(char::is_control), "{told:?}");
        assert_eq!(home.space.resolve(&told), Ok(path.clone()), "{told}");
        assert!(home.space.display(&path).contains("$'"), "{told}");
    }
    let below = home.space.resolve("$'a/../../x\\n'").expect("a path");
    assert!(!home.space.is_inside(&below), "dots lead out of it as well");
}
