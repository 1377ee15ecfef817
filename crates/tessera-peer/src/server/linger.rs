//! The end of a connection that failed: its alert shall arrive.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

/// Reads on until the client ends too, for a moment at most. A socket that is closed with unread bytes
/// resets its connection, and a client that is still sending then loses the alert; RFC 9112 §9.6 tells
/// the same of HTTP.
pub(super) async fn linger(socket: &TcpStream) {
    let _ = timeout(MOMENT, pass_over(socket)).await;
}

async fn pass_over(socket: &TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        socket.readable().await?;
        match socket.try_read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => (),
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            Err(error) => return Err(error),
        }
    }
}

/// Less than a handshake may take.
const MOMENT: Duration = Duration::from_secs(2);
