//! How hard to think, in the words of each provider and model family.
//!
//! Families are told apart by their names: a new model of a known family works before the catalog
//! knows it. Values that a family refuses are rounded to the nearest one that it takes. Pure.
//! Sources: the providers' reference pages on reasoning, November 2026.

use serde_json::{Value, json};

use crate::protocol::Effort;

/// What Anthropic is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClaudeThinking {
    /// Member `thinking`.
    pub thinking: Option<Value>,
    /// `output_config.effort`.
    pub effort: Option<&'static str>,
    /// True if an assistant turn that is being continued must begin with thinking.
    pub strict: bool,
}

/// Major and minor version in a model name: `claude-opus-4-6-20260205` is (4, 6).
pub(super) fn version(model: &str) -> Option<(u32, u32)> {
    let mut numbers = model
        .split(['-', '.', '@', ':', '/', '_'])
        .map(|token| token.strip_prefix('v').unwrap_or(token))
        .skip_while(|token| !is_short_number(token))
        .take_while(|token| is_short_number(token));
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

fn is_short_number(token: &str) -> bool {
    (1..=2).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_digit())
}

/// Anthropic. Up to Claude 4.5 a token budget; from 4.6 on the model decides (`adaptive`) and the
/// effort guides it; Fable and Mythos cannot be told not to think.
pub(super) fn claude(model: &str, effort: Option<Effort>, max_output: u64) -> ClaudeThinking {
    let none = ClaudeThinking {
        thinking: None,
        effort: None,
        strict: false,
    };
    let is_claude = model.contains("claude");
    let always = model.contains("fable") || model.contains("mythos");
    // A Claude without a number in its name is newer than any that had one.
    let version = version(model).unwrap_or(if is_claude { (5, 0) } else { (0, 0) });
    if is_claude && (always || version >= (4, 6)) {
        let newer = always || version >= (4, 7);
        let adaptive = if newer {
            json!({"type": "adaptive", "display": "summarized"})
        } else {
            json!({"type": "adaptive"})
        };
        return match effort {
            Some(Effort::None) if always => ClaudeThinking {
                effort: Some("low"),
                ..none
            },
            Some(Effort::None) if version >= (5, 0) => ClaudeThinking {
                thinking: Some(json!({"type": "disabled"})),
                ..none
            },
            Some(Effort::None) => none,
            effort => ClaudeThinking {
                thinking: Some(adaptive),
                effort: effort.map(|e| match e {
                    Effort::None | Effort::Minimal | Effort::Low => "low",
                    Effort::Medium => "medium",
                    Effort::High => "high",
                    Effort::Max => "max",
                }),
                strict: false,
            },
        };
    }
    let budget = match effort {
        None | Some(Effort::None) => return none,
        Some(Effort::Minimal) => 1_024,
        Some(Effort::Low) => 4_096,
        Some(Effort::Medium) => 10_240,
        Some(Effort::High) => 20_480,
        Some(Effort::Max) => 32_000,
    };
    // The answer itself needs room too, and less than 1,024 is refused.
    let budget = budget.min(max_output.saturating_sub(1_024).max(max_output / 2));
    if budget < 1_024 || budget >= max_output {
        return none;
    }
    ClaudeThinking {
        thinking: Some(json!({"type": "enabled", "budget_tokens": budget})),
        effort: None,
        strict: true,
    }
}

/// OpenAI's `reasoning_effort` and `reasoning.effort`; none to leave it out.
pub(super) fn openai(model: &str, effort: Effort) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model);
    if name.contains("chat") || name.contains("search") {
        return None;
    }
    let codex = name.contains("codex");
    let pro = name.contains("-pro");
    let old = name.starts_with("o1") || name.starts_with("o3") || name.starts_with("o4");
    let version = if old {
        (0, 0)
    } else if name.starts_with("gpt-oss") {
        return Some(levels(effort));
    } else {
        version(name).unwrap_or((6, 0))
    };
    if !old && version < (5, 0) {
        return None;
    }
    let (lowest, minimal, most) = match version {
        (0, 0) => ("low", "low", "high"),
        (5, 0) if codex => ("low", "low", "high"),
        (5, 0) => ("minimal", "minimal", "high"),
        (5, 1) if name.contains("codex-max") => ("low", "low", "xhigh"),
        (5, 1) if codex => ("low", "low", "high"),
        (5, 1) => ("none", "low", "high"),
        _ if codex => ("low", "low", "xhigh"),
        _ => ("none", "low", "xhigh"),
    };
    if pro && !old {
        return Some(match effort {
            _ if version == (5, 0) => "high",
            Effort::High => "high",
            Effort::Max => "xhigh",
            _ => "medium",
        });
    }
    Some(match effort {
        Effort::None => lowest,
        Effort::Minimal => minimal,
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => most,
    })
}

/// Low, medium or high, for servers that know only these.
pub(super) const fn levels(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max => "high",
    }
}

/// OpenRouter's `reasoning.effort`.
pub(super) const fn open_router(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "xhigh",
    }
}

/// Gemini's `thinkingConfig`; none for families that cannot think. 2.x takes a budget, 3 and later a
/// level.
pub(super) fn gemini(model: &str, effort: Option<Effort>, reasoning: bool) -> Option<Value> {
    let name = model.rsplit('/').next().unwrap_or(model);
    if !name.starts_with("gemini") {
        return None;
    }
    let version = match version(name) {
        Some(version) => version,
        None if reasoning => (3, 0),
        None => return None,
    };
    if version < (2, 5) {
        return None;
    }
    let pro = name.contains("pro");
    let mut config = json!({"includeThoughts": true});
    let Some(effort) = effort else {
        return Some(config);
    };
    if version.0 >= 3 {
        config["thinkingLevel"] = json!(match effort {
            Effort::None | Effort::Minimal if !pro => "minimal",
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium if pro && version == (3, 0) => "high",
            Effort::Medium => "medium",
            Effort::High | Effort::Max => "high",
        });
    } else {
        config["thinkingBudget"] = json!(match effort {
            Effort::None if pro => 128,
            Effort::None => 0,
            Effort::Minimal => 512,
            Effort::Low => 2_048,
            Effort::Medium => 8_192,
            Effort::High => 16_384,
            Effort::Max if pro => 32_768,
            Effort::Max => 24_576,
        });
    }
    if effort == Effort::None {
        config["includeThoughts"] = json!(false);
    }
    Some(config)
}
