//! Forward-secret 0-RTT: the key is the nonce, and it exists once.
//!
//! Each forward-secret ticket names a one-time key whose private half is in the server's vault and
//! nowhere else. The client agrees on a fresh secret with it and mixes it into the PSK; the server
//! takes the private half, reading and deleting it in one atomic step. That step provides forward
//! secrecy and at-most-once acceptance together.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use zeroize::Zeroizing;

use super::one_time_secret::OneTimeSecret;
use crate::crypto::{KeyForm, MAX_HASH_LEN, Secret, SharedSecret};
use crate::error::{Error, decode_error};
use crate::question::{Question, Reply};
use crate::schedule::{ExporterSecret, KeyDerivation, Label};
use crate::wire::{FlightHandle, ForwardSecretTicket, NamedGroup, Reader, TICKET_ID_LEN, Writer};

/// The id of a forward-secret ticket: random, and used on the wire once. A vault uses the flight's
/// [`FlightHandle`] instead.
pub type TicketId = [u8; TICKET_ID_LEN];

/// A client's forward-secret ticket.
pub struct FsClientTicket {
    /// The kind of the one-time key.
    pub kind: NamedGroup,
    /// The ticket's id.
    pub id: TicketId,
    /// The one-time public key.
    pub public: Vec<u8>,
    /// How long the server keeps the key, in seconds; the sealed ticket may live longer.
    pub lifetime: u32,
    /// How much early data the server accepts, in bytes.
    pub max_early_data_size: u32,
    /// The FS secret; see [`OneTimeSecret::fs_secret`](super::OneTimeSecret::fs_secret).
    pub secret: Secret,
    /// The name of its flight.
    pub handle: FlightHandle,
}

impl fmt::Debug for FsClientTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FsClientTicket").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Holds the one-time secrets of a site, each by the name of its flight
/// ([`FlightHandle`]), which no first flight shows.
///
/// The contract: of all takes of a name at most one ever returns [`TakeAnswer::Taken`], across crash, restart
/// and failover; afterwards the secret can't be recovered from the vault. A lost vault costs early
/// data, and nothing else.
pub trait Vault: Send + Sync {
    /// Keeps a secret. A vault without room refuses it, and the client gets an ordinary ticket.
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused>;

    /// Reads and deletes in one atomic step, now or later.
    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer>;

    /// Deletes without reading; a later question about it is answered with *burned*.
    fn burn(&self, handle: &FlightHandle);

    /// Returns the form in which the vault prefers to keep the next key. It must keep the other one as well:
    /// kinds without an expanded form are always seeds.
    ///
    /// Default: expanded, which costs memory but less than half the processor time with post-quantum keys.
    fn key_form(&self) -> KeyForm {
        KeyForm::Expanded
    }

    /// Identifies the incarnation that holds secrets put now, if its secrets end with it;
    /// see [`Incarnation`]. `None` for a vault that can't state it.
    fn incarnation(&self) -> Option<Incarnation> {
        None
    }

    /// Returns how many secrets the vault holds.
    fn len(&self) -> usize;

    /// Returns whether the vault is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A one-time secret on its way into the vault.
#[non_exhaustive]
pub struct PutSecret<'a> {
    /// The name of its flight ([`FlightHandle`]): never put before.
    pub handle: FlightHandle,
    /// The secret; the vault holds its only copy.
    pub secret: OneTimeSecret,
    /// When it expires, since the Unix epoch.
    pub expires_at: Duration,
    /// The current time, since the Unix epoch.
    pub unix: Duration,
    /// The ticket's client, so that no client can fill the vault alone: the verified peer, or the
    /// identity of the external PSK that began the chain. `None` for an unauthenticated client.
    pub client: Option<&'a [u8]>,
}

impl PutSecret<'_> {
    /// Creates a secret for an unauthenticated client.
    pub fn new(
        handle: FlightHandle,
        secret: OneTimeSecret,
        expires_at: Duration,
        unix: Duration,
    ) -> Self {
        Self { handle, secret, expires_at, unix, client: None }
    }
}

/// Omits the handle, which must not be logged.
impl fmt::Debug for PutSecret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PutSecret")
            .field("secret", &self.secret)
            .field("expires_at", &self.expires_at)
            .field("unix", &self.unix)
            .finish_non_exhaustive()
    }
}

/// The vault did not take the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutRefused;

impl fmt::Display for PutRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the vault did not take the secret")
    }
}

impl core::error::Error for PutRefused {}

/// The question for a one-time secret.
///
/// It is asked only after the client proved that it holds the sealed ticket of the same pair, so no client can
/// burn another's key. (With [`lone_identities`](super::OneTimeKeyGuard::lone_identities) the proof is in the
/// identity, and an observer of the identity can burn this one key.)
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakeSecret {
    /// The name of its flight ([`FlightHandle`]).
    pub handle: FlightHandle,
    /// Why it is taken.
    pub purpose: TakePurpose,
    /// Where the secret was put, according to the sealed ticket.
    pub incarnation: Option<Incarnation>,
    /// The current time since the Unix epoch, if known.
    pub unix: Option<Duration>,
}

impl Question for TakeSecret {
    type Answer = TakeAnswer;
}

impl TakeSecret {
    /// Creates the question for a secret whose incarnation is unknown. A source of receipts asks it with
    /// [`TakePurpose::Burn`].
    pub fn new(handle: FlightHandle, purpose: TakePurpose, unix: Option<Duration>) -> Self {
        Self { handle, purpose, incarnation: None, unix }
    }
}

