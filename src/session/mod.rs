//! What was said, kept.
use crate::protocol::{Message, Part, PartId, SessionInfo};
/// temp
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Message(Message),
    Part(Part),
    Append {
        part: PartId,
        text: String,
    },
    Value {
        name: String,
        value: serde_json::Value,
    },
    Info(SessionInfo),
}
