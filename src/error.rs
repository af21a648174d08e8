//! The one place where errors become what the user reads: a sentence, a hint, an exit code.

use std::path::Path;

use crate::config::load::ConfigError;
use crate::headless::exit;
use crate::protocol::{Fault, FaultKind};
use crate::session::StoreError;

/// A failure of the program as the user reads it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}{}{hint}", if hint.is_empty() { "" } else { " " })]
pub struct AppError {
    /// What happened, naming the thing and the place.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// What the program ends with.
    pub code: u8,
    kind: FaultKind,
}

impl AppError {
    /// A failure that ends the program with code 1.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            code: exit::ERROR,
            kind: FaultKind::Internal,
        }
    }

    /// A wrong command line or configuration: code 2.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code: exit::USAGE,
            kind: FaultKind::Config,
            ..Self::new(message, hint)
        }
    }

    /// A folder that cannot be used.
    pub fn folder(folder: &Path, cause: &std::io::Error) -> Self {
        let message = format!("{} cannot be used as a folder: {cause}.", folder.display());
        Self::usage(message, "Name an existing folder with -C.")
    }

    /// The same as a fault for a front end.
    pub fn to_fault(&self) -> Fault {
        Fault::new(self.kind, self.message.clone(), self.hint.clone())
    }
}

impl From<ConfigError> for AppError {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string(), "")
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        let fault = error.fault();
        Self {
            kind: fault.kind,
            ..Self::new(fault.message, fault.hint)
        }
    }
}

impl From<Fault> for AppError {
    fn from(fault: Fault) -> Self {
        Self {
            kind: fault.kind,
            ..Self::new(fault.message, fault.hint)
        }
    }
}
