//! How a way checks certificates and sends them.

use std::sync::Arc;

use tessera::auth::{ChainMemory, Credential, PeerVerifier};
use tessera::crypto::Provider;
use tessera::handshake::ClientAuthentication;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, ServerConfig};
use tessera_cache::{ClientCache, ClientLimits, ServerCache, ServerLimits};
use tessera_interop::{KeyKind, Pki};
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

use crate::ways::{Certificates, Kind, Proof, Way};

/// Returns the server's certificate.
pub(crate) fn of_server(way: &Way, pki: &Pki) -> Credential {
    match way.proof {
        Proof::P256 => pki.server(KeyKind::P256).credential(),
        Proof::MlDsa44 => pki.server(KeyKind::MlDsa44).credential(),
        Proof::MlKem768 => pki.server_with_kem(SignatureScheme::KEM_MLKEM768).credential(),
    }
}

/// Configures both ends.
pub(crate) fn configure(
    way: &Way,
    pki: &Pki,
    provider: &Provider,
    client: &mut ClientConfig,
    server: &mut ServerConfig,
) {
    let is_mutual = way.kind == Kind::Mutual;
    if is_mutual {
        client.credentials = vec![pki.client(KeyKind::P256).credential()];
    }
    let require = |verifier: Arc<dyn PeerVerifier>| match is_mutual {
        true => ClientAuthentication::Required(verifier),
        false => ClientAuthentication::None,
    };
    let of_client = ClientCache::new(provider).expect("SHA-256");
    let of_server = ServerCache::new(provider).expect("SHA-256");
    match way.certificates {
        Certificates::Verified => {
            client.verifier = match way.proof {
                Proof::MlKem768 => pki.verifier_with_kems(&[SignatureScheme::KEM_MLKEM768]),
                Proof::P256 | Proof::MlDsa44 => pki.verifier(),
            };
            server.client_authentication = require(pki.verifier());
        }
        Certificates::Known => {
            client.verifier = known(pki, provider);
            server.client_authentication = require(known(pki, provider));
        }
        Certificates::CachedAndKnown => {
            let verifiers = [known(pki, provider), known(pki, provider)];
            let [one, other] = verifiers.clone().map(|it| -> Arc<dyn ChainMemory> { it });
            client.certificate_codecs = vec![Arc::new(of_client.with_chain_memory(one))];
            server.certificate_codecs = vec![Arc::new(of_server.with_chain_memory(other))];
            let [one, other] = verifiers;
            client.verifier = one;
            server.client_authentication = require(other);
        }
        Certificates::NeverCached => {
            let (mut client_limits, mut server_limits) =
                (ClientLimits::default(), ServerLimits::default());
            (client_limits.servers, server_limits.clients) = (0, 0);
            client.certificate_codecs = vec![Arc::new(of_client.with_limits(client_limits))];
            server.certificate_codecs = vec![Arc::new(of_server.with_limits(server_limits))];
            client.verifier = pki.verifier();
            server.client_authentication = require(pki.verifier());
        }
    }
}

fn known(pki: &Pki, provider: &Provider) -> Arc<KnownChains> {
    let store = ChainStore::new(provider, StoreBounds::default()).expect("SHA-256");
    let verifier = WebPkiVerifier::new(&[pki.root()]).expect("a root");
    Arc::new(KnownChains::new(verifier, &store))
}
