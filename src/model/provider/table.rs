//! The providers that dunlin knows, as data.
//!
//! One row per provider: where it is, what it speaks, how keys are sent, which of its models is a good
//! start, and how it differs from its wire. The registry reads it; users add rows with
//! `[provider.NAME]`. Sources: the providers' API references, November 2026.

use crate::model::decode::Wire;
use crate::model::encode::{EffortStyle, Quirks};

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyStyle {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY` (Anthropic).
    ApiKey,
    /// `x-goog-api-key: KEY` (Google).
    Google,
}

/// A provider.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    pub id: &'static str,
    /// Wire format.
    pub wire: Wire,
    /// Default base URL.
    pub base: &'static str,
    pub style: KeyStyle,
    /// Environment variables with the key, the first that is set counts; empty for servers that need
    /// none.
    pub key_env: &'static [&'static str],
    /// Environment variable with the base URL.
    pub base_env: &'static str,
    /// Section of the catalog; empty for none.
    pub facts: &'static str,
    /// What a new user gets; empty for servers whose models are the user's.
    pub model: &'static str,
    /// Runs on the user's machine: costs nothing and needs no key.
    pub local: bool,
    /// What differs from the plain wire.
    pub adapt: fn(&str, &mut Quirks),
}

const fn plain(_model: &str, _quirks: &mut Quirks) {}

/// The row that the others are made from.
const CHAT: Spec = Spec {
    id: "",
    wire: Wire::OpenaiChat,
    base: "",
    style: KeyStyle::Bearer,
    key_env: &[],
    base_env: "",
    facts: "",
    model: "",
    local: false,
    adapt: plain,
};

fn openai_chat(_model: &str, quirks: &mut Quirks) {
    quirks.effort = EffortStyle::OpenAi;
    quirks.max_completion_tokens = true;
    quirks.cache_key = true;
    quirks.reasoning_back = false;
}

fn open_router(model: &str, quirks: &mut Quirks) {
    quirks.effort = EffortStyle::Object;
    quirks.cache_control = model.starts_with("anthropic/");
}

fn thinking_switch(_model: &str, quirks: &mut Quirks) {
    quirks.effort = EffortStyle::Switch;
    quirks.reasoning_required = quirks.reasoning;
}

fn zai(_model: &str, quirks: &mut Quirks) {
    quirks.effort = EffortStyle::Switch;
}

fn mistral(_model: &str, quirks: &mut Quirks) {
    quirks.effort = EffortStyle::Silent;
    quirks.short_ids = true;
    quirks.assistant_after_tool = true;
    quirks.stream_usage = false;
    quirks.null_content = false;
}

fn gpt_oss_only(model: &str, quirks: &mut Quirks) {
    if !model.contains("gpt-oss") {
        quirks.effort = EffortStyle::Silent;
    }
}

fn groq(model: &str, quirks: &mut Quirks) {
    gpt_oss_only(model, quirks);
    quirks.max_completion_tokens = true;
}

fn xai(_model: &str, quirks: &mut Quirks) {
    quirks.effort = EffortStyle::Silent;
    quirks.reasoning_back = false;
}

fn local(_model: &str, quirks: &mut Quirks) {
    // Chat templates of local models stumble over null.
    quirks.null_content = false;
}

/// All rows. The order is that of the picker and of the choice of a first model.
pub(super) const PROVIDERS: &[Spec] = &[
    Spec {
        id: "anthropic",
        wire: Wire::Anthropic,
        base: "https://api.anthropic.com",
        style: KeyStyle::ApiKey,
        key_env: &["ANTHROPIC_API_KEY"],
        base_env: "ANTHROPIC_BASE_URL",
        facts: "anthropic",
        model: "claude-sonnet-5-5",
        ..CHAT
    },
    Spec {
        id: "openai",
        wire: Wire::OpenaiResponses,
        base: "https://api.openai.com",
        key_env: &["OPENAI_API_KEY"],
        base_env: "OPENAI_BASE_URL",
        facts: "openai",
        model: "gpt-6.1-sol",
        ..CHAT
    },
    Spec {
        id: "gemini",
        wire: Wire::Gemini,
        base: "https://generativelanguage.googleapis.com",
        style: KeyStyle::Google,
        key_env: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
        ],
        base_env: "GEMINI_BASE_URL",
        facts: "google",
        model: "gemini-pro-latest",
        ..CHAT
    },
    Spec {
        id: "openai-chat",
        base: "https://api.openai.com",
        key_env: &["OPENAI_API_KEY"],
        base_env: "OPENAI_BASE_URL",
        facts: "openai",
        model: "gpt-6.1-sol",
        adapt: openai_chat,
        ..CHAT
    },
    Spec {
        id: "openrouter",
        base: "https://openrouter.ai/api/v1",
        key_env: &["OPENROUTER_API_KEY"],
        base_env: "OPENROUTER_BASE_URL",
        model: "anthropic/claude-sonnet-5.5",
        adapt: open_router,
        ..CHAT
    },
    Spec {
        id: "deepseek",
        base: "https://api.deepseek.com",
        key_env: &["DEEPSEEK_API_KEY"],
        base_env: "DEEPSEEK_BASE_URL",
        facts: "deepseek",
        model: "deepseek-v4-pro",
        adapt: thinking_switch,
        ..CHAT
    },
    Spec {
        id: "mistral",
        base: "https://api.mistral.ai",
        key_env: &["MISTRAL_API_KEY"],
        base_env: "MISTRAL_BASE_URL",
        facts: "mistral",
        model: "devstral-latest",
        adapt: mistral,
        ..CHAT
    },
    Spec {
        id: "xai",
        base: "https://api.x.ai",
        key_env: &["XAI_API_KEY"],
        base_env: "XAI_BASE_URL",
        facts: "xai",
        model: "grok-4.7",
        adapt: xai,
        ..CHAT
    },
    Spec {
        id: "groq",
        base: "https://api.groq.com/openai/v1",
        key_env: &["GROQ_API_KEY"],
        base_env: "GROQ_BASE_URL",
        facts: "groq",
        model: "openai/gpt-oss-120b",
        adapt: groq,
        ..CHAT
    },
    Spec {
        id: "together",
        base: "https://api.together.xyz",
        key_env: &["TOGETHER_API_KEY"],
        base_env: "TOGETHER_BASE_URL",
        facts: "together",
        model: "moonshotai/Kimi-K3",
        adapt: gpt_oss_only,
        ..CHAT
    },
    Spec {
        id: "fireworks",
        base: "https://api.fireworks.ai/inference/v1",
        key_env: &["FIREWORKS_API_KEY"],
        base_env: "FIREWORKS_BASE_URL",
        facts: "fireworks",
        model: "accounts/fireworks/models/kimi-k3",
        ..CHAT
    },
    Spec {
        id: "moonshot",
        base: "https://api.moonshot.ai",
        key_env: &["MOONSHOT_API_KEY"],
        base_env: "MOONSHOT_BASE_URL",
        facts: "moonshot",
        model: "kimi-k3.1-pro",
        adapt: thinking_switch,
        ..CHAT
    },
    Spec {
        id: "zai",
        base: "https://api.z.ai/api/paas/v4",
        key_env: &["ZAI_API_KEY", "Z_AI_API_KEY"],
        base_env: "ZAI_BASE_URL",
        facts: "zai",
        model: "glm-5.3",
        adapt: zai,
        ..CHAT
    },
    Spec {
        id: "cerebras",
        base: "https://api.cerebras.ai",
        key_env: &["CEREBRAS_API_KEY"],
        base_env: "CEREBRAS_BASE_URL",
        facts: "cerebras",
        model: "gpt-oss-120b",
        adapt: groq,
        ..CHAT
    },
    Spec {
        id: "dashscope",
        base: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_env: &["DASHSCOPE_API_KEY"],
        base_env: "DASHSCOPE_BASE_URL",
        facts: "dashscope",
        model: "qwen3.8-max",
        adapt: gpt_oss_only,
        ..CHAT
    },
    Spec {
        id: "ollama",
        base: "http://localhost:11434",
        base_env: "OLLAMA_BASE_URL",
        facts: "",
        local: true,
        adapt: local,
        ..CHAT
    },
    Spec {
        id: "lmstudio",
        base: "http://localhost:1234",
        base_env: "LMSTUDIO_BASE_URL",
        local: true,
        adapt: local,
        ..CHAT
    },
    Spec {
        id: "llamacpp",
        base: "http://localhost:8080",
        base_env: "LLAMACPP_BASE_URL",
        local: true,
        adapt: local,
        ..CHAT
    },
    Spec {
        id: "vllm",
        base: "http://localhost:8000",
        key_env: &["VLLM_API_KEY"],
        base_env: "VLLM_BASE_URL",
        local: true,
        adapt: local,
        ..CHAT
    },
    Spec {
        id: "litellm",
        base: "http://localhost:4000",
        key_env: &["LITELLM_API_KEY"],
        base_env: "LITELLM_BASE_URL",
        ..CHAT
    },
];
