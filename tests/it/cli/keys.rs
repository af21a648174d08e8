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

/// The `toml` examples of docs/providers.md.
fn examples() -> Vec<String> {
    include_str!("../../../docs/providers.md")
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()))
        .collect()
}

#[test]
fn every_example_of_the_documentation_is_a_configuration_that_works() {
    let examples = examples();
    assert!(examples.len() >= 6, "{} examples", examples.len());
    for example in examples {
        let table: toml::Table = example.parse().expect("TOML");
        let providers = table["provider"].as_table().expect("providers");
        let mut w = World::new();
        for name in [
            "ACME_API_KEY",
            "GATEWAY_KEY",
            "COMPANY_OPENAI_KEY",
            "OPENROUTER_API_KEY",
        ] {
            w.set(name, "sk-test-0123456789abcdef");
        }
        w.set("TEAM", "blue");
        std::fs::write(w.config().join("config.toml"), &example).expect("written");
        let settings = w.run(&["config"]).code(0);
        assert!(settings.stderr.is_empty(), "{example}\n{}", settings.stderr);
        for (name, provider) in providers {
            let models = provider.get("model").and_then(toml::Value::as_table);
            for (model, limits) in models.into_iter().flatten() {
                let listed = w.run(&["models", "--json", model]).code(0);
                assert!(listed.stderr.is_empty(), "{example}\n{}", listed.stderr);
                let rows: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
                let wanted = format!("{name}/{model}");
                let row = rows
                    .as_array()
                    .and_then(|rows| rows.iter().find(|row| row["model"] == wanted.as_str()))
                    .unwrap_or_else(|| panic!("{wanted} is not offered: {rows}"));
                assert_eq!(
                    row["context"].as_i64(),
                    limits.get("context").and_then(toml::Value::as_integer),
                    "{row}"
                );
            }
        }
    }
}
