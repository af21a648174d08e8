//! Tests of the framing: forms, limits, cuts.

use proptest::prelude::*;

use super::*;

type Owned = (Option<String>, String);

fn own(frame: Frame<'_>) -> Owned {
    (frame.event.map(str::to_owned), frame.data.to_owned())
}

/// All events, the unterminated last one included, of a body fed in pieces of these lengths.
fn frames(body: &[u8], mut cut: impl FnMut() -> usize) -> Vec<Owned> {
    let mut framing = Framing::default();
    let mut all = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (mut chunk, tail) = rest.split_at(cut().clamp(1, rest.len()));
        rest = tail;
        while let Some(frame) = framing.next(&mut chunk).expect("small") {
            all.push(own(frame));
        }
    }
    all.extend(framing.last().map(own));
    all
}

fn data(texts: &[&str]) -> Vec<Owned> {
    texts.iter().map(|t| (None, (*t).to_owned())).collect()
}

#[test]
fn every_line_end_and_field_form_is_understood() {
    let cases: [(&str, Vec<Owned>); 12] = [
        ("data: a\n\ndata: b\n\n", data(&["a", "b"])),
        ("data: a\r\n\r\ndata: b\r\n\r\n", data(&["a", "b"])),
        ("data: a\r\rdata: b\r\r", data(&["a", "b"])),
        ("\u{feff}data: a\n\n", data(&["a"])),
        (": hello\n\n:\ndata:a\n: x\n\n", data(&["a"])),
        ("data: a\ndata:  b\ndata\n\n", data(&["a\n b\n"])),
        (
            "event: error\nid: 7\nretry: 10\ndata: a\n\ndata: b\n\n",
            vec![(Some("error".into()), "a".into()), (None, "b".into())],
        ),
        ("event: lost\n\ndata: b\n\n", data(&["b"])),
        ("data: a\n\ndata: last", data(&["a", "last"])),
        ("data: a\n\ndata: last\n", data(&["a", "last"])),
        ("data: \u{2028}\u{85}\n\n", data(&["\u{2028}\u{85}"])),
        ("\n\nnothing here: 1\n\n", vec![]),
    ];
    for (body, expected) in cases {
        for size in 1..=body.len() {
            assert_eq!(
                frames(body.as_bytes(), || size),
                expected,
                "{body:?} in pieces of {size}"
            );
        }
    }
}

#[test]
fn bytes_that_are_no_text_do_not_lose_the_event() {
    assert_eq!(
        frames(b"data: a\xffb\n\ndata: c\n\n", || 4),
        data(&["a\u{fffd}b", "c"])
    );
}

#[test]
fn an_endless_line_is_refused_instead_of_eating_the_memory() {
    let mut framing = Framing::default();
    let piece = vec![b'x'; 1024 * 1024];
    let mut fed = 0;
    let error = loop {
        match framing.next(&mut piece.as_slice()) {
            Ok(_) => fed += piece.len(),
            Err(error) => break error,
        }
        assert!(fed <= MAX_EVENT, "no limit");
    };
    assert!(error.to_string().contains("32 MiB"), "{error}");
}

#[test]
fn many_data_lines_count_against_the_same_limit() {
    let mut framing = Framing::default();
    let line = [b"data:".as_slice(), &vec![b'x'; 1024 * 1024], b"\n"].concat();
    let refused = (0..40).any(|_| framing.next(&mut line.as_slice()).is_err());
    assert!(refused);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_never_change_the_events(
        lines in proptest::collection::vec("(data|event|id|:|x)?:? ?[a-z\u{2028}é]{0,4}(\n|\r\n|\r|\n\n|\r\n\r\n)", 0..12),
        sizes in proptest::collection::vec(1_usize..7, 1..8),
    ) {
        let body = lines.concat();
        let whole = frames(body.as_bytes(), || usize::MAX);
        let mut sizes = sizes.into_iter().cycle();
        prop_assert_eq!(frames(body.as_bytes(), || sizes.next().unwrap_or(1)), whole);
    }
}
