//! The session store from outside: what a crash, a damaged file, a full disk and a second process
//! may and may not do to it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail a test by panicking"
)]

mod basics;
mod copies;
mod damage;
mod disk_full;
mod every_place;
mod foreign_lines;
mod gc;
mod idle;
mod kill;
mod little_disk;
mod little_room;
mod mangled;
mod marks;
mod newer;
mod private;
mod rich;
mod salvage;
mod strangers;
mod support;
mod trouble;
mod two_processes;
mod whole_or_not;
