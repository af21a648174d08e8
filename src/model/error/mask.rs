//! Keeps keys out of what is shown, stored and logged: providers repeat them in their errors.

/// What keys of the known providers begin with.
const PREFIXES: [&str; 18] = [
    "sk-",
    "sk_",
    "pk-",
    "pk_",
    "gsk_",
    "xai-",
    "pplx-",
    "AIza",
    "ya29.",
    "hf_",
    "ghp_",
    "gho_",
    "ghu_",
    "github_pat_",
    "r8_",
    "nvapi-",
    "AKIA",
    "ASIA",
];

/// Words after which the next word is a key.
const LEADS: [&str; 3] = ["bearer", "key=", "token="];

/// The text without anything that looks like a key.
pub(super) fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_key_char) {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let end = after.find(|c| !is_key_char(c)).unwrap_or(after.len());
        let (word, more) = after.split_at(end);
        out.push_str(&masked(word, &out));
        rest = more;
    }
    out.push_str(rest);
    out
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '+' | '/')
}

fn masked(word: &str, before: &str) -> String {
    // a sentence's full stop is no part of a key
    let key = word.trim_end_matches(['.', '/']);
    let tail = word.get(key.len()..).unwrap_or("");
    let prefix = PREFIXES
        .iter()
        .find(|prefix| key.len() >= prefix.len() + 8 && key.starts_with(**prefix));
    if let Some(prefix) = prefix {
        return format!("{prefix}…{tail}");
    }
    let before: String = before
        .chars()
        .rev()
        .filter(|c| !matches!(c, ' ' | '"' | '\''))
        .take(8)
        .collect();
    let before: String = before
        .chars()
        .rev()
        .collect::<String>()
        .to_ascii_lowercase();
    let named = key.len() >= 8 && LEADS.iter().any(|lead| before.ends_with(lead));
    if named || looks_random(key) {
        return format!("…{tail}");
    }
    word.to_owned()
}

/// Long, with letters of both cases and digits, and no path, version or address.
fn looks_random(word: &str) -> bool {
    let ids = [
        "req_",
        "resp_",
        "msg_",
        "chatcmpl-",
        "gen-",
        "call_",
        "toolu_",
        "org-",
        "proj_",
        "rs_",
        "fc_",
    ];
    word.len() >= 32
        && !ids.iter().any(|id| word.starts_with(id))
        && !word.contains(['/', '.'])
        && word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn keys_are_masked_and_sentences_are_not() {
        for (text, shown) in [
            (
                "Incorrect API key provided: sk-proj-abcDEF1234567890.",
                "Incorrect API key provided: sk-….",
            ),
            ("key=abcdef0123456789&alt=sse", "key=…&alt=sse"),
            (
                "Authorization: Bearer 0123456789abcdef",
                "Authorization: Bearer …",
            ),
            (
                "token aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA is bad",
                "token … is bad",
            ),
            ("AIzaSyA1234567890abcdefghijklmnopqrstu", "AIza…"),
        ] {
            assert_eq!(mask(text), shown);
        }
        for plain in [
            "You can find your API key at https://platform.openai.com/account/api-keys.",
            "request req_011CeCGmMJJGRCp7xgjqapmJ failed",
            "models/gemini-3.6-flahs is not found for API version v1beta",
            "prompt is too long: 3333404 tokens > 200000 maximum",
            "é ✓",
        ] {
            assert_eq!(mask(plain), plain);
        }
    }
}
