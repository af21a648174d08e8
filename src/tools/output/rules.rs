//! Which limit holds for which tool: the one table of Tier 1.
//!
//! `cut` reads the limits out of it, `bound` the exceptions; a test holds it against the tools that are
//! registered. A tool that is not in it (an MCP server's) falls under the widest limit.

/// The limit of a tool of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Characters, from both ends. A limit of its own, in place of the general one: 30,000 characters may
    /// be more than 2,000 lines and, where they are wide, more than 50 KiB.
    Bash,
    /// Lines and characters of each line, within the general bytes.
    Read,
    /// Matches, within the general bytes.
    Grep,
    /// Paths, within the general bytes.
    Glob,
    /// Lines and bytes.
    General,
}

/// What holds for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub tool: &'static str,
    /// How much of its output stays.
    pub limit: Limit,
    /// True if it cuts where it makes its output, in ways of its own: what it adds (an exit code, how to
    /// go on) comes on top.
    pub itself: bool,
}

const fn rule(tool: &'static str, limit: Limit, itself: bool) -> Rule {
    Rule {
        tool,
        limit,
        itself,
    }
}

/// All tools of ours.
pub const RULES: &[Rule] = &[
    rule("bash", Limit::Bash, true),
    rule("bash_output", Limit::Bash, true),
    rule("kill", Limit::General, false),
    rule("read", Limit::Read, true),
    rule("grep", Limit::Grep, true),
    rule("glob", Limit::Glob, true),
    rule("list", Limit::General, true),
    rule("edit", Limit::General, false),
    rule("write", Limit::General, false),
    rule("apply_patch", Limit::General, false),
    rule("todo", Limit::General, false),
    rule("question", Limit::General, false),
    rule("skill", Limit::General, true),
    rule("web_fetch", Limit::General, true),
    rule("task", Limit::General, true),
    rule("recall", Limit::General, true),
];

/// The rule of a tool; none if it is not ours.
pub fn of(tool: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.tool == tool)
}
