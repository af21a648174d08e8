//! The last guard of Tier 1: whatever a call leaves behind is bounded, not only its output.
//!
//! `agent::driver` passes every result, every refusal and every live update through here before it
//! becomes part of the session: texts for the model by the tool's limit, titles to a line, metadata to
//! what a screen can use. What a tool cuts itself is only looked at for what slipped through.

use std::io;

use serde_json::Value;

use super::cut::{Plan, at_char};
use super::{OutputStore, rules};
use crate::config::used::OutputLimits;
use crate::tools::{Failure, ProgressUpdate, Success};

/// Characters of a title.
const TITLE: usize = 240;

/// Characters of a sentence about a call that did not run: from its beginning and from its end. Such
/// sentences repeat what the model sent, and that has no bounds.
const SENTENCE: (usize, usize) = (3_000, 1_000);

/// What a tool that cuts itself may put around its text: how to go on, the exit code, line numbers.
const AROUND: usize = 8 * 1024;

/// And how many lines.
const LINES_AROUND: usize = 100;

/// Bytes of the end of a running call's output.
const TAIL: usize = 8 * 1024;

/// Items of a list and characters of a text in metadata that is too large as a whole, at first.
const SHORTER: (usize, usize) = (1_024, 4_096);

impl OutputStore {
    /// Bounds all of a result.
    pub fn seal(&self, tool: &str, result: &mut Result<Success, Failure>) {
        let (text, title, metadata, full) = match result {
            Ok(done) => (
                &mut done.output,
                &mut done.title,
                &mut done.metadata,
                &mut done.truncated,
            ),
            Err(failed) => (
                &mut failed.message,
                &mut failed.title,
                &mut failed.metadata,
                &mut failed.truncated,
            ),
        };
        if let Some(saved) = self.guard(tool, text, full.is_some()) {
            *full = Some(saved);
        }
        line(title);
        self.facts(metadata);
    }

    /// Bounds what a call that does not run is answered with.
    pub fn sentence(&self, tool: &str, text: String) -> String {
        let plan = Plan::Ends {
            head: SENTENCE.0,
            tail: SENTENCE.1,
        };
        self.fit_plan(plan, tool, text).text
    }

    /// Bounds a live update.
    pub fn seal_update(&self, update: &mut ProgressUpdate) {
        line(&mut update.title);
        self.facts(&mut update.metadata);
        if update.tail.len() > TAIL {
            let from = update.tail.len() - TAIL;
            let from = update.tail.ceil_char_boundary(from);
            update.tail.drain(..from);
        }
    }

    /// Metadata that is larger than the widest limit loses what can be lost first: hunks (the diff
    /// holds them too), then the ends of lists and texts, then the diff, then what is largest. `cut` says
    /// that something is missing.
    fn facts(&self, metadata: &mut Value) {
        let most = self.limits.other_chars;
        if size(metadata) <= most {
            return;
        }
        without_hunks(metadata);
        let (mut items, mut chars) = SHORTER;
        while size(metadata) > most && items > 0 {
            shorten(metadata, items, chars);
            if size(metadata) > most
                && let Some(diff) = metadata.get_mut("diff")
            {
                *diff = Value::String(String::new());
            }
            items /= 4;
            chars /= 4;
        }
        let Some(fields) = metadata.as_object_mut() else {
            if size(metadata) > most {
                *metadata = Value::Null;
            }
            return;
        };
        fields.insert("cut".to_owned(), Value::Bool(true));
        let sizes = fields
            .iter()
            .map(|(name, value)| (size(value), name.clone()));
        let mut sizes: Vec<(usize, String)> = sizes.collect();
        sizes.sort_unstable();
        let mut whole = size(fields);
        while whole > most
            && let Some((bytes, name)) = sizes.pop()
        {
            // its name, quotes, colon and comma go with it; escapes only make that more
            whole -= bytes + name.len() + 4;
            fields.remove(&name);
        }
    }
}

/// True if a text of a tool that cuts itself is beyond its limit and what it may add.
pub(super) fn slipped_through(plan: Plan, limits: &OutputLimits, text: &str) -> bool {
    let roomier = match plan {
        // matches have lines around them
        Plan::Head { lines, bytes, .. } => Plan::Head {
            lines: lines.max(limits.lines) + LINES_AROUND,
            bytes: bytes + AROUND,
            line_chars: usize::MAX,
        },
        Plan::HeadChars(chars) => Plan::HeadChars(chars + AROUND),
        Plan::Ends { head, tail } => Plan::Ends {
            head,
            tail: tail + AROUND,
        },
    };
    !roomier.fits(text.as_bytes())
}

/// True if the tool cuts its own output.
pub(super) fn cuts_itself(tool: &str) -> bool {
    rules::of(tool).is_some_and(|rule| rule.itself)
}

