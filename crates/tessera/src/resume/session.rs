//! What both ends remember of a connection to resume it.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use zeroize::Zeroizing;

use super::forward_secret::Incarnation;
use super::tlv;
use crate::auth::{PeerIdentity, VerifierDigest};
use crate::carrier::Carrier;
use crate::crypto::Secret;
use crate::wire::{CipherSuite, FlightHandle, NamedGroup, Reader, TICKET_ID_LEN, Writer};

/// A session: the content of a sealed ticket, and the core of a client's copy.
///
/// Contains everything that a full handshake established and a resumption must not widen; it is
/// checked again when the client returns.
#[derive(Debug)]
pub struct SessionState {
    /// The suite; its hash is the PSK's.
    pub suite: CipherSuite,
    /// The resumption PSK (RFC 8446 §4.6.1).
    pub psk: Secret,
    /// The application protocol.
    pub protocol: Option<Vec<u8>>,
    /// The server_name.
    pub server_name: Option<String>,
    /// The peer as verified in the full handshake; `None` if it wasn't.
    pub peer: Option<PeerIdentity>,
    /// What accepted the peer: its verifier, or the external PSK that began the chain, secret included.
    ///
    /// No resumption asks a verifier or presents that PSK, so the session is valid only under this one, and where a
    /// server's owner lets a verifier count
    /// ([`ServerConfig::also_resume_peers_accepted_by`](crate::ServerConfig::also_resume_peers_accepted_by)).
    pub accepted_by: Option<VerifierDigest>,
    /// The identity of the external PSK that began the chain, if one did: it identifies the peer as long
    /// as the server still has that PSK, with the same secret.
    pub external_psk: Option<Vec<u8>>,
    /// When the last full handshake was, in seconds since the Unix epoch.
    pub authenticated_at: u64,
    /// The epoch of the owner's policy in which the session began, the only one in which it is valid.
    pub policy_epoch: u64,
    /// The owner's part, opaque to the engine and compared whole.
    pub scope: Vec<u8>,
    /// The weakest key exchange of the whole chain of resumptions.
    pub ancestry: Ancestry,
    /// When the ticket was issued, in milliseconds since the Unix epoch.
    pub issued_at: u64,
    /// How long the ticket lives, in seconds.
    pub lifetime: u32,
    /// ticket_age_add.
    pub age_add: u32,
    /// How much replayable early data may come with it, in bytes; 0 for none.
    pub max_early_data_size: u32,
    /// The forward-secret ticket issued with it.
    pub companion: Option<Companion>,
    /// What carried the connection, and must carry the next.
    pub carrier: Carrier,
}

/// The forward-secret ticket that a sealed ticket names. The server takes a one-time key only for a
/// client that has proved possession of the sealed ticket of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Companion {
    /// Its id.
    pub id: [u8; TICKET_ID_LEN],
    /// The name of its flight, by which the vault finds the one-time secret. It is here because a
    /// first flight must not show it.
    pub handle: FlightHandle,
    /// How much early data it allows, in bytes.
    pub max_early_data_size: u32,
    /// The incarnation of the vault that keeps its key, if the vault states it.
    pub incarnation: Option<Incarnation>,
}

impl Companion {
    fn encode(&self, out: &mut Vec<u8>) {
        out.bytes(&self.id);
        out.bytes(&self.handle.0);
        out.u32(self.max_early_data_size);
        if let Some(incarnation) = &self.incarnation {
            out.bytes(&incarnation.vault);
            out.bytes(&incarnation.number.to_be_bytes());
        }
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(value);
        let mut companion = Self {
            id: *reader.array().ok()?,
            handle: FlightHandle(*reader.array().ok()?),
            max_early_data_size: reader.u32().ok()?,
            incarnation: None,
        };
        if !reader.is_empty() {
            let vault = *reader.array().ok()?;
            let number = u64::from_be_bytes(*reader.array().ok()?);
            companion.incarnation = Some(Incarnation { vault, number });
        }
        reader.is_empty().then_some(companion)
    }
}

/// The weakest key exchange between the full handshake and now. The basis of verdicts on
/// post-quantum confidentiality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ancestry {
    /// At least one connection used an external PSK alone.
    PskOnly,
    /// Every exchange was at least (EC)DHE.
    Classical,
    /// Every exchange was at least hybrid or ML-KEM.
    PostQuantum,
}

impl SessionState {
    /// Returns how long the ticket has existed, by this side's clock, in milliseconds; 0 if its time of issue is
    /// in the future.
    pub fn age_millis(&self, unix: Duration) -> u64 {
        (unix.as_millis() as u64).saturating_sub(self.issued_at)
    }

