//! Settings of the work done: `[output]`, `[bash]`, `[snapshot]`, `[store]`.
//!
//! Rows of the table in `keys`; nothing else belongs here.

use super::{Key, key};
use crate::config::kind::Kind;

pub(super) const KEYS: &[Key] = &[
    key(
        "output.lines",
        Kind::Usize(|c, _| &mut c.output.lines, 1),
        "Lines of one tool output.",
    ),
    key(
        "output.bytes",
        Kind::Usize(|c, _| &mut c.output.bytes, 256),
        "Bytes of one tool output.",
    ),
    key(
        "output.bash_chars",
        Kind::Usize(|c, _| &mut c.output.bash_chars, 256),
        "Characters of one `bash` output.",
    ),
    key(
        "output.read_lines",
        Kind::Usize(|c, _| &mut c.output.read_lines, 1),
        "Lines of one `read`.",
    ),
    key(
        "output.read_line_chars",
        Kind::Usize(|c, _| &mut c.output.read_line_chars, 16),
        "Characters per line of `read`.",
    ),
    key(
        "output.grep_matches",
        Kind::Usize(|c, _| &mut c.output.grep_matches, 1),
        "Matches of one `grep`.",
    ),
    key(
        "output.glob_paths",
        Kind::Usize(|c, _| &mut c.output.glob_paths, 1),
        "Paths of one `glob`.",
    ),
    key(
        "output.other_chars",
        Kind::Usize(|c, _| &mut c.output.other_chars, 256),
        "Characters of any other output.",
    ),
    key(
        "output.keep_days",
        Kind::U32(|c, _| &mut c.output.keep_days, 0, 36_500),
        "Days that full outputs are kept.",
    ),
    key(
        "bash.timeout",
        Kind::Duration(|c, _| &mut c.bash.timeout),
        "Time-out of a command that asks for none.",
    ),
    key(
        "bash.max_timeout",
        Kind::Duration(|c, _| &mut c.bash.max_timeout),
        "Longest time-out a command may ask for.",
    ),
    key(
        "bash.env",
        Kind::TextMap(|c, _| &mut c.bash.env),
        "Extra variables in the environment of commands.",
    ),
    key(
        "snapshot.enabled",
        Kind::Bool(|c, _| &mut c.snapshot.enabled),
        "False turns snapshots, diffs and undo off.",
    ),
    key(
        "snapshot.max_file",
        Kind::Size(|c, _| &mut c.snapshot.max_file),
        "Untracked files above this size stay out of snapshots.",
    ),
    key(
        "snapshot.max_bytes",
        Kind::Size(|c, _| &mut c.snapshot.max_bytes),
        "New data of one snapshot.",
    ),
    key(
        "snapshot.max_files",
        Kind::Usize(|c, _| &mut c.snapshot.max_files, 1),
        "Files of a first walk outside git.",
    ),
    key(
        "snapshot.max_walk",
        Kind::Duration(|c, _| &mut c.snapshot.max_walk),
        "Time of a first walk outside git.",
    ),
    key(
        "snapshot.quota",
        Kind::Size(|c, _| &mut c.snapshot.quota),
        "Disk space of one project's snapshots.",
    ),
    key(
        "snapshot.keep_days",
        Kind::U32(|c, _| &mut c.snapshot.keep_days, 0, 36_500),
        "Days that snapshots are kept.",
    ),
    key(
        "snapshot.watch",
        Kind::Bool(|c, _| &mut c.snapshot.watch),
        "False does without watching the file system.",
    ),
    key(
        "snapshot.verify_after",
        Kind::Duration(|c, _| &mut c.snapshot.verify_after),
        "Idle time after which all files are compared once with what is known; 0 for never.",
    ),
    key(
        "store.frames_days",
        Kind::U32(|c, _| &mut c.store.frames_days, 0, 36_500),
        "Days that recorded answers of models are kept for dunlin replay; 0 records none.",
    ),
    key(
        "store.quota",
        Kind::Size(|c, _| &mut c.store.quota),
        "Disk space of one project's sessions; 0 for no limit.",
    ),
    key(
        "store.archive_days",
        Kind::U32(|c, _| &mut c.store.archive_days, 0, 36_500),
        "Days after which an untouched session is archived.",
    ),
];
