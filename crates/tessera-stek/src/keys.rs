//! The ring's keys in the form of another server.

use tessera::crypto::{Provider, RandomFailed};
use tessera_ring::RingKeys;
use tessera_vault::{TicketKey, TicketKeyForm};
use zeroize::Zeroizing;

/// A ticket key as another server takes it: 48 or 80 bytes, of which the first 16 are its name, in the clear in each
/// ticket.
pub type ServerKey = Zeroizing<Vec<u8>>;

/// What the tickets of a pool of servers have in common. Servers of two domains have independent keys: neither opens the
/// other's tickets.
///
/// A ticket that crosses to a virtual host with other rules for clients' certificates skips these rules (CVE-2025-23419).
/// So servers share a domain only if they serve the same names, to the same tenant, with the same client authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// The kind of server: tickets cross between servers of one kind alone.
    pub kind: &'static str,
    /// The operator's name for the pool.
    pub name: String,
}

impl Domain {
    fn encode(&self) -> Vec<u8> {
        [self.kind.as_bytes(), &[0], self.name.as_bytes()].concat()
    }
}

/// Derives the ring's keys for the servers of a domain.
pub struct ServerKeys {
    provider: Provider,
    form: TicketKeyForm,
    domain: Vec<u8>,
}

/// The keys of a server, in their roles.
pub struct KeysInRoles {
    /// Seals tickets. Without an issuing key in the ring it is random, and exists nowhere else: no other server opens its
    /// tickets, and this one only until the next change.
    pub issuing: ServerKey,
    /// Opens tickets; the issuing key after the next rotation.
    pub next: Option<ServerKey>,
    /// Open tickets; the newest first.
    pub earlier: Vec<ServerKey>,
}

impl ServerKeys {
    /// Creates the keys of a domain.
    #[must_use]
    pub fn new(provider: &Provider, form: TicketKeyForm, domain: &Domain) -> Self {
        Self { provider: *provider, form, domain: domain.encode() }
    }

    /// Returns the form of its keys.
    #[must_use]
    pub fn form(&self) -> TicketKeyForm {
        self.form
    }

    /// Derives the keys.
    ///
    /// # Errors
    /// If a random key is needed, and the provider has no randomness.
    pub fn derive(&self, keys: &RingKeys) -> Result<KeysInRoles, RandomFailed> {
        let derive = |key: &TicketKey| key.derive(&self.provider, self.form, &self.domain);
        let issuing = keys.issuing.as_deref().map(derive);
        Ok(KeysInRoles {
            issuing: issuing.map_or_else(|| self.random(), Ok)?,
            next: keys.next.as_deref().map(derive),
            earlier: keys.earlier.iter().map(|key| derive(key)).collect(),
        })
    }

    /// Returns a key that exists nowhere else.
    ///
    /// # Errors
    /// If the provider has no randomness.
    pub fn random(&self) -> Result<ServerKey, RandomFailed> {
        let mut key = Zeroizing::new(vec![0; self.form.len()]);
        self.provider.random.fill(&mut key)?;
        Ok(key)
    }
}
