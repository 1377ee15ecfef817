//! The keys of a ring, for this server and for the pool.

use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::Provider;
use tessera_ring::{InstallRefused, Installation, Installer, RingKeys};
use tessera_vault::{TicketKey, TicketKeyDomain, TicketKeyForm, TicketKeyRing};

use crate::key::EnvoyKey;
use crate::tickets::EnvoyTickets;

/// A member of the ring from which the sidecars (`tessera stek`) of the pool's Envoys take their keys.
pub struct PoolMember {
    /// Expands keys, and wipes.
    pub provider: Provider,
    /// The ring that seals this server's own tickets, inside `tickets`.
    pub own: Arc<TicketKeyRing>,
    /// The pool's tickets.
    pub tickets: Arc<EnvoyTickets>,
    /// The pool's keys, as the sidecars derive them: of kind `envoy`.
    pub domain: TicketKeyDomain,
}

impl PoolMember {
    fn replace(&self, keys: &RingKeys) -> Result<(), InstallRefused> {
        let refused = |error: &dyn std::fmt::Display| InstallRefused(error.to_string());
        let issuing = keys.issuing.as_deref();
        let key = |key: &TicketKey| {
            let bytes = key.derive(&self.provider, TicketKeyForm::Aes256, &self.domain.encode());
            // Only the ring knows when every member holds the next key.
            let is_issuing = issuing.is_some_and(|issuing| issuing.id == key.id);
            let seals_until = if is_issuing { key.issues_until } else { Duration::ZERO };
            EnvoyKey::new(&self.provider, &bytes, seals_until, key.opens_until)
        };
        let derived: Result<Vec<_>, _> = keys.in_order().map(key).collect();
        let installed = derived.and_then(|derived| self.tickets.install(derived));
        installed.map_err(|error| refused(&error))?;
        self.own.install_copies(keys.in_order(), keys.now).map_err(|error| refused(&error))
    }
}

impl Installer for PoolMember {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        let installed = self.replace(keys);
        Box::pin(async move { installed })
    }
}
