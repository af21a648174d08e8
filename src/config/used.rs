//! The configuration as the program uses it: every value present, checked and in its unit.
//!
//! Defaults are SPEC's constants. Field names are the keys of the TOML file, section by section.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::mcp::McpSettings;
use crate::protocol::{Effort, Mode, ModelRef};

/// Everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Model of new sessions; none: chosen from the keys that are set.
    pub model: Option<ModelRef>,
    /// Model for titles and summaries; none: the session's.
    pub small_model: Option<ModelRef>,
    /// Models to go on with when the chosen one stays overloaded.
    pub fallback_models: Vec<ModelRef>,
    /// Reasoning effort; none for the model's default.
    pub effort: Option<Effort>,
    /// Permission mode of new sessions.
    pub mode: Mode,
    /// Agent of new sessions.
    pub agent: String,
    /// `[loop]`
    pub turn: TurnSettings,
    /// `[budget]`
    pub budget: Budget,
    /// `[context]`
    pub context: ContextSettings,
    /// `[output]`
    pub output: OutputLimits,
    /// `[bash]`
    pub bash: BashSettings,
    /// `[snapshot]`
    pub snapshot: SnapshotSettings,
    /// `[store]`
    pub store: StoreSettings,
    /// `[ui]`
    pub ui: UiSettings,
    /// `[permission]`: rules in order, user's layer and project's layer kept apart.
    pub permission: Vec<RuleLayer>,
    /// `[provider.NAME]`
    pub providers: BTreeMap<String, ProviderSettings>,
    /// `[sandbox]`
    pub sandbox: SandboxSettings,
    /// `[web]`
    pub web: WebSettings,
    /// `[mcp.NAME]`
    pub mcp: BTreeMap<String, McpSettings>,
}

impl Config {
    /// The secrets that stand in it: headers and passwords of providers, variables of commands whose name
    /// says so. For taking them out of what leaves the machine.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        let of_providers = self.providers.values().map(|p| &p.headers);
        let of_servers = self.mcp.values().map(|server| &server.headers);
        for value in of_providers.chain(of_servers).flat_map(BTreeMap::values) {
            found.push(value.clone());
            // `Bearer …` and the like
            found.extend(value.rsplit_once(' ').map(|(_, key)| key.to_owned()));
        }
        for provider in self.providers.values() {
            let address = provider.base_url.as_deref().unwrap_or_default();
            let after = address.split_once("://").map_or("", |(_, rest)| rest);
            let user = after
                .split('/')
                .next()
                .and_then(|host| host.rsplit_once('@'));
            let password = user.and_then(|(user, _)| user.split_once(':'));
            found.extend(password.map(|(_, password)| password.to_owned()));
        }
        let says_so = |name: &str| {
            let name = name.to_ascii_uppercase();
            let words = [
                "KEY",
                "TOKEN",
                "SECRET",
                "PASS",
                "CREDENTIAL",
                "AUTH",
                "DSN",
            ];
            words.iter().any(|word| name.contains(word))
        };
        let variables = self.bash.env.iter().filter(|(name, _)| says_so(name));
        found.extend(variables.map(|(_, value)| value.clone()));
        found
    }
}

/// `[loop]`
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSettings {
    /// Retries of a failed request (rate limits and overload have no limit). Default 3.
    pub retries: u32,
    /// Headless: a longer wait than this that a provider asks for is an error. Default 10 min.
    pub longest_wait: Duration,
    /// Longest wait between two attempts while the model is overloaded or limits the rate; what the
    /// provider asks for wins. Default 60 s.
    pub overload_wait: Duration,
    /// A stream that is silent for so long has timed out. Default 5 min.
    pub idle_timeout: Duration,
    /// Streaming text is written at most so long after it arrived. Default 100 ms.
    pub write_delay: Duration,
    /// Tools that run at once. Default 8.
    pub parallel_tools: usize,
    /// Messages that may wait while the agent works. Default 1,000.
    pub queue_limit: u32,
    /// Identical calls in a row that make a loop. Default 3.
    pub loop_repeats: u32,
    /// The same for calls whose results differ (polling). Default 10.
    pub loop_repeats_polling: u32,
    /// Calls that *Always allow* lets through. Default 20.
    pub loop_always_limit: u32,
    /// Steps of one turn; none for no limit (headless: 200).
    pub max_steps: Option<u32>,
    /// Nesting of subagents. Default 2.
    pub subagent_depth: u32,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            retries: 3,
            longest_wait: Duration::from_mins(10),
            overload_wait: Duration::from_mins(1),
            idle_timeout: Duration::from_mins(5),
            write_delay: Duration::from_millis(100),
            parallel_tools: 8,
            queue_limit: 1_000,
            loop_repeats: 3,
            loop_repeats_polling: 10,
            loop_always_limit: 20,
            max_steps: None,
            subagent_depth: 2,
        }
    }
}

