//! Token counts of a chat chunk, wherever the server put them.

use serde_json::Value;

use crate::model::decode::json;
use crate::model::delta::Usage;

/// The counts that a chunk tells; none if it tells none.
pub(super) fn of_chunk(chunk: &Value) -> Option<Usage> {
    let choice = json::items(chunk, "choices").first();
    json::some(chunk, "usage")
        .or_else(|| {
            chunk
                .get("x_groq")
                .and_then(|groq| json::some(groq, "usage"))
        })
        .or_else(|| choice.and_then(|choice| json::some(choice, "usage")))
        .filter(|usage| usage.is_object())
        .map(counts)
}

/// What is known after this chunk: what it leaves out was said before, and zeros after real counts are
/// placeholders.
pub(super) fn newer(old: Usage, new: Usage) -> Usage {
    let nothing = |count: Option<u64>| count.unwrap_or(0) == 0;
    if nothing(new.input) && nothing(new.output) && nothing(new.cache_read) {
        return Usage {
            input: old.input.or(new.input),
            output: old.output.or(new.output),
            ..old
        };
    }
    Usage {
        input: new.input.or(old.input),
        output: new.output.or(old.output),
        reasoning: new.reasoning.or(old.reasoning),
        cache_read: new.cache_read.or(old.cache_read),
        cache_write: new.cache_write.or(old.cache_write),
    }
}

fn counts(said: &Value) -> Usage {
    let first = |paths: &[&str]| paths.iter().find_map(|path| json::number(said, path));
    let cache_read = first(&[
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "cache_read_input_tokens",
    ]);
    let cache_write = first(&[
        "prompt_tokens_details.cache_write_tokens",
        "cache_creation_input_tokens",
        "prompt_tokens_details.cache_creation_tokens",
    ]);
    let reasoning = first(&[
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "reasoning_tokens",
    ]);
    let prompt = first(&["prompt_tokens", "input_tokens"]);
    let completion = first(&["completion_tokens", "output_tokens"]);
    let apart = match (
        prompt,
        completion,
        reasoning,
        json::number(said, "total_tokens"),
    ) {
        (Some(prompt), Some(completion), Some(reasoning), Some(total)) => {
            reasoning > 0
                && u128::from(total)
                    == u128::from(prompt) + u128::from(completion) + u128::from(reasoning)
        }
        _ => false,
    };
    let cached = cache_read
        .unwrap_or(0)
        .saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: prompt.map(|prompt| prompt.saturating_sub(cached)),
        output: completion
            .map(|completion| completion.saturating_add(reasoning.filter(|_| apart).unwrap_or(0))),
        reasoning,
        cache_read,
        cache_write,
    }
}
