//! Single behaviours: what goes back to whom, files, unfinished turns, limits, effort.

use super::golden::conversation;
use super::*;

#[test]
fn reasoning_goes_back_only_to_the_model_that_made_it() {
    let thinking = json!({"wire": "anthropic", "type": "thinking", "signature": "sig"});
    let mut request = request("m", conversation(thinking, None));
    request.model = model("other");
    let sent = body(&request, &Quirks::plain(Wire::Anthropic));
    assert!(!String::from_utf8_lossy(&sent).contains("\"thinking\":"));
}

#[test]
fn a_call_of_another_model_gets_geminis_stand_in_signature() {
    let history = vec![
        said(false, "claude", vec![text("go")]),
        said(true, "claude", vec![call("a", "read"), call("b", "read")]),
    ];
    let got = encode(
        &request("gemini-3-pro-preview", history),
        &Quirks::plain(Wire::Gemini),
    );
    let parts = &got["contents"][1]["parts"];
    assert_eq!(
        parts[0]["thoughtSignature"],
        "skip_thought_signature_validator"
    );
    assert!(parts[1].get("thoughtSignature").is_none());
}

#[test]
fn files_that_a_model_cannot_take_become_one_line() {
    let pdf = Block::File {
        mime: "application/pdf".to_owned(),
        name: "a.pdf".to_owned(),
        bytes: Bytes::from_static(b"%PDF"),
    };
    let got = encode(
        &request("m", vec![said(false, "m", vec![text("see"), pdf, png()])]),
        &Quirks::plain(Wire::OpenaiChat),
    );
    let content = got["messages"][1]["content"].as_str().expect("plain text");
    assert!(
        content.contains("a.pdf (application/pdf) was left out"),
        "{content}"
    );
    assert!(
        content.contains("shot.png (image/png) was left out"),
        "{content}"
    );
}

#[test]
fn pictures_of_results_follow_in_a_user_message_on_chat() {
    let mut shot = result("c", "read", "the file");
    if let Block::Result { files, .. } = &mut shot {
        files.push(png());
    }
    let history = vec![
        said(false, "m", vec![text("go")]),
        said(true, "m", vec![call("c", "read")]),
        said(false, "m", vec![shot]),
    ];
    let quirks = Quirks {
        images: true,
        ..Quirks::plain(Wire::OpenaiChat)
    };
    let got = encode(&request("m", history), &quirks);
    assert_eq!(got["messages"][3]["role"], "tool");
    assert_eq!(got["messages"][4]["content"][0]["type"], "image_url");
}

#[test]
fn a_thinking_budget_is_left_out_where_the_turn_began_without_thinking() {
    let mut ask = request(
        "claude-sonnet-4-5",
        vec![
            said(false, "x", vec![text("go")]),
            said(true, "x", vec![call("c", "read")]),
            said(false, "x", vec![result("c", "read", "1")]),
        ],
    );
    ask.effort = Some(Effort::Medium);
    let quirks = Quirks::plain(Wire::Anthropic);
    assert!(encode(&ask, &quirks).get("thinking").is_none());
    ask.messages.truncate(1);
    assert_eq!(encode(&ask, &quirks)["thinking"]["type"], "enabled");
}

#[test]
fn an_unfinished_turn_is_sent_back_to_go_on() {
    // `pause_turn`: the history ends with the assistant
    for quirks in endpoints() {
        let history = vec![
            said(false, "m", vec![text("go")]),
            said(true, "m", vec![text("half")]),
        ];
        let got = encode(&request("m", history), &quirks);
        validate(&got, &quirks).expect("valid");
        assert!(got.to_string().contains("Continue."));
    }
}

#[test]
fn a_turn_paused_in_a_server_tool_is_sent_back_as_it_is() {
    let server = json!({"type": "server_tool_use", "id": "s", "name": "web", "input": {}});
    let opaque = Block::Reasoning {
        text: String::new(),
        provider: Some(json!({"wire": "anthropic", "type": "opaque", "block": server})),
    };
    let history = vec![
        said(false, "m", vec![text("go")]),
        said(true, "m", vec![opaque]),
    ];
    let got = encode(&request("m", history), &Quirks::plain(Wire::Anthropic));
    assert_eq!(got["messages"][1]["content"], json!([server]));
    assert_eq!(got["messages"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_request_never_asks_for_more_output_than_the_model_has() {
    for quirks in endpoints() {
        let quirks = Quirks {
            max_output: 4_321,
            ..quirks
        };
        let got = encode(&request("m", Vec::new()), &quirks).to_string();
        assert!(got.contains("4321") && !got.contains("8000"), "{got}");
    }
}

#[test]
fn efforts_are_said_in_each_familys_words() {
    use super::effort::{claude, gemini, openai};
    let all = |name: &str| -> Vec<Option<&str>> {
        Effort::ALL.iter().map(|(e, _)| openai(name, *e)).collect()
    };
    let words = |list: [&'static str; 6]| -> Vec<Option<&str>> { list.map(Some).to_vec() };
    assert_eq!(all("gpt-4.1"), vec![None; 6]);
    assert_eq!(
        all("gpt-5"),
        words(["minimal", "minimal", "low", "medium", "high", "high"])
    );
    assert_eq!(
        all("gpt-5.1"),
        words(["none", "low", "low", "medium", "high", "high"])
    );
    assert_eq!(
        all("gpt-5.2-2025-12-11"),
        words(["none", "low", "low", "medium", "high", "xhigh"])
    );
    assert_eq!(
        all("gpt-5.3-codex"),
        words(["low", "low", "low", "medium", "high", "xhigh"])
    );
    assert_eq!(
        all("o3-mini"),
        words(["low", "low", "low", "medium", "high", "high"])
    );
    assert_eq!(all("gpt-5-pro"), words(["high"; 6]));

    let opus = claude("claude-opus-4-7", Some(Effort::High), 8_000);
    assert_eq!(
        opus.thinking,
        Some(json!({"type": "adaptive", "display": "summarized"}))
    );
    assert_eq!(opus.effort, Some("high"));
    assert_eq!(
        claude("claude-opus-4-7", Some(Effort::None), 8_000).thinking,
        None
    );
    assert_eq!(
        claude("claude-haiku-4-5-20251001", Some(Effort::High), 8_000).thinking,
        Some(json!({"type": "enabled", "budget_tokens": 6_976}))
    );
    assert_eq!(
        claude("claude-fable-5", Some(Effort::None), 8_000).effort,
        Some("low")
    );
    assert_eq!(claude("claude-haiku-4-5", None, 8_000).thinking, None);

    assert_eq!(
        gemini("gemini-2.5-flash", Some(Effort::None), true),
        Some(json!({"includeThoughts": false, "thinkingBudget": 0}))
    );
    assert_eq!(
        gemini("gemini-3.1-pro-preview", Some(Effort::Medium), true),
        Some(json!({"includeThoughts": true, "thinkingLevel": "medium"}))
    );
    assert_eq!(gemini("gemma-4-31b-it", Some(Effort::High), true), None);
}
