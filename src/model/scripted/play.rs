//! Turns one step of a script into a stream of deltas, at the pace and with the faults it asks for.
//!
//! Called by the scripted provider; knows nothing of positions. Time is tokio's, so tests can pause it.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use tokio::time::Instant;

use super::script::{Call, FaultName, FaultSpec, PartSpec, Step, Text};
use crate::model::{Answer, Delta, Request, Usage};
use crate::protocol::{Fault, FaultKind, Finish};

/// Deltas that are handed over together when no pace is set, as off the network.
const BATCH: usize = 64;

/// All deltas of a step, in order.
pub(super) fn deltas(step: &Step, id_prefix: &str, request: &Request) -> Vec<Delta> {
    let mut out = Vec::new();
    let mut blocks = 0_u32;
    let mut calls = 0_usize;
    let mut next = || {
        blocks += 1;
        blocks - 1
    };
    if let Some(text) = &step.reasoning {
        say(&mut out, next(), text, step.chunk, true);
    }
    if let Some(text) = &step.text {
        say(&mut out, next(), text, step.chunk, false);
    }
    let parts = step.calls.iter().map(Piece::Call);
    for piece in parts.chain(step.parts.iter().map(Piece::of)) {
        match piece {
            Piece::Text(text) => say(&mut out, next(), text, step.chunk, false),
            Piece::Reasoning(text) => say(&mut out, next(), text, step.chunk, true),
            Piece::Call(call) => {
                let id = format!("{id_prefix}_{calls}");
                calls += 1;
                make_call(&mut out, next(), &id, call);
            }
        }
    }
    let said = out.iter().map(size).sum::<usize>() as u64;
    out.push(Delta::Usage(usage(step, request, said)));
    let reason = step.finish.unwrap_or(if calls > 0 {
        Finish::ToolCalls
    } else {
        Finish::Stop
    });
    out.push(Delta::Finish {
        reason,
        raw: "scripted".to_owned(),
    });
    out
}

