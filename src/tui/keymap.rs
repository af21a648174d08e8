//! Which key does what, where: ONE table that feeds handling, footer hints, help and docs/keys.md.
//!
//! `update` looks keys up with the contexts that are active, innermost first. The user's own keys
//! (`[ui.keys]`) replace an action's keys; two actions on one key in one context are reported.
//! What an action does stays out of here: that is `update`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::input::Key;

/// Where a key means something. Inner contexts are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Everywhere.
    Global,
    /// Writing a message.
    Composer,
    /// Writing a message while a turn runs.
    Running,
    /// A retry countdown with nothing written.
    Retrying,
    /// The list of commands or files above the composer.
    Popup,
    /// A permission question.
    Ask,
    /// The doom loop question.
    Loop,
    /// A picker.
    List,
    /// The model picker.
    Models,
    /// The permission rules.
    Rules,
    /// The session picker.
    Sessions,
    /// The session's turns and branches.
    Tree,
    /// Search through all sessions.
    Search,
    /// The queue.
    Queue,
    /// The changes.
    Diff,
    /// The context inspector.
    Inspector,
    /// A long text.
    Pager,
    /// A subagent's transcript.
    Subagent,
}

impl Context {
    /// All contexts with their headings in help, in order.
    pub const ALL: [(Self, &'static str); 18] = [
        (Self::Global, "Everywhere"),
        (Self::Composer, "Writing"),
        (Self::Running, "While a turn runs"),
        (Self::Retrying, "During a retry countdown"),
        (Self::Popup, "Completion"),
        (Self::Ask, "Permission"),
        (Self::Loop, "Loop question"),
        (Self::List, "Lists"),
        (Self::Models, "Models"),
        (Self::Rules, "Permission rules"),
        (Self::Sessions, "Sessions"),
        (Self::Tree, "Rewind"),
        (Self::Search, "Search"),
        (Self::Queue, "Queue"),
        (Self::Diff, "Changes"),
        (Self::Inspector, "Context"),
        (Self::Pager, "Long texts"),
        (Self::Subagent, "A subagent"),
    ];
}

macro_rules! actions {
    ($($name:ident $context:ident $word:literal $keys:literal $says:literal;)*) => {
        /// What a key can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action {
            $(#[doc = $says] $name,)*
        }

        /// The table: action, context, name in the configuration, default keys, what it says in help.
        pub const TABLE: &[Row] = &[
            $(Row {
                action: Action::$name,
                context: Context::$context,
                name: $word,
                keys: $keys,
                says: $says,
            },)*
        ];
    };
}

/// One row of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What it does.
    pub action: Action,
    /// Where.
    pub context: Context,
    /// Its name in `[ui.keys]`.
    pub name: &'static str,
    /// Default keys, separated by spaces; the first is shown in hints.
    pub keys: &'static str,
    /// A few words for help.
    pub says: &'static str,
}

