//! What `grep` answers: matching lines by file, names or counts, within the limits, with the rest in a file.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::json;

use super::{Findings, Input, Mode, Plan, title};
use crate::tools::search::matches::{FileMatches, LINE};
use crate::tools::{Success, ToolContext};

pub(super) fn answer(
    plan: &Plan,
    found: &Findings,
    input: &Input,
    context: &ToolContext,
) -> Success {
    let files = &found.files;
    let matches: u64 = files.iter().map(|file| file.count).sum();
    let name = |path: &PathBuf| context.workspace.model_path(path);
    let mut output = String::new();
    let (shown, all, lines) = match plan.mode {
        Mode::Content => {
            let (shown, lines) = content(plan, files, context, &mut output);
            (shown, matches as usize, lines)
        }
        Mode::FilesWithMatches | Mode::Count => {
            for file in files.iter().take(plan.kept) {
                _ = match plan.mode {
                    Mode::Count => writeln!(output, "{}: {}", name(&file.path), file.count),
                    _ => writeln!(output, "{}", name(&file.path)),
                };
            }
            (files.len().min(plan.most), files.len(), plan.most)
        }
    };
    if files.is_empty() {
        output = format!(
            "Nothing matches {}. Ignored and binary files were not searched.",
            title(input)
        );
    }
    let cut = files
        .iter()
        .flat_map(|file| &file.lines)
        .any(|line| line.cut);
    let fitted = context.output.fit_lines("list", output, lines);
    let mut output = fitted.text;
    if cut {
        _ = write!(
            output,
            "\n(Lines of more than {LINE} characters are cut here. Read the file to see more of them.)"
        );
    }
    if shown < all {
        _ = write!(
            output,
            "\n({shown} of {all} shown, the newest files first. Narrow the search with path or include.)"
        );
    }
    if found.secret > 0 {
        _ = write!(
            output,
            "\n({} files that may hold secrets were not searched.)",
            found.secret
        );
    }
    if !found.whole {
        output.push_str("\n(There are too many files to search all of them. Give a path.)");
    }
    Success {
        output,
        metadata: json!({"matches": matches, "files": files.len(), "shown": shown, "cut": shown < all || !found.whole}),
        truncated: fitted.full,
        ..Success::default()
    }
}

/// Writes matching lines by file, all that are kept; returns how many matches may be shown, and on how
/// many lines they stand.
fn content(
    plan: &Plan,
    files: &[FileMatches],
    context: &ToolContext,
    output: &mut String,
) -> (usize, usize) {
    let (mut written, mut lines) = (0, 0);
    // Where the limit was reached, in lines.
    let mut shown = None;
    for file in files.iter().filter(|file| !file.lines.is_empty()) {
        if written >= plan.kept {
            break;
        }
        if written >= plan.most {
            shown = shown.or(Some(lines));
        }
        _ = writeln!(output, "{}", context.workspace.model_path(&file.path));
        lines += 1;
        let mut last = None;
        for line in &file.lines {
            if line.is_match && written >= plan.most {
                shown = shown.or(Some(lines));
                if written >= plan.kept {
                    break;
                }
            }
            if plan.before + plan.after > 0 && last.is_some_and(|last| line.number > last + 1) {
                output.push_str("  --\n");
                lines += 1;
            }
            last = Some(line.number);
            let sign = if line.is_match { ':' } else { '-' };
            _ = writeln!(output, "  {}{sign} {}", line.number, line.text);
            lines += 1;
            written += usize::from(line.is_match);
        }
        output.push('\n');
        lines += 1;
    }
    // a match across lines counts once, however many lines it has
    let all: u64 = files.iter().map(|file| file.count).sum();
    let matches = if plan.multiline {
        written.min(all as usize)
    } else {
        written
    };
    (matches.min(plan.most), shown.unwrap_or(usize::MAX))
}
