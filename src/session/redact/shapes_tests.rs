//! Keys of many makers, as they give them out, and ordinary text that only looks like one.

use super::*;

const INSTEAD: &str = "[redacted]";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const ALL: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// So many letters of a set, chosen by a seed: no key that was ever valid.
fn letters(set: &str, count: usize, seed: &mut u64) -> String {
    let set = set.as_bytes();
    (0..count)
        .filter_map(|_| {
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            set.get((*seed >> 33) as usize % set.len())
                .map(|b| char::from(*b))
        })
        .collect()
}

/// `{a20}` stands for 20 letters and digits, `{h…}` for hexadecimal digits, `{u…}` for upper case and digits.
/// The bar is taken out: it keeps scanners from taking this file for a leak.
fn key(template: &str, seed: &mut u64) -> String {
    let mut out = String::new();
    for piece in template.replace('|', "").split('{') {
        let Some((what, rest)) = piece.split_once('}') else {
            out.push_str(piece);
            continue;
        };
        let (set, count) = what.split_at(1);
        let set = match set {
            "h" => HEX,
            "u" => UPPER,
            _ => ALL,
        };
        out.push_str(&letters(set, count.parse().expect("a count"), seed));
        out.push_str(rest);
    }
    out
}

const MAKERS: &[&str] = &[
    "sk|-proj-{a70}T3BlbkFJ{a70}",
    "sk|-{a20}T3BlbkFJ{a20}",
    "sk|-ant-api03-{a93}AA",
    "sk|-or-v1-{h64}",
    "AI|za{a35}",
    "gh|p_{a36}",
    "gh|o_{a36}",
    "github|_pat_{a22}_{a59}",
    "gl|pat-{a20}",
    "gl|rt-{a20}",
    "gl|dt-{a20}",
    "gl|ptt-{h40}",
    "gl|cbt-64_{a20}",
    "xo|xb-1234567-{a24}",
    "xa|pp-1-A{u10}-{h64}",
    "https://hooks.slack.com/services/T{u8}/B{u10}/{a24}",
    "AK|IA{u16}",
    "AB|SK{a109}=",
    "aws_secret_access_key = {a38}/+",
    "sk|_live_{a24}",
    "rk|_live_{a99}",
    "wh|sec_{a32}",
    "S|G.{a22}.{a43}",
    "S|K{h32}",
    "ke|y-{h32}",
    "np|m_{a36}",
    "py|pi-AgEIcHlwaS5vcmc{a80}",
    "dckr|_pat_{a27}",
    "dckr|_oat_{a32}",
    "dop|_v1_{h64}",
    "doo|_v1_{h64}",
    "h|f_{a34}",
    "da|pi{h32}",
    "da|pi{h32}-2",
    "HR|KU-AA{a58}",
    "AccountKey={a86}==",
    "lin|_api_{a40}",
    "nt|n_{a46}",
    "secret|_{a43}",
    "shp|at_{h32}",
    "shp|ca_{h32}",
    "sq0|atp-{a22}",
    "EA|AA{a60}",
    "1234567890:A|A{a33}",
    "M|T{a24}.{a6}.{a38}",
    "https://discord.com/api/webhooks/123456789012345678/{a68}",
    "gl|sa_{a32}_{h8}",
    "gl|c_{a80}",
    "NR|AK-{u27}",
    "sn|trys_{a100}",
    "sn|tryu_{h64}",
    "hv|s.{a90}",
    "hv|b.{a140}",
    "{a14}.at|lasv1.{a64}",
    "sb|p_{h40}",
    "sb|_secret_{a31}",
    "pscale|_tkn_{a40}",
    "pscale|_pw_{a40}",
    "PM|AK-{h24}-{h34}",
    "AT|ATT3xFfGF0{a170}={u8}",
    "AT|CTT3xFfGN0{a170}={u8}",
    "AT|BB{a32}",
    "GO|CSPX-{a28}",
    "ya|29.a0{a120}",
    "1/|/0{a60}",
    "r|8_{a37}",
    "gs|k_{a52}",
    "xa|i-{a80}",
    "pp|lx-{a48}",
    "f|w_{a24}",
    "cs|k-{h48}",
    "nv|api-{a64}",
    "tg|p_v1_{a43}",
    "AGE-SECRET|-KEY-1{u58}",
    "fi|gd_{a40}",
    "pa|t{a14}.{h64}",
    "dp|.pt.{a43}",
    "pu|l-{h40}",
    "ruby|gems_{h48}",
    "ci|o{a32}",
    "ts|key-auth-{a11}CNTRL-{a32}",
    "FlyV1 fm|2_{a180}",
    "nf|p_{a36}",
    "ls|v2_pt_{h32}_{h10}",
    "tv|ly-{a32}",
    "f|c-{h32}",
    "s|k_{h48}",
    "pc|sk_{a6}_{a60}",
    "ji|na_{a60}",
    "bk|ua_{h40}",
    "CC|IPAT_{a22}_{h40}",
    "sg|p_{h16}_{h40}",
    "dt|0c01.{u24}.{u64}",
    "pat|-na1-{h8}-{h4}-{h4}-{h4}-{h12}",
    "LT|AI{a20}",
    "xkey|sib-{h64}-{a16}",
    "sk|.eyJ{a80}.{a22}",
    "sha|256~{a43}",
    "ey|J{a20}.eyJ{a20}.{a43}",
    "postgres://joe:{a14}@db.example.com/x",
    "mongodb+srv://joe:{a20}@c.example.net",
    "redis://:{a20}@h:6379/0",
    "Authorization: Bearer {a40}",
    "Authorization: Basic {a30}==",
    "vercel|_blob_rw_{a16}_{a30}",
    "dd|p_{a36}",
    "r|e_{a8}_{a24}",
    "sk|_test_{a40}",
    "password: {a16}",
    "x-api-key: {a32}",
    "machine api.example.com login joe password {a16}",
    "curl -u joe:{a16} https://example.com",
    "curl -s --user 'joe:{a16}' https://example.com",
    "client_secret={a40}",
    "Set-Cookie: session={a50}",
    "Cookie: a={a30}; b={a30}\n",
    "//registry.example.org/:_authToken={a36}",
    "//registry.example.com/:_auth={a40}",
    "{\"auths\":{\"https://index.example.io/v1/\":{\"auth\":\"{a36}==\"}}}",
    "https://x.blob.example.net/c?sv=2024-01-01&sig={a40}%2F{a6}%3D",
    "AWS_SESSION_TOKEN={a300}",
    "\"private_key_id\": \"{h40}\"",
    "token: {a64}",
    "DB_PASSWORD=correcthorsebattery",
    "csrf_token={a40}",
    "\"password\": \"correct-horse\"",
    "api_key='{a20}'",
];

