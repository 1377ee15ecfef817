//! The PSKs that stolen things lead to.

use std::time::SystemTime;

use tessera::crypto::{Provider, Secret, Suite};
use tessera::handshake::Reply;
use tessera::resume::{ClientSession, OneTimeSecret, OpenTicket, SessionState, TicketKeys};
use tessera_vault::{TicketKey, TicketKeyRing};

use super::Loot;
use super::capture::{Hellos, vector};
use super::opening::derive_secret;

/// Every PSK that the handshake may have begun with, as far as the loot tells.
pub(super) fn of(
    provider: &Provider,
    suite: &Suite,
    hellos: &Hellos,
    loot: &Loot<'_>,
) -> Vec<Secret> {
    let sessions: Vec<_> =
        loot.sessions.iter().filter_map(|file| ClientSession::import(file).ok()).collect();
    let tickets = hellos.identities.iter().filter_map(|ticket| open_ticket(provider, loot, ticket));
    let one_time = hellos.identities.iter().flat_map(|identity| {
        let secrets = loot.vault.iter().filter_map(|secret| OneTimeSecret::decode(secret));
        secrets.filter_map(|secret| psk_for_flight(provider, suite, identity, &secret))
    });
    // A handshake without a PSK begins with zeros.
    let none = Secret::filled_by(suite.hash.len(), |_| ());
    let mut psks = vec![none];
    psks.extend(tickets.map(|session| session.psk));
    psks.extend(one_time);
    psks.extend(sessions.iter().map(|session| session.state.psk.duplicate()));
    // An FS secret makes a PSK only together with a one-time key; alone it is worth one try.
    let fs_tickets = sessions.into_iter().filter_map(|session| session.forward_secret);
    psks.extend(fs_tickets.map(|ticket| ticket.secret));
    psks
}

/// What a sealed ticket holds, opened with the stolen key.
fn open_ticket(provider: &Provider, loot: &Loot<'_>, identity: &[u8]) -> Option<SessionState> {
    let key = TicketKey::decode(loot.ticket_key)?;
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let ring = TicketKeyRing::new(provider);
    ring.install(vec![key], unix).ok()?;
    match ring.open(&OpenTicket { identity: identity.to_vec(), unix: Some(unix) }) {
        Reply::Now(session) => session,
        Reply::Later => None,
    }
}

/// The PSK of a flight with this identity, if the one-time secret is the one that it was made
/// for. The FS secret is in the vault beside the seed, so that the client's copy isn't needed.
fn psk_for_flight(
    provider: &Provider,
    suite: &Suite,
    identity: &[u8],
    secret: &OneTimeSecret,
) -> Option<Secret> {
    const PREFIX: &[u8] = b"\xff\x5afs\x01";
    const ID_LEN: usize = 32;
    let mut rest = identity.strip_prefix(PREFIX)?.get(ID_LEN..)?;
    let encapsulated = vector::<2>(&mut rest)?;
    let key = provider.one_time(secret.kind)?.from_seed(&secret.seed).ok()?;
    let public = key.public().to_vec();
    // A KEM gives a secret for any encapsulation; whether it is the right one shows in the records.
    let agreed = key.open(encapsulated).ok()?;

    let len = |bytes: &[u8]| u16::try_from(bytes.len()).map(u16::to_be_bytes).ok();
    let context = [
        &len(identity)?,
        identity,
        &secret.kind.0.to_be_bytes(),
        &len(&public)?,
        public.as_slice(),
    ]
    .concat();
    let extracted = suite.hash.extract(secret.fs_secret.expose(), agreed.expose());
    Some(derive_secret(suite.hash, &extracted, "0rttfs", &context))
}
