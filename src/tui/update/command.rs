//! What each slash command does.

use super::super::command::Command;
use super::super::composer::vim::Vim;
use super::super::keymap::{Action, nearest};
use super::super::overlay::pager::Pager;
use super::super::overlay::palette::palette;
use super::super::overlay::picker::{Entry, Kind, Picker};
use super::super::overlay::queue::QueueView;
use super::super::overlay::search::SearchView;
use super::super::overlay::{self, Intent, Overlay};
use super::super::state::State;
use super::super::text::markdown;
use super::super::theme::ThemeChoice;
use super::super::view::numbers;
use super::{Effect, leaving};
use crate::protocol::{
    Delivery, DiffScope, Effort, Millis, Mode, ModelRef, NoticeLevel, Op, PromptInput,
};

const INIT_PROMPT: &str = "Look through this project and write an AGENTS.md at its root for coding \
agents: what it is, how it is built, tested and run (exact commands), where things are, and the \
conventions that cannot be guessed. Keep it under 60 lines. If there is one already, improve it.";

/// Carries a command out; `rest` is what was typed after its name.
pub(super) fn run(state: &mut State, command: Command, rest: &str, now: Millis) -> Vec<Effect> {
    let op = |op| vec![Effect::Op(op)];
    match command {
        Command::Help => show(state, overlay::help(&state.keys)),
        Command::New => leaving::to(state, Op::NewSession),
        Command::Sessions => {
            state.overlays.push(Overlay::sessions());
            op(Op::ListSessions { all: false })
        }
        Command::Fork => leaving::to(state, Op::Fork { at: None }),
        Command::Rename if rest.is_empty() => usage(state, "/rename TITLE", now),
        Command::Rename => op(Op::Rename(rest.to_owned())),
        Command::Rewind => rewind(state, now),
        Command::Search => search(state, rest),
        Command::Undo => op(Op::Undo { confirmed: false }),
        Command::Redo => op(Op::Redo { confirmed: false }),
        Command::Diff => diff(state, rest, now),
        Command::Compact => op(Op::Compact {
            focus: rest.to_owned(),
        }),
        Command::Context => op(Op::Context),
        Command::Prune => op(Op::Prune),
        Command::Restore => op(Op::Restore { parts: Vec::new() }),
        Command::Model => model(state, rest, now),
        Command::Effort => effort(state, rest, now),
        Command::Mode => mode(state, rest, now),
        Command::Agent => agent(state, rest),
        Command::Subagents => super::subagents::open(state, now),
        Command::Queue => show(state, Overlay::Queue(QueueView::new(&state.queue))),
        Command::Todo => todo(state, now),
        Command::Export => export(rest),
        Command::Copy => copy(state, rest, now),
        Command::Find => find(state, rest, now),
        Command::Theme => theme(state, rest, now),
        Command::Init => {
            let input = PromptInput {
                text: INIT_PROMPT.to_owned(),
                files: Vec::new(),
            };
            op(Op::Prompt {
                input,
                delivery: Delivery::Guidance,
            })
        }
        Command::Cost => op(Op::Spending),
        Command::Pin => op(Op::Pins),
        Command::Status => {
            show(
                state,
                Overlay::Pager(Pager::lines("Status", &status(state))),
            );
            op(Op::Facts)
        }
        Command::Permissions => op(Op::ListPermissions),
        Command::Mcp => super::servers::command(state, rest, now),
        Command::Skills => show(
            state,
            Overlay::Pager(Pager::lines("Skills", &skills(state))),
        ),
        Command::Palette => {
            let overlay = palette(&state.keys, &state.composer.offers);
            show(state, overlay)
        }
        Command::Vim => vim(state, now),
        Command::Editor => vec![Effect::Edit(String::new())],
        Command::Continue => op(Op::Continue),
        Command::Demo => vec![Effect::Demo],
        Command::Quit => {
            state.closing = true;
            vec![Effect::Quit]
        }
    }
}

fn show(state: &mut State, overlay: Overlay) -> Vec<Effect> {
    state.overlays.push(overlay);
    Vec::new()
}

fn say(state: &mut State, text: &str, now: Millis) -> Vec<Effect> {
    state.say(NoticeLevel::Info, text, now);
    Vec::new()
}

fn fail(state: &mut State, text: impl Into<String>, now: Millis) -> Vec<Effect> {
    state.say(NoticeLevel::Error, text, now);
    Vec::new()
}

pub(super) fn usage(state: &mut State, usage: &str, now: Millis) -> Vec<Effect> {
    fail(state, format!("Write {usage}."), now)
}

fn rewind(state: &mut State, now: Millis) -> Vec<Effect> {
    if state.session.prompts.is_empty() {
        return say(state, "There is nothing to go back to yet.", now);
    }
    vec![Effect::Op(Op::Tree)]
}

fn search(state: &mut State, words: &str) -> Vec<Effect> {
    let (view, op) = SearchView::new(words);
    state.overlays.push(Overlay::Search(view));
    op.map(Effect::Op).into_iter().collect()
}

