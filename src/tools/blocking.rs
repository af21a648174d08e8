//! The one way from a tool to a blocking thread, with a bound.
//!
//! Walks, searches and large reads block for long; on the runtime's worker they would stall
//! streams and other tools. Tools hold a `Blocking` each (clones share one bound). Small reads and
//! writes stay where they are: a hop to another thread costs more than they do.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::protocol::tool::INTERRUPTED_OUTPUT;

/// A handle to a bounded set of blocking threads.
#[derive(Debug, Clone)]
pub struct Blocking {
    permits: Arc<Semaphore>,
}

impl Blocking {
    /// At most `threads` closures run at once; others wait in order.
    pub fn new(threads: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(threads.max(1))),
        }
    }

    /// Runs `work` on a blocking thread. A panic in it becomes a failure.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the bounded helper that the rule asks for"
        )]
        let task = tokio::task::spawn_blocking(move || {
            // held until the work is done, even if nobody waits for it any more
            let _permit = permit;
            work()
        });
        task.await.map_err(|error| {
            Failure::new(format!(
                "The tool failed inside dunlin ({error}). Nothing is known about its effect; \
                 check before you go on."
            ))
        })
    }

    /// Like `run`, but gives up waiting as soon as `cancel` is cancelled; `work` must look at the
    /// token itself to end early.
    pub async fn run_until<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::new(INTERRUPTED_OUTPUT)),
            done = self.run(work) => done,
        }
    }
}

impl Default for Blocking {
    fn default() -> Self {
        Self::new(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_a_failure() {
        let failure = Blocking::new(1)
            .run(|| panic!("boom"))
            .await
            .expect_err("it panicked");
        assert!(failure.message.contains("inside dunlin"), "{failure:?}");
    }

    #[tokio::test]
    async fn no_more_closures_run_at_once_than_allowed() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let blocking = Blocking::new(2);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let all = (0..16).map(|_| {
            let (running, most, blocking) =
                (Arc::clone(&running), Arc::clone(&most), blocking.clone());
            async move {
                blocking
                    .run(move || {
                        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                    })
                    .await
            }
        });
        for done in futures_util::future::join_all(all).await {
            done.expect("it ran");
        }
        assert!(most.load(Ordering::SeqCst) <= 2);
    }

    #[tokio::test]
    async fn a_cancelled_wait_ends_although_the_work_does_not() {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let blocking = Blocking::new(1);
        let failure = blocking
            .run_until(&cancel, move || held.recv().is_ok())
            .await
            .expect_err("cancelled");
        assert_eq!(failure.message, INTERRUPTED_OUTPUT);
        drop(release);
    }
}
