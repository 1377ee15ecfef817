//! Configurations of the listeners.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::crypto::Provider;
use tessera::handshake::ClientAuthentication;
use tessera::resume::{OneTimeKeyGuard, ReplayGuard, SingleUseRegister};
use tessera::wire::{NamedGroup, TicketRequest};
use tessera_kit::ProgramError;
use tessera_proxy::keys_ahead;
use tessera_proxy::stores::Stores;

use super::chooser::Choices;
use super::own::OwnCertificate;
use crate::config::{Configuration, Limits};
use crate::identity::{Listener, SeppVerifier};
use crate::reconnection::{Modes, PeerJudge, Standing};

/// The common parts of the configurations for both roles.
pub(super) struct Parts<'p> {
    pub(super) own: &'p OwnCertificate,
    pub(super) standing: &'p Arc<Standing>,
    pub(super) limits: &'p Limits,
}

/// What tickets of a listener need.
pub(super) struct TicketStores<'r> {
    pub(super) stores: &'r Stores,
    pub(super) register: &'r Arc<dyn SingleUseRegister>,
}

impl Parts<'_> {
    /// Builds the configurations that a listener chooses from. A listener for N32-c alone only has full handshakes.
    pub(super) fn choices(
        &self,
        listener: Listener,
        reconnecting: &TicketStores<'_>,
    ) -> Result<Choices, ProgramError> {
        let verifier = || {
            let (known, associations) = (self.standing.known(), self.standing.associations());
            SeppVerifier::of_clients(known.clone(), listener, associations.clone())
        };
        let mut named = self.server(verifier());
        if listener != Listener::N32c {
            self.resume(&mut named, listener, reconnecting);
        }
        let may_be_unnamed = self.standing.known().iter().any(|peer| peer.without_server_name);
        let unnamed = may_be_unnamed.then(|| self.server(verifier().without_server_name()));
        Ok(Choices {
            names: self.own.names.clone(),
            named: named.checked()?,
            unnamed: unnamed.map(ServerConfig::checked).transpose()?,
        })
    }

    /// Builds a configuration with only full handshakes, with certificates of both sides.
    fn server(&self, verifier: SeppVerifier) -> ServerConfig {
        let provider = keys_ahead::provider(&[]);
        let groups = groups(&provider);
        let mut config = ServerConfig::new(provider, vec![self.own.credential.clone()]);
        config.groups = groups;
        config.protocols = vec![b"h2".to_vec()];
        config.certificate_codecs = tessera_compression::codecs();
        config.client_authentication = ClientAuthentication::Required(Arc::new(verifier));
        config.handshake_timeout = self.limits.handshake;
        config.policy.resumption = false;
        config
    }

    /// Adds resumption. The configuration allows what any peer may; the judge then checks the particular peer.
    fn resume(
        &self,
        config: &mut ServerConfig,
        listener: Listener,
        reconnecting: &TicketStores<'_>,
    ) {
        let TicketStores { stores, register } = reconnecting;
        let modes =
            || self.standing.known().iter().map(|peer| &peer.modes).filter(|modes| modes.resume);
        let any = |may: fn(&Modes) -> bool| modes().any(may);
        config.policy.resumption = any(|_| true);
        config.policy.psk_only_without_forward_secrecy = any(|modes| modes.risky_psk_ke);
        config.policy.tickets = TICKETS;
        config.tickets = Some(stores.tickets.clone());
        let lifetime = modes().map(|modes| modes.ticket_lifetime).max();
        config.ticket_lifetime = lifetime.unwrap_or(config.ticket_lifetime);
        config.scope = self.own.scope(listener);
        config.judge = Some(Arc::new(PeerJudge::new(self.standing.clone(), listener)));
        if any(|modes| modes.forward_secret_early_data) {
            let mut guard = OneTimeKeyGuard::new(stores.vault.clone());
            guard.receipts = Some(stores.receipts.clone());
            config.policy.early_data.forward_secret = Some(guard);
        }
        if any(|modes| modes.risky_replayable_early_data) {
            let register = (*register).clone();
            config.policy.early_data.replayable_without_forward_secrecy =
                Some(ReplayGuard { register, max_early_data_size: MAX_EARLY_DATA });
        }
    }
}

/// Finds reconnection settings of peers that these stores can't support.
pub(super) fn check_replays(configuration: &Configuration) -> Result<(), ProgramError> {
    let risky =
        configuration.peer.iter().find(|(_, peer)| peer.reconnection.risky_replayable_early_data);
    match (risky, &configuration.tickets.fleet) {
        (Some((name, _)), Some(_)) => Err(ProgramError::settings(format!(
            "[peer.{name}.reconnection] risky-replayable-early-data: each server of [tickets.fleet] would process its \
             own copy; remove one of them, or set early-data = \"fs\""
        ))),
        _ => Ok(()),
    }
}

/// Returns the groups of TS 33.210 §6.2, preceded by a hybrid: N32 traffic is worth recording today for later
/// decryption.
pub(super) fn groups(provider: &Provider) -> Vec<NamedGroup> {
    let wanted = [
        NamedGroup::X25519MLKEM768,
        NamedGroup::X25519,
        NamedGroup::SECP256R1,
        NamedGroup::SECP384R1,
    ];
    wanted.into_iter().filter(|group| provider.group(*group).is_some()).collect()
}

/// Each connection uses one ticket and brings another, so a pool of connections resumes quickly.
pub(super) const TICKETS: TicketRequest =
    TicketRequest { new_session_count: 4, resumption_count: 1 };

/// As much as a forward-secret flight carries: preface, SETTINGS and a request.
const MAX_EARLY_DATA: u32 = 16 * 1024;
