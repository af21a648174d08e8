//! Syntax colours, made by one worker thread and remembered by content.
//!
//! A layout asks `Highlights::get`; what is not there yet is plain and noted as wanted. The loop
//! calls `Worker::poll` after a frame: it starts the thread with the first piece of work, hands
//! over what is wanted and takes results in. First use of a language can cost hundreds of
//! milliseconds, which is why nothing of it happens on the UI's thread. Without the feature `highlight`
//! there is `no_highlight` in its place.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::tui::theme::CodeKind;

/// Bytes of code beyond which it stays plain.
pub const LARGEST: usize = 64 * 1024;

/// Finished pieces that are remembered.
const REMEMBERED: usize = 128;

/// Pieces waiting for the worker; more are noted again by the next layout.
const WAITING: usize = 32;

/// Which code: by language and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// The key of a piece of code.
pub fn key(language: &str, code: &str) -> Key {
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    language.hash(&mut hasher);
    code.hash(&mut hasher);
    Key(hasher.finish())
}

/// Runs of one line: end in bytes, and kind.
type Runs = Vec<(u32, CodeKind)>;

/// A highlighted piece of code.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Painted {
    lines: Vec<Runs>,
}

impl Painted {
    /// The runs of a line, from 0.
    pub fn line(&self, n: usize) -> Option<&[(u32, CodeKind)]> {
        self.lines.get(n).map(Vec::as_slice)
    }
}

/// A piece of code to be highlighted.
#[derive(Debug, Clone)]
struct Job {
    key: Key,
    language: String,
    code: String,
}

/// What is known, and what is wanted.
#[derive(Debug, Default)]
pub struct Highlights {
    done: HashMap<Key, Option<Arc<Painted>>>,
    wanted: RefCell<Vec<Job>>,
    /// Changes with every result, so that plain layouts are known to be old.
    version: u64,
}

impl Highlights {
    /// The colours of a piece of code, or none yet. `code` gives the text if it is new.
    pub fn get(
        &self,
        key: Key,
        language: &str,
        code: impl FnOnce() -> String,
    ) -> Option<Arc<Painted>> {
        if language.is_empty() {
            return None;
        }
        if let Some(done) = self.done.get(&key) {
            return done.clone();
        }
        let mut wanted = self.wanted.borrow_mut();
        if wanted.len() < WAITING && wanted.iter().all(|job| job.key != key) {
            let code = code();
            if code.len() <= LARGEST {
                wanted.push(Job {
                    key,
                    language: language.to_owned(),
                    code,
                });
            }
        }
        None
    }

    /// Grows with every result.
    pub const fn version(&self) -> u64 {
        self.version
    }

    fn insert(&mut self, key: Key, painted: Option<Arc<Painted>>) {
        if self.done.len() >= REMEMBERED {
            // Layouts hold their own colours; forgetting costs one more run at the next resize.
            self.done.clear();
        }
        self.done.insert(key, painted);
        self.version += 1;
    }
}

/// Called from the worker's thread when results are ready.
type Wake = Arc<dyn Fn() + Send + Sync>;

/// The worker: its thread lives from the first piece of work until this is dropped.
#[derive(Default)]
pub struct Worker {
    wake: Option<Wake>,
    line: Option<thread::Line>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

impl Worker {
    /// Who is told when results are ready; takes effect when the thread starts.
    pub fn set_waker(&mut self, wake: Wake) {
        self.wake = Some(wake);
    }

    /// Wakes whom the other one wakes.
    pub fn wake_like(&mut self, other: &Self) {
        self.wake.clone_from(&other.wake);
    }

    /// Hands over what is wanted, takes results in. True if there were any. `calm` says that no turn
    /// runs: more work is not to be expected soon, so what the work needed is let go of sooner.
    pub fn poll(&mut self, highlights: &mut Highlights, calm: bool) -> bool {
        let wanted = std::mem::take(highlights.wanted.get_mut());
        if self.line.is_none() && !wanted.is_empty() {
            self.line = thread::Line::start(self.wake.clone());
        }
        let Some(line) = &mut self.line else {
            return false;
        };
        line.calm(calm);
        for job in wanted {
            // Until its colours are there it is known as plain, so it is not wanted again.
            highlights.done.insert(job.key, None);
            line.send(job);
        }
        let mut news = false;
        while let Some((key, painted)) = line.receive() {
            highlights.insert(key, painted.map(Arc::new));
            news = true;
        }
        news
    }
}

mod thread {
    //! The worker's thread and its two channels.

