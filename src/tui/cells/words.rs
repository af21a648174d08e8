//! Small words of cells: durations, counts, sizes.
//!
//! Pure; used by the cells only.

use crate::tui::term::sanitise::Safe;

/// A finished duration: `12ms`, `1.8s`, `48s`, `1m 12s`, `2h 5m`.
pub(super) fn took(ms: i64) -> Safe {
    let ms = ms.max(0);
    match ms {
        0..100 => Safe::strip(&format!("{ms}ms")),
        100..9_950 => Safe::strip(&format!("{:.1}s", ms as f64 / 1000.0)),
        _ => Safe::strip(&seconds((ms + 500) / 1000)),
    }
}

/// A running duration, in whole seconds.
pub(super) fn running(ms: i64) -> Safe {
    Safe::strip(&seconds(ms.max(0) / 1000))
}

fn seconds(s: i64) -> String {
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m {}s", s / 60, s % 60),
        _ => format!("{}h {}m", s / 3600, s / 60 % 60),
    }
}

/// `1 read`, `4 reads`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `161,030`.
pub(super) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_the_frames() {
        for (ms, text) in [
            (12, "12ms"),
            (1_800, "1.8s"),
            (6_449, "6.4s"),
            (9_960, "10s"),
            (48_200, "48s"),
            (72_000, "1m 12s"),
            (7_500_000, "2h 5m"),
            (-5, "0ms"),
        ] {
            assert_eq!(took(ms).as_str(), text);
        }
        assert_eq!(running(12_900).as_str(), "12s");
    }

    #[test]
    fn thousands_are_parted() {
        assert_eq!(thousands(161_030), "161,030");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000_000), "1,000,000");
    }
}