#[test]
fn every_shape_is_a_valid_pattern() {
    let shapes = Shapes::new();
    assert_eq!(shapes.any.len(), shapes.all.len());
    for shape in &shapes.all {
        if let Err(error) = Regex::new(&shape.text) {
            panic!("{}: {error}", shape.text);
        }
    }
}

#[test]
fn keys_of_many_makers_are_found_whatever_their_letters() {
    let shapes = Shapes::new();
    let mut seed = 20_261_122;
    for template in MAKERS {
        for _ in 0..20 {
            let text = format!("see {} end", key(template, &mut seed));
            let clean = shapes.clean(&text, INSTEAD);
            assert!(clean.is_some(), "{template}: {text} stays");
            let clean = clean.unwrap_or_default();
            let run = |text: &str| {
                let runs = text.split(|c: char| !c.is_ascii_alphanumeric());
                runs.map(str::len).max().unwrap_or_default()
            };
            // nothing as long as a key's letters is left of what was said
            assert!(run(&clean) < 14, "{template}: {text} became {clean}");
            assert!(
                clean.starts_with("see ") && clean.ends_with(" end"),
                "{clean}"
            );
        }
    }
}

#[test]
fn words_code_and_names_are_left_alone() {
    let shapes = Shapes::new();
    for text in [
        "commit 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "the basic understanding_of_concepts here",
        "a token classification_model_for_text",
        "Basic authentication/authorization works",
        "api_key = os.environ[\"SOME_API_KEY\"]",
        "password = get_password_from_keyring()",
        "let secret = config.secret_manager_client",
        "apiKey: process.env.SOME_API_KEY",
        "access_token=self.access_token_provider",
        "private_key: PrivateKeyInfo::from_pem",
        "password: String::from_utf8_lossy",
        "\"password\": \"The password of the user\"",
        "\"api_key\": {\"type\": \"string\", \"description\": \"x\"}",
        "\"secret\": \"string\"",
        "see sk-learn-contrib-something-long",
        "risk-assessment-of-things-and-more",
        "npm-run-all-something-long-name",
        "fw-update-manager-service",
        "SG.ControllerClassName.MethodName",
        "pypi.python.org/packages/source",
        "npm.registry.example.com",
        "secret_santa_gift_exchange",
        "hf_transformers_integration_tests",
        "npm_package_dependencies_version",
        "npm_config_registry_default_url",
        "gsk-surface-paintable",
        "r8.full.mode.proguard.rules",
        "hvs.example.internal.company",
        "http://localhost:8080/a@b",
        "https://user@host.com/x",
        "http://example.com:80/path/user@2x.png",
        "https://cdn.example.net/npm/react@18.2.0/umd",
        "ssh://host:22/@scope/pkg",
        "token = tokenizer.next_token_here",
        "Token lifetimes_are_checked_here",
        "max_tokens: 128000000000",
        "monkey=abcdefghijklmnop",
        "primary_key=user_account_id",
        "secretName: my-kubernetes-secret",
        "sk-SK-locale-data-strings",
        "bearer authentication_required",
        "pk_live_reload_server_port",
        "keyboard=abcdefghijklmnopqrst",
        "const isPasswordValid = validatePassword",
        "Set the passphrase = your_passphrase_here",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA",
        "const API_KEY = \"SOME_API_KEY\"",
        "TOKEN=$(gh auth token)",
        "why does grep for \"-----BEGIN RSA PRIVATE KEY-----\" in my code find nothing?",
        "PASSWORD=${DB_PASSWORD}",
        "password: Option<String>",
        "API_KEY=your-api-key-here",
        "fn token(input: &str) -> Token<'_> {",
        "key-value-store-of-the-session",
        "class TokenStream(Iterator[Token]):",
    ] {
        assert_eq!(shapes.clean(text, INSTEAD), None, "{text}");
    }
}