    use std::collections::HashMap;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::time::Duration;

    use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

    use super::{Job, Key, Painted, Runs, Wake};
    use crate::tui::theme::CodeKind;

    /// Tables that nobody needed for so long are let go of: while a turn runs, and after it.
    const LINGER: Duration = Duration::from_secs(5);
    const LINGER_CALM: Duration = Duration::from_millis(300);
    /// The allocator returns freed memory to the system after a second, at the next occasion: when
    /// something as large as this is freed.
    const GIVEN_BACK: Duration = Duration::from_millis(1_200);
    const LARGE: usize = 4 << 20;

    /// Bytes of one line beyond which the rest of the code stays plain.
    const LONGEST_LINE: usize = 2_000;

    /// What the thread is told.
    enum Order {
        Paint(Job),
        /// Whether a turn runs.
        Calm(bool),
    }

    /// Both ends of the conversation with the thread.
    pub(super) struct Line {
        orders: Sender<Order>,
        results: Receiver<(Key, Option<Painted>)>,
        calm: bool,
    }

    impl Line {
        /// Starts the thread; none if the system has none to give.
        pub(super) fn start(wake: Option<Wake>) -> Option<Self> {
            let (orders, todo) = channel();
            let (done, results) = channel();
            std::thread::Builder::new()
                .name("highlight".to_owned())
                .spawn(move || work(&todo, &done, wake.as_ref()))
                .ok()?;
            Some(Self {
                orders,
                results,
                calm: false,
            })
        }

        pub(super) fn send(&self, job: Job) {
            // If the thread is gone, code stays plain.
            drop(self.orders.send(Order::Paint(job)));
        }

        /// Tells the thread if it has not been told.
        pub(super) fn calm(&mut self, calm: bool) {
            if calm != self.calm {
                self.calm = calm;
                drop(self.orders.send(Order::Calm(calm)));
            }
        }

        pub(super) fn receive(&self) -> Option<(Key, Option<Painted>)> {
            self.results.try_recv().ok()
        }
    }

    /// Grammars and what was learnt from them. Their expressions are compiled as code needs them:
    /// 8 MB for Rust, 50 MB for TypeScript.
    #[derive(Debug)]
    pub(super) struct Tables {
        set: SyntaxSet,
        kinds: Kinds,
    }

    impl Tables {
        pub(super) fn load() -> Self {
            Self {
                set: two_face::syntax::extra_newlines(),
                kinds: Kinds::default(),
            }
        }
    }

    /// Paints until nobody is there to send more.
    fn work(todo: &Receiver<Order>, done: &Sender<(Key, Option<Painted>)>, wake: Option<&Wake>) {
        let mut memory = Memory::default();
        let mut linger = LINGER;
        while let Some(order) = next(todo, &mut memory, linger) {
            let job = match order {
                Order::Paint(job) => job,
                Order::Calm(calm) => {
                    linger = if calm { LINGER_CALM } else { LINGER };
                    continue;
                }
            };
            let painted = paint(memory.tables.get_or_insert_with(Tables::load), &job);
            if done.send((job.key, painted)).is_err() {
                return;
            }
            if let Some(wake) = wake {
                wake();
            }
        }
    }

    /// What the thread holds between orders.
    #[derive(Default)]
    struct Memory {
        tables: Option<Tables>,
        /// Tables were let go of; the allocator still has their memory.
        freed: bool,
    }

