//! OP → TURN → EVENT.
