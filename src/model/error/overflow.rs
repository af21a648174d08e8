//! Whether an error means that the request is larger than the model's window. Every provider says it in
//! its own words, and several say nearly the same about limits per minute or about the answer's length.

use super::body::Said;
use super::kind::any;

/// Codes that mean nothing else.
const CODES: [&str; 14] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceedederror",
    "exceed_context_size_error",
    "input_too_long",
    "max_context_length_exceeded",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "prompt_too_long",
    "request_too_large",
    // GitHub Models
    "tokens_limit_reached",
    "too_many_prompt_tokens",
    "too_many_tokens",
    // MiniMax
    "1039",
];

/// Words about the limit of the answer, not of the prompt.
const ABOUT_OUTPUT: [&str; 7] = [
    "number of output tokens",
    "max_tokens' is too large",
    "max_completion_tokens is too large",
    // vLLM, of the room that a prompt leaves for the answer
    "max_completion_tokens' is too large",
    "maximum output",
    "max_tokens must be",
    "max_tokens is too large",
];

/// Words that mean it by themselves.
const OUTRIGHT: [&str; 42] = [
    "`inputs` must have less than",
    "`inputs` tokens + `max_new_tokens` must be",
    "cannot truncate prompt",
    "contains too many tokens",
    "conversation is too long",
    "exceed context limit",
    "exceeds max length",
    "exceeds max_seq_len",
    "exceeds the max_model_len",
    "input is too long",
    "input tokens exceeded",
    "input too long",
    "make sure your input + max_tokens is less",
    "maximum allowed content length",
    "messages is too long",
    "more than max tokens allowed",
    "payload too large",
    "prompt is too large",
    "prompt is too long",
    "prompt too long",
    "provide a shorter input",
    "range of input length should be",
    "reached context length",
    "reduce the length of the input",
    "reduce the length of the messages",
    "reduce the length of the prompt",
    "reduce the length of your messages",
    "reduce the length of your prompt",
    "reduce your prompt",
    "request body too large",
    "request entity too large",
    "request exceeds the maximum size",
    "request is too long",
    "request payload size exceeds",
    "shorten your prompt",
    "tokens to keep from the initial prompt",
    "tokens, exceeding the limit",
    "too many tokens",
    "using shorter or fewer inputs",
    "输入长度超",
    "超过最大长度",
    "超出最大长度",
];

/// Words that mean it whatever else is said: a limit per time that this ONE request exceeds, so that
/// waiting does not help; prompt and answer together.
const CERTAIN: [&str; 4] = [
    "number of input and maximum output tokens",
    "request too large for",
    "tokens must be reduced",
    "reduce your message size",
];

/// What is too much …
const ABOUT: [&str; 21] = [
    "context length",
    "context limit",
    "context size",
    "context window",
    "context_length",
    "input length",
    "input token",
    "input_tokens",
    "max message tokens",
    "max tokens of",
    "max_seq_len",
    "model length",
    "model token limit",
    "number of tokens",
    "prompt (length",
    "prompt length",
    "prompt token",
    "prompt_tokens",
    "sequence length",
    "token length",
    "token limit exceeded",
];

/// … and that it is.
const TOO_MUCH: [&str; 15] = [
    "above the limit",
    "does not fit",
    "exceed",
    "greater than",
    "larger than",
    "longer than",
    "maximum context length",
    "maximum prompt length",
    "more than",
    "must be less than",
    "only supports up to",
    "over the limit",
    "too large",
    "too long",
    "too many",
];

/// Words of limits per time.
const PER_TIME: [&str; 5] = ["per minute", "per min", "per day", "rate limit", "quota"];

/// True if the request is larger than the window.
pub(super) fn is_overflow(status: Option<u16>, said: &Said, words: &str) -> bool {
    if said.has_code(&CODES) {
        return true;
    }
    if any(words, &CERTAIN) {
        return true;
    }
    if any(words, &ABOUT_OUTPUT) || any(words, &["please wait"]) {
        return false;
    }
    let per_time = status == Some(429) || any(words, &PER_TIME);
    let said_so = any(words, &OUTRIGHT) || (any(words, &ABOUT) && any(words, &TOO_MUCH));
    (said_so && !per_time) || status == Some(413)
}
