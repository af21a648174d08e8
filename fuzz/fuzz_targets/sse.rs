//! Any bytes as an event stream: cuts change nothing, and nothing is made up.
#![no_main]

use dunlin::model::sse::Framing;
use libfuzzer_sys::fuzz_target;

fn frames(body: &[u8], size: usize) -> Vec<(Option<String>, String)> {
    let mut framing = Framing::default();
    let mut all = Vec::new();
    for mut piece in body.chunks(size) {
        while let Some(frame) = framing.next(&mut piece).expect("small") {
            all.push((frame.event.map(str::to_owned), frame.data.to_owned()));
        }
    }
    all.extend(framing.last().map(|frame| (frame.event.map(str::to_owned), frame.data.to_owned())));
    all
}

fuzz_target!(|data: &[u8]| {
    let Some((size, body)) = data.split_first() else {
        return;
    };
    let whole = frames(body, body.len().max(1));
    assert_eq!(frames(body, usize::from(*size) + 1), whole);
    let bytes: usize = whole.iter().map(|(_, data)| data.len()).sum();
    // a byte that is no UTF-8 becomes three
    assert!(bytes <= body.len() * 3);
});