actions! {
    Cancel Global "cancel" "ctrl+c" "stash the text; stop the turn; twice on nothing: quit";
    Quit Global "quit" "ctrl+d" "twice on an empty line: quit";
    Suspend Global "suspend" "ctrl+z" "go back to the shell (`fg` returns)";
    Redraw Global "redraw" "ctrl+l" "draw the screen again";
    PrintTranscript Global "print-transcript" "ctrl+o" "print the conversation to the normal screen";
    Help Global "help" "f1" "these keys (`?` on an empty line)";
    Sessions Global "sessions" "ctrl+s" "open another session";
    CycleMode Global "cycle-mode" "shift+tab" "next permission mode";
    Palette Global "palette" "alt+x" "every command and action, by name";
    Models Global "models" "alt+m" "choose the model";
    Changes Global "changes" "alt+g" "what changed in the worktree";
    Inspector Global "context" "alt+c" "what fills the context";
    Subagents Global "subagents" "alt+t" "what subagents did and do";
    PageUp Global "page-up" "pgup" "one page up";
    PageDown Global "page-down" "pgdn" "one page down";
    LineUp Global "line-up" "shift+↑" "one line up";
    LineDown Global "line-down" "shift+↓" "one line down";
    Top Global "top" "ctrl+home" "to the beginning";
    Bottom Global "bottom" "ctrl+end" "to the newest";
    PromptUp Global "prompt-up" "alt+↑" "to the prompt before";
    PromptDown Global "prompt-down" "alt+↓" "to the prompt after";
    FindNext Global "find-next" "alt+n" "the next place that /find found";
    FindPrev Global "find-prev" "alt+p" "the place before";
    ShowOutput Global "show-output" "alt+o" "the whole output of the call in view";
    CopySelection Global "copy-selection" "alt+w" "copy the selection, or the cell in view";

    Submit Composer "submit" "enter" "send; on nothing: open a subagent";
    NewLine Composer "new-line" "shift+enter alt+enter ctrl+j" "new line (also `\\` at the end)";
    Escape Composer "escape" "esc" "close; interrupt; twice on nothing: rewind";
    Up Composer "up" "↑ ctrl+p" "up, or the prompt before";
    Down Composer "down" "↓ ctrl+n" "down, or the prompt after";
    SearchHistory Composer "search-history" "ctrl+r" "search earlier prompts";
    PasteImage Composer "paste-image" "ctrl+v" "attach the picture on the clipboard";
    Editor Composer "editor" "ctrl+g" "write in $VISUAL or $EDITOR";
    Left Composer "left" "← ctrl+b" "left";
    Right Composer "right" "→ ctrl+f" "right";
    WordLeft Composer "word-left" "alt+b alt+← ctrl+←" "one word left";
    WordRight Composer "word-right" "alt+f alt+→ ctrl+→" "one word right";
    LineStart Composer "line-start" "ctrl+a home" "start of the line";
    LineEnd Composer "line-end" "end ctrl+e" "end of the line";
    Unfold Composer "unfold" "ctrl+e" "on an empty line: unfold the last output";
    Find Composer "find" "ctrl+f" "on an empty line: search the conversation";
    DeleteBack Composer "delete-back" "backspace shift+backspace" "delete the character before";
    DeleteForward Composer "delete-forward" "delete ctrl+d" "delete the character after";
    DeleteWordBack Composer "delete-word-back" "ctrl+w alt+backspace ctrl+backspace" "cut the word before";
    DeleteWordForward Composer "delete-word-forward" "alt+d ctrl+delete" "cut the word after";
    KillToEnd Composer "kill-to-end" "ctrl+k" "cut to the end of the line";
    KillToStart Composer "kill-to-start" "ctrl+u" "cut to the start of the line";
    Yank Composer "yank" "ctrl+y" "put back what was cut";
    YankPop Composer "yank-pop" "alt+y" "put back what was cut before";
    Undo Composer "undo" "ctrl+_ ctrl+/" "undo";
    Redo Composer "redo" "alt+z alt+/" "redo";
    Transpose Composer "transpose" "ctrl+t" "swap two characters";

    FollowUp Running "follow-up" "tab" "send after this turn";
    InterruptSend Running "interrupt-send" "ctrl+enter" "interrupt and send";
    EditQueued Running "edit-queued" "ctrl+↑" "edit the newest queued message";
    DropQueued Running "drop-queued" "ctrl+x" "drop the newest queued message";

    RetryNow Retrying "retry-now" "r" "try again now";
    OtherModel Retrying "other-model" "m" "choose another model";

    PopupUp Popup "popup-up" "↑ ctrl+p" "up";
    PopupDown Popup "popup-down" "↓ ctrl+n" "down";
    PopupAccept Popup "popup-accept" "tab" "take it";
    PopupRun Popup "popup-run" "enter" "take it; run a command that needs nothing more";
    PopupClose Popup "popup-close" "esc" "close";

    AskUp Ask "ask-up" "↑ ctrl+p" "up";
    AskDown Ask "ask-down" "↓ ctrl+n" "down";
    AskAccept Ask "ask-accept" "enter" "choose";
    AskClose Ask "ask-close" "esc" "no";
    AskOnce Ask "ask-once" "y" "once";
    AskSession Ask "ask-session" "s" "for this session";
    AskProject Ask "ask-project" "p" "for this project";
    AskNo Ask "ask-no" "n" "no, and say what to do instead";
    AskEdit Ask "ask-edit" "e" "edit the pattern";
    AskFull Ask "ask-full" "ctrl+f" "full screen";
    AskNext Ask "ask-next" "tab" "the next question";

    LoopContinue Loop "loop-continue" "c" "run it once more";
    LoopStop Loop "loop-stop" "s" "refuse the call";
    LoopSay Loop "loop-say" "t" "refuse, with your own words";
    LoopAlways Loop "loop-always" "a" "allow exactly this call";

    ListUp List "list-up" "↑ ctrl+p" "up";
    ListDown List "list-down" "↓ ctrl+n" "down";
    ListPageUp List "list-page-up" "pgup" "one page up";
    ListPageDown List "list-page-down" "pgdn" "one page down";
    ListAccept List "list-accept" "enter" "choose";
    ListClose List "list-close" "esc" "close";

    EffortNext Models "effort-next" "tab" "how hard the model thinks";

    RuleRevoke Rules "rule-revoke" "x delete" "take a grant back";

    SessionFork Sessions "session-fork" "ctrl+f" "go on in a copy of it";
    SessionRename Sessions "session-rename" "ctrl+r" "name it";
    SessionArchive Sessions "session-archive" "ctrl+d" "pack it away (opening brings it back)";
    SessionDelete Sessions "session-delete" "ctrl+x delete" "delete it for ever (asks)";
    SessionScope Sessions "session-scope" "tab" "this project or all";

    TreeUp Tree "tree-up" "k" "up";
    TreeDown Tree "tree-down" "j" "down";
    TreeEdit Tree "tree-edit" "e" "edit the prompt: sending makes a branch";
    TreeFork Tree "tree-fork" "f" "a new session of all up to here";

    SearchScope Search "search-scope" "tab" "this project or all";

    QueueDrop Queue "queue-drop" "ctrl+x delete" "drop";
    QueueEarlier Queue "queue-earlier" "alt+↑" "earlier";
    QueueLater Queue "queue-later" "alt+↓" "later";
    QueueResume Queue "queue-resume" "ctrl+r" "let paused messages go on";

    HunkUp Diff "hunk-up" "↑ k" "hunk before";
    HunkDown Diff "hunk-down" "↓ j" "hunk after";
    FileBefore Diff "file-before" "← h" "file before";
    FileAfter Diff "file-after" "→ l" "file after";
    DiffScopeNext Diff "diff-scope" "tab" "turn, session or step";
    DiffHead Diff "diff-head" "v" "compare with the last commit";
    DiffSplit Diff "diff-split" "s" "side by side or one below the other";
    DiffWrap Diff "diff-wrap" "w" "break long lines";
    DiffShow Diff "diff-show" "enter" "show the unchanged lines";
    DiffUndo Diff "diff-undo" "u" "take the hunk back";
    DiffOpen Diff "diff-open" "o" "open in the editor";
    DiffCopy Diff "diff-copy" "y" "copy the hunk";
    DiffComment Diff "diff-comment" "c" "say something about the hunk";
    DiffClose Diff "diff-close" "esc q" "close";

    PruneNow Inspector "prune-now" "p" "prune now";
    CompactNow Inspector "compact-now" "c" "compact now";
    RestorePruned Inspector "restore-pruned" "r" "restore the outputs of a pruning";
    ContextDetails Inspector "context-details" "enter" "what the event did";
    ContextExport Inspector "context-export" "x" "write the report to a file";

    PagerUp Pager "pager-up" "↑ k" "up";
    PagerDown Pager "pager-down" "↓ j" "down";
    PagerTop Pager "pager-top" "home g" "to the beginning";
    PagerBottom Pager "pager-bottom" "end G" "to the end";
    PagerClose Pager "pager-close" "esc q enter" "close";

    SubagentUnfold Subagent "subagent-unfold" "ctrl+e" "unfold the last output";
    SubagentStop Subagent "subagent-stop" "ctrl+x" "stop this subagent";
}

