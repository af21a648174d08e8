//! Vim's keys as tables: a text with `|` for the cursor, keys, what they make of it.

use proptest::prelude::*;

use super::*;

/// `|` is the cursor. Begins in normal mode.
fn started(text: &str) -> (Vim, Buffer) {
    let at = text.find('|').unwrap_or(0);
    let mut buffer = Buffer::default();
    buffer.insert(&text.replace('|', ""));
    buffer.move_to(at);
    let vim = Vim {
        mode: Mode::Normal,
        ..Vim::default()
    };
    (vim, buffer)
}

/// Presses keys; in insert mode they are typed. `⎋` is Escape, `®` is ctrl+r.
fn press(vim: &mut Vim, buffer: &mut Buffer, keys: &str) {
    for c in keys.chars() {
        let key = match c {
            '⎋' => Key::plain(Code::Esc),
            '®' => Key::new(Code::Char('r'), Mods::CTRL),
            '\n' => Key::plain(Code::Enter),
            c => Key::plain(Code::Char(c)),
        };
        let typed = vim.mode() == Mode::Insert;
        if vim.key(key, buffer) == Answer::Pass && typed && c != '⎋' {
            buffer.insert(c.encode_utf8(&mut [0; 4]));
        }
    }
}

fn after(text: &str, keys: &str) -> String {
    let (mut vim, mut buffer) = started(text);
    press(&mut vim, &mut buffer, keys);
    let (before, rest) = buffer.text().split_at(buffer.cursor());
    format!("{before}|{rest}")
}

#[track_caller]
fn table(rows: &[(&str, &str, &str)]) {
    for (text, keys, wanted) in rows {
        assert_eq!(&after(text, keys), wanted, "{text:?} after {keys:?}");
    }
}

