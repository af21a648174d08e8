//! The program's own environment variables, `DUNLIN_…`: which there are, and what a misspelt one was meant to be.
//!
//! A variable that nobody reads does nothing, and nobody notices; so it is named at the start. Called once
//! with the names in the environment; looks at no value.

use std::ffi::OsString;

use super::keys::KEYS;
use super::value::closest;

/// What all of them begin with.
const PREFIX: &str = "DUNLIN_";

/// Those that are no key of the configuration.
pub const OTHERS: [&str; 5] = [
    "DUNLIN_CONFIG_DIR",
    "DUNLIN_DATA_DIR",
    "DUNLIN_CA_FILE",
    "DUNLIN_LOG",
    "DUNLIN_SCRIPT",
];

/// Those of the repository's tests and benches begin so; the program does not read them.
const OF_TESTS: [&str; 12] = [
    "DUNLIN_BENCH_",
    "DUNLIN_BIN",
    "DUNLIN_BLESS",
    "DUNLIN_CUTS",
    "DUNLIN_DAMAGE",
    "DUNLIN_FLOOD_MIB",
    "DUNLIN_KILLS",
    "DUNLIN_PROFILE",
    "DUNLIN_SEED",
    "DUNLIN_SHARED",
    "DUNLIN_TEST_",
    "DUNLIN_WRITE_DOCS",
];

/// The variable that sets a key: `DUNLIN_CONTEXT_PRUNE_PROTECT` for `context.prune_protect`.
pub fn name_of(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "_").to_ascii_uppercase())
}

/// A sentence for each of these names that begins as ours do and that nobody reads.
pub fn unknown(names: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let mut names: Vec<String> = names
        .into_iter()
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(PREFIX))
        .filter(|name| !OF_TESTS.iter().any(|ours| name.starts_with(ours)))
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let settable = KEYS.iter().filter(|key| !key.path.contains('*'));
    let mut known: Vec<String> = settable.map(|key| name_of(key.path)).collect();
    known.extend(OTHERS.map(str::to_owned));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    names.retain(|name| !known.contains(&name.as_str()));
    names.sort();
    names.dedup();
    names.iter().map(|name| sentence(name, &known)).collect()
}

fn sentence(name: &str, known: &[&str]) -> String {
    // what all have in common makes any two names alike
    let own = |name: &'_ str| name.strip_prefix(PREFIX).unwrap_or_default().to_owned();
    let words: Vec<String> = known.iter().map(|known| own(known)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let hint = closest(&own(&name.to_ascii_uppercase()), &words).map_or_else(
        || "`dunlin config` lists all keys that a variable can set".to_owned(),
        |word| format!("did you mean {PREFIX}{word}?"),
    );
    format!("unknown environment variable {name}; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &[&str]) -> Vec<String> {
        unknown(names.iter().map(OsString::from))
    }

    #[test]
    fn a_misspelt_variable_is_named_with_the_closest_one() {
        let wrong = [
            ("DUNLIN_LOOP_RETRYS", "DUNLIN_LOOP_RETRIES"),
            ("DUNLIN_MODELL", "DUNLIN_MODEL"),
            ("DUNLIN_DATADIR", "DUNLIN_DATA_DIR"),
            ("DUNLIN_model", "DUNLIN_MODEL"),
            (
                "DUNLIN_CONTEXT_PRUNE_PROTCT",
                "DUNLIN_CONTEXT_PRUNE_PROTECT",
            ),
        ];
        for (typed, meant) in wrong {
            let expected = format!("unknown environment variable {typed}; did you mean {meant}?");
            assert_eq!(told(&[typed]), [expected]);
        }
        let far = told(&["DUNLIN_XYZZY"]).concat();
        assert!(far.contains("`dunlin config` lists"), "{far}");
    }

    #[test]
    fn every_variable_that_is_read_is_known_and_those_of_others_are_nobodys_business() {
        let mut names: Vec<String> = KEYS
            .iter()
            .filter(|key| !key.path.contains('*'))
            .map(|key| name_of(key.path))
            .collect();
        names.extend(OTHERS.map(str::to_owned));
        names.extend(["PATH", "DUNLINX", "XDUNLIN_MODEL", "DUNLIN_TEST_X"].map(str::to_owned));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(told(&names), Vec::<String>::new());
        assert_eq!(told(&["DUNLIN_B", "DUNLIN_A", "DUNLIN_A"]).len(), 2);
    }
}
