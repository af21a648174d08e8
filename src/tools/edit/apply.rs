//! An edit as a pure function: where `old_string` is, and what exactly changes.
//!
//! Called by the `edit` tool, and by `dunlin debug edit`. It tries the exact text first, then more and
//! more forgiving ways to find it (`find`). The first way that finds anything decides: one place is
//! taken, several are an error, so a forgiving match is never a guess. Whatever the old and the new
//! text have in common keeps the file's own bytes (`keep`).

use super::find::{self, Found};
use super::keep::Keeper;
use super::nearest;
use crate::tools::text::{Splice, main_line_end};

/// An edit that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPlan {
    /// The changes, sorted, apart from each other.
    pub splices: Vec<Splice>,
    /// What had to be forgiven to find the text; empty for an exact match.
    pub forgiven: &'static str,
}

/// Applies an edit to a text. The error is written for a model to act on.
pub fn apply_edit(before: &str, old: &str, new: &str, replace_all: bool) -> Result<String, String> {
    let plan = plan_edit(before, old, new, replace_all)?;
    let mut after = String::with_capacity(before.len() + new.len());
    let mut at = 0;
    for splice in &plan.splices {
        after.push_str(before.get(at..splice.range.start).unwrap_or_default());
        after.push_str(&splice.text);
        at = splice.range.end;
    }
    after.push_str(before.get(at..).unwrap_or_default());
    Ok(after)
}

/// Finds the edit. See `apply_edit`.
pub fn plan_edit(
    before: &str,
    old: &str,
    new: &str,
    replace_all: bool,
) -> Result<EditPlan, String> {
    if old == new {
        return Err(
            "old_string and new_string are the same, so nothing would change. Give the text as \
             it should be in new_string."
                .to_owned(),
        );
    }
    if old.is_empty() {
        return fill_empty(before, new);
    }
    let exact = find::exact(before, old);
    let plan = if exact.is_empty() {
        forgiving(before, old, new, replace_all)?
    } else {
        let places = choose(before, exact, replace_all, "")?;
        let splices = places.into_iter().map(|range| Splice {
            text: line_ends(before, old, new, &range),
            range,
        });
        EditPlan {
            splices: splices.collect(),
            forgiven: "",
        }
    };
    let changes = |splice: &Splice| before.get(splice.range.clone()) != Some(splice.text.as_str());
    if !plan.splices.iter().any(changes) {
        return Err(format!(
            "The edit changes nothing: old_string was found{}, and there the file already reads as \
             new_string. Read the file again before the next edit.",
            if plan.forgiven.is_empty() {
                String::new()
            } else {
                format!(" ({})", plan.forgiven)
            }
        ));
    }
    Ok(plan)
}

/// An empty `old_string` fills an empty file and nothing else.
fn fill_empty(before: &str, new: &str) -> Result<EditPlan, String> {
    if !before.trim().is_empty() {
        return Err(
            "old_string is empty, but the file is not. Give the text to be replaced, or use \
             write to replace the whole file."
                .to_owned(),
        );
    }
    Ok(EditPlan {
        splices: vec![Splice {
            range: 0..before.len(),
            text: new.to_owned(),
        }],
        forgiven: "",
    })
}

/// The ways to find a text that is not there exactly, strictest first.
fn forgiving(before: &str, old: &str, new: &str, replace_all: bool) -> Result<EditPlan, String> {
    let mut attempts = vec![(old.to_owned(), new.to_owned(), "")];
    attempts.extend(
        find::without_line_numbers(old, new).map(|(old, new)| (old, new, "ignoring line numbers")),
    );
    attempts
        .extend(find::unescaped(old, new).map(|(old, new)| (old, new, "after undoing escapes")));
    attempts.extend(
        find::without_blank_edges(old, new)
            .map(|(old, new)| (old, new, "ignoring blank lines around it")),
    );
    let mark = usize::from(before.starts_with('\u{feff}')) * '\u{feff}'.len_utf8();
    let text = before.get(mark..).unwrap_or_default();
    for (old, new, why) in &attempts {
        if old.trim().is_empty() {
            continue;
        }
        for way in find::WAYS {
            let found = (way.find)(text, old);
            if found.is_empty() {
                continue;
            }
            let forgiven = if way.forgives.is_empty() {
                why
            } else {
                way.forgives
            };
            let all = replace_all && way.repeatable;
            let places = choose_found(text, found, all, forgiven)?;
            let keeper = Keeper::new(text, old, new);
            let splices = places.iter().map(|found| {
                let mut splice = keeper.splice(found);
                splice.range.start += mark;
                splice.range.end += mark;
                splice
            });
            return Ok(EditPlan {
                splices: splices.collect(),
                forgiven,
            });
        }
    }
    Err(nearest::not_found(text, old, new))
}

fn choose_found(
    text: &str,
    found: Vec<Found>,
    all: bool,
    forgiven: &str,
) -> Result<Vec<Found>, String> {
    let ranges = found.iter().map(|found| found.range.clone()).collect();
    // both in the order of the text
    let mut kept = choose(text, ranges, all, forgiven)?.into_iter().peekable();
    Ok(found
        .into_iter()
        .filter(|found| kept.next_if(|range| *range == found.range).is_some())
        .collect())
}

/// One place, or all of them that do not overlap; several without `all` are an error.
fn choose(
    text: &str,
    places: Vec<std::ops::Range<usize>>,
    all: bool,
    forgiven: &str,
) -> Result<Vec<std::ops::Range<usize>>, String> {
    if places.len() == 1 || all {
        let mut end = 0;
        return Ok(places
            .into_iter()
            .filter(|place| {
                let apart = place.start >= end;
                end = if apart { place.end } else { end };
                apart
            })
            .collect());
    }
    let line = |at: usize| memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1;
    let lines: Vec<String> = places
        .iter()
        .take(8)
        .map(|place| line(place.start).to_string())
        .collect();
    let more = if places.len() > 8 { ", …" } else { "" };
    let how = if forgiven.is_empty() {
        String::new()
    } else {
        format!(" ({forgiven})")
    };
    Err(format!(
        "old_string is found in {} places{how}: at lines {}{more}. Add lines around it to old_string \
         until it is unique, or set replace_all to change every place.",
        places.len(),
        lines.join(", ")
    ))
}

/// The new text with the line ends of the place where it goes.
fn line_ends(before: &str, old: &str, new: &str, place: &std::ops::Range<usize>) -> String {
    if !new.contains('\n') {
        return new.to_owned();
    }
    let ends = if old.contains('\n') {
        main_line_end(old)
    } else {
        line_end_at(before, place.end)
    };
    match ends {
        "\r\n" => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        // a carriage return that the model wrote on purpose stays, unless the file has none at all
        _ if before.contains('\r') || old.contains('\r') => new.to_owned(),
        _ => new.replace("\r\n", "\n"),
    }
}

/// The line end of the line at an offset; the text's main one on its last line.
pub(super) fn line_end_at(text: &str, at: usize) -> &'static str {
    let bytes = text.as_bytes();
    match memchr::memchr(b'\n', &bytes[at.min(bytes.len())..]) {
        Some(0) if at > 0 && bytes[at - 1] == b'\r' => "\r\n",
        Some(next) if next > 0 && bytes[at + next - 1] == b'\r' => "\r\n",
        Some(_) => "\n",
        None => main_line_end(text),
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
