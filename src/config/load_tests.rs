//! Layers, complaints and explanations, with real files in a temporary folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::protocol::Mode;
use proptest::prelude::*;

struct World {
    _dir: tempfile::TempDir,
    paths: Paths,
    worktree: PathBuf,
}

impl World {
    fn new(user: &str, project: &str) -> Self {
        let dir = tempfile::tempdir().expect("temp");
        let paths = Paths {
            config_dir: dir.path().join("config"),
            data_dir: dir.path().join("data"),
            home: dir.path().join("home"),
        };
        let worktree = dir.path().join("work");
        std::fs::create_dir_all(&paths.config_dir).expect("dir");
        std::fs::create_dir_all(worktree.join(".dunlin")).expect("dir");
        if !user.is_empty() {
            std::fs::write(paths.user_config(), user).expect("write");
        }
        if !project.is_empty() {
            std::fs::write(worktree.join(".dunlin/config.toml"), project).expect("write");
        }
        Self {
            _dir: dir,
            paths,
            worktree,
        }
    }

    fn load(
        &self,
        env: &[(&str, &str)],
        flags: &[&str],
        trusted: bool,
    ) -> Result<Loaded, ConfigError> {
        let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
        let env = |name: &str| {
            env.iter()
                .find(|(k, _)| *k == name)
                .map(|(_, v)| OsString::from(v))
        };
        load(&self.paths, &self.worktree, &env, &flags, trusted)
    }
}

fn user(text: &str) -> Result<Loaded, ConfigError> {
    World::new(text, "").load(&[], &[], true)
}

fn problems(result: Result<Loaded, ConfigError>) -> Vec<String> {
    result.expect_err("it must be refused").problems
}

fn setting<'a>(loaded: &'a Loaded, key: &str) -> &'a Setting {
    loaded
        .sources
        .iter()
        .find(|s| s.key == key)
        .unwrap_or_else(|| panic!("{key} is not explained"))
}

#[test]
fn without_any_file_everything_is_built_in() {
    let loaded = World::new("", "").load(&[], &[], true).expect("loads");
    assert_eq!(loaded.config.agent, "build");
    assert_eq!(
        loaded.config,
        Config {
            agent: "build".to_owned(),
            ..Config::default()
        }
    );
    assert!(loaded.sources.iter().all(|s| s.source == "built-in"));
    assert_eq!(setting(&loaded, "loop.idle_timeout").value, "5min");
    assert_eq!(setting(&loaded, "snapshot.max_file").value, "10MiB");
    assert!(loaded.warnings.is_empty());
}

#[test]
fn later_layers_win_and_say_where_a_value_came_from() {
    let world = World::new(
        "mode = 'plan'\nagent = 'a'\n[context]\nkeep_turns = 1\nthreshold = 0.6\nprune_protect = 1\n",
        "agent = 'b'\n[context]\nkeep_turns = 2\nthreshold = 0.7\n",
    );
    let loaded = world
        .load(
            &[("DUNLIN_CONTEXT_KEEP_TURNS", "3"), ("DUNLIN_AGENT", "c")],
            &["context.keep_turns=4"],
            true,
        )
        .expect("loads");
    assert_eq!(loaded.config.mode, Mode::Plan);
    assert_eq!(loaded.config.agent, "c");
    assert_eq!(loaded.config.context.keep_turns, 4);
    assert_eq!(loaded.config.context.prune_protect, 1);
    assert_eq!(setting(&loaded, "context.keep_turns").source, "--config");
    assert_eq!(setting(&loaded, "agent").source, "DUNLIN_AGENT");
    assert!(
        setting(&loaded, "context.threshold")
            .source
            .ends_with("work/.dunlin/config.toml:4")
    );
    assert!(
        setting(&loaded, "mode")
            .source
            .ends_with("config/config.toml:1")
    );
}

#[test]
fn a_project_does_nothing_until_it_is_trusted() {
    let world = World::new("", "mode = 'auto'\n[permission]\nbash = 'allow'\n");
    let loaded = world.load(&[], &[], false).expect("loads");
    assert_eq!(loaded.config.mode, Mode::Ask);
    assert!(loaded.config.permission.is_empty());
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].contains("until you trust this folder"));
    let loaded = world.load(&[], &[], true).expect("loads");
    assert_eq!(loaded.config.mode, Mode::Auto);
    assert_eq!(loaded.config.permission[0].owner, "project");
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_closest_one() {
    let loaded = user("[context]\nkeep_turns = 1\n\nprune_protekt = 5\n").expect("loads");
    assert_eq!(loaded.warnings.len(), 1);
    let warning = &loaded.warnings[0];
    assert!(
        warning.starts_with("unknown key context.prune_protekt in "),
        "{warning}"
    );
    assert!(
        warning.ends_with("config.toml line 4; did you mean prune_protect?"),
        "{warning}"
    );
    for (text, hint) in [
        ("modl = 'x/y'\n", "did you mean model?"),
        ("prune_protect = 3\n", "did you mean context.prune_protect?"),
        (
            "[provider.x]\nbase_ulr = 'http://h'\n",
            "did you mean base_url?",
        ),
        (
            "[provider.x.model.y]\ncontxt = 3\n",
            "did you mean context?",
        ),
        ("[zzz]\nq = 1\n", "`dunlin config` lists all keys"),
    ] {
        let loaded = user(text).expect("loads");
        assert!(loaded.warnings[0].ends_with(hint), "{:?}", loaded.warnings);
    }
    let all = problems(World::new("", "").load(&[], &["contxt.prune=true"], true));
    assert_eq!(
        all,
        ["unknown key contxt in --config; did you mean context?"]
    );
}

