//! What holds for a decoder of any wire and any bytes; shared by the wire targets.

use dunlin::model::decode::{Decoder, Wire, decode_bytes};
use dunlin::model::delta::Delta;

/// Decodes the bytes whole and cut (the first byte says how) and checks what `Delta` promises.
pub fn check(wire: Wire, data: &[u8]) {
    let Some((cut, body)) = data.split_first() else {
        return;
    };
    let whole = decode_bytes(wire, body, None);
    assert_eq!(decode_bytes(wire, body, Some(usize::from(*cut) + 1)), whole);

    let mut decoder = Decoder::new(wire);
    let (mut finishes, mut faults) = (0, 0);
    let mut ended = std::collections::BTreeSet::new();
    for decoded in [decoder.feed(body), decoder.finish()] {
        for delta in decoded.deltas {
            match delta {
                Delta::Finish { .. } => finishes += 1,
                Delta::BlockEnd { block, .. } => assert!(ended.insert(block)),
                Delta::CallEnd { block, name, arguments, .. } => {
                    assert!(ended.insert(block));
                    assert!(arguments.is_err() || !name.is_empty());
                }
                Delta::Text { block, .. } | Delta::Reasoning { block, .. } => {
                    assert!(!ended.contains(&block));
                }
                _ => {}
            }
        }
        faults += usize::from(decoded.fault.is_some());
    }
    assert_eq!(finishes + faults, 1, "an answer ends once");
}