/// The table with the user's changes, ready to be asked.
#[derive(Debug, Clone)]
pub struct Keymap {
    bound: Vec<(Context, Key, Action)>,
    problems: Vec<String>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::new(&BTreeMap::new(), &BTreeMap::new())
    }
}

impl Keymap {
    /// The table, changed by the user's keys (action name to key names); `places` says where each
    /// change stands, e.g. `keys.toml line 3`.
    pub fn new(changes: &BTreeMap<String, Vec<String>>, places: &BTreeMap<String, String>) -> Self {
        let mut map = Self {
            bound: Vec::new(),
            problems: Vec::new(),
        };
        for row in TABLE.iter().filter(|row| !changes.contains_key(row.name)) {
            for key in row
                .keys
                .split_whitespace()
                .filter_map(|name| name.parse().ok())
            {
                map.bound.push((row.context, key, row.action));
            }
        }
        let mut problems = Vec::new();
        for (name, keys) in changes {
            let place = places.get(name).map_or("[ui.keys]", String::as_str);
            let told = map.change(name, keys);
            problems.extend(told.into_iter().map(|text| (place, text)));
        }
        for name in changes.keys() {
            let place = places.get(name).map_or("[ui.keys]", String::as_str);
            let told = map.shadowed(name, changes);
            problems.extend(told.into_iter().map(|text| (place, text)));
        }
        // In the order of the file, as the user reads it.
        problems.sort_by_key(|(place, _)| line_of(place));
        let told = problems.into_iter();
        map.problems = told
            .map(|(place, text)| format!("{place}: {text}"))
            .collect();
        map
    }

