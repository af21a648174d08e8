//! Any sequence of changes: the tree stays git's, and an undo of all of it brings everything back.

use dunlin::snapshot::Hints;
use proptest::prelude::*;

use super::world::{World, contents, has_git};

/// A few names, so that operations meet each other.
fn name() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "c", "src", "x.log", "target"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

/// A shell command that may well fail; what it does is what counts.
fn operation() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (name(), 0..4_u8).prop_map(|(n, v)| format!("mkdir -p $(dirname {n}); echo {v} > {n}")),
        2 => (name(), 0..9_u8).prop_map(|(n, v)| format!("echo {v} >> {n}")),
        2 => name().prop_map(|n| format!("rm -rf {n}")),
        2 => (name(), name()).prop_map(|(a, b)| format!("mv {a} {b}")),
        1 => (name(), name()).prop_map(|(a, b)| format!("cp -r {a} {b}")),
        1 => name().prop_map(|n| format!("mkdir -p {n}")),
        1 => (name(), name()).prop_map(|(a, b)| format!("ln -sfn {a} {b}")),
        1 => name().prop_map(|n| format!("chmod +x {n}")),
        1 => name().prop_map(|n| format!("chmod a-x {n}; test -d {n} && chmod +x {n}")),
        1 => (name(), name()).prop_map(|(n, r)| format!("echo /{r} >> {n}/.gitignore")),
        1 => name().prop_map(|r| format!("echo {r} >> .gitignore")),
        1 => Just("sed -i 1d .gitignore".to_owned()),
        1 => name().prop_map(|n| format!("git add -f {n}")),
    ]
}

/// Batches of operations; after each a snapshot is taken.
fn batches() -> impl Strategy<Value = Vec<String>> {
    let operation = operation().prop_map(|o| format!("( {o} ) 2>/dev/null || :"));
    let batch = prop::collection::vec(operation, 1..7).prop_map(|lines| lines.join("\n"));
    prop::collection::vec(batch, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_tree_is_gits(batches in batches(), watch in any::<bool>()) {
        if !has_git() {
            return Ok(());
        }
        let mut world = World::git();
        world.settings.watch = watch;
        world.open();
        world.check(&world.take(Hints::none()), "first");
        for batch in &batches {
            world.sh(batch);
            world.check(&world.after_command(), batch);
        }
        let last = world.take(Hints::none());
        let full = world.take(Hints::full());
        prop_assert_eq!(&last.tree, &full.tree, "a full look finds nothing new");
        world.open();
        prop_assert_eq!(world.take(Hints::none()).tree, full.tree, "a new process agrees");
    }

    #[test]
    fn an_undo_of_everything_brings_everything_back(batches in batches(), watch in any::<bool>()) {
        if !has_git() {
            return Ok(());
        }
        let mut world = World::git();
        world.settings.watch = watch;
        // without rules, everything on disk is in the tree
        world.sh("rm .gitignore; mkdir -p a b/c; echo 1 > a/b; echo 2 > b/c/a; ln -s a c");
        world.open();
        let from = world.take(Hints::none()).tree;
        let files = |world: &World| -> Vec<_> {
            // an empty folder is nothing to a tree
            let all = contents(&world.root());
            all.into_iter().filter(|(path, _, _)| path.is_symlink() || !path.is_dir()).collect()
        };
        let before = files(&world);
        let mut writes = Vec::new();
        for batch in &batches {
            writes.extend(world.tool(&batch.replace(".gitignore", "rules")));
        }
        let after = files(&world);
        let undone = world.restore(&writes, false);
        prop_assert_eq!(files(&world), before, "undo {:#?}", undone.files);
        prop_assert_eq!(world.after_command().tree, from);
        let redone = world.restore(&undone.undone, false);
        prop_assert_eq!(files(&world), after, "redo {:#?}", redone.files);
    }
}
