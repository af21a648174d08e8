//! `dunlin search`: full text over everything said, called and printed, as lines or as JSON.

use std::sync::atomic::AtomicBool;

use super::sessions::{project, safe};
use super::{Outcome, ground};
use crate::cli::arguments::{Options, Search};
use crate::cli::print;
use crate::error::AppError;
use crate::headless::exit;
use crate::session::{Hit, Project, SearchQuery};

/// Hits of a search.
const HITS: usize = 200;

pub(super) fn search(options: &Options, wanted: Search) -> Outcome {
    let ground = ground(options)?;
    let project = project(&ground)?;
    if wanted.query.trim().is_empty() {
        return Err(AppError::usage(
            "There is nothing to look for.",
            "Say which words, or give an expression with --regex.",
        ));
    }
    if wanted.regex
        && let Err(error) = regex::Regex::new(&wanted.query)
    {
        let message = format!("`{}` is not a regular expression: {error}", wanted.query);
        return Err(AppError::usage(
            message,
            "Mend it, or leave --regex out to search for words.",
        ));
    }
    let query = SearchQuery {
        text: wanted.query,
        regex: wanted.regex,
        prompts: false,
        limit: HITS,
    };
    let cancel = AtomicBool::new(false);
    let hits = if wanted.all {
        Project::search_all(&ground.paths.data_dir, &query, &cancel)?
    } else {
        project.search(&query, &cancel)?
    };
    if wanted.json {
        let rows: Vec<serde_json::Value> = hits.iter().map(found).collect();
        print(format_args!("{:#}", serde_json::Value::from(rows)));
        return Ok(exit::DONE);
    }
    for hit in &hits {
        let line = format!(
            "{}  {}  {}\n    {}: {}",
            hit.session,
            hit.part,
            safe(&hit.title),
            hit.kind,
            safe(&hit.excerpt)
        );
        print(line);
    }
    if hits.is_empty() {
        let hint = match (wanted.regex, wanted.all) {
            (true, true) => "The expression must match within one message, call or output.",
            (true, false) => {
                "The expression must match within one message, call or output; --all searches every folder."
            }
            (false, true) => "All words must occur in one message, call or output.",
            (false, false) => {
                "All words must occur in one message, call or output; --all searches every folder, --regex \
                 takes an expression."
            }
        };
        return Err(AppError::new("Nothing was found.", hint));
    }
    Ok(exit::DONE)
}

fn found(hit: &Hit) -> serde_json::Value {
    serde_json::json!({
        "session": hit.session,
        "message": hit.message,
        "part": hit.part,
        "role": hit.role,
        "kind": hit.kind,
        "at": hit.at,
        "title": hit.title,
        "worktree": hit.worktree,
        "excerpt": hit.excerpt,
        "found": [hit.found.start, hit.found.end],
    })
}
