//! The shapes of secrets: keys as their makers give them out, and places in which a secret stands.
//!
//! Facts only: what a key begins with and which letters follow, at least so many that no word does. Bodies are a
//! little shorter than the makers', because terminals break long lines. What reads like a word needs a
//! second look (`Test`). The redactor, which uses them, is in the folder's parent.

use std::sync::OnceLock;

use regex::{Captures, Regex, RegexSet};

/// What may stand before a key that is not a word of its own: the end of an escape in quoted text, or of
/// a colour.
const BEFORE: &str = r"(?:\b|\\[nrt]|\x1b\[[0-9;]*m)";
/// The rest of a key that a terminal or a program broke over lines.
const BROKEN: &str = r"(?P<more>(?:\\?\r?\n[ \t]*[A-Za-z0-9_-]{8,})*)";

/// Keys with a prefix that nothing else has, by their makers.
const KEYS: &[&str] = &[
    // Google: API key, access and refresh token, client secret
    r"AIza[\w-]{30,}|ya29\.[\w.-]{16,}|1//0[\w-]{40,}|GOCSPX-[\w-]{20,}",
    // GitHub, GitLab, Bitbucket, Atlassian
    r"(?:gh[pousr]|github_pat)_\w{16,}",
    r"gl(?:pat|rt|dt|ptt|cbt|ft|imt|soat|agent|oas|ffct)-[\w-]{16,}",
    r"AT(?:ATT3|CTT3|BB)[\w=-]{24,}",
    // Slack
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{16,}",
    // Amazon: names of keys, Bedrock
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)|ABSK[A-Za-z0-9+/=]{60,}",
    // Telegram, Discord
    r"[0-9]{8,10}:AA[\w-]{33}|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
    // a JSON web token; Mapbox hangs a prefix before one
    r"(?:[ps]k\.)?eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]{8,})?",
    // Databricks, Twilio, Mailgun, Heroku, Notion, Square
    r"dapi[0-9a-f]{32}(?:-\d)?|SK[0-9a-f]{32}(?-u:\b)|key-[0-9a-f]{32}(?-u:\b)|HRKU-[\w-]{30,}",
    r"ntn_[A-Za-z0-9]{36,}|secret_[A-Za-z0-9]{36,}|EAAA[\w-]{56,}|sq0(?:atp|csp)-[\w-]{16,}",
    // Stripe, Clerk, ElevenLabs; Shopify; DigitalOcean; Docker; Vault and Terraform
    r"[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{16,}|sk_[0-9a-f]{40,}",
    r"shp(?:at|ss|ca|pa|ua)_[0-9a-fA-F]{16,}|do[opr]_v1_[0-9a-f]{16,}|dckr_(?:pat|oat)_[\w-]{16,}",
    r"hv[sbr]\.[\w-]{20,}|\w{14}\.atlasv1\.[\w-]{40,}",
    // Grafana, New Relic, Sentry, Dynatrace, Honeycomb
    r"gl(?:sa|c)_[\w=+/]{20,}|NRAK-[A-Z0-9]{20,}|sntry[su]_[\w=+/]{30,}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{40,}|hc[abx]ik_\w{40,}",
    // Supabase, PlanetScale, Postman, Figma, Airtable, Doppler, Pulumi
    r"sbp_[0-9a-f]{30,}|sb_secret_\w{20,}|pscale_(?:tkn|pw|oauth)_[\w.-]{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{20,}",
    r"fig[dour]_[\w-]{30,}|pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}|pul-[0-9a-f]{30,}",
    // registries: npm, PyPI, RubyGems, crates.io
    r"npm_[A-Za-z0-9]{16,}|pypi-[\w-]{40,}|rubygems_[0-9a-f]{30,}|cio[A-Za-z0-9]{32}(?-u:\b)",
    // hosts and pipelines: Tailscale, Fly, Netlify, Vercel, Deno, Buildkite, CircleCI, OpenShift, Alibaba, Render
    r"tskey-(?:auth|api|client|scim|webhook)-[\w-]{16,}|fm[12]r?_[\w+/=-]{40,}|nf[pcboau]_[A-Za-z0-9]{30,}|vercel_blob_rw_\w{30,}",
    r"dd[pw]_[A-Za-z0-9]{30,}|bk(?:ua|aj)_[0-9a-f]{30,}|CCIP(?:AT|RJ)_\w{20,}|sha256~[\w-]{30,}|LTAI[A-Za-z0-9]{12,20}(?-u:\b)|rnd_[A-Za-z0-9]{28,}",
    // models and what serves them: names that are no words
    r"(?:gsk|hf|r8|fw|pcsk|jina)_[A-Za-z0-9]{16,}(?:_[A-Za-z0-9]{16,})?|tgp_v1_[\w-]{16,}|pplx-[A-Za-z0-9]{16,}",
    r"(?:xai|csk|nvapi|tvly|fc)-[A-Za-z0-9][\w-]{19,}|lsv2_(?:pt|sk)_[0-9a-f]{30,}(?:_[0-9a-f]{10})?|pcsk_\w{6,}_\w{30,}",
    // mail, search of code, encryption, the rest
    r"SG\.[\w-]{16,}\.[\w-]{16,}|xkeysib-[0-9a-f]{40,}(?:-\w{16})?|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}|sgp_(?:\w{16}_)?[0-9a-f]{30,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}|pat-(?:na|eu|ap)\d-[0-9a-f-]{30,}|lin_api_[A-Za-z0-9]{16,}",
];

