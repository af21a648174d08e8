//! How a typed value becomes a setting: durations, sizes, shares, names from a list, and how it is
//! shown again. One function per kind of value; `keys` says which key has which kind.
//!
//! A refusal is what was expected (`a whole number, 0 or more`); `load` adds key, file and line.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

use super::document::TypedValue;
use crate::protocol::{Effort, ModelRef};

/// What was expected, as words that follow `write`.
pub type Expected = String;

/// A whole number from `least` to `most`.
pub fn whole(value: &TypedValue, least: u64, most: u64) -> Result<u64, Expected> {
    let number = match value {
        TypedValue::Int(n) => u64::try_from(*n).ok(),
        TypedValue::Text(text) => text.trim().replace('_', "").parse().ok(),
        _ => None,
    };
    number
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| {
            if most >= i64::MAX as u64 || most == u64::from(u32::MAX) {
                format!("a whole number, {least} or more")
            } else {
                format!("a whole number from {least} to {most}")
            }
        })
}

/// A number that is not negative, e.g. an amount of money.
pub fn amount(value: &TypedValue) -> Result<f64, Expected> {
    number(value)
        .filter(|n| n.is_finite() && *n >= 0.0)
        .ok_or_else(|| "a number, 0 or more, e.g. 2.5".to_owned())
}

/// A share between 0 and 1; `80%` is accepted too.
pub fn share(value: &TypedValue) -> Result<f64, Expected> {
    let share = match value {
        TypedValue::Text(text) if text.trim().ends_with('%') => text
            .trim()
            .trim_end_matches('%')
            .trim()
            .parse::<f64>()
            .ok()
            .map(|n| n / 100.0),
        other => number(other),
    };
    share
        .filter(|n| (0.0..=1.0).contains(n))
        .ok_or_else(|| "a share between 0 and 1, e.g. 0.5".to_owned())
}

fn number(value: &TypedValue) -> Option<f64> {
    match value {
        TypedValue::Int(n) => Some(*n as f64),
        TypedValue::Float(n) => Some(*n),
        TypedValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// True or false.
pub fn truth(value: &TypedValue) -> Result<bool, Expected> {
    match value {
        TypedValue::Bool(b) => Ok(*b),
        TypedValue::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err("true or false".to_owned()),
        },
        _ => Err("true or false".to_owned()),
    }
}

/// A string.
pub fn text(value: &TypedValue) -> Result<String, Expected> {
    match value {
        TypedValue::Text(text) => Ok(text.clone()),
        _ => Err("a string in quotes".to_owned()),
    }
}

/// One of a list of names.
pub fn choice(value: &TypedValue, names: &[&str]) -> Result<String, Expected> {
    match value {
        TypedValue::Text(text) if names.contains(&text.as_str()) => Ok(text.clone()),
        TypedValue::Text(text) => Err(format!(
            "{}{}",
            one_of(names),
            closest(text, names)
                .map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
        )),
        _ => Err(one_of(names)),
    }
}

fn one_of(names: &[&str]) -> String {
    format!("one of {}", names.join(", "))
}

/// A list of strings; a single string counts as a list of one.
pub fn words(value: &TypedValue) -> Result<Vec<String>, Expected> {
    let expected = || "a list of strings, e.g. [\"one\", \"two\"]".to_owned();
    match value {
        TypedValue::Text(text) => Ok(vec![text.clone()]),
        TypedValue::List(items) => items
            .iter()
            .map(|item| text(&item.value).map_err(|_why| expected()))
            .collect(),
        _ => Err(expected()),
    }
}

/// A length of time: `5min`, `100ms`, `2m`, `1h 30m`, or a number of seconds.
pub fn duration(value: &TypedValue) -> Result<Duration, Expected> {
    let expected = || "a length of time such as 100ms, 30s, 5min, 2h, or seconds".to_owned();
    let seconds = |n: f64| Duration::try_from_secs_f64(n).map_err(|_why| expected());
    match value {
        TypedValue::Int(n) => seconds(*n as f64),
        TypedValue::Float(n) => seconds(*n),
        TypedValue::Text(text) => match text.trim().parse::<f64>() {
            Ok(n) => seconds(n),
            Err(_) => text
                .trim()
                .parse::<SignedDuration>()
                .ok()
                .and_then(|d| Duration::try_from(d).ok())
                .ok_or_else(expected),
        },
        _ => Err(expected()),
    }
}

/// A duration as `duration` reads it.
pub fn show_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms == 0 || !ms.is_multiple_of(1000) {
        return format!("{ms}ms");
    }
    match ms / 1000 {
        s if s.is_multiple_of(3600) => format!("{}h", s / 3600),
        s if s.is_multiple_of(60) => format!("{}min", s / 60),
        s => format!("{s}s"),
    }
}

