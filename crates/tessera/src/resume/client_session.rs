//! A client's session: what it needs to reconnect, and its format in a file.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use zeroize::Zeroizing;

use super::forward_secret::FsClientTicket;
use super::session::SessionState;
use super::tlv;
use crate::crypto::Secret;
use crate::time::Time;
use crate::wire::{FlightHandle, NamedGroup, Reader, Writer};

/// A ticket with everything that belongs to it. It is used for one connection only: remove it
/// from its store, durably, before the connection starts. A lost session costs a round trip; a
/// session used twice links two connections.
#[derive(Debug)]
pub struct ClientSession {
    /// The session, with the server as its peer.
    pub state: SessionState,
    /// The ticket, opaque to the client.
    pub ticket: Vec<u8>,
    /// The group of the last key exchange: the next connection sends a share for it, to avoid a
    /// HelloRetryRequest.
    pub group: Option<NamedGroup>,
    /// The forward-secret ticket that came with it.
    pub forward_secret: Option<FsClientTicket>,
    /// The clock of the times in `state`.
    pub clock: SessionClock,
}

/// The clock by which a client noted the times of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionClock {
    /// Since the Unix epoch.
    #[default]
    Unix,
    /// The monotonic clock, on a device without a date. Times of another boot mean nothing to this one, so an
    /// [export](ClientSession::export) becomes [`Lost`](Self::Lost) when it is read. An owner whose monotonic clock runs
    /// on, through deep sleep for example, sets this value again.
    Monotonic,
    /// Unknown: the session is older than the difference of its times, by an unknown time. It is used only with
    /// [`resume_sessions_of_unknown_age`](crate::ClientConfig::resume_sessions_of_unknown_age).
    Lost,
}

/// How old a session is.
pub(crate) struct SessionAge {
    /// Whether more than a lower bound is known.
    pub(crate) is_known: bool,
    /// Since the ticket arrived, in milliseconds.
    pub(crate) millis: u64,
    /// Since the last full handshake, in seconds.
    pub(crate) authentication_secs: u64,
}

impl ClientSession {
    /// Returns the age at `now`. A time that is unknown counts as none: the server, which knows the ticket's age, then
    /// takes the ClientHello for a late one, and its answer for what it is (RFC 8446 §8.3).
    pub(crate) fn age(&self, now: Time) -> SessionAge {
        let SessionState { issued_at, authenticated_at, .. } = self.state;
        match (self.clock, now.unix) {
            (SessionClock::Unix, Some(unix)) => SessionAge {
                is_known: true,
                millis: self.state.age_millis(unix),
                authentication_secs: unix.as_secs().saturating_sub(authenticated_at),
            },
            // Wrapping: a clock that started again makes it too old, and a chain may be older than the boot. The time of
            // issue was rounded up.
            (SessionClock::Monotonic, _) => SessionAge {
                is_known: true,
                millis: (now.monotonic.as_millis() as u64 + 1)
                    .wrapping_sub(issued_at)
                    .saturating_sub(1),
                authentication_secs: now.monotonic.as_secs().wrapping_sub(authenticated_at),
            },
            _ => SessionAge {
                is_known: false,
                millis: 0,
                authentication_secs: (issued_at / 1000).wrapping_sub(authenticated_at),
            },
        }
    }

    /// Returns whether the session may be resumed: the ticket, the authentication that began the chain and the peer's
    /// certificates are recent enough.
    pub(crate) fn is_fresh(
        &self,
        age: &SessionAge,
        now: Time,
        max_authentication_age: Duration,
    ) -> bool {
        // Without a date it is unknown whether they have expired. Only a verifier may decide not to ask: then it sets
        // no end.
        let end = self.state.peer.as_ref().and_then(|peer| peer.expires_at);
        let expired = end.is_some_and(|at| now.unix_secs().is_none_or(|unix| at <= unix));
        age.millis < u64::from(self.state.lifetime) * 1000
            && age.authentication_secs < max_authentication_age.as_secs()
            && !expired
    }

    /// Writes the session for storage. The bytes are secret: their holder can impersonate the client. They also decrypt
    /// early data sent under a one-time PSK, but under no other kind of key.
    pub fn export(&self) -> Zeroizing<Vec<u8>> {
        // Never grows: a growing vector leaves secrets in the memory that it frees.
        let mut out = Zeroizing::new(Vec::with_capacity(self.room()));
        out.bytes(MAGIC);
        self.state.encode_fields(&mut out);
        tlv::put(&mut out, tag::TICKET, &self.ticket);
        if let Some(group) = self.group {
            tlv::put(&mut out, tag::GROUP, &group.0.to_be_bytes());
        }
        if let Some(ticket) = &self.forward_secret {
            let mut value = Zeroizing::new(Vec::with_capacity(160 + ticket.public.len()));
            value.u16(ticket.kind.0);
            value.bytes(&ticket.id);
            value.vec16(|out| out.bytes(&ticket.public));
            value.u32(ticket.lifetime);
            value.u32(ticket.max_early_data_size);
            value.vec8(|out| out.bytes(ticket.secret.expose()));
            value.bytes(&ticket.handle.0);
            tlv::put(&mut out, tag::FORWARD_SECRET, &value);
        }
        if self.clock != SessionClock::Unix {
            tlv::put(&mut out, tag::NO_DATE, &[]);
        }
        out
    }

