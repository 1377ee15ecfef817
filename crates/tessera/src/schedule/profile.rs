//! The differences between TLS, DTLS and QUIC in the same handshake.

use crate::carrier::Carrier;
use crate::wire::{ExtensionType, Versions};

/// The differences that the handshake must know: one value per protocol, carried by every
/// connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// What carries the connection: sessions name it, and resume over nothing else.
    pub carrier: Carrier,
    /// Precedes every label of the key schedule ("dtls13" for DTLS, RFC 9147 §5.9).
    pub label_prefix: &'static [u8; LABEL_PREFIX_LEN],
    /// The versions in the hellos, and their format.
    pub versions: Versions,
    /// Whether the client sends EndOfEarlyData (not in DTLS, RFC 9147 §5.6, nor in QUIC,
    /// RFC 9001 §8.3).
    pub end_of_early_data: bool,
    /// Whether the client sends a random legacy_session_id, which the server echoes (RFC 8446 §D.4;
    /// not in DTLS, RFC 9147 §5, nor in QUIC, RFC 9001 §8.4).
    pub legacy_session_id: bool,
    /// Whether either end changes its keys with a KeyUpdate (not in QUIC, RFC 9001 §6, which refuses the message).
    pub key_update: bool,
    /// Whether early data may be lost or arrive late, so that its client asks how many records were taken
    /// (docs/0rtt-fs.md).
    pub counts_early_records: bool,
    /// Whether a client sends a stranger one classical share alone, so that its ClientHello fits one datagram: a server
    /// that prefers a post-quantum group asks for its share.
    pub one_share_for_strangers: bool,
    /// The owners' extensions that a server answers in ServerHello, such as DTLS's connection_id
    /// (RFC 9147 §9). All others are answered in EncryptedExtensions.
    pub server_hello_extensions: &'static [ExtensionType],
}

/// The length of each protocol's prefix of labels, in bytes.
pub const LABEL_PREFIX_LEN: usize = 6;

impl Profile {
    /// Returns whether its labels are those of RFC 8446 §7.1.
    pub(crate) fn has_labels_of_tls(&self) -> bool {
        self.label_prefix == STREAM.label_prefix
    }

    /// Returns the legacy_session_id for hellos, which is empty if the protocol has none.
    pub(crate) fn session_id<'s>(&self, session_id: &'s [u8]) -> &'s [u8] {
        if self.legacy_session_id { session_id } else { &[] }
    }

    /// Returns the profile for this carrier, if this version of Tessera knows it.
    pub(crate) fn over(carrier: Carrier) -> Option<&'static Self> {
        [&STREAM, &DATAGRAM].into_iter().find(|profile| profile.carrier == carrier)
    }
}

/// TLS over a stream.
pub static STREAM: Profile = Profile {
    carrier: Carrier::STREAM,
    label_prefix: b"tls13 ",
    versions: Versions::TLS_1_3,
    end_of_early_data: true,
    legacy_session_id: true,
    key_update: true,
    counts_early_records: false,
    one_share_for_strangers: false,
    server_hello_extensions: &[],
};

/// DTLS 1.3 over datagrams (RFC 9147).
pub static DATAGRAM: Profile = Profile {
    carrier: Carrier::DATAGRAM,
    label_prefix: b"dtls13",
    versions: Versions::DTLS_1_3,
    end_of_early_data: false,
    legacy_session_id: false,
    key_update: true,
    counts_early_records: true,
    one_share_for_strangers: true,
    server_hello_extensions: &[ExtensionType::CONNECTION_ID, ExtensionType::RRC],
};
