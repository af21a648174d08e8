//! What an endpoint refused: optional members of a request that it does not take.
//!
//! Servers that claim a wire seldom take all of it, and say so only when they are asked. The transport
//! shows a refusal to `Lesson::of`; the encoder leaves the member out from then on and the request is
//! made again at once. Members that change what the model is asked are not in here. Pure.

use serde_json::{Map, Value};

/// One thing to do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum Lesson {
    /// Leave this member out; a dot leads into an object.
    Without(&'static str),
    /// Give this member the other name.
    Rename(&'static str, &'static str),
    /// Never ask for more output tokens than this.
    AtMost(u64),
    /// Offer a tool, though none is to be called, where the history has calls.
    SomeTool,
}

/// Words of servers that demand tools where the history has calls: requests for a summary offer none.
const DEMANDS: [&str; 3] = [
    "`tools=` param",
    "must define tools",
    "toolconfig field must",
];

/// Members that may be left out, as messages name them, and where they stand. The longer name first
/// where one holds the other.
const OPTIONAL: [(&str, &str); 15] = [
    ("prompt_cache_key", "prompt_cache_key"),
    ("stream_options", "stream_options"),
    ("reasoning_effort", "reasoning_effort"),
    ("reasoning.summary", "reasoning.summary"),
    ("reasoning summaries", "reasoning.summary"),
    ("reasoning.effort", "reasoning.effort"),
    ("reasoning.encrypted_content", "include"),
    ("encrypted content", "include"),
    ("output_config", "output_config"),
    ("thinking_config", "generationConfig.thinkingConfig"),
    ("thinkingconfig", "generationConfig.thinkingConfig"),
    ("include", "include"),
    ("thinking", "thinking"),
    ("reasoning", "reasoning"),
    ("store", "store"),
];

/// Names that are words of the language too: they count only between quotes.
const WORDS: [&str; 4] = ["include", "thinking", "reasoning", "store"];

/// Members that limit the output.
const LIMITS: [&str; 3] = ["max_completion_tokens", "max_output_tokens", "max_tokens"];

/// Words of a server that does not take something.
const REFUSALS: [&str; 20] = [
    "unsupported",
    "not support",
    "n't support",
    "unknown",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "not permitted",
    "not allowed",
    "not available",
    "extra_forbidden",
    "unexpected",
    "additional propert",
    "cannot find field",
    "only supported",
    "must be verified",
    "not accept",
    "invalid parameter",
    "instead",
    "not enabled",
];

impl Lesson {
    /// What a refusal in these words teaches about a request of this body; none if nothing can be
    /// left out.
    pub(in crate::model) fn of(words: &str, body: &[u8]) -> Option<Self> {
        let words = words.to_lowercase();
        let has_calls = ["tool_use", "tool_calls", "function_call", "functionCall"]
            .iter()
            .any(|call| memchr::memmem::find(body, call.as_bytes()).is_some());
        if DEMANDS.iter().any(|demand| words.contains(demand)) && has_calls && !has(body, "tools") {
            return Some(Self::SomeTool);
        }
        let refused = REFUSALS.iter().any(|refusal| words.contains(refusal));
        let limit = LIMITS.into_iter().find(|name| has(body, name));
        if let Some(limit) = limit.filter(|limit| names(&words, limit))
            && let Some(lesson) = about_limit(&words, limit, refused)
        {
            return Some(lesson);
        }
        if !refused {
            return None;
        }
        OPTIONAL
            .into_iter()
            .find(|(name, path)| {
                let member = path.rsplit('.').next().unwrap_or(path);
                names(&words, name) && has(body, member)
            })
            .map(|(_, path)| Self::Without(path))
    }

    /// Changes the members of a request.
    pub(super) fn apply(self, head: &mut Map<String, Value>) {
        match self {
            // the encoder's business
            Self::SomeTool => {}
            Self::Without(path) => match path.split_once('.') {
                None => {
                    let _gone: Option<Value> = head.shift_remove(path);
                }
                Some((outer, inner)) => {
                    if let Some(Value::Object(object)) = head.get_mut(outer) {
                        let _gone: Option<Value> = object.shift_remove(inner);
                        if object.is_empty() {
                            let _empty: Option<Value> = head.shift_remove(outer);
                        }
                    }
                }
            },
            Self::Rename(from, to) => {
                if let Some(value) = head.shift_remove(from) {
                    head.insert(to.to_owned(), value);
                }
            }
            Self::AtMost(most) => {
                for limit in LIMITS {
                    if let Some(value) = head.get_mut(limit)
                        && value.as_u64().is_some_and(|asked| asked > most)
                    {
                        *value = most.into();
                    }
                }
                // a budget for thinking must be below the limit
                let budget = head
                    .get("thinking")
                    .and_then(|thinking| thinking["budget_tokens"].as_u64());
                if budget.is_some_and(|budget| budget >= most) {
                    let _gone: Option<Value> = head.shift_remove("thinking");
                }
            }
        }
    }
}

/// What a refusal of the output limit teaches.
fn about_limit(words: &str, limit: &'static str, refused: bool) -> Option<Lesson> {
    let told = ["supports at most ", "less than or equal to ", "> "]
        .iter()
        .find_map(|lead| number_after(words, lead))
        .filter(|most| *most >= 256);
    let too_large = [
        "too large",
        "too high",
        "too big",
        "maximum allowed",
        "less than or equal",
    ]
    .iter()
    .any(|word| words.contains(word));
    // with a window in the sentence, the number is the window and what fits changes with the prompt
    let of_window = words.contains("context length") || words.contains("context window");
    match (limit, told) {
        (_, Some(most)) if too_large && !of_window => Some(Lesson::AtMost(most)),
        ("max_tokens", _) if refused && words.contains("max_completion_tokens") => {
            Some(Lesson::Rename("max_tokens", "max_completion_tokens"))
        }
        ("max_completion_tokens", _) if refused => {
            Some(Lesson::Rename("max_completion_tokens", "max_tokens"))
        }
        _ if refused || (too_large && of_window) => Some(Lesson::Without(limit)),
        _ => None,
    }
}

