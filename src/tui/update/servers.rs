//! `/mcp`: servers of tools outside, how they are and what they offer; and starting one again.

use super::super::overlay::Overlay;
use super::super::overlay::pager::Pager;
use super::super::state::State;
use super::Effect;
use crate::protocol::outside::{ServerState, ToolServer};
use crate::protocol::{Millis, Op};

const TITLE: &str = "MCP servers";

/// `/mcp` and `/mcp restart NAME`.
pub(super) fn command(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    let mut words = rest.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => {
            let pager = Pager::lines(TITLE, &lines(&state.servers));
            state.overlays.push(Overlay::Pager(pager));
            Vec::new()
        }
        (Some("restart"), Some(name), None) => {
            vec![Effect::Op(Op::RestartServer(name.to_owned()))]
        }
        _ => super::command::usage(state, "/mcp, or /mcp restart NAME", now),
    }
}

/// The agent told how the servers are.
pub(super) fn came(state: &mut State, servers: Vec<ToolServer>) {
    state.servers = servers;
    let lines = lines(&state.servers);
    if let Some(Overlay::Pager(pager)) = state.overlays.last_mut()
        && pager.is(TITLE)
    {
        *pager = Pager::lines(TITLE, &lines);
    }
}

fn lines(servers: &[ToolServer]) -> Vec<String> {
    if servers.is_empty() {
        return [
            "No server is configured.",
            "",
            "In config.toml, a program or an address:",
            "",
            "  [mcp.files]",
            "  command = \"npx\"",
            "  args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \".\"]",
            "",
            "  [mcp.docs]",
            "  url = \"https://example.com/mcp\"",
            "  headers = { Authorization = \"Bearer ${DOCS_TOKEN}\" }",
        ]
        .map(str::to_owned)
        .to_vec();
    }
    let mut lines = Vec::new();
    for server in servers {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("{}   {}", server.name, state_of(server)));
        lines.push(format!("  {}", server.reached));
        if let ServerState::Failed(why) = &server.state {
            lines.push(format!("  {why}"));
            lines.extend(server.said.iter().map(|line| format!("  │ {line}")));
            lines.push(format!("  /mcp restart {} starts it again.", server.name));
        }
        let width = server
            .tools
            .iter()
            .map(|t| t.name.len())
            .max()
            .unwrap_or(0)
            .min(40);
        for tool in &server.tools {
            let reads = if tool.reads_only { "reads only   " } else { "" };
            lines.push(format!("  {:width$}   {reads}{}", tool.name, tool.about));
        }
    }
    lines
}

fn state_of(server: &ToolServer) -> String {
    let count = match server.tools.len() {
        1 => "1 tool".to_owned(),
        n => format!("{n} tools"),
    };
    match &server.state {
        ServerState::Off => "off (enabled = false)".to_owned(),
        ServerState::Starting => "starting".to_owned(),
        ServerState::Ready if server.called.is_empty() => format!("ready, {count}"),
        ServerState::Ready => format!("ready, {count}   {}", server.called),
        ServerState::Failed(_) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::outside::ServerTool;

    fn server(state: ServerState) -> ToolServer {
        ToolServer {
            name: "docs".into(),
            reached: "https://example.com/mcp".into(),
            state,
            called: "docs 1.2".into(),
            tools: vec![ServerTool {
                name: "mcp__docs__find".into(),
                about: "Finds a page.".into(),
                reads_only: true,
            }],
            said: vec!["no such token".into()],
        }
    }

    #[test]
    fn a_server_shows_its_state_and_its_tools() {
        let text = lines(&[server(ServerState::Ready)]).join("\n");
        assert_eq!(
            text,
            "docs   ready, 1 tool   docs 1.2\n  https://example.com/mcp\n  mcp__docs__find   reads only   Finds a page."
        );
    }

    #[test]
    fn a_server_that_failed_says_why_what_it_said_and_what_to_do() {
        let text = lines(&[server(ServerState::Failed(
            "it ended with exit code 1.".into(),
        ))])
        .join("\n");
        for part in [
            "docs   failed",
            "exit code 1",
            "│ no such token",
            "/mcp restart docs",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn without_servers_the_way_to_one_is_shown() {
        assert!(lines(&[]).join("\n").contains("[mcp.files]"));
    }
}
