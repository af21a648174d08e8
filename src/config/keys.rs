//! The table of settings: every key with its kind, its place in `Config` and what it means.
//!
//! One row feeds reading files, `--config`, the environment, `dunlin config`, the JSON schema and
//! docs/config.md. A `*` in a key stands for a name that the user chooses. `load` walks it.

mod find;

use super::kind::Kind;
use super::mcp::McpSettings;
use super::used::{Config, ModelSettings, ProviderSettings};
pub use find::{Found, find, siblings};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted, `*` for a name of the user's.
    pub path: &'static str,
    /// Kind and place.
    pub kind: Kind,
    /// What it means, one sentence without the default.
    pub about: &'static str,
}

const fn key(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { path, kind, about }
}

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
/// How pictures can be shown.
const PICTURES: &[&str] = &["auto", "off", "blocks", "kitty", "iterm", "sixel"];

const STRATEGIES: &[&str] = &[
    "reactive-overflow",
    "proactive-threshold",
    "middle-removal",
    "manual",
];
const MAX: u32 = u32::MAX;

/// Every setting, in the order of the documentation.
pub const KEYS: &[Key] = &[
    key(
        "model",
        Kind::OptModel(|c, _| &mut c.model),
        "Model of new sessions, provider/model; without it one is chosen from the keys that are set.",
    ),
    key(
        "small_model",
        Kind::OptModel(|c, _| &mut c.small_model),
        "Model for titles and summaries; without it the session's.",
    ),
    key(
        "fallback_models",
        Kind::Models(|c, _| &mut c.fallback_models),
        "Models to go on with when the chosen one stays overloaded, in order.",
    ),
    key(
        "effort",
        Kind::OptEffort(|c, _| &mut c.effort),
        "Reasoning effort; without it the model's default.",
    ),
    key(
        "mode",
        Kind::Mode(|c, _| &mut c.mode),
        "Permission mode of new sessions.",
    ),
    key(
        "agent",
        Kind::Text(|c, _| &mut c.agent),
        "Agent of new sessions.",
    ),
    key(
        "loop.retries",
        Kind::U32(|c, _| &mut c.turn.retries, 0, 100),
        "Retries of a failed request; rate limits and overload have no limit.",
    ),
    key(
        "loop.longest_wait",
        Kind::Duration(|c, _| &mut c.turn.longest_wait),
        "`dunlin exec` gives up when a provider asks it to wait longer than this; with a screen you decide.",
    ),
    key(
        "loop.overload_wait",
        Kind::Duration(|c, _| &mut c.turn.overload_wait),
        "Longest wait between two attempts while the model is overloaded; what the provider asks for wins.",
    ),
    key(
        "loop.idle_timeout",
        Kind::Duration(|c, _| &mut c.turn.idle_timeout),
        "A stream that is silent for so long has timed out.",
    ),
    key(
        "loop.write_delay",
        Kind::Duration(|c, _| &mut c.turn.write_delay),
        "Streaming text is written at most so long after it arrived.",
    ),
    key(
        "loop.parallel_tools",
        Kind::Usize(|c, _| &mut c.turn.parallel_tools, 1),
        "Tools that run at once.",
    ),
    key(
        "loop.loop_repeats",
        Kind::U32(|c, _| &mut c.turn.loop_repeats, 2, MAX),
        "Identical calls in a row that make a loop.",
    ),
    key(
        "loop.loop_repeats_polling",
        Kind::U32(|c, _| &mut c.turn.loop_repeats_polling, 2, MAX),
        "The same for calls whose results differ, as when polling.",
    ),
    key(
        "loop.loop_always_limit",
        Kind::U32(|c, _| &mut c.turn.loop_always_limit, 1, MAX),
        "Calls that the answer *Always allow* lets through.",
    ),
    key(
        "loop.max_steps",
        Kind::OptU32(|c, _| &mut c.turn.max_steps),
        "Steps of one turn; none for no limit (headless: 200).",
    ),
    key(
        "loop.subagent_depth",
        Kind::U32(|c, _| &mut c.turn.subagent_depth, 0, 8),
        "Nesting of subagents.",
    ),
    key(
        "budget.usd",
        Kind::OptAmount(|c, _| &mut c.budget.usd),
        "US dollars per session, subagents included.",
    ),
    key(
        "budget.tokens",
        Kind::OptU64(|c, _| &mut c.budget.tokens),
        "Tokens per session, input and output.",
    ),
    key(
        "budget.steps",
        Kind::OptU32(|c, _| &mut c.budget.steps),
        "Steps per session.",
    ),
    key(
        "budget.time",
        Kind::OptDuration(|c, _| &mut c.budget.time),
        "Time that turns of a session may run.",
    ),
    key(
        "context.strategy",
        Kind::Choice(|c, _| &mut c.context.strategy, STRATEGIES),
        "How a conversation that outgrows its window is compacted.",
    ),
    key(
        "context.output_reserve",
        Kind::U64(|c, _| &mut c.context.output_reserve),
        "Tokens kept free for the answer, at most.",
    ),
    key(
        "context.prune_protect",
        Kind::U64(|c, _| &mut c.context.prune_protect),
        "Newest tool output that pruning leaves alone, in estimated tokens.",
    ),
    key(
        "context.prune_minimum",
        Kind::U64(|c, _| &mut c.context.prune_minimum),
        "Pruning that would free less than so many tokens is not done.",
    ),
    key(
        "context.prune_fold",
        Kind::Bool(|c, _| &mut c.context.prune_fold),
        "A pruning takes calls that an earlier one cleared out of the request; one line per turn stands for them.",
    ),
    key(
        "context.prune_keep_tools",
        Kind::Words(|c, _| &mut c.context.prune_keep_tools),
        "Tools whose results are never pruned.",
    ),
    key(
        "context.keep_turns",
        Kind::U32(|c, _| &mut c.context.keep_turns, 0, MAX),
        "Turns that a compaction keeps verbatim.",
    ),
    key(
        "context.threshold",
        Kind::Share(|c, _| &mut c.context.threshold),
        "`proactive-threshold` starts at this share of the window.",
    ),
    key(
        "context.threshold_keep",
        Kind::Share(|c, _| &mut c.context.threshold_keep),
        "`proactive-threshold` keeps this share of the window, the newest.",
    ),
    key(
        "context.removal_at",
        Kind::Share(|c, _| &mut c.context.removal_at),
        "`middle-removal` starts at this share of the window.",
    ),
    key(
        "context.prune",
        Kind::Bool(|c, _| &mut c.context.prune),
        "False switches pruning off.",
    ),
    key(
        "context.compact",
        Kind::Bool(|c, _| &mut c.context.compact),
        "False switches compaction off.",
    ),
    key(
        "output.lines",
        Kind::Usize(|c, _| &mut c.output.lines, 1),
        "Lines of one tool output.",
    ),
    key(
        "output.bytes",
        Kind::Usize(|c, _| &mut c.output.bytes, 256),
        "Bytes of one tool output.",
    ),
    key(
        "output.bash_chars",
        Kind::Usize(|c, _| &mut c.output.bash_chars, 256),
        "Characters of one `bash` output.",
    ),
    key(
        "output.read_lines",
        Kind::Usize(|c, _| &mut c.output.read_lines, 1),
        "Lines of one `read`.",
    ),
    key(
        "output.read_line_chars",
        Kind::Usize(|c, _| &mut c.output.read_line_chars, 16),
        "Characters per line of `read`.",
    ),
    key(
        "output.grep_matches",
        Kind::Usize(|c, _| &mut c.output.grep_matches, 1),
        "Matches of one `grep`.",
    ),
    key(
        "output.glob_paths",
        Kind::Usize(|c, _| &mut c.output.glob_paths, 1),
        "Paths of one `glob`.",
    ),
    key(
        "output.other_chars",
        Kind::Usize(|c, _| &mut c.output.other_chars, 256),
        "Characters of any other output.",
    ),
    key(
        "output.keep_days",
        Kind::U32(|c, _| &mut c.output.keep_days, 0, 36_500),
        "Days that full outputs are kept.",
    ),
    key(
        "bash.timeout",
        Kind::Duration(|c, _| &mut c.bash.timeout),
        "Time-out of a command that asks for none.",
    ),
    key(
        "bash.max_timeout",
        Kind::Duration(|c, _| &mut c.bash.max_timeout),
        "Longest time-out a command may ask for.",
    ),
    key(
        "bash.env",
        Kind::TextMap(|c, _| &mut c.bash.env),
        "Extra variables in the environment of commands.",
    ),
    key(
        "snapshot.enabled",
        Kind::Bool(|c, _| &mut c.snapshot.enabled),
        "False turns snapshots, diffs and undo off.",
    ),
    key(
        "snapshot.max_file",
        Kind::Size(|c, _| &mut c.snapshot.max_file),
        "Untracked files above this size stay out of snapshots.",
    ),
    key(
        "snapshot.max_bytes",
        Kind::Size(|c, _| &mut c.snapshot.max_bytes),
        "New data of one snapshot.",
    ),
    key(
        "snapshot.max_files",
        Kind::Usize(|c, _| &mut c.snapshot.max_files, 1),
        "Files of a first walk outside git.",
    ),
    key(
        "snapshot.max_walk",
        Kind::Duration(|c, _| &mut c.snapshot.max_walk),
        "Time of a first walk outside git.",
    ),
    key(
        "snapshot.quota",
        Kind::Size(|c, _| &mut c.snapshot.quota),
        "Disk space of one project's snapshots.",
    ),
    key(
        "snapshot.keep_days",
        Kind::U32(|c, _| &mut c.snapshot.keep_days, 0, 36_500),
        "Days that snapshots are kept.",
    ),
    key(
        "snapshot.watch",
        Kind::Bool(|c, _| &mut c.snapshot.watch),
        "False does without watching the file system.",
    ),
    key(
        "snapshot.verify_after",
        Kind::Duration(|c, _| &mut c.snapshot.verify_after),
        "Idle time after which all files are compared once with what is known; 0 for never.",
    ),
    key(
        "store.frames_days",
        Kind::U32(|c, _| &mut c.store.frames_days, 0, 36_500),
        "Days that recorded answers of models are kept for dunlin replay; 0 records none.",
    ),
    key(
        "store.quota",
        Kind::Size(|c, _| &mut c.store.quota),
        "Disk space of one project's sessions; 0 for no limit.",
    ),
    key(
        "store.archive_days",
        Kind::U32(|c, _| &mut c.store.archive_days, 0, 36_500),
        "Days after which an untouched session is archived.",
    ),
    key(
        "ui.theme",
        Kind::Text(|c, _| &mut c.ui.theme),
        "Name of the theme; auto takes dark or light by the terminal's background.",
    ),
    key(
        "ui.mouse",
        Kind::Bool(|c, _| &mut c.ui.mouse),
        "False gives the terminal its own selection back.",
    ),
    key(
        "ui.copy_on_select",
        Kind::Bool(|c, _| &mut c.ui.copy_on_select),
        "Copy a selection as soon as it is made.",
    ),
    key(
        "ui.reduced_motion",
        Kind::Bool(|c, _| &mut c.ui.reduced_motion),
        "No spinner, no motion.",
    ),
    key(
        "ui.vim",
        Kind::Bool(|c, _| &mut c.ui.vim),
        "Vim keys in the composer.",
    ),
    key(
        "ui.plain",
        Kind::Bool(|c, _| &mut c.ui.plain),
        "Append-only output in place of the full screen.",
    ),
    key(
        "ui.notify",
        Kind::Bool(|c, _| &mut c.ui.notify),
        "Notify when the terminal is not in front.",
    ),
    key(
        "ui.images",
        Kind::Choice(|c, _| &mut c.ui.images, PICTURES),
        "How pictures are shown; auto asks the terminal, blocks makes them of coloured halves of cells.",
    ),
    key(
        "ui.links",
        Kind::Bool(|c, _| &mut c.ui.links),
        "Addresses and file names that the terminal opens with a click.",
    ),
    key(
        "ui.keys",
        Kind::WordsMap(|c, _| &mut c.ui.keys),
        "Keys: the name of an action and the keys that do it, over the defaults.",
    ),
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