    /// Returns an upper bound of the encoded length.
    fn room(&self) -> usize {
        let forward_secret = self.forward_secret.as_ref().map_or(0, |ticket| ticket.public.len());
        self.state.encoded_room() + self.ticket.len() + forward_secret + 256
    }

    /// Reads what [`export`](Self::export) wrote.
    pub fn import(bytes: &[u8]) -> Result<Self, SessionImportError> {
        if bytes.starts_with(MAGIC_OF_VERSION_1) {
            return Err(SessionImportError::EarlierVersion);
        }
        let fields = bytes.strip_prefix(MAGIC).ok_or(SessionImportError::OtherVersion)?;
        let mut ticket = None;
        let mut group = None;
        let mut forward_secret = None;
        let mut clock = SessionClock::Unix;
        let state = SessionState::decode_fields(fields, |tag, value| {
            match tag {
                tag::TICKET if !value.is_empty() => ticket = Some(value.to_vec()),
                tag::GROUP => group = Some(NamedGroup(u16::from_be_bytes(tlv::array(value)?))),
                tag::FORWARD_SECRET => forward_secret = Some(read_forward_secret(value)?),
                tag::NO_DATE if value.is_empty() => clock = SessionClock::Lost,
                _ => return None,
            }
            Some(())
        });
        let state = state.ok_or(SessionImportError::Malformed)?;
        let ticket = ticket.ok_or(SessionImportError::Malformed)?;
        Ok(Self { state, ticket, group, forward_secret, clock })
    }
}

fn read_forward_secret(value: &[u8]) -> Option<FsClientTicket> {
    let mut reader = Reader::new(value);
    let ticket = FsClientTicket {
        kind: NamedGroup(reader.u16().ok()?),
        id: *reader.array().ok()?,
        public: reader.vec16().ok()?.to_vec(),
        lifetime: reader.u32().ok()?,
        max_early_data_size: reader.u32().ok()?,
        secret: Secret::from_slice(reader.vec8().ok()?)?,
        handle: FlightHandle(*reader.array().ok()?),
    };
    reader.is_empty().then_some(ticket)
}

/// The file's kind and version.
const MAGIC: &[u8] = b"tessera session 2\n";

/// Sessions that don't name the verifier of their server: where they are valid is unknown.
const MAGIC_OF_VERSION_1: &[u8] = b"tessera session 1\n";

mod tag {
    pub(super) const TICKET: u8 = 64;
    pub(super) const GROUP: u8 = 65;
    pub(super) const FORWARD_SECRET: u8 = 66;
    pub(super) const NO_DATE: u8 = 67;
}

/// Stored bytes are not a session of this version. Drop them and make a full handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionImportError {
    /// The bytes are not a session, or one of a later version of Tessera.
    OtherVersion,
    /// The session was made by an earlier version, which doesn't state which verifier accepted its
    /// server.
    EarlierVersion,
    /// The bytes begin like a session and are damaged.
    Malformed,
}

impl fmt::Display for SessionImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherVersion => "not a session of this version; drop it",
            Self::EarlierVersion => {
                "a session made by an earlier version, which doesn't record who accepted its server; drop it"
            }
            Self::Malformed => "a damaged session; drop it",
        })
    }
}

impl core::error::Error for SessionImportError {}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use super::*;
    use crate::auth::{PeerIdentity, VerifierDigest};
    use crate::carrier::Carrier;
    use crate::crypto::MAX_HASH_LEN;
    use crate::resume::{Ancestry, Companion, Incarnation};
    use crate::wire::{CipherSuite, TICKET_ID_LEN};

    /// A growing vector leaves secrets in the memory that it frees.
    #[test]
    fn nothing_grows_while_the_longest_session_is_written() {
        let secret = || Secret::filled_by(MAX_HASH_LEN, |out| out.fill(7));
        for len in [0, 1000] {
            let bytes = || vec![b'a'; len];
            let session = ClientSession {
                state: SessionState {
                    suite: CipherSuite::TLS_AES_256_GCM_SHA384,
                    psk: secret(),
                    protocol: Some(bytes()),
                    server_name: String::from_utf8(bytes()).ok(),
                    peer: Some(PeerIdentity { blob: bytes(), expires_at: Some(1) }),
                    accepted_by: Some(VerifierDigest([7; 32])),
                    external_psk: Some(bytes()),
                    authenticated_at: 1,
                    policy_epoch: 1,
                    scope: bytes(),
                    ancestry: Ancestry::PostQuantum,
                    issued_at: 1,
                    lifetime: 1,
                    age_add: 1,
                    max_early_data_size: 1,
                    companion: Some(Companion {
                        id: [7; TICKET_ID_LEN],
                        handle: FlightHandle([7; FlightHandle::LEN]),
                        max_early_data_size: 1,
                        incarnation: Some(Incarnation { vault: [7; 16], number: 1 }),
                    }),
                    carrier: Carrier(7),
                },
                ticket: bytes(),
                group: Some(NamedGroup::X25519),
                forward_secret: Some(FsClientTicket {
                    kind: NamedGroup::X25519,
                    id: [7; TICKET_ID_LEN],
                    public: bytes(),
                    lifetime: 1,
                    max_early_data_size: 1,
                    secret: secret(),
                    handle: FlightHandle([7; FlightHandle::LEN]),
                }),
                clock: SessionClock::Lost,
            };
            assert!(session.state.encode().len() <= session.state.encoded_room(), "{len}");
            assert!(session.export().len() <= session.room(), "{len}");
        }
    }
}
