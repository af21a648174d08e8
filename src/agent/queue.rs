//! Guidance and follow-ups: what was typed while the session was busy. Pure.

use crate::protocol::{
    FilePart, Millis, PromptInput, QueueEdit, QueueId, QueueItem, QueueKind, QueueState,
};

/// Adds an item; returns its place in its list, from 1.
pub fn push(
    state: &mut QueueState,
    id: QueueId,
    kind: QueueKind,
    input: PromptInput,
    created: Millis,
) -> usize {
    let list = match kind {
        QueueKind::Guidance => &mut state.guidance,
        QueueKind::FollowUp => &mut state.follow_ups,
    };
    list.push(QueueItem {
        id,
        kind,
        input,
        created,
    });
    list.len()
}

/// Changes what is queued; false if the item is no longer there.
pub fn edit(state: &mut QueueState, change: QueueEdit) -> bool {
    match change {
        QueueEdit::Resume => {
            state.paused = false;
            true
        }
        QueueEdit::Remove(id) => find(state, id).map(|(list, at)| list.remove(at)).is_some(),
        QueueEdit::Replace(id, input) => find(state, id)
            .map(|(list, at)| list[at].input = input)
            .is_some(),
        QueueEdit::Move(id, to) => find(state, id)
            .map(|(list, at)| {
                let item = list.remove(at);
                let to = to.min(list.len());
                list.insert(to, item);
            })
            .is_some(),
    }
}

fn find(state: &mut QueueState, id: QueueId) -> Option<(&mut Vec<QueueItem>, usize)> {
    if let Some(at) = state.guidance.iter().position(|i| i.id == id) {
        return Some((&mut state.guidance, at));
    }
    let at = state.follow_ups.iter().position(|i| i.id == id)?;
    Some((&mut state.follow_ups, at))
}

/// Joins queued prompts into one: one is used as is; two are prefixed `First: ` and `Also: `; three or
/// more `[1]: `, `[2]: `, …; separated by a blank line. Files keep their order.
pub fn coalesce(items: &[QueueItem]) -> PromptInput {
    let texts: Vec<&str> = items.iter().map(|i| i.input.text.as_str()).collect();
    let files: Vec<FilePart> = items.iter().flat_map(|i| i.input.files.clone()).collect();
    let text = match texts.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first, second] => format!("First: {first}\n\nAlso: {second}"),
        many => many
            .iter()
            .enumerate()
            .map(|(at, text)| format!("[{}]: {text}", at + 1))
            .collect::<Vec<_>>()
            .join("\n\n"),
    };
    PromptInput { text, files }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::IdMint;

    fn queued(texts: &[&str]) -> QueueState {
        let mut mint = IdMint::new(1, 0);
        let mut state = QueueState::default();
        for text in texts {
            let input = PromptInput {
                text: (*text).to_owned(),
                files: Vec::new(),
            };
            push(&mut state, mint.queue(1), QueueKind::Guidance, input, 1);
        }
        state
    }

    #[test]
    fn one_is_used_as_is_two_and_more_are_labelled() {
        assert_eq!(coalesce(&queued(&["a"]).guidance).text, "a");
        assert_eq!(
            coalesce(&queued(&["a", "b"]).guidance).text,
            "First: a\n\nAlso: b"
        );
        assert_eq!(
            coalesce(&queued(&["a", "b", "c"]).guidance).text,
            "[1]: a\n\n[2]: b\n\n[3]: c"
        );
    }

    #[test]
    fn items_can_be_moved_replaced_and_removed_until_they_are_gone() {
        let mut state = queued(&["a", "b", "c"]);
        let ids: Vec<QueueId> = state.guidance.iter().map(|i| i.id).collect();
        assert!(edit(&mut state, QueueEdit::Move(ids[2], 0)));
        assert!(edit(&mut state, QueueEdit::Remove(ids[0])));
        let new = PromptInput {
            text: "B".to_owned(),
            files: Vec::new(),
        };
        assert!(edit(&mut state, QueueEdit::Replace(ids[1], new)));
        let texts: Vec<&str> = state
            .guidance
            .iter()
            .map(|i| i.input.text.as_str())
            .collect();
        assert_eq!(texts, ["c", "B"]);
        assert!(
            !edit(&mut state, QueueEdit::Remove(ids[0])),
            "it is gone already"
        );
    }
}
