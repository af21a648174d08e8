//! What bytes mean: single sequences, and that splitting them changes nothing.

use proptest::prelude::*;

use super::*;

fn one(bytes: &[u8]) -> Vec<Input> {
    Parser::default().feed(bytes)
}

fn keys(bytes: &[u8]) -> Vec<String> {
    let mut parser = Parser::default();
    let mut inputs = parser.feed(bytes);
    inputs.extend(parser.flush());
    inputs
        .into_iter()
        .map(|input| match input {
            Input::Key(key) => key.to_string(),
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn legacy_and_kitty_keys_are_the_same_keys() {
    for (bytes, name) in [
        (&b"\r"[..], "enter"),
        (b"\x1b[13u", "enter"),
        (b"\x1b[13;2u", "shift+enter"),
        (b"\x1b[13;5u", "ctrl+enter"),
        (b"\x1b[27;5;13~", "ctrl+enter"),
        (b"\x1b[27;2;13~", "shift+enter"),
        (b"\x1b[27;6;122~", "ctrl+shift+z"),
        (b"\x1b[27;3;98~", "alt+b"),
        (b"\x1b\r", "alt+enter"),
        (b"\n", "ctrl+j"),
        (b"\x03", "ctrl+c"),
        (b"\x1b[99;5u", "ctrl+c"),
        (b"\x1b[27u", "esc"),
        (b"\x1b", "esc"),
        (b"\x1b[A", "\u{2191}"),
        (b"\x1bOA", "\u{2191}"),
        (b"\x1b[1;5A", "ctrl+\u{2191}"),
        (b"\x1b\x1b[D", "alt+\u{2190}"),
        (b"\x1b[Z", "shift+tab"),
        (b"\x1b[3~", "delete"),
        (b"\x1b[5~", "pgup"),
        (b"\x1b[15~", "f5"),
        (b"\x1bOP", "f1"),
        (b"\x1b[[A", "f1"),
        (b"\x1bf", "alt+f"),
        (b"\x7f", "backspace"),
        (b"\x1b\x7f", "alt+backspace"),
        (b"\x1f", "ctrl+_"),
        ("é".as_bytes(), "é"),
        (b"\x1b[57414u", "enter"),
        (b"\x1b[97;2u", "A"),
        (b"\x1b[", "alt+["),
    ] {
        assert_eq!(keys(bytes), vec![name.to_owned()], "{bytes:?}");
    }
}

#[test]
fn a_key_that_comes_up_and_unknown_sequences_say_nothing() {
    for bytes in [
        &b"\x1b[97;1:3u"[..],
        b"\x1b[57441u",
        b"\x1b[12;4R",
        b"\x1b[999~",
        b"\x1b[?2026;2$y",
        b"\x1bP1$r0m\x1b\\",
        b"\xff\xfe",
        b"\x1b[M !!",
    ] {
        assert_eq!(keys(bytes), Vec::<String>::new(), "{bytes:?}");
    }
}

#[test]
fn replies_to_probes_are_not_typed_text() {
    let bytes = b"x\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?1u\x1b[2;6R\x1b[?62;4cy";
    assert_eq!(
        one(bytes),
        vec![
            Input::Key(Key::plain(Code::Char('x'))),
            Input::Reply(Reply::Background(0x1e, 0x1e, 0x2e)),
            Input::Reply(Reply::Keyboard(1)),
            Input::Reply(Reply::Width(5)),
            Input::Reply(Reply::Done { sixel: true }),
            Input::Key(Key::plain(Code::Char('y'))),
        ]
    );
}

#[test]
fn a_paste_is_verbatim_even_when_it_holds_escapes() {
    let inputs = one(b"\x1b[200~a\r\nb\x1b[31m\tc\x1b[201~d");
    assert_eq!(inputs[0], Input::Paste("a\nb\x1b[31m\tc".to_owned()));
    assert_eq!(inputs[1], Input::Key(Key::plain(Code::Char('d'))));
}

#[test]
fn a_paste_without_an_end_is_given_up_not_lost() {
    let mut parser = Parser::default();
    assert_eq!(parser.feed(b"\x1b[200~half"), vec![]);
    assert_eq!(parser.wait(), Some(PASTE_WAIT_MS));
    assert_eq!(parser.flush(), vec![Input::Paste("half".to_owned())]);
    assert_eq!(parser.wait(), None);
}

#[test]
fn mouse_reports_count_from_zero() {
    assert_eq!(
        one(b"\x1b[<0;10;5M\x1b[<64;1;1M\x1b[<0;10;5m"),
        vec![
            Input::Mouse(Mouse {
                kind: MouseKind::Down,
                col: 9,
                row: 4
            }),
            Input::Mouse(Mouse {
                kind: MouseKind::WheelUp,
                col: 0,
                row: 0
            }),
            Input::Mouse(Mouse {
                kind: MouseKind::Up,
                col: 9,
                row: 4
            }),
        ]
    );
}

fn sequence() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"\x1b[A".to_vec()),
        Just(b"\x1b[13;5u".to_vec()),
        Just(b"\x1b]11;rgb:ffff/0000/8080\x07".to_vec()),
        Just(b"\x1b[200~pa\x1b[20ste\x1b[201~".to_vec()),
        Just(b"\x1b[<35;3;3M".to_vec()),
        Just("日本 é".as_bytes().to_vec()),
        Just(b"abc\r".to_vec()),
        Just(b"\x1b[I".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn splitting_the_bytes_changes_nothing(
        parts in prop::collection::vec(sequence(), 1..8),
        cuts in prop::collection::vec(0_usize..200, 0..6),
    ) {
        let bytes = parts.concat();
        let whole = one(&bytes);
        let mut parser = Parser::default();
        let mut out = Vec::new();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c % (bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            out.extend(parser.feed(&bytes[from..cut]));
            from = cut;
        }
        prop_assert_eq!(out, whole);
        prop_assert_eq!(parser.wait(), None);
    }

    #[test]
    fn any_bytes_are_survived_and_nothing_stays_stuck(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut parser = Parser::default();
        for chunk in bytes.chunks(7) {
            parser.feed(chunk);
        }
        parser.flush();
        prop_assert_eq!(parser.wait(), None);
        prop_assert_eq!(parser.feed(b"z"), vec![Input::Key(Key::plain(Code::Char('z')))]);
    }
}
