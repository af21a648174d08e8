//! Tests of highlighting: colours come from the worker, plain text stands until then.

use super::*;

#[test]
fn what_is_too_large_or_has_no_language_is_not_wanted() {
    let highlights = Highlights::default();
    assert!(
        highlights
            .get(key("", "x"), "", || "x".to_owned())
            .is_none()
    );
    let large = "x".repeat(LARGEST + 1);
    assert!(
        highlights
            .get(key("rs", &large), "rs", || large.clone())
            .is_none()
    );
    assert!(highlights.wanted.borrow().is_empty());
}

#[test]
fn colours_come_from_the_worker_and_stay() {
    let (told, wait) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let mut worker = Worker::default();
    worker.set_waker(Arc::new(move || {
        if let Ok(told) = told.lock() {
            let _ = told.send(());
        }
    }));
    let mut highlights = Highlights::default();
    let code = "fn main() {\n    let s = \"hi\"; // done\n}\n";
    let key = key("rust", code);
    assert!(
        !worker.poll(&mut highlights, false),
        "nothing was wanted, so no thread"
    );
    assert!(worker.line.is_none());
    assert!(highlights.get(key, "rust", || code.to_owned()).is_none());
    worker.poll(&mut highlights, false);
    wait.recv_timeout(std::time::Duration::from_mins(1))
        .expect("the worker answers");
    assert!(worker.poll(&mut highlights, false));
    assert_eq!(highlights.version(), 1);
    let painted = highlights.get(key, "rust", String::new).expect("known now");
    let kinds: Vec<(&str, CodeKind)> = {
        let line = "    let s = \"hi\"; // done";
        let mut start = 0;
        painted
            .line(1)
            .expect("a line")
            .iter()
            .map(|(end, kind)| {
                let piece = line.get(start..*end as usize).expect("a piece");
                start = *end as usize;
                (piece.trim(), *kind)
            })
            .filter(|(piece, _)| !piece.is_empty())
            .collect()
    };
    assert!(kinds.contains(&("let", CodeKind::Keyword)), "{kinds:?}");
    assert!(kinds.contains(&("\"hi\"", CodeKind::String)), "{kinds:?}");
    assert!(kinds.contains(&("// done", CodeKind::Comment)), "{kinds:?}");
}

#[test]
fn a_patch_has_the_colours_of_added_and_removed() {
    let mut tables = thread::Tables::load();
    let code = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n";
    let job = Job {
        key: key("diff", code),
        language: "diff".to_owned(),
        code: code.to_owned(),
    };
    let painted = thread::paint(&mut tables, &job).expect("a known language");
    let kinds = |line| -> Vec<CodeKind> {
        let runs = painted.line(line).expect("a line");
        runs.iter().map(|(_, kind)| *kind).collect()
    };
    assert_eq!(kinds(3), [CodeKind::Removed]);
    assert_eq!(kinds(4), [CodeKind::Added]);
    assert_eq!(kinds(5), [CodeKind::Plain]);
}
