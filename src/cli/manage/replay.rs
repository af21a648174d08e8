//! `dunlin replay`: plays a session's recorded answers again, offline, and says what differs.

use super::sessions::project;
use super::{Outcome, ground};
use crate::agent::replay::{self, Difference, Report};
use crate::cli::arguments::Options;
use crate::cli::{print, which};
use crate::error::AppError;
use crate::headless::exit;
use crate::session::{History, RecordedFrames};

/// Differences that are shown.
const SHOWN: usize = 50;

pub(super) fn run(options: &Options, id: &str, json: bool) -> Outcome {
    let ground = ground(options)?;
    let project = project(&ground)?;
    let (project, id) = which::anywhere(&ground, &project, id)?;
    let (history, damaged) = project.read_all(id)?;
    let recorded = project.frames(id)?;
    if recorded.answers.is_empty() && recorded.damaged == 0 {
        let days = ground.config.store.frames_days;
        let why = if days == 0 {
            "store.frames_days is 0, so none are recorded.".to_owned()
        } else {
            format!(
                "They are kept for {days} days after the session was last used (store.frames_days), and \
                 copies of a session have none."
            )
        };
        return Err(AppError::new(
            format!("Session {id} has no recorded answers to play."),
            why,
        ));
    }
    let mut report = replay::replay(&history, &recorded);
    note_damage(&mut report, damaged, &recorded);
    if json {
        let value = serde_json::to_value(&report).map_err(|e| {
            AppError::new(format!("The report cannot be written as JSON: {e}."), "")
        })?;
        print(format_args!("{value:#}"));
    } else {
        tell(&history, &report);
    }
    Ok(if report.differences.is_empty() {
        exit::DONE
    } else {
        exit::ERROR
    })
}

/// What cannot be read is a difference too.
fn note_damage(report: &mut Report, journal: u64, recorded: &RecordedFrames) {
    for (what, count) in [("journal", journal), ("frames", recorded.damaged)] {
        if count > 0 {
            let damage = Difference {
                message: None,
                place: what.to_owned(),
                stored: format!("damaged in {count} place(s)"),
                replayed: "nothing can be played from there".to_owned(),
            };
            report.differences.insert(0, damage);
        }
    }
}

fn tell(history: &History, report: &Report) {
    let steps = report.answers - report.summaries;
    print(format_args!(
        "Session {} in {}",
        history.info.id, history.info.worktree
    ));
    print(format_args!(
        "  {} answers played again ({steps} steps, {} summaries), {} parts compared, {} calls with their \
         recorded results",
        report.answers, report.summaries, report.parts, report.calls
    ));
    if !report.unrecorded.is_empty() {
        print(format_args!(
            "  {} answers were not recorded and are taken as they are stored",
            report.unrecorded.len()
        ));
    }
    for difference in report.differences.iter().take(SHOWN) {
        let message = difference.message.map(|id| format!("{id}, "));
        print(format_args!(
            "! {}{}\n    stored:   {}\n    replayed: {}",
            message.unwrap_or_default(),
            printable(&difference.place),
            printable(&difference.stored),
            printable(&difference.replayed)
        ));
    }
    match report.differences.len() {
        0 => print("  no differences"),
        n => print(format_args!("  {n} differences")),
    }
}

/// What is shown may come from a model or a file: nothing of it may steer the terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
