//! Servers of tools (MCP) through the whole program: configured, started, asked, judged, ended.

mod address;
mod program;
