//! Figures for framing and decoding: many events in one chunk, one huge line, many small deltas.
//!
//! `cargo bench --bench sse`. Budgets: 20,000 events in one 1.3 MB chunk under 30 ms, a line of 2 MB
//! under 100 ms, 20,000 small deltas under 40 ms.

#![expect(
    clippy::expect_used,
    reason = "a bench that cannot feed its input must stop"
)]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dunlin::model::decode::{Decoder, Wire};
use dunlin::model::sse::Framing;

const EVENTS: usize = 20_000;

/// Events of about 65 bytes.
fn small_events() -> Vec<u8> {
    let mut body = String::new();
    for n in 0..EVENTS {
        write!(
            body,
            "event: tick\ndata: {{\"n\":{n:08},\"pad\":\"xxxxxxxxxxxxxxxx\"}}\n\n"
        )
        .expect("memory");
    }
    body.into_bytes()
}

fn count_frames(body: &[u8], chunk: usize) -> usize {
    let mut framing = Framing::default();
    let mut count = 0;
    for mut piece in body.chunks(chunk) {
        while framing.next(&mut piece).expect("small").is_some() {
            count += 1;
        }
    }
    count
}

fn count_deltas(wire: Wire, body: &[u8], chunk: usize) -> usize {
    let mut decoder = Decoder::new(wire);
    let mut count = 0;
    for piece in body.chunks(chunk) {
        count += decoder.feed(piece).deltas.len();
    }
    count + decoder.finish().deltas.len()
}

/// A stream of many small text deltas as the wire's own server writes it.
fn deltas(wire: Wire) -> Vec<u8> {
    let mut body = String::new();
    for n in 0..EVENTS {
        let event = match wire {
            Wire::Anthropic => format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{{\"type\":\"text_delta\",\"text\":\" w{n}\\n\"}}}}\n\n"
            ),
            Wire::OpenaiChat => format!(
                "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\
                 \"m\",\"system_fingerprint\":\"fp\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" \
                 w{n}\\n\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null}}\n\n"
            ),
            Wire::OpenaiResponses => format!(
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\
                 \"sequence_number\":{n},\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\
                 \"delta\":\" w{n}\\n\",\"logprobs\":[],\"obfuscation\":\"abcdefgh\"}}\n\n"
            ),
            Wire::Gemini => format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\" w{n}\\n\"}}],\"role\":\
                 \"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":9,\
                 \"candidatesTokenCount\":{n},\"totalTokenCount\":{n}}},\"modelVersion\":\"g\"}}\n\n"
            ),
        };
        body.push_str(&event);
    }
    body.into_bytes()
}

/// Tool arguments in small fragments, which take the slow path of the chat wire.
fn argument_deltas() -> Vec<u8> {
    let mut body = String::from(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":\
         {\"name\":\"write\",\"arguments\":\"{\\\"a\\\":\\\"\"}}]}}]}\n\n",
    );
    for n in 0..EVENTS {
        write!(
            body,
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":\
             {{\"arguments\":\" w{n}\"}}}}]}},\"finish_reason\":null}}]}}\n\n"
        )
        .expect("memory");
    }
    body.into_bytes()
}

fn benches(c: &mut Criterion) {
    let events = small_events();
    let mut group = c.benchmark_group("framing");
    group.sample_size(20);
    group.bench_function("20k events in one chunk", |b| {
        b.iter(|| assert_eq!(count_frames(black_box(&events), usize::MAX), EVENTS));
    });
    group.bench_function("20k events in 16 KiB chunks", |b| {
        b.iter(|| assert_eq!(count_frames(black_box(&events), 16 * 1024), EVENTS));
    });
    let line = [b"data: ".as_slice(), &vec![b'x'; 2_000_000], b"\n\n"].concat();
    for (name, chunk) in [("in one chunk", usize::MAX), ("in 1400-byte chunks", 1400)] {
        group.bench_function(format!("2 MB line {name}"), |b| {
            b.iter(|| assert_eq!(count_frames(black_box(&line), chunk), 1));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("decoding");
    group.sample_size(20);
    for (wire, name) in Wire::ALL {
        let body = deltas(wire);
        group.bench_function(format!("20k text deltas, {name}"), |b| {
            b.iter(|| assert!(count_deltas(wire, black_box(&body), 16 * 1024) >= EVENTS));
        });
    }
    let body = argument_deltas();
    group.bench_function("20k argument deltas, openai-chat", |b| {
        b.iter(|| assert!(count_deltas(Wire::OpenaiChat, black_box(&body), 16 * 1024) >= EVENTS));
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
