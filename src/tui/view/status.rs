//! The status row, the queue rows and the context line: what happens, what waits, what is full.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::numbers;
use super::row::Row;
use crate::protocol::{ContextGauge, Fault, Millis, Phase, QueueItem, Status};
use crate::tui::keymap::Action;
use crate::tui::state::State;

/// Queue rows shown at most; the last one then says how many more wait.
const QUEUE_ROWS: usize = 5;
/// Characters of a queued prompt that a row is made of at most.
const LONGEST_ROW: usize = 1_000;
/// Column at which a queued text begins.
const QUEUE_TEXT: usize = 14;

/// The status row; none if nothing runs and nothing is to be said.
pub fn row(state: &State, now: Millis) -> Option<Row> {
    let status = state.status.as_ref();
    if state.closing {
        return Some(plain(state, "Closing", "writing what is left"));
    }
    match (state.phase(), status) {
        // While a question is open, Esc answers it: what else runs is said by the conversation.
        _ if state.asks.current().is_some() => None,
        (Phase::Idle, _) | (_, None) => idle(state),
        (
            Phase::Retrying {
                attempt,
                limit,
                next,
                error,
            },
            Some(status),
        ) => {
            let attempt = limit.map_or_else(
                || format!("attempt {attempt}"),
                |limit| format!("attempt {attempt} of {limit}"),
            );
            Some(retrying(
                state,
                status,
                (&attempt, error),
                (next - now).max(0),
            ))
        }
        (Phase::Compacting { .. }, Some(status)) => Some(compacting(state, status, now)),
        (phase, Some(status)) => Some(working(state, status, phase, now)),
    }
}

fn styles(state: &State) -> (Style, Style) {
    (state.theme.accent(), state.theme.dim())
}

fn plain(state: &State, what: &str, more: &str) -> Row {
    let theme = &state.theme;
    Row::new()
        .fixed(theme.glyphs.note, theme.dim())
        .gap(1)
        .text(what, theme.bold())
        .gap(3)
        .text(more, theme.dim())
}

fn idle(state: &State) -> Option<Row> {
    let theme = &state.theme;
    let warn = |what: &str, more: &str| {
        Row::new()
            .fixed(theme.glyphs.warn, theme.amber())
            .gap(1)
            .text(what, theme.amber())
            .gap(3)
            .text(more, theme.dim())
    };
    if let Some(why) = state.session.read_only {
        let open_there = state.session.open_there();
        return Some(warn("Read only", &why.in_short(&open_there)));
    }
    if state.session.editing.is_some() {
        let row = plain(
            state,
            "Editing an earlier prompt",
            "sending it makes a branch where it stood",
        );
        return Some(row.hint("esc", "leaves it", styles(state)));
    }
    if state.session.cut {
        let row = warn("The last turn was cut off", "all that was said is kept");
        return Some(row.hint("enter", "continues it", styles(state)));
    }
    state
        .sending
        .as_ref()
        .map(|text| plain(state, "Sending", text))
}

fn retrying(state: &State, status: &Status, why: (&str, &Fault), left: Millis) -> Row {
    let theme = &state.theme;
    let (attempt, _) = why;
    let seconds = (left + 999) / 1_000;
    let what = if seconds == 0 {
        "Retrying now".to_owned()
    } else {
        format!("Retrying in {}", numbers::elapsed(seconds * 1_000))
    };
    let row = Row::new()
        .fixed(theme.glyphs.retry, theme.amber())
        .gap(1)
        .text(&what, theme.amber());
    if state.is_narrow() {
        return row.right(&state.keys.key(Action::RetryNow), theme.accent());
    }
    let model = numbers::model(&status.model_label);
    let model = model.split(' ').next().unwrap_or_default();
    row.gap(3)
        .text(attempt, theme.dim())
        .gap(3)
        .text(model, theme.dim())
        .hint(&state.keys.key(Action::RetryNow), "now", styles(state))
        .hint(
            &state.keys.key(Action::OtherModel),
            "other model",
            styles(state),
        )
        .hint(&state.keys.key(Action::Escape), "stop", styles(state))
}