/// `[budget]`: limits per session, subagents included; none for no limit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Budget {
    /// US dollars.
    pub usd: Option<f64>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
    /// Steps.
    pub steps: Option<u32>,
    /// Time that turns ran.
    pub time: Option<Duration>,
}

/// `[context]`
#[derive(Debug, Clone, PartialEq)]
pub struct ContextSettings {
    /// Compaction strategy: `reactive-overflow`, `proactive-threshold`, `middle-removal`, `manual`.
    pub strategy: String,
    /// Tokens kept free for the answer, at most. Default 32,000.
    pub output_reserve: u64,
    /// Newest tool output that pruning leaves alone, in estimated tokens. Default 40,000.
    pub prune_protect: u64,
    /// Pruning that frees less is not done. Default 20,000.
    pub prune_minimum: u64,
    /// True if a pruning folds the calls that an earlier one cleared. Default true.
    pub prune_fold: bool,
    /// Tools whose results are never pruned. Default `skill`, `task`.
    pub prune_keep_tools: Vec<String>,
    /// Turns kept verbatim by a compaction. Default 2.
    pub keep_turns: u32,
    /// `proactive-threshold` starts at this share of the window. Default 0.5.
    pub threshold: f64,
    /// `proactive-threshold` keeps this share, the newest. Default 0.3.
    pub threshold_keep: f64,
    /// `middle-removal` starts at this share. Default 0.8.
    pub removal_at: f64,
    /// Tier switches, for measurements. Default true.
    pub prune: bool,
    /// See `prune`.
    pub compact: bool,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            strategy: "reactive-overflow".to_owned(),
            output_reserve: 32_000,
            prune_protect: 40_000,
            prune_minimum: 20_000,
            prune_fold: true,
            prune_keep_tools: vec!["skill".to_owned(), "task".to_owned()],
            keep_turns: 2,
            threshold: 0.5,
            threshold_keep: 0.3,
            removal_at: 0.8,
            prune: true,
            compact: true,
        }
    }
}

/// `[output]`: tier 1, truncation at the source.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLimits {
    /// Lines per output. Default 2,000.
    pub lines: usize,
    /// Bytes per output. Default 51,200.
    pub bytes: usize,
    /// Characters of `bash`. Default 30,000.
    pub bash_chars: usize,
    /// Lines of `read`. Default 2,000.
    pub read_lines: usize,
    /// Characters per line of `read`. Default 2,000.
    pub read_line_chars: usize,
    /// Matches of `grep`. Default 1,000.
    pub grep_matches: usize,
    /// Paths of `glob`. Default 1,000.
    pub glob_paths: usize,
    /// Characters of anything else. Default 120,000.
    pub other_chars: usize,
    /// Days that full outputs are kept. Default 7.
    pub keep_days: u32,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            lines: 2_000,
            bytes: 51_200,
            bash_chars: 30_000,
            read_lines: 2_000,
            read_line_chars: 2_000,
            grep_matches: 1_000,
            glob_paths: 1_000,
            other_chars: 120_000,
            keep_days: 7,
        }
    }
}

/// `[bash]`
#[derive(Debug, Clone, PartialEq)]
pub struct BashSettings {
    /// Default time-out. Default 2 min.
    pub timeout: Duration,
    /// Longest time-out a call may ask for. Default 10 min.
    pub max_timeout: Duration,
    /// Extra variables of the child's environment.
    pub env: BTreeMap<String, String>,
}

impl Default for BashSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(2),
            max_timeout: Duration::from_mins(10),
            env: BTreeMap::new(),
        }
    }
}

/// `[snapshot]`
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotSettings {
    /// False turns snapshots, diffs and undo off.
    pub enabled: bool,
    /// Untracked files above so many bytes stay out. Default 10 MiB.
    pub max_file: u64,
    /// New bytes per snapshot. Default 256 MiB.
    pub max_bytes: u64,
    /// Files of a first walk outside git. Default 50,000.
    pub max_files: usize,
    /// Time of a first walk outside git. Default 3 s.
    pub max_walk: Duration,
    /// Disk quota per project in bytes. Default 2 GiB.
    pub quota: u64,
    /// Days that snapshots are kept. Default 30.
    pub keep_days: u32,
    /// Use inotify where there is one.
    pub watch: bool,
    /// Idle time after which everything is verified once. Default 60 s; 0 for never.
    pub verify_after: Duration,
}

impl Default for SnapshotSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_file: 10 << 20,
            max_bytes: 256 << 20,
            max_files: 50_000,
            max_walk: Duration::from_secs(3),
            quota: 2 << 30,
            keep_days: 30,
            watch: true,
            verify_after: Duration::from_mins(1),
        }
    }
}

