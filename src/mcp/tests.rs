//! Servers against programs that speak the protocol: shell scripts whose every line is seen here.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Servers, Surroundings};
use crate::config::mcp::McpSettings;
use crate::config::used::OutputLimits;
use crate::model::http::Http;
use crate::protocol::FileSource;
use crate::protocol::outside::{ServerState, ToolServer};
use crate::tools::bash::Environment;
use crate::tools::test_world::World;
use crate::tools::{BlobSink, Failure, Need, Outside, ProgressUpdate, Success, Tool};

/// A server whose answers to `tools/call` are these lines of shell; `$id` and `$line` are the request's.
fn script(list: &Value, call: &str) -> String {
    format!(
        r#"say() {{ printf '%s\n' "$1"; }}
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"method":"initialize"'*)
    say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"fake","version":"7"}}}}}}' ;;
  *'"method":"tools/list"'*)
    tools=$(cat list.json 2>/dev/null || printf '%s' '{list}')
    say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"tools":'"$tools"'}}}}' ;;
  *'"method":"notifications/cancelled"'*)
    printf '%s' "$line" > cancelled ;;
  *'"method":"tools/call"'*)
    {call} ;;
  esac
done
echo gone > gone
"#
    )
}

fn result(result: &Value) -> String {
    format!(r#"say '{{"jsonrpc":"2.0","id":'"$id"',"result":{result}}}'"#)
}

fn tools() -> Value {
    json!([
        {"name": "write.file", "description": "Writes.\nMuch more.", "inputSchema": {"type": "object"}},
        {"name": "look", "description": "Looks.", "inputSchema": {"type": "object",
            "properties": {"city": {"type": "string"}}}, "annotations": {"readOnlyHint": true}}
    ])
}

fn shell(world: &World, script: &str) -> McpSettings {
    let file = world.file("server.sh", script);
    McpSettings {
        command: Some("bash".into()),
        args: vec![file.to_string_lossy().into_owned()],
        start_timeout: Duration::from_mins(1),
        timeout: Duration::from_mins(1),
        ..McpSettings::default()
    }
}

fn servers(world: &World, settings: McpSettings) -> Servers {
    let surroundings = Surroundings {
        worktree: world.context.workspace.root().to_owned(),
        environment: Environment::of_process(&[], &BTreeMap::new()),
        http: Arc::new(Http::new(None)),
    };
    Servers::new(&[("fake".to_owned(), settings)].into(), &surroundings)
}

/// Waits until the only server is as wanted.
async fn until(servers: &Servers, wanted: impl Fn(&ToolServer) -> bool) -> ToolServer {
    let mut changes = servers.changes();
    loop {
        let shown = servers.servers().remove(0);
        if wanted(&shown) {
            return shown;
        }
        changes.changed().await.expect("it goes on");
    }
}

async fn ready(servers: &Servers) -> ToolServer {
    let over = |s: &ToolServer| matches!(s.state, ServerState::Ready | ServerState::Failed(_));
    let shown = until(servers, over).await;
    assert_eq!(shown.state, ServerState::Ready, "{shown:?}");
    shown
}

async fn failed(servers: &Servers) -> (String, ToolServer) {
    let shown = until(servers, |s| matches!(s.state, ServerState::Failed(_))).await;
    match &shown.state {
        ServerState::Failed(why) => (why.clone(), shown),
        other => panic!("{other:?}"),
    }
}

fn tool(servers: &Servers, name: &str) -> Arc<dyn Tool> {
    let found = servers.tools().into_iter().find(|t| t.name() == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", servers.tools()))
}

/// A server with this shell for its calls, and one call of its `look`.
async fn called(call: &str, input: Value) -> (World, Result<Success, Failure>) {
    let world = World::new();
    let servers = servers(&world, shell(&world, &script(&tools(), call)));
    servers.begin();
    ready(&servers).await;
    let result = world
        .call(tool(&servers, "mcp__fake__look").as_ref(), input)
        .await;
    servers.close().await;
    (world, result)
}

async fn until_file(path: &Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => return text,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

#[tokio::test]
async fn tools_are_named_described_and_judged_by_what_they_claim() {
    let world = World::new();
    let servers = servers(&world, shell(&world, &script(&tools(), ":")));
    assert!(servers.tools().is_empty());
    servers.begin();
    assert!(servers.is_starting(), "from the first moment on");
    let shown = ready(&servers).await;
    assert_eq!(shown.called, "fake 7");
    let names: Vec<_> = shown
        .tools
        .iter()
        .map(|t| (t.name.as_str(), t.about.as_str(), t.reads_only))
        .collect();
    assert_eq!(
        names,
        [
            ("mcp__fake__look", "Looks.", true),
            ("mcp__fake__write_file", "Writes.", false)
        ]
    );
    let look = tool(&servers, "mcp__fake__look");
    assert_eq!(look.schema()["properties"]["city"]["type"], "string");
    let access = look
        .access(&json!({"city": "Bern"}), &world.context)
        .expect("access");
    assert_eq!(access.needs, [Need::Other("mcp__fake__look".into())]);
    assert_eq!(access.title, "city: Bern");
    assert!(!access.can_write);
    let write = tool(&servers, "mcp__fake__write_file");
    let access = write.access(&json!({}), &world.context).expect("access");
    assert!(access.can_write, "what claims nothing can write");
    assert!(write.access(&json!([1]), &world.context).is_err());
    servers.close().await;
}

#[tokio::test]
async fn a_call_carries_its_arguments_and_brings_back_text() {
    let call = r#"printf '%s' "$line" > asked; "#.to_owned()
        + &result(
            &json!({"content": [{"type": "text", "text": "sunny"}, {"type": "text", "text": "22 C"}]}),
        );
    let (world, result) = called(&call, json!({"city": "Bern"})).await;
    let success = result.expect("an answer");
    assert_eq!(success.output, "sunny\n22 C");
    assert_eq!(success.metadata, json!({"server": "fake", "tool": "look"}));
    let asked: Value = serde_json::from_slice(&world.bytes("asked")).expect("json");
    assert_eq!(asked["params"]["name"], "look");
    assert_eq!(asked["params"]["arguments"], json!({"city": "Bern"}));
}

#[tokio::test]
async fn an_answer_that_is_an_error_is_the_calls_failure() {
    let refused =
        result(&json!({"isError": true, "content": [{"type": "text", "text": "no such city"}]}));
    let failure = called(&refused, json!({})).await.1.expect_err("a failure");
    assert_eq!(failure.message, "no such city");
    let broken = r#"say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32602,"message":"city is missing"}}'"#;
    let failure = called(broken, json!({})).await.1.expect_err("a failure");
    assert!(
        failure.message.contains("fake says: city is missing"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn structure_without_text_is_shown_and_nothing_is_said_to_be_nothing() {
    let structured = result(&json!({"content": [], "structuredContent": {"degrees": 22}}));
    let success = called(&structured, json!({})).await.1.expect("an answer");
    assert_eq!(success.output, "{\n  \"degrees\": 22\n}");
    let nothing = called(&result(&json!({"content": []})), json!({})).await.1;
    assert_eq!(nothing.expect("an answer").output, "(no output)");
}

#[tokio::test]
async fn a_long_answer_is_cut_and_kept_whole() {
    let call = r#"text=$(head -c 300000 /dev/zero | tr '\0' x)
    say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"'"$text"'"}]}}'"#;
    let success = called(call, json!({})).await.1.expect("an answer");
    let limit = OutputLimits::default().other_chars;
    assert!(
        success.output.chars().count() < limit + 400,
        "{}",
        success.output.len()
    );
    let kept = success.truncated.expect("a file");
    assert!(success.output.contains(&kept.path), "it names the file");
}

#[derive(Debug)]
struct Keep;

impl BlobSink for Keep {
    fn keep(&self, mime: &str, bytes: &[u8]) -> Result<FileSource, String> {
        Ok(FileSource::Path(format!("{mime} {}", bytes.len())))
    }
}

#[tokio::test]
async fn pictures_are_attached_and_other_things_are_named() {
    let mut world = World::new();
    world.context.blobs = Some(Arc::new(Keep));
    let content = json!([
        {"type": "image", "data": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "mimeType": "image/png"},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        {"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "of a"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGVsbG8=", "mimeType": "x/y"}},
        {"type": "resource_link", "uri": "file:///c", "name": "c"}
    ]);
    let answer = result(&json!({"content": content}));
    let servers = servers(&world, shell(&world, &script(&tools(), &answer)));
    servers.begin();
    ready(&servers).await;
    let success = world
        .call(tool(&servers, "mcp__fake__look").as_ref(), json!({}))
        .await
        .expect("an answer");
    let pictures: Vec<_> = success
        .attachments
        .iter()
        .map(|a| a.source.clone())
        .collect();
    assert_eq!(pictures, [FileSource::Path("image/gif 42".into())]);
    for part in [
        "not valid base64",
        "audio/wav",
        "file:///a:\nof a",
        "file:///b (x/y, 5 bytes) is no picture",
        "[c](file:///c)",
    ] {
        assert!(success.output.contains(part), "{part}: {}", success.output);
    }
    servers.close().await;
}

#[tokio::test]
async fn progress_reaches_the_call_and_an_interrupt_reaches_the_server() {
    let mut world = World::new();
    let call = r#"say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'"$token"',"progress":3,"total":10,"message":"Indexing"}}'"#;
    let servers = servers(&world, shell(&world, &script(&tools(), call)));
    servers.begin();
    ready(&servers).await;
    let (progress, mut updates) = tokio::sync::watch::channel(ProgressUpdate::default());
    world.context.progress = progress;
    let look = tool(&servers, "mcp__fake__look");
    let running = tokio::spawn(look.run(json!({}), world.context.clone()));
    updates
        .wait_for(|update| update.tail == "3 of 10  Indexing")
        .await
        .expect("progress");
    world.context.cancel.cancel();
    let failure = running.await.expect("no panic").expect_err("interrupted");
    assert!(
        failure.message.contains("interrupted"),
        "{}",
        failure.message
    );
    let told = until_file(&world.path("cancelled")).await;
    assert!(told.contains("requestId"), "{told}");
    servers.close().await;
}

#[tokio::test]
async fn a_silent_call_is_given_up_and_the_server_lives_on() {
    let world = World::new();
    let silent = format!(
        r#"case "$line" in *quiet*) : ;; *) {} ;; esac"#,
        result(&json!({"content": [{"type": "text", "text": "here"}]}))
    );
    let settings = McpSettings {
        timeout: Duration::from_millis(300),
        ..shell(&world, &script(&tools(), &silent))
    };
    let servers = servers(&world, settings);
    servers.begin();
    ready(&servers).await;
    let look = tool(&servers, "mcp__fake__look");
    let failure = world.call(look.as_ref(), json!({"how": "quiet"})).await;
    let failure = failure.expect_err("given up");
    assert!(
        failure.message.contains("silent for 0.3 s"),
        "{}",
        failure.message
    );
    until_file(&world.path("cancelled")).await;
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_says_why() {
    let missing = McpSettings {
        command: Some("/no/such/program".into()),
        ..McpSettings::default()
    };
    let (wordy, strange, slow) = (World::new(), World::new(), World::new());
    let cases: [(McpSettings, &[&str]); 5] = [
        (missing, &["/no/such/program", "not there"]),
        (McpSettings::default(), &["Neither"]),
        (
            shell(&wordy, "echo 'the token is wrong' >&2; exit 3"),
            &["exit code 3", "the token is wrong"],
        ),
        (shell(&strange, "echo hello; exit 0"), &["exit code 0"]),
        (
            McpSettings {
                start_timeout: Duration::from_millis(100),
                ..shell(&slow, "read -r a; read -r b")
            },
            &["not ready after 0.1 s", "start_timeout"],
        ),
    ];
    for (settings, words) in cases {
        let world = World::new();
        let servers = servers(&world, settings);
        servers.begin();
        let (why, _) = failed(&servers).await;
        for word in words {
            assert!(why.contains(word), "{word}: {why}");
        }
        assert!(!servers.is_starting() && servers.tools().is_empty());
        servers.close().await;
    }
}

#[tokio::test]
async fn what_a_server_says_on_its_standard_error_is_kept() {
    let world = World::new();
    let servers = servers(
        &world,
        shell(&world, "printf 'a\\033[31mb\\n' >&2; sleep 60"),
    );
    servers.begin();
    loop {
        let said = servers.servers().remove(0).said;
        if !said.is_empty() {
            assert_eq!(said, ["a[31mb"], "without what steers a terminal");
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    servers.close().await;
}

#[tokio::test]
async fn a_changed_list_of_tools_is_taken_over() {
    let world = World::new();
    let call = r#"printf '[{"name":"new","inputSchema":{"type":"object"}}]' > list.json
    say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; "#
        .to_owned()
        + &result(&json!({"content": []}));
    let servers = servers(&world, shell(&world, &script(&tools(), &call)));
    servers.begin();
    ready(&servers).await;
    let look = tool(&servers, "mcp__fake__look");
    world
        .call(look.as_ref(), json!({}))
        .await
        .expect("an answer");
    let shown = until(&servers, |s| s.tools.len() == 1).await;
    assert_eq!(shown.tools[0].name, "mcp__fake__new");
    assert!(
        shown.tools[0].about.contains("new"),
        "it has some description"
    );
    servers.close().await;
}

#[tokio::test]
async fn only_the_tools_that_are_wanted_are_offered() {
    let world = World::new();
    let settings = McpSettings {
        tools: vec!["lo*".into()],
        ..shell(&world, &script(&tools(), ":"))
    };
    let servers = servers(&world, settings);
    servers.begin();
    let shown = ready(&servers).await;
    let names: Vec<_> = shown.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["mcp__fake__look"]);
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_ends_is_started_again_with_its_tools_kept() {
    let world = World::new();
    let once = format!(
        "if [ ! -e died ]; then : > died; exit 1; fi; {}",
        result(&json!({"content": [{"type": "text", "text": "second life"}]}))
    );
    let servers = servers(&world, shell(&world, &script(&tools(), &once)));
    servers.begin();
    ready(&servers).await;
    let look = tool(&servers, "mcp__fake__look");
    let failure = world
        .call(look.as_ref(), json!({}))
        .await
        .expect_err("it died");
    assert!(failure.message.contains("has ended"), "{}", failure.message);
    let shown = until(&servers, |s| s.state == ServerState::Starting).await;
    assert_eq!(
        shown.tools.len(),
        2,
        "the model's list of tools does not flicker"
    );
    assert!(!servers.is_starting(), "nobody waits for a second life");
    ready(&servers).await;
    let look = tool(&servers, "mcp__fake__look");
    let success = world
        .call(look.as_ref(), json!({}))
        .await
        .expect("an answer");
    assert_eq!(success.output, "second life");
    servers.close().await;
}

#[tokio::test]
async fn the_user_can_start_a_server_again_and_unknown_names_are_told() {
    let world = World::new();
    let settings = shell(&world, "[ -e fixed ] || exit 4\n");
    let file = world.path("server.sh");
    let whole = format!("[ -e fixed ] || exit 4\n{}", script(&tools(), ":"));
    std::fs::write(file, whole).expect("a script");
    let servers = servers(&world, settings);
    servers.begin();
    let (why, _) = failed(&servers).await;
    assert!(why.contains("exit code 4"), "{why}");
    world.file("fixed", "");
    servers.restart("fake").expect("there is one");
    ready(&servers).await;
    let error = servers.restart("fax").expect_err("there is none");
    assert!(error.contains("fax") && error.contains("fake"), "{error}");
    servers.close().await;
}

#[tokio::test]
async fn closing_ends_servers_even_those_that_will_not() {
    let world = World::new();
    let polite = servers(&world, shell(&world, &script(&tools(), ":")));
    polite.begin();
    ready(&polite).await;
    polite.close().await;
    assert_eq!(
        until_file(&world.path("gone")).await,
        "gone\n",
        "its input was closed"
    );

    let world = World::new();
    let stubborn = format!(
        "trap '' TERM\necho $$ > pid\n{}\nsleep 1000 & wait",
        script(&tools(), ":")
    );
    let servers = servers(&world, shell(&world, &stubborn));
    servers.begin();
    ready(&servers).await;
    let pid = until_file(&world.path("pid")).await;
    servers.close().await;
    let process = Path::new("/proc").join(pid.trim());
    while process
        .join("fd")
        .read_dir()
        .is_ok_and(|mut fds| fds.next().is_some())
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
