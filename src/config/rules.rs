//! Permission rules as they are typed, in every form that is accepted.
//!
//! `[permission]` of a configuration file, `.dunlin/permissions.toml`, an agent's front matter and
//! `dunlin permissions check --rules FILE` all come through here. What a rule means is
//! `permission`'s business; here it is only read.
//!
//! ```toml
//! [permission]
//! web_fetch = "ask"                                  # a tool and a word
//! bash = { "*" = "ask", "git push *" = "deny" }      # a tool and its patterns, in order
//!
//! [[rule]]                                           # what dunlin writes itself
//! tool = "bash"
//! pattern = "cargo add *"
//! action = "allow"
//! ```

use super::document::{self, Typed, TypedValue};
use super::used::{Rule, RuleAction};

/// A complaint about a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRule {
    /// Line, from 1; 0 where there is none.
    pub line: usize,
    /// What is wrong and what to write instead, without the place.
    pub message: String,
}

/// Reads a file of rules: TOML, or JSON if it begins with `{` or `[`. The rules may stand at the
/// top level or below `permission`.
pub fn read_file(text: &str) -> Result<Vec<Rule>, Vec<BadRule>> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    let json = trimmed.starts_with('{') || (trimmed.starts_with('[') && is_json_list(trimmed));
    let table = if json {
        match from_json(trimmed)? {
            TypedValue::Table(entries) => entries,
            list => vec![(
                "rule".to_owned(),
                Typed {
                    line: 1,
                    value: list,
                },
            )],
        }
    } else {
        document::parse(text).map_err(|errors| {
            errors
                .into_iter()
                .map(|e| BadRule {
                    line: e.line,
                    message: format!("not valid TOML: {}", e.message),
                })
                .collect::<Vec<_>>()
        })?
    };
    let nested = table.iter().find_map(|(key, typed)| match &typed.value {
        TypedValue::Table(inner) if matches!(key.as_str(), "permission" | "permissions") => {
            Some(inner)
        }
        _ => None,
    });
    read_table(nested.unwrap_or(&table))
}

/// Reads a table of rules.
pub fn read_table(table: &[(String, Typed)]) -> Result<Vec<Rule>, Vec<BadRule>> {
    let mut rules = Vec::new();
    let mut bad = Vec::new();
    for (key, typed) in table {
        let result = match (key.as_str(), &typed.value) {
            ("rule" | "rules", TypedValue::List(items)) => read_list(items, &mut rules),
            ("allow" | "ask" | "deny", TypedValue::List(items)) => {
                read_short(key, items, &mut rules)
            }
            (tool, TypedValue::Table(patterns)) => read_patterns(tool, patterns, &mut rules),
            (tool, word) => action(word, typed.line).map(|action| {
                rules.push(Rule {
                    tool: tool.to_owned(),
                    pattern: "*".to_owned(),
                    action,
                });
            }),
        };
        if let Err(complaint) = result {
            bad.push(complaint);
        }
    }
    if bad.is_empty() { Ok(rules) } else { Err(bad) }
}

fn read_patterns(
    tool: &str,
    patterns: &[(String, Typed)],
    rules: &mut Vec<Rule>,
) -> Result<(), BadRule> {
    for (pattern, word) in patterns {
        rules.push(Rule {
            tool: tool.to_owned(),
            pattern: pattern.clone(),
            action: action(&word.value, word.line)?,
        });
    }
    Ok(())
}

/// `[[rule]]` entries.
fn read_list(items: &[Typed], rules: &mut Vec<Rule>) -> Result<(), BadRule> {
    for item in items {
        let TypedValue::Table(fields) = &item.value else {
            return Err(BadRule {
                line: item.line,
                message: "a rule is a table with tool, pattern and action".to_owned(),
            });
        };
        let mut rule = Rule {
            tool: "*".to_owned(),
            pattern: "*".to_owned(),
            action: RuleAction::Ask,
        };
        let mut decided = false;
        for (name, typed) in fields {
            match (name.as_str(), &typed.value) {
                ("tool" | "permission", TypedValue::Text(text)) => rule.tool.clone_from(text),
                ("pattern" | "command" | "path", TypedValue::Text(text)) => {
                    rule.pattern.clone_from(text);
                }
                ("action" | "decision", word) => {
                    rule.action = action(word, typed.line)?;
                    decided = true;
                }
                // notes that dunlin or the user leaves beside a rule
                ("note" | "granted" | "comment", _) => {}
                _ => {
                    return Err(BadRule {
                        line: typed.line,
                        message: format!(
                            "a rule has no field {name}: use tool, pattern and action, all strings"
                        ),
                    });
                }
            }
        }
        if !decided {
            return Err(BadRule {
                line: item.line,
                message: "a rule needs action = \"allow\", \"ask\" or \"deny\"".to_owned(),
            });
        }
        rules.push(rule);
    }
    Ok(())
}

