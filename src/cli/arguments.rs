//! The command line, as clap types. One place feeds parsing, `--help` and completions.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::protocol::{Mode, ModelRef, PartId};

/// A terminal coding agent that never loses work.
#[derive(Debug, Parser)]
#[command(name = "dunlin", version, args_conflicts_with_subcommands = false)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) options: Options,
    /// What to say first.
    pub(super) prompt: Option<String>,
}

/// Options of the interactive program and of `exec`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Options {
    /// Model, as provider/model.
    #[arg(long, short = 'm', global = true, value_name = "PROVIDER/MODEL")]
    pub(super) model: Option<ModelRef>,
    /// What may happen without asking: ask, auto-edit, auto or plan.
    #[arg(long, global = true, value_name = "MODE")]
    pub(super) mode: Option<Mode>,
    /// Agent.
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Work in this folder.
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub(super) folder: Option<PathBuf>,
    /// Go on with the newest session of this folder.
    #[arg(long = "continue", short = 'c', global = true)]
    pub(super) newest: bool,
    /// Go on with this session (an id, an end of one, or a title); without one, choose from a list.
    #[arg(long, short = 'r', global = true, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "newest")]
    pub(super) resume: Option<String>,
    /// With --resume: begin at this part, as `dunlin search` names it.
    #[arg(long, global = true, value_name = "PART")]
    pub(super) part: Option<PartId>,
    /// Run commands without the sandbox.
    #[arg(long, global = true)]
    pub(super) no_sandbox: bool,
    /// Set a configuration key for this run.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(super) config: Vec<String>,
    /// Most steps of a turn.
    #[arg(long, global = true, value_name = "N")]
    pub(super) max_steps: Option<u32>,
    /// Append lines instead of drawing a screen.
    #[arg(long, global = true)]
    pub(super) plain: bool,
    /// Write a log to this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Do one task without a screen: the answer on stdout, progress on stderr.
    Exec(Exec),
    /// Play a scripted session with real tools in a small real repository.
    Demo(Demo),
    /// List models: limits, prices, and whether a key is set.
    Models(Models),
    /// Keys of providers.
    Auth {
        #[command(subcommand)]
        what: Auth,
    },
    /// Sessions of this folder; lists them if nothing else is said.
    Sessions {
        #[command(subcommand)]
        what: Option<Sessions>,
    },
    /// Search everything said, called and printed in the sessions of this folder.
    Search(Search),
    /// Play a session's recorded answers again, offline, and compare.
    Replay {
        /// The session.
        session: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// What fills a session's context.
    Inspect {
        /// The session.
        session: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Permission rules.
    Permissions {
        #[command(subcommand)]
        what: Permissions,
    },
    /// The configuration: each value and where it came from.
    Config {
        /// The JSON schema of the configuration file instead.
        #[arg(long)]
        schema: bool,
        /// Only what is not built in.
        #[arg(long)]
        changed: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let this folder's own configuration, commands and hooks work.
    Trust {
        /// Take the trust back.
        #[arg(long)]
        revoke: bool,
    },
    /// Delete what is no longer needed.
    Gc {
        /// Only say what would be deleted.
        #[arg(long)]
        dry_run: bool,
    },
    /// Check terminal, keys, git, sandbox, store.
    Doctor,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them (one per subcommand) into a folder.
    Man {
        /// Folder for dunlin.1, dunlin-exec.1 and the others, e.g. ~/.local/share/man/man1.
        dir: Option<PathBuf>,
    },
    /// For tests and bug reports.
    #[command(hide = true)]
    Debug {
        #[command(subcommand)]
        what: Debug,
    },
}

/// `dunlin exec`
#[derive(Debug, Args)]
pub(super) struct Exec {
    /// What to do; standard input is appended if something is piped in.
    pub(super) prompt: Option<String>,
    /// One JSON event a line on stdout.
    #[arg(long)]
    pub(super) json: bool,
    /// Take orders from stdin while it runs, one JSON object a line (docs/exec-json.md): prompts,
    /// answers, interrupts. Needs --json.
    #[arg(long, requires = "json")]
    pub(super) json_input: bool,
    /// The answer must be JSON that fits the JSON Schema in this file; it is asked for once more if it
    /// does not, then the run fails.
    #[arg(long, value_name = "FILE", conflicts_with = "json_input")]
    pub(super) output_schema: Option<PathBuf>,
}

/// `dunlin demo`
#[derive(Debug, Default, Args)]
pub(super) struct Demo {
    /// Keep the demo's folder.
    #[arg(long)]
    pub(super) keep: bool,
    /// Without a screen: play the first turn and print it.
    #[arg(long)]
    pub(super) headless: bool,
}

/// `dunlin search`
#[derive(Debug, Args)]
pub(super) struct Search {
    /// Words that must all occur in one message, call or output, in any order and case.
    pub(super) query: String,
    /// In the sessions of all folders.
    #[arg(long)]
    pub(super) all: bool,
    /// The query is a regular expression; case counts unless it says `(?i)`.
    #[arg(long)]
    pub(super) regex: bool,
    /// As JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// `dunlin models`
#[derive(Debug, Args)]
pub(super) struct Models {
    /// Only those whose name contains this.
    pub(super) search: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// `dunlin auth`
#[derive(Debug, Subcommand)]
pub(super) enum Auth {
    /// Store a key; it is asked for, or read from standard input.
    Login {
        /// The provider.
        provider: String,
        /// Where; without it the keyring if there is one, else the file.
        #[arg(long, value_enum)]
        store: Option<KeyStore>,
    },
    /// Forget a key.
    Logout {
        /// The provider.
        provider: String,
    },
    /// Say which keys are there, and where each lives.
    List,
}

/// Where `dunlin auth login` stores a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum KeyStore {
    /// The operating system's keyring.
    Keyring,
    /// `auth.json` in the config folder, readable by you only.
    File,
}

/// Export formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ExportFormat {
    /// Markdown.
    Md,
    /// One JSON document.
    Json,
    /// One JSON record a line.
    Jsonl,
}

/// `dunlin sessions`
#[derive(Debug, Subcommand)]
pub(super) enum Sessions {
    /// List them, newest first.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// Of all folders.
        #[arg(long)]
        all: bool,
    },
    /// Show one.
    Show {
        /// The session.
        id: String,
    },
    /// Name one.
    Rename {
        /// The session.
        id: String,
        /// The name.
        title: String,
    },
    /// Delete one for ever.
    Delete {
        /// The session.
        id: String,
        /// Without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Pack one away.
    Archive {
        /// The session.
        id: String,
    },
    /// Print one.
    Export {
        /// The session.
        id: String,
        /// The format.
        #[arg(long, value_enum, default_value = "md")]
        format: ExportFormat,
    },
    /// Read one that `export` wrote as JSON or JSONL.
    Import {
        /// The file; `-` for standard input.
        file: PathBuf,
    },
    /// Delete what is no longer needed.
    Gc {
        /// Only say what would be deleted.
        #[arg(long)]
        dry_run: bool,
    },
}

/// `dunlin permissions`
#[derive(Debug, Subcommand)]
pub(super) enum Permissions {
    /// Would this command run?
    Check {
        /// Rules, as in `[permission]` of the configuration.
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
        /// The command.
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// The rules that hold here.
    List,
}

/// `dunlin debug`
#[derive(Debug, Subcommand)]
pub(super) enum Debug {
    /// Decode a stored model stream.
    Decode {
        /// anthropic, openai-chat, openai-responses or gemini.
        wire: String,
        /// The file; `-` for standard input.
        file: String,
        /// Feed so many bytes at a time.
        #[arg(long)]
        split: Option<usize>,
    },
    /// Classify a stored error answer.
    Error {
        /// The provider.
        provider: String,
        /// The file; `-` for standard input.
        file: String,
    },
    /// Apply an edit case.
    Edit {
        /// The file; `-` for standard input.
        file: String,
    },
    /// Truncate standard input as a tool's output.
    Truncate {
        /// The tool.
        #[arg(long)]
        tool: String,
    },
}
