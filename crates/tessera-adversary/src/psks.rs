//! The PSKs that stolen secrets lead to.

use std::time::SystemTime;

use tessera::crypto::{Provider, Secret, Suite};
use tessera::handshake::Reply;
use tessera::resume::{
    ClientSession, FsClientTicket, OneTimeSecret, OpenTicket, SessionState, TicketKeys,
};
use tessera::wire::NamedGroup;
use tessera_vault::{TicketKey, TicketKeyRing};

use crate::StolenSecrets;
use crate::capture::{Hellos, vector};
use crate::opening::derive_secret;

/// Returns every PSK that the handshake may have begun with, according to the stolen secrets.
pub(crate) fn of(
    provider: &Provider,
    suite: &Suite,
    hellos: &Hellos,
    stolen: &StolenSecrets<'_>,
) -> Vec<Secret> {
    let sessions: Vec<_> =
        stolen.sessions.iter().filter_map(|file| ClientSession::import(file).ok()).collect();
    let tickets =
        hellos.identities.iter().filter_map(|ticket| open_ticket(provider, stolen, ticket));
    let one_time = hellos.identities.iter().flat_map(|identity| {
        let secrets = stolen.vault.iter().filter_map(|secret| OneTimeSecret::decode(secret));
        secrets.filter_map(|secret| with_vault(provider, suite, identity, &secret))
    });
    let clients: Vec<_> = sessions
        .iter()
        .filter_map(|session| session.forward_secret.as_ref())
        .flat_map(|ticket| {
            hellos.identities.iter().filter_map(|identity| with_client(suite, identity, ticket))
        })
        .collect();
    // A handshake without a PSK begins with zeros.
    let none = Secret::filled_by(suite.hash.len(), |_| ());
    let mut psks = vec![none];
    psks.extend(tickets.map(|session| session.psk));
    psks.extend(one_time);
    psks.extend(clients);
    psks.extend(sessions.iter().map(|session| session.state.psk.duplicate()));
    // With a key pair, an FS secret yields a PSK only together with the private half; alone it is worth one try.
    let fs_tickets = sessions.into_iter().filter_map(|session| session.forward_secret);
    psks.extend(fs_tickets.map(|ticket| ticket.secret));
    psks
}

/// Opens a sealed ticket with the stolen key.
fn open_ticket(
    provider: &Provider,
    stolen: &StolenSecrets<'_>,
    identity: &[u8],
) -> Option<SessionState> {
    let key = TicketKey::decode(stolen.ticket_key)?;
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let ring = TicketKeyRing::new(provider);
    ring.install(vec![key], unix).ok()?;
    match ring.open(&OpenTicket::new(identity.to_vec(), Some(unix))) {
        Reply::Now(session) => session,
        Reply::Later => None,
    }
}

/// Returns the PSK of a flight with this identity, if the one-time secret belongs to it. The FS secret is in the vault
/// next to the key, so the client's copy isn't needed.
fn with_vault(
    provider: &Provider,
    suite: &Suite,
    identity: &[u8],
    secret: &OneTimeSecret,
) -> Option<Secret> {
    let fs_secret = &secret.fs_secret;
    if secret.kind == NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED {
        return symmetric(suite, identity, fs_secret);
    }
    let key = provider.one_time(secret.kind)?.from_kept(secret.form, &secret.key).ok()?;
    // A KEM yields a secret for any encapsulation; only the records show whether it is the right one.
    let agreed = key.open(encapsulated(identity)?).ok()?;
    Some(psk_for_flight(suite, identity, fs_secret, agreed.expose()))
}

/// Returns it from the client's secrets, which suffice if there is no private half.
fn with_client(suite: &Suite, identity: &[u8], ticket: &FsClientTicket) -> Option<Secret> {
    let is_symmetric = ticket.kind == NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED;
    is_symmetric.then(|| symmetric(suite, identity, &ticket.secret)).flatten()
}

/// A one-time PSK involves no key agreement (docs/0rtt-fs.md, section 3.1).
fn symmetric(suite: &Suite, identity: &[u8], fs_secret: &Secret) -> Option<Secret> {
    encapsulated(identity)?.is_empty().then(|| psk_for_flight(suite, identity, fs_secret, &[]))
}

/// Returns the client's encapsulation to the one-time key, if the identity is that of a forward-secret flight.
fn encapsulated(identity: &[u8]) -> Option<&[u8]> {
    const PREFIX: &[u8] = b"\xff\x5afs\x01";
    const ID_LEN: usize = 32;
    let mut rest = identity.strip_prefix(PREFIX)?.get(ID_LEN..)?;
    vector::<2>(&mut rest)
}

/// psk' (docs/0rtt-fs.md, section 4).
fn psk_for_flight(suite: &Suite, identity: &[u8], fs_secret: &Secret, agreed: &[u8]) -> Secret {
    let extracted = suite.hash.extract(fs_secret.expose(), agreed);
    derive_secret(suite.hash, &extracted, "0rttfs", identity)
}
