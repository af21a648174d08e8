//! Arguments and subcommands.
