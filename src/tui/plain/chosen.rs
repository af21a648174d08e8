//! What `--plain` lists with numbers and what a number then means: turns to go back to, places that were found.
//!
//! Called by `plain`, which prints the lines and sends the op. Pure.

use crate::protocol::event::PinChoice;
use crate::protocol::{Op, Role, SearchHit, SessionSummary, TreeTurn};

/// Places that are listed.
const PLACES: usize = 20;

/// The turns of the tree, oldest first, with the numbers to choose them by.
pub(super) fn tree(turns: &[TreeTurn]) -> Vec<String> {
    if turns.is_empty() {
        return vec!["Nothing was said yet.".to_owned()];
    }
    let mut lines: Vec<String> = turns
        .iter()
        .enumerate()
        .map(|(at, turn)| {
            let added: u32 = turn.files.iter().map(|f| f.added).sum();
            let removed: u32 = turn.files.iter().map(|f| f.removed).sum();
            let changes = if added + removed > 0 {
                format!("  {added} added, {removed} removed")
            } else {
                String::new()
            };
            let branch = if turn.current {
                ""
            } else {
                "  (another branch)"
            };
            let text = turn.text.lines().next().unwrap_or_default();
            format!("{:>3}  {text}{changes}{branch}", at + 1)
        })
        .collect();
    lines.push(
        "/rewind NUMBER goes back to before that turn, or to the end of its branch; NUMBER talk leaves files \
         as they are."
            .to_owned(),
    );
    lines
}

/// What stands at a number that was listed, from 1.
fn numbered<'a, T>(listed: &'a [T], rest: &str) -> Option<&'a T> {
    let number: usize = rest.trim().parse().ok()?;
    listed.get(number.checked_sub(1)?)
}

/// Opening a listed session.
pub(super) fn session(listed: &[SessionSummary], rest: &str) -> Result<Op, &'static str> {
    let found = numbered(listed, rest);
    let found = found.map(|session| Op::OpenSession(session.info.id));
    found.ok_or("There is no such session. /sessions lists them with their numbers.")
}

/// Pinning a listed part, or unpinning it.
pub(super) fn pin(listed: &[PinChoice], rest: &str) -> Result<Op, &'static str> {
    let found = numbered(listed, rest).map(|pin| Op::Pin {
        part: pin.part,
        on: !pin.pinned,
    });
    found.ok_or("There is no such part. /pin lists them with their numbers.")
}

/// What going to a listed turn is: `3`, or `3 talk` to leave the files.
pub(super) fn turn(turns: &[TreeTurn], rest: &str) -> Result<Op, &'static str> {
    let (number, how) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let number: Option<usize> = number.parse().ok();
    let turn = number.and_then(|n| turns.get(n.checked_sub(1)?));
    let Some(turn) = turn else {
        return Err("There is no such turn. /rewind lists them with their numbers.");
    };
    let files = match how.trim() {
        "" => true,
        "talk" => false,
        _ => return Err("After the number nothing stands, or `talk` to leave files as they are."),
    };
    let confirmed = !files;
    Ok(if turn.current {
        Op::Rewind {
            to: turn.prompt,
            files,
            confirmed,
        }
    } else {
        Op::SwitchBranch {
            tip: turn.tip,
            files,
            confirmed,
        }
    })
}

/// The places that were found, with the numbers to open them by.
pub(super) fn places(hits: &[SearchHit], more: bool) -> Vec<String> {
    if hits.is_empty() {
        return vec!["Nothing says that.".to_owned()];
    }
    let shown = hits.iter().take(PLACES).enumerate();
    let mut lines: Vec<String> = shown
        .map(|(at, hit)| {
            let who = match (hit.role, hit.kind.as_str()) {
                (Role::User, "text") => "you",
                (_, "text") => "said",
                (_, "reasoning") => "thought",
                (_, other) => other,
            };
            format!("{:>3}  {}  {who}: {}", at + 1, hit.title, hit.excerpt)
        })
        .collect();
    if more || hits.len() > PLACES {
        lines.push("There are more; write more words.".to_owned());
    }
    lines.push("/search NUMBER opens the session at that place.".to_owned());
    lines
}

/// What opening a listed place is; none if this is no number of one.
pub(super) fn place(hits: &[SearchHit], rest: &str) -> Option<Op> {
    let number: usize = rest.trim().parse().ok()?;
    let hit = hits.get(number.checked_sub(1)?)?;
    Some(Op::OpenPart {
        session: hit.session,
        part: hit.part,
    })
}
