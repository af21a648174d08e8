//! `dunlin doctor`: each thing by name, and what to do about it.

use crate::support::world::World;

#[test]
fn each_thing_is_named_and_what_is_wrong_comes_with_a_remedy() {
    let mut world = World::new();
    let ran = world.run(&["doctor"]).code(1);
    for what in [
        "! terminal",
        "✓ signs",
        "! keys",
        "✓ network",
        "✓ git",
        "sandbox",
        "✓ store",
        "editor",
        "clipboard",
        "✓ configuration",
        "dunlin auth login",
        "to look at.",
    ] {
        assert!(
            ran.stdout.contains(what),
            "{what} is not in:\n{}",
            ran.stdout
        );
    }
    world.set("ANTHROPIC_API_KEY", "not-shown");
    world.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
    let ran = world.run(&["doctor"]).code(1);
    assert!(
        ran.stdout
            .contains("anthropic: 127.0.0.1:1 does not answer"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("not-shown"), "{}", ran.stdout);
}
