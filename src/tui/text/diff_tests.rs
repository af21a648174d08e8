//! Tests of changes laid out in rows: hunks, numbers, changes within a line.

use super::*;
use crate::tui::text::highlight::Highlights;
use crate::tui::theme::Theme;

const DIFF: &str = "--- a/src/reflow.rs\n+++ b/src/reflow.rs\n@@ -41,3 +41,6 @@ impl Pager\n         let cells = self.cells.len();\n-        self.reflow(width);\n+        if self.replaying {\n+            self.reflow_after_replay = Some(width);\n+        } else {\n+            self.reflow(width);\n         }\n";

fn shown(diff: &str, shape: Shape, width: usize) -> Vec<String> {
    let theme = <Theme as Default>::default();
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: if shape.form == Form::Narrow { 2 } else { 4 },
        measure: width,
        room: width,
    };
    rows(&parse(diff, 400).hunks, "rs", shape, &page)
        .iter()
        .map(|r| r.line.as_str().trim_end().to_owned())
        .collect()
}

#[test]
fn rows_stand_where_the_frame_has_them() {
    assert_eq!(
        shown(DIFF, Shape::default(), 100),
        [
            "     41  41      let cells = self.cells.len();",
            "     42      −   self.reflow(width);",
            "         42  +   if self.replaying {",
            "         43  +       self.reflow_after_replay = Some(width);",
            "         44  +   } else {",
            "         45  +       self.reflow(width);",
            "     43  46      }",
        ]
    );
}

#[test]
fn narrow_screens_lose_the_old_number_and_the_context() {
    let narrow = Shape {
        form: Form::Narrow,
        broken: false,
    };
    assert_eq!(
        shown(DIFF, narrow, 40)[..3],
        [
            "   42 − self.reflow(width);",
            "   42 + if self.replaying {",
            "   43 +     self.reflow_after_replay = So…"
        ]
    );
}

#[test]
fn hunks_are_parted_by_what_is_between_them() {
    let diff =
        "@@ -1 +1 @@\n-a\n+b\n@@ -10,1 +10,2 @@ fn x\n c\n+d\n\\ No newline at end of file\n";
    assert_eq!(
        shown(diff, Shape::default(), 40),
        [
            "      1      −   a",
            "          1  +   b",
            "    ┊ 8 unchanged lines",
            "     10  10      c",
            "         11  +   d"
        ]
    );
}

#[test]
fn lines_that_look_like_headers_are_content() {
    let diff = "@@ -1,2 +1,1 @@\n--- sql comment\n keep\n";
    let hunks = parse(diff, 400).hunks;
    assert_eq!(hunks.len(), 1);
    assert_eq!(hunks[0].lines[0].text, "-- sql comment");
    assert_eq!(count(&hunks), (0, 1));
}

#[test]
fn what_is_over_the_limit_is_counted() {
    let Parsed { hunks, dropped, .. } = parse(DIFF, 3);
    assert_eq!(hunks[0].lines.len(), 3);
    assert_eq!(dropped, 4);
}

#[test]
fn copying_a_row_gives_code_only() {
    let theme = <Theme as Default>::default();
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: 4,
        measure: 80,
        room: 80,
    };
    let rows = rows(&parse(DIFF, 400).hunks, "rs", Shape::default(), &page);
    assert_eq!(rows[2].copy(0..200), "if self.replaying {");
}

#[test]
fn side_by_side_removed_lines_face_the_added_ones() {
    let split = Shape {
        form: Form::Split,
        broken: false,
    };
    assert_eq!(
        shown(DIFF, split, 75),
        [
            "     41   let cells = self.cells.len();  │  41   let cells = self.cells.len();",
            "     42 − self.reflow(width);            │  42 + if self.replaying {",
            "                                         │  43 +     self.reflow_after_replay …",
            "                                         │  44 + } else {",
            "                                         │  45 +     self.reflow(width);",
            "     43   }                              │  46   }",
        ]
    );
}

#[test]
fn a_part_begins_and_ends_where_it_is_asked_to() {
    let theme = <Theme as Default>::default();
    let page = Page {
        theme: &theme,
        highlights: &Highlights::default(),
        links: None,
        left: 0,
        measure: 60,
        room: 60,
    };
    let hunks = parse(DIFF, 400).hunks;
    for form in [Form::Screen, Form::Split] {
        let shape = Shape {
            form,
            broken: false,
        };
        let layout = Layout::of(&hunks, "rs", shape, &page);
        let mut rows = Vec::new();
        layout.part(&hunks[0], (2, 3), &mut rows);
        assert_eq!(rows.len(), 3, "{form:?}");
        assert!(
            rows[0].line.as_str().contains("if self.replaying"),
            "{form:?}: {rows:?}"
        );
    }
}

#[test]
fn a_change_beyond_the_edge_is_brought_into_sight() {
    let long = |end: &str| format!("let very_long = \"{}\"; // {end}", "x".repeat(230));
    let diff = format!("@@ -2,1 +2,1 @@\n-{}\n+{}\n", long("begin"), long("done"));
    let rows = shown(&diff, Shape::default(), 100);
    assert!(
        rows[0].contains("// begin") && rows[0].contains('…'),
        "{rows:?}"
    );
    assert!(rows[1].contains("// done"), "{rows:?}");
    assert!(
        rows.iter()
            .all(|row| super::super::width::columns(row) <= 100)
    );
    let near = "@@ -1,1 +1,1 @@\n-let a = 1;\n+let b = 1;\n";
    assert_eq!(shown(near, Shape::default(), 100).len(), 2);
    assert!(
        shown(near, Shape::default(), 100)
            .iter()
            .all(|row| !row.contains('…'))
    );
}

#[test]
fn the_files_of_a_diff_are_told_apart() {
    let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+a\n--- a/src/b.rs\n+++ b/src/b.rs\n\
                @@ -1,1 +1,1 @@\n-x\n+y\n@@ -9,1 +9,1 @@\n--- not a head\n+z\n--- a/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n";
    let parsed = parse(diff, 400);
    let files: Vec<(usize, char, &str)> = parsed
        .files
        .iter()
        .map(|(at, kind, path)| (*at, *kind, path.as_str()))
        .collect();
    assert_eq!(
        files,
        [(0, 'A', "new.txt"), (1, 'M', "src/b.rs"), (3, 'D', "old")]
    );
    assert_eq!(parse(diff, 1).files.len(), 1);
}
