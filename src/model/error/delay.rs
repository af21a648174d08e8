//! How long a provider asks to wait: headers, Google's `RetryInfo`, or a sentence.

use serde_json::Value;

use super::body::Said;
use crate::protocol::Millis;

/// The longest wait that is believed, one week; more is a mistake.
const MAX: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

/// The wait in milliseconds that headers ask for; the more exact header wins.
pub(super) fn of_headers<'h>(header: &dyn Fn(&str) -> Option<&'h str>, now: Millis) -> Option<u64> {
    if let Some(ms) = header("retry-after-ms").and_then(|value| value.parse().ok()) {
        return millis(ms);
    }
    let value = header("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return millis(seconds * 1000.0);
    }
    let then = date(value)?;
    let now = header("date").and_then(date).unwrap_or(now);
    millis((then - now).max(0) as f64)
}

/// The wait in milliseconds that the body asks for.
pub(super) fn of_said(said: &Said) -> Option<u64> {
    let told = said.details.iter().find_map(|detail| {
        let duration = detail.get("retryDelay").and_then(Value::as_str);
        duration
            .and_then(|text| duration_at(text.trim()))
            .or_else(|| detail.get("retry_after_ms").and_then(Value::as_f64))
            .or_else(|| {
                let seconds = detail
                    .get("retry_after")
                    .or_else(|| detail.get("estimated_time"));
                Some(seconds?.as_f64()? * 1000.0)
            })
    });
    told.or_else(|| of_words(&said.words())).and_then(millis)
}

/// The wait that a sentence names, such as `try again in 1m2.5s`.
fn of_words(words: &str) -> Option<f64> {
    let leads = [
        "try again in ",
        "retry in ",
        "retry after ",
        "retrying in ",
        "again after ",
        "wait ",
        "available in ",
        "resets in ",
        "reset in ",
        "reset after ",
    ];
    leads.iter().find_map(|lead| {
        words
            .match_indices(lead)
            .find_map(|(at, _)| duration_at(words.get(at + lead.len()..)?))
    })
}

/// The duration that the text begins with, in milliseconds: `20s`, `7.66s`, `2m59.56s`, `250ms`,
/// `30 seconds`, `1 minute`.
fn duration_at(text: &str) -> Option<f64> {
    let mut rest = text.trim_start_matches(['~', ' ']);
    let mut total = None;
    loop {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let Ok(number) = rest.get(..end)?.parse::<f64>() else {
            return total;
        };
        let unit_text = rest.get(end..)?.trim_start();
        let unit_end = unit_text
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(unit_text.len());
        let unit = match unit_text.get(..unit_end)? {
            "ms" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            _ => return total,
        };
        total = Some(total.unwrap_or(0.0) + number * unit);
        rest = unit_text.get(unit_end..)?;
    }
}

/// A date of HTTP, or of ISO 8601 as some gateways write it.
fn date(text: &str) -> Option<Millis> {
    jiff::fmt::rfc2822::parse(text)
        .map(|zoned| zoned.timestamp())
        .or_else(|_| text.parse::<jiff::Timestamp>())
        .ok()
        .map(jiff::Timestamp::as_millisecond)
}

fn millis(ms: f64) -> Option<u64> {
    (0.0..=MAX).contains(&ms).then(|| ms.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &'static [(&str, &str)]) -> Option<u64> {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, v)| *v);
        of_headers(&find, 1_445_412_470_000)
    }

    #[test]
    fn headers_give_seconds_a_date_or_milliseconds() {
        assert_eq!(headers(&[("retry-after", "37")]), Some(37_000));
        assert_eq!(headers(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(
            headers(&[("retry-after", "2"), ("retry-after-ms", "1500")]),
            Some(1_500)
        );
        assert_eq!(
            headers(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]),
            Some(10_000)
        );
        assert_eq!(
            headers(&[
                ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
                ("date", "Wed, 21 Oct 2015 07:27:57 GMT"),
            ]),
            Some(3_000)
        );
        assert_eq!(
            headers(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]),
            Some(0)
        );
        assert_eq!(
            headers(&[("retry-after", "2015-10-21T07:28:01Z")]),
            Some(11_000)
        );
        for bad in [
            &[("retry-after", "-5")],
            &[("retry-after", "soon")],
            &[("retry-after", "NaN")],
        ] {
            assert_eq!(headers(bad), None);
        }
    }

    #[test]
    fn sentences_name_a_wait_in_any_unit() {
        for (sentence, ms) in [
            ("please try again in 20s.", Some(20_000)),
            ("please try again in 7.66s. visit", Some(7_660)),
            ("please retry in 48.939935699s.", Some(48_940)),
            ("try again in 2m59.5s", Some(179_500)),
            ("try again in 250ms.", Some(250)),
            ("retry after 5 seconds", Some(5_000)),
            ("please wait 1 minute and", Some(60_000)),
            ("please wait before trying again", None),
            ("try again in a moment", None),
            ("try again in 20", None),
        ] {
            assert_eq!(of_words(sentence).and_then(millis), ms, "{sentence}");
        }
    }
}