    /// Gives an action its keys; what is wrong with them comes back.
    fn change(&mut self, name: &str, keys: &[String]) -> Vec<String> {
        let Some(row) = TABLE.iter().find(|row| row.name == name) else {
            let near = nearest(name, TABLE.iter().map(|row| row.name));
            let hint = if closeness(name, near) >= ALIKE {
                format!("The closest is `{near}`; F1 lists them all.")
            } else {
                "F1 lists them all.".to_owned()
            };
            return vec![format!("`{name}` is not an action. {hint}")];
        };
        let mut problems = Vec::new();
        for text in keys {
            let key: Key = match text.parse() {
                Ok(key) => key,
                Err(error) => {
                    problems.push(format!("{name}: {error}."));
                    continue;
                }
            };
            let taken = self
                .bound
                .iter()
                .position(|(c, k, a)| *c == row.context && *k == key && *a != row.action);
            if let Some(at) = taken {
                let (_, _, other) = self.bound.remove(at);
                let other = name_of(other);
                problems.push(format!("{key} does `{name}` and no longer `{other}`."));
            }
            let hidden = self
                .bound
                .iter()
                .find(|(c, k, _)| *c == Context::Global && *k == key);
            if let (Context::Composer, Some((_, _, action))) = (row.context, hidden) {
                let other = name_of(*action);
                problems.push(format!(
                    "{key} does `{name}` while you write, so `{other}` needs another key."
                ));
            }
            self.bound.push((row.context, key, row.action));
        }
        problems
    }

    /// Keys given to an action of everywhere that mean something else while one writes.
    fn shadowed(&self, name: &str, changes: &BTreeMap<String, Vec<String>>) -> Vec<String> {
        let is = |row: &&Row| row.name == name && row.context == Context::Global;
        let Some(row) = TABLE.iter().find(is) else {
            return Vec::new();
        };
        let mine = self.bound.iter().filter(|(_, _, a)| *a == row.action);
        let shadows = mine.filter_map(|(_, key, _)| {
            let other = self.action(&[Context::Composer], *key)?;
            // A key that the user gave to both was told already.
            (!changes.contains_key(name_of(other))).then(|| {
                let other = name_of(other);
                format!("{key} stays `{other}` while you write, so `{name}` needs another key.")
            })
        });
        shadows.collect()
    }

    /// What this key does in the first of these contexts that knows it.
    pub fn action(&self, contexts: &[Context], key: Key) -> Option<Action> {
        contexts.iter().find_map(|context| {
            let mine = |(c, k, _): &&(Context, Key, Action)| c == context && *k == key;
            self.bound.iter().find(mine).map(|(_, _, action)| *action)
        })
    }

