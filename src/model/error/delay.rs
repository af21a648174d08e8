//! How long a provider asks to wait: headers, Google's `RetryInfo`, a sentence, or when a limit that is
//! used up begins anew.

use serde_json::Value;

use super::body::Said;
use crate::protocol::Millis;

/// The longest wait that is believed, one week; more is a mistake.
const MAX: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

/// The wait in milliseconds that headers ask for; the more exact header wins.
pub(super) fn of_headers<'h>(header: &dyn Fn(&str) -> Option<&'h str>, now: Millis) -> Option<u64> {
    let exact = header("retry-after-ms").and_then(|value| value.parse().ok());
    if let Some(ms) = exact.and_then(millis) {
        return Some(ms);
    }
    let value = header("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return millis(seconds * 1000.0);
    }
    if let Some(wait) = duration_at(value) {
        return millis(wait);
    }
    let then = date(value)?;
    let now = header("date").and_then(date).unwrap_or(now);
    millis((then - now).max(0) as f64)
}

/// The wait in milliseconds until the limits that are used up begin anew, as headers tell that count
/// them: `x-ratelimit-reset-tokens: 6m0s`, `anthropic-ratelimit-requests-reset: 2026-…`,
/// `x-ratelimit-reset: 1741305600000`. Nothing if they do not say which one is used up.
pub(super) fn of_limits(headers: &[(String, String)], now: Millis) -> Option<u64> {
    let find = |name: &str| {
        let same = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        headers.iter().find(same).map(|(_, value)| value.trim())
    };
    let waits = headers.iter().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let counts = name.contains("ratelimit") && name.contains("reset");
        let left = find(&name.replace("reset", "remaining"))?.parse::<f64>();
        let used_up = left.is_ok_and(|left| left <= 0.0);
        (counts && used_up).then(|| until(value.trim(), now))?
    });
    // each of them must have begun anew
    waits.max()
}

/// The wait until this moment: a duration, seconds, seconds or milliseconds since 1970, or a date.
fn until(value: &str, now: Millis) -> Option<u64> {
    let ahead = |then: f64| millis(then - now as f64);
    match value.parse::<f64>() {
        Ok(number) if number >= 1e12 => ahead(number),
        Ok(number) if number >= 1e9 => ahead(number * 1000.0),
        Ok(seconds) => millis(seconds * 1000.0),
        Err(_) => duration_at(value)
            .and_then(millis)
            .or_else(|| ahead(date(value)? as f64)),
    }
    .filter(|wait| *wait > 0)
}

/// The wait in milliseconds that the body asks for.
pub(super) fn of_said(said: &Said, now: Millis) -> Option<u64> {
    let told = said.details.iter().find_map(|detail| {
        let duration = detail.get("retryDelay").and_then(Value::as_str);
        duration
            .and_then(|text| duration_at(text.trim()))
            .or_else(|| detail.get("retry_after_ms").and_then(Value::as_f64))
            .or_else(|| {
                let seconds = detail
                    .get("retry_after")
                    .or_else(|| detail.get("estimated_time"))?;
                let text = || seconds.as_str()?.trim().parse::<f64>().ok();
                Some(seconds.as_f64().or_else(text)? * 1000.0)
            })
    });
    told.or_else(|| of_words(&said.words()))
        .and_then(millis)
        .or_else(|| said.details.iter().find_map(|detail| of_told(detail, now)))
}

/// Headers that stand in a JSON object.
pub(super) fn pairs(headers: &Value) -> Vec<(String, String)> {
    headers
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.clone(), value)
        })
        .collect()
}

/// The upstream's headers, which OpenRouter puts into the body.
fn of_told(detail: &Value, now: Millis) -> Option<u64> {
    of_limits(&pairs(detail.get("headers")?), now)
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
    let old = |form: &str| {
        let parsed = jiff::fmt::strtime::parse(form, text).ok()?;
        let zoned = parsed.to_datetime().ok()?.to_zoned(jiff::tz::TimeZone::UTC);
        Some(zoned.ok()?.timestamp())
    };
    jiff::fmt::rfc2822::parse(text)
        .map(|zoned| zoned.timestamp())
        .or_else(|_| text.parse::<jiff::Timestamp>())
        .ok()
        // the two older forms that HTTP still allows
        .or_else(|| old("%A, %d-%b-%y %H:%M:%S GMT"))
        .or_else(|| old("%a %b %e %H:%M:%S %Y"))
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
        for older in [
            "Wednesday, 21-Oct-15 07:28:00 GMT",
            "Wed Oct 21 07:28:00 2015",
        ] {
            assert_eq!(
                date(older),
                date("Wed, 21 Oct 2015 07:28:00 GMT"),
                "{older}"
            );
        }
        assert_eq!(headers(&[("retry-after", "20s")]), Some(20_000));
        // nonsense in the more exact one does not hide the other
        assert_eq!(
            headers(&[("retry-after-ms", "-1"), ("retry-after", "3")]),
            Some(3_000)
        );
        for bad in [
            &[("retry-after", "-5")],
            &[("retry-after", "soon")],
            &[("retry-after", "NaN")],
            &[("retry-after", "1e300")],
            &[("retry-after", "604801")],
            &[("retry-after", "")],
            &[("retry-after-ms", "99999999999")],
        ] {
            assert_eq!(headers(bad), None);
        }
    }

    #[test]
    fn limits_that_are_used_up_say_when_they_begin_anew() {
        let now = 1_445_412_470_000;
        let wait = |pairs: &[(&str, &str)]| {
            let headers: Vec<(String, String)> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            of_limits(&headers, now)
        };
        for (reset, ms) in [
            ("7.66s", Some(7_660)),
            ("6m0s", Some(360_000)),
            ("20ms", Some(20)),
            ("12", Some(12_000)),
            ("1445412475", Some(5_000)),
            ("1445412473500", Some(3_500)),
            ("2015-10-21T07:28:01Z", Some(11_000)),
            ("2015-10-21T07:00:00Z", None),
            ("0", None),
            ("soon", None),
            ("-3", None),
        ] {
            let pairs = [("x-ratelimit-reset", reset), ("X-RateLimit-Remaining", "0")];
            assert_eq!(wait(&pairs), ms, "{reset}");
        }
        let both = |tokens: &'static str| {
            [
                ("x-ratelimit-reset-requests", "2m59s"),
                ("x-ratelimit-remaining-requests", "17"),
                ("x-ratelimit-reset-tokens", "8s"),
                ("x-ratelimit-remaining-tokens", tokens),
            ]
        };
        assert_eq!(wait(&both("0")), Some(8_000));
        assert_eq!(wait(&both("900")), None, "nothing is used up");
        assert_eq!(wait(&[("x-ratelimit-reset", "8")]), None, "nobody knows");
        let anthropic = [
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            (
                "anthropic-ratelimit-input-tokens-reset",
                "2015-10-21T07:28:00Z",
            ),
        ];
        assert_eq!(wait(&anthropic), Some(10_000));
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
