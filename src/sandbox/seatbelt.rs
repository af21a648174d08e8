//! macOS: a Seatbelt profile, given to the system's own `sandbox-exec`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Policy;
#[cfg(target_os = "macos")]
use super::Support;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

#[cfg(target_os = "macos")]
pub(super) fn detect() -> Support {
    if Path::new(PROGRAM).exists() {
        Support::Full {
            how: "Seatbelt".to_owned(),
        }
    } else {
        Support::None {
            reason: format!("{PROGRAM} is missing, so commands ask."),
        }
    }
}

/// `sandbox-exec -p PROFILE program args…`
pub(super) fn wrap(
    policy: &Policy,
    program: &OsStr,
    args: &[OsString],
) -> (OsString, Vec<OsString>) {
    let mut words: Vec<OsString> = vec!["-p".into(), profile(policy).into(), program.to_owned()];
    words.extend(args.iter().cloned());
    (PROGRAM.into(), words)
}

/// The profile: everything may be read and run, later lines win.
fn profile(policy: &Policy) -> String {
    let mut out = String::from(
        "(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write* (literal \"/dev/null\") \
         (literal \"/dev/zero\") (literal \"/dev/stdout\") (literal \"/dev/stderr\"))\n",
    );
    for path in &policy.writable {
        out.push_str(&line("(allow file-write* (subpath PATH))", path));
    }
    for path in &policy.unreadable {
        out.push_str(&line("(deny file-read* file-write* (subpath PATH))", path));
    }
    if !policy.network {
        out.push_str("(deny network*)\n(allow network* (local unix-socket))\n");
    }
    out
}

fn line(form: &str, path: &Path) -> String {
    form.replace("PATH", &quoted(path)) + "\n"
}

fn quoted(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn the_profile_denies_after_it_allows() {
        let policy = Policy {
            writable: vec![PathBuf::from("/nowhere/a \"b\"")],
            unreadable: vec![PathBuf::from("/nowhere/s")],
            network: false,
            temp: None,
        };
        let (program, words) = wrap(&policy, OsStr::new("bash"), &["-c".into(), "x".into()]);
        assert_eq!(program, PROGRAM);
        let text = words[1].to_string_lossy();
        let at = |needle: &str| {
            text.find(needle)
                .unwrap_or_else(|| panic!("{needle} in {text}"))
        };
        assert!(
            at("(deny file-write*)") < at("(allow file-write* (subpath \"/nowhere/a \\\"b\\\"\"))")
        );
        assert!(
            at("subpath \"/nowhere/a")
                < at("(deny file-read* file-write* (subpath \"/nowhere/s\"))")
        );
        assert!(text.contains("(deny network*)"));
        assert_eq!(words[2..], ["bash", "-c", "x"]);
    }
}
