//! Settings of what may be reached: `[sandbox]`, `[web]`, `[permission]`, servers of tools, providers.
//!
//! Rows of the table in `keys`; nothing else belongs here.

use super::{Key, key};
use crate::config::kind::Kind;
use crate::config::mcp::McpSettings;
use crate::config::used::{Config, ModelSettings, ProviderSettings};

fn provider<'a>(c: &'a mut Config, names: &[String]) -> &'a mut ProviderSettings {
    let name = names.first().cloned().unwrap_or_default();
    c.providers.entry(name).or_default()
}

fn server<'a>(c: &'a mut Config, names: &[String]) -> &'a mut McpSettings {
    let name = names.first().cloned().unwrap_or_default();
    c.mcp.entry(name).or_default()
}

fn model<'a>(c: &'a mut Config, names: &[String]) -> &'a mut ModelSettings {
    let name = names.get(1).cloned().unwrap_or_default();
    provider(c, names).models.entry(name).or_default()
}

const WIRES: &[&str] = &["anthropic", "openai-chat", "openai-responses", "gemini"];

pub(super) const KEYS: &[Key] = &[
    key(
        "sandbox.enabled",
        Kind::Bool(|c, _| &mut c.sandbox.enabled),
        "False runs commands without the sandbox.",
    ),
    key(
        "sandbox.network",
        Kind::Bool(|c, _| &mut c.sandbox.network),
        "True lets sandboxed commands use the network.",
    ),
    key(
        "sandbox.writable",
        Kind::Paths(|c, _| &mut c.sandbox.writable),
        "Folders besides the worktree and the temporary folder that commands may write.",
    ),
    key(
        "web.timeout",
        Kind::Duration(|c, _| &mut c.web.timeout),
        "A page that web_fetch asks for must be there after so long.",
    ),
    key(
        "web.max_bytes",
        Kind::Size(|c, _| &mut c.web.max_bytes),
        "Bytes of a page that web_fetch takes at most.",
    ),
    key(
        "web.private",
        Kind::Bool(|c, _| &mut c.web.private),
        "True lets web_fetch reach this machine and private networks.",
    ),
    key(
        "permission",
        Kind::Rules,
        "Permission rules: a tool with one word, or a tool with a table of patterns and words (docs/permissions.md).",
    ),
    key(
        "mcp.*.command",
        Kind::OptText(|c, n| &mut server(c, n).command),
        "Program of a server of tools (MCP) that speaks over its standard input and output.",
    ),
    key(
        "mcp.*.args",
        Kind::Words(|c, n| &mut server(c, n).args),
        "Its arguments; `${NAME}` stands for a variable of the environment, here and below.",
    ),
    key(
        "mcp.*.env",
        Kind::TextMap(|c, n| &mut server(c, n).env),
        "Extra variables of its environment.",
    ),
    key(
        "mcp.*.cwd",
        Kind::OptText(|c, n| &mut server(c, n).cwd),
        "Its folder, from the worktree.",
    ),
    key(
        "mcp.*.url",
        Kind::OptText(|c, n| &mut server(c, n).url),
        "Address of a server of tools that speaks streamable HTTP, in place of `command`.",
    ),
    key(
        "mcp.*.headers",
        Kind::TextMap(|c, n| &mut server(c, n).headers),
        "Headers to send to it.",
    ),
    key(
        "mcp.*.enabled",
        Kind::Bool(|c, n| &mut server(c, n).enabled),
        "False leaves the server alone.",
    ),
    key(
        "mcp.*.tools",
        Kind::Words(|c, n| &mut server(c, n).tools),
        "Patterns of the tools to offer, `*` for anything; without it all.",
    ),
    key(
        "mcp.*.start_timeout",
        Kind::Duration(|c, n| &mut server(c, n).start_timeout),
        "Time until its tools must be known; the first prompt waits for them so long.",
    ),
    key(
        "mcp.*.timeout",
        Kind::Duration(|c, n| &mut server(c, n).timeout),
        "Time that a call may be silent; progress that the server tells counts as a sign of life.",
    ),
    key(
        "provider.*.wire",
        Kind::OptChoice(|c, n| &mut provider(c, n).wire, WIRES),
        "Wire format of the provider; a built-in provider has its own.",
    ),
    key(
        "provider.*.base_url",
        Kind::OptText(|c, n| &mut provider(c, n).base_url),
        "Origin of the API; `/v1/…` is appended, and `…/v1` is accepted too.",
    ),
    key(
        "provider.*.key_env",
        Kind::OptText(|c, n| &mut provider(c, n).key_env),
        "Environment variable that holds the key.",
    ),
    key(
        "provider.*.headers",
        Kind::TextMap(|c, n| &mut provider(c, n).headers),
        "Headers to send with every request.",
    ),
    key(
        "provider.*.quirks",
        Kind::BoolMap(|c, n| &mut provider(c, n).quirks),
        "Wire quirks to switch on or off, by name.",
    ),
    key(
        "provider.*.model.*.context",
        Kind::OptU64(|c, n| &mut model(c, n).context),
        "Window of the model in tokens.",
    ),
    key(
        "provider.*.model.*.max_input",
        Kind::OptU64(|c, n| &mut model(c, n).max_input),
        "Largest prompt in tokens.",
    ),
    key(
        "provider.*.model.*.max_output",
        Kind::OptU64(|c, n| &mut model(c, n).max_output),
        "Most output tokens.",
    ),
    key(
        "provider.*.model.*.tools",
        Kind::OptBool(|c, n| &mut model(c, n).tools),
        "The model can call tools.",
    ),
    key(
        "provider.*.model.*.reasoning",
        Kind::OptBool(|c, n| &mut model(c, n).reasoning),
        "The model can reason.",
    ),
    key(
        "provider.*.model.*.images",
        Kind::OptBool(|c, n| &mut model(c, n).images),
        "The model takes images.",
    ),
    key(
        "provider.*.model.*.input_price",
        Kind::OptAmount(|c, n| &mut model(c, n).input_price),
        "Price of input, USD per million tokens.",
    ),
    key(
        "provider.*.model.*.output_price",
        Kind::OptAmount(|c, n| &mut model(c, n).output_price),
        "Price of output, USD per million tokens.",
    ),
    key(
        "provider.*.model.*.cache_read_price",
        Kind::OptAmount(|c, n| &mut model(c, n).cache_read_price),
        "Price of input read from the cache, USD per million tokens.",
    ),
    key(
        "provider.*.model.*.cache_write_price",
        Kind::OptAmount(|c, n| &mut model(c, n).cache_write_price),
        "Price of input written to the cache, USD per million tokens.",
    ),
];