fn diff(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    let scope = match rest {
        "" | "turn" => DiffScope::Turn,
        "session" => DiffScope::Session,
        "step" => DiffScope::Step,
        "head" => DiffScope::Head,
        _ => return usage(state, "/diff, /diff session, /diff step or /diff head", now),
    };
    vec![Effect::Op(Op::Diff(scope))]
}

fn model(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    if rest.is_empty() {
        return models(state);
    }
    match rest.parse::<ModelRef>() {
        Ok(model) => vec![Effect::Op(Op::SetModel(model))],
        Err(why) => fail(state, why, now),
    }
}

/// The list of models, on the one that is in use.
pub(super) fn models(state: &mut State) -> Vec<Effect> {
    let now = state.status.as_ref().map(|status| status.model.clone());
    let recent = state.start.recent.iter().map(|s| s.info.model.clone());
    let overlay = Overlay::models(effort_now(state), now, recent.collect());
    state.overlays.push(overlay);
    vec![Effect::Op(Op::ListModels)]
}

/// A picker over names, each with what it does; it opens on the one that is set.
fn pick(
    state: &mut State,
    title: &'static str,
    (names, now): (Vec<(String, &str, Op)>, &str),
) -> Vec<Effect> {
    let entries = names.into_iter().map(|(label, detail, op)| Entry {
        label,
        detail: detail.to_owned(),
        intents: vec![Intent::Op(op)],
    });
    show(
        state,
        Overlay::Picker(Picker::new(Kind::Other, title, entries.collect()).on(now)),
    )
}

fn effort(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    if rest.is_empty() {
        let mut names = vec![(
            "default".to_owned(),
            "what the model does by itself",
            Op::SetEffort(None),
        )];
        names.extend(
            Effort::ALL
                .iter()
                .map(|(e, name)| ((*name).to_owned(), "", Op::SetEffort(Some(*e)))),
        );
        let now = effort_now(state).map_or("default", Effort::name);
        return pick(state, "Reasoning effort", (names, now));
    }
    if rest == "default" {
        return set_effort(state, None, now);
    }
    if let Some((effort, _)) = Effort::ALL.iter().find(|(_, name)| *name == rest) {
        return set_effort(state, Some(*effort), now);
    }
    let near = nearest(rest, Effort::ALL.iter().map(|(_, name)| *name));
    let sentence = format!("`{rest}` is no effort. The closest is `{near}`.");
    fail(state, sentence, now)
}

fn set_effort(state: &mut State, effort: Option<Effort>, now: Millis) -> Vec<Effect> {
    let name = effort.map_or("of the model's own", Effort::name);
    let text = format!("Effort {name}, from the next request on.");
    state.say(NoticeLevel::Info, text, now);
    vec![Effect::Op(Op::SetEffort(effort))]
}

fn mode(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    if rest.is_empty() {
        let says = |mode| match mode {
            Mode::Ask => "commands and edits ask",
            Mode::AutoEdit => "edits in the worktree run, commands ask",
            Mode::Auto => "everything runs in the sandbox without asking",
            Mode::Plan => "nothing can write",
        };
        let names = Mode::ALL.map(|m| (m.name().to_owned(), says(m), Op::SetMode(m)));
        let now = state.status.as_ref().map_or("", |s| s.mode.name());
        return pick(state, "Permission mode", (names.into(), now));
    }
    match rest.parse::<Mode>() {
        Ok(mode) => vec![Effect::Op(Op::SetMode(mode))],
        Err(why) => fail(state, why, now),
    }
}

fn agent(state: &mut State, rest: &str) -> Vec<Effect> {
    if !rest.is_empty() {
        return vec![Effect::Op(Op::SetAgent(rest.to_owned()))];
    }
    let known = state.composer.offers.agents.clone();
    let names = known
        .iter()
        .map(|(name, says)| (name.clone(), says.as_str(), Op::SetAgent(name.clone())));
    let now = state.status.as_ref().map(|status| status.agent.clone());
    let names = names.collect();
    pick(state, "Agent", (names, &now.unwrap_or_default()))
}

/// The reasoning effort as the model's label says it.
pub(super) fn effort_now(state: &State) -> Option<Effort> {
    let label = &state.status.as_ref()?.model_label;
    let word = label.rsplit(' ').next()?;
    let found = Effort::ALL.iter().find(|(_, name)| *name == word);
    found.map(|(effort, _)| *effort)
}

fn skills(state: &State) -> Vec<String> {
    let skills = &state.composer.offers.skills;
    if skills.is_empty() {
        return [
            "There are no skills.",
            "",
            "A skill is a folder with a SKILL.md (a head with name and description, then the text):",
            "  skills/NAME/SKILL.md           beside your config.toml",
            "  .dunlin/skills/NAME/SKILL.md   in a project you trust (`dunlin trust`)",
            "",
            "$NAME in a prompt sends its text along; the model may also load it by itself.",
        ]
        .map(str::to_owned)
        .to_vec();
    }
    let mut lines = Vec::new();
    for skill in skills {
        lines.push(format!("${}", skill.name));
        lines.push(format!("    {}", skill.description));
        lines.push(format!("    {}", skill.path.display()));
        lines.push(String::new());
    }
    lines
}

