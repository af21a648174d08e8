//! Lists and what they do: skills, own commands, earlier prompts, palette, permissions, effort,
//! pictures, hints, clicks.

use dunlin::config::commands::CommandDef;
use dunlin::config::skills::SkillDef;
use dunlin::protocol::event::{PermissionRule, Phase};
use dunlin::protocol::{Delivery, Effort, Event, FileSource, Op, Role};
use dunlin::tui::composer::attach::Picture;
use dunlin::tui::composer::history::Past;
use dunlin::tui::composer::offers::Offers;
use dunlin::tui::input::{Input, Mouse, MouseKind};
use dunlin::tui::update::{Effect, Known, Msg};

use super::fixtures::World;

fn offers() -> Offers {
    let skill = |name: &str, description: &str| SkillDef {
        name: name.to_owned(),
        description: description.to_owned(),
        path: format!("/skills/{name}/SKILL.md").into(),
    };
    let command = CommandDef {
        name: "git/review".to_owned(),
        description: "Reviews a branch".to_owned(),
        hint: "<branch>".to_owned(),
        agent: Some("plan".to_owned()),
        model: None,
        template: "Review $1 with care.".to_owned(),
        source: "/commands/git/review.md".into(),
    };
    Offers {
        recent: Vec::new(),
        commands: vec![command],
        skills: vec![
            skill("release", "How we release"),
            skill("review", "How we review"),
        ],
        agents: vec![("docs".to_owned(), "Writes the manual".to_owned())],
    }
}

fn knowing(known: Known) -> World {
    let mut world = World::new(100, 30);
    world.tui.tell(Msg::Connected(Box::new(known)));
    world.tui.effects();
    world
}

fn prompts(world: &mut World) -> Vec<dunlin::protocol::PromptInput> {
    let ops = world.tui.ops();
    ops.into_iter()
        .filter_map(|op| match op {
            Op::Prompt { input, .. } => Some(input),
            _ => None,
        })
        .collect()
}

#[test]
fn a_skill_is_completed_and_its_page_goes_along() {
    let mut world = knowing(Known {
        offers: offers(),
        ..Known::default()
    });
    world.tui.type_text("ship it $rel");
    let screen = world.tui.screen();
    assert!(screen.contains("❯ $release"), "{screen}");
    assert!(screen.contains("How we release"), "{screen}");
    world.tui.press("tab enter");
    let sent = prompts(&mut world);
    assert_eq!(sent[0].text, "ship it $release ");
    let path = FileSource::Path("/skills/release/SKILL.md".to_owned());
    assert_eq!(sent[0].files[0].source, path);
}

#[test]
fn a_dollar_means_nothing_in_a_shell_line_or_without_skills() {
    let mut world = knowing(Known {
        offers: offers(),
        ..Known::default()
    });
    world.tui.type_text("!echo $re");
    assert!(world.tui.state.composer.popup.is_none());
    let mut world = World::new(100, 30);
    world.tui.type_text("costs $re");
    assert!(world.tui.state.composer.popup.is_none());
}

#[test]
fn a_command_of_the_users_own_is_completed_and_becomes_its_page() {
    let mut world = knowing(Known {
        offers: offers(),
        ..Known::default()
    });
    world.tui.type_text("/git/");
    let screen = world.tui.screen();
    assert!(
        screen.contains("/git/review") && screen.contains("Reviews a branch"),
        "{screen}"
    );
    world.tui.press("enter");
    assert_eq!(
        world.tui.state.composer.expanded(),
        "/git/review ",
        "it needs a word"
    );
    world.tui.type_text("main");
    world.tui.press("enter");
    let ops = world.tui.ops();
    assert!(ops.contains(&Op::SetAgent("plan".to_owned())), "{ops:?}");
    assert!(
        matches!(ops.last(), Some(Op::Prompt { input, delivery: Delivery::Guidance })
            if input.text == "Review main with care."),
        "{ops:?}"
    );
    world.tui.press("↑");
    assert_eq!(world.tui.state.composer.expanded(), "/git/review main");
}

