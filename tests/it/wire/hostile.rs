//! No bytes can make the decoders panic, hang or hoard memory.
