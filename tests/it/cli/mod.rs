//! The command line as scripts use it: the real binary, the scripted provider, the contract.

mod doctor;
mod exec;
mod keys;
mod output;
mod proxies;
mod refusals;
mod safety;
mod stored;
mod switch;
