//! Finds the step that comes next from the conversation itself.
//!
//! The scripted provider keeps no file: a session that was killed and resumed has its history, and
//! the history says how far the script was played. Two traces are used: the ids of tool calls, which
//! carry the number of their step (`scr_main_4_0`), and the number of assistant messages after them.
//! The whole branch is walked, not what a request shows of it: a compaction or a pruning takes those
//! traces out of requests. Called once per request; pure.

use super::script::{Branch, Script, Step};
use crate::model::{Block, Place, Request, Said};

/// What ids of calls of the main steps begin with.
const MAIN: &str = "scr_main_";

/// What ids of a step's calls begin with.
pub(super) fn id_prefix(place: Place) -> String {
    match place.branch {
        None => format!("{MAIN}{}", place.played),
        Some(branch) => format!("scr_b{branch}_{}_{}", place.played, place.prompt),
    }
}

/// The step at this place, if the script has one for it.
pub(super) fn step(place: Place, script: &Script) -> Option<&Step> {
    let (steps, repeat) = match place.branch {
        None => (&script.steps, script.repeat),
        Some(branch) => script.branches.get(branch).map(|b| (&b.steps, b.repeat))?,
    };
    if steps.is_empty() {
        return None;
    }
    let index = if repeat {
        place.played % steps.len()
    } else {
        place.played
    };
    steps.get(index)
}

/// Where the conversation stands.
pub(super) fn find(script: &Script, newest_first: &mut dyn Iterator<Item = Said<'_>>) -> Place {
    // Call ids of the answers that were walked over, newest first; none for one without calls.
    let mut answers: Vec<Option<String>> = Vec::new();
    for said in newest_first {
        if said.assistant {
            let tells = number(said.call, MAIN).is_some();
            answers.push(said.call.map(str::to_owned));
            if tells && script.branches.is_empty() {
                break;
            }
            continue;
        }
        if script.branches.is_empty() || said.texts.is_empty() {
            continue;
        }
        if let Some(branch) = matching(&script.branches, &said.texts.join("\n")) {
            return Place {
                branch: Some(branch),
                prompt: said.at,
                played: played(&answers, &format!("scr_b{branch}_")),
            };
        }
    }
    Place {
        branch: None,
        prompt: 0,
        played: played(&answers, MAIN),
    }
}

/// The same from what a request shows, for one that does not say where it stands.
pub(super) fn find_in(script: &Script, request: &Request) -> Place {
    let numbers = (0..request.messages.len()).rev();
    let shown = numbers.zip(request.messages.iter().rev());
    let mut said = shown.map(|(at, message)| Said {
        at,
        assistant: message.assistant,
        texts: message
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        call: message.blocks.iter().find_map(|block| match block {
            Block::Call { id, .. } => Some(id.as_str()),
            _ => None,
        }),
    });
    find(script, &mut said)
}

fn matching(branches: &[Branch], text: &str) -> Option<usize> {
    branches.iter().position(|b| b.pattern.is_match(text))
}

/// How many steps were played: the number that the newest telling id carries, and the answers since.
fn played(newest_first: &[Option<String>], prefix: &str) -> usize {
    let mut calls = newest_first.iter().enumerate();
    let told = calls.find_map(|(since, call)| {
        let number = number(call.as_deref(), prefix)?;
        Some(number.saturating_add(1) + since)
    });
    told.unwrap_or(newest_first.len())
}

/// The number of the step that a call id carries.
fn number(call: Option<&str>, prefix: &str) -> Option<usize> {
    let rest = call?.strip_prefix(prefix)?;
    rest.split('_').next()?.parse().ok()
}
