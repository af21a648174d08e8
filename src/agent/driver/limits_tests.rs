//! The tools that are registered against the one table of limits.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::children::with_own_tools;
use crate::app::{self, Ground, Wishes};
use crate::config::Config;
use crate::config::paths::Paths;
use crate::protocol::link;
use crate::tools::output::rules::RULES;

#[test]
fn every_tool_that_a_session_has_is_in_the_table_of_limits_and_no_other() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().canonicalize().expect("a folder");
    let ground = Ground {
        paths: Paths {
            config_dir: root.join("config"),
            data_dir: root.join("data"),
            home: root.clone(),
        },
        folder: root.clone(),
        worktree: root,
        config: Config::default(),
        warnings: Vec::new(),
        sources: Vec::new(),
        trusted: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let _inside = runtime.enter();
    let (outbox, _inbox) = link::events();
    let ports = app::ports(ground, &Wishes::default(), outbox).expect("ports");
    let (back, _receiver) = mpsc::unbounded_channel();
    let ports = with_own_tools(ports, &back);
    let registered: BTreeSet<&str> = ports
        .tools
        .iter()
        .map(|tool: &Arc<_>| tool.name())
        .collect();
    let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.tool).collect();
    assert_eq!(registered, known);
}
