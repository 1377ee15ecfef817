//! Sockets that can end without a goodbye.

use tokio::io::DuplexStream;
use tokio::net::TcpStream;

use crate::fast_open::FastOpenStream;

/// A socket that can be closed so that its peer sees an error, and not an end.
pub trait ResetOnClose {
    /// Has the system forget what waits to be sent, and reset the connection, when the socket is closed.
    /// Sockets that have nothing of the kind are closed as usual.
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

/// Its peer sees an end.
#[cfg(unix)]
impl ResetOnClose for tokio::net::UnixStream {
    fn reset_on_close(&self) {}
}

/// Its peer sees an end.
impl ResetOnClose for DuplexStream {
    fn reset_on_close(&self) {}
}
