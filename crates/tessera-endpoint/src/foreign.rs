//! Datagrams of other protocols on the same port (RFC 7983, RFC 9443).

/// A protocol that isn't DTLS 1.3, by the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Foreign {
    /// DTLS 1.2 or older: a ClientHello that doesn't offer DTLS 1.3, another message or an alert in plaintext that is
    /// of no association, or records of these versions alone.
    Dtls12,
    /// STUN.
    Stun,
    /// Anything else.
    Other,
}

impl Foreign {
    /// Returns the protocol of a datagram that can't be DTLS 1.3.
    pub(crate) fn of(datagram: &[u8]) -> Option<Self> {
        match datagram {
            [0..=3, ..] => Some(Self::Stun),
            // change_cipher_spec, application_data, heartbeat, tls12_cid.
            [20 | 23..=25, ..] => Some(Self::Dtls12),
            // Alerts and messages under keys: only the epoch of no keys is DTLS 1.3's.
            [21 | 22, _, _, epoch @ ..] if !epoch.starts_with(&[0, 0]) => Some(Self::Dtls12),
            [21 | 22 | 26 | 32..=63, ..] => None,
            _ => Some(Self::Other),
        }
    }
}
