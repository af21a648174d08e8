//! Settings → what is to be started: variables filled in, contradictions named.
//!
//! Pure but for the look-up that is passed in. `server` starts what this gives.

use std::path::{Path, PathBuf};

use crate::config::mcp::{McpSettings, expand};

/// What is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Launch {
    /// A program that speaks over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Extra variables.
        env: Vec<(String, String)>,
        /// Its folder.
        cwd: PathBuf,
    },
    /// An address.
    Address {
        /// The address.
        url: String,
        /// Headers.
        headers: Vec<(String, String)>,
    },
}

impl Launch {
    /// What these settings describe. Fails with a sentence.
    pub(super) fn of(
        settings: &McpSettings,
        worktree: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let filled = |text: &String| expand(text, variable);
        let pairs = |map: &std::collections::BTreeMap<String, String>| {
            map.iter()
                .map(|(name, value)| Ok((name.clone(), filled(value)?)))
                .collect::<Result<Vec<_>, String>>()
        };
        match (&settings.command, &settings.url) {
            (Some(_), Some(_)) => {
                Err("Both `command` and `url` are set: take one of them out.".to_owned())
            }
            (None, None) => Err("Neither `command` nor `url` is set.".to_owned()),
            (Some(command), None) => Ok(Self::Program {
                command: filled(command)?,
                args: settings.args.iter().map(filled).collect::<Result<_, _>>()?,
                env: pairs(&settings.env)?,
                cwd: match &settings.cwd {
                    Some(cwd) => worktree.join(filled(cwd)?),
                    None => worktree.to_owned(),
                },
            }),
            (None, Some(url)) => {
                let url = filled(url)?;
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err("`url` must begin with http:// or https://.".to_owned());
                }
                Ok(Self::Address {
                    url,
                    headers: pairs(&settings.headers)?,
                })
            }
        }
    }
}

/// How a server is reached, for the eye: as it is written, without what may be secret.
pub(super) fn shown(settings: &McpSettings) -> String {
    if let Some(url) = &settings.url {
        let plain = url.split(['?', '#']).next().unwrap_or_default();
        let Some((scheme, rest)) = plain.split_once("://") else {
            return plain.to_owned();
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        return format!("{scheme}://{host}/{path}");
    }
    let mut words = vec![settings.command.clone().unwrap_or_default()];
    words.extend(settings.args.iter().cloned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> McpSettings {
        McpSettings {
            command: Some("npx".into()),
            args: vec!["-y".into(), "${WHAT}".into()],
            env: [("TOKEN".to_owned(), "${SECRET}".to_owned())].into(),
            cwd: Some("sub".into()),
            ..McpSettings::default()
        }
    }

    fn variable(name: &str) -> Option<String> {
        match name {
            "WHAT" => Some("server-x".to_owned()),
            "SECRET" => Some("s3cret".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_program_gets_its_variables_and_its_folder() {
        let launch = Launch::of(&settings(), Path::new("/w"), &variable).expect("launch");
        let expected = Launch::Program {
            command: "npx".into(),
            args: vec!["-y".into(), "server-x".into()],
            env: vec![("TOKEN".into(), "s3cret".into())],
            cwd: "/w/sub".into(),
        };
        assert_eq!(launch, expected);
    }

    #[test]
    fn what_contradicts_itself_or_is_missing_is_said() {
        let of = |settings: &McpSettings| Launch::of(settings, Path::new("/w"), &variable);
        let both = McpSettings {
            url: Some("https://x".into()),
            ..settings()
        };
        assert!(of(&both).expect_err("both").contains("Both"));
        assert!(
            of(&McpSettings::default())
                .expect_err("none")
                .contains("Neither")
        );
        let missing = McpSettings {
            args: vec!["${NOPE}".into()],
            ..settings()
        };
        assert!(of(&missing).expect_err("missing").contains("NOPE"));
        let strange = McpSettings {
            url: Some("ftp://x".into()),
            ..McpSettings::default()
        };
        assert!(of(&strange).expect_err("scheme").contains("http://"));
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        assert_eq!(shown(&settings()), "npx -y ${WHAT}");
        let address = McpSettings {
            url: Some("https://me:pw@host.example/mcp?key=s3cret".into()),
            headers: [("Authorization".to_owned(), "Bearer s3cret".to_owned())].into(),
            ..McpSettings::default()
        };
        assert_eq!(shown(&address), "https://host.example/mcp");
    }
}
