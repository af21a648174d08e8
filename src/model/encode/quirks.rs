//! What makes one endpoint differ from the wire format it claims to speak.
//!
//! The registry fills a `Quirks` per model from the provider's table, the catalog and the user's
//! configuration; the encoders read it. Every switch in `SWITCHES` is a key of `[provider.NAME.quirks]`
//! and is explained in docs/providers.md.

use crate::model::decode::Wire;

/// How an endpoint of the Chat Completions wire is told how hard to think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EffortStyle {
    /// It is not told.
    #[default]
    Silent,
    /// `reasoning_effort`, with the values of OpenAI's model families.
    OpenAi,
    /// `reasoning_effort` low, medium or high.
    Levels,
    /// `reasoning: {"effort": …}` (OpenRouter).
    Object,
    /// `thinking: {"type": "enabled" | "disabled"}` (DeepSeek, z.ai, Moonshot).
    Switch,
}

/// The differences of one endpoint and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quirks {
    /// The wire format.
    pub wire: Wire,
    /// The model takes images.
    pub images: bool,
    /// The model takes PDFs.
    pub pdf: bool,
    /// The model can reason.
    pub reasoning: bool,
    /// Most output tokens of the model: a request never asks for more.
    pub max_output: u64,
    /// How the effort is said (Chat Completions).
    pub effort: EffortStyle,
    /// Chat: the output limit is `max_completion_tokens` instead of `max_tokens`.
    pub max_completion_tokens: bool,
    /// Send the output limit at all (Anthropic always does).
    pub limit_output: bool,
    /// Chat: ask for usage with `stream_options`.
    pub stream_usage: bool,
    /// OpenAI: send `prompt_cache_key`.
    pub cache_key: bool,
    /// Mark cache points with `cache_control` (Anthropic; Chat: OpenRouter's Claude models).
    pub cache_control: bool,
    /// Chat: reasoning text goes back in the field that it came in.
    pub reasoning_back: bool,
    /// Chat: assistant messages with calls must have `reasoning_content`.
    pub reasoning_required: bool,
    /// Chat: call ids are exactly nine letters and digits.
    pub short_ids: bool,
    /// Chat: an assistant message without text has `"content": null` instead of `""`.
    pub null_content: bool,
    /// Chat: a user message may not follow a tool message.
    pub assistant_after_tool: bool,
    /// Chat: tool messages carry the tool's name.
    pub tool_name: bool,
    /// Gemini: call ids are sent.
    pub gemini_ids: bool,
    /// Responses: ask for summaries of the reasoning.
    pub reasoning_summary: bool,
    /// Chat: tool schemas are reduced to the OpenAPI subset, as Gemini wants them.
    pub plain_schema: bool,
}

/// Where a switch is in a `Quirks`.
pub type Switch = fn(&mut Quirks) -> &mut bool;

/// The switches that the configuration can set, by name.
pub const SWITCHES: [(&str, Switch); 17] = [
    ("images", |q| &mut q.images),
    ("pdf", |q| &mut q.pdf),
    ("reasoning", |q| &mut q.reasoning),
    ("max-completion-tokens", |q| &mut q.max_completion_tokens),
    ("limit-output", |q| &mut q.limit_output),
    ("stream-usage", |q| &mut q.stream_usage),
    ("cache-key", |q| &mut q.cache_key),
    ("cache-control", |q| &mut q.cache_control),
    ("reasoning-back", |q| &mut q.reasoning_back),
    ("reasoning-required", |q| &mut q.reasoning_required),
    ("short-ids", |q| &mut q.short_ids),
    ("null-content", |q| &mut q.null_content),
    ("assistant-after-tool", |q| &mut q.assistant_after_tool),
    ("tool-name", |q| &mut q.tool_name),
    ("gemini-ids", |q| &mut q.gemini_ids),
    ("reasoning-summary", |q| &mut q.reasoning_summary),
    ("plain-schema", |q| &mut q.plain_schema),
];

impl Quirks {
    /// What a plain endpoint of this wire is like.
    pub const fn plain(wire: Wire) -> Self {
        let anthropic = matches!(wire, Wire::Anthropic);
        let chat = matches!(wire, Wire::OpenaiChat);
        Self {
            wire,
            images: !chat,
            pdf: !chat,
            reasoning: false,
            max_output: u64::MAX,
            effort: if chat {
                EffortStyle::Levels
            } else {
                EffortStyle::Silent
            },
            max_completion_tokens: false,
            limit_output: true,
            stream_usage: true,
            cache_key: matches!(wire, Wire::OpenaiResponses),
            cache_control: anthropic,
            reasoning_back: true,
            reasoning_required: false,
            short_ids: false,
            null_content: true,
            assistant_after_tool: false,
            tool_name: false,
            gemini_ids: true,
            reasoning_summary: true,
            plain_schema: false,
        }
    }

    /// Sets the switch of this name (`-` and `_` are the same); false if there is none.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        let name = name.replace('_', "-");
        match SWITCHES.iter().find(|(known, _)| *known == name) {
            Some((_, switch)) => {
                *switch(self) = on;
                true
            }
            None => false,
        }
    }
}
