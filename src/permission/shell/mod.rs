//! A command line taken apart by the grammar of bash: every simple command that it could run, with
//! its words, redirections and where it may run.
//!
//! `walk` reads the tree, `word` says what a word is known to be, `cross` checks the grammar against
//! a second, much simpler reading, because a parser that is wrong in silence would be a hole. What is
//! not understood is a `problem`, and problems are asked, never allowed.

pub mod cross;
pub mod cwd;
mod literal;
pub mod scope;
mod walk;
pub mod word;

pub use cwd::Cwd;
pub use walk::read;
pub use word::{Piece, Word};

/// A command line, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command it could run, in order, those in substitutions included.
    pub commands: Vec<Simple>,
    /// What could not be understood, one clause each.
    pub problems: Vec<String>,
    /// Its form.
    pub shape: Shape,
}

/// The form of a command line: what makes a wide grant unsafe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// More than one command in a row: `;`, `&&`, `||`, newline, loops, conditions, functions.
    pub compound: bool,
    /// A pipeline.
    pub pipe: bool,
    /// A redirection of output to a file, other than to `/dev/null`.
    pub redirect: bool,
    /// A command or process substitution.
    pub substitution: bool,
    /// A here-document or here-string.
    pub heredoc: bool,
    /// A command in the background.
    pub background: bool,
    /// Text is evaluated as arithmetic, which can run commands.
    pub arithmetic: bool,
    /// Quoted text holds a substitution, to be run by whoever evaluates it.
    pub quoted_code: bool,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// As typed, without redirections.
    pub text: String,
    /// The words as typed, name first; empty for assignments and redirections that stand alone.
    pub words: Vec<Word>,
    /// The words with variables put in, as far as their values are known.
    pub expanded: Vec<Word>,
    /// `NAME=value` before the name, or alone, or after `export` and its like.
    pub assignments: Vec<(String, Word)>,
    /// Its redirections and those of the groups around it.
    pub redirects: Vec<Redirect>,
    /// Where its input comes from.
    pub stdin: Stdin,
    /// Where it may run.
    pub cwd: Cwd,
}

/// A redirection to or from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// True if the file is written.
    pub writes: bool,
    /// The file.
    pub target: Word,
}

/// Where the input of a command comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// From dunlin: nothing.
    Nothing,
    /// From the command before it in a pipeline.
    Pipe,
    /// From a here-document or here-string: its text, none if the shell makes it up.
    Text(Option<String>),
    /// From a file.
    File,
}

impl Script {
    /// A script that could not be read.
    pub fn unreadable(problem: &str) -> Self {
        Self {
            problems: vec![problem.to_owned()],
            ..Self::default()
        }
    }
}