/// Prefixes that words have too: what follows must look like chance.
const LOOSE: &[&str] = &[r"sk-[\w-]{16,}"];

/// Places that say by their name that a value is one; the group `secret` is taken.
const PLACES: &[(&str, Test)] = &[
    (
        // without an end only what looks like key goes: the words alone stand in code and in talk
        r#"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nrt]|[0-9]+[\t→:|]|["'+|>,\\])*[A-Za-z0-9+/=]{12,})+)"#,
        Test::None,
    ),
    // addresses that let in whoever knows them
    (
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[0-9A-Za-z_/-]{20,})",
        Test::None,
    ),
    (
        r"https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api(?:/v[0-9]+)?/webhooks/(?P<secret>[0-9]+/[0-9A-Za-z_-]{40,})",
        Test::None,
    ),
    (
        r"https://[0-9A-Za-z_.-]+\.webhook\.office\.com/(?P<secret>webhookb2/[0-9A-Za-z_@/-]{20,})",
        Test::None,
    ),
    // user:password@host; a password may hold an @ itself
    (
        r"(?-u:\b)[a-z][a-z0-9+.-]*://[^\s/:@]*:(?P<secret>[^\s/]+)@",
        Test::None,
    ),
    (r"[?&]sig=(?P<secret>[0-9A-Za-z_%+/=-]{16,})", Test::None),
    // headers
    (
        r#"(?i)(?-u:\b)authorization\\*["']?\s*[:=]\s*\\*["']?(?:bearer|basic|token|bot)\s+(?P<secret>[0-9A-Za-z_.~+/=-]{8,})"#,
        Test::None,
    ),
    (
        r"(?i)(?-u:\b)(?:bearer|basic|token)\s+(?P<secret>[0-9A-Za-z_.~+/=-]{16,})",
        Test::Chance,
    ),
    (
        r#"(?i)(?-u:\b)set-cookie\\*["']?:\s*\\*["']?[^\s=;"']+=(?P<secret>[^;\s"'\\]{16,})"#,
        Test::None,
    ),
    (
        r#"(?i)(?-u:\b)cookie\\*["']?:\s*\\*["']?(?P<secret>[^\s=;"']+=[^\r\n"'\\]{16,})"#,
        Test::None,
    ),
    // programs and their files
    (
        r#"(?-u:\b)curl(?-u:\b)[^\n]*?\s(?:-u|--user)[ =]?\s*\\*["']?[^\s:"'\\]+:(?P<secret>[^\s"'\\]+)"#,
        Test::Value,
    ),
    (
        r"(?-u:\b)login\s+\S+\s+password\s+(?P<secret>[^\s\\]+)",
        Test::Value,
    ),
    (
        r#"(?:(?-u:\b)|:)_auth\s*=\s*"?(?P<secret>[A-Za-z0-9+/=]{12,})"#,
        Test::None,
    ),
    (
        r#"\\*"auth\\*"\s*:\s*\\*"(?P<secret>[A-Za-z0-9+/=]{16,})"#,
        Test::None,
    ),
    (
        r"(?i)(?-u:\b)accountkey\s*=\s*(?P<secret>[A-Za-z0-9+/=]{20,})",
        Test::None,
    ),
    // NAME=value as shells and their files have it
    (
        r#"(?-u:\b)(?:[A-Z0-9]+_)*(?:API_?KEY|SECRET|SECRET_KEY|ACCESS_KEY|AUTH_TOKEN|ACCESS_TOKEN|REFRESH_TOKEN|SESSION_TOKEN|TOKEN|PASSWO?R?D|PASSPHRASE|PRIVATE_KEY)(?:_[A-Z0-9]+)*=\\*["']?(?P<secret>[0-9A-Za-z_./+~=-]{8,})"#,
        Test::Value,
    ),
    // a name that says so, and a value; quotes may be escaped any number of times
    (
        r#"(?i)[a-z0-9_-]*(?:api[_-]?key|secret|access[_-]?key|session[_-]?token|auth[_-]?token|access[_-]?token|refresh[_-]?token|passphrase|private[_-]?key(?:[_-]?id)?)\\*["']?\s*[=:]\s*\\*["']?(?P<secret>[0-9A-Za-z_./+~=-]{12,})"#,
        Test::Chance,
    ),
    (
        r#"(?i)[a-z0-9_-]*passwo?r?d\\*["']?\s*[=:]\s*\\*["']?(?P<secret>[0-9A-Za-z_./+~=!@#%^&*-]{6,})"#,
        Test::Chance,
    ),
    (
        r"(?im)(?-u:\b)passwo?r?d\s*[=:]\s*(?P<secret>[a-z]{12,})\s*$",
        Test::Value,
    ),
    (
        r#"(?i)[a-z0-9_-]*token\\*["']?\s*[:=]\s*\\*["']?(?P<secret>[0-9A-Za-z_./+~=-]{20,})"#,
        Test::Chance,
    ),
    (
        r#"(?i)(?-u:\b)[a-z0-9_.-]*(?:api[_-]?key|secret|auth[_-]?token|access[_-]?token|passwo?r?d|passphrase)\\*["']?\s*[:=]\s*\\*["'](?P<secret>[^"'\s\\]{4,})\\*["']"#,
        Test::Value,
    ),
];