/// Omits the handle, which must not be logged.
impl fmt::Debug for TakeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TakeSecret")
            .field("purpose", &self.purpose)
            .field("incarnation", &self.incarnation)
            .field("unix", &self.unix)
            .finish_non_exhaustive()
    }
}

/// Why a secret is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakePurpose {
    /// To accept the flight.
    Accept,
    /// To ensure that its flight can't be accepted any more.
    Burn,
}

/// A vault's answer to a take. A driver treats an unknown variant as
/// [`Unavailable`](Self::Unavailable).
#[derive(Debug)]
#[non_exhaustive]
pub enum TakeAnswer {
    /// The secret; this is its only copy.
    Taken(OneTimeSecret),
    /// The vault has no such secret.
    Absent(Absence),
    /// The vault did not answer in time: the secret may still exist.
    Unavailable,
}

/// Why a secret is absent, as far as the vault remembers. A driver treats an unknown variant
/// as [`Unknown`](Self::Unknown).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Absence {
    /// It was taken to accept a flight.
    Used,
    /// It was taken or burned without accepting anything.
    Burned,
    /// It was in an earlier incarnation of this vault, which ended at least this long ago: it can't be
    /// taken any more, and a flight that was sent under it since then may be sent again.
    Lost {
        /// By a monotonic clock. In doubt it is too short.
        ended_before: Duration,
    },
    /// Never put, expired, evicted or forgotten.
    Unknown,
}

/// One life of a vault that has a single owner and keeps its secrets in memory.
///
/// Incarnations of one vault have ascending numbers. When one begins, the previous one has ended, and its
/// secrets are gone; an incarnation that hands all its secrets over to the next process does not end. The
/// number travels in the sealed ticket, where no client can change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incarnation {
    /// The vault: random, the same in all its incarnations.
    pub vault: [u8; 16],
    /// The incarnation's number.
    pub number: u64,
}

impl Incarnation {
    /// Returns whether this is an earlier incarnation of the same vault than `other`.
    pub fn is_before(&self, other: &Self) -> bool {
        self.vault == other.vault && self.number < other.number
    }
}

/// The identity of a forward-secret PSK: the key's id, and the encapsulation to it.
pub(crate) struct FsIdentity<'a> {
    pub(crate) id: &'a TicketId,
    pub(crate) encapsulated: &'a [u8],
}

impl<'a> FsIdentity<'a> {
    /// Reads an identity, if it is one.
    pub(crate) fn read(identity: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(identity.strip_prefix(IDENTITY_PREFIX)?);
        let id = reader.array().ok()?;
        let encapsulated = reader.vec16().ok()?;
        reader.is_empty().then_some(Self { id, encapsulated })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(IDENTITY_PREFIX.len() + TICKET_ID_LEN + 2 + self.encapsulated.len());
        out.bytes(IDENTITY_PREFIX);
        out.bytes(self.id);
        out.vec16(|out| out.bytes(self.encapsulated));
        out
    }
}

/// Version 1. Four bytes, so that no foreign ticket matches by chance.
const IDENTITY_PREFIX: &[u8] = b"\xff\x5afs\x01";

/// Derives the FS secret of a ticket, and the name of its flight, from one call of the exporter: neither
/// can be computed from the other.
///
/// The context is the whole ticket, so the FS secret is bound to the one-time public key, and a
/// server that takes the private half need not compute the public one again.
pub(crate) fn fs_secret(
    exporter: ExporterSecret<'_>,
    ticket: &ForwardSecretTicket<'_>,
) -> (Secret, FlightHandle) {
    let context = ticket.encode();
    let mut exported = Zeroizing::new([0; MAX_HASH_LEN + FlightHandle::LEN]);
    let len = exporter.hash_len();
    let exported = &mut exported[..len + FlightHandle::LEN];
    exporter.export(b"EXPORTER-tessera-0rttfs", &context, exported);
    let (secret, name) = exported.split_at(len);
    let mut handle = FlightHandle([0; FlightHandle::LEN]);
    handle.0.copy_from_slice(name);
    (Secret::filled_by(len, |out| out.copy_from_slice(secret)), handle)
}

/// Derives psk', the PSK of one flight, from the FS secret and the secret agreed on with the one-time key.
///
/// The context is the whole identity: the ticket's id and the encapsulation.
pub(crate) fn psk_for_flight(
    kdf: KeyDerivation,
    fs_secret: &Secret,
    agreed: &SharedSecret,
    identity: &[u8],
) -> Result<Secret, Error> {
    if fs_secret.expose().len() != kdf.hash.len() {
        return Err(decode_error("an FS secret does not fit the suite's hash"));
    }
    Ok(kdf.with_extracted(fs_secret.expose(), agreed.expose(), |extracted| {
        kdf.expand_label_to_secret(
            extracted,
            Label::FORWARD_SECRET,
            kdf.hash.hash(identity).as_ref(),
        )
    }))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::crypto::SecretBytes;

    /// A party that knows a handle can have its key burned.
    #[test]
    fn debug_output_shows_no_flight_handle() {
        let (handle, unix) = (FlightHandle([0xab; 32]), Duration::ZERO);
        let take = TakeSecret::new(handle, TakePurpose::Burn, Some(unix));
        let fs_secret = Secret::filled_by(32, |out| out.fill(0xab));
        let secret = OneTimeSecret {
            kind: NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED,
            form: KeyForm::Seed,
            key: SecretBytes::zeros(0),
            fs_secret,
        };
        let put = PutSecret::new(handle, secret, unix, unix);
        for shown in [format!("{take:?}"), format!("{put:?}")] {
            assert!(!shown.contains("171") && !shown.contains("ab, "), "{shown}");
        }
    }
}
