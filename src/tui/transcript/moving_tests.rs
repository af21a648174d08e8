//! Tests of where the transcript stands: scrolling, anchors over resizes, folds, older pages and new text.

use super::*;

#[test]
fn scrolling_up_stays_while_new_things_come() {
    let mut talk = long(40);
    talk.screen(80, 12);
    talk.transcript.scroll_lines(-17);
    let (rendered, before) = talk.frame(80, 12);
    assert!(!rendered.at_bottom && !rendered.new_activity);
    assert!(
        rendered
            .sticky
            .is_some_and(|prompt| prompt.as_str().starts_with("prompt 3"))
    );
    talk.user("another");
    let (rendered, after) = talk.frame(80, 12);
    assert_eq!(before, after);
    assert!(rendered.new_activity);
    talk.transcript.to_bottom();
    let (rendered, rows) = talk.frame(80, 12);
    assert!(rendered.at_bottom && !rendered.new_activity);
    assert_eq!(rows[11], "  ❯ another");
}

#[test]
fn scrolling_down_ends_at_the_bottom_and_up_at_the_top() {
    let mut talk = long(10);
    let bottom = talk.screen(80, 12);
    talk.transcript.page(-3);
    talk.screen(80, 12);
    assert!(!talk.transcript.is_at_bottom());
    talk.transcript.page(3);
    assert_eq!(talk.screen(80, 12), bottom);
    assert!(talk.transcript.is_at_bottom());
    talk.transcript.scroll_lines(-100_000);
    let top = talk.screen(80, 12);
    assert_eq!(top[0], "  ❯ prompt 0");
    talk.transcript.to_bottom();
    talk.transcript.to_top();
    assert_eq!(talk.screen(80, 12), top);
    talk.transcript.scroll_lines(1);
    talk.transcript.scroll_lines(-1);
    assert_eq!(talk.screen(80, 12), top);
}

#[test]
fn every_row_is_reached_by_scrolling_one_row_at_a_time() {
    let mut talk = long(6);
    let all = talk.transcript.plain_text(80);
    let all: Vec<&str> = all.trim_end().lines().collect();
    talk.screen(80, 5);
    talk.transcript.to_top();
    let mut seen = Vec::new();
    for _ in 0..all.len() {
        let rows = talk.screen(80, 5);
        seen.push(rows[4].clone());
        talk.transcript.scroll_lines(1);
    }
    seen.dedup();
    let mut wanted: Vec<String> = all[4..].iter().map(|row| (*row).to_owned()).collect();
    wanted.dedup();
    assert_eq!(seen, wanted);
}

#[test]
fn the_anchor_survives_a_resize_and_back() {
    let mut talk = long(40);
    talk.screen(80, 12);
    talk.transcript.scroll_lines(-33);
    let before = talk.screen(80, 12);
    let narrow = talk.screen(34, 12);
    // The row under the sticky line is the one that holds the words that were there.
    assert!(
        before[1].contains("more of them") && narrow[2].contains("more of them"),
        "{narrow:?}"
    );
    assert_eq!(talk.screen(80, 12), before);
}

#[test]
fn the_anchor_survives_a_fold_above_and_older_pages() {
    let mut talk = Talk::new();
    talk.done("bash", "seq 40", &"x\n".repeat(40), json!({"exit": 0}), 500);
    go_on(&mut talk, 12);
    let mut older = Talk::new();
    older.now = 5_000;
    older.mint = IdMint::new(9, 0);
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
    for n in 0..30 {
        messages.push(older.header(Role::User));
        parts.push(older.make(said(&format!("old {n}"))));
    }
    talk.screen(80, 12);
    talk.transcript.scroll_lines(-25);
    let before = talk.screen(80, 12);
    talk.transcript.apply(
        &Event::History {
            messages,
            parts,
            first: false,
        },
        0,
    );
    assert_eq!(talk.screen(80, 12), before);
    // Unfold the first command, far above.
    let at = (0..talk.transcript.list.len()).find(|at| {
        talk.transcript
            .list
            .get(*at)
            .is_some_and(|e| matches!(e.cell, Cell::Exec(_)))
    });
    assert!(talk.transcript.toggle(at.expect("a command")));
    assert_eq!(talk.screen(80, 12), before);
    talk.transcript.to_top();
    let top = talk.screen(80, 12);
    assert_eq!(top[0], "  ❯ old 0");
    let oldest = talk.transcript.wants_older().expect("there is more before");
    assert_eq!(Some(oldest), talk.transcript.list.oldest());
    assert_eq!(talk.transcript.wants_older(), None, "asked once");
}

