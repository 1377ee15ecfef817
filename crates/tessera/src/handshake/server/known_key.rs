//! A client that knows this server's static key (docs/kem-auth.md §9): its PSK is decapsulated.

use alloc::boxed::Box;

use zeroize::Zeroizing;

use super::arrival::Arrival;
use super::negotiation::Negotiation;
use crate::crypto::AgreementError;
use crate::error::Error;
use crate::handshake::context::Context;
use crate::limits::MAX_IDENTITIES;
use crate::linked::KnownKeys;
use crate::resume::{ExternalPsk, KnownKeyIdentity, PskKind, psk_of_known_key};

/// The PSK of a known key, and its place among the identities.
pub(super) struct KnownKeyPsk {
    pub(super) index: usize,
    pub(super) psk: ExternalPsk,
}

impl Negotiation<'_> {
    /// Decapsulates the first identity that names a key of this server, once for a ClientHello.
    pub(super) fn open_known_key<'k>(
        &self,
        known: &'k mut Option<Option<Box<KnownKeyPsk>>>,
        arrival: &Arrival,
        ctx: &Context<'_>,
    ) -> Result<Option<&'k KnownKeyPsk>, Error> {
        // Over datagrams, a stranger's address is proved first.
        let may_be_known = KnownKeys::linked().is_some() && self.config.has_known_keys();
        if !may_be_known || self.hello.parsed.psks.is_none() || arrival.is_unproved {
            return Ok(None);
        }
        let opened = match known {
            Some(opened) => opened,
            None => known.insert(self.decapsulate_known_key(ctx)?),
        };
        Ok(opened.as_deref())
    }

    /// Returns nothing where a client is asked for a certificate: it would remain unauthenticated.
    fn decapsulate_known_key(&self, ctx: &Context<'_>) -> Result<Option<Box<KnownKeyPsk>>, Error> {
        let config = self.config;
        if config.client_authentication.verifier().is_some() || !self.has_mode(PskKind::KnownKey) {
            return Ok(None);
        }
        let identities = self.hello.parsed.psks.into_iter().flat_map(|psks| psks.identities());
        let mut named = identities.enumerate().take(MAX_IDENTITIES).filter_map(|(index, psk)| {
            let read = KnownKeyIdentity::read(psk.identity)?;
            Some((index, psk.identity, config.key_known_by(&read.id)?, read.encapsulation))
        });
        let Some((index, identity, key, encapsulation)) = named.next() else { return Ok(None) };
        let kem = config.provider.kem(*key.scheme());
        let fits = kem.is_some_and(|kem| kem.reply_len() == encapsulation.len());
        let Some(suite) = config.suite_with_sha256().filter(|_| fits) else { return Ok(None) };
        let shared = match key.decapsulate(encapsulation) {
            Ok(shared) => shared,
            Err(AgreementError::InvalidShare) => return Ok(None),
            Err(AgreementError::Provider) => return Err(Error::Provider("decapsulation")),
        };
        let secret = psk_of_known_key(ctx.kdf(suite), &shared, identity);
        let secret = Zeroizing::new(secret.expose().to_vec());
        let psk = ExternalPsk::of_known_key(identity.to_vec(), secret, suite.id);
        Ok(Some(Box::new(KnownKeyPsk { index, psk })))
    }
}