#[test]
fn an_agent_of_the_users_own_is_offered() {
    let mut world = knowing(Known {
        offers: offers(),
        ..Known::default()
    });
    world.tui.type_text("/agent");
    world.tui.press("enter");
    let screen = world.tui.screen();
    assert!(
        screen.contains("docs") && screen.contains("Writes the manual"),
        "{screen}"
    );
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::SetAgent("docs".to_owned())]);
}

#[test]
fn earlier_prompts_are_searched_with_a_preview_this_project_first() {
    let elsewhere = Past {
        text: "port the parser".to_owned(),
        place: "pager".to_owned(),
    };
    let mut world = knowing(Known {
        history: vec![
            elsewhere,
            Past::here("fix the parser\nand its tests"),
            Past::here("bump"),
        ],
        ..Known::default()
    });
    world.tui.type_text("parser");
    world.tui.press("ctrl+r");
    let screen = world.tui.screen();
    let at = |text: &str| {
        screen
            .find(text)
            .unwrap_or_else(|| panic!("{text} is not in:\n{screen}"))
    };
    assert!(at("fix the parser") < at("port the parser"), "{screen}");
    assert!(
        screen.contains("2 of 3") && screen.contains("pager"),
        "{screen}"
    );
    assert!(screen.contains("and its tests"), "the preview: {screen}");
    world.tui.press("enter");
    assert_eq!(
        world.tui.state.composer.expanded(),
        "fix the parser\nand its tests"
    );
}

#[test]
fn the_palette_runs_commands_and_actions_by_name() {
    let mut world = World::new(100, 30);
    world.tui.press("alt+x");
    world.tui.type_text("what changed");
    world.tui.press("enter");
    assert!(matches!(world.tui.ops()[..], [Op::Diff(_)]), "a command");
    world.tui.press("alt+x");
    world.tui.type_text("redraw");
    world.tui.press("enter");
    assert!(world.tui.effects().contains(&Effect::Redraw), "an action");
    world.tui.press("alt+x");
    world.tui.type_text("/rename");
    world.tui.press("enter");
    assert_eq!(
        world.tui.state.composer.expanded(),
        "/rename ",
        "it needs words"
    );
}

#[test]
fn permissions_are_listed_by_owner_and_grants_taken_back() {
    let rule = |owner: &str, pattern: &str, action: &str| PermissionRule {
        owner: owner.to_owned(),
        tool: "bash".to_owned(),
        pattern: pattern.to_owned(),
        action: action.to_owned(),
        revocable: owner != "user",
    };
    let rules = vec![
        rule("grants", "cargo add *", "allow"),
        rule("user", "git push *", "deny"),
    ];
    let mut world = World::new(100, 30);
    world.tui.type_text("/permissions");
    world.tui.press("enter");
    assert_eq!(world.tui.ops(), [Op::ListPermissions]);
    world.tui.event(Event::Permissions {
        rules: rules.clone(),
    });
    let screen = world.tui.screen();
    for text in [
        "Granted for this project",
        "cargo add *",
        "Your configuration",
        "deny",
    ] {
        assert!(screen.contains(text), "{text} is not in:\n{screen}");
    }
    world.tui.press("↓ x");
    assert_eq!(
        world.tui.ops(),
        [],
        "a rule of a file is not taken back here"
    );
    world.tui.press("↑ x");
    let revoke = Op::RevokePermission {
        owner: "grants".to_owned(),
        tool: "bash".to_owned(),
        pattern: "cargo add *".to_owned(),
    };
    assert_eq!(world.tui.ops(), [revoke]);
    world.tui.event(Event::Permissions {
        rules: rules[1..].to_vec(),
    });
    assert!(!world.tui.screen().contains("cargo add"));
    world.tui.press("esc");
    assert!(!world.tui.screen().contains("Permissions"));
}

