//! `dunlin sessions`, `inspect`, `gc`: what is stored, without opening it to write.

use std::collections::HashMap;
use std::io::{ErrorKind, IsTerminal, Read as _, Write};
use std::path::Path;

use super::{Outcome, ground};
use crate::agent::budget::Spent;
use crate::agent::driver::current_branch;
use crate::app::{self, Ground};
use crate::cli::arguments::{ExportFormat, Options, Sessions};
use crate::cli::{print, which};
use crate::context::overflow::{self, Window};
use crate::context::{Conversation, inspect as report};
use crate::error::AppError;
use crate::headless::exit;
use crate::model::auth;
use crate::permission::secret::is_secret;
use crate::protocol::{IdMint, SessionId, SessionSummary};
use crate::session::{self, Arrival, GcPolicy, GcReport, Project, Redactor, StoreError};
use crate::snapshot;
use crate::tui::term::sanitise::Safe;

pub(super) fn project(ground: &Ground) -> Result<Project, AppError> {
    Ok(Project::open(&ground.paths.data_dir, &ground.worktree)?)
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn fresh_id() -> SessionId {
    let seed = uuid::Uuid::now_v7().as_u64_pair().1;
    IdMint::new(seed, 0).session(now())
}

pub(super) fn run(options: &Options, what: Sessions) -> Outcome {
    let ground = ground(options)?;
    let project = project(&ground)?;
    let parse = |id: &str| which::anywhere(&ground, &project, id);
    match what {
        Sessions::List { json, all } => list(&ground, &project, json, all)?,
        Sessions::Show { id } => {
            let (project, id) = parse(&id)?;
            export(&ground, &project, id, session::ExportFormat::Markdown)?;
        }
        Sessions::Rename { id, title } => {
            if title.trim().is_empty() {
                let hint = "Give it in quotes if it holds spaces.";
                return Err(AppError::usage("The name of a session is not empty.", hint));
            }
            let (project, id) = parse(&id)?;
            tell_damage(&project, id);
            project.rename(id, &title)?;
            print(format_args!("Renamed to: {}", safe(title.trim())));
        }
        Sessions::Delete { id, yes } => {
            let (project, id) = parse(&id)?;
            delete(&project, id, yes)?;
            print("Deleted.");
        }
        Sessions::Archive { id } => {
            let (project, id) = parse(&id)?;
            if project.is_packed(id)? {
                print("It is packed already.");
            } else {
                print(format_args!(
                    "Packed, which freed {}. Opening the session unpacks it.",
                    bytes(project.archive(id)?)
                ));
            }
        }
        Sessions::Export { id, format } => {
            let format = match format {
                ExportFormat::Md => session::ExportFormat::Markdown,
                ExportFormat::Json => session::ExportFormat::Json,
                ExportFormat::Jsonl => session::ExportFormat::Jsonl,
            };
            let (project, id) = parse(&id)?;
            export(&ground, &project, id, format)?;
        }
        Sessions::Import { file } => import(&ground, &project, &file)?,
        Sessions::Gc { dry_run } => return gc(options, dry_run),
    }
    Ok(exit::DONE)
}

fn list(ground: &Ground, project: &Project, json: bool, all: bool) -> Result<(), AppError> {
    let listed = if all {
        Project::list_all(&ground.paths.data_dir)?
    } else {
        project.list()?
    };
    if json {
        let rows: Vec<serde_json::Value> = listed.iter().map(row).collect();
        print(format_args!("{:#}", serde_json::Value::from(rows)));
        return Ok(());
    }
    if listed.is_empty() {
        print(if all {
            "There are no sessions yet. `dunlin` begins one."
        } else {
            "There are no sessions in this folder yet. `dunlin` begins one; --all lists every folder's."
        });
        return Ok(());
    }
    let used = project.disk_use()?;
    let sizes: HashMap<SessionId, u64> = used.sessions.iter().copied().collect();
    print(format_args!(
        "{:<36}  {:<16}  {:>6}  {:>8}  {:>9}  title",
        "session", "last used", "parts", "cost", "disk"
    ));
    for session in &listed {
        print(line(session, sizes.get(&session.info.id).copied(), all));
    }
    let own: u64 = used.sessions.iter().map(|(_, bytes)| bytes).sum();
    print(format_args!(
        "{} here: {} of sessions, {} of images and documents, {} of snapshots",
        count(used.sessions.len(), "session"),
        bytes(own),
        bytes(used.blobs),
        bytes(used.snapshots)
    ));
    if all {
        print("Disk use of each folder:");
        for (worktree, size) in Project::disk_use_all(&ground.paths.data_dir)? {
            let name = if worktree.is_empty() {
                "(no session left)"
            } else {
                &worktree
            };
            print(format_args!("{:>9}  {}", bytes(size), safe(name)));
        }
    }
    Ok(())
}

/// One row of the list.
fn line(session: &SessionSummary, size: Option<u64>, all: bool) -> String {
    let when = jiff::Timestamp::from_millisecond(session.updated)
        .map(|t| {
            t.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%F %H:%M")
                .to_string()
        })
        .unwrap_or_default();
    let cost = session
        .cost
        .map_or_else(|| "?".to_owned(), |usd| format!("${usd:.2}"));
    let state = match (session.damaged, session.open_elsewhere, session.archived) {
        (true, ..) => "[damaged] ",
        (_, true, _) => "[open] ",
        (_, _, true) => "[packed] ",
        _ => "",
    };
    let place = if all {
        format!("  {}", safe(&session.info.worktree))
    } else {
        String::new()
    };
    format!(
        "{}  {when:<16}  {:>6}  {cost:>8}  {:>9}  {state}{}{place}",
        session.info.id,
        session.parts,
        size.map_or_else(|| "-".to_owned(), bytes),
        title(session)
    )
}

/// `1 session`, `2 sessions`
fn count(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}

/// What comes from a model or a file must not steer the terminal.
pub(super) fn safe(text: &str) -> String {
    Safe::strip(text).as_str().to_owned()
}

fn title(session: &SessionSummary) -> String {
    let text = if session.info.title.is_empty() {
        &session.first_prompt
    } else {
        &session.info.title
    };
    safe(text)
}

/// The documented fields first, then the rest.
fn row(session: &SessionSummary) -> serde_json::Value {
    let mut value = serde_json::json!({
        "id": session.info.id,
        "title": title(session),
        "created": session.info.created,
        "updated": session.updated,
        "parts": session.parts,
        "cost": session.cost,
    });
    if let (Some(row), Ok(serde_json::Value::Object(all))) =
        (value.as_object_mut(), serde_json::to_value(session))
    {
        for (key, value) in all {
            row.entry(key).or_insert(value);
        }
    }
    value
}

fn export(
    ground: &Ground,
    project: &Project,
    id: SessionId,
    format: session::ExportFormat,
) -> Result<(), AppError> {
    let variables = app::registry(ground).key_variables();
    let env = |name: &str| std::env::var(name).ok();
    let keys = auth::known_keys(&ground.paths.config_dir, &variables, &env);
    let redactor = Redactor::of_process()
        .and(keys)
        .and(ground.config.secrets());
    tell_damage(project, id);
    let out = std::io::stdout();
    if !out.is_terminal() {
        return written(project.export(id, format, &redactor, &mut out.lock()));
    }
    // What was said and read in a session must not steer the terminal it is shown on.
    let mut text = Vec::new();
    project.export(id, format, &redactor, &mut text)?;
    print(String::from_utf8_lossy(&text).trim_end());
    Ok(())
}

/// What became of an export to standard output.
fn written(done: Result<(), StoreError>) -> Result<(), AppError> {
    match done {
        // a reader that went away has what it wanted
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(StoreError::Io { action, source, .. }) if action == session::WRITING_EXPORT => {
            Err(AppError::new(
                format!("Standard output cannot be written: {source}."),
                "Send the export to another file.",
            ))
        }
        done => Ok(done?),
    }
}

/// A session that is damaged is said to be, on stderr: what is printed has a hole.
fn tell_damage(project: &Project, id: SessionId) {
    if let Ok(Some(sentence)) = project.damage(id) {
        drop(writeln!(std::io::stderr(), "! {sentence}"));
    }
}

fn import(ground: &Ground, project: &Project, file: &Path) -> Result<(), AppError> {
    let mut bytes = Vec::new();
    let (read, name) = if file == Path::new("-") {
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        (read.map(drop), "standard input".to_owned())
    } else {
        let read = std::fs::read(file).map(|read| bytes = read);
        (read, file.display().to_string())
    };
    read.map_err(|e| {
        let message = format!("{name} cannot be read: {e}.");
        AppError::usage(message, "Name a file that `dunlin sessions export` wrote.")
    })?;
    let arrival = Arrival {
        id: fresh_id(),
        worktree: &ground.worktree,
        now: now(),
        is_secret,
    };
    let info = project.import(&bytes, &arrival)?;
    print(info.id);
    Ok(())
}

fn delete(project: &Project, id: SessionId, yes: bool) -> Result<(), AppError> {
    if !yes {
        let mut err = std::io::stderr();
        // Without a reader the answer below is empty, which means no.
        drop(write!(err, "Delete {id} for ever? [y/N] "));
        drop(err.flush());
        let mut answer = String::new();
        drop(std::io::stdin().read_line(&mut answer));
        if !answer.trim().eq_ignore_ascii_case("y") {
            return Err(AppError::new(
                "Nothing was deleted.",
                "Answer y, or use --yes.",
            ));
        }
    }
    Ok(project.delete(id)?)
}

pub(super) fn gc(options: &Options, dry_run: bool) -> Outcome {
    let ground = ground(options)?;
    let project = project(&ground)?;
    let report = project.gc(&GcPolicy {
        dry_run,
        ..app::gc_policy(&ground.config)
    })?;
    tell(&report, dry_run);
    collect_snapshots(&ground, &project, dry_run)?;
    Ok(exit::DONE)
}

/// What no session needs any more goes from the snapshot store. A session that cannot be read may need
/// anything, so then only what is old or beyond the quota goes.
fn collect_snapshots(ground: &Ground, project: &Project, dry_run: bool) -> Result<(), AppError> {
    let store = project.snapshot_dir();
    let used = match project.snapshots_in_use() {
        Ok(used) => used,
        Err(error) => {
            print(format_args!("! Snapshots were not collected. {error}"));
            return Ok(());
        }
    };
    for sentence in &used.unsure {
        print(format_args!(
            "! Snapshots younger than `snapshot.keep_days` stay. {sentence}"
        ));
    }
    let needed = snapshot::Needed {
        snapshots: &used.snapshots,
        complete: used.unsure.is_empty(),
    };
    let now = std::time::SystemTime::now();
    let work = if dry_run {
        snapshot::survey
    } else {
        snapshot::collect
    };
    let done = work(&store, needed, &ground.config.snapshot, now)
        .map_err(|e| AppError::new(e.to_string(), ""))?;
    let (freed, left) = (bytes(done.freed), bytes(done.left));
    if done.skipped {
        print("Snapshots are being collected by another dunlin.");
    } else if dry_run {
        print(format_args!(
            "{freed} of snapshots would be freed, {left} left."
        ));
    } else {
        print(format_args!("{freed} of snapshots freed, {left} left."));
    }
    Ok(())
}

fn tell(report: &GcReport, dry_run: bool) {
    let would = if dry_run { "Would free" } else { "Freed" };
    print(format_args!("{would} {}:", bytes(report.freed)));
    for (number, what) in [
        (report.outputs, "full outputs of tools"),
        (report.frames, "files of recorded answers"),
        (report.blobs, "images and documents that no session uses"),
        (report.leftovers, "left-overs"),
        (
            report.archived.len() as u64,
            if dry_run {
                "sessions to be packed"
            } else {
                "sessions packed"
            },
        ),
    ] {
        if number > 0 {
            print(format_args!("{number:>6} {what}"));
        }
    }
    for id in &report.archived {
        print(format_args!("       {id}"));
    }
    for problem in &report.problems {
        print(format_args!("! {problem}"));
    }
}

pub(super) fn inspect(options: &Options, id: &str, json: bool) -> Outcome {
    let ground = ground(options)?;
    let project = project(&ground)?;
    let (project, id) = which::anywhere(&ground, &project, id)?;
    tell_damage(&project, id);
    let history = project.open_session_all(id)?;
    let registry = app::registry(&ground);
    let model = registry.info(&history.info.model);
    let settings = &ground.config.context;
    // As the agent sees it: what was rewound is on no branch.
    let (messages, parts) = current_branch(history.messages, history.parts, &history.values);
    let mut conversation = Conversation::from_history(messages, parts);
    conversation.set_folding(settings.prune_fold);
    // The driver stores them at the end of each turn.
    let stored = history.values.get("context").cloned().unwrap_or_default();
    let misses = serde_json::from_value(stored["misses"].clone()).unwrap_or_default();
    let overhead: report::Overhead = serde_json::from_value(stored).unwrap_or_default();
    // Sessions of other programs and old ones have none.
    let spent = history.values.get("spent").cloned();
    let spent: Option<Spent> = spent.and_then(|value| serde_json::from_value(value).ok());
    let before = overhead.system + overhead.instructions + overhead.tools;
    let usage = overflow::measure(&conversation, before);
    let name = history.info.model.to_string();
    let strategy = app::strategy(&ground, &history.info.agent);
    let found = report::report(&report::Source {
        conversation: &conversation,
        usage,
        window: Window {
            size: model.context,
            usable: model.usable(settings.output_reserve),
        },
        model: &name,
        strategy: &strategy,
        overhead,
        misses,
        cost: spent.map_or_else(|| report::cost_of(&conversation), |spent| spent.cost()),
    });
    if json {
        let value = serde_json::to_value(&found).map_err(|e| {
            AppError::new(format!("The report cannot be written as JSON: {e}."), "")
        })?;
        print(format_args!("{value:#}"));
    } else {
        print(report::as_text(&found));
    }
    Ok(exit::DONE)
}

/// `3.4 MiB`
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1_024.0 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{count} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
