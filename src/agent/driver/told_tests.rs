//! Messages made by hand, for the tests of what the driver makes of a history.

use crate::protocol::{IdMint, Message, MessageId, Part, PartBody, Role, SessionId, Tokens};

/// A text as the user or the model says it.
pub(super) fn said(text: &str) -> PartBody {
    PartBody::Text {
        text: text.to_owned(),
        synthetic: false,
        ignored: false,
    }
}

/// Adds a message of one part.
pub(super) fn add(
    mint: &mut IdMint,
    (messages, parts): (&mut Vec<Message>, &mut Vec<Part>),
    (parent, role): (Option<MessageId>, Role),
    body: PartBody,
) -> MessageId {
    let id = mint.message(1);
    let session = SessionId::from_raw(1);
    messages.push(Message {
        id,
        session,
        parent,
        role,
        agent: "build".to_owned(),
        model: "p/m".parse().expect("a model"),
        summary: false,
        finish: None,
        error: None,
        tokens: Tokens::default(),
        cost: None,
        created: 1,
        completed: Some(1),
    });
    parts.push(Part {
        id: mint.part(1),
        message: id,
        session,
        start: 1,
        end: Some(1),
        body,
    });
    id
}
