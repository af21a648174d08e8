//! Encodings: how bytes are read, and that an edit leaves the others as they are.

use proptest::prelude::*;

use super::*;

fn replace(file: &TextFile, old: &str, new: &str) -> Result<Vec<u8>, String> {
    let at = file.text().find(old).expect("in the text");
    file.splice(&[Splice {
        range: at..at + old.len(),
        text: new.to_owned(),
    }])
}

#[test]
fn plain_and_marked_utf8_are_read_without_the_mark_and_keep_it() {
    let file = TextFile::decode(b"\xef\xbb\xbfone\r\ntwo".to_vec()).expect("text");
    assert_eq!((file.text(), file.encoding()), ("one\r\ntwo", "UTF-8"));
    assert_eq!(
        replace(&file, "two", "zwei").expect("spliced"),
        b"\xef\xbb\xbfone\r\nzwei"
    );
    assert_eq!(file.replace("new").expect("encoded"), b"\xef\xbb\xbfnew");
}

#[test]
fn latin_text_keeps_every_other_byte() {
    let bytes = b"Gr\xfc\xdfe aus M\xfcnchen, sch\xf6ne Gr\xfc\xdfe\n".to_vec();
    let file = TextFile::decode(bytes).expect("text");
    assert!(
        file.text().contains("München"),
        "{} {}",
        file.encoding(),
        file.text()
    );
    let after = replace(&file, "München", "Köln").expect("spliced");
    assert_eq!(after, b"Gr\xfc\xdfe aus K\xf6ln, sch\xf6ne Gr\xfc\xdfe\n");
    let error = replace(&file, "aus", "→").expect_err("no arrow in this encoding");
    assert!(
        error.contains('→') && error.contains("windows-1252"),
        "{error}"
    );
}

#[test]
fn japanese_text_keeps_every_other_byte() {
    let text = "これは日本語のテキストです。編集しても壊れません。\n関数の説明: 値を返す。\n";
    for encoding in [encoding_rs::SHIFT_JIS, encoding_rs::EUC_JP] {
        let bytes = encoding.encode(text).0.into_owned();
        let file = TextFile::decode(bytes.clone()).expect("text");
        assert_eq!(file.text(), text, "{}", file.encoding());
        let after = replace(&file, "値", "数").expect("spliced");
        let expected = encoding.encode(&text.replace('値', "数")).0.into_owned();
        assert_eq!(after, expected);
    }
}

#[test]
fn broken_bytes_in_utf8_survive_an_edit_elsewhere() {
    let bytes = "größer, ärger, übel, schön, müßig: \u{20ac}uro\n"
        .as_bytes()
        .to_vec();
    let mut broken = bytes.clone();
    broken.extend_from_slice(b"\xff\xfe\xc3( end\n");
    let file = TextFile::decode(broken.clone()).expect("text");
    assert_eq!(file.encoding(), "UTF-8 with invalid bytes");
    let after = replace(&file, "end", "END").expect("spliced");
    let expected = [bytes.as_slice(), b"\xff\xfe\xc3( END\n"].concat();
    assert_eq!(after, expected);
}

#[test]
fn utf16_is_read_with_and_without_a_mark() {
    let text = "hello wörld 𝄞\r\nnext line of text\r\n";
    for big in [false, true] {
        let units = |text: &str| -> Vec<u8> {
            text.encode_utf16()
                .flat_map(|unit| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                })
                .collect()
        };
        for mark in ["\u{feff}", ""] {
            let file = TextFile::decode([units(mark), units(text)].concat()).expect("text");
            assert_eq!(file.text(), text);
            let after = replace(&file, "𝄞", "x").expect("spliced");
            assert_eq!(
                after,
                [units(mark), units(&text.replace('𝄞', "x"))].concat()
            );
        }
    }
}

#[test]
fn binaries_are_told_from_text() {
    let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0".to_vec();
    assert!(TextFile::decode(elf).is_err());
    assert!(TextFile::decode((0..=255).cycle().take(4_000).collect()).is_err());
    assert!(TextFile::decode(b"\xff\xd8\xff\xe0abc\x01\x02".to_vec()).is_err());
    assert!(TextFile::decode(Vec::new()).is_ok());
    assert!(TextFile::decode(b"\x1b[31mred\x1b[0m\n".to_vec()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn bytes_outside_an_edit_never_change(
        before in "[ -~äöüß\n]{0,40}", old in "[ -~äöü]{1,10}", after in "[ -~äöüß\r\n]{0,40}",
        new in "[ -~äö]{0,12}", which in 0usize..5,
    ) {
        let text = format!("{before}{old}{after}");
        let latin = |text: &str| encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let bytes = match which {
            0 => text.clone().into_bytes(),
            1 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            2 => latin(&text),
            3 => [b"\xff\xfe".to_vec(), wide(&text)].concat(),
            _ => [text.as_bytes(), "äöü\u{20ac}€€".as_bytes(), b"\xff"].concat(),
        };
        let file = TextFile::decode(bytes.clone()).expect("text");
        let (start, end) = (before.len(), before.len() + old.len());
        // the guess may differ for a few Latin bytes; then offsets are others, bytes still kept
        prop_assume!(file.text().get(start..end) == Some(old.as_str()));
        let Ok(done) = file.splice(&[Splice { range: start..end, text: new.clone() }]) else {
            return Ok(()); // not encodable in what was guessed: refused, nothing written
        };
        let again = TextFile::decode(done.clone());
        let common = bytes.iter().zip(&done).take_while(|(a, b)| a == b).count();
        let width = if which == 3 { wide(&before).len() + 2 } else { 0 };
        prop_assert!(common >= width.min(done.len()));
        let tail = match which { 2 => latin(&after), 3 => wide(&after), _ => after.clone().into_bytes() };
        let end_of_done = if which == 4 { done.len() - "äöü\u{20ac}€€".len() - 1 } else { done.len() };
        prop_assert!(done[..end_of_done].ends_with(&tail));
        if which != 2 {
            let again = again.expect("still text");
            let expected = [before, new, after].concat();
            prop_assert!(again.text().starts_with(&expected));
        }
    }
}
