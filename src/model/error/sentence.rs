//! What the user reads about a failure: a sentence that says what happened, one that says what to do.

use super::body::Said;
use super::mask::mask;
use crate::protocol::FaultKind;

/// Longest part of a provider's words that is shown, in characters.
const MAX_SAID: usize = 600;

/// What happened, with the provider's own words.
pub(super) fn message(provider: &str, kind: FaultKind, status: Option<u16>, said: &Said) -> String {
    let who = if provider.is_empty() {
        "The provider"
    } else {
        provider
    };
    let what = match kind {
        FaultKind::RateLimit => "limits how much may be asked per time, and the limit is reached",
        FaultKind::Overloaded => "has no room for the request right now",
        FaultKind::ContextOverflow => {
            "refused the request because it is larger than the model's window"
        }
        FaultKind::Auth => "did not accept the API key or its rights",
        FaultKind::Quota => "refused the request because credit or quota is used up",
        FaultKind::NotFound => "does not know this model or address",
        FaultKind::BadRequest => "refused the request as invalid",
        _ => "failed to answer",
    };
    let status = status.map_or_else(String::new, |status| format!(" (HTTP {status})"));
    let words = words(said);
    if said.page.is_some() {
        let title = words.map_or_else(String::new, |words| format!(" titled “{words}”"));
        return format!(
            "{who} {what}{status}: it sent a web page{title} instead of an API answer."
        );
    }
    match words {
        Some(words) => format!("{who} {what}{status}: {}", full_stop(&words)),
        None => format!("{who} {what}{status}."),
    }
}

/// The provider's words: the upstream's are better than "Provider returned error".
fn words(said: &Said) -> Option<String> {
    let message = said.message.as_deref()?;
    let upstream = said.more.iter().find(|more| {
        more.contains(' ') && message.to_lowercase().contains("provider returned error")
    });
    let words = match upstream {
        Some(upstream) => format!("{}: {upstream}", message.trim_end_matches('.')),
        None => message.to_owned(),
    };
    let flat: Vec<&str> = words.split_whitespace().collect();
    Some(mask(&clip(&flat.join(" "), MAX_SAID)))
}

/// What the user can do.
pub(super) fn hint(provider: &str, kind: FaultKind, said: &Said) -> String {
    if said.page.is_some() && kind != FaultKind::ContextOverflow {
        return "Check the provider's base URL, and whether a proxy stands in between; if both are right, \
                try again later."
            .to_owned();
    }
    match kind {
        FaultKind::RateLimit => "Wait a little and try again, or choose another model with /model.".to_owned(),
        FaultKind::Overloaded => "Try again in a while, or choose another model with /model.".to_owned(),
        FaultKind::ContextOverflow => {
            "Shorten the conversation with /compact, or choose a model with a larger window.".to_owned()
        }
        FaultKind::Auth => {
            let name = key_variable(provider);
            format!("Check the key: run `dunlin auth`, or set {name}.")
        }
        FaultKind::Quota => {
            "Check plan, credits and billing of your account at the provider, or choose another provider \
             with /model."
                .to_owned()
        }
        FaultKind::NotFound => {
            "Check the spelling of the model and the provider's base URL; /model lists the models.".to_owned()
        }
        FaultKind::BadRequest if is_about_the_model(said) => {
            "Check the spelling of the model; /model lists the models.".to_owned()
        }
        FaultKind::BadRequest => {
            "Check the model's settings in the configuration; if they are right, choose another model or \
             report this as a bug in dunlin."
                .to_owned()
        }
        _ => "Try again; if it lasts, look at the provider's status page or choose another model with /model."
            .to_owned(),
    }
}

/// True if the request was refused for the model's name.
fn is_about_the_model(said: &Said) -> bool {
    let words = said.words();
    ["invalid model", "not a valid model", "model_not_supported"]
        .iter()
        .any(|word| words.contains(word))
        || said.has_code(&["invalid_model", "model_not_supported", "invalid_model_id"])
}

fn key_variable(provider: &str) -> String {
    let base = match provider {
        "" => return "the provider's API key variable".to_owned(),
        "openai-chat" | "openai-responses" => "openai",
        other => other,
    };
    let name: String = base
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    format!("{name}_API_KEY")
}

fn full_stop(words: &str) -> String {
    if words.ends_with(['.', '!', '?', '…']) {
        words.to_owned()
    } else {
        format!("{words}.")
    }
}

/// At most so many characters, with an ellipsis where something is missing.
pub(super) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("")),
        None => text.to_owned(),
    }
}
