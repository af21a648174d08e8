//! `todo`, `question`, `skill`, and what holds for every tool.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::question::Question;
use super::skill::Skill;
use super::test_world::World;
use super::todo::Todo;
use super::*;
use crate::protocol::{Answer, AskBody, PartId};

#[tokio::test]
async fn a_plan_has_one_item_in_progress() {
    let world = World::new();
    let item = |content: &str, status: &str| json!({"content": content, "status": status});
    let plan =
        json!({"todos": [item("a", "done"), item("b", "in_progress"), item("c", "pending")]});
    // a status in other words is refused by name, so that the model learns the right one
    let done = world.call(&Todo::new(), plan).await.expect("a plan");
    assert_eq!(
        (done.output.as_str(), done.title.as_str()),
        ("The plan is now:\n[x] a\n[>] b\n[ ] c\n", "1 of 3 done")
    );
    assert_eq!(done.metadata["todos"][0]["status"], "completed");
    let two = json!({"todos": [item("a", "in_progress"), item("b", "in_progress")]});
    let refused = world
        .call(&Todo::new(), two)
        .await
        .expect_err("two at once");
    assert!(refused.message.contains("only one"), "{}", refused.message);
    assert!(
        world
            .call(&Todo::new(), json!({"todos": [item(" ", "pending")]}))
            .await
            .is_err()
    );
}

#[derive(Debug)]
struct User(Option<&'static str>);

impl AskUser for User {
    fn ask(&self, _: PartId, body: AskBody) -> BoxFuture<'static, Option<Answer>> {
        let AskBody::Question { question, options } = body else {
            panic!("a question was asked: {body:?}");
        };
        let text = |answer| format!("{answer} ({question} {})", options.join("|"));
        let answer = self.0.map(|answer| Answer::Text { text: text(answer) });
        Box::pin(async move { answer })
    }
}

#[tokio::test]
async fn a_question_reaches_the_user_or_says_that_nobody_is_there() {
    let mut world = World::new();
    let input = json!({"question": "Which?", "options": ["a", "b"]});
    let nobody = world
        .call(&Question::new(), input.clone())
        .await
        .expect_err("nobody");
    assert!(
        nobody.message.contains("Decide yourself"),
        "{}",
        nobody.message
    );
    world.context.ask = Some(Arc::new(User(Some("b"))));
    let done = world
        .call(&Question::new(), input.clone())
        .await
        .expect("answered");
    assert_eq!(done.output, "The user answered: b (Which? a|b)");
    world.context.ask = Some(Arc::new(User(None)));
    assert!(world.call(&Question::new(), input).await.is_err());
}

#[tokio::test]
async fn a_skill_is_listed_and_loaded() {
    let world = World::new();
    world.file(
        "skills/notes/SKILL.md",
        "---\nname: release-notes\ndescription: \"Writes notes\"\n---\n# How\nDo it.\n",
    );
    world.file("skills/plain/SKILL.md", "# Plain things\nText\n");
    let skill = Skill::new(&[world.path("skills"), PathBuf::from("/nowhere")]);
    assert!(
        skill
            .description()
            .contains("- plain: Plain things\n- release-notes: Writes notes\n"),
        "{}",
        skill.description()
    );
    let done = world
        .call(&skill, json!({"name": "release-notes"}))
        .await
        .expect("loaded");
    assert!(
        done.output.ends_with("# How\nDo it.\n") && !done.output.contains("description:"),
        "{}",
        done.output
    );
    let missing = world
        .call(&skill, json!({"name": "x"}))
        .await
        .expect_err("missing");
    assert_eq!(
        missing.message,
        "There is no skill `x`. The skills are: plain, release-notes."
    );
}

#[test]
fn every_tool_has_a_schema_a_description_with_an_example_and_a_unique_name() {
    let settings = ToolSettings {
        bash: crate::config::used::BashSettings::default(),
        environment: bash::Environment::of_process(&[], &std::collections::BTreeMap::new()),
        wrapper: None,
        jobs: Arc::new(bash::Jobs::new()),
        web: Arc::new(crate::web::Web::new(
            crate::config::used::WebSettings::default(),
            Arc::new(crate::model::http::Http::new(None)),
        )),
        skills: Vec::new(),
        blocking: blocking::Blocking::default(),
    };
    let tools = registry(settings);
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    for tool in &tools {
        let schema = tool.schema();
        assert_eq!(schema["type"], "object", "{}", tool.name());
        for (field, about) in schema["properties"].as_object().expect("properties") {
            assert!(
                about["description"].is_string(),
                "{} {field}: {about}",
                tool.name()
            );
        }
        assert!(
            !schema.to_string().contains("$ref") && !schema.to_string().contains("null"),
            "{schema}"
        );
        assert!(tool.description().contains("Example"), "{}", tool.name());
        let world = World::new();
        for nonsense in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"nonsense": 1}),
            json!(7),
        ] {
            if let Err(error) = tool.access(&nonsense, &world.context) {
                assert!(error.ends_with(['.', '`']), "{}: {error}", tool.name());
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tools.len());
    assert_eq!(by_name(&tools, "Read").expect("found").name(), "read");
    assert!(by_name(&tools, "nothing").is_none());
    let patches = offered(&tools, true);
    let patches: Vec<&str> = patches.iter().map(|tool| tool.name()).collect();
    assert!(patches.contains(&"apply_patch") && !patches.contains(&"edit"));
}
