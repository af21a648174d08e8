//! Tests of the registry of providers: addresses, keys, overrides, what a wrong name is told.

use serde_json::json;

use super::*;
use crate::config::used::ProviderSettings;

fn registry(config: &Config, vars: &[(&str, &str)]) -> Registry {
    let vars: Vec<(String, String)> = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Registry::new(config, &move |name| {
        let found = vars.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    })
}

fn model(text: &str) -> ModelRef {
    text.parse().expect("a model")
}

fn config(id: &str, settings: ProviderSettings) -> Config {
    let mut config = Config::default();
    config.providers.insert(id.to_owned(), settings);
    config
}

fn fault(registry: &Registry, name: &str) -> Fault {
    registry.model(&model(name)).expect_err(name)
}

#[test]
fn a_model_is_made_once_and_keeps_its_encoder() {
    let registry = registry(&Config::default(), &[("ANTHROPIC_API_KEY", "k")]);
    let first = registry
        .model(&model("anthropic/claude-opus-5"))
        .expect("made");
    let second = registry
        .model(&model("anthropic/claude-opus-5"))
        .expect("made");
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(first.info().context, 1_000_000);
}

#[test]
fn an_unknown_provider_names_the_closest_and_a_missing_key_what_to_set() {
    let registry = registry(&Config::default(), &[]);
    let unknown = fault(&registry, "antropic/x");
    assert_eq!(unknown.kind, FaultKind::Config);
    assert!(unknown.hint.contains("`anthropic`"), "{unknown}");
    assert!(
        fault(&registry, "zzzzzzzzzz/x")
            .hint
            .contains("[provider.zzzzzzzzzz]")
    );
    let keyless = fault(&registry, "gemini/gemini-2.5-pro");
    assert_eq!(keyless.kind, FaultKind::Auth);
    assert!(keyless.hint.contains("GEMINI_API_KEY"), "{keyless}");
    assert!(
        keyless.hint.contains("dunlin auth login gemini"),
        "{keyless}"
    );
}