/// `allow = ["git status", "edit(src/**)"]`: patterns of bash, or `tool(pattern)`.
fn read_short(word: &str, items: &[Typed], rules: &mut Vec<Rule>) -> Result<(), BadRule> {
    for item in items {
        let TypedValue::Text(text) = &item.value else {
            return Err(BadRule {
                line: item.line,
                message: format!("{word} is a list of strings such as \"git status *\""),
            });
        };
        let (tool, pattern) = split_call(text).unwrap_or(("bash", text));
        rules.push(Rule {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
            action: action(&TypedValue::Text(word.to_owned()), item.line)?,
        });
    }
    Ok(())
}

/// `tool(pattern)` → (tool, pattern), if it has that form.
fn split_call(text: &str) -> Option<(&str, &str)> {
    let (tool, rest) = text.split_once('(')?;
    let pattern = rest.strip_suffix(')')?;
    let is_name = !tool.is_empty()
        && tool
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'*'));
    is_name.then_some((tool, pattern))
}

fn action(word: &TypedValue, line: usize) -> Result<RuleAction, BadRule> {
    match word {
        TypedValue::Text(text) if text == "allow" => Ok(RuleAction::Allow),
        TypedValue::Text(text) if text == "ask" => Ok(RuleAction::Ask),
        TypedValue::Text(text) if text == "deny" => Ok(RuleAction::Deny),
        other => Err(BadRule {
            line,
            message: format!(
                "{} is not an action: write allow, ask or deny",
                other.show()
            ),
        }),
    }
}

/// A list of tables in JSON begins `[ {`; a TOML header begins `[name` or `[[`.
fn is_json_list(text: &str) -> bool {
    text.get(1..)
        .is_some_and(|rest| rest.trim_start().starts_with(['{', ']']))
}

fn from_json(text: &str) -> Result<TypedValue, Vec<BadRule>> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| {
        vec![BadRule {
            line: e.line(),
            message: format!("not valid JSON: {e}"),
        }]
    })?;
    Ok(json_value(value))
}

fn json_value(value: serde_json::Value) -> TypedValue {
    let typed = |value| Typed {
        line: 0,
        value: json_value(value),
    };
    match value {
        serde_json::Value::Null => TypedValue::Text("null".to_owned()),
        serde_json::Value::Bool(b) => TypedValue::Bool(b),
        serde_json::Value::Number(n) => n
            .as_i64()
            .map_or_else(|| TypedValue::Text(n.to_string()), TypedValue::Int),
        serde_json::Value::String(text) => TypedValue::Text(text),
        serde_json::Value::Array(items) => TypedValue::List(items.into_iter().map(typed).collect()),
        serde_json::Value::Object(fields) => {
            TypedValue::Table(fields.into_iter().map(|(k, v)| (k, typed(v))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str, pattern: &str, action: RuleAction) -> Rule {
        Rule {
            tool: tool.to_owned(),
            pattern: pattern.to_owned(),
            action,
        }
    }

    #[test]
    fn every_form_reads_as_the_same_rules() {
        let expected = vec![
            rule("bash", "*", RuleAction::Ask),
            rule("bash", "git push *", RuleAction::Deny),
        ];
        for text in [
            "[permission]\nbash = { \"*\" = \"ask\", \"git push *\" = \"deny\" }\n",
            "[permission.bash]\n\"*\" = \"ask\"\n\"git push *\" = \"deny\"\n",
            "[bash]\n\"*\" = \"ask\"\n\"git push *\" = \"deny\"\n",
            "[[rule]]\ntool = 'bash'\naction = 'ask'\n[[rule]]\ntool='bash'\npattern='git push *'\naction='deny'\n",
            "{\"permission\": {\"bash\": {\"*\": \"ask\", \"git push *\": \"deny\"}}}",
            "[{\"tool\":\"bash\",\"action\":\"ask\"},{\"tool\":\"bash\",\"pattern\":\"git push *\",\"action\":\"deny\"}]",
            "ask = ['*']\ndeny = [\"bash(git push *)\"]\n",
        ] {
            assert_eq!(read_file(text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn order_is_that_of_the_file_not_of_the_alphabet() {
        let rules = read_file("[bash]\n\"z *\" = \"allow\"\n\"a *\" = \"deny\"\n").expect("valid");
        assert_eq!(rules[0].pattern, "z *");
    }

    #[test]
    fn complaints_name_line_and_remedy() {
        let bad = read_file("[bash]\n\"x\" = \"alow\"\n").expect_err("bad word");
        assert_eq!(bad[0].line, 2);
        assert_eq!(
            bad[0].message,
            "\"alow\" is not an action: write allow, ask or deny"
        );
        assert_eq!(
            read_file("[[rule]]\ntool = 'x'\n").expect_err("no action")[0].line,
            1
        );
        assert!(read_file("[bash\n").is_err());
        assert!(read_file("{\"bash\": ").is_err());
    }
}