#[test]
fn the_effort_is_chosen_beside_the_model() {
    let mut world = World::new(100, 30);
    world.status(Phase::Idle, 0, |status| {
        status.model_label = "sonnet-x high".to_owned();
    });
    world.tui.press("alt+m");
    world.tui.ops();
    assert!(
        world.tui.screen().contains("effort high"),
        "{}",
        world.tui.screen()
    );
    world.tui.press("tab tab");
    assert!(world.tui.screen().contains("effort default"));
    assert_eq!(world.tui.ops(), [], "nothing is chosen yet");
}

fn shot() -> Picture {
    Picture {
        name: "shot.png".to_owned(),
        mime: "image/png".to_owned(),
        path: "/tmp/shot.png".to_owned(),
        bytes: 86_000,
        pixels: Some((640, 480)),
    }
}

#[test]
fn a_picture_is_pasted_or_dropped_and_goes_along() {
    let mut world = World::new(100, 30);
    world.tui.press("ctrl+v");
    assert_eq!(world.tui.effects(), [Effect::PasteImage]);
    world.tui.tell(Msg::Pictures(Ok(vec![shot()])));
    let screen = world.tui.screen();
    assert!(screen.contains("❯ [shot.png 640x480 84 KB]"), "{screen}");
    world.tui.type_text(" what is wrong here?");
    world.tui.press("enter");
    let sent = prompts(&mut world);
    assert_eq!(sent[0].text, "[shot.png] what is wrong here?");
    assert_eq!(
        sent[0].files[0].source,
        FileSource::Path("/tmp/shot.png".to_owned())
    );
    let dropped = "/tmp/my\\ shot.png";
    world.tui.tell(Msg::Input(Input::Paste(dropped.to_owned())));
    let attach = Effect::Attach {
        paths: vec!["/tmp/my shot.png".to_owned()],
        text: dropped.to_owned(),
    };
    assert_eq!(world.tui.effects(), [attach]);
    world.tui.tell(Msg::PlainPaste(dropped.to_owned()));
    assert_eq!(
        world.tui.state.composer.expanded(),
        dropped,
        "no such file: text"
    );
}

#[test]
fn hints_go_when_what_they_say_is_known() {
    let mut world = World::new(100, 30);
    assert!(world.tui.screen().contains("@ file"));
    for _ in 0..5 {
        world.tui.type_text("@");
        assert!(world.tui.effects().contains(&Effect::SaveHints));
        world.tui.press("esc backspace");
    }
    let screen = world.tui.screen();
    assert!(
        !screen.contains("@ file") && screen.contains("/ command"),
        "{screen}"
    );
    world.tui.effects();
    world.tui.type_text("@");
    assert!(
        !world.tui.effects().contains(&Effect::SaveHints),
        "nothing new"
    );
}

#[test]
fn two_clicks_take_a_word_and_three_the_line_however_it_is_wrapped() {
    let mut world = World::new(60, 20);
    world.say(Role::User, "go");
    let words = "look at src/tui/update/mouse.rs and tell me what a click does there, please";
    world.say(Role::Assistant, words);
    world.status(Phase::Idle, 0, |_| {});
    let screen = world.tui.screen();
    let row = screen
        .lines()
        .position(|line| line.contains("src/tui"))
        .expect("the answer");
    let line: Vec<char> = screen.lines().nth(row).expect("its row").chars().collect();
    let text: String = line.iter().collect();
    let col = text[..text.find("update").expect("the path")]
        .chars()
        .count();
    let click = |world: &mut World| {
        for kind in [MouseKind::Down, MouseKind::Up] {
            let (col, row) = (col as u16, row as u16);
            world
                .tui
                .tell(Msg::Input(Input::Mouse(Mouse { kind, col, row })));
        }
        world.tui.draw();
    };
    click(&mut world);
    click(&mut world);
    assert_eq!(
        world.tui.state.transcript.selected_text().as_deref(),
        Some("src/tui/update/mouse.rs")
    );
    click(&mut world);
    assert_eq!(
        world.tui.state.transcript.selected_text().as_deref(),
        Some(words)
    );
    world.tui.wait(1_000);
    click(&mut world);
    assert_eq!(
        world.tui.state.transcript.selected_text(),
        None,
        "a later click begins anew"
    );
}

