//! The one place where errors become what the user reads: kind, message, hints, exit code.
