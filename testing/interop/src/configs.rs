//! Tessera's initial configurations for the tests.

use std::sync::Arc;

use tessera::crypto::RandomFailed;
use tessera::resume::ClientSession;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::UnsealedTickets;
use tessera_rustcrypto::{RandomSource, experimental_fo_skip_provider};

use crate::pki::{Identity, Pki, SERVER_NAME};

/// Returns a client that trusts the authority.
pub fn client(pki: &Pki) -> ClientConfig {
    ClientConfig::new(tessera_aws_lc::provider(), pki.verifier())
}

/// The same, which opens ciphertexts of ML-KEM without re-encryption (`docs/one-time-kem.md` §6).
pub fn fo_skip_client(pki: &Pki) -> ClientConfig {
    ClientConfig::new(experimental_fo_skip_provider::<AwsLc>(), pki.verifier())
}

struct AwsLc;

impl RandomSource for AwsLc {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        tessera_aws_lc::provider().random.fill(out)
    }
}

/// Returns a server with this certificate, and with tickets.
pub fn server(identity: &Identity) -> ServerConfig {
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![identity.credential()]);
    config.tickets = Some(Arc::new(UnsealedTickets));
    config
}

/// Returns the server of these tests as a destination.
pub fn to(session: Option<ClientSession>) -> Destination {
    Destination {
        server_name: SERVER_NAME.into(),
        session: session.map(Box::new),
        ..Destination::default()
    }
}