fn number_after(words: &str, lead: &str) -> Option<u64> {
    words.match_indices(lead).find_map(|(at, _)| {
        let digits = words.get(at + lead.len()..)?;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits.get(..end)?.parse().ok()
    })
}

/// True if the words name this member, not a longer one that holds the name.
fn names(words: &str, name: &str) -> bool {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let quote = |c: char| matches!(c, '\'' | '"' | '`' | '[' | ']' | '.');
    words.match_indices(name).any(|(at, _)| {
        let before = words.get(..at).and_then(|text| text.chars().next_back());
        let after = words
            .get(at + name.len()..)
            .and_then(|text| text.chars().next());
        if WORDS.contains(&name) {
            before.is_some_and(quote) && after.is_some_and(quote)
        } else {
            !before.is_some_and(in_name) && !after.is_some_and(in_name)
        }
    })
}

/// True if the body has a member of this name.
fn has(body: &[u8], name: &str) -> bool {
    memchr::memmem::find(body, format!("\"{name}\":").as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BODY: &[u8] =
        br#"{"max_tokens":9,"prompt_cache_key":"k","stream_options":{},"include":[],
        "store":false,"reasoning":{"effort":"high","summary":"auto"},"reasoning_effort":"high"}"#;

    #[test]
    fn a_refusal_names_the_member_in_any_wording() {
        for (words, path) in [
            (
                "anthropic does not support parameters: ['prompt_cache_key'], for model=x",
                "prompt_cache_key",
            ),
            (
                "Unrecognized request argument supplied: reasoning_effort",
                "reasoning_effort",
            ),
            ("property 'stream_options' is unsupported", "stream_options"),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]}"#,
                "store",
            ),
            ("Unknown parameter: 'include'.", "include"),
            (
                "Encrypted content is not supported with this model.",
                "include",
            ),
            (
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                "reasoning.effort",
            ),
            (
                "Your organization must be verified to generate reasoning summaries.",
                "reasoning.summary",
            ),
        ] {
            assert_eq!(
                Lesson::of(words, BODY),
                Some(Lesson::Without(path)),
                "{words}"
            );
        }
        for words in [
            "include the result of every tool call; unknown id call_1",
            "The model is not available in your store",
            "Unknown parameter: 'top_k'.",
            "Invalid value for 'store'",
        ] {
            assert_eq!(Lesson::of(words, BODY), None, "{words}");
        }
        // a member that was not sent cannot be left out
        assert_eq!(Lesson::of("unsupported: prompt_cache_key", b"{}"), None);
    }

    #[test]
    fn a_tool_is_offered_where_calls_of_the_history_demand_one() {
        let calls = br#"{"messages":[{"content":[{"type":"tool_use"}]}]}"#;
        for words in [
            "litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in.",
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        ] {
            assert_eq!(Lesson::of(words, calls), Some(Lesson::SomeTool), "{words}");
            assert_eq!(Lesson::of(words, b"{\"messages\":[]}"), None);
            let offered = br#"{"tools":[],"messages":[{"type":"tool_use"}]}"#;
            assert_eq!(Lesson::of(words, offered), None);
        }
    }

    #[test]
    fn the_output_limit_is_renamed_lowered_or_left_out() {
        let old = br#"{"max_tokens":65536}"#;
        let new = br#"{"max_completion_tokens":65536}"#;
        for (words, body, lesson) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                &old[..],
                Some(Lesson::Rename("max_tokens", "max_completion_tokens")),
            ),
            (
                "property 'max_completion_tokens' is unsupported",
                new,
                Some(Lesson::Rename("max_completion_tokens", "max_tokens")),
            ),
            (
                "max_tokens: 65536 > 8192, which is the maximum allowed number of output tokens for x",
                old,
                Some(Lesson::AtMost(8192)),
            ),
            (
                "max_tokens is too large: 65536. This model supports at most 16384 completion tokens",
                old,
                Some(Lesson::AtMost(16384)),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 65536. This model's maximum context length is 4096 tokens and your request has 23 input tokens (65536 > 4096 - 23).",
                old,
                Some(Lesson::Without("max_tokens")),
            ),
            ("prompt is too long", old, None),
        ] {
            assert_eq!(Lesson::of(words, body), lesson, "{words}");
        }
    }

    #[test]
    fn lessons_change_only_what_they_are_about() {
        let mut head = json!({"model": "m", "reasoning": {"summary": "auto"}, "max_tokens": 900, "store": false})
            .as_object()
            .cloned()
            .expect("an object");
        for lesson in [
            Lesson::Without("reasoning.summary"),
            Lesson::AtMost(512),
            Lesson::Rename("max_tokens", "max_completion_tokens"),
            Lesson::Without("prompt_cache_key"),
            Lesson::Without("generationConfig.thinkingConfig"),
        ] {
            lesson.apply(&mut head);
        }
        assert_eq!(
            Value::Object(head),
            json!({"model": "m", "store": false, "max_completion_tokens": 512})
        );
    }
}
