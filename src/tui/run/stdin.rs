//! Bytes from the terminal, without a thread: readiness from the runtime, one read that cannot block.
//!
//! stdin is not made non-blocking: the setting would be shared with stdout and with the shell.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The terminal's input.
#[derive(Debug)]
pub(super) struct Stdin {
    ready: AsyncFd<io::Stdin>,
}

impl Stdin {
    #[expect(
        deprecated,
        reason = "its successor is unsafe for descriptors that may close; fd 0 stays"
    )]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            ready: AsyncFd::with_interest(io::stdin(), Interest::READABLE)?,
        })
    }

    /// Waits for bytes and takes what is there. Empty: the terminal is gone. Nothing is lost if the
    /// future is dropped before it is ready.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut ready = self.ready.readable().await?;
            if !waiting()? {
                ready.clear_ready();
                continue;
            }
            let mut bytes = vec![0; 4_096];
            match rustix::io::read(io::stdin(), &mut bytes[..]) {
                Ok(count) => {
                    bytes.truncate(count);
                    return Ok(bytes);
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// True if a read would not block.
fn waiting() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let zero = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut fds, Some(&zero)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
