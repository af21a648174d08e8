//! Which session the user means: a whole id, the beginning or the end of one, or its title.
//!
//! Called by everything on the command line that takes a session. What is not found is answered
//! with what comes closest; nothing is ever guessed.

use crate::app::Ground;
use crate::error::AppError;
use crate::protocol::{SessionId, SessionSummary};
use crate::session::Project;

/// Fewer letters of an id name no session.
const LETTERS: usize = 4;
/// Sessions named when several are meant, or none.
const NAMED: usize = 5;

/// The session that `text` names, and the project that has it: this one, else any other. For what needs no
/// worktree: those of a folder that was moved or deleted are still there to be shown, exported and deleted.
pub(super) fn anywhere(
    ground: &Ground,
    project: &Project,
    text: &str,
) -> Result<(Project, SessionId), AppError> {
    let text = text.trim();
    let id = match text.parse::<SessionId>() {
        Ok(id) => Some(id),
        Err(_) if matching(&project.list()?, text).is_empty() => {
            let listed = Project::list_all(&ground.paths.data_dir)?;
            match matching(&listed, text).as_slice() {
                [one] => Some(one.info.id),
                _ => None,
            }
        }
        Err(_) => None,
    };
    if let Some(id) = id
        && !project.holds(id)
        && let Some(other) = Project::holding(&ground.paths.data_dir, id)?
    {
        return Ok((other, id));
    }
    Ok((project.clone(), session(ground, project, text)?))
}

/// The session of this project that `text` names.
pub(super) fn session(
    ground: &Ground,
    project: &Project,
    text: &str,
) -> Result<SessionId, AppError> {
    let text = text.trim();
    if let Ok(id) = text.parse::<SessionId>() {
        if project.holds(id) {
            return Ok(id);
        }
        if let Some(other) = Project::holding(&ground.paths.data_dir, id)? {
            return Err(elsewhere(&other, id));
        }
    }
    let listed = project.list()?;
    let found = matching(&listed, text);
    match found.as_slice() {
        [one] => Ok(one.info.id),
        [] => Err(AppError::usage(
            format!("There is no session `{text}` in this folder."),
            near(&listed, text),
        )),
        several => Err(AppError::usage(
            format!("{} sessions are called so.", several.len()),
            format!("Write more of the id:\n{}", rows(several)),
        )),
    }
}

/// A session of another folder is named with the command that opens it.
fn elsewhere(other: &Project, id: SessionId) -> AppError {
    let listed = other.list().unwrap_or_default();
    let Some(session) = listed.iter().find(|s| s.info.id == id) else {
        return AppError::usage(
            format!("Session {id} belongs to another folder."),
            "`dunlin sessions list --all` says to which.",
        );
    };
    if !std::path::Path::new(&session.info.worktree).is_dir() {
        return AppError::usage(
            format!(
                "Session {id} belongs to {}, which is not there any more.",
                session.info.worktree
            ),
            format!(
                "Go on in a copy here: dunlin sessions export --format json {id} | dunlin sessions import -"
            ),
        );
    }
    AppError::usage(
        format!("Session {id} belongs to {}.", session.info.worktree),
        format!("Start dunlin there: {}", session.info.open_there()),
    )
}

/// The sessions that a text may mean.
fn matching<'a>(listed: &'a [SessionSummary], text: &str) -> Vec<&'a SessionSummary> {
    let titled: Vec<_> = listed
        .iter()
        .filter(|s| !text.is_empty() && title(s).eq_ignore_ascii_case(text))
        .collect();
    if !titled.is_empty() {
        return titled;
    }
    let body = text.strip_prefix("ses_").unwrap_or(text);
    if body.len() < LETTERS {
        return Vec::new();
    }
    let of = |fits: fn(&str, &str) -> bool| -> Vec<&'a SessionSummary> {
        let fits = |s: &&SessionSummary| {
            let id = s.info.id.to_string();
            fits(id.strip_prefix("ses_").unwrap_or(&id), body)
        };
        listed.iter().filter(fits).collect()
    };
    let begins = of(|id, body| id.starts_with(body));
    if begins.is_empty() {
        // Ids begin with their time: sessions of one day differ only towards their ends.
        return of(|id, body| id.ends_with(body));
    }
    begins
}

