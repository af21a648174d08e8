//! Exports with harm done to them at random: an import makes all of the session or nothing, and never panics.

use std::cell::Cell;
use std::fs;

use dunlin::session::{ExportFormat, Redactor};
use proptest::prelude::*;
use serde_json::Value;

use super::rich::rich;
use super::support::{World, arrival, session_id};

/// What somebody did to the bytes of an export.
#[derive(Debug, Clone)]
enum Harm {
    /// One byte is another.
    Byte(prop::sample::Index, u8),
    /// The rest is missing.
    Cut(prop::sample::Index),
    /// A line is missing, is there twice, or stands where another one stood.
    Without(prop::sample::Index),
    Twice(prop::sample::Index),
    Swapped(prop::sample::Index, prop::sample::Index),
    /// A JSON value somewhere in it is something else.
    Other(prop::sample::Index, usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    use prop::sample::Index;
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Harm::Byte(at, byte)),
        any::<Index>().prop_map(Harm::Cut),
        any::<Index>().prop_map(Harm::Without),
        any::<Index>().prop_map(Harm::Twice),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Harm::Swapped(a, b)),
        (any::<Index>(), 0..others().len()).prop_map(|(at, with)| Harm::Other(at, with)),
    ]
}

fn others() -> Vec<Value> {
    let deep = (0..60).fold(Value::Null, |deep, _| Value::Array(vec![deep]));
    let texts = [
        "",
        "ses_0",
        "msg_ffffffffffffffffffffffffffffffff",
        "blob:../../etc",
        "\u{202e}\0",
    ];
    let mut others: Vec<Value> = texts.iter().map(|text| Value::from(*text)).collect();
    others.extend([
        Value::Null,
        Value::Bool(true),
        Value::from(-1),
        Value::from(u64::MAX),
    ]);
    others.extend([
        Value::from(1e300),
        Value::Array(Vec::new()),
        serde_json::json!({}),
        deep,
    ]);
    others
}

/// Puts another value in the place of the `at`-th one.
fn replace(value: &mut Value, at: &mut usize, with: &Value) -> bool {
    if *at == 0 {
        *value = with.clone();
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(all) => all.iter_mut().any(|one| replace(one, at, with)),
        Value::Object(fields) => fields.values_mut().any(|one| replace(one, at, with)),
        _ => false,
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn with_other(export: &[u8], at: prop::sample::Index, with: &Value) -> Vec<u8> {
    let changed = |bytes: &[u8]| -> Option<Vec<u8>> {
        let mut document: Value = serde_json::from_slice(bytes).ok()?;
        let mut place = at.index(count(&document));
        replace(&mut document, &mut place, with);
        serde_json::to_vec(&document).ok()
    };
    if let Some(whole) = changed(export) {
        return whole;
    }
    let mut lines: Vec<Vec<u8>> = export.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let line = at.index(lines.len());
    if let Some(new) = changed(&lines[line]) {
        lines[line] = new;
    }
    lines.join(&b'\n')
}

fn harmed(export: &[u8], harm: &Harm) -> Vec<u8> {
    let mut bytes = export.to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    let mut lines: Vec<&[u8]> = export.split(|b| *b == b'\n').collect();
    match harm {
        Harm::Byte(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
            return bytes;
        }
        Harm::Cut(at) => {
            bytes.truncate(at.index(bytes.len()));
            return bytes;
        }
        Harm::Other(at, with) => return with_other(export, *at, &others()[*with]),
        Harm::Without(at) => drop(lines.remove(at.index(lines.len()))),
        Harm::Twice(at) => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at]);
        }
        Harm::Swapped(a, b) => {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            lines.swap(a, b);
        }
    }
    lines.join(&b'\n')
}

#[test]
fn a_mangled_export_is_imported_whole_or_refused_and_never_a_panic() {
    let world = World::new();
    rich(&world, session_id(1));
    let open = Redactor::with_values([]);
    let exports = [ExportFormat::Json, ExportFormat::Jsonl].map(|format| {
        let mut out = Vec::new();
        let exported = world.project.export(session_id(1), format, &open, &mut out);
        exported.expect("export");
        out
    });
    let (taken, refused) = (Cell::new(0), Cell::new(0));
    let cases = if super::support::long_campaign() {
        20_000
    } else {
        300
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    });
    let wanted = (0..2_usize, prop::collection::vec(harm(), 1..4));
    let target = World::new();
    let sessions = target.project.folder().join("sessions");
    let worktree = target.worktree();
    let done = runner.run(&wanted, |(format, harms)| {
        let export = harms.iter().fold(exports[format].clone(), |export, harm| {
            harmed(&export, harm)
        });
        let id = session_id(2);
        match target.project.import(&export, &arrival(id, &worktree)) {
            Ok(info) => {
                taken.set(taken.get() + 1);
                prop_assert_eq!(info.id, id);
                let history = target.project.read_all(id);
                let (history, damaged) = history.map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(damaged, 0);
                for part in &history.parts {
                    prop_assert!(history.messages.iter().any(|m| m.id == part.message));
                }
                let opened = target
                    .project
                    .open_session(id, super::support::Heard::new());
                let opened = opened.map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(&opened.notices, &Vec::<String>::new());
                opened.store.close_blocking();
                if target.project.holds(id) {
                    let gone = target.project.delete(id);
                    gone.map_err(|e| TestCaseError::fail(e.to_string()))?;
                }
            }
            Err(error) => {
                refused.set(refused.get() + 1);
                prop_assert!(error.to_string().ends_with('.'), "{}", error);
            }
        }
        // subagents' sessions, halves and staging are gone, or never were
        let left = fs::read_dir(&sessions).map_or(0, Iterator::count);
        prop_assert_eq!(left, 0);
        Ok(())
    });
    done.expect("whole or refused");
    let (taken, refused) = (taken.get(), refused.get());
    assert!(
        taken > 5 && refused > 50,
        "{taken} taken, {refused} refused"
    );
}
