//! Truncation: exact limits, what is said, what is saved, bounded memory.

use std::fs;

use proptest::prelude::*;

use super::*;

fn store() -> (tempfile::TempDir, OutputStore) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = OutputStore::new(OutputLimits::default(), dir.path().join("out"));
    (dir, store)
}

/// What stands before the marker, the number in it, and what stands between it and the way back.
fn parts(text: &str) -> (&str, u64, &str) {
    let (head, rest) = text.split_once("\n\n...").expect("a marker");
    let (count, rest) = rest
        .split_once(" bytes truncated...\n\n")
        .expect("a marker");
    let (tail, _) = rest
        .split_once("Full output saved to: ")
        .expect("the way back");
    (
        head,
        count.parse().expect("a number"),
        tail.strip_suffix("\n\n").unwrap_or(tail),
    )
}

fn saved(fitted: &Fitted) -> Vec<u8> {
    fs::read(&fitted.full.as_ref().expect("saved").path).expect("readable")
}

fn numbered(count: usize, before: &str) -> String {
    let lines: Vec<String> = (0..count).map(|n| format!("{before}{n}\n")).collect();
    lines.concat()
}

#[test]
fn a_short_output_stays_as_it_is_and_touches_no_disk() {
    let (_dir, store) = store();
    for tool in ["bash", "read", "grep", "mcp__x__y"] {
        let fitted = store.fit(tool, "one\ntwo\n".to_owned());
        assert_eq!((fitted.text.as_str(), fitted.full), ("one\ntwo\n", None));
    }
    assert!(!store.dir().exists());
}

#[test]
fn a_long_output_keeps_its_beginning_and_names_the_file() {
    let (_dir, store) = store();
    let text = numbered(5_000, "line ");
    let fitted = store.fit("list", text.clone());
    let (head, omitted, tail) = parts(&fitted.text);
    assert_eq!(head.lines().count(), 2_000);
    assert!(text.starts_with(head) && tail.is_empty());
    assert_eq!(head.len() as u64 + omitted, text.len() as u64);
    let full = fitted.full.clone().expect("saved");
    assert_eq!((full.bytes, full.lines), (text.len() as u64, 5_000));
    assert!(fitted.text.ends_with(&format!(
        "Full output saved to: {}\nUse grep to search it, or read with offset/limit to view sections.",
        full.path
    )));
    assert_eq!(saved(&fitted), text.as_bytes());
}

#[test]
fn bash_keeps_its_first_quarter_and_last_three_quarters() {
    let (_dir, store) = store();
    let text = numbered(9_000, "line ");
    let fitted = store.fit("bash", text.clone());
    let (head, omitted, tail) = parts(&fitted.text);
    assert!(text.starts_with(head) && text.trim_end().ends_with(tail));
    assert!((7_400..=7_500).contains(&head.len()), "{}", head.len());
    assert!((22_400..=22_500).contains(&tail.len()), "{}", tail.len());
    assert_eq!(
        (head.len() + tail.len()) as u64 + omitted,
        text.len() as u64
    );
    assert!(tail.starts_with("line ") && text.contains(&format!("\n{tail}\n")));
    assert!(text.contains(&format!("{head}\n")));
}

#[test]
fn one_endless_line_is_cut_between_characters() {
    let (_dir, store) = store();
    let text = "日".repeat(40_000);
    let (head, tail) = (7_500, 22_500);
    let bash = store.fit("bash", text.clone());
    let found = parts(&bash.text);
    assert_eq!(
        (found.0.chars().count(), found.2.chars().count()),
        (head, tail)
    );
    assert_eq!(found.1, 30_000);
    let list = store.fit("list", text.clone());
    assert_eq!(parts(&list.text).0.len(), 51_200 - 51_200 % 3);
    assert_eq!(store.fit("mcp__a__b", text.clone()).text, text);
}

#[test]
fn lines_of_read_are_cut_to_their_width_before_the_bytes_are_counted() {
    let (_dir, store) = store();
    let mut text = "x".repeat(300_000);
    text.push_str("\nshort\n");
    text.push_str(&"y".repeat(2_001));
    let fitted = store.fit("read", text.clone());
    let (head, omitted, _) = parts(&fitted.text);
    let lines: Vec<usize> = head.lines().map(str::len).collect();
    assert_eq!(lines, [2_000, 5, 2_000]);
    assert_eq!(head.len() as u64 + omitted, text.len() as u64);
    assert_eq!(saved(&fitted), text.as_bytes());
}

#[test]
fn every_kind_of_tool_has_its_own_limit() {
    let (_dir, store) = store();
    let lines = numbered(1_500, "");
    assert_eq!(
        parts(&store.fit("grep", lines.clone()).text)
            .0
            .lines()
            .count(),
        1_000
    );
    assert_eq!(
        parts(&store.fit("glob", lines.clone()).text)
            .0
            .lines()
            .count(),
        1_000
    );
    assert_eq!(store.fit("read", lines.clone()).omitted, 0);
    assert_eq!(store.fit("skill", lines).omitted, 0);
    let other = store.fit("mcp__a__b", "a".repeat(120_001));
    assert_eq!(parts(&other.text).0.len(), 120_000);
    assert_eq!(store.fit("anything", "a".repeat(120_000)).omitted, 0);
}

