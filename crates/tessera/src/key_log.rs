//! The key log (RFC 9850, the NSS format): for debugging, and only where it is asked for.

/// Receives the secrets of connections; whoever reads them reads the connections.
pub trait KeyLog: Send + Sync {
    /// One line of the format: a label, client_random, and the secret.
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]);
}