const SIZES: [(&str, u64); 13] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("b", 1),
];

/// A size: `10MiB`, `2 GB`, or a number of bytes.
pub fn size(value: &TypedValue) -> Result<u64, Expected> {
    let expected = || "a size such as 512KiB, 10MiB, 2GiB, or bytes".to_owned();
    match value {
        TypedValue::Int(n) => u64::try_from(*n).map_err(|_why| expected()),
        TypedValue::Text(text) => {
            let text = text.trim().to_ascii_lowercase().replace('_', "");
            let (digits, unit) = SIZES
                .iter()
                .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
                .unwrap_or((&text, 1));
            digits
                .trim()
                .parse::<f64>()
                .ok()
                .map(|n| n * unit as f64)
                .filter(|n| n.is_finite() && *n >= 0.0 && *n < 9.0e18)
                .map(|n| n as u64)
                .ok_or_else(expected)
        }
        _ => Err(expected()),
    }
}

/// A size as `size` reads it.
pub fn show_size(bytes: u64) -> String {
    for (name, unit) in [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    bytes.to_string()
}

/// `provider/model`.
pub fn model(value: &TypedValue) -> Result<ModelRef, Expected> {
    text(value)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| "provider/model, e.g. \"anthropic/claude-sonnet-4-5\"".to_owned())
}

/// A reasoning effort.
pub fn effort(value: &TypedValue) -> Result<Effort, Expected> {
    let names = Effort::ALL.map(|(_, name)| name);
    let name = choice(value, &names)?;
    Effort::ALL
        .iter()
        .find(|(_, n)| *n == name)
        .map(|(effort, _)| *effort)
        .ok_or_else(|| one_of(&names))
}

/// Paths, `~/` resolved against `home`.
pub fn paths(value: &TypedValue, home: &std::path::Path) -> Result<Vec<PathBuf>, Expected> {
    let words = words(value).map_err(|_why| "a list of folders, e.g. [\"~/cache\"]".to_owned())?;
    Ok(words
        .iter()
        .map(|word| match word.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None if word == "~" => home.to_owned(),
            None => PathBuf::from(word),
        })
        .collect())
}

/// The name closest to a mistyped one, if one is close.
pub fn closest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    similar::get_close_matches(word, names, 1, 0.6)
        .first()
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> TypedValue {
        TypedValue::Text(text.to_owned())
    }

    #[test]
    fn durations_accept_units_and_seconds() {
        for (typed, ms) in [
            ("5min", 300_000),
            ("100ms", 100),
            ("2m", 120_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("90", 90_000),
            ("0.5", 500),
            ("2 hours", 7_200_000),
        ] {
            assert_eq!(
                duration(&text_of(typed)),
                Ok(Duration::from_millis(ms)),
                "{typed}"
            );
        }
        assert_eq!(duration(&TypedValue::Int(2)), Ok(Duration::from_secs(2)));
        for typed in ["soon", "-5s", "", "5 parsecs", "1e400"] {
            assert!(duration(&text_of(typed)).is_err(), "{typed}");
        }
        assert!(duration(&TypedValue::Int(-1)).is_err());
    }

    #[test]
    fn shown_durations_and_sizes_read_back() {
        for ms in [0, 1, 100, 1_000, 61_000, 300_000, 7_200_000, 1_500] {
            let d = Duration::from_millis(ms);
            assert_eq!(duration(&text_of(&show_duration(d))), Ok(d));
        }
        for bytes in [0, 1, 1_000, 1_024, 51_200, 10 << 20, 2 << 30, (1 << 20) + 1] {
            assert_eq!(size(&text_of(&show_size(bytes))), Ok(bytes));
        }
    }

    #[test]
    fn sizes_accept_binary_and_decimal_units() {
        for (typed, bytes) in [
            ("10MiB", 10 << 20),
            ("10 MB", 10_000_000),
            ("1.5KiB", 1_536),
            ("2g", 2 << 30),
            ("51_200", 51_200),
            ("7B", 7),
        ] {
            assert_eq!(size(&text_of(typed)), Ok(bytes), "{typed}");
        }
        for typed in ["", "MiB", "ten", "-1KiB", "nan"] {
            assert!(size(&text_of(typed)).is_err(), "{typed}");
        }
    }

    #[test]
    fn shares_and_choices_refuse_what_is_out_of_range() {
        assert_eq!(share(&text_of("80%")), Ok(0.8));
        assert!(share(&TypedValue::Float(1.5)).is_err());
        assert!(share(&TypedValue::Float(f64::NAN)).is_err());
        assert_eq!(
            choice(&text_of("manul"), &["manual", "auto"]),
            Err("one of manual, auto (did you mean manual?)".to_owned())
        );
    }
}