#[test]
fn an_exported_file_holds_what_its_name_says() {
    let mut world = knowing(Known::default());
    for (typed, format, path) in [
        ("/export notes.jsonl", "jsonl", Some("notes.jsonl")),
        ("/export notes.json", "json", Some("notes.json")),
        ("/export json notes.txt", "json", Some("notes.txt")),
        ("/export notes", "md", Some("notes")),
        ("/export", "md", None),
    ] {
        world.tui.effects();
        world.tui.type_text(typed);
        world.tui.press("enter");
        let wanted = Op::Export {
            format: format.to_owned(),
            path: path.map(str::to_owned),
        };
        assert_eq!(world.tui.ops(), [wanted], "{typed}");
    }
}

#[test]
fn lists_open_on_what_is_set() {
    use dunlin::protocol::Mode;
    let mut world = World::new(100, 30);
    world.status(Phase::Idle, 0, |status| status.mode = Mode::Plan);
    for (command, chosen) in [("/mode", "❯ plan"), ("/effort", "❯ high")] {
        world.tui.type_text(command);
        world.tui.press("enter");
        let screen = world.tui.screen();
        let row = screen.lines().find(|row| row.contains(chosen));
        assert!(row.is_some_and(|row| row.ends_with("now")), "{screen}");
        assert!(!screen.contains("↓ down"), "all of it is shown: {screen}");
        world.tui.press("esc");
    }
}

#[test]
fn the_model_in_use_is_chosen_first_and_the_effort_counts_with_enter() {
    use dunlin::protocol::event::ModelChoice;
    let mut world = World::new(100, 30);
    world.status(Phase::Idle, 0, |_| {});
    let choice = |name: &str, usable, price| ModelChoice {
        model: name.parse().expect("a model"),
        context: 1_000_000,
        input_price: Some(price),
        output_price: Some(price * 5.0),
        usable,
    };
    let models = vec![
        choice("aaa/no-key", false, 1.25),
        choice("anthropic/haiku", true, 10.0),
        choice("anthropic/sonnet-x", true, 3.0),
    ];
    world.tui.press("alt+m");
    world.tui.event(Event::Models { models });
    let screen = world.tui.screen();
    let rows: Vec<&str> = screen.lines().filter(|row| row.contains('$')).collect();
    assert!(
        rows[0].contains("❯ anthropic/sonnet-x") && rows[0].contains("now"),
        "{screen}"
    );
    assert!(rows[2].contains("aaa/no-key"), "{screen}");
    let column = |row: &str| row.chars().position(|c| c == 'i').is_some();
    assert!(rows.iter().all(|row| column(row)));
    let place = |row: &&str| row.find(" in ").map(|at| row[..at].chars().count());
    assert!(
        rows.iter().all(|row| place(row) == place(&rows[0])),
        "{screen}"
    );
    world.tui.ops();
    world.tui.press("tab tab esc");
    assert_eq!(world.tui.ops(), [], "Esc leaves the effort as it was");
    world.tui.press("alt+m");
    let models = vec![choice("anthropic/sonnet-x", true, 3.0)];
    world.tui.event(Event::Models { models });
    world.tui.press("tab enter");
    let ops = world.tui.ops();
    assert_eq!(
        ops.last(),
        Some(&Op::SetEffort(Some(Effort::Max))),
        "{ops:?}"
    );
}

