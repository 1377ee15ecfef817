//! What TLS, DTLS and QUIC do differently in one and the same handshake.

/// The differences that the handshake has to know. There is one value per transport.
pub(crate) struct Profile {
    /// Stands before every label of the key schedule ("dtls13" for DTLS, RFC 9147 §5.9).
    pub(crate) label_prefix: &'static [u8],
    /// Whether the client says where its early data ends (not in DTLS, RFC 9147 §5.6, nor in QUIC).
    pub(crate) end_of_early_data: bool,
    /// Middlebox compatibility: a random legacy_session_id, echoed, and change_cipher_spec records
    /// (RFC 8446 §D.4).
    pub(crate) middlebox_compatibility: bool,
}

/// TLS over a stream.
pub(crate) static STREAM: Profile =
    Profile { label_prefix: b"tls13 ", end_of_early_data: true, middlebox_compatibility: true };
