//! The key log (RFC 9850, the NSS format): for debugging, and only if configured.

/// Receives the secrets of connections. Anyone with these secrets can decrypt the connections.
pub trait KeyLog: Send + Sync {
    /// Logs one line of the format: a label, client_random, and the secret.
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]);
}
