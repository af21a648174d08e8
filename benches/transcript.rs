//! What a frame costs, in CPU time of this thread and in bytes to the terminal: scrolling over
//! 10,000 cells, streaming, the first frame after a change of width. `cargo bench --bench transcript`
//! prints the percentiles against the budgets of UX §2, then criterion's own figures. A frame is
//! layout, drawing into cells, comparison with the screen and the bytes; the write is not in it.

#![expect(clippy::print_stdout, reason = "its figures are what it is for")]

use std::time::Duration;

use criterion::Criterion;
use dunlin::protocol::{
    Event, IdMint, Message, MessageId, ModelRef, Part, PartBody, PartId, Role, SessionId, Tokens,
    ToolPart, ToolState,
};
use dunlin::tui::term::paint::Painter;
use dunlin::tui::theme::{ColourDepth, Theme, ThemeChoice};
use dunlin::tui::transcript::{Look, Transcript};
use serde_json::{Value, json};

const DIFF: &str = "@@ -41,3 +41,6 @@\n         let cells = self.cells.len();\n-        self.reflow(width);\n+        if self.replaying {\n+            self.reflow_after_replay = Some(width);\n+        } else {\n+            self.reflow(width);\n         }\n";

struct Talk {
    mint: IdMint,
    session: SessionId,
    message: MessageId,
    transcript: Transcript,
}

impl Talk {
    fn new() -> Self {
        let mut mint = IdMint::new(1, 0);
        Self {
            session: mint.session(0),
            message: mint.message(0),
            mint,
            transcript: Transcript::new(),
        }
    }

    fn begin(&mut self, role: Role) {
        self.message = self.mint.message(0);
        let message = Message {
            id: self.message,
            session: self.session,
            parent: None,
            role,
            agent: "build".to_owned(),
            model: ModelRef {
                provider: "p".to_owned(),
                model: "m".to_owned(),
            },
            summary: false,
            finish: None,
            error: None,
            tokens: Tokens::default(),
            cost: None,
            created: 0,
            completed: None,
        };
        self.transcript.apply(&Event::MessageCreated { message }, 0);
    }

    fn add(&mut self, body: PartBody, done: bool) -> PartId {
        let id = self.mint.part(0);
        let part = Part {
            id,
            message: self.message,
            session: self.session,
            start: 0,
            end: done.then_some(0),
            body,
        };
        self.transcript.apply(&Event::PartUpdated { part }, 0);
        id
    }

    fn tool(&mut self, tool: &str, output: &str, metadata: Value) {
        self.add(
            PartBody::Tool(ToolPart {
                call: String::new(),
                tool: tool.to_owned(),
                state: ToolState::Completed {
                    input: Value::Null,
                    output: output.to_owned(),
                    title: "src/tui/transcript.rs".to_owned(),
                    metadata,
                    attachments: Vec::new(),
                    truncated: None,
                    compacted_at: None,
                    start: 0,
                    end: 1_500,
                },
                provider: None,
            }),
            true,
        );
    }
}

fn said(text: &str) -> PartBody {
    PartBody::Text {
        text: text.to_owned(),
        synthetic: false,
        ignored: false,
    }
}

const ANSWER: &str = "## What was wrong\n\nThe reflow runs while replay is still *filling* the list, so the height it measures is **short**. See `Pager::on_resize`:\n\n```rust\nfn on_resize(&mut self, width: u16) {\n    self.reflow(width);\n}\n```\n\n- first, confirm the ordering\n- then make reflow wait for replay, which costs nothing\n\n";

/// Ten thousand cells of a working session.
fn long() -> Talk {
    let mut talk = Talk::new();
    for n in 0..2_000 {
        if n % 10 == 0 {
            talk.begin(Role::User);
            talk.add(said("Why does the resize test flake? Fix it."), true);
        }
        talk.begin(Role::Assistant);
        talk.add(said(ANSWER), true);
        talk.tool("read", "x", Value::Null);
        talk.tool("bash", &"output line\n".repeat(30), json!({"exit": n % 2}));
        talk.tool(
            "edit",
            "ok",
            json!({"diff": DIFF, "added": 4, "removed": 1}),
        );
        talk.tool("mcp__a__b", "x", Value::Null);
    }
    talk
}

fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// Time and bytes of one frame.
fn frame(transcript: &mut Transcript, screen: &mut Painter, theme: &Theme) -> (Duration, usize) {
    let start = cpu();
    let area = screen.area();
    transcript.render(area, screen.canvas(), &Look::new(theme, 0));
    let bytes = screen.frame("", None).map_or(0, <[u8]>::len);
    (cpu().saturating_sub(start), bytes)
}

