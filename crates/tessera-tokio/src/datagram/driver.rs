//! The task of a socket: receives, sends again, keeps time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tessera_endpoint::Path;
use tokio::io::ReadBuf;
use tokio::time::{Instant, Sleep, sleep_until};

use super::associations::DatagramHandshake;
use super::hub::Hub;
use super::inbox::wipe;
use super::peer::Failure;
use super::socket::{BATCH, LONGEST_DATAGRAM};

/// Drives a socket until it has no user.
pub(super) struct Driver<S: DatagramHandshake> {
    hub: Arc<Hub<S>>,
    buffer: Vec<u8>,
    sleep: Pin<Box<Sleep>>,
}

impl<S: DatagramHandshake> Driver<S> {
    pub(super) fn new(hub: Arc<Hub<S>>) -> Self {
        let sleep = Box::pin(sleep_until(Instant::now()));
        Self { hub, buffer: vec![0; LONGEST_DATAGRAM], sleep }
    }

    /// Receives what has arrived; returns whether there may be more.
    fn receive(&mut self, cx: &mut Context<'_>) -> bool {
        for _ in 0..BATCH {
            let (socket, local) = {
                let state = self.hub.lock();
                (state.sockets.first.clone(), state.sockets.first_name)
            };
            let mut buffer = ReadBuf::new(&mut self.buffer);
            match socket.poll_receive(&mut buffer, cx) {
                Poll::Ready(Ok(remote)) => {
                    self.hub.lock().receive(Path { remote, local }, buffer.filled_mut());
                    // Data was decrypted in place.
                    wipe(buffer.filled_mut());
                }
                Poll::Ready(Err(error)) => self.hub.lock().note_error(&error),
                Poll::Pending => return false,
            }
        }
        true
    }
}

impl<S: DatagramHandshake> Future for Driver<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            let has_more = this.receive(cx);
            let mut state = this.hub.lock();
            let served = state.sockets.first_name;
            state.disarm();
            state.handle_timeouts();
            state.flush();
            if state.users == 0 {
                return Poll::Ready(());
            }
            let alarm = state.arm(cx.waker());
            let blocked = state.blocked_socket();
            let is_served = state.sockets.first_name == served;
            drop(state);
            // Another socket has taken the place of the first one, and doesn't wake this task yet.
            if !is_served {
                continue;
            }
            if let Some(socket) = blocked
                && socket.poll_writable(cx).is_ready()
            {
                continue;
            }
            if let Some(alarm) = alarm {
                if this.sleep.deadline() != alarm {
                    this.sleep.as_mut().reset(alarm);
                }
                if this.sleep.as_mut().poll(cx).is_ready() {
                    continue;
                }
            }
            if has_more {
                // Others have their turn.
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
    }
}

/// Without a driver nothing arrives: users must not wait for it.
impl<S: DatagramHandshake> Drop for Driver<S> {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        state.is_over = true;
        state.fail_all(&Failure::Socket(io::ErrorKind::NotConnected));
        drop(state);
        self.hub.arrived.notify_waiters();
        self.hub.foreign_arrived.notify_waiters();
    }
}
