//! Sockets that can be closed with a reset.

use tokio::io::DuplexStream;
use tokio::net::TcpStream;

use crate::fast_open::FastOpenStream;

/// A socket that can be closed so that its peer sees an error instead of an end.
pub trait ResetOnClose {
    /// Makes the system discard data waiting to be sent, and reset the connection, when the socket is closed.
    /// Sockets without such an option are closed as usual.
    fn reset_on_close(&self);
}

impl ResetOnClose for TcpStream {
    fn reset_on_close(&self) {
        let _ = self.set_zero_linger();
    }
}

impl ResetOnClose for FastOpenStream {
    fn reset_on_close(&self) {
        self.get_ref().reset_on_close();
    }
}

/// No reset: its peer sees an end.
#[cfg(unix)]
impl ResetOnClose for tokio::net::UnixStream {
    fn reset_on_close(&self) {}
}

/// No reset: its peer sees an end.
impl ResetOnClose for DuplexStream {
    fn reset_on_close(&self) {}
}
