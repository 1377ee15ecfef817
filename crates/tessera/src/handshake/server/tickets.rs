//! Sends tickets (RFC 8446 §4.6.1): sealed ones, and their forward-secret companions.

use alloc::vec::Vec;
use core::time::Duration;

use super::part::ServerPart;
use crate::auth::NextTicket;
use crate::crypto::KeyForm;
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::finished::LastSecrets;
use crate::handshake::grease::draw_grease;
use crate::handshake::handover::Handover;
use crate::handshake::lineage::TicketTerms;
use crate::resume::{Companion, OneTimeSecret, PutSecret, TicketId, fs_secret, one_time_keys};
use crate::wire::{
    Extensions, ForwardSecretTicket, MaxEarlyDataSize, NamedGroup, NewSessionTicket,
    SmallExtensions, TICKET_ID_LEN,
};

impl Handover<ServerPart, LastSecrets> {
    /// Sends as many tickets as the client can use. Without a clock, without a key to seal with, or with a full vault
    /// it sends fewer, without an error.
    pub(super) fn send_tickets(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let mut codecs = core::mem::take(&mut self.secrets.application.codecs);
        let (config, plan) = (&self.own.config, &self.own.tickets);
        let LastSecrets { application, resumption } = &self.secrets;
        let (Some(keys), Some(unix)) = (&config.tickets, ctx.now.unix) else { return Ok(()) };
        let lifetime = self.lifetime(unix);
        if !config.policy.resumption || lifetime == 0 {
            return Ok(());
        }
        let guard = config.policy.early_data.forward_secret.as_ref();
        for nonce in 0..plan.count {
            let issued = match plan.one_time_kind {
                Some(kind) => self.issue_one_time_key(kind, lifetime, unix)?,
                None => None,
            };
            let companion = issued.as_ref().map(|issued| issued.companion);
            let terms = self.terms(nonce, lifetime, companion)?;
            let psk = resumption.psk(&[nonce]);
            let session = self.lineage.session(application.suite, psk, terms, unix);
            // RFC 8446 §4.6.1: a ticket has 1 to 65,535 bytes. Anything else from the owner's keys is
            // not sent.
            let ticket = keys.seal(&session, unix);
            let fits = |ticket: &Vec<u8>| (1..=usize::from(u16::MAX)).contains(&ticket.len());
            let Some(ticket) = ticket.filter(fits) else {
                // The client never receives the one-time key.
                if let (Some(guard), Some(issued)) = (guard, &issued) {
                    guard.vault.burn(&issued.companion.handle);
                }
                break;
            };
            let next = NextTicket { number: nonce, count: plan.count, lifetime, now: ctx.now };
            let mut extensions = Vec::new();
            codecs.write_ticket_extensions(&next, &mut extensions)?;
            let grease = draw_grease(config.grease, config.provider.random)?;
            ctx.send_after_handshake(|out| {
                let message = NewSessionTicket {
                    lifetime,
                    age_add: session.age_add,
                    nonce: &[nonce],
                    ticket: &ticket,
                    small: SmallExtensions {
                        max_early_data_size: Some(MaxEarlyDataSize(session.max_early_data_size))
                            .filter(|size| size.0 > 0),
                        ..SmallExtensions::default()
                    },
                    forward_secret: issued.as_ref().map(|issued| issued.key.ticket()),
                    extensions: Extensions::of(&extensions),
                    grease,
                };
                message.write(out);
            });
        }
        Ok(())
    }

    /// Returns how long a ticket lives, in seconds: no longer than the authentication behind it.
    fn lifetime(&self, unix: Duration) -> u32 {
        let (config, lineage) = (&self.own.config, &self.lineage);
        let now = unix.as_secs();
        let authenticated = lineage.authenticated_at.unwrap_or(now);
        let chain_ends =
            authenticated.saturating_add(config.policy.max_authentication_age.as_secs());
        let peer_expires = lineage.peer.as_ref().and_then(|peer| peer.expires_at);
        let left = chain_ends.min(peer_expires.unwrap_or(u64::MAX)).saturating_sub(now);
        u32::try_from(left.min(config.ticket_lifetime.as_secs())).unwrap_or(u32::MAX)
    }

    fn terms(
        &self,
        number: u8,
        lifetime: u32,
        companion: Option<Companion>,
    ) -> Result<TicketTerms, Error> {
        let config = &self.own.config;
        let mut age_add = self.own.tickets.first_age_add;
        if number > 0 {
            config.provider.random.fill(&mut age_add)?;
        }
        let replayable = config.policy.early_data.replayable_without_forward_secrecy.as_ref();
        Ok(TicketTerms {
            lifetime,
            age_add: u32::from_be_bytes(age_add),
            max_early_data_size: replayable.map_or(0, |guard| guard.max_early_data_size),
            companion,
            policy_epoch: config.policy_epoch,
            scope: config.scope.clone(),
        })
    }

    /// Puts the private half into the vault; returns `None` if the vault refuses it.
    fn issue_one_time_key(
        &self,
        kind: NamedGroup,
        lifetime: u32,
        unix: Duration,
    ) -> Result<Option<IssuedKey>, Error> {
        let (config, lineage) = (&self.own.config, &self.lineage);
        let guard = config.policy.early_data.forward_secret.as_ref();
        let Some((guard, keys)) = guard.zip(one_time_keys(&config.provider, kind)) else {
            return Ok(None);
        };
        let mut id: TicketId = [0; TICKET_ID_LEN];
        // A kind whose expanded form is too long for a vault keeps its seed.
        let is_expanded = keys.expanded_len().is_some_and(|len| len <= OneTimeSecret::MAX_KEY_LEN);
        let form = if is_expanded { guard.vault.key_form() } else { KeyForm::Seed };
        let fresh = keys.generate(form, config.provider.random, &mut id)?;
        let key = OneTimePublicKey {
            kind,
            id,
            public: fresh.public,
            // The key expires with the ticket that vouches for it, at the latest.
            lifetime: lifetime.min(u32::try_from(guard.lifetime.as_secs()).unwrap_or(u32::MAX)),
            max_early_data_size: guard.max_early_data_size,
        };
        let (fs_secret, handle) = fs_secret(self.secrets.application.exporter()?, &key.ticket());
        let secret = OneTimeSecret { kind, form: fresh.form, key: fresh.private, fs_secret };
        let peer = lineage.peer.as_ref().map(|peer| peer.blob.as_slice());
        let put = guard.vault.put(PutSecret {
            handle,
            secret,
            expires_at: unix + Duration::from_secs(key.lifetime.into()),
            unix,
            client: peer.or(lineage.external_psk.as_deref()),
        });
        let companion = Companion {
            id,
            handle,
            max_early_data_size: key.max_early_data_size,
            incarnation: guard.vault.incarnation(),
        };
        Ok(put.ok().map(|()| IssuedKey { key, companion }))
    }
}

/// A one-time key whose private half is in the vault.
struct IssuedKey {
    key: OneTimePublicKey,
    companion: Companion,
}

/// What a ticket states about a one-time key: the FS secret is bound to exactly what the client gets.
struct OneTimePublicKey {
    kind: NamedGroup,
    id: TicketId,
    public: Vec<u8>,
    lifetime: u32,
    max_early_data_size: u32,
}

impl OneTimePublicKey {
    fn ticket(&self) -> ForwardSecretTicket<'_> {
        ForwardSecretTicket {
            kind: self.kind,
            id: &self.id,
            public: &self.public,
            lifetime: self.lifetime,
            max_early_data_size: self.max_early_data_size,
        }
    }
}