#[test]
fn prompts_are_jumped_to_both_ways() {
    let mut talk = long(20);
    talk.screen(80, 10);
    talk.transcript.jump_prompt(-1);
    let first = talk.screen(80, 10);
    assert!(first[0].starts_with("  ❯ prompt"), "{first:?}");
    talk.transcript.jump_prompt(-3);
    let up = talk.screen(80, 10);
    talk.transcript.jump_prompt(3);
    assert_eq!(talk.screen(80, 10), first);
    assert_ne!(up, first);
}

/// Text that leans towards what hurts a terminal.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{0,12}",
        "\u{1b}\\[[0-9;?]{0,6}[a-zA-Z]",
        "\u{1b}\\][ -~]{0,8}\u{7}",
        "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{80}-\u{9f}\u{e0041}\u{300}]{1,4}",
        "[\r\n\t`*_#>|\\-]{1,4}",
        "&#x?[0-9a-f]{1,5};",
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_dangerous_reaches_the_screen(text in nasty(), width in 1_u16..130) {
        let mut talk = Talk::new();
        talk.user(&text);
        talk.add(said(&text));
        talk.done("bash", &text, &text, json!({"exit": 1, "signal": text}), 5);
        let diff = format!("@@ -1 +1 @@\n-{}\n+{}\n", text.replace('\n', " "), text.replace('\n', ""));
        talk.done("edit", &text, &text, json!({"diff": diff}), 5);
        talk.done("todo", &text, &text, json!({"todos": [{"content": text, "status": "done"}]}), 5);
        talk.done("mcp__x__y", &text, &text, Value::Null, 5);
        talk.running("task", &text, &text, 5);
        talk.transcript.apply(&Event::Notice { level: NoticeLevel::Error, text: text.clone() }, 0);
        talk.transcript.apply(&Event::Error { error: Fault::new(FaultKind::Server, text.as_str(), text.as_str()) }, 0);
        let (_, buffer) = talk.buffer(width, 60);
        for cell in &buffer.content {
            for c in cell.symbol().chars() {
                prop_assert!(!c.is_control() && !crate::tui::term::sanitise::charset::is_hidden(c), "{:?}", c);
            }
        }
    }

    #[test]
    fn any_moves_at_any_size_keep_the_screen_sane(
        steps in proptest::collection::vec((0_u8..9, -30_i32..30, 5_u16..130, 1_u16..20), 1..20),
    ) {
        let mut talk = long(8);
        for (kind, by, width, height) in steps {
            match kind {
                0 => talk.transcript.scroll_lines(by),
                1 => talk.transcript.page(by / 10),
                2 => talk.transcript.to_top(),
                3 => talk.transcript.to_bottom(),
                4 => talk.transcript.jump_prompt(by / 8),
                5 => drop(talk.transcript.toggle_fold_at(by.unsigned_abs() as u16)),
                6 => { talk.done("bash", "x", "a\nb", json!({"exit": 0}), 3); }
                7 => { talk.transcript.find("answer"); talk.transcript.find_prev(); }
                _ => { talk.transcript.select_start(1, 0); talk.transcript.select_end(9, by.unsigned_abs() as u16); }
            }
            let (rendered, rows) = talk.frame(width, height);
            prop_assert_eq!(rendered.at_bottom, talk.transcript.is_at_bottom());
            prop_assert!(rows.last().is_some_and(|row| rendered.at_bottom || height > 0 || !row.is_empty()));
            talk.transcript.selected_text();
        }
    }
}

/// What may happen while someone reads further up.
#[derive(Debug, Clone)]
enum Happening {
    Resize(u16),
    /// A page of older messages arrives.
    Older,
    /// Another cell than the one that is read is folded or unfolded.
    Fold(usize),
    /// The answer at the end goes on.
    Streams(String),
    /// A turn comes and goes.
    Turn,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => prop_oneof![Just(20_u16), 21_u16..130].prop_map(Happening::Resize),
        1 => Just(Happening::Older),
        2 => any::<prop::sample::Index>().prop_map(|at| Happening::Fold(at.index(1_000))),
        2 => "[a-z ]{1,40}(\n\n|\n- |\n```\n|\n# )[a-z ]{0,20}".prop_map(Happening::Streams),
        1 => Just(Happening::Turn),
    ]
}

const READ: &str = "The reflow runs while replay is still *filling* the list, so the height it measures is **short**; \
    日本語の長い文章も折り返されますし、`Pager::on_resize` is the place to look at.\n\n\
    - first, confirm the ordering, which takes a while and a few more words than fit\n  - nested 👩‍👩‍👧‍👦 too\n- then wait\n\n\
    ```rust\nfn on_resize(&mut self, width: u16) { self.reflow(width); self.and_then_something_longer(); }\n```\n\n\
    > Quoted, and long enough to be wrapped on everything but the widest screens there are.\n\nThe end of it.";