/// Values that stand for one: types, examples, orders of templates.
const NO_VALUES: &[&str] = &[
    "string",
    "str",
    "text",
    "number",
    "boolean",
    "object",
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "password",
    "secret",
    "hidden",
    "example",
    "changeme",
    "redacted",
];

/// What else must hold for a match to be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    None,
    /// It looks like chance and not like words or code.
    Chance,
    /// It is a value and not a type, a call or a name.
    Value,
}

/// One shape; its pattern is made when it is met for the first time.
#[derive(Debug)]
struct Shape {
    text: String,
    test: Test,
    made: OnceLock<Option<Regex>>,
}

/// All shapes.
#[derive(Debug)]
pub(super) struct Shapes {
    any: RegexSet,
    all: Vec<Shape>,
}

impl Shapes {
    pub(super) fn new() -> Self {
        let key = |list: &'static [&'static str], test| {
            list.iter()
                .map(move |key| (format!("(?-u){BEFORE}(?P<secret>{key}){BROKEN}"), test))
        };
        let places = PLACES
            .iter()
            .map(|(text, test)| ((*text).to_owned(), *test));
        let all: Vec<Shape> = key(KEYS, Test::None)
            .chain(key(LOOSE, Test::Chance))
            .chain(places)
            .map(|(text, test)| Shape {
                text,
                test,
                made: OnceLock::new(),
            })
            .collect();
        // a pattern that is wrong would make the set find nothing at all: a test makes each
        let any = RegexSet::new(all.iter().map(|shape| &shape.text)).unwrap_or_default();
        Self { any, all }
    }

    /// Replaces what has a shape of these; none if nothing has.
    pub(super) fn clean(&self, text: &str, instead: &str) -> Option<String> {
        let met = self.any.matches(text);
        let mut clean: Option<String> = None;
        for shape in met.iter().filter_map(|at| self.all.get(at)) {
            let made = shape.made.get_or_init(|| Regex::new(&shape.text).ok());
            let Some(pattern) = made else {
                continue;
            };
            let now = clean.as_deref().unwrap_or(text);
            let replaced = pattern.replace_all(now, |found: &Captures<'_>| {
                let after = found
                    .get(0)
                    .map_or("", |all| now.get(all.end()..).unwrap_or_default());
                replace(found, shape.test, after, instead)
            });
            if replaced != now {
                clean = Some(replaced.into_owned());
            }
        }
        clean
    }
}

