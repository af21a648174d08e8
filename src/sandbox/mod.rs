//! What a command may touch.