/// Cells of many kinds, and an answer that still streams.
fn mixed() -> (Talk, Part) {
    let mut talk = Talk::new();
    for n in 0..6 {
        talk.user(&format!("prompt {n} {}", "with words ".repeat(n)));
        talk.add(said(READ));
        talk.done("read", "src/a.rs", "x", Value::Null, 10);
        talk.done(
            "bash",
            "cargo test",
            &failed_output(30),
            json!({"exit": n % 2}),
            900,
        );
        talk.done("bash", "ls", "a\nb\nc", json!({"exit": 0}), 20);
        talk.add(said("Short."));
    }
    talk.begin(Role::Assistant);
    let mut open = talk.make(said("It goes on"));
    open.end = None;
    talk.put(&open);
    (talk, open)
}

/// The top row: its cell, the bytes that the cell says before it and with it, and its text.
fn top_row(talk: &mut Talk, width: u16) -> Option<(u64, std::ops::Range<usize>, String)> {
    let (unit, row) = talk.transcript.screen.first().copied().flatten()?;
    let theme = <Theme as Default>::default();
    let look = Look::new(&theme, talk.now);
    let mut layouts = talk.transcript.layouts(width, &look);
    let mut said = 0;
    for part in 0..unit.part {
        let rows = layouts.rows(Unit { part, ..unit });
        said += rows.iter().map(moves::said).sum::<usize>();
    }
    let rows = layouts.rows(unit);
    said += rows
        .iter()
        .take(row.unwrap_or(0))
        .map(moves::said)
        .sum::<usize>();
    let text = row.and_then(|row| rows.get(row));
    let own = text.map_or(0, moves::said);
    Some((
        unit.cell,
        said..said + own,
        text.map_or(String::new(), |row| row.content().to_owned()),
    ))
}

/// A page of messages from before all that is there.
fn older_page(number: u64) -> Event {
    let mut older = Talk::new();
    older.now = 900_000 - 1_000 * number as i64;
    older.mint = IdMint::new(9 + number, 0);
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
    for n in 0..5 {
        messages.push(older.header(Role::User));
        parts.push(older.make(said(&format!("old {number} {n}"))));
    }
    Event::History {
        messages,
        parts,
        first: false,
    }
}

fn happen(talk: &mut Talk, open: &Part, what: &Happening, pages: &mut u64) {
    match what {
        Happening::Resize(_) => {}
        Happening::Older => {
            *pages += 1;
            talk.transcript.apply(&older_page(*pages), 0);
        }
        Happening::Fold(n) => {
            let read = talk
                .transcript
                .screen
                .first()
                .copied()
                .flatten()
                .map(|(unit, _)| unit.cell);
            let at = n % talk.transcript.list.len();
            if talk.transcript.list.get(at).map(|entry| entry.id) != read {
                talk.transcript.toggle(at);
            }
        }
        Happening::Streams(delta) => {
            let (part, delta) = (open.id, delta.clone());
            let event = Event::PartDelta {
                message: open.message,
                part,
                delta,
            };
            talk.transcript.apply(&event, talk.now);
        }
        Happening::Turn => go_on(talk, 1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn what_is_read_stays_on_top_whatever_happens_around_it(
        first_width in 20_u16..130,
        height in 4_u16..20,
        up in 1_i32..160,
        happenings in proptest::collection::vec(happening(), 1..10),
    ) {
        let (mut talk, open) = mixed();
        talk.frame(first_width, height);
        talk.transcript.scroll_lines(-up);
        talk.frame(first_width, height);
        prop_assume!(!talk.transcript.is_at_bottom());
        let (cell, read, text) = top_row(&mut talk, first_width).expect("a row");
        let (mut width, mut pages) = (first_width, 0);
        for what in &happenings {
            happen(&mut talk, &open, what, &mut pages);
            if let Happening::Resize(to) = what {
                width = *to;
            }
            talk.frame(width, height);
            if talk.transcript.is_at_bottom() {
                // All that follows fits on this screen: it is the newest one.
                return Ok(());
            }
            let (now, says, shown) = top_row(&mut talk, width).expect("a row");
            prop_assert_eq!(now, cell, "another cell after {:?}: {:?}", what, shown);
            let is_text = talk.transcript.list.index(cell).and_then(|at| talk.transcript.list.get(at));
            if is_text.is_some_and(|entry| matches!(entry.cell, Cell::Answer(_) | Cell::Prompt(_))) {
                let inside = says.contains(&read.start) || (read.is_empty() && says.is_empty());
                prop_assert!(inside, "{:?} is at {:?} after {:?}: {:?}", read, says, what, shown);
            }
        }
        talk.frame(first_width, height);
        if !talk.transcript.is_at_bottom() {
            prop_assert_eq!(top_row(&mut talk, first_width), Some((cell, read, text)));
        }
    }
}
