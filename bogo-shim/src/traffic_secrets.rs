//! The secrets of a connection's application data, as the runner expects them.

use std::sync::{Mutex, PoisonError};

use tessera::KeyLog;

/// The client's and the server's first application traffic secrets.
#[derive(Default)]
pub struct TrafficSecrets(Mutex<(Vec<u8>, Vec<u8>)>);

impl TrafficSecrets {
    /// Returns the client's secret and the server's.
    pub fn both(&self) -> (Vec<u8>, Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl KeyLog for TrafficSecrets {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match label {
            "CLIENT_TRAFFIC_SECRET_0" => secrets.0 = secret.to_vec(),
            "SERVER_TRAFFIC_SECRET_0" => secrets.1 = secret.to_vec(),
            _ => (),
        }
    }
}