fn title(session: &SessionSummary) -> &str {
    if session.info.title.is_empty() {
        &session.first_prompt
    } else {
        &session.info.title
    }
}

/// The sessions that come closest to a text that names none.
fn near(listed: &[SessionSummary], text: &str) -> String {
    if listed.is_empty() {
        return "There is none yet; `dunlin sessions list --all` shows those of other folders."
            .to_owned();
    }
    let wanted = text.to_lowercase();
    let body = wanted.strip_prefix("ses_").unwrap_or(&wanted).to_owned();
    let shared = |session: &SessionSummary| {
        let id = session.info.id.to_string();
        let id = id.strip_prefix("ses_").unwrap_or(&id);
        id.bytes()
            .zip(body.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let words = |session: &SessionSummary| {
        let said = format!("{} {}", session.info.title, session.first_prompt).to_lowercase();
        let mut words = wanted.split_whitespace();
        words.any(|word| word.len() > 2 && said.contains(word))
    };
    let mut close: Vec<&SessionSummary> = listed.iter().filter(|s| words(s)).collect();
    if close.is_empty() {
        // As many letters as ids of the same month share say nothing.
        close = listed.iter().filter(|s| shared(s) > LETTERS + 2).collect();
        close.sort_by_key(|s| std::cmp::Reverse(shared(s)));
    }
    if close.is_empty() {
        return "`dunlin sessions list` shows those that are there; `dunlin -r` lets you choose."
            .to_owned();
    }
    close.truncate(NAMED);
    format!("The closest are:\n{}", rows(&close))
}

fn rows(sessions: &[&SessionSummary]) -> String {
    let rows: Vec<String> = sessions
        .iter()
        .take(NAMED)
        .map(|s| {
            let name: String = title(s)
                .chars()
                .filter(|c| !c.is_control())
                .take(60)
                .collect();
            format!("  {}  {name}", s.info.id)
        })
        .collect();
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Mode, SessionInfo};

    fn listed(sessions: &[(u128, &str)]) -> Vec<SessionSummary> {
        sessions
            .iter()
            .map(|(id, title)| SessionSummary {
                info: SessionInfo {
                    id: SessionId::from_raw(*id),
                    parent: None,
                    title: (*title).to_owned(),
                    worktree: "/w".to_owned(),
                    model: "a/b".parse().expect("a model"),
                    agent: "build".to_owned(),
                    mode: Mode::Ask,
                    created: 0,
                },
                updated: 0,
                parts: 1,
                messages: 1,
                cost: None,
                first_prompt: format!("please {title}"),
                context_percent: 0,
                added: 0,
                removed: 0,
                branch: String::new(),
                open_elsewhere: false,
                fork: false,
                archived: false,
                damaged: false,
            })
            .collect()
    }

    #[test]
    fn beginnings_ends_and_titles_name_a_session_and_nothing_is_guessed() {
        let listed = listed(&[
            (0x1234_5678_u128 << 96 | 0xaaaa, "fix the parser"),
            (0x1234_5678_u128 << 96 | 0xbbbb, "Port the pager"),
        ]);
        let ids = |text: &str| -> Vec<SessionId> {
            matching(&listed, text).iter().map(|s| s.info.id).collect()
        };
        let (first, second) = (listed[0].info.id, listed[1].info.id);
        let text = first.to_string();
        assert_eq!(ids(&text), [first]);
        let begins: String = text.chars().take(10).collect();
        assert_eq!(ids(&begins).len(), 2);
        let ends: String = text.chars().skip(text.len() - 6).collect();
        assert_eq!(ids(&ends), [first]);
        assert_eq!(ids("port the pager"), [second]);
        assert_eq!(ids("pager"), []);
        assert_eq!(ids(""), []);
        assert_eq!(ids("ses_"), []);
    }

    #[test]
    fn what_is_not_found_is_answered_with_what_comes_closest() {
        let listed = listed(&[(7, "fix the parser"), (8, "port the pager")]);
        let near_pager = near(&listed, "pager");
        assert!(near_pager.contains("port the pager"), "{near_pager}");
        assert!(!near_pager.contains("parser"), "{near_pager}");
        assert!(near(&listed, "zzz").contains("sessions list"));
        assert!(near(&[], "zzz").contains("none yet"));
    }
}
