//! `[mcp.NAME]`: servers of tools outside dunlin, and variables in their settings.
//!
//! `keys` names the settings, `crate::mcp` starts what they describe. Values may hold `${NAME}` for a
//! variable of the environment, so that a key need not stand in a file.

use std::collections::BTreeMap;
use std::time::Duration;

/// A server: either a program that speaks over its standard input and output, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSettings {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Extra variables of its environment.
    pub env: BTreeMap<String, String>,
    /// Its folder, from the worktree; none for the worktree itself.
    pub cwd: Option<String>,
    /// The address of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// Headers to send to it.
    pub headers: BTreeMap<String, String>,
    /// False leaves it alone.
    pub enabled: bool,
    /// Patterns of the tools to offer; none for all.
    pub tools: Vec<String>,
    /// How long it may take until its tools are known. Default 10 s.
    pub start_timeout: Duration,
    /// How long a call may be silent. Default 2 min.
    pub timeout: Duration,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            enabled: true,
            tools: Vec::new(),
            start_timeout: Duration::from_secs(10),
            timeout: Duration::from_mins(2),
        }
    }
}

/// Replaces every `${NAME}` by the variable's value. Fails with a sentence if one is not set, or if a
/// brace is never closed; `$NAME` and `$` alone stay as they are.
pub fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(format!("`{text}` has a `${{` without its `}}`."));
        };
        let Some(value) = variable(name) else {
            return Err(format!("The environment variable {name} is not set."));
        };
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Option<String> {
        (name == "KEY").then(|| "s3${KEY}cret".to_owned())
    }

    #[test]
    fn variables_are_replaced_once_and_only_in_braces() {
        let expanded = |text| expand(text, &variables);
        assert_eq!(
            expanded("Bearer ${KEY}!"),
            Ok("Bearer s3${KEY}cret!".into())
        );
        assert_eq!(expanded("$KEY costs $5"), Ok("$KEY costs $5".into()));
        assert_eq!(expanded(""), Ok(String::new()));
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let error = expand("a${NOPE}b", &variables).expect_err("not set");
        assert!(error.contains("NOPE"), "{error}");
        let error = expand("a${KEY", &variables).expect_err("not closed");
        assert!(error.contains("a${KEY"), "{error}");
    }
}