fn since(status: &Status, now: Millis) -> String {
    status
        .turn_started
        .map(|at| numbers::elapsed(now - at))
        .unwrap_or_default()
}

fn compacting(state: &State, status: &Status, now: Millis) -> Row {
    let theme = &state.theme;
    let row = Row::new()
        .fixed(theme.glyphs.compact, theme.accent())
        .gap(1)
        .text("Compacting", theme.bold())
        .gap(3)
        .text(&since(status, now), theme.dim());
    let row = down(state, status, row);
    row.hint(
        &state.keys.key(Action::Escape),
        "cancel, nothing is lost",
        styles(state),
    )
}

fn down(state: &State, status: &Status, row: Row) -> Row {
    if status.turn_output == 0 || state.is_narrow() {
        return row;
    }
    let theme = &state.theme;
    let count = format!(
        "{} {}",
        theme.glyphs.down,
        numbers::tokens(status.turn_output, false)
    );
    row.gap(3).text(&count, theme.dim())
}

fn working(state: &State, status: &Status, phase: &Phase, now: Millis) -> Row {
    let theme = &state.theme;
    let spin = theme
        .glyphs
        .spin((now / super::SPIN_MS) as usize, state.motion());
    let step = state.session.plan.as_ref().and_then(|plan| {
        plan.current()
            .map(|(text, at)| (text.to_owned(), format!("{at}/{}", plan.items.len())))
    });
    let (what, progress) = step.unwrap_or_else(|| {
        let runs = matches!(phase, Phase::Tools).then(|| state.transcript.running());
        let named = runs.flatten().map(|runs| shortened(runs.as_str(), 48));
        let what = named.unwrap_or_else(|| doing(phase).to_owned());
        (what, String::new())
    });
    // Under 80 columns the step keeps its first words.
    let what = if state.is_narrow() {
        shortened(&what, 14)
    } else {
        what
    };
    let gap = if state.is_narrow() { 2 } else { 3 };
    let mut row = Row::new()
        .fixed(spin, theme.accent())
        .gap(1)
        .text(&what, theme.default());
    if !progress.is_empty() {
        row = row.gap(2).text(&progress, theme.dim());
    }
    row = row.gap(gap).text(&since(status, now), theme.dim());
    row = down(state, status, row);
    let key = state.keys.key(Action::Escape);
    if matches!(phase, Phase::Stopping) {
        return row;
    }
    if state.is_narrow() {
        row.right(&key, theme.accent())
    } else {
        row.hint(&key, "interrupt", styles(state))
    }
}

const fn doing(phase: &Phase) -> &'static str {
    match phase {
        Phase::Waiting => "Waiting for the model",
        Phase::Streaming => "Writing",
        Phase::Tools => "Running tools",
        Phase::Asking => "Waiting for you",
        Phase::Stopping => "Stopping",
        Phase::Idle | Phase::Retrying { .. } | Phase::Compacting { .. } => "Working",
    }
}