#[test]
fn the_first_model_follows_the_keys() {
    let first = |vars: &[(&str, &str)]| {
        let registry = registry(&Config::default(), vars);
        registry.default_model().map(|m| m.provider)
    };
    assert_eq!(first(&[]), None);
    assert_eq!(first(&[("OPENAI_API_KEY", "k")]).as_deref(), Some("openai"));
    assert_eq!(first(&[("GOOGLE_API_KEY", "k")]).as_deref(), Some("gemini"));
    assert_eq!(
        first(&[("GROQ_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]).as_deref(),
        Some("anthropic")
    );
    assert_eq!(first(&[("ANTHROPIC_API_KEY", "  ")]), None);
}

#[test]
fn every_first_model_is_known_to_the_catalog_and_can_call_tools() {
    let registry = registry(&Config::default(), &[]);
    for spec in PROVIDERS.iter().filter(|spec| !spec.model.is_empty()) {
        let info = registry.info(&reference(spec.id, spec.model));
        assert!(info.known && info.tools, "{}: {info:?}", spec.id);
    }
}

#[test]
fn five_lines_make_a_provider() {
    let settings = ProviderSettings {
        base_url: Some("https://llm.example.org/v1".to_owned()),
        key_env: Some("EXAMPLE_KEY".to_owned()),
        headers: [("x-team".to_owned(), "${TEAM}".to_owned())].into(),
        models: [(
            "coder".to_owned(),
            ModelSettings {
                context: Some(64_000),
                images: Some(true),
                input_price: Some(1.0),
                output_price: Some(2.0),
                ..ModelSettings::default()
            },
        )]
        .into(),
        ..ProviderSettings::default()
    };
    let registry = registry(
        &config("example", settings),
        &[("EXAMPLE_KEY", "k"), ("TEAM", "t")],
    );
    let made = registry.model(&model("example/coder")).expect("made");
    assert_eq!(made.info().context, 64_000);
    assert_eq!(made.info().price.as_ref().map(|p| p.cache_read), Some(1.0));
    assert_eq!(registry.default_model(), Some(model("example/coder")));
    assert_eq!(registry.choices()[0].model, model("example/coder"));
    assert_eq!(registry.found(), ["EXAMPLE_KEY"]);
}

#[test]
fn mistakes_in_the_configuration_are_told() {
    let no_url = registry(&config("mine", ProviderSettings::default()), &[]);
    assert!(no_url.problems()[0].message.contains("base_url"));
    let settings = ProviderSettings {
        wire: Some("soap".to_owned()),
        quirks: [("shrot-ids".to_owned(), true)].into(),
        ..ProviderSettings::default()
    };
    let wrong = registry(&config("anthropic", settings), &[]);
    let told: Vec<String> = wrong.problems().iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|t| t.contains("shrot-ids")), "{told:?}");
    assert!(told.iter().any(|t| t.contains("soap")), "{told:?}");
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let vars = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    let registry = registry(&Config::default(), &vars);
    assert!(registry.model(&model("anthropic/mock-large")).is_ok());
    let info = registry.info(&model("anthropic/mock-large"));
    assert!(!info.known && info.price.is_none() && info.context == 128_000);
    assert!(registry.model(&model("ollama/qwen3")).is_ok());
    assert_eq!(
        registry.info(&model("ollama/qwen3")).price,
        Some(Price::default())
    );
}

#[test]
fn no_key_is_ever_printed() {
    let registry = registry(
        &Config::default(),
        &[("ANTHROPIC_API_KEY", "sk-very-secret")],
    );
    let made = registry
        .model(&model("anthropic/claude-opus-5"))
        .expect("made");
    for text in [
        format!("{registry:?}"),
        format!("{made:?}"),
        format!("{:?}", registry.found()),
    ] {
        assert!(!text.contains("very-secret"), "{text}");
    }
}

#[test]
fn stored_keys_are_used_and_the_environment_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    auth::login(
        folder.path(),
        "openai",
        &"stored-key-stored-key".to_owned().into(),
        Some(auth::Place::File),
    )
    .expect("stored");
    let dir = folder.path().to_str().expect("UTF-8").to_owned();
    let stored = registry(&Config::default(), &[("DUNLIN_CONFIG_DIR", &dir)]);
    assert_eq!(stored.found(), ["stored key of openai"]);
    assert!(stored.model(&model("openai-chat/gpt-5.2")).is_ok());
    let both = registry(
        &Config::default(),
        &[("DUNLIN_CONFIG_DIR", &dir), ("OPENAI_API_KEY", "k")],
    );
    assert_eq!(both.found(), ["OPENAI_API_KEY"]);
    let shown = &stored.keys()[0];
    assert_eq!((&*shown.provider, &*shown.masked), ("openai", "stor…-key"));
    assert!(both.keys().iter().all(|key| key.from == "OPENAI_API_KEY"));
    assert_eq!(stored.instead_of("antropic"), Some("anthropic"));
    assert_eq!(stored.instead_of("anthropic"), None);
}

#[test]
fn scripts_are_models_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.json");
    std::fs::write(&path, json!({"name": "mine", "steps": []}).to_string()).expect("written");
    let path = path.to_str().expect("UTF-8");
    let plain = registry(&Config::default(), &[]);
    let by_path = plain.model(&reference("scripted", path)).expect("a file");
    assert_eq!(by_path.info().label, "mine");
    assert!(plain.model(&model("scripted/demo")).is_ok());
    assert!(
        fault(&plain, "scripted/nothing")
            .hint
            .contains("scripted.md")
    );
    let by_env = registry(&Config::default(), &[("DUNLIN_SCRIPT", path)]);
    assert_eq!(by_env.info(&model("scripted/x")).label, "mine");
    let given = plain.with_script("own", Arc::new(Script::default()));
    assert!(given.model(&model("scripted/own")).is_ok());
}

#[test]
fn choices_leave_out_what_cannot_be_used() {
    let registry = registry(&Config::default(), &[("MISTRAL_API_KEY", "k")]);
    let choices = registry.choices();
    let usable: Vec<&ModelChoice> = choices.iter().filter(|c| c.usable).collect();
    assert!(
        usable
            .iter()
            .all(|c| matches!(c.model.provider.as_str(), "mistral" | "scripted"))
    );
    assert!(
        choices.iter().all(|c| c.model.model != "gpt-4-0613"),
        "withdrawn"
    );
}

#[test]
fn every_quirk_is_explained_in_the_documentation() {
    let page = include_str!("../../../docs/providers.md");
    for (name, _) in crate::model::encode::SWITCHES {
        assert!(page.contains(&format!("`{name}`")), "{name}");
        let mut quirks = Quirks::plain(crate::model::decode::Wire::OpenaiChat);
        assert!(quirks.set(&name.replace('-', "_"), true));
    }
    for spec in PROVIDERS {
        assert!(page.contains(&format!("`{}`", spec.id)), "{}", spec.id);
    }
}
