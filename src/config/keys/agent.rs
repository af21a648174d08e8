//! Settings of the agent: model and mode of new sessions, `[loop]`, `[budget]`, `[context]`.
//!
//! Rows of the table in `keys`; nothing else belongs here.

use super::{Key, MAX, key};
use crate::config::kind::Kind;

const STRATEGIES: &[&str] = &[
    "reactive-overflow",
    "proactive-threshold",
    "middle-removal",
    "manual",
];

pub(super) const KEYS: &[Key] = &[
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
        "loop.queue_limit",
        Kind::U32(|c, _| &mut c.turn.queue_limit, 1, MAX),
        "Messages that may wait while the agent works; one more is not taken. (Together they have at most 64 MiB of text.)",
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
];