    /// Returns whether the session may still be resumed at `unix`: the ticket, the authentication that began
    /// the chain and the peer's certificates are recent enough.
    pub fn is_fresh(&self, unix: Duration, max_authentication_age: Duration) -> bool {
        let now = unix.as_secs();
        let expired =
            self.peer.as_ref().and_then(|peer| peer.expires_at).is_some_and(|at| at <= now);
        self.age_millis(unix) < u64::from(self.lifetime) * 1000
            && now.saturating_sub(self.authenticated_at) < max_authentication_age.as_secs()
            && !expired
    }

    /// Encodes the session. The result is secret; the caller seals it.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        // Room for everything: a growing vector leaves the PSK in the memory that it frees.
        let mut out = Zeroizing::new(Vec::with_capacity(self.encoded_room()));
        out.push(VERSION);
        self.encode_fields(&mut out);
        out
    }

    /// Returns an upper bound of the encoded length.
    pub(crate) fn encoded_room(&self) -> usize {
        let names = self.protocol.as_ref().map_or(0, Vec::len)
            + self.server_name.as_ref().map_or(0, String::len)
            + self.peer.as_ref().map_or(0, |peer| peer.blob.len());
        let external = self.external_psk.as_ref().map_or(0, Vec::len);
        // All fields of fixed length: 275 bytes with the longest PSK.
        320 + names + external + self.scope.len()
    }

    pub(crate) fn encode_fields(&self, out: &mut Vec<u8>) {
        tlv::put(out, tag::SUITE, &self.suite.0.to_be_bytes());
        tlv::put(out, tag::PSK, self.psk.expose());
        if let Some(protocol) = &self.protocol {
            tlv::put(out, tag::PROTOCOL, protocol);
        }
        if let Some(name) = &self.server_name {
            tlv::put(out, tag::SERVER_NAME, name.as_bytes());
        }
        if let Some(peer) = &self.peer {
            tlv::put(out, tag::PEER, &peer.blob);
            if let Some(at) = peer.expires_at {
                tlv::put(out, tag::PEER_EXPIRES_AT, &at.to_be_bytes());
            }
        }
        if let Some(identity) = &self.external_psk {
            tlv::put(out, tag::EXTERNAL_PSK, identity);
        }
        tlv::put(out, tag::AUTHENTICATED_AT, &self.authenticated_at.to_be_bytes());
        tlv::put(out, tag::SCOPE, &self.scope);
        tlv::put(out, tag::ANCESTRY, &[self.ancestry as u8]);
        tlv::put(out, tag::ISSUED_AT, &self.issued_at.to_be_bytes());
        tlv::put(out, tag::LIFETIME, &self.lifetime.to_be_bytes());
        tlv::put(out, tag::AGE_ADD, &self.age_add.to_be_bytes());
        tlv::put(out, tag::MAX_EARLY_DATA_SIZE, &self.max_early_data_size.to_be_bytes());
        if let Some(companion) = &self.companion {
            tlv::put_with(out, tag::COMPANION, |out| companion.encode(out));
        }
        if self.carrier != Carrier::STREAM {
            tlv::put(out, tag::CARRIER, &[self.carrier.0]);
        }
        if let Some(VerifierDigest(digest)) = &self.accepted_by {
            tlv::put(out, tag::ACCEPTED_BY, digest);
        }
        if self.policy_epoch != 0 {
            tlv::put(out, tag::POLICY_EPOCH, &self.policy_epoch.to_be_bytes());
        }
    }

    /// Decodes a session; `None` for anything that [`encode`](Self::encode) of this version does not
    /// write. A ticket of another version is unknown, and costs a round trip: an earlier one
    /// doesn't state which verifier accepted its peer.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&version, fields) = bytes.split_first()?;
        if version != VERSION {
            return None;
        }
        Self::decode_fields(fields, |_, _| None)
    }

    /// Decodes the fields of a session; `other` receives those that are not the session's.
    pub(crate) fn decode_fields<'a>(
        fields: &'a [u8],
        mut other: impl FnMut(u8, &'a [u8]) -> Option<()>,
    ) -> Option<Self> {
        let mut suite = None;
        let mut psk = None;
        let mut protocol = None;
        let mut server_name = None;
        let mut peer: Option<PeerIdentity> = None;
        let mut accepted_by = None;
        let mut external_psk = None;
        let mut authenticated_at = None;
        let mut policy_epoch = 0;
        let mut scope = None;
        let mut ancestry = None;
        let mut issued_at = None;
        let mut lifetime = None;
        let mut age_add = None;
        let mut max_early_data_size = None;
        let mut companion = None;
        let mut carrier = Carrier::STREAM;
        tlv::read(fields, |tag, value| {
            match tag {
                tag::SUITE => suite = Some(CipherSuite(u16::from_be_bytes(tlv::array(value)?))),
                tag::PSK => psk = Some(Secret::from_slice(value).filter(|_| !value.is_empty())?),
                tag::PROTOCOL => protocol = Some(value.to_vec()),
                tag::SERVER_NAME => {
                    server_name = Some(String::from(core::str::from_utf8(value).ok()?));
                }
                tag::PEER => peer = Some(PeerIdentity { blob: value.to_vec(), expires_at: None }),
                tag::PEER_EXPIRES_AT => {
                    peer.as_mut()?.expires_at = Some(u64::from_be_bytes(tlv::array(value)?));
                }
                tag::ACCEPTED_BY => accepted_by = Some(VerifierDigest(tlv::array(value)?)),
                tag::EXTERNAL_PSK => external_psk = Some(value.to_vec()),
                tag::AUTHENTICATED_AT => {
                    authenticated_at = Some(u64::from_be_bytes(tlv::array(value)?));
                }
                tag::POLICY_EPOCH => {
                    let named = u64::from_be_bytes(tlv::array(value)?);
                    // 0 is never encoded, so that every session has one encoding.
                    policy_epoch = Some(named).filter(|named| *named != 0)?;
                }
                tag::SCOPE => scope = Some(value.to_vec()),
                tag::ANCESTRY => ancestry = Some(Ancestry::decode(value)?),
                tag::ISSUED_AT => issued_at = Some(u64::from_be_bytes(tlv::array(value)?)),
                tag::LIFETIME => lifetime = Some(u32::from_be_bytes(tlv::array(value)?)),
                tag::AGE_ADD => age_add = Some(u32::from_be_bytes(tlv::array(value)?)),
                tag::MAX_EARLY_DATA_SIZE => {
                    max_early_data_size = Some(u32::from_be_bytes(tlv::array(value)?));
                }
                tag::COMPANION => companion = Some(Companion::decode(value)?),
                tag::CARRIER => {
                    let [named] = tlv::array(value)?;
                    // A stream is never encoded, so that every session has one encoding.
                    carrier = Some(Carrier(named)).filter(|named| *named != Carrier::STREAM)?;
                }
                _ => other(tag, value)?,
            }
            Some(())
        })?;
        let is_someones = peer.is_some() || external_psk.is_some();
        if peer.is_some() && accepted_by.is_none() || accepted_by.is_some() && !is_someones {
            return None;
        }
        Some(Self {
            suite: suite?,
            psk: psk?,
            protocol,
            server_name,
            peer,
            accepted_by,
            external_psk,
            authenticated_at: authenticated_at?,
            policy_epoch,
            scope: scope?,
            ancestry: ancestry?,
            issued_at: issued_at?,
            lifetime: lifetime?,
            age_add: age_add?,
            max_early_data_size: max_early_data_size?,
            companion,
            carrier,
        })
    }
}