enum Piece<'a> {
    Text(&'a Text),
    Reasoning(&'a Text),
    Call(&'a Call),
}

impl<'a> Piece<'a> {
    const fn of(part: &'a PartSpec) -> Self {
        match part {
            PartSpec::Text(text) => Self::Text(text),
            PartSpec::Reasoning(text) => Self::Reasoning(text),
            PartSpec::Call(call) => Self::Call(call),
        }
    }
}

fn say(out: &mut Vec<Delta>, block: u32, text: &Text, chunk: usize, reasoning: bool) {
    out.extend(text.pieces(chunk).into_iter().map(|text| {
        if reasoning {
            Delta::Reasoning { block, text }
        } else {
            Delta::Text { block, text }
        }
    }));
    out.push(Delta::BlockEnd {
        block,
        provider: None,
    });
}

fn make_call(out: &mut Vec<Delta>, block: u32, id: &str, call: &Call) {
    let (name, id) = (call.name.clone(), Some(id.to_owned()));
    let input = match &call.input {
        serde_json::Value::Null => serde_json::Value::Object(serde_json::Map::new()),
        input => input.clone(),
    };
    let (json, arguments) = match &call.raw {
        Some(raw) => (
            raw.clone(),
            serde_json::from_str(raw).map_err(|_broken| raw.clone()),
        ),
        None => (input.to_string(), Ok(input)),
    };
    out.push(Delta::CallStart {
        block,
        id: id.clone(),
        name: name.clone(),
    });
    out.push(Delta::CallArguments { block, json });
    out.push(Delta::CallEnd {
        block,
        id,
        name,
        arguments,
        provider: None,
    });
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text { text, .. } | Delta::Reasoning { text, .. } => text.len(),
        Delta::CallArguments { json, .. } => json.len(),
        _ => 0,
    }
}

fn usage(step: &Step, request: &Request, said: u64) -> Usage {
    let spec = step.usage;
    let estimate =
        || super::model::estimate(request).saturating_sub(spec.cache_read + spec.cache_write);
    Usage {
        input: Some(spec.input.unwrap_or_else(estimate)),
        output: Some(spec.output.unwrap_or(said / 4 + 1)),
        reasoning: Some(spec.reasoning),
        cache_read: Some(spec.cache_read),
        cache_write: Some(spec.cache_write),
    }
}

/// What a step needs to be played.
#[derive(Debug)]
pub(super) struct Plan {
    /// All it says.
    pub deltas: Vec<Delta>,
    /// Wait before the first piece.
    pub delay: Duration,
    /// Pieces per second; 0 for no pace.
    pub pace: f64,
    /// What goes wrong this time.
    pub fault: Option<FaultSpec>,
    /// A stall that lasts longer ends in a time-out.
    pub idle_timeout: Duration,
}

struct Playing {
    plan: Plan,
    at: usize,
    started: Option<Instant>,
    over: bool,
}

/// Plays it. The last item is a fault or holds `Delta::Finish`.
pub(super) fn play(plan: Plan) -> Answer {
    let playing = Playing {
        plan,
        at: 0,
        started: None,
        over: false,
    };
    stream::unfold(playing, |mut playing| async move {
        let item = playing.next().await?;
        Some((item, playing))
    })
    .boxed()
}

impl Playing {
    async fn next(&mut self) -> Option<Result<Vec<Delta>, Fault>> {
        if self.over {
            return None;
        }
        let started = if let Some(started) = self.started {
            started
        } else {
            tokio::time::sleep(self.plan.delay).await;
            *self.started.insert(Instant::now())
        };
        let fault_at = self.fault_at();
        if fault_at == Some(self.at)
            && let Some(fault) = self.fail().await
        {
            self.over = true;
            return Some(Err(fault));
        }
        let left = self.plan.deltas.len();
        if self.at >= left {
            return None;
        }
        let end = if self.plan.pace > 0.0 {
            self.due(started).await
        } else {
            self.at + BATCH
        };
        let end = end.min(left).min(self.fault_at().unwrap_or(left));
        let batch = self.plan.deltas.get(self.at..end)?.to_vec();
        self.at = end;
        self.over = end == left;
        Some(Ok(batch))
    }

    /// Waits for the next piece to be due; gives the end of all that are.
    async fn due(&self, started: Instant) -> usize {
        let at = started + Duration::from_secs_f64(self.at as f64 / self.plan.pace);
        tokio::time::sleep_until(at).await;
        let elapsed = started.elapsed().as_secs_f64();
        ((elapsed * self.plan.pace) as usize + 1).max(self.at + 1)
    }

    /// Where the fault happens, counted in deltas and never after the end.
    fn fault_at(&self) -> Option<usize> {
        let fault = self.plan.fault.as_ref()?;
        let last = self.plan.deltas.len().saturating_sub(1);
        Some(match fault.kind {
            FaultName::Drop | FaultName::Stall | FaultName::Malformed => fault.after.min(last),
            FaultName::Status | FaultName::Overloaded | FaultName::Overflow => 0,
        })
    }

    /// Lets it happen; none if the stream goes on after it (a short stall).
    async fn fail(&mut self) -> Option<Fault> {
        let spec = self.plan.fault.take()?;
        if spec.kind == FaultName::Stall {
            let idle = self.plan.idle_timeout;
            let stall = spec
                .seconds
                .map_or(idle, |s| Duration::from_secs_f64(s.min(1e6)));
            tokio::time::sleep(stall.min(idle)).await;
            if stall < idle {
                self.started = Some(Instant::now());
                return None;
            }
        }
        Some(fault(&spec))
    }
}

/// The fault in the words of the real transports.
fn fault(spec: &FaultSpec) -> Fault {
    let place = "the scripted provider";
    let mut fault = match spec.kind {
        FaultName::Status => return of_status(spec),
        FaultName::Overloaded => {
            let mut fault = Fault::new(
                FaultKind::Overloaded,
                format!("There is no room at {place} right now (HTTP 529)."),
                "It is tried again.",
            )
            .retryable();
            fault.status = Some(529);
            fault
        }
        FaultName::Overflow => super::model::overflow(),
        FaultName::Drop => Fault::new(
            FaultKind::StreamTruncated,
            format!("The answer of {place} broke off before its end."),
            "It is asked for again.",
        )
        .retryable(),
        FaultName::Stall => Fault::new(
            FaultKind::Timeout,
            format!("Nothing came from {place} for too long."),
            "It is asked for again.",
        )
        .retryable(),
        FaultName::Malformed => Fault::new(
            FaultKind::Protocol,
            format!("The answer of {place} could not be understood."),
            "It is asked for again.",
        )
        .retryable(),
    };
    fault.retry_after_ms = spec.retry_after_ms;
    fault
}

fn of_status(spec: &FaultSpec) -> Fault {
    let status = spec.status.unwrap_or(500);
    let message = spec.message.as_deref().unwrap_or("scripted fault");
    let (kind, retryable) = match status {
        401 | 403 => (FaultKind::Auth, false),
        402 => (FaultKind::Quota, false),
        404 => (FaultKind::NotFound, false),
        413 => (FaultKind::ContextOverflow, false),
        408 => (FaultKind::Timeout, true),
        429 => (FaultKind::RateLimit, true),
        503 | 529 => (FaultKind::Overloaded, true),
        409 | 500..=599 => (FaultKind::Server, true),
        _ => (FaultKind::BadRequest, false),
    };
    Fault {
        kind,
        message: format!("The scripted provider answered HTTP {status}: {message}."),
        hint: "The script asks for this fault.".to_owned(),
        retryable,
        status: Some(status),
        retry_after_ms: spec.retry_after_ms,
    }
}