/// Whole words up to so many columns.
fn shortened(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        let more = usize::from(!out.is_empty()) + word.chars().count();
        if !out.is_empty() && out.chars().count() + more > columns {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The beginning of a prompt on one line, more than any row shows. It may be megabytes long.
pub fn first_words(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_ROW);
    let text = end.map_or(text, |(end, _)| text.split_at(end).0);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The queue's rows, guidance first.
pub fn queue(state: &State) -> Vec<Row> {
    let queue = &state.queue;
    let mut rows: Vec<Row> = Vec::new();
    if let Some(text) = state.sending.as_ref().filter(|_| state.is_running()) {
        let theme = &state.theme;
        let row = Row::new().fixed(theme.glyphs.later, theme.dim()).gap(1);
        rows.push(
            row.text("sending", theme.dim())
                .to(QUEUE_TEXT)
                .text(text, theme.default()),
        );
    }
    let items = || {
        let guidance = queue.guidance.iter().enumerate();
        let guidance = guidance.map(|(at, item)| (item, true, at == 0));
        let later = queue.follow_ups.iter().enumerate();
        guidance.chain(later.map(|(at, item)| (item, false, at == 0)))
    };
    let total = queue.guidance.len() + queue.follow_ups.len();
    let room = QUEUE_ROWS - rows.len();
    if total <= room {
        rows.extend(items().map(|item| queued(state, item)));
        return rows;
    }
    // Thousands may wait: only what is shown is made into rows. The keys act on the newest one, so that one is
    // among them.
    let shown = room - 2;
    let newest = items().skip(shown).max_by_key(|(item, ..)| item.id);
    rows.extend(items().take(shown).map(|item| queued(state, item)));
    let text = format!("{} more   /queue shows them", total - shown - 1);
    rows.push(Row::new().to(QUEUE_TEXT).text(&text, state.theme.dim()));
    rows.extend(newest.map(|item| queued(state, item)));
    rows
}

fn queued(state: &State, (item, guidance, first): (&QueueItem, bool, bool)) -> Row {
    let theme = &state.theme;
    let paused = state.queue.paused;
    let (glyph, style, word) = match (guidance, paused) {
        (true, _) => (theme.glyphs.next_step, theme.accent(), "next step"),
        (false, true) => (theme.glyphs.later, theme.amber(), "paused"),
        (false, false) => (theme.glyphs.later, theme.dim(), "then"),
    };
    let text = first_words(&item.input.text);
    let row = Row::new()
        .fixed(glyph, style)
        .gap(1)
        .text(word, style)
        .to(QUEUE_TEXT);
    let row = row.text(&text, theme.default());
    if !first || state.is_narrow() {
        return row;
    }
    let styles = styles(state);
    if guidance {
        let when = match state.phase() {
            Phase::Tools => "sends after this tool",
            Phase::Compacting { .. } => "sends after compaction",
            _ => "sends after this step",
        };
        return row.right(when, theme.dim()).hint(
            &state.keys.key(Action::Escape),
            "sends now",
            styles,
        );
    }
    if let Phase::Compacting { .. } = state.phase() {
        return row.right("sends after compaction", theme.dim());
    }
    let row = if paused && !state.is_running() {
        row.hint(&state.keys.key(Action::Submit), "goes on", styles)
    } else {
        row
    };
    row.hint(&state.keys.key(Action::EditQueued), "edit", styles)
        .hint(&state.keys.key(Action::DropQueued), "drop", styles)
}

/// The hairline above the composer: used, pruned, free, and where compaction starts.
pub fn context_line(state: &State, gauge: ContextGauge, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let theme = &state.theme;
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let width = u64::from(area.width);
    let share = |tokens: u64| {
        let rounded = (tokens * width + gauge.window / 2).checked_div(gauge.window);
        rounded.unwrap_or(0).min(width)
    };
    let used = share(gauge.used);
    let pruned = if gauge.pruned > 0 {
        share(gauge.pruned).max(1)
    } else {
        0
    };
    let compact = (gauge.compact_at > 0 && gauge.window > 0)
        .then(|| share(gauge.compact_at).min(width.saturating_sub(1)));
    let style = match numbers::percent(gauge.used, gauge.window) {
        _ if gauge.compact_at > 0 && gauge.used * 10 >= gauge.compact_at * 9 => theme.amber(),
        0..60 => theme.accent(),
        _ => theme.default(),
    };
    for x in 0..width {
        let (glyph, style) = if Some(x) == compact {
            let passed = x < used;
            (
                if passed {
                    theme.glyphs.compact_passed
                } else {
                    theme.glyphs.compact_at
                },
                if passed { style } else { theme.dim() },
            )
        } else if x < used {
            (theme.glyphs.used, style)
        } else if x < used + pruned {
            (theme.glyphs.pruned, theme.dim())
        } else {
            (theme.glyphs.free, theme.dim())
        };
        buf.set_string(area.x + x as u16, area.y, glyph, style);
    }
    if state.composer.is_shell() && state.asks.current().is_none() && area.width > 20 {
        buf.set_string(area.x + 2, area.y, " shell ", theme.amber());
    }
}