impl Ancestry {
    /// Returns the strength of one key exchange; without one, that of a PSK alone.
    pub(crate) fn of_exchange(group: Option<NamedGroup>) -> Self {
        match group {
            Some(group) if group.is_post_quantum() => Self::PostQuantum,
            Some(_) => Self::Classical,
            None => Self::PskOnly,
        }
    }

    /// Returns the ancestry of a connection that resumes this one. A PSK alone, one-time or not, changes
    /// nothing; a one-time public key counts as an exchange.
    pub(crate) fn resumed(
        self,
        group: Option<NamedGroup>,
        one_time_key: Option<NamedGroup>,
    ) -> Self {
        [group, one_time_key]
            .into_iter()
            .flatten()
            .filter(|group| *group != NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED)
            .map(|group| Self::of_exchange(Some(group)))
            .fold(self, Self::min)
    }

    fn decode(value: &[u8]) -> Option<Self> {
        [Self::PskOnly, Self::Classical, Self::PostQuantum]
            .into_iter()
            .find(|ancestry| value == [*ancestry as u8])
    }
}

/// Version 1 had no verifier.
const VERSION: u8 = 2;

mod tag {
    pub(super) const SUITE: u8 = 1;
    pub(super) const PSK: u8 = 2;
    pub(super) const PROTOCOL: u8 = 3;
    pub(super) const SERVER_NAME: u8 = 4;
    pub(super) const PEER: u8 = 5;
    pub(super) const PEER_EXPIRES_AT: u8 = 6;
    pub(super) const EXTERNAL_PSK: u8 = 7;
    pub(super) const AUTHENTICATED_AT: u8 = 8;
    pub(super) const SCOPE: u8 = 9;
    pub(super) const ANCESTRY: u8 = 10;
    pub(super) const ISSUED_AT: u8 = 11;
    pub(super) const LIFETIME: u8 = 12;
    pub(super) const AGE_ADD: u8 = 13;
    pub(super) const MAX_EARLY_DATA_SIZE: u8 = 14;
    pub(super) const COMPANION: u8 = 15;
    pub(super) const CARRIER: u8 = 16;
    pub(super) const ACCEPTED_BY: u8 = 17;
    pub(super) const POLICY_EPOCH: u8 = 18;
}
