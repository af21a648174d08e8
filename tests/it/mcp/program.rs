//! A server that is a program: a shell script that speaks the protocol line by line.

use serde_json::{Value, json};

use crate::support::pty::{Terminal as Pty, until};
use crate::support::world::{World, of_type, tools};

/// A server with one tool, `add`, which answers with what it was asked.
const SERVER: &str = r#"
say() { printf '%s\n' "$1"; }
echo $$ > "$PIDFILE"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"method":"initialize"'*)
    say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sums","version":"1"}}}' ;;
  *'"method":"tools/list"'*)
    say '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}]}}' ;;
  *'"method":"tools/call"'*)
    say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"token '"$TOKEN"', key '"${ANTHROPIC_API_KEY:-none}"', in '"$PWD"'"}]}}' ;;
  esac
done
"#;

fn world(script: &Value) -> World {
    let mut world = World::scripted(script);
    let (server, pid) = (world.root().join("server.sh"), world.root().join("pid"));
    std::fs::write(&server, SERVER).expect("a server");
    let config = format!(
        "[mcp.sums]\ncommand = \"bash\"\nargs = ['{}']\nstart_timeout = \"60s\"\n\
         env = {{ TOKEN = \"${{SUMS_TOKEN}}\", PIDFILE = '{}' }}\n",
        server.display(),
        pid.display()
    );
    std::fs::write(world.config().join("config.toml"), config).expect("a configuration");
    world.set("SUMS_TOKEN", "t0ken");
    world.set("ANTHROPIC_API_KEY", "sk-ant-not-for-servers");
    world
}

fn calls() -> Value {
    json!({"steps": [
        {"calls": [{"name": "mcp__sums__add", "input": {"a": 1}}]},
        {"text": "done"}
    ]})
}

/// True while the server's process is there.
fn lives(world: &World) -> bool {
    let pid = std::fs::read_to_string(world.root().join("pid")).expect("it was started");
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn the_first_request_has_the_servers_tools_and_a_call_reaches_it() {
    let world = world(&calls());
    let (ran, events) = world.events(&[
        "--mode",
        "auto",
        "--config",
        "permission.mcp__sums__add=allow",
        "go",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let calls = tools(&events);
    let output = calls[0]["state"]["output"].as_str().unwrap_or_default();
    let folder = world.worktree().canonicalize().expect("a folder");
    assert_eq!(
        output,
        format!("token t0ken, key none, in {}", folder.display()),
        "{calls:#?}"
    );
    until("the server's end", || !lives(&world));
}

#[test]
fn a_call_is_refused_where_nobody_can_be_asked() {
    for mode in ["ask", "auto-edit", "auto", "plan"] {
        let world = world(&calls());
        let (ran, events) = world.events(&["--mode", mode, "go"]);
        let calls = tools(&events);
        assert_eq!(calls[0]["state"]["status"], "error", "{mode}: {calls:#?}");
        let wanted = if mode == "plan" { 0 } else { 3 };
        assert_eq!(ran.code, wanted, "{mode}: {}", ran.stderr);
    }
}

#[test]
fn a_server_of_the_project_waits_for_trust() {
    let world = world(&calls());
    let config = std::fs::read_to_string(world.config().join("config.toml")).expect("config");
    std::fs::remove_file(world.config().join("config.toml")).expect("removed");
    world.write(".dunlin/config.toml", &config);
    let (_, events) = world.events(&["--mode", "auto", "go"]);
    let calls = tools(&events);
    let error = calls[0]["state"]["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("There is no tool mcp__sums__add"),
        "{calls:#?}"
    );
    assert!(!world.root().join("pid").exists(), "it was not started");
}

#[test]
fn a_server_that_does_not_start_is_told_and_the_turn_goes_on() {
    let world = world(&json!({"steps": [{"text": "without it"}]}));
    let config = "[mcp.gone]\ncommand = \"/no/such/server\"\n";
    std::fs::write(world.config().join("config.toml"), config).expect("a configuration");
    let (ran, events) = world.events(&["go"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = of_type(&events, "notice");
    let text = told.iter().map(|n| n["text"].as_str().unwrap_or_default());
    let text: Vec<_> = text.filter(|t| t.contains("MCP server gone")).collect();
    assert_eq!(text.len(), 1, "{told:#?}");
    assert!(text[0].contains("/no/such/server"), "{text:?}");
}

#[test]
fn the_screen_lists_servers_asks_with_the_arguments_and_ends_them() {
    let world = world(&calls());
    let model = world.model();
    let mut pty = Pty::start(&world, &["--model", &model], (40, 120));
    pty.shows("1 MCP");
    pty.send("/mcp\r");
    pty.shows("sums   ready, 1 tool   sums 1");
    pty.shows("mcp__sums__add");
    pty.send("\x1b");
    pty.shows_no("sums 1");
    pty.send("go\r");
    pty.shows("Use this tool");
    pty.shows("\"a\": 1");
    pty.answer("y");
    pty.shows("done");
    quit(&mut pty);
    until("the server's end", || !lives(&world));
}

fn quit(pty: &mut Pty) {
    pty.shows_no("esc interrupt");
    pty.send("\x03");
    pty.shows("Once more to quit.");
    pty.send("\x03");
    assert_eq!(pty.ends(), 0);
}

#[test]
fn a_request_that_waits_for_a_slow_server_says_so_and_esc_stops_the_wait() {
    let world = world(&calls());
    let slow = format!("until [ -e ready ]; do sleep 0.05; done\n{SERVER}");
    std::fs::write(world.root().join("server.sh"), slow).expect("a server");
    let model = world.model();
    let mut pty = Pty::start(&world, &["--model", &model], (40, 120));
    pty.shows("1 MCP");
    pty.send("go\r");
    pty.shows("The request waits for the MCP server sums.");
    pty.send("\x1b");
    pty.shows_no("esc interrupt");
    world.write("ready", "");
    pty.send("/mcp\r");
    pty.shows("sums   ready, 1 tool");
    pty.send("\x1b[27u");
    pty.shows_no("sums   ready");
    pty.send("again\r");
    pty.shows("Use this tool");
    pty.answer("y");
    pty.shows("done");
    quit(&mut pty);
}