fn vim(state: &mut State, now: Millis) -> Vec<Effect> {
    let text = if state.composer.vim.take().is_some() {
        "Vim keys are off."
    } else {
        state.composer.vim = Some(Vim::default());
        "Vim keys are on: Esc for normal mode, i to write. `ui.vim = true` keeps them on."
    };
    say(state, text, now)
}

fn todo(state: &mut State, now: Millis) -> Vec<Effect> {
    let Some(plan) = &state.session.plan else {
        return say(state, "There is no plan in this session.", now);
    };
    let glyphs = &state.theme.glyphs;
    let lines: Vec<String> = plan
        .items
        .iter()
        .map(|(text, status)| {
            let sign = match status.as_str() {
                "completed" => glyphs.boxes.1,
                "in_progress" => glyphs.active,
                _ => glyphs.boxes.0,
            };
            format!("{sign} {text}")
        })
        .collect();
    show(state, Overlay::Pager(Pager::lines("Plan", &lines)))
}

fn export(rest: &str) -> Vec<Effect> {
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let known = ["md", "json", "jsonl"];
    let (format, path) = if known.contains(&first) {
        (first, after)
    } else {
        // the file's ending says it, if nothing else does
        let ending = rest.trim().rsplit_once('.').map(|(_, ending)| ending);
        let format = known.into_iter().find(|format| Some(*format) == ending);
        (format.unwrap_or("md"), rest)
    };
    let path = Some(path.trim())
        .filter(|path| !path.is_empty())
        .map(str::to_owned);
    vec![Effect::Op(Op::Export {
        format: format.to_owned(),
        path,
    })]
}

fn copy(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    let answer = state.transcript.last_answer();
    if rest == "code" {
        return match answer.as_deref().and_then(markdown::last_code) {
            Some(code) => vec![Effect::Copy(code)],
            None => say(state, "The last answer has no code block.", now),
        };
    }
    match answer {
        Some(text) => vec![Effect::Copy(text)],
        None => say(state, "There is no answer to copy yet.", now),
    }
}

fn find(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    let count = state.transcript.find(rest);
    if rest.is_empty() {
        return usage(state, "/find WORDS", now);
    }
    if let Some(number) = state.transcript.find_prev() {
        let next = state.keys.key(Action::FindNext);
        let before = state.keys.key(Action::FindPrev);
        let text = format!("{number} of {count}   {before} before   {next} next   esc ends");
        return say(state, &text, now);
    }
    let text = match count {
        0 => format!("Nothing here says `{rest}`."),
        _ => format!("{count} places."),
    };
    say(state, &text, now)
}

fn theme(state: &mut State, rest: &str, now: Millis) -> Vec<Effect> {
    if rest.is_empty() {
        let overlay = Overlay::Picker(Picker::themes(&state.theme_name, &state.themes));
        return show(state, overlay);
    }
    if state.theme_named(rest).is_none() {
        let near = nearest(rest, ThemeChoice::BUILT_IN.iter().map(|(name, _)| *name));
        return fail(
            state,
            format!("There is no theme `{rest}`. The closest is `{near}`."),
            now,
        );
    }
    rest.clone_into(&mut state.theme_name);
    state.restyle();
    Vec::new()
}

/// What /status shows, with what is known of the disk.
pub(super) fn status(state: &State) -> Vec<String> {
    let mut lines = vec![format!("dunlin {}", state.start.version), String::new()];
    if let Some(info) = &state.session.info {
        lines.push(format!("session    {}  {}", info.id, info.title));
        lines.push(format!("worktree   {}", info.worktree));
    }
    if let Some(status) = &state.status {
        lines.push(format!(
            "model      {}  ({})",
            status.model, status.model_label
        ));
        lines.push(format!("agent      {}", status.agent));
        lines.push(format!("mode       {}", status.mode.name()));
        lines.push(format!("sandbox    {}", status.sandbox));
        let gauge = status.context;
        lines.push(format!(
            "context    {}",
            numbers::context(gauge.used, gauge.window)
        ));
        lines.push(format!(
            "cost       {}",
            status
                .cost
                .map_or_else(|| "not known".to_owned(), numbers::money)
        ));
    }
    let facts = state.facts.iter();
    lines.extend(facts.map(|(name, fact)| format!("{name:<10} {fact}")));
    lines.extend(
        state
            .keys
            .problems()
            .iter()
            .map(|problem| format!("keys       {problem}")),
    );
    let problems = state.start.problems.iter();
    lines.extend(problems.map(|problem| format!("note       {problem}")));
    lines
}
