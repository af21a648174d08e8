//! What is kept between requests: byte prefixes, cache marks, what a long history costs.

use super::*;

/// A conversation as the loop makes it, `steps` long.
fn long_conversation(steps: usize) -> Vec<Arc<RequestMessage>> {
    let mut messages = vec![said(false, "m", vec![text("go")])];
    for step in 0..steps {
        let id = format!("call{step}");
        messages.push(said(true, "m", vec![text("next"), call(&id, "read")]));
        let mut blocks = vec![result(&id, "read", &"line of output\n".repeat(40))];
        if step % 7 == 3 {
            blocks.push(text("guidance"));
        }
        messages.push(said(false, "m", blocks));
        if step % 11 == 5 {
            messages.push(said(true, "m", vec![text("done")]));
            messages.push(said(false, "m", vec![text("another task")]));
        }
    }
    messages
}

#[test]
fn consecutive_requests_are_byte_prefixes() {
    let messages = long_conversation(40);
    for quirks in endpoints() {
        let encoder = Encoder::new(quirks.clone());
        let mut before = Bytes::new();
        for end in (1..=messages.len()).filter(|end| !messages[end - 1].assistant) {
            let form = encoder.prefix_form(&request("m", messages[..end].to_vec()));
            assert!(form.starts_with(&before), "{} at {end}", quirks.wire);
            before = form;
        }
    }
}

#[test]
fn the_cache_marks_are_on_the_last_two_user_messages_only() {
    let got = encode(
        &request("m", long_conversation(5)),
        &Quirks::plain(Wire::Anthropic),
    );
    let messages = got["messages"].as_array().expect("messages");
    let marked: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, m)| m.to_string().contains("cache_control"))
        .map(|(i, _)| i)
        .collect();
    assert_eq!(marked, [messages.len() - 3, messages.len() - 1]);
}

#[test]
#[ignore = "a measurement: cargo test --lib a_long_history_costs -- --ignored --nocapture"]
#[expect(clippy::print_stderr, reason = "it prints what it measures")]
fn a_long_history_costs_a_copy() {
    let messages = long_conversation(1_000);
    for quirks in endpoints() {
        let encoder = Encoder::new(quirks.clone());
        let before = request("m", messages[..messages.len() - 2].to_vec());
        let start = std::time::Instant::now();
        let size = encoder.body(&before).len();
        let first = start.elapsed();
        let now = request("m", messages.clone());
        let start = std::time::Instant::now();
        encoder.body(&now);
        eprintln!(
            "{}: {size} bytes, first {first:?}, next {:?}",
            quirks.wire,
            start.elapsed()
        );
    }
}