#[test]
fn every_wrong_value_is_named_with_place_and_remedy() {
    let all = problems(user(
        "mode = 'fast'\nmodel = 'opus'\n[loop]\nretries = -1\nidle_timeout = 'soon'\nparallel_tools = 0\n\
         [context]\nthreshold = 50\nprune = 'maybe'\n[ui]\nmouse = 1\n[budget]\nusd = 'x'\n",
    ));
    let expect = [
        ("mode", 1, "one of ask, auto-edit, auto, plan"),
        ("model", 2, "provider/model"),
        ("loop.retries", 4, "a whole number from 0 to 100"),
        ("loop.idle_timeout", 5, "a length of time"),
        ("loop.parallel_tools", 6, "a whole number, 1 or more"),
        ("context.threshold", 8, "a share between 0 and 1"),
        ("context.prune", 9, "true or false"),
        ("ui.mouse", 11, "true or false"),
        ("budget.usd", 13, "a number, 0 or more"),
    ];
    assert_eq!(all.len(), expect.len(), "{all:#?}");
    for (problem, (key, line, remedy)) in all.iter().zip(expect) {
        assert!(problem.starts_with(&format!("{key} in ")), "{problem}");
        assert!(problem.contains(&format!("line {line} is ")), "{problem}");
        assert!(problem.contains(&format!("write {remedy}")), "{problem}");
    }
}

#[test]
fn broken_toml_and_sections_that_are_values_are_said() {
    let all = problems(user("ok = 1\nmode = \n"));
    assert!(
        all[0].contains("config.toml line 2 is not valid TOML"),
        "{all:?}"
    );
    let all = problems(user("context = 3\n"));
    assert!(
        all[0].contains("write [context] with settings below it"),
        "{all:?}"
    );
    let all = problems(user("permission = 'allow'\n"));
    assert!(all[0].contains("write a table"), "{all:?}");
    let all = problems(user("[permission.bash]\n'*' = 'maybe'\n"));
    assert!(
        all[0].contains("line 2: \"maybe\" is not an action"),
        "{all:?}"
    );
}

#[test]
fn durations_sizes_and_lists_are_read() {
    let config = user(
        "fallback_models = ['a/b', 'c/d/e']\n[loop]\nwrite_delay = '50ms'\nmax_steps = 12\n[budget]\n\
         time = '1h 30m'\nusd = 5\n[snapshot]\nmax_file = '1MiB'\nquota = 1000\n[bash]\n\
         env = { CI = '1' }\n[sandbox]\nwritable = ['~/cache', '/x']\n[ui]\nkeys = { quit = 'ctrl+q', help = ['f1', '?'] }\n",
    )
    .expect("loads");
    let c = &config.config;
    assert_eq!(c.fallback_models[1].model, "d/e");
    assert_eq!(c.turn.write_delay, Duration::from_millis(50));
    assert_eq!(c.turn.max_steps, Some(12));
    assert_eq!(c.budget.time, Some(Duration::from_mins(90)));
    assert_eq!(c.budget.usd, Some(5.0));
    assert_eq!(c.snapshot.max_file, 1 << 20);
    assert!(c.sandbox.writable[0].ends_with("home/cache"));
    assert_eq!(c.ui.keys["quit"], ["ctrl+q"]);
    assert_eq!(
        setting(&config, "bash.env.CI").value,
        "(set)",
        "it may be a secret"
    );
}

#[test]
fn a_provider_is_five_lines() {
    let config = user(
        "[provider.local]\nwire = 'openai-chat'\nbase_url = 'http://localhost:8080'\n\
         [provider.local.model.\"qwen/3.5\"]\ncontext = 32768\ninput_price = 0\nquirks = 1\n",
    )
    .expect("loads");
    let local = &config.config.providers["local"];
    assert_eq!(local.wire.as_deref(), Some("openai-chat"));
    assert_eq!(local.models["qwen/3.5"].context, Some(32_768));
    assert_eq!(local.models["qwen/3.5"].input_price, Some(0.0));
    assert_eq!(
        setting(&config, "provider.local.model.\"qwen/3.5\".context").value,
        "32768"
    );
    let all = problems(user("[provider.x]\nwire = 'openai-chatt'\n"));
    assert!(all[0].contains("did you mean openai-chat?"), "{all:?}");
}

