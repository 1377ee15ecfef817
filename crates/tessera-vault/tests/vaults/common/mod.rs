//! Sessions for tests of rings to seal.

use std::time::Duration;

use tessera::auth::{PeerIdentity, VerifierDigest};
use tessera::crypto::Secret;
use tessera::resume::{Ancestry, Carrier, Companion, FlightHandle, SessionState};
use tessera::wire::CipherSuite;

pub const NOW: Duration = Duration::from_secs(1_800_000_000);

pub fn session() -> SessionState {
    SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(&[7; 32]).unwrap(),
        protocol: Some(b"h2".to_vec()),
        server_name: Some("example.org".into()),
        peer: Some(PeerIdentity { blob: vec![3; 20], expires_at: Some(2_000_000_000) }),
        accepted_by: Some(VerifierDigest([5; 32])),
        external_psk: None,
        authenticated_at: NOW.as_secs(),
        policy_epoch: 4,
        scope: vec![1, 2, 3],
        ancestry: Ancestry::PostQuantum,
        issued_at: NOW.as_millis() as u64,
        lifetime: 3600,
        age_add: 99,
        max_early_data_size: 0,
        companion: Some(Companion {
            id: [9; 32],
            handle: FlightHandle([8; 32]),
            max_early_data_size: 1024,
            incarnation: None,
        }),
        carrier: Carrier::STREAM,
    }
}
