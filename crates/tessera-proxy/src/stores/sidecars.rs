//! The ring of the sidecars of `tessera stek`, and our servers among the Envoys of a pool.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tessera_envoy_tickets::{EnvoyTickets, Pool, PoolMember, SessionContext, member_traits};
use tessera_kit::{KeySource, ProgramError};
use tessera_ring::{FleetRing, MemberOptions, RingOptions, RingParts, system_clock};
use tessera_store::Store;
use tessera_vault::{Rotation, TicketKeyDomain, TicketKeyRing, WrappingKeys, WrappingPurpose};
use tessera_webpki::dns_names;

use super::wrapping_key::one_wrapping_key;

/// Where the ring of sidecars is, and how its keys rotate: the same at all members.
#[derive(Debug, Clone, Copy)]
pub struct SidecarRing<'c> {
    /// The prefix of everything in the store.
    pub prefix: &'c str,
    /// How often a new key begins to seal.
    pub rotate_every: Duration,
    /// How long a ticket may be used.
    pub ticket_lifetime: Duration,
    /// How much the clocks of two members may differ.
    pub clock_skew: Duration,
}

/// There is one key, replaced only while all sidecars are down: its id carries no information.
const KEY_ID: [u8; 16] = *b"stek ring key\0\0\0";

impl SidecarRing<'_> {
    /// The default of `rotate-every` and of `ticket-lifetime`.
    pub const AN_HOUR: Duration = Duration::from_secs(3600);

    /// The default of `clock-skew`.
    pub const FIVE_MINUTES: Duration = Duration::from_secs(300);

    /// Returns the ring's options. A key is replaced after half of the time for which it may seal: the rest is for failures.
    #[must_use]
    pub fn options(&self) -> RingOptions {
        RingOptions {
            rotation: Rotation {
                issue_for: self.rotate_every.saturating_mul(2),
                open_for: self.ticket_lifetime,
                skew: self.clock_skew,
            },
            ..RingOptions::new(format!("{}stek/", self.prefix))
        }
    }

    /// Returns the keys that wrap the ring's in the store, of the key that `setting` names.
    ///
    /// # Errors
    /// If it is no key.
    pub fn wrapping(setting: &str, key: &[u8; 32]) -> Result<WrappingKeys, ProgramError> {
        one_wrapping_key(setting, WrappingPurpose::TicketKeys, KEY_ID, key)
    }
}

/// A pool of Envoys whose sessions a server resumes, and which resume its own.
#[derive(Debug, Clone, Copy)]
pub struct EnvoyPool<'c> {
    /// The section's name in errors.
    pub section: &'c str,
    /// The ring of their sidecars.
    pub ring: SidecarRing<'c>,
    /// The key of that ring.
    pub key: &'c KeySource,
    /// The pool's name at the sidecars.
    pub pool: &'c str,
    /// The name of this member of the ring.
    pub member: &'c str,
    /// The certificate of this server, DER: with the names and the issuer of the Envoys'.
    pub certificate: &'c [u8],
    /// The `server_names` of the Envoys' filter chain.
    pub server_names: &'c [String],
}

impl EnvoyPool<'_> {
    /// Returns the pool's session ID context, which Envoy puts into each session.
    ///
    /// # Errors
    /// If the certificate has no names, or can't be read.
    pub fn context(&self) -> Result<SessionContext, ProgramError> {
        let server_names: Vec<_> = self.server_names.iter().map(String::as_str).collect();
        let context = SessionContext::of_envoy(&[self.certificate], &server_names);
        context.map_err(|error| self.wrong(&error))
    }

    /// Joins the ring, in tasks of the current tokio runtime.
    pub(super) fn open(
        &self,
        store: Arc<dyn Store>,
    ) -> Result<(FleetRing, Arc<EnvoyTickets>), ProgramError> {
        let provider = tessera_aws_lc::provider();
        let setting = format!("[{}] key", self.section);
        let key = self.key.read(&setting, "ring", Path::new(""))?;
        let names = dns_names(self.certificate).map_err(|error| self.wrong(&error))?;
        let pool =
            Pool { max_lifetime: self.ring.ticket_lifetime, ..Pool::new(self.context()?, names) };
        let own = Arc::new(TicketKeyRing::new(&provider));
        let tickets = Arc::new(EnvoyTickets::new(pool, own.clone()));
        let domain = TicketKeyDomain { kind: "envoy", name: self.pool.into() };
        let traits =
            member_traits(&domain, self.certificate).map_err(|error| self.wrong(&error))?;
        let parts = RingParts {
            store,
            provider,
            wrapping: Arc::new(SidecarRing::wrapping(&setting, &key)?),
            installer: Arc::new(PoolMember { provider, own, tickets: tickets.clone(), domain }),
            cache: None,
            clock: system_clock(),
        };
        let member = MemberOptions { name: Some(self.member.into()), traits };
        let ring = FleetRing::open(parts, RingOptions { member, ..self.ring.options() });
        let ring = ring.map_err(|_| {
            ProgramError::failed("the ring of ticket keys", "the system has no random bytes")
        })?;
        Ok((ring, tickets))
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> ProgramError {
        ProgramError::settings(format!("[{}] the certificate: {error}", self.section))
    }
}