#[test]
fn base_urls_of_the_providers_own_variables_are_a_layer() {
    let world = World::new("[provider.openai]\nbase_url = 'http://file'\n", "");
    let loaded = world
        .load(
            &[
                ("OPENAI_BASE_URL", "http://env"),
                ("DUNLIN_MODEL", "openai/x"),
            ],
            &[],
            true,
        )
        .expect("loads");
    let url = |name: &str| loaded.config.providers[name].base_url.clone();
    assert_eq!(url("openai").as_deref(), Some("http://env"));
    assert_eq!(url("openai-chat").as_deref(), Some("http://env"));
    assert_eq!(
        setting(&loaded, "provider.openai.base_url").source,
        "OPENAI_BASE_URL"
    );
    assert_eq!(
        loaded.config.model.map(|m| m.to_string()).as_deref(),
        Some("openai/x")
    );
}

#[test]
fn flags_take_values_with_and_without_quotes() {
    let world = World::new("", "");
    let config = world
        .load(
            &[],
            &[
                "model=anthropic/claude",
                "ui.theme=\"light\"",
                "context.prune = false",
                "agent=true",
                "loop.idle_timeout=2min",
                "permission.bash.\"git push *=x\"=deny",
                "provider.x.base_url=http://h/v1?a=b",
                "fallback_models=['a/b']",
                "ui.keys.quit=ctrl+q",
            ],
            true,
        )
        .expect("loads")
        .config;
    assert_eq!(
        config.model.map(|m| m.to_string()).as_deref(),
        Some("anthropic/claude")
    );
    assert_eq!(config.ui.theme, "light");
    assert!(!config.context.prune);
    assert_eq!(config.agent, "true", "text needs no quotes");
    assert_eq!(config.turn.idle_timeout, Duration::from_mins(2));
    assert_eq!(config.permission[0].owner, "flags");
    assert_eq!(config.permission[0].rules[0].pattern, "git push *=x");
    assert_eq!(
        config.providers["x"].base_url.as_deref(),
        Some("http://h/v1?a=b")
    );
    assert_eq!(config.fallback_models.len(), 1);
    for bad in [
        "model",
        "=x",
        "a b=c",
        "context=1",
        "loop.retries=many",
        "x\n=1",
    ] {
        let all = problems(world.load(&[], &[bad], true));
        assert_eq!(all.len(), 1, "{bad}: {all:?}");
        assert!(all[0].contains("--config"), "{all:?}");
    }
}

#[test]
fn a_wrong_variable_names_the_variable() {
    let all = problems(World::new("", "").load(&[("DUNLIN_MODE", "yolo")], &[], true));
    assert_eq!(
        all,
        [
            "the environment variable DUNLIN_MODE is \"yolo\": write one of ask, auto-edit, auto, plan, or unset it."
        ]
    );
}

#[test]
fn rules_keep_their_order_and_owner() {
    let world = World::new(
        "[permission]\nweb_fetch = 'allow'\n[permission.bash]\n'z *' = 'allow'\n'a *' = 'deny'\n",
        "[permission]\nbash = 'ask'\n",
    );
    let layers = world.load(&[], &[], true).expect("loads").config.permission;
    let shown: Vec<_> = layers
        .iter()
        .map(|l| {
            let patterns: Vec<_> = l.rules.iter().map(|r| &*r.pattern).collect();
            (&*l.owner, patterns.join(","))
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("user", "*,z *,a *".to_owned()),
            ("project", "*".to_owned())
        ]
    );
}

#[test]
fn explain_shows_what_changed() {
    let loaded = user("mode = 'plan'\nmodee = 1\n").expect("loads");
    let text = crate::config::explain(&loaded, true);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.starts_with("mode  plan  "), "{text}");
    assert!(text.contains("warning: unknown key modee"), "{text}");
    assert!(crate::config::explain(&loaded, false).contains("context.prune_protect"));
}

#[test]
fn variables_of_keys_are_all_different() {
    let mut names: Vec<String> = KEYS.iter().map(|k| variables::name_of(k.path)).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(
        !names
            .iter()
            .any(|n| n == "DUNLIN_CONFIG_DIR" || n == "DUNLIN_DATA_DIR")
    );
}

#[test]
fn what_is_explained_reads_back_as_the_same() {
    let loaded = World::new("", "").load(&[], &[], true).expect("loads");
    for setting in loaded.sources.iter().filter(|s| !s.value.is_empty()) {
        let flag = if setting.value.starts_with('[') {
            format!(
                "{}={}",
                setting.key,
                setting
                    .value
                    .replace('[', "['")
                    .replace(", ", "','")
                    .replace(']', "']")
                    .replace("['']", "[]")
            )
        } else {
            format!("{}={}", setting.key, setting.value)
        };
        let again = World::new("", "")
            .load(&[], &[&flag], true)
            .expect("reads back");
        assert_eq!(again.config, loaded.config, "{flag}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_file_and_no_flag_makes_it_panic(
        text in "([a-z_.\\[\\]=\"' 0-9\n{}#]|model|context|permission|provider|loop){0,80}",
        flag in "[a-z_.=\"' \\[\\]\n0-9é]{0,40}",
    ) {
        let world = World::new(&text, &text);
        drop(world.load(&[("DUNLIN_LOOP_RETRIES", &flag)], &[&flag], true));
    }
}
