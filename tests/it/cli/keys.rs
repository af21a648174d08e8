//! `dunlin auth` and `dunlin models`: where keys live, what can be asked. No key is ever printed.

use crate::support::world::World;

#[test]
fn a_stored_key_is_listed_with_its_place_and_the_environment_wins() {
    let mut w = World::new();
    let login = |w: &World, provider: &str, key: &str| {
        use std::io::Write;
        let mut child = w
            .command(&["auth", "login", provider, "--store", "file"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the program");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(key.as_bytes()).expect("a reader");
        drop(pipe);
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = login(&w, "antropic", "sk-odd-0123456789abcdef\n");
    assert!(said.contains("did you mean `anthropic`"), "{said}");
    login(&w, "anthropic", "sk-ant-0123456789abcdef\n");
    let listed = w.run(&["auth", "list"]).code(0).stdout.clone();
    assert!(
        listed.contains("anthropic") && listed.contains("auth.json"),
        "{listed}"
    );
    assert!(!listed.contains("0123456789"), "{listed}");
    w.set("ANTHROPIC_API_KEY", "sk-env-0123456789abcdef");
    let listed = w.run(&["auth", "list"]).code(0).stdout.clone();
    assert!(
        listed.contains("environment, ANTHROPIC_API_KEY"),
        "{listed}"
    );
    assert!(
        listed.contains("not used: ANTHROPIC_API_KEY wins"),
        "{listed}"
    );
    let gone = w
        .run(&["auth", "logout", "antropic"])
        .code(0)
        .stdout
        .clone();
    assert!(gone.contains("forgotten"), "{gone}");
    let gone = w
        .run(&["auth", "logout", "antropic"])
        .code(0)
        .stdout
        .clone();
    assert!(gone.contains("No key is stored"), "{gone}");
}

#[test]
fn models_are_found_by_words_and_show_what_they_can_cost_and_need() {
    let mut w = World::new();
    w.set("ANTHROPIC_API_KEY", "sk-env-0123456789abcdef");
    let listed = w
        .run(&["models", "anthropic sonnet"])
        .code(0)
        .stdout
        .clone();
    let row = listed.lines().nth(1).expect("a model");
    assert!(
        row.starts_with("anthropic/") && row.contains("sonnet"),
        "{row}"
    );
    assert!(
        row.contains("tools think img") && row.ends_with("ANTHROPIC_API_KEY"),
        "{row}"
    );
    let json = w
        .run(&["models", "--json", "anthropic sonnet"])
        .code(0)
        .stdout
        .clone();
    let rows: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let first = &rows[0];
    assert!(first["max_output"].as_u64() > Some(1_000), "{first}");
    assert!(
        first["price"]["cache_read"].as_f64() < first["price"]["input"].as_f64(),
        "{first}"
    );
    assert_eq!(first["key"], "ANTHROPIC_API_KEY");
    let none = w.run(&["models", "no-such-thing"]).code(1);
    assert!(none.stderr.contains("no-such-thing"), "{}", none.stderr);
}
