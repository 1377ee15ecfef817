//! Tickets out (RFC 8446 §4.6.1): sealed ones, and their forward-secret companions.

use alloc::vec::Vec;
use core::time::Duration;

use zeroize::Zeroizing;

use super::config::ServerConfig;
use super::finished::TicketWish;
use crate::carrier::Carrier;
use crate::crypto::Secret;
use crate::error::Error;
use crate::handshake::application::Application;
use crate::handshake::context::Context;
use crate::handshake::grease::draw_grease;
use crate::resume::{
    Ancestry, Companion, OneTimeSecret, PutSecret, SessionState, TicketId, fs_secret, one_time_keys,
};
use crate::schedule::ResumptionSecret;
use crate::wire::{
    ForwardSecretTicket, MaxEarlyDataSize, NamedGroup, NewSessionTicket, SmallExtensions,
    TICKET_ID_LEN,
};

/// Sends as many tickets as the client can use. No clock, no key to seal with, a full vault: fewer
/// tickets, and no error.
pub(super) fn send_tickets(
    config: &ServerConfig,
    application: &Application,
    resumption: &ResumptionSecret,
    wish: &TicketWish,
    ctx: &mut Context<'_>,
) -> Result<(), Error> {
    let (Some(keys), Some(unix)) = (&config.tickets, ctx.now.unix) else { return Ok(()) };
    if !config.policy.resumption {
        return Ok(());
    }
    let lifetime = lifetime(config, ctx, unix);
    for nonce in 0..wish.count {
        if lifetime == 0 {
            break;
        }
        let companion = match wish.one_time_kind {
            Some(kind) => issue_one_time_key(config, application, kind, lifetime, ctx, unix)?,
            None => None,
        };
        let session = session(config, application, resumption.psk(&[nonce]), lifetime, ctx, unix)?;
        let session = SessionState {
            companion: companion.as_ref().map(|issued| issued.companion),
            ..session
        };
        // RFC 8446 §4.6.1: a ticket has 1 to 65,535 bytes; what the owner's keys made else is none.
        let ticket = keys.seal(&session, unix);
        let ticket = ticket.filter(|ticket| (1..=usize::from(u16::MAX)).contains(&ticket.len()));
        let Some(ticket) = ticket else {
            // Nobody will ever use the one-time key.
            let guard = config.policy.early_data.forward_secret.as_ref();
            if let (Some(guard), Some(issued)) = (guard, &companion) {
                guard.vault.burn(&issued.companion.handle);
            }
            break;
        };
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
                forward_secret: companion.as_ref().map(|issued| issued.key.ticket()),
                grease,
            };
            message.write(out);
        });
    }
    Ok(())
}

/// How long a ticket lives, in seconds: no longer than the authentication behind it.
fn lifetime(config: &ServerConfig, ctx: &Context<'_>, unix: Duration) -> u32 {
    let now = unix.as_secs();
    let authenticated = ctx.facts.authenticated_at.unwrap_or(now);
    let chain_ends = authenticated.saturating_add(config.policy.max_authentication_age.as_secs());
    let peer_expires = ctx.facts.peer.as_ref().and_then(|peer| peer.expires_at).unwrap_or(u64::MAX);
    let left = chain_ends.min(peer_expires).saturating_sub(now);
    u32::try_from(left.min(config.ticket_lifetime.as_secs())).unwrap_or(u32::MAX)
}

fn session(
    config: &ServerConfig,
    application: &Application,
    psk: Secret,
    lifetime: u32,
    ctx: &Context<'_>,
    unix: Duration,
) -> Result<SessionState, Error> {
    let mut age_add = [0; 4];
    config.provider.random.fill(&mut age_add)?;
    let replayable = config.policy.early_data.replayable_without_forward_secrecy.as_ref();
    let facts = &ctx.facts;
    Ok(SessionState {
        suite: application.suite.id,
        psk,
        protocol: facts.protocol.clone(),
        server_name: facts.server_name.clone(),
        peer: facts.peer.clone(),
        external_psk: facts.external_psk.clone(),
        authenticated_at: facts.authenticated_at.unwrap_or(unix.as_secs()),
        scope: config.scope.clone(),
        ancestry: facts.ancestry.unwrap_or(Ancestry::PskOnly),
        issued_at: unix.as_millis() as u64,
        lifetime,
        age_add: u32::from_be_bytes(age_add),
        max_early_data_size: replayable.map_or(0, |guard| guard.max_early_data_size),
        companion: None,
        carrier: Carrier::STREAM,
    })
}

/// A one-time key whose private half is in the vault.
struct Issued {
    key: OneTimePublicKey,
    companion: Companion,
}

/// What a ticket says of a one-time key: what the FS secret stands for is what the client gets.
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

fn issue_one_time_key(
    config: &ServerConfig,
    application: &Application,
    kind: NamedGroup,
    lifetime: u32,
    ctx: &Context<'_>,
    unix: Duration,
) -> Result<Option<Issued>, Error> {
    let guard = config.policy.early_data.forward_secret.as_ref();
    let Some((guard, keys)) = guard.zip(one_time_keys(&config.provider, kind)) else {
        return Ok(None);
    };
    // One draw for both: generators charge by the call.
    let mut drawn = Zeroizing::new(alloc::vec![0; TICKET_ID_LEN + keys.seed_len()]);
    config.provider.random.fill(&mut drawn)?;
    let (for_id, for_seed) = drawn.split_at(TICKET_ID_LEN);
    let mut id: TicketId = [0; TICKET_ID_LEN];
    id.copy_from_slice(for_id);
    let seed = Zeroizing::new(for_seed.to_vec());
    let key = OneTimePublicKey {
        kind,
        id,
        public: keys.from_seed(&seed)?.public()?,
        // The key dies with the ticket that vouches for it, at the latest.
        lifetime: lifetime.min(u32::try_from(guard.lifetime.as_secs()).unwrap_or(u32::MAX)),
        max_early_data_size: guard.max_early_data_size,
    };
    let (fs_secret, handle) = fs_secret(&application.exporter, &key.ticket());
    let secret = OneTimeSecret { kind, seed, fs_secret };
    let peer = ctx.facts.peer.as_ref().map(|peer| peer.blob.as_slice());
    let put = guard.vault.put(PutSecret {
        handle,
        secret,
        expires_at: unix + Duration::from_secs(key.lifetime.into()),
        unix,
        client: peer.or(ctx.facts.external_psk.as_deref()),
    });
    let companion = Companion {
        id,
        handle,
        max_early_data_size: key.max_early_data_size,
        incarnation: guard.vault.incarnation(),
    };
    Ok(put.ok().map(|()| Issued { key, companion }))
}
