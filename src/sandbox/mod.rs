//! What a command may touch.
use crate::config::{paths::Paths, used::SandboxSettings};
/// temp
pub const LAUNCHER: &str = "__sandbox";
/// temp
pub fn launcher_main(_a: std::env::ArgsOs) -> u8 {
    2
}
/// temp
#[derive(Debug)]
pub struct Chosen;
/// temp
pub fn choose(_s: &SandboxSettings, _w: &std::path::Path, _p: &Paths) -> Chosen {
    Chosen
}
impl Chosen {
    /// temp
    pub fn is_on(&self) -> bool {
        false
    }
    /// temp
    pub fn label(&self) -> String {
        "no sandbox".to_owned()
    }
    /// temp
    pub fn sentence(&self) -> String {
        "Commands run without a sandbox.".to_owned()
    }
}
