//! Delivers the last bytes of a closed side, even while the other still sends.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::time::{Sleep, sleep};

use super::scratch::Scratch;
use super::{End, Side};

/// Closing a socket with unread bytes resets its connection, and the peer loses the last bytes sent to it (RFC 9112
/// §9.6 warns of the same in HTTP). So incoming bytes are read and dropped for a while.
pub(super) struct LastWords {
    /// The side that sent the last bytes.
    pub(super) ended: Side,
    /// Why writing to it failed.
    error: io::Error,
    timer: Pin<Box<Sleep>>,
}

impl LastWords {
    pub(super) fn new(ended: Side, error: io::Error) -> Self {
        Self { ended, error, timer: Box::pin(sleep(TIME)) }
    }

    pub(super) fn poll_hear_out<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let mut scratch = Scratch::take();
        for _ in 0..TURN {
            match scratch.poll_read(stream, cx) {
                Poll::Pending => return self.timer.as_mut().poll(cx),
                Poll::Ready(Ok(1..)) => (),
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        self.timer.as_mut().poll(cx)
    }

    pub(super) fn end(self) -> End {
        End::EndedEarly { side: self.ended, error: self.error }
    }
}

const TIME: Duration = Duration::from_secs(1);

/// After this many reads other tasks get their turn.
const TURN: usize = 16;
