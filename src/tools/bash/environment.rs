//! The environment of a command: the user's, without keys of model providers, without anything that
//! would wait for a terminal.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Keys of providers: a command has no business with them, and a model must not print them.
const SECRETS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "CODESTRAL_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "TOGETHER_API_KEY",
    "FIREWORKS_API_KEY",
    "MOONSHOT_API_KEY",
    "KIMI_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
    "ZHIPU_API_KEY",
    "ZHIPUAI_API_KEY",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "PERPLEXITY_API_KEY",
    "DASHSCOPE_API_KEY",
    "MINIMAX_API_KEY",
    "NVIDIA_API_KEY",
    "HUGGINGFACE_API_KEY",
    "LITELLM_API_KEY",
    "AI_GATEWAY_API_KEY",
    "OLLAMA_API_KEY",
];

/// What keeps programs from colours, pagers, editors and prompts.
const QUIET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // `git commit` without a message fails at once, `git rebase --continue` goes on
    ("GIT_EDITOR", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    // output in the order in which it was made
    ("PYTHONUNBUFFERED", "1"),
    ("DUNLIN", "1"),
];

/// Variables of the terminal that must not leak into a command that has none.
const TERMINAL: &[&str] = &[
    "COLORTERM",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
];

/// The variables that a command gets, all of them.
#[derive(Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // values may be secrets
        f.debug_list().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// Made of `inherited`, less the keys of providers (`secrets` names further ones), plus the
    /// user's own `extra` variables, which win over everything.
    pub fn new(
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        secrets: &[String],
        extra: &BTreeMap<String, String>,
    ) -> Self {
        let secret = |name: &OsStr| {
            SECRETS.iter().any(|known| name == *known)
                || secrets.iter().any(|known| name == known.as_str())
        };
        let mut variables: BTreeMap<OsString, OsString> = inherited
            .into_iter()
            .filter(|(name, _)| !secret(name) && !TERMINAL.iter().any(|other| name == *other))
            .collect();
        for (name, value) in QUIET {
            variables.insert((*name).into(), (*value).into());
        }
        if !variables.contains_key(OsStr::new("SSH_ASKPASS")) {
            // ssh asks for passwords at the terminal behind our back otherwise
            variables.insert("SSH_ASKPASS".into(), "/bin/false".into());
            variables.insert("SSH_ASKPASS_REQUIRE".into(), "force".into());
        }
        variables.extend(
            extra
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        Self { variables }
    }

    /// Made of this process's environment.
    pub fn of_process(secrets: &[String], extra: &BTreeMap<String, String>) -> Self {
        Self::new(std::env::vars_os(), secrets, extra)
    }

    /// The variables.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The shell that runs commands: `bash`, else `sh`.
    pub fn shell(&self) -> PathBuf {
        let path = self.variables.get(OsStr::new("PATH"));
        let folders: Vec<PathBuf> = path
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default();
        let found = folders
            .iter()
            .map(|folder| folder.join("bash"))
            .find(|shell| shell.is_file());
        found.unwrap_or_else(|| {
            let bash = Path::new("/bin/bash");
            if bash.is_file() {
                bash
            } else {
                Path::new("/bin/sh")
            }
            .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_outside_and_what_commands_need_comes_in() {
        let inherited = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/home/u"),
            ("OPENAI_API_KEY", "sk-1"),
            ("MY_MODEL_KEY", "sk-2"),
            ("TERM", "xterm-kitty"),
            ("FORCE_COLOR", "1"),
        ];
        let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
        let extra = BTreeMap::from([("NO_COLOR".to_owned(), "0".to_owned())]);
        let environment = Environment::new(inherited, &["MY_MODEL_KEY".to_owned()], &extra);
        let get = |name: &str| {
            environment
                .variables
                .get(OsStr::new(name))
                .and_then(|value| value.to_str())
        };
        assert_eq!(
            (get("HOME"), get("TERM"), get("NO_COLOR")),
            (Some("/home/u"), Some("dumb"), Some("0"))
        );
        assert_eq!(
            (
                get("OPENAI_API_KEY"),
                get("MY_MODEL_KEY"),
                get("FORCE_COLOR")
            ),
            (None, None, None)
        );
        assert!(!format!("{environment:?}").contains("/home/u"));
    }
}