#[test]
fn an_output_that_cannot_be_saved_says_so_and_is_still_cut() {
    let (dir, _) = store();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").expect("a file");
    let store = OutputStore::new(OutputLimits::default(), blocked.join("out"));
    let fitted = store.fit("bash", "a\n".repeat(50_000));
    assert!(fitted.text.contains("could not be saved"));
    assert!(fitted.text.len() < 31_000 && fitted.full.is_none());
}

#[test]
fn a_spill_that_was_saved_early_can_be_read_while_it_grows_and_may_still_fit() {
    let (_dir, store) = store();
    let mut spill = store.spill("bash");
    spill.push(b"one\n");
    let path = spill.save_early().expect("a file").to_owned();
    spill.push("x".repeat(29_000).as_bytes());
    assert_eq!(fs::metadata(&path).expect("file").len(), 29_004);
    spill.push(b"\nend\n");
    assert_eq!(spill.last_lines(1, 100), "end");
    let fitted = spill.finish();
    assert_eq!(fitted.text, format!("one\n{}\nend\n", "x".repeat(29_000)));
}

#[test]
fn sixty_four_mebibytes_leave_only_the_plan_in_memory() {
    let (_dir, store) = store();
    let chunk = "0123456789abcdef0123456789abcde\n".repeat(32_768);
    let mut spill = store.spill("bash");
    for _ in 0..64 {
        spill.push(chunk.as_bytes());
        assert!(spill.held() <= 125_000, "{}", spill.held());
    }
    let fitted = spill.finish();
    let full = fitted.full.as_ref().expect("saved");
    assert_eq!((full.bytes, full.lines), (64 << 20, 2 << 20));
    assert_eq!(fs::metadata(&full.path).expect("file").len(), 64 << 20);
    assert!(fitted.text.len() < 31_000);
}

#[cfg(unix)]
#[test]
fn saved_outputs_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, store) = store();
    let fitted = store.fit("bash", "a\n".repeat(50_000));
    let meta = fs::metadata(&fitted.full.expect("saved").path).expect("file");
    assert_eq!(meta.permissions().mode() & 0o077, 0);
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[a-z ]{0,40}\n".prop_map(String::into_bytes),
        "\\PC{0,30}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..20),
        Just(b"\n\n\n".to_vec()),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|all| all.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_bytes_in_any_pieces_obey_the_limits_and_are_saved_whole(
        bytes in bytes(),
        piece in 1usize..200,
        early in any::<bool>(),
        tool in prop_oneof![Just("bash"), Just("read"), Just("list"), Just("other")],
    ) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let limits = OutputLimits {
            lines: 12, bytes: 200, bash_chars: 160, read_lines: 10, read_line_chars: 20,
            other_chars: 300, ..OutputLimits::default()
        };
        let store = OutputStore::new(limits, dir.path());
        let mut spill = store.spill(tool);
        for (index, piece) in bytes.chunks(piece).enumerate() {
            spill.push(piece);
            if early && index == 1 {
                spill.save_early();
            }
        }
        let fitted = spill.finish();
        let lossy = String::from_utf8_lossy(&bytes);
        if Plan::of(tool, store.limits()).fits(&bytes) {
            prop_assert_eq!(&fitted.text, &lossy);
            return Ok(());
        }
        prop_assert_eq!(saved(&fitted), bytes.clone());
        let whole = store.fit(tool, lossy.clone().into_owned());
        let (head, omitted, tail) = parts(&fitted.text);
        let (chars, lines) = (head.chars().count(), head.lines().count());
        match tool {
            "bash" => prop_assert!(chars <= 40 && tail.chars().count() <= 120),
            "read" => prop_assert!(lines <= 10 && head.lines().all(|line| line.chars().count() <= 20)),
            "list" => prop_assert!(lines <= 12 && head.len() <= 600),
            _ => prop_assert!(chars <= 300),
        }
        if std::str::from_utf8(&bytes).is_ok() {
            prop_assert_eq!((head.len() + tail.len()) as u64 + omitted, bytes.len() as u64);
            prop_assert!(tool == "read" || lossy.starts_with(head));
            prop_assert!(lossy.trim_end_matches('\n').ends_with(tail.trim_end_matches('\n')));
            // whole or in pieces, early or late: the same text (but for the file's name)
            prop_assert_eq!(parts(&whole.text), (head, omitted, tail));
        }
    }
}

#[test]
fn the_last_guard_cuts_what_no_tool_cut_and_leaves_the_rest_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = OutputStore::new(OutputLimits::default(), dir.path());
    for (tool, chars, cut) in [
        ("mcp__server__tool", 120_000, false),
        ("mcp__server__tool", 120_001, true),
        ("edit", 51_200, false),
        ("edit", 51_201, true),
        ("bash", 30_000 + 8 * 1024, false),
        ("bash", 200_000, true),
    ] {
        let mut result = Ok(crate::tools::Success {
            output: "x".repeat(chars),
            ..crate::tools::Success::default()
        });
        store.seal(tool, &mut result);
        let done = result.expect("a success");
        let (text, full) = (done.output, done.truncated);
        assert_eq!(full.is_some(), cut, "{tool} {chars}");
        assert_eq!(
            text.contains("Full output saved to: "),
            cut,
            "{tool} {chars}"
        );
        if let Some(full) = full {
            assert_eq!(full.bytes, chars as u64);
        }
    }
}