fn report(what: &str, budget_us: u128, frames: &[(Duration, usize)]) {
    let mut times: Vec<_> = frames.iter().map(|(time, _)| *time).collect();
    let mut sizes: Vec<_> = frames.iter().map(|(_, bytes)| *bytes).collect();
    times.sort_unstable();
    sizes.sort_unstable();
    let place = |share: usize| (frames.len() * share / 1000).min(frames.len() - 1);
    let at = |share: usize| times[place(share)].as_micros();
    let good = at(990) <= budget_us && sizes[place(990)] <= 8_192;
    println!(
        "{what:<40} p50 {:>5} µs  p99 {:>5} µs  max {:>5} µs  (budget {budget_us})  p50 {:>5} B  p99 {:>5} B  {}",
        at(500),
        at(990),
        at(1000),
        sizes[place(500)],
        sizes[place(990)],
        if good { "ok" } else { "OVER" }
    );
}

fn percentiles(theme: &Theme) {
    let mut talk = long();
    let mut screen = Painter::new(120, 40);
    let first = frame(&mut talk.transcript, &mut screen, theme);
    report("first frame, 10,000 cells", 4_000, &[first]);
    let mut times = Vec::new();
    for n in 0..4_000 {
        talk.transcript
            .scroll_lines(if n % 400 < 300 { -3 } else { 3 });
        times.push(frame(&mut talk.transcript, &mut screen, theme));
    }
    report("scroll by 3 rows", 1_000, &times);
    let mut times = Vec::new();
    for n in 0..600 {
        talk.transcript.page(if n % 200 < 150 { -1 } else { 1 });
        times.push(frame(&mut talk.transcript, &mut screen, theme));
    }
    report("scroll by a page", 1_000, &times);
    let mut times = Vec::new();
    for n in 0..200_u16 {
        screen.resize(60 + n % 80, 40);
        times.push(frame(&mut talk.transcript, &mut screen, theme));
    }
    report("first frame after a width change", 4_000, &times);
    talk.transcript.to_bottom();
    let start = cpu();
    let hits = talk.transcript.find("ordering");
    report(
        &format!("find over 10,000 cells ({hits} hits)"),
        100_000,
        &[(cpu().saturating_sub(start), 0)],
    );
    println!(
        "weight of 10,000 cells and layouts: {} KiB",
        talk.transcript.weight() / 1024
    );
}

/// 20,000 deltas of 20 bytes; a frame after every `per_frame` of them.
fn stream(theme: &Theme, what: &str, text: &str, per_frame: usize) {
    let mut talk = Talk::new();
    talk.begin(Role::User);
    talk.add(said("Go."), true);
    talk.begin(Role::Assistant);
    let part = talk.add(said(""), false);
    let message = talk.message;
    let mut screen = Painter::new(120, 40);
    let bytes: Vec<char> = text.chars().cycle().take(400_000).collect();
    let deltas: Vec<Event> = bytes
        .chunks(20)
        .map(|chunk| Event::PartDelta {
            part,
            message,
            delta: chunk.iter().collect(),
        })
        .collect();
    let mut times = Vec::new();
    let start = cpu();
    for (n, delta) in deltas.iter().enumerate() {
        talk.transcript.apply(delta, 0);
        if n % per_frame == 0 {
            times.push(frame(&mut talk.transcript, &mut screen, theme));
        }
    }
    let total = cpu().saturating_sub(start);
    println!(
        "{what}: {} deltas, {} frames, {} ms in all",
        deltas.len(),
        times.len(),
        total.as_millis()
    );
    report("  a streaming frame", 2_000, &times);
    let mut times = Vec::new();
    for n in 0..40_u16 {
        screen.resize(80 + n, 40);
        times.push(frame(&mut talk.transcript, &mut screen, theme));
    }
    report("  its first frame after a width change", 4_000, &times);
}

fn main() {
    let theme = Theme::new(ThemeChoice::Dark, ColourDepth::Truecolour, Some((0, 0, 0)));
    percentiles(&theme);
    // As fast as they come: 0.6 s at 30 fps are 18 frames. Paced at 200/s: a frame for every 7.
    stream(&theme, "flood, Markdown", ANSWER, 20_000 / 18);
    stream(&theme, "paced, Markdown", ANSWER, 7);
    stream(&theme, "paced, one paragraph", "word and more words ", 7);
    stream(
        &theme,
        "paced, one code block",
        &format!("```rust\n{}", "let some = line(of, code);\n".repeat(20_000)),
        7,
    );
    stream(&theme, "paced, one list", "- an item of a list\n", 7);
    let mut criterion = Criterion::default().configure_from_args();
    let mut talk = long();
    let mut screen = Painter::new(120, 40);
    criterion.bench_function("scroll", |b| {
        b.iter(|| {
            talk.transcript.scroll_lines(-1);
            frame(&mut talk.transcript, &mut screen, &theme)
        });
    });
    criterion.final_summary();
}
