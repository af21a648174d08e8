//! `dunlin doctor`: terminal, keys, network, git, sandbox, store, desktop; what to do about each.
//!
//! Called by `dunlin doctor` alone. It asks nothing of a provider and changes nothing but a file it
//! makes and removes in the data folder.

use std::io::IsTerminal;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::{Outcome, ground};
use crate::app::{self, confine::Confinement};
use crate::cli::arguments::Options;
use crate::cli::print;
use crate::headless::exit;
use crate::session::Project;
use crate::tui::text::wrap::broken;

/// Columns of what a row is about.
const TITLE: usize = 14;

/// How long one address may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);

struct Finding {
    good: bool,
    what: &'static str,
    state: String,
    remedy: &'static str,
}

pub(super) fn run(options: &Options) -> Outcome {
    let ground = ground(options)?;
    let mut findings = vec![terminal(), signs(), models(&ground)];
    findings.extend(network(&ground));
    findings.extend([
        repository(&ground),
        sandbox(&ground),
        store(&ground),
        editor(),
        clipboard(),
        configuration(&ground),
    ]);
    let mut wrong = 0;
    for finding in findings {
        let mark = if finding.good { "✓" } else { "!" };
        let head = format!("{mark} {:<TITLE$} ", finding.what);
        told(&head, &finding.state);
        if !finding.good {
            wrong += 1;
            told(&" ".repeat(TITLE + 3), finding.remedy);
        }
    }
    print("");
    if wrong == 0 {
        print("Nothing is in the way.");
        return Ok(exit::DONE);
    }
    let things = if wrong == 1 { "thing" } else { "things" };
    print(format_args!("{wrong} {things} to look at."));
    Ok(exit::ERROR)
}

