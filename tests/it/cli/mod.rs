//! The command line as scripts use it: the real binary, the scripted provider, the contract.

mod canary;
mod doctor;
mod exec;
mod keys;
mod output;
mod proxies;
mod refusals;
mod safety;
mod schema;
mod stored;
mod switch;
