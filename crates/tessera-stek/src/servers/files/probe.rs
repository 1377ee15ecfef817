//! Which key a server seals with.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::canary::Canary;

/// Asks a server for a ticket, whose first 16 bytes name the key that sealed it.
///
/// A server may be several processes: the probe asks one of them. It learns the issuing key alone. If that stays the same
/// while others change, it waits for [`reads_within`](Self::reads_within) before it asks.
pub struct Probe {
    /// The client that asks.
    pub canary: Canary,
    /// Where the server listens.
    pub address: SocketAddr,
    /// How long the server may take to read its files, once the command has succeeded.
    pub reads_within: Duration,
}

/// How long to wait between two questions.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How long to ask before anything has changed.
const GLANCE: Duration = Duration::from_secs(1);

impl Probe {
    /// How long most servers take at most to read their files after a signal.
    pub const READS_WITHIN: Duration = Duration::from_secs(5);

    /// Whether the server seals with this key now. `true` if it doesn't answer in time.
    pub(super) async fn finds(&self, name: &[u8; 16]) -> bool {
        let asked = timeout_at(Instant::now() + GLANCE, self.canary.ticket(self.address)).await;
        match asked {
            Ok(Ok(ticket)) => ticket.key_name() == Some(name),
            // It serves no client. It reads the files when it starts, if not earlier.
            Ok(Err(_)) => false,
            Err(_) => true,
        }
    }

    /// Waits until the server seals with this key.
    pub(super) async fn find(&self, name: &[u8; 16]) -> Result<(), String> {
        let deadline = Instant::now() + self.reads_within;
        let mut reason = String::from("it sends no ticket");
        loop {
            match timeout_at(deadline, self.canary.ticket(self.address)).await {
                Ok(Ok(ticket)) if ticket.key_name() == Some(name) => return Ok(()),
                Ok(Ok(_)) => reason = "it seals tickets with another key".into(),
                Ok(Err(error)) => reason = format!("it gives the probe no ticket: {error}"),
                Err(_) => (),
            }
            if Instant::now() + ASK_EVERY >= deadline {
                break;
            }
            sleep(ASK_EVERY).await;
        }
        Err(format!(
            "the server at {} didn't take the ticket keys within {} s: {reason}; check that it reads the files that the \
             sidecar writes, and its log",
            self.address,
            self.reads_within.as_secs_f32()
        ))
    }
}