/// Prints a text behind a head, in as many lines as it takes in this window, all in one column.
fn told(head: &str, text: &str) {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    // What is not shown in a window is read by a script: it stays in one line.
    let room = match size.map(|size| usize::from(size.ws_col)) {
        Ok(columns) if columns > 0 => columns.saturating_sub(TITLE + 3).max(20),
        _ => usize::MAX,
    };
    for (at, line) in broken(text, room).into_iter().enumerate() {
        if at == 0 {
            print(format_args!("{head}{line}"));
        } else {
            print(format_args!("{:1$}{line}", "", TITLE + 3));
        }
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn good(what: &'static str, state: impl Into<String>) -> Finding {
    Finding {
        good: true,
        what,
        state: state.into(),
        remedy: "",
    }
}

fn terminal() -> Finding {
    let is_one = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let name = variable("TERM");
    let dumb = name.is_empty() || name == "dumb";
    let size = rustix::termios::tcgetwinsize(std::io::stdout())
        .map(|size| format!(", {}x{}", size.ws_col, size.ws_row))
        .unwrap_or_default();
    Finding {
        good: is_one && !dumb,
        what: "terminal",
        state: match (is_one, dumb) {
            (false, _) => "stdin or stdout is none".to_owned(),
            (true, true) => "TERM does not say which one it is: lines only".to_owned(),
            (true, false) => format!("{name}{size}"),
        },
        remedy: if is_one {
            "Set TERM, e.g. to xterm-256color, unless lines are what you want."
        } else {
            "The screen needs a terminal; `dunlin exec` does not."
        },
    }
}

/// Colours and characters, by the environment.
fn signs() -> Finding {
    let colours = match (
        variable("NO_COLOR").as_str(),
        variable("COLORTERM").as_str(),
    ) {
        ("", "truecolor" | "24bit") => "all colours",
        ("", _) if variable("TERM").contains("256color") => {
            "256 colours (COLORTERM=truecolor gives all)"
        }
        ("", _) => "16 colours (COLORTERM=truecolor gives all)",
        _ => "no colours (NO_COLOR)",
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
    let locale = locale.into_iter().find(|value| !value.is_empty());
    let plain = locale
        .as_deref()
        .is_none_or(|name| name == "C" || name == "POSIX");
    let name = locale.unwrap_or_else(|| "no locale".to_owned());
    Finding {
        good: !plain,
        what: "signs",
        state: if plain {
            format!("{name}: ASCII signs only, {colours}")
        } else {
            format!("{name}, {colours}")
        },
        remedy: "Set LANG to a UTF-8 locale, e.g. C.UTF-8.",
    }
}

fn models(ground: &app::Ground) -> Finding {
    let registry = app::registry(ground);
    let mut found = registry.found();
    found.extend(
        super::models::local_servers(&registry)
            .iter()
            .map(|server| {
                let count = server.models.len();
                format!("{} at {} ({count} models)", server.label, server.origin)
            }),
    );
    Finding {
        good: !found.is_empty(),
        what: "keys",
        state: if found.is_empty() {
            "no key, no local server".to_owned()
        } else {
            found.join(", ")
        },
        remedy: "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run `dunlin auth login PROVIDER`.",
    }
}

/// Whether the providers that have a key can be reached. Nothing is asked of them.
fn network(ground: &app::Ground) -> Vec<Finding> {
    let registry = app::registry(ground);
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].map(variable);
    let proxy = proxy.into_iter().find(|value| !value.is_empty());
    let direct = ["NO_PROXY", "no_proxy"].map(variable);
    let direct = direct.into_iter().find(|value| !value.is_empty());
    let addresses = registry.addresses();
    if addresses.is_empty() {
        let how = match proxy.as_deref().map(place) {
            Some(Ok((host, port))) => format!("through the proxy {host}:{port}"),
            Some(Err(why)) => format!("through a proxy whose address is wrong: {why}"),
            None => "directly, without a proxy".to_owned(),
        };
        let state = format!("{how}; no provider has a key, so none was tried");
        return vec![good("network", state)];
    }
    let findings = addresses.into_iter().map(|(provider, base)| {
        let skips = |base: &str| {
            let host = place(base).map(|(host, _)| host).unwrap_or_default();
            skips_proxy(&host, direct.as_deref().unwrap_or_default())
        };
        let proxy = proxy.as_deref().filter(|_| !skips(&base));
        let target = place(proxy.unwrap_or(&base));
        let through = if proxy.is_some() {
            " through the proxy"
        } else {
            ""
        };
        let reached = target.clone().and_then(|(host, port)| reach(host, port));
        let name = target.map_or(base, |(host, port)| format!("{host}:{port}"));
        Finding {
            good: reached.is_ok(),
            what: "network",
            state: match reached {
                Ok(()) => format!("{provider}: {name} answers{through}"),
                Err(why) => format!("{provider}: {name} does not answer{through} ({why})"),
            },
            remedy: "Check the connection, HTTPS_PROXY and NO_PROXY, and the provider's base_url.",
        }
    });
    findings.collect()
}

/// True if a host is one of those that NO_PROXY names: itself, or a domain that it belongs to.
fn skips_proxy(host: &str, list: &str) -> bool {
    let named = |name: &str| {
        let name = name.trim_start_matches('.');
        let within = || {
            host.strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
        };
        name == "*" || !name.is_empty() && (host == name || within())
    };
    list.split(',').map(str::trim).any(named)
}

/// Host and port of an address.
fn place(address: &str) -> Result<(String, u16), String> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    // Who may use a proxy is nobody's business here.
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let usual = if scheme == "https" { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (
            host,
            port.parse().map_err(|error| format!("its port: {error}"))?,
        ),
        _ => (authority, usual),
    };
    if host.is_empty() {
        return Err("it names no host".to_owned());
    }
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

/// Connects and hangs up. On a thread of its own: looking a name up has no time-out.
fn reach(host: String, port: u16) -> Result<(), String> {
    let (told, telling) = std::sync::mpsc::channel();
    let asked = std::thread::Builder::new().spawn(move || {
        let connected = (host.as_str(), port)
            .to_socket_addrs()
            .and_then(|mut found| found.next().ok_or(std::io::ErrorKind::NotFound.into()))
            .and_then(|address| TcpStream::connect_timeout(&address, PATIENCE));
        drop(told.send(connected.map(drop).map_err(|error| error.to_string())));
    });
    asked.map_err(|error| error.to_string())?;
    telling
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|_| Err("it takes too long".to_owned()))
}

fn repository(ground: &app::Ground) -> Finding {
    let folder = ground.worktree.display();
    let state = if ground.worktree.join(".git").exists() {
        match app::branch(&ground.worktree).as_str() {
            "" => format!("{folder}, on no branch"),
            branch => format!("{folder} on {branch}"),
        }
    } else {
        format!("{folder} is no repository; snapshots work all the same")
    };
    let trusted = if ground.trusted {
        ", trusted"
    } else {
        ", not trusted (`dunlin trust` lets its own .dunlin/ count)"
    };
    good("git", format!("{state}{trusted}"))
}

fn sandbox(ground: &app::Ground) -> Finding {
    let chosen = Confinement::choose(&ground.config.sandbox, &ground.worktree, &ground.paths);
    Finding {
        good: chosen.is_on(),
        what: "sandbox",
        state: chosen.sentence(),
        remedy: "Commands run without one; mode `ask` asks before each.",
    }
}

fn store(ground: &app::Ground) -> Finding {
    let data_dir = &ground.paths.data_dir;
    let checked = Project::open(data_dir, &ground.worktree).and_then(|project| {
        let sync = Project::probe(data_dir)?;
        Ok((project.disk_use()?, sync))
    });
    match checked {
        Ok((used, sync)) => {
            let bytes: u64 = used.sessions.iter().map(|(_, bytes)| bytes).sum();
            let all = bytes + used.blobs + used.snapshots;
            good(
                "store",
                format!(
                    "{} here, {} with snapshots, in {}; it can be written and locked, a sync takes \
                     {:.1} ms",
                    used.sessions.len(),
                    crate::tools::file::human(all),
                    data_dir.display(),
                    sync.as_secs_f64() * 1_000.0
                ),
            )
        }
        Err(error) => Finding {
            good: false,
            what: "store",
            state: error.to_string(),
            remedy: "Nothing can be kept until this is mended; set DUNLIN_DATA_DIR to another folder.",
        },
    }
}

/// True if a program of this name can be found.
fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    name.contains('/') && std::path::Path::new(name).exists()
        || std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn editor() -> Finding {
    let named = ["VISUAL", "EDITOR"].map(variable);
    let line = named.into_iter().find(|value| !value.trim().is_empty());
    let line = line.unwrap_or_else(|| "vi".to_owned());
    let program = line.split_whitespace().next().unwrap_or_default();
    Finding {
        good: is_there(program),
        what: "editor",
        state: if is_there(program) {
            line.clone()
        } else {
            format!("`{program}` was not found")
        },
        remedy: "Set EDITOR to an editor that is installed; ctrl+g opens it.",
    }
}

fn clipboard() -> Finding {
    let (needs, remedy) = if !variable("WAYLAND_DISPLAY").is_empty() {
        (
            "wl-paste",
            "Install wl-clipboard to paste pictures with ctrl+v.",
        )
    } else if !variable("DISPLAY").is_empty() {
        ("xclip", "Install xclip to paste pictures with ctrl+v.")
    } else {
        return good(
            "clipboard",
            "no desktop here; copies go through the terminal (OSC 52)",
        );
    };
    Finding {
        good: is_there(needs),
        what: "clipboard",
        state: if is_there(needs) {
            format!("pictures through {needs}")
        } else {
            format!("`{needs}` was not found: text can be copied, pictures cannot be pasted")
        },
        remedy,
    }
}

fn configuration(ground: &app::Ground) -> Finding {
    let file = ground.paths.user_config();
    Finding {
        good: ground.warnings.is_empty(),
        what: "configuration",
        state: if !ground.warnings.is_empty() {
            ground.warnings.join(" ")
        } else if file.exists() {
            file.display().to_string()
        } else {
            format!("{} (not there yet; nothing has to be)", file.display())
        },
        remedy: "`dunlin config` shows each value and where it came from.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_read_from_any_address() {
        let at = |address: &str| place(address).map(|(host, port)| format!("{host} {port}"));
        for (address, wanted) in [
            ("https://api.example.org", "api.example.org 443"),
            ("https://api.example.org/v1?x=1", "api.example.org 443"),
            ("http://localhost:8080/v1", "localhost 8080"),
            ("http://user:secret@proxy:3128", "proxy 3128"),
            ("https://[::1]:9/x", "::1 9"),
            ("proxy:80", "proxy 80"),
        ] {
            assert_eq!(at(address).as_deref(), Ok(wanted), "{address}");
        }
        assert!(place("https:///x").is_err());
    }

    #[test]
    fn hosts_of_no_proxy_are_reached_directly() {
        for (host, list, direct) in [
            ("api.example.org", "localhost,example.org", true),
            ("api.example.org", ".example.org", true),
            ("api.example.org", "ample.org", false),
            ("api.example.org", "", false),
            ("anything", "*", true),
        ] {
            assert_eq!(skips_proxy(host, list), direct, "{host} in {list}");
        }
    }

    #[test]
    fn a_long_row_goes_on_in_its_own_column() {
        let text = "3 here, 12 MB with snapshots; it can be written and locked";
        let lines = broken(text, 20);
        assert!(lines.iter().all(|line| line.len() <= 20), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert_eq!(broken(text, usize::MAX), [text]);
    }

    #[test]
    fn an_address_where_nobody_listens_says_why() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        assert_eq!(reach("127.0.0.1".to_owned(), port), Ok(()));
        drop(free);
        assert!(reach("127.0.0.1".to_owned(), port).is_err());
    }
}