/// A title as one line that a screen can hold.
pub fn title(mut text: String) -> String {
    line(&mut text);
    text
}

fn line(title: &mut String) {
    if title.contains(['\n', '\r']) {
        *title = title.replace(['\n', '\r'], " ");
    }
    let keep = at_char(title.as_bytes(), TITLE);
    if keep < title.len() {
        title.truncate(keep);
        title.push('…');
    }
}

/// Bytes of a value as JSON, without making it.
fn size(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting can't fail, and a `Value` can always be written.
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_never) => usize::MAX,
    }
}

fn without_hunks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(hunks) = fields.get_mut("hunks") {
                *hunks = Value::Array(Vec::new());
            }
            fields.values_mut().for_each(without_hunks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_hunks),
        _ => {}
    }
}

/// Cuts lists and texts, but for the diff, of which a piece would be wrong.
fn shorten(value: &mut Value, items: usize, chars: usize) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if name != "diff" {
                    shorten(field, items, chars);
                }
            }
        }
        Value::Array(list) => {
            list.truncate(items);
            for item in list {
                shorten(item, items, chars);
            }
        }
        Value::String(text) => {
            let keep = at_char(text.as_bytes(), chars);
            if keep < text.len() {
                text.truncate(keep);
                text.push('…');
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn store() -> (tempfile::TempDir, OutputStore) {
        let dir = tempfile::tempdir().expect("a folder");
        let store = OutputStore::new(OutputLimits::default(), dir.path().join("out"));
        (dir, store)
    }

    #[test]
    fn metadata_loses_first_what_can_be_had_elsewhere_and_says_that_it_did() {
        let (_dir, store) = store();
        let small = json!({"diff": "+a", "hunks": [1], "exit": 0});
        let mut same = small.clone();
        store.facts(&mut same);
        assert_eq!(same, small);
        // Hunks first: the diff says the same.
        let diff = "+é\n".repeat(20_000);
        let mut facts = json!({"diff": diff, "hunks": vec!["x"; 50_000], "added": 7});
        store.facts(&mut facts);
        assert_eq!((&facts["diff"], &facts["added"]), (&json!(diff), &json!(7)));
        assert_eq!(
            (&facts["hunks"], &facts["cut"]),
            (&json!([]), &Value::Bool(true))
        );
        // Then the ends of lists and texts; never a piece of a diff.
        let mut facts = json!({"diff": "+x\n".repeat(90_000), "added": 7,
            "todos": vec![json!({"content": "é".repeat(9_000)}); 2_000]});
        store.facts(&mut facts);
        assert!(size(&facts) <= 120_000, "{}", size(&facts));
        assert_eq!((&facts["diff"], &facts["added"]), (&json!(""), &json!(7)));
        assert!(
            facts["todos"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        );
        // Whatever it is made of.
        let wide: serde_json::Map<_, _> = (0..90_000).map(|n| (n.to_string(), json!(n))).collect();
        let deep = json!(vec![vec![vec!["y"; 9]; 99]; 999]);
        for mut odd in [Value::Object(wide), json!("x".repeat(1 << 20)), deep] {
            store.facts(&mut odd);
            assert!(size(&odd) <= 120_000, "{}", size(&odd));
        }
    }

    #[test]
    fn titles_and_tails_are_cut_between_characters() {
        let (_dir, store) = store();
        let mut update = ProgressUpdate {
            title: "é\n".repeat(1 << 20),
            metadata: json!({"x": "y".repeat(1 << 20)}),
            tail: "€".repeat(1 << 20),
        };
        store.seal_update(&mut update);
        assert_eq!(update.title.chars().count(), TITLE + 1);
        assert!(!update.title.contains('\n') && update.title.ends_with('…'));
        assert!(update.tail.len() <= TAIL && update.tail.starts_with('€'));
        assert!(size(&update.metadata) <= 120_000);
        assert_eq!(title("as it is".to_owned()), "as it is");
    }

    #[test]
    fn a_sentence_keeps_its_beginning_and_its_remedy() {
        let (_dir, store) = store();
        let text = format!("The path {} is wrong. Give another.", "é".repeat(1 << 20));
        let cut = store.sentence("edit", text.clone());
        assert!(cut.starts_with("The path é") && cut.contains("is wrong. Give another."));
        assert!(
            cut.contains("bytes truncated") && cut.len() < 10_000,
            "{}",
            cut.len()
        );
        let path = cut
            .split("saved to: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        let saved = std::fs::read_to_string(path.expect("a path")).expect("saved");
        assert_eq!(saved, text);
        assert_eq!(store.sentence("edit", "short.".to_owned()), "short.");
    }
}
