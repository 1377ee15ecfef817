//! A row as configurations of the engine.

use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{OneTimeKeyGuard, PskKind, ReplayGuard};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Facts, ServerConfig};
use tessera_aws_lc::{KemKey, KeyRejected, SigningKey};
use tessera_reports::{KeyExchange, Mode, OneTimeKey};
use tessera_webpki::WebPkiVerifier;

use super::pipes::Result;
use super::stores::{ForgetfulRegister, Stores};
use crate::control::{ObservedFacts, Preparation, Psk};
use crate::engine_names;
use crate::pki::Identity;

/// The limit of a handshake, and of an endpoint's wait for bytes: far longer than TCP needs to repair the losses of a
/// bad link.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The most early data of a flight, in bytes.
const MAX_EARLY_DATA: u32 = 16 * 1024;

/// Returns the client's configuration for a row. A full handshake requests `sessions` tickets; a resumption as many as
/// the row needs: one replaces the one it used.
pub(crate) fn client(preparation: &Preparation, sessions: u8) -> Result<Checked<ClientConfig>> {
    Ok(client_config(preparation, sessions)?.checked()?)
}

/// The same before it is checked, so that it can still be observed.
pub(crate) fn client_config(preparation: &Preparation, sessions: u8) -> Result<ClientConfig> {
    let mut config = anonymous_client_config(preparation, sessions)?;
    config.credentials = vec![credential(&preparation.identity)?];
    Ok(config)
}

/// The same of a client without a certificate: only the root of its identity counts.
pub(crate) fn anonymous_client_config(
    preparation: &Preparation,
    sessions: u8,
) -> Result<ClientConfig> {
    let Preparation { way, identity, .. } = preparation;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier(identity)?);
    config.groups = way.groups();
    if let Some(suite) = preparation.suite {
        config.suites = vec![engine_names::cipher_suite(suite)];
    }
    config.handshake_timeout = PATIENCE;
    let policy = &mut config.policy;
    policy.tickets =
        TicketRequest { new_session_count: sessions, resumption_count: preparation.tickets };
    policy.psk_only_without_forward_secrecy = way.mode == Mode::PskOnly;
    policy.early_data.replayable_without_forward_secrecy = way.mode.is_replayable();
    policy.early_data.forward_secret = way.continuation.map(engine_names::engine_continuation);
    policy.early_data.one_time_psks_forward_secret_only_if_deleted =
        way.ticket_key == Some(OneTimeKey::Psk);
    Ok(config)
}

/// Returns the server's configuration for a row, with these stores.
pub(crate) fn server(preparation: &Preparation, stores: &Stores) -> Result<Checked<ServerConfig>> {
    Ok(server_config(preparation, stores)?.checked()?)
}

/// The same before it is checked, so that it can still be observed.
pub(crate) fn server_config(preparation: &Preparation, stores: &Stores) -> Result<ServerConfig> {
    let Preparation { way, identity, .. } = preparation;
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential(identity)?]);
    config.groups = way.groups();
    config.client_authentication = ClientAuthentication::Required(verifier(identity)?);
    config.tickets = Some(stores.ring.clone());
    if let Some(suite) = preparation.suite {
        config.suites = vec![engine_names::cipher_suite(suite)];
    }
    config.handshake_timeout = PATIENCE;
    // If a row has a classical key exchange with a post-quantum ticket, both ends also support the post-quantum group.
    config.classical_key_exchange_to_save_a_round_trip = way.kx == Some(KeyExchange::X25519);
    let policy = &mut config.policy;
    policy.tickets = TicketRequest { new_session_count: u8::MAX, resumption_count: 1 };
    policy.psk_only_without_forward_secrecy = way.mode == Mode::PskOnly;
    if way.mode.is_replayable() {
        policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
            register: match way.mode {
                Mode::ZeroRttUnguarded => Arc::new(ForgetfulRegister),
                _ => stores.register.clone(),
            },
            max_early_data_size: MAX_EARLY_DATA,
        });
    }
    if let (Some(kind), Some(continuation)) = (way.ticket_key, way.continuation) {
        let mut guard = OneTimeKeyGuard::new(stores.vault.clone());
        guard.kinds = vec![engine_names::group_of_key(kind)];
        guard.continuation = engine_names::engine_continuation(continuation);
        guard.max_early_data_size = MAX_EARLY_DATA;
        policy.early_data.forward_secret = Some(guard);
    }
    Ok(config)
}

pub(crate) fn verifier(identity: &Identity) -> Result<Arc<WebPkiVerifier>> {
    Ok(Arc::new(WebPkiVerifier::new(&[&identity.root])?))
}

pub(crate) fn credential(identity: &Identity) -> Result<Credential> {
    Ok(Credential::new(vec![identity.certificate.clone()], private_key(&identity.private_key)?))
}

/// Returns a private key, PKCS#8.
pub(crate) fn private_key(der: &[u8]) -> Result<PrivateKey> {
    Ok(match SigningKey::from_pkcs8(der) {
        Ok(key) => PrivateKey::Signs(Arc::new(key)),
        Err(KeyRejected::Unsupported) => {
            PrivateKey::Decapsulates(Arc::new(KemKey::from_pkcs8(der)?))
        }
        Err(error) => return Err(error.into()),
    })
}

/// Returns the engine's facts of a connection, as far as verdicts need them.
pub(crate) fn observed(facts: &Facts) -> ObservedFacts {
    use tessera::handshake::EarlyDataStatus;
    use tessera::resume::Ancestry;
    ObservedFacts {
        psk: match facts.psk {
            // Of the session modes, it is none.
            None | Some(PskKind::KnownKey) => Psk::None,
            Some(PskKind::ForwardSecret) => Psk::ForwardSecret,
            Some(_) => Psk::Resumption,
        },
        group: facts.group.and_then(engine_names::key_exchange),
        one_time_key: facts.one_time_key.and_then(engine_names::one_time_key),
        continuation: facts.continuation.map(engine_names::continuation),
        early_data_accepted: facts.early_data == EarlyDataStatus::Accepted,
        post_quantum: facts.ancestry == Some(Ancestry::PostQuantum),
    }
}