/// `[store]`
#[derive(Debug, Clone, PartialEq)]
pub struct StoreSettings {
    /// Days that recorded answers of models are kept for `dunlin replay`; 0 records none. Default 7.
    pub frames_days: u32,
    /// Disk space of one project's sessions in bytes; 0 for no limit. Default 4 GiB.
    pub quota: u64,
    /// Days after which an untouched session is archived. Default 14.
    pub archive_days: u32,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            frames_days: 7,
            quota: 4 << 30,
            archive_days: 14,
        }
    }
}

/// `[ui]`
#[derive(Debug, Clone, PartialEq)]
pub struct UiSettings {
    /// Theme name; `auto` for dark or light by the terminal's background.
    pub theme: String,
    /// False gives the terminal its own selection back.
    pub mouse: bool,
    /// Copy a selection as soon as it is made.
    pub copy_on_select: bool,
    /// No spinner, no motion.
    pub reduced_motion: bool,
    /// Vim keys in the composer.
    pub vim: bool,
    /// Append-only output instead of the full screen.
    pub plain: bool,
    /// Notify when unfocused.
    pub notify: bool,
    /// How pictures are shown: `auto`, `off`, `blocks`, `kitty`, `iterm` or `sixel`.
    pub images: String,
    /// Addresses that the terminal opens (OSC 8).
    pub links: bool,
    /// Keys: action name to key names, over the defaults.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Where each of them stands, e.g. `keys.toml line 3`; not a setting.
    pub key_places: BTreeMap<String, String>,
}

impl Default for UiSettings {
    fn default() -> Self {
        Self {
            theme: "auto".to_owned(),
            mouse: true,
            copy_on_select: false,
            reduced_motion: false,
            vim: false,
            plain: false,
            notify: true,
            images: "auto".to_owned(),
            links: true,
            keys: BTreeMap::new(),
            key_places: BTreeMap::new(),
        }
    }
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleAction {
    /// Run without asking.
    Allow,
    /// Ask.
    Ask,
    /// Refuse.
    Deny,
}

/// One permission rule.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rule {
    /// Tool name, or `*`.
    pub tool: String,
    /// What it is applied to: a command prefix with `*`, a path glob, or `*`.
    pub pattern: String,
    /// What it does.
    pub action: RuleAction,
}

/// Rules of one owner. Within a layer the last match wins; across layers deny wins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RuleLayer {
    /// Who wrote them: `user`, `project`, `agent`, `session`, `flags`.
    pub owner: String,
    /// In order.
    pub rules: Vec<Rule>,
}

/// `[provider.NAME]`: a provider of the user's own, or changes to a built-in one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderSettings {
    /// `anthropic`, `openai-chat`, `openai-responses`, `gemini`; none for a built-in's own.
    pub wire: Option<String>,
    /// Origin of the API; `/v1/…` is appended, and `…/v1` is accepted too.
    pub base_url: Option<String>,
    /// Environment variable with the key.
    pub key_env: Option<String>,
    /// Headers to send.
    pub headers: BTreeMap<String, String>,
    /// Models, or changes to known ones.
    pub models: BTreeMap<String, ModelSettings>,
    /// Names of wire quirks to switch on or off (docs/providers.md).
    pub quirks: BTreeMap<String, bool>,
}

/// `[provider.NAME.model.NAME]`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelSettings {
    /// Window in tokens.
    pub context: Option<u64>,
    /// Largest prompt in tokens.
    pub max_input: Option<u64>,
    /// Most output tokens.
    pub max_output: Option<u64>,
    /// Can call tools.
    pub tools: Option<bool>,
    /// Can reason.
    pub reasoning: Option<bool>,
    /// Takes images.
    pub images: Option<bool>,
    /// Price of input, USD per million tokens.
    pub input_price: Option<f64>,
    /// Price of output.
    pub output_price: Option<f64>,
    /// Price of cached input.
    pub cache_read_price: Option<f64>,
    /// Price of input written to the cache.
    pub cache_write_price: Option<f64>,
}

/// `[web]`
#[derive(Debug, Clone, PartialEq)]
pub struct WebSettings {
    /// A page must be there after so long. Default 30 s.
    pub timeout: Duration,
    /// Bytes of a page that are taken at most. Default 5 MiB.
    pub max_bytes: u64,
    /// True allows addresses of this machine and of private networks.
    pub private: bool,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_bytes: 5 << 20,
            private: false,
        }
    }
}

/// `[sandbox]`
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxSettings {
    /// False runs commands without it.
    pub enabled: bool,
    /// True lets commands use the network.
    pub network: bool,
    /// Folders besides the worktree and temp that commands may write.
    pub writable: Vec<PathBuf>,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            network: false,
            writable: Vec::new(),
        }
    }
}
