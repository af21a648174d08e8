//! Secrets in every disguise that was thought of, and ordinary text that only looks like one.

use super::*;

#[test]
fn keys_are_found_by_their_shape() {
    let redactor = Redactor::with_values([]);
    // put together here, so that no scanner takes this file for a leak
    let key = format!("key {}-{}-{}!", "sk", "ant", "api03_abcdefghijklmnop");
    assert_eq!(redactor.text(&key), "key [redacted]!");
    for (text, clean) in [
        (
            "OPENAI_API_KEY=abcdEFGH12345678",
            "OPENAI_API_KEY=[redacted]",
        ),
        (
            "\"api_key\": \"abcdEFGH12345678\"",
            "\"api_key\": \"[redacted]\"",
        ),
        (
            "Authorization: Bearer abcdefghijklmnopqrst",
            "Authorization: Bearer [redacted]",
        ),
        (
            "https://me:hunter2@example.org/x",
            "https://me:[redacted]@example.org/x",
        ),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
            "[redacted]\nrest",
        ),
    ] {
        assert_eq!(redactor.text(text), clean);
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    let redactor = Redactor::with_values([]);
    for text in [
        "the secret of good code is naming",
        "let token = lexer.next_token();",
        "https://example.org:8080/path@x",
        "task-based, risk-free, sk-1",
        "password: see below",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "msg_018bcfe568007000800000000000000a",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn values_of_key_variables_are_found_wherever_they_stand() {
    let variables = [
        ("ACME_API_KEY", "plain-words-key"),
        ("PATH", "/usr/bin:/bin"),
        ("EDITOR_KEY", "short"),
    ];
    let redactor =
        Redactor::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(
        redactor.text("echo plain-words-key /usr/bin:/bin short"),
        "echo [redacted] /usr/bin:/bin short"
    );
    let mut value = serde_json::json!({"a": ["x plain-words-key"], "b": 1});
    redactor.json(&mut value);
    assert_eq!(value, serde_json::json!({"a": ["x [redacted]"], "b": 1}));
}

/// Put together here, so that no scanner takes this file for a leak.
fn key(parts: &[&str]) -> String {
    parts.concat()
}

/// Keys as their makers give them out; none of them was ever valid.
fn known_shapes() -> Vec<String> {
    let tail = "abcDEF0123456789ghiJKL";
    [
        &["sk-", "proj-"][..],
        &["sk-", "ant-api03-"],
        &["gh", "p_"],
        &["gh", "o_"],
        &["github", "_pat_11AA"],
        &["xo", "xb-1234-5678-"],
        &["xa", "pp-1-A-"],
        &["AI", "zaSyA-0123456789"],
        &["gl", "pat-"],
        &["np", "m_"],
        &["h", "f_"],
        &["sk", "_live_"],
    ]
    .iter()
    .map(|parts| format!("{}{tail}", key(parts)))
    .collect()
}

#[test]
fn a_key_is_found_whatever_stands_around_it() {
    let redactor = Redactor::with_values([]);
    for key in known_shapes() {
        for text in [
            key.clone(),
            format!("x={key};"),
            format!("'{key}'"),
            format!("({key})"),
            format!("{{\"a\":\"{key}\"}}"),
            // the end of an escape in text that is quoted once more
            format!("line\\n{key}\\nline"),
            format!("tab\\t{key}"),
            format!("\u{1b}[31m{key}\u{1b}[0m"),
            format!("https://host/path?key={key}&x=1"),
            format!("- {key}\n"),
        ] {
            let clean = redactor.text(&text);
            assert!(!clean.contains("ghiJKL"), "{text:?} became {clean:?}");
            assert!(clean.contains(REDACTED), "{text:?} became {clean:?}");
        }
    }
}

#[test]
fn a_key_that_is_broken_over_lines_goes_whole_and_the_text_after_it_stays() {
    let redactor = Redactor::with_values([]);
    let start = key(&["sk-", "ant-api03-abcdefghijklmnop"]);
    let text = format!("key: {start}\nqrstuv0123WXYZ_-89\nThe next line stays here.\n");
    assert_eq!(
        redactor.text(&text),
        "key: [redacted]\n\nThe next line stays here.\n"
    );
    let text = format!("{start}\nanordinaryword\n");
    assert_eq!(redactor.text(&text), "[redacted]\nanordinaryword\n");
}

#[test]
fn a_known_value_is_found_in_every_disguise() {
    let value = "p\"a\\ss/w+rd=9äx";
    let redactor = Redactor::with_values([value.to_owned()]);
    let json = serde_json::to_string(value).expect("json");
    let twice = serde_json::to_string(&json).expect("json");
    let broken = "p\"a\\ss/\nw+rd=9äx";
    let folded = "p\"a\\ss/\\\n    w+rd=9äx";
    let percent = "p%22a%5Css%2Fw%2Brd%3D9%C3%A4x";
    let unicode = "p\\u0022a\\u005css/w+rd=9\\u00e4x";
    for text in [value, &json, &twice, broken, folded, percent, unicode] {
        let text = format!("before {text} after");
        let clean = redactor.text(&text);
        let left = clean.replace(REDACTED, "").replace(['"', '\\'], "");
        assert_eq!(left, "before  after", "{text}");
    }
}

#[test]
fn passwords_in_addresses_headers_and_files_of_settings_are_found() {
    let redactor = Redactor::with_values([]);
    for (text, secret) in [
        ("postgres://app:s3cr3t@db.example.org:5432/x", "s3cr3t"),
        ("redis://:hunter2@localhost", "hunter2"),
        ("amqp://me:p@ss:word@host/", "ss:word"),
        ("Authorization: Bearer abcdefghij0123456789", "abcdefghij"),
        ("authorization: token 0123456789abcdef0123", "0123456789"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "dXNlcj"),
        ("\"password\": \"hunter2\"", "hunter2"),
        ("{\\\"password\\\":\\\"hunter2\\\"}", "hunter2"),
        ("'db_password': 'hunter2!'", "hunter2"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
            "wJalr",
        ),
        ("AccountKey=abcdefghijklmnopqrstuvwx==;", "abcdefgh"),
        ("refresh_token: 1//0abcdefghijklmnop", "abcdefgh"),
    ] {
        let clean = redactor.text(text);
        assert!(!clean.contains(secret), "{text} became {clean}");
    }
}

#[test]
fn private_keys_go_whole_even_numbered_escaped_or_cut_off() {
    let redactor = Redactor::with_values([]);
    let kind = |name: &str| {
        (
            format!("-----BEGIN {name}-----"),
            format!("-----END {name}-----"),
        )
    };
    for name in [
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "EC PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
        "ENCRYPTED PRIVATE KEY",
    ] {
        let (begin, end) = kind(name);
        for text in [
            format!("{begin}\nb3BlbnNzaC1rZXk\n{end}\nafter"),
            format!("    1\t{begin}\n    2\tb3BlbnNzaC1rZXk\n    3\t{end}\nafter"),
            format!("{begin}\\nb3BlbnNzaC1rZXk\\n{end}\\nafter"),
            format!("{begin}\nb3BlbnNzaC1rZXk\n"),
        ] {
            let clean = redactor.text(&text);
            assert!(!clean.contains("b3Blbn"), "{text:?} became {clean:?}");
            assert_eq!(clean.contains("after"), text.contains("after"));
        }
    }
    let (begin, end) = kind("PUBLIC KEY");
    let public = format!("{begin}\nabc\n{end}");
    assert_eq!(redactor.text(&public), public);
}

#[test]
fn names_of_key_variables_are_known_and_paths_are_no_keys() {
    for name in [
        "OPENAI_API_KEY",
        "API_KEY",
        "GITHUB_TOKEN",
        "TOKEN",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SENTRY_DSN",
        "SECRET_KEY_BASE",
        "API_KEY_PROD",
        "OPENAI_KEY2",
        "TOKEN_FOO",
        "SLACK_WEBHOOK_URL",
        "NPM_CONFIG__AUTH",
        "aws_secret_access_key",
    ] {
        assert!(names_a_secret(name), "{name}");
    }
    for name in [
        "PWD",
        "OLDPWD",
        "PATH",
        "KEYBOARD",
        "FOO_KEY_ID",
        "GOOGLE_APPLICATION_CREDENTIALS_FILE",
        "TOKEN_URL",
        "SSH_AUTH_SOCK",
        "AUTH_TYPE",
        "TOKENIZERS_PARALLELISM",
        "EDITOR",
    ] {
        assert!(!names_a_secret(name), "{name}");
    }
    let redactor = Redactor::with_values(["/home/me/keys.json".to_owned()]);
    assert_eq!(redactor.text("/home/me/keys.json"), "/home/me/keys.json");
    let redactor = Redactor::with_values(["/abc+def/ghi=".to_owned()]);
    assert_eq!(redactor.text("x /abc+def/ghi= y"), "x [redacted] y");
}

#[test]
fn names_of_fields_are_searched_too() {
    let redactor = Redactor::with_values(["a-long-secret".to_owned()]);
    let mut value = serde_json::json!({"a-long-secret": {"n": "a-long-secret"}});
    redactor.json(&mut value);
    assert_eq!(
        value,
        serde_json::json!({"[redacted]": {"n": "[redacted]"}})
    );
}

#[test]
fn known_values_are_found_in_every_common_encoding() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let key = "Zq81-kkPw/xT55+ab~Ux";
    let redactor = Redactor::with_values([key.to_owned()]);
    let (begin, rest) = key.split_at(9);
    let each = |of: &dyn Fn(char) -> String| key.chars().map(of).collect::<String>();
    let mut disguises = vec![
        each(&|c| format!("\\u{:04x}", u32::from(c))),
        each(&|c| format!("%{:02x}", u32::from(c))),
        each(&|c| format!("&#{};", u32::from(c))),
        each(&|c| format!("&#x{:X};", u32::from(c))),
        each(&|c| format!("{:02X}", u32::from(c))),
        format!("{begin}\n+{rest}"),
        format!("{begin}\u{1b}[0m{rest}"),
    ];
    for around in ["", "a", "ab"] {
        let text = format!("{around}{key}{around}");
        disguises.push(STANDARD.encode(&text));
        disguises.push(URL_SAFE.encode(&text));
    }
    for text in disguises {
        let said = redactor.text(&text).into_owned();
        assert!(said.contains(REDACTED), "{text} passes as {said}");
    }
    let plain = "Nothing is hidden here, c2VjcmV0IG9mIG5vYm9keQ== 5a71383 %41%42 &#65;";
    assert_eq!(redactor.text(plain), plain);
}

#[test]
fn values_of_any_length_are_found_whole_and_many_of_them_cost_little() {
    let letters = |seed: usize, count: usize| -> String {
        let set = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+";
        let mut state = seed as u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            char::from(set[(state >> 40) as usize % set.len()])
        };
        (0..count).map(|_| next()).collect()
    };
    let long = letters(1, 3_000);
    let json = format!(
        "{{\"type\": \"account\", \"text\": \"{}\"}}",
        letters(2, 1_500)
    );
    let middle = letters(3, 127);
    let many = (10..310).map(|seed| letters(seed, 60));
    let all = [long.clone(), json.clone(), middle.clone()].into_iter();
    let redactor = Redactor::with_values(all.chain(many));
    for value in [&long, &json, &middle] {
        let text = format!("see {value} end");
        assert_eq!(redactor.text(&text), "see [redacted] end");
        let quoted = serde_json::to_string(&text).expect("json");
        assert_eq!(redactor.text(&quoted), "\"see [redacted] end\"");
    }
    assert_eq!(redactor.text(&letters(77, 60)), "[redacted]");
    // patterns are made only for what was met
    let made = redactor.values.made();
    assert!((50..100).contains(&made), "{made} patterns");
}