    /// The next order. While there is none the tables are let go of, and then the thread sleeps
    /// without a timer.
    fn next(todo: &Receiver<Order>, memory: &mut Memory, linger: Duration) -> Option<Order> {
        loop {
            let wait = match memory {
                Memory {
                    tables: None,
                    freed: false,
                } => return todo.recv().ok(),
                Memory {
                    tables: None,
                    freed: true,
                } => GIVEN_BACK,
                Memory {
                    tables: Some(_), ..
                } => linger,
            };
            match todo.recv_timeout(wait) {
                Ok(order) => return Some(order),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if memory.tables.is_some() => {
                    *memory = Memory {
                        tables: None,
                        freed: true,
                    };
                }
                Err(RecvTimeoutError::Timeout) => {
                    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE)));
                    memory.freed = false;
                }
            }
        }
    }

    fn syntax<'a>(set: &'a SyntaxSet, language: &str) -> Option<&'a SyntaxReference> {
        let name = match language.to_ascii_lowercase().as_str() {
            "shell" | "console" | "shell-session" | "sh-session" => "bash".to_owned(),
            "jsonc" | "json5" => "json".to_owned(),
            "golang" => "go".to_owned(),
            other => other.to_owned(),
        };
        set.find_syntax_by_token(&name)
            .filter(|s| s.name != "Plain Text")
    }

    /// The colours of a piece of code; none if the language is not known.
    pub(super) fn paint(tables: &mut Tables, job: &Job) -> Option<Painted> {
        let Tables { set, kinds } = tables;
        let mut state = ParseState::new(syntax(set, &job.language)?);
        let mut stack = ScopeStack::new();
        let mut lines = Vec::new();
        for line in job.code.split_inclusive('\n') {
            if line.len() > LONGEST_LINE {
                break;
            }
            let Ok(changes) = state.parse_line(line, set) else {
                break;
            };
            let mut runs: Runs = Vec::new();
            let end = line.trim_end_matches('\n').len();
            let mut push = |to: usize, kind: CodeKind| {
                let to = to.min(end) as u32;
                match runs.last_mut() {
                    Some((last, same)) if *same == kind => *last = to,
                    Some((last, _)) if *last >= to => {}
                    None if to == 0 => {}
                    _ => runs.push((to, kind)),
                }
            };
            for (at, change) in changes {
                push(at, kinds.of(&stack));
                if stack.apply(&change).is_err() {
                    return None;
                }
            }
            push(end, kinds.of(&stack));
            runs.shrink_to_fit();
            lines.push(runs);
        }
        Some(Painted { lines })
    }

    /// What scopes mean, remembered: a scope is a number, and its name costs a lock and a string.
    #[derive(Debug, Default)]
    pub(super) struct Kinds(HashMap<Scope, Option<CodeKind>>);

    impl Kinds {
        /// What the innermost scope that means something means.
        fn of(&mut self, stack: &ScopeStack) -> CodeKind {
            let mut scopes = stack.as_slice().iter().rev();
            scopes
                .find_map(|scope| {
                    let known = self.0.entry(*scope);
                    *known.or_insert_with(|| meaning(&scope.build_string()))
                })
                .unwrap_or(CodeKind::Plain)
        }
    }

    fn meaning(name: &str) -> Option<CodeKind> {
        let is = |prefix: &str| name.starts_with(prefix);
        if is("markup.inserted") || is("punctuation.definition.inserted") {
            return Some(CodeKind::Added);
        }
        if is("markup.deleted") || is("punctuation.definition.deleted") {
            return Some(CodeKind::Removed);
        }
        if is("meta.diff.range") || is("meta.diff.header") || is("meta.header") {
            return Some(CodeKind::Comment);
        }
        if is("comment") || is("punctuation.definition.comment") {
            return Some(CodeKind::Comment);
        }
        if is("string") || is("punctuation.definition.string") || is("constant.character") {
            return Some(CodeKind::String);
        }
        if is("constant") {
            return Some(CodeKind::Number);
        }
        if is("keyword.operator") || is("punctuation") {
            return Some(CodeKind::Plain);
        }
        if is("keyword") || is("storage.modifier") || is("storage.control") {
            return Some(CodeKind::Keyword);
        }
        if is("entity.name.function") || is("support.function") || is("variable.function") {
            return Some(CodeKind::Function);
        }
        if is("meta.annotation") || is("entity.other.attribute") || is("support.macro") {
            return Some(CodeKind::Attribute);
        }
        if is("storage") {
            return Some(CodeKind::Keyword);
        }
        if is("entity.name") || is("support.type") || is("support.class") {
            return Some(CodeKind::Type);
        }
        is("variable").then_some(CodeKind::Plain)
    }
}

#[cfg(test)]
#[path = "highlight_tests.rs"]
mod tests;
