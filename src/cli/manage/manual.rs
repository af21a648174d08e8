//! `dunlin completions` and `dunlin man`: what shells and `man` read, made from the table of arguments.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::Outcome;
use crate::cli::arguments::Arguments;
use crate::cli::print;
use crate::error::AppError;
use crate::headless::exit;

/// What the table of arguments does not know. Roff: a line that begins with a dot is a request.
const REST: &str = r#".SH "EXIT STATUS"
Of \fBdunlin exec\fR: 0 done; 1 error; 2 the command line or the configuration is wrong; 3 a permission was
refused (nobody can be asked); 4 it went round in circles; 5 a budget or the most steps were reached;
130 interrupted.
.SH ENVIRONMENT
.TP
\fBANTHROPIC_API_KEY\fR, \fBOPENAI_API_KEY\fR, \fBGEMINI_API_KEY\fR, …
Keys of the providers. \fBdunlin auth login\fR keeps them instead.
.TP
\fBDUNLIN_CONFIG_DIR\fR, \fBDUNLIN_DATA_DIR\fR
Folders for the configuration and for sessions; else those of the XDG base directories.
.TP
\fBDUNLIN_\fR\fIKEY\fR
Any key of the configuration, in capitals and with _ for a dot: DUNLIN_CONTEXT_PRUNE_PROTECT.
.TP
\fBNO_COLOR\fR
No colours.
.SH FILES
.TP
\fI~/.config/dunlin/config.toml\fR
The configuration. \fBdunlin config\fR shows every value and where it comes from.
.TP
\fI~/.local/share/dunlin/projects/\fR
Sessions, images and snapshots, a folder for each repository.
.TP
\fI.dunlin/\fR, \fIAGENTS.md\fR
A project's own configuration (if its folder is trusted) and instructions.
"#;

pub(super) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut command = Arguments::command();
    // a reader that went away must not end in a panic
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "dunlin", &mut script);
    print(String::from_utf8_lossy(&script).trim_end());
    exit::DONE
}

pub(super) fn pages(dir: Option<&Path>) -> Outcome {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(dir) = dir else {
        print(page(&command, true)?.trim_end());
        return Ok(exit::DONE);
    };
    let mut written = 0;
    write_below(&command, dir, &mut written)?;
    print(format_args!("{written} pages are in {}.", dir.display()));
    Ok(exit::DONE)
}

/// The page of a command and of all below it that are not hidden.
fn write_below(command: &Command, dir: &Path, written: &mut u32) -> Result<(), AppError> {
    let path = dir.join(format!("{}.1", named(command)));
    let text = page(command, *written == 0)?;
    let done = fs::create_dir_all(dir).and_then(|()| fs::write(&path, text));
    done.map_err(|e| {
        let message = format!("{} cannot be written: {e}.", path.display());
        AppError::new(message, "Name a folder that you may write to.")
    })?;
    *written += 1;
    for command in below(command) {
        write_below(command, dir, written)?;
    }
    Ok(())
}

/// `dunlin-sessions-export`
fn named(command: &Command) -> &str {
    command.get_display_name().unwrap_or("dunlin")
}

fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
}

fn page(command: &Command, whole: bool) -> Result<String, AppError> {
    let mut bytes = Vec::new();
    let made = Man::new(command.clone()).render(&mut bytes);
    made.map_err(|e| {
        let message = format!("The manual page cannot be made: {e}.");
        AppError::new(message, "Please report this bug.")
    })?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if whole {
        let pages: Vec<String> = below(command)
            .map(|command| format!("\\fB{}\\fR(1)", named(command)))
            .collect();
        text.push_str(REST);
        text.push_str(".SH \"SEE ALSO\"\n");
        text.push_str(&pages.join(", "));
        text.push('\n');
    }
    Ok(text)
}