/// What a match becomes; `rest` is what stands after it.
fn replace(found: &Captures<'_>, test: Test, rest: &str, instead: &str) -> String {
    let whole = found.get(0).map_or("", |m| m.as_str());
    let Some(secret) = found.name("secret") else {
        return instead.to_owned();
    };
    let passes = match test {
        Test::None => true,
        Test::Chance => looks_like_chance(secret.as_str()) && !is_code(secret.as_str(), rest),
        Test::Value => is_value(secret.as_str()) && !is_code(secret.as_str(), rest),
    };
    if !passes || secret.as_str().contains(instead) || instead.contains(secret.as_str()) {
        return whole.to_owned();
    }
    let start = found.get(0).map_or(0, |m| m.start());
    let (from, to) = (secret.start() - start, secret.end() - start);
    let (before, after) = (
        whole.get(..from).unwrap_or_default(),
        whole.get(to..).unwrap_or_default(),
    );
    let mut clean = format!("{before}{instead}");
    if found.name("more").is_none() {
        clean.push_str(after);
        return clean;
    }
    let mut goes_on = true;
    for line in after.split_inclusive('\n') {
        let piece = line.trim_end_matches(['\n', '\r', '\\']).trim_start();
        goes_on &= piece.is_empty() || is_rest(piece);
        if !goes_on || piece.is_empty() {
            clean.push_str(line);
        } else if line.ends_with('\n') {
            clean.push('\n');
        }
    }
    clean
}

/// True if a piece that follows a broken key can be the rest of it: no word looks so.
fn is_rest(piece: &str) -> bool {
    let has = |test: fn(&u8) -> bool| piece.bytes().any(|b| test(&b));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// True for letters as chance mixes them: with digits, or with cases that change more often than names do,
/// or with more capitals than names have.
fn looks_like_chance(value: &str) -> bool {
    let letters: Vec<u8> = value.bytes().filter(u8::is_ascii_alphabetic).collect();
    let small = letters.iter().filter(|b| b.is_ascii_lowercase()).count();
    let large = letters.len() - small;
    let changes = letters
        .windows(2)
        .filter(|w| matches!(w, [a, b] if a.is_ascii_lowercase() != b.is_ascii_lowercase()))
        .count();
    let mixed = large * 10 >= letters.len() * 3 && small * 5 >= letters.len();
    is_rest(value) || changes * 5 > letters.len() * 2 || mixed
}

/// True if a value is a call, a path or a field of code.
fn is_code(value: &str, rest: &str) -> bool {
    let mut parts = value.split('.');
    let is_name =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let first_is_a_name = parts.next().is_some_and(is_name);
    rest.starts_with(['(', '['])
        || rest.starts_with("::")
        || (first_is_a_name && parts.next().is_some())
}

/// True for what can be a value rather than a type, a variable or a template.
fn is_value(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let names_a_variable =
        value.contains('_') && value.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let stands_for_one = value.starts_with(['$', '<', '{', '%'])
        || lower.starts_with("your")
        || lower.starts_with("process.env")
        || NO_VALUES.contains(&lower.as_str());
    !names_a_variable && !stands_for_one
}

#[cfg(test)]
#[path = "shapes_tests.rs"]
mod tests;