#[test]
fn a_long_text_is_broken_not_cut_and_counted_only_if_it_does_not_fit() {
    let mut world = World::new(60, 20);
    world.say(Role::User, "go");
    let part = dunlin::protocol::PartId::from_raw(3);
    let words: Vec<String> = (1..=60).map(|n| format!("word{n}")).collect();
    let text = words.join(" ");
    world.tui.event(Event::Output { part, text });
    let screen = world.tui.screen();
    for word in &words {
        assert!(
            screen.replace('\n', "").contains(word.as_str()),
            "{word}: {screen}"
        );
    }
    assert!(
        !screen.contains("down") && !screen.contains(" of "),
        "{screen}"
    );
    world.tui.press("esc");
    let text = (1..=100).map(|n| format!("line {n}\n")).collect();
    world.tui.event(Event::Output { part, text });
    let screen = world.tui.screen();
    assert!(screen.contains("lines 1–16 of 100"), "{screen}");
    world.tui.press("end");
    let screen = world.tui.screen();
    assert!(
        screen.contains("line 100") && screen.contains("line 85"),
        "{screen}"
    );
    world.tui.press("↑");
    assert!(!world.tui.screen().contains("line 100"));
}

#[test]
fn the_kinds_of_the_context_add_up_and_their_bars_keep_their_proportions() {
    use dunlin::tui::overlay::Overlay;
    use dunlin::tui::overlay::inspector::Inspector;
    let report = serde_json::json!({
        "messages": 3, "parts": 4, "total_tokens": 4_914,
        "distribution": {"system": 444, "tools": 3_803, "instructions": 0, "user": 7,
            "assistant": 837, "reasoning": 32, "tool_results": 454},
        "largest": [{"tool": "read", "title": "src/a/very/long/path/of/a/file.rs", "tokens": 700,
            "turn": 3, "changed_in": 4}],
    });
    for width in [120, 60] {
        let mut world = World::new(width, 30);
        world.status(Phase::Idle, 0, |_| {});
        let view = Inspector::new(&report, super::fixtures::GAUGE, "m".to_owned());
        world.tui.state.overlays.push(Overlay::Inspector(view));
        let screen = world.tui.screen();
        let row = |label: &str| {
            let row = screen
                .lines()
                .find(|row| row.trim_start().starts_with(label));
            row.unwrap_or_else(|| panic!("{label}: {screen}"))
                .to_owned()
        };
        let labels = [
            "System prompt",
            "Tool schemas",
            "Project instructions",
            "Your messages",
            "Assistant text",
            "Reasoning",
            "Tool results",
        ];
        let count = |label: &str| -> u64 {
            let row = row(label).replace(label, "").replace(',', "");
            let number = row.split_whitespace().next().expect("a number");
            number.parse().expect("a number")
        };
        assert_eq!(
            labels.iter().map(|l| count(l)).sum::<u64>(),
            4_914,
            "{screen}"
        );
        let bar = |label: &str| row(label).matches('━').count() as f64;
        let share = bar("System prompt") / bar("Tool schemas");
        assert!((0.0..=0.25).contains(&share), "{share}: {screen}");
        assert!(row("Largest").contains("stale"), "{screen}");
    }
}

#[test]
fn without_changes_the_view_offers_no_hunks_and_the_key_looks_further() {
    use dunlin::protocol::{DiffReport, DiffScope};
    let mut world = World::new(120, 40);
    world.say(Role::User, "go");
    let empty = |scope| DiffReport {
        scope,
        files: Vec::new(),
        notes: Vec::new(),
    };
    world.tui.press("alt+g");
    world.tui.event(Event::Diff(empty(DiffScope::Turn)));
    let asked = [Op::Diff(DiffScope::Turn), Op::Diff(DiffScope::Session)];
    assert_eq!(world.tui.ops(), asked);
    world.tui.event(Event::Diff(empty(DiffScope::Session)));
    let screen = world.tui.screen();
    assert!(
        screen.contains("Nothing was changed in this session."),
        "{screen}"
    );
    assert!(
        !screen.contains("undo hunk") && !screen.contains("0 of 0"),
        "{screen}"
    );
}