#[test]
fn motions_go_where_vim_goes() {
    table(&[
        ("|one two", "l", "o|ne two"),
        ("one tw|o", "l", "one tw|o"),
        ("|one", "h", "|one"),
        ("|one two.three", "w", "one |two.three"),
        ("one |two.three", "w", "one two|.three"),
        ("one |two.three x", "W", "one two.three |x"),
        ("|one\n\n two", "w", "one\n|\n two"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("one two.thr|ee", "b", "one two.|three"),
        ("one two.thr|ee", "B", "one |two.three"),
        ("one tw|o", "ge", "on|e two"),
        ("  |  one", "^", "    |one"),
        ("one t|wo", "0", "|one two"),
        ("|one two", "$", "one tw|o"),
        ("|one\ntwo\nthree", "2$", "one\ntw|o\nthree"),
        ("one\ntwo\nth|ree", "gg", "|one\ntwo\nthree"),
        ("|one\ntwo\n  three", "G", "one\ntwo\n  |three"),
        ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
        ("|one\ntwo", "j", "one\n|two"),
        ("one lon|g\nx\nlonger li", "jj", "one long\nx\nlonger |li"),
        ("|a\nbb\nccc", "$jj", "a\nbb\ncc|c"),
        ("|one two three", "3w", "one two thre|e"),
        ("|f(a, b)", "f,", "f(a|, b)"),
        ("|f(a, b)", "t,", "f(|a, b)"),
        ("f(a, b|)", "F(", "f|(a, b)"),
        ("f(a, b|)", "T(", "f(|a, b)"),
        ("|a,b,c,d", "f,;;", "a,b,c|,d"),
        ("|a,b,c,d", "f,;;,", "a,b|,c,d"),
        ("|a,b,c,d", "t,;", "a,|b,c,d"),
        ("|a,b,c,d", "2f,", "a,b|,c,d"),
        ("|f(a[1], b)", "%", "f(a[1], b|)"),
        ("f(a[1], b|)", "%", "f|(a[1], b)"),
        ("|one\ntwo\n\nthree", "}", "one\ntwo\n|\nthree"),
        ("one\n\ntwo\nth|ree", "{", "one\n|\ntwo\nthree"),
    ]);
}

#[test]
fn operators_take_what_vim_takes() {
    table(&[
        ("|one two", "x", "|ne two"),
        ("|one two", "3x", "| two"),
        ("on|e two", "X", "o|e two"),
        ("|one two three", "dw", "|two three"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("one| two", "de", "on|e"),
        ("one tw|o", "db", "one |o"),
        ("one |two three", "D", "one| "),
        ("one |two three", "d0", "|two three"),
        ("|one\ntwo\nthree", "dd", "|two\nthree"),
        ("one\n|two\nthree", "2dd", "|one"),
        ("one\ntwo\n|three", "dd", "one\n|two"),
        ("|only", "dd", "|"),
        ("|one\ntwo\nthree", "dj", "|three"),
        ("one\ntwo\nth|ree", "dgg", "|"),
        ("|f(a, b)", "dt,", "|, b)"),
        ("|f(a, b)", "df,", "| b)"),
        ("f(a, b|)", "dF,", "f(a|)"),
        ("|f(a, b) + 1", "d%", "| + 1"),
        ("f|(a, b) + 1", "d%", "f| + 1"),
        ("|one two", "dzz", "|one two"),
        ("|one two", "dfz", "|one two"),
        ("|One", "~", "o|ne"),
        ("|one two", "gUw", "|ONE two"),
        ("|ONE two", "guu", "|one two"),
        ("|one", "rx", "|xne"),
        ("|one", "2rx", "x|xe"),
        ("o|ne", "5rx", "o|ne"),
        ("|one\n  two", "J", "one| two"),
        ("|one\ntwo\nthree", "3J", "one two| three"),
    ]);
}

#[test]
fn changing_and_inserting_end_with_escape() {
    table(&[
        ("|one two", "cwsix⎋", "si|x two"),
        ("|one two three", "c2wx⎋", "|x three"),
        ("one |two", "Cx⎋", "one |x"),
        ("|one two", "sX⎋", "|Xne two"),
        ("one\n|two\nthree", "ccx⎋", "one\n|x\nthree"),
        ("one\n  |two", "Sx⎋", "one\n|x"),
        ("o|ne", "ix⎋", "o|xne"),
        ("o|ne", "ax⎋", "on|xe"),
        ("  o|ne", "Ix⎋", "  |xone"),
        ("|one", "Ax⎋", "one|x"),
        ("|one\ntwo", "ox⎋", "one\n|x\ntwo"),
        ("one\n|two", "Ox⎋", "one\n|x\ntwo"),
        ("|", "ione⎋", "on|e"),
        ("|x", "3iab⎋", "ababa|bx"),
        ("|x", "2oy⎋", "x\ny\n|y"),
    ]);
}

#[test]
fn what_was_taken_is_put_back() {
    table(&[
        ("|one two", "dwp", "tone| wo"),
        ("|one two", "dwP", "one| two"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("one\n|two", "ddP", "|two\none"),
        ("|one\ntwo", "yyp", "one\n|one\ntwo"),
        ("|one", "yy2p", "one\n|one\none"),
        ("|ab", "xp", "b|a"),
        ("|one two", "yw$p", "one twoone| "),
        ("|one", "yiwP", "on|eone"),
    ]);
}

#[test]
fn text_objects_are_what_is_inside_or_around() {
    table(&[
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("one two.th|ree x", "diW", "one | x"),
        ("say \"he|llo there\" now", "di\"", "say \"|\" now"),
        ("say \"he|llo there\" now", "da\"", "say |now"),
        ("|say \"hello\" now", "ci\"x⎋", "say \"|x\" now"),
        ("f(a, |g(b), c)", "di(", "f(|)"),
        ("f(a, g(|b), c)", "dib", "f(a, g(|), c)"),
        ("f(a, g(|b), c)", "d2ib", "f(|)"),
        ("f(a|, b) x", "da)", "f| x"),
        ("{ |a }", "ci{b⎋", "{|b}"),
        ("[1, |2]", "di]", "[|]"),
        ("it's 'o|ne' x", "di`", "it's 'o|ne' x"),
        ("a\n\none\ntw|o\n\nb", "dip", "a\n\n|\nb"),
        ("a\n\none\ntw|o\n\nb", "dap", "a\n\n|b"),
    ]);
}

#[test]
fn dot_does_the_last_change_again() {
    table(&[
        ("|one two three", "dw.", "|three"),
        ("|one two three four", "dw2.", "|four"),
        ("|one two", "cwx⎋w.", "x |x"),
        ("|a\nb\nc", "Ax⎋j.j.", "ax\nbx\nc|x"),
        ("|abc", "x..", "|"),
        ("|a b c", "rxw.", "x |x c"),
        ("|a\nb\nc\nd", "J.", "a b| c\nd"),
        ("|x", "3iab⎋.", "ababaababa|bbx"),
    ]);
}

#[test]
fn undo_takes_a_whole_command_back_and_redo_brings_it() {
    table(&[
        ("|one two three", "dwdwuu", "|one two three"),
        ("|one two three", "dwu®", "|two three"),
        ("|one", "ihello there ⎋u", "|one"),
        ("|one\ntwo", "cwa b c⎋u", "|one\ntwo"),
        ("|a\nb\nc", "3Ju", "|a\nb\nc"),
        ("|a", "xxxu", "|a"),
    ]);
}

#[test]
fn a_selection_is_extended_and_changed() {
    table(&[
        ("|one two", "vld", "|e two"),
        ("|one two", "ved", "| two"),
        ("one |two", "vbd", "|wo"),
        ("|one\ntwo\nthree", "Vjd", "|three"),
        ("one t|wo x", "viwd", "one | x"),
        ("f(a, |b)", "vi(cz⎋", "f(|z)"),
        ("|one two", "veU", "|ONE two"),
        ("|one two", "vey$p", "one twoon|e"),
        ("|one two", "vewvp", "one |two"),
        ("|abc", "vl⎋x", "a|c"),
        ("|abcd", "vllohx", "|d"),
        ("|one two", "verx", "|xxx two"),
    ]);
    let (mut vim, mut buffer) = started("|one two");
    press(&mut vim, &mut buffer, "ve");
    assert_eq!(vim.selection(&buffer), Some(0..3));
    press(&mut vim, &mut buffer, "V");
    assert_eq!(
        (vim.selection(&buffer), vim.word()),
        (Some(0..7), "visual line")
    );
}

#[test]
fn wide_and_joined_characters_are_one_step() {
    table(&[
        ("|日本語 テスト", "w", "日本語 |テスト"),
        ("|日本テスト", "w", "日本|テスト"),
        ("|👨‍👩‍👧x", "x", "|x"),
        ("|e\u{301}a", "x", "|a"),
        ("|日本", "rx", "|x本"),
        ("日|本", "X", "|本"),
    ]);
}

#[test]
fn what_is_not_vims_passes() {
    let (mut vim, mut buffer) = started("|one");
    let keys = [
        ("enter", Answer::Pass),
        ("ctrl+s", Answer::Pass),
        ("esc", Answer::Pass),
        ("k", Answer::History(true)),
        ("j", Answer::History(false)),
        ("d", Answer::Done),
        ("esc", Answer::Done),
    ];
    for (name, wanted) in keys {
        let key: Key = name.parse().expect("a key");
        assert_eq!(vim.key(key, &mut buffer), wanted, "{name}");
    }
    press(&mut vim, &mut buffer, "dd");
    let slash = Key::plain(Code::Char('/'));
    assert_eq!(vim.key(slash, &mut buffer), Answer::Pass);
    assert_eq!(vim.mode(), Mode::Insert, "a command can be typed at once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_keys_leave_a_valid_buffer_and_all_of_it_can_be_undone(
        keys in "[hjklwWbeEB0^$gGfFtT;,xXDCdcypPuiaIAoOvVrJ~.%{}\"()3 n⎋®é日]{0,60}",
        text in "[ab .,()\"\n日é]{0,30}",
    ) {
        let (mut vim, mut buffer) = started("");
        vim.mode = Mode::Insert;
        buffer.insert(&text);
        press(&mut vim, &mut buffer, "⎋");
        press(&mut vim, &mut buffer, &keys);
        let at = buffer.cursor();
        prop_assert!(buffer.text().is_char_boundary(at));
        if let Some(selected) = vim.selection(&buffer) {
            prop_assert!(buffer.text().get(selected).is_some());
        }
        press(&mut vim, &mut buffer, "⎋⎋⎋");
        for _ in 0..2_000 {
            if buffer.is_empty() {
                break;
            }
            buffer.undo();
        }
        prop_assert_eq!(buffer.text(), "");
    }
}
