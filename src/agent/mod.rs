//! OP → TURN → EVENT: the agent.
//!
//! A session's `Turn` is a pure machine: inputs in, effects out, no clock, no I/O. The `driver`
//! performs the effects (store, model, tools, snapshots, timers) and feeds what comes of them back
//! in. A turn in prose:
//!
//! 1. A prompt becomes a user message. Guidance queued meanwhile becomes one user message between
//!    two steps.
//! 2. If the context would overflow, it is pruned or compacted first.
//! 3. A step begins: an assistant message, a snapshot (taken while the model is being asked).
//! 4. The answer streams in; every piece is a part write, then an event.
//! 5. Calls are judged; read-only ones start while the model still streams, the others when it has
//!    ended, the worktree is snapshot and their `running` record is synced.
//! 6. When all have results the step is finished: tokens, cost, snapshot, patch.
//! 7. The next step begins, unless the model asked for nothing, the user interrupted or refused, or
//!    a limit was reached.

pub mod budget;
pub mod driver;
pub mod effect;
pub mod input;
pub mod loop_guard;
pub mod queue;
pub mod recall;
pub mod replay;
pub mod retry;
pub mod subagent;
pub mod turn;

pub use effect::Effect;
pub use input::Input;
pub use turn::Turn;