    /// The key to show for an action; empty if it has none.
    pub fn key(&self, action: Action) -> String {
        self.first(action)
            .map(|key| key.to_string())
            .unwrap_or_default()
    }

    /// The first key of an action.
    pub fn first(&self, action: Action) -> Option<Key> {
        let first = self.bound.iter().find(|(_, _, a)| *a == action);
        first.map(|(_, key, _)| *key)
    }

    /// The key that really leads to an action of everywhere while one writes; empty if none does.
    pub fn key_while_writing(&self, action: Action) -> String {
        let leads = |(_, key, a): &&(Context, Key, Action)| {
            *a == action && self.action(&[Context::Composer, Context::Global], *key) == Some(action)
        };
        let found = self.bound.iter().find(leads);
        found.map(|(_, key, _)| key.to_string()).unwrap_or_default()
    }

    /// Every key of an action, joined by spaces.
    pub fn keys(&self, action: Action) -> String {
        let mine = self.bound.iter().filter(|(_, _, a)| *a == action);
        mine.map(|(_, key, _)| key.to_string())
            .collect::<Vec<_>>()
            .join("  ")
    }

    /// What is wrong with the user's keys, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// The name of an action in the configuration.
fn name_of(action: Action) -> &'static str {
    let row = TABLE.iter().find(|row| row.action == action);
    row.map_or("", |row| row.name)
}

/// The name closest to `word`: most shared pairs of letters, then the shorter one.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
    names
        .max_by_key(|name| (closeness(word, name), usize::MAX - name.len()))
        .unwrap_or("")
}

/// The number at the end of `keys.toml line 3`; places without one come first.
fn line_of(place: &str) -> u32 {
    let digits = place.rsplit(' ').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Names that have less in common are not worth naming, of 1,000.
const ALIKE: usize = 400;

fn closeness(a: &str, b: &str) -> usize {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let padded: Vec<char> = std::iter::once('^')
            .chain(text.chars())
            .chain(['$'])
            .collect();
        padded.windows(2).map(|w| (w[0], w[1])).collect()
    };
    let (mut left, right) = (pairs(a), pairs(b));
    let total = left.len() + right.len();
    let mut shared = 0;
    for pair in right {
        if let Some(at) = left.iter().position(|p| *p == pair) {
            left.swap_remove(at);
            shared += 1;
        }
    }
    2_000 * shared / total.max(1)
}

/// docs/keys.md, made from the table; a test keeps the file equal to it.
pub fn document() -> String {
    let mut text = String::from(
        "# Keys\n\nMade from the key table in `src/tui/keymap.rs`. To change keys, name the action \
         under `[ui.keys]`, or in a file `keys.toml` beside your `config.toml` (without the \
         heading; it wins):\n\n```toml\n[ui.keys]\nsubmit = [\"enter\"]\nnew-line = [\"alt+enter\", \
         \"ctrl+j\"]\nfind = []\n```\n\nAn empty list takes an action's keys away. An action or a key that \
         does not exist, and a key that another action had, are named on the start screen and in \
         `/status`, with the line they stand on.\n\nWith `ui.vim = true`, or after `/vim`, the composer \
         has vim's keys: motions `hjkl wbe WBE ge 0^$ gg G fFtT ;, % {}`, operators `d c y gu gU g~` \
         with motions, text objects (`iw aw iW i\" i' i( i[ i{ i< ip` …) and counts, `x X s S D C Y r ~ \
         J p P u ctrl+r . i a I A o O`, and `v V` to select. Esc leaves insert mode first; in normal \
         mode it does what it does elsewhere. The footer shows the mode.\n",
    );
    for (context, heading) in Context::ALL {
        let _ = write!(
            text,
            "\n## {heading}\n\n| keys | action | what it does |\n| --- | --- | --- |\n"
        );
        for row in TABLE.iter().filter(|row| row.context == context) {
            let keys: Vec<String> = row
                .keys
                .split_whitespace()
                .map(|k| format!("`{k}`"))
                .collect();
            let _ = writeln!(
                text,
                "| {} | `{}` | {} |",
                keys.join(" "),
                row.name,
                row.says
            );
        }
    }
    text
}

#[cfg(test)]
#[path = "keymap_tests.rs"]
mod tests;
