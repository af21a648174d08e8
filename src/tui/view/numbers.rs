//! Numbers for the eye: tokens, money, durations, days.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::protocol::Millis;

/// `0`, `950`, `3.1k`, `200k`, `1.2M`; `whole` leaves a zero decimal out.
pub fn tokens(count: u64, whole: bool) -> String {
    let short = |unit: u64, sign: char| {
        let tenths = (count * 10 + unit / 2) / unit;
        if whole && tenths.is_multiple_of(10) {
            format!("{}{sign}", tenths / 10)
        } else {
            format!("{}.{}{sign}", tenths / 10, tenths % 10)
        }
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..999_950 => short(1_000, 'k'),
        _ => short(1_000_000, 'M'),
    }
}

/// `52,341`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `12s`, `1m 12s`, `2h 5m`.
pub fn elapsed(ms: Millis) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The longest name of a model in a row with other words.
const MODEL: usize = 32;

/// A model's name without the maker's or a script's path before it, short enough for the footer.
pub fn model(label: &str) -> String {
    let name = label.rsplit('/').next().unwrap_or(label);
    match name.char_indices().nth(MODEL) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or(name)),
        None if name == "none" => "no model".to_owned(),
        None => name.to_owned(),
    }
}

/// `$0.42`.
pub fn money(usd: f64) -> String {
    format!("${usd:.2}")
}

/// Used and window of a context: `52.3k/200k 26%`, `0/200k`; the window may not be known.
pub fn context(used: u64, window: u64) -> String {
    if window == 0 {
        return tokens(used, false);
    }
    let share = if used == 0 {
        String::new()
    } else {
        format!(" {}%", percent(used, window))
    };
    format!("{}/{}{share}", tokens(used, false), tokens(window, true))
}

/// Rounded share in percent; 0 of nothing.
pub const fn percent(part: u64, whole: u64) -> u64 {
    match (part * 100 + whole / 2).checked_div(whole) {
        Some(share) => share,
        None => 0,
    }
}

/// How many days before `now` something was, in this time zone.
pub fn days_ago(at: Millis, now: Millis, zone: &TimeZone) -> i64 {
    let day = |ms| Timestamp::from_millisecond(ms).map(|t| t.to_zoned(zone.clone()).date());
    match (day(at), day(now)) {
        (Ok(then), Ok(today)) => (today - then).get_days().into(),
        _ => i64::MAX,
    }
}

/// `14:02` today, `Tue` this week, else `2 Nov`.
pub fn when(at: Millis, now: Millis, zone: &TimeZone) -> String {
    let format = match days_ago(at, now, zone) {
        ..=0 => "%H:%M",
        1..7 => "%a",
        _ => "%-d %b",
    };
    let time = Timestamp::from_millisecond(at).map(|t| t.to_zoned(zone.clone()));
    time.map(|time| time.strftime(format).to_string())
        .unwrap_or_default()
}

/// The same for the start screen: `today 14:02`, `yesterday`, `18 Nov`.
pub fn day(at: Millis, now: Millis, zone: &TimeZone) -> String {
    match days_ago(at, now, zone) {
        ..=0 => format!("today {}", when(at, now, zone)),
        1 => "yesterday".to_owned(),
        _ => {
            let time = Timestamp::from_millisecond(at).map(|t| t.to_zoned(zone.clone()));
            time.map(|time| time.strftime("%-d %b").to_string())
                .unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_the_frames() {
        assert_eq!(tokens(3_100, false), "3.1k");
        assert_eq!(tokens(36_000, false), "36.0k");
        assert_eq!(tokens(200_000, true), "200k");
        assert_eq!(tokens(1_048_576, true), "1M");
        assert_eq!(context(52_341, 200_000), "52.3k/200k 26%");
        assert_eq!(context(0, 200_000), "0/200k");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(elapsed(72_900), "1m 12s");
        assert_eq!(elapsed(7_500_000), "2h 5m");
        assert_eq!(money(0.416), "$0.42");
    }

    #[test]
    fn days_are_named_by_how_far_they_are() {
        let now = 1_763_735_000_000; // Fri 21 Nov 2025, 14:23 UTC
        let hour = 3_600_000;
        assert_eq!(day(now - hour, now, &TimeZone::UTC), "today 13:23");
        assert_eq!(day(now - 24 * hour, now, &TimeZone::UTC), "yesterday");
        assert_eq!(day(now - 72 * hour, now, &TimeZone::UTC), "18 Nov");
        assert_eq!(when(now - 72 * hour, now, &TimeZone::UTC), "Tue");
        assert_eq!(when(now - 480 * hour, now, &TimeZone::UTC), "1 Nov");
    }
}
