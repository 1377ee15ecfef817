//! The ways in which a peer may reconnect.

use std::time::Duration;

/// How a peer may reconnect. The default is (c); (a) is always allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// (c): resumes, with a key exchange (psk_dhe_ke).
    pub resume: bool,
    /// (e): forward-secret early data.
    pub forward_secret_early_data: bool,
    /// (b): resumes without a key exchange (psk_ke). An attacker who learns the ticket's PSK later can decrypt
    /// everything.
    pub risky_psk_ke: bool,
    /// (d): early data that is not forward-secret, and that only a register of used tickets protects from replay.
    pub risky_replayable_early_data: bool,
    /// The lifetime of a ticket.
    pub ticket_lifetime: Duration,
}

impl Modes {
    /// Returns the policy as bytes: another policy is another epoch.
    pub(crate) fn policy(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        let flags = [
            self.resume,
            self.forward_secret_early_data,
            self.risky_psk_ke,
            self.risky_replayable_early_data,
        ];
        bytes[..4].copy_from_slice(&flags.map(u8::from));
        bytes[4..].copy_from_slice(&self.ticket_lifetime.as_secs().to_be_bytes());
        bytes
    }
}

impl Default for Modes {
    /// (a) and (c), two hours.
    fn default() -> Self {
        Self {
            resume: true,
            forward_secret_early_data: false,
            risky_psk_ke: false,
            risky_replayable_early_data: false,
            ticket_lifetime: Duration::from_secs(2 * 3600),
        }
    }
}
