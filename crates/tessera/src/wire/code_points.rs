//! The code points of messages and extensions.

use crate::code_point::code_points;

code_points! {
    /// A cipher suite (RFC 8446 §B.4).
    CipherSuite(u16) {
        /// AES-128-GCM with SHA-256.
        TLS_AES_128_GCM_SHA256 = 0x1301,
        /// AES-256-GCM with SHA-384.
        TLS_AES_256_GCM_SHA384 = 0x1302,
        /// ChaCha20-Poly1305 with SHA-256.
        TLS_CHACHA20_POLY1305_SHA256 = 0x1303,
    }
}

code_points! {
    /// A group or KEM (RFC 8446 §4.2.7).
    NamedGroup(u16) {
        /// NIST P-256.
        SECP256R1 = 0x0017,
        /// NIST P-384.
        SECP384R1 = 0x0018,
        /// NIST P-521.
        SECP521R1 = 0x0019,
        /// X25519 (RFC 7748).
        X25519 = 0x001d,
        /// ML-KEM-512 alone (draft-ietf-tls-mlkem).
        MLKEM512 = 0x0200,
        /// ML-KEM-768 alone (draft-ietf-tls-mlkem).
        MLKEM768 = 0x0201,
        /// ML-KEM-1024 alone (draft-ietf-tls-mlkem).
        MLKEM1024 = 0x0202,
        /// ML-KEM-768 with X25519 (draft-ietf-tls-ecdhe-mlkem).
        X25519MLKEM768 = 0x11ec,
        /// Not a group, but the kind of one-time keys that are PSKs (docs/0rtt-fs.md, section 3.1): data
        /// sent under one is forward-secret only if both ends really delete it. From the range
        /// for private use, and never in supported_groups or key_share.
        ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED = 0xfe5a,
        /// ML-KEM-512 with keys that decapsulate once, by T_H: experimental (docs/one-time-kem.md). From the range for
        /// private use, like those below.
        EXPERIMENTAL_ONE_TIME_MLKEM512 = 0xfe61,
        /// The same with ML-KEM-768.
        EXPERIMENTAL_ONE_TIME_MLKEM768 = 0xfe62,
        /// The same with ML-KEM-1024.
        EXPERIMENTAL_ONE_TIME_MLKEM1024 = 0xfe63,
        /// The same with ML-KEM-768, and with X25519 behind it.
        EXPERIMENTAL_ONE_TIME_X25519MLKEM768 = 0xfe64,
    }
}

impl NamedGroup {
    /// Returns whether a recorded handshake stays confidential when discrete logarithms fall.
    pub fn is_post_quantum(self) -> bool {
        matches!(
            self,
            Self::MLKEM512
                | Self::MLKEM768
                | Self::MLKEM1024
                | Self::X25519MLKEM768
                | Self::EXPERIMENTAL_ONE_TIME_MLKEM512
                | Self::EXPERIMENTAL_ONE_TIME_MLKEM768
                | Self::EXPERIMENTAL_ONE_TIME_MLKEM1024
                | Self::EXPERIMENTAL_ONE_TIME_X25519MLKEM768
        )
    }

    /// Returns whether only a configuration that names the group may use it.
    pub fn is_experimental(self) -> bool {
        matches!(
            self,
            Self::EXPERIMENTAL_ONE_TIME_MLKEM512
                | Self::EXPERIMENTAL_ONE_TIME_MLKEM768
                | Self::EXPERIMENTAL_ONE_TIME_MLKEM1024
                | Self::EXPERIMENTAL_ONE_TIME_X25519MLKEM768
        )
    }
}

code_points! {
    /// A signature scheme (RFC 8446 §4.2.3).
    SignatureScheme(u16) {
        /// RSASSA-PKCS1-v1_5 with SHA-256; in certificates only.
        RSA_PKCS1_SHA256 = 0x0401,
        /// RSASSA-PKCS1-v1_5 with SHA-384; in certificates only.
        RSA_PKCS1_SHA384 = 0x0501,
        /// RSASSA-PKCS1-v1_5 with SHA-512; in certificates only.
        RSA_PKCS1_SHA512 = 0x0601,
        /// ECDSA on P-256 with SHA-256.
        ECDSA_SECP256R1_SHA256 = 0x0403,
        /// ECDSA on P-384 with SHA-384.
        ECDSA_SECP384R1_SHA384 = 0x0503,
        /// ECDSA on P-521 with SHA-512.
        ECDSA_SECP521R1_SHA512 = 0x0603,
        /// RSASSA-PSS with a rsaEncryption key and SHA-256.
        RSA_PSS_RSAE_SHA256 = 0x0804,
        /// RSASSA-PSS with a rsaEncryption key and SHA-384.
        RSA_PSS_RSAE_SHA384 = 0x0805,
        /// RSASSA-PSS with a rsaEncryption key and SHA-512.
        RSA_PSS_RSAE_SHA512 = 0x0806,
        /// Ed25519.
        ED25519 = 0x0807,
        /// RSASSA-PSS with an id-RSASSA-PSS key and SHA-256.
        RSA_PSS_PSS_SHA256 = 0x0809,
        /// RSASSA-PSS with an id-RSASSA-PSS key and SHA-384.
        RSA_PSS_PSS_SHA384 = 0x080a,
        /// RSASSA-PSS with an id-RSASSA-PSS key and SHA-512.
        RSA_PSS_PSS_SHA512 = 0x080b,
        /// ML-DSA-44 (draft-ietf-tls-mldsa).
        MLDSA44 = 0x0904,
        /// ML-DSA-65 (draft-ietf-tls-mldsa).
        MLDSA65 = 0x0905,
        /// ML-DSA-87 (draft-ietf-tls-mldsa).
        MLDSA87 = 0x0906,
        /// Falcon-512 in signatures of fixed length, as `tessera-rustcrypto` guesses FN-DSA. From the range for private use:
        /// Open Quantum Safe's for the same encoding.
        FALCON512_PRE_STANDARD = 0xfedc,
        /// The same with Falcon-1024.
        FALCON1024_PRE_STANDARD = 0xfedf,
        /// No signature: the certificate has an X25519 key, and its holder decapsulates (docs/kem-auth.md).
        KEM_X25519 = 0xfe40,
        /// The same with ML-KEM-512.
        KEM_MLKEM512 = 0xfe41,
        /// The same with ML-KEM-768.
        KEM_MLKEM768 = 0xfe42,
        /// The same with ML-KEM-1024.
        KEM_MLKEM1024 = 0xfe43,
        /// The same with ML-KEM-768 and X25519.
        KEM_X25519MLKEM768 = 0xfe44,
    }
}

impl SignatureScheme {
    /// Returns whether the scheme may sign a handshake: RSASSA-PKCS1-v1_5 may not (RFC 8446 §4.2.3), and a KEM doesn't sign.
    pub fn signs_handshakes(self) -> bool {
        let in_certificates = matches!(
            self,
            Self::RSA_PKCS1_SHA256 | Self::RSA_PKCS1_SHA384 | Self::RSA_PKCS1_SHA512
        );
        !in_certificates && self.kem().is_none()
    }

    /// Returns the KEM with which the holder of a certificate authenticates, if the scheme is one (docs/kem-auth.md).
    pub fn kem(self) -> Option<NamedGroup> {
        Some(match self {
            Self::KEM_X25519 => NamedGroup::X25519,
            Self::KEM_MLKEM512 => NamedGroup::MLKEM512,
            Self::KEM_MLKEM768 => NamedGroup::MLKEM768,
            Self::KEM_MLKEM1024 => NamedGroup::MLKEM1024,
            Self::KEM_X25519MLKEM768 => NamedGroup::X25519MLKEM768,
            _ => return None,
        })
    }

    /// Returns the contents of the AlgorithmIdentifier of the KEM's keys in a SubjectPublicKeyInfo or PKCS#8, if they have a
    /// form there: the identifier alone (DER), without parameters (RFC 9935 §3, RFC 8410 §3).
    pub const fn kem_key_algorithm(self) -> Option<&'static [u8]> {
        Some(match self {
            // id-X25519, 1.3.101.110.
            Self::KEM_X25519 => &[0x06, 0x03, 0x2b, 0x65, 0x6e],
            // id-alg-ml-kem-512, -768 and -1024, 2.16.840.1.101.3.4.4.1 to 3.
            Self::KEM_MLKEM512 => &[0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x04, 1],
            Self::KEM_MLKEM768 => &[0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x04, 2],
            Self::KEM_MLKEM1024 => &[0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x04, 3],
            _ => return None,
        })
    }
}

code_points! {
    /// A protocol version on the wire.
    ProtocolVersion(u16) {
        /// TLS 1.0, the record version of an initial ClientHello.
        TLS1_0 = 0x0301,
        /// TLS 1.2, the legacy version of everything else.
        TLS1_2 = 0x0303,
        /// TLS 1.3.
        TLS1_3 = 0x0304,
        /// DTLS 1.2, the legacy version of DTLS.
        DTLS1_2 = 0xfefd,
        /// DTLS 1.3.
        DTLS1_3 = 0xfefc,
    }
}

code_points! {
    /// The type of a record (RFC 8446 §5.1).
    ContentType(u8) {
        /// change_cipher_spec, for middleboxes only.
        CHANGE_CIPHER_SPEC = 20,
        /// alert.
        ALERT = 21,
        /// handshake.
        HANDSHAKE = 22,
        /// application_data, and every protected record.
        APPLICATION_DATA = 23,
        /// ack, in DTLS (RFC 9147 §7).
        ACK = 26,
        /// return_routability_check, in DTLS (RFC 9853 §4).
        RETURN_ROUTABILITY_CHECK = 27,
    }
}

code_points! {
    /// The type of a handshake message (RFC 8446 §4).
    HandshakeType(u8) {
        /// client_hello.
        CLIENT_HELLO = 1,
        /// server_hello, and HelloRetryRequest.
        SERVER_HELLO = 2,
        /// hello_verify_request, of DTLS before 1.3 (RFC 6347 §4.2.1).
        HELLO_VERIFY_REQUEST = 3,
        /// new_session_ticket.
        NEW_SESSION_TICKET = 4,
        /// end_of_early_data.
        END_OF_EARLY_DATA = 5,
        /// encrypted_extensions.
        ENCRYPTED_EXTENSIONS = 8,
        /// request_connection_id, in DTLS (RFC 9147 §9).
        REQUEST_CONNECTION_ID = 9,
        /// new_connection_id, in DTLS (RFC 9147 §9).
        NEW_CONNECTION_ID = 10,
        /// certificate.
        CERTIFICATE = 11,
        /// certificate_request.
        CERTIFICATE_REQUEST = 13,
        /// certificate_verify.
        CERTIFICATE_VERIFY = 15,
        /// finished.
        FINISHED = 20,
        /// key_update.
        KEY_UPDATE = 24,
        /// compressed_certificate (RFC 8879).
        COMPRESSED_CERTIFICATE = 25,
        /// kem_encapsulation (docs/kem-auth.md).
        KEM_ENCAPSULATION = 30,
        /// message_hash, the synthetic first message after a HelloRetryRequest.
        MESSAGE_HASH = 254,
    }
}

code_points! {
    /// The type of an extension (RFC 8446 §4.2).
    ExtensionType(u16) {
        /// server_name (RFC 6066).
        SERVER_NAME = 0,
        /// max_fragment_length (RFC 6066).
        MAX_FRAGMENT_LENGTH = 1,
        /// status_request: OCSP (RFC 6066).
        STATUS_REQUEST = 5,
        /// supported_groups.
        SUPPORTED_GROUPS = 10,
        /// signature_algorithms.
        SIGNATURE_ALGORITHMS = 13,
        /// application_layer_protocol_negotiation (RFC 7301).
        ALPN = 16,
        /// signed_certificate_timestamp (RFC 6962).
        SIGNED_CERTIFICATE_TIMESTAMP = 18,
        /// client_certificate_type (RFC 7250).
        CLIENT_CERTIFICATE_TYPE = 19,
        /// server_certificate_type (RFC 7250).
        SERVER_CERTIFICATE_TYPE = 20,
        /// padding (RFC 7685).
        PADDING = 21,
        /// compress_certificate (RFC 8879).
        COMPRESS_CERTIFICATE = 27,
        /// record_size_limit (RFC 8449).
        RECORD_SIZE_LIMIT = 28,
        /// pre_shared_key.
        PRE_SHARED_KEY = 41,
        /// early_data.
        EARLY_DATA = 42,
        /// supported_versions.
        SUPPORTED_VERSIONS = 43,
        /// cookie.
        COOKIE = 44,
        /// psk_key_exchange_modes.
        PSK_KEY_EXCHANGE_MODES = 45,
        /// certificate_authorities.
        CERTIFICATE_AUTHORITIES = 47,
        /// signature_algorithms_cert.
        SIGNATURE_ALGORITHMS_CERT = 50,
        /// key_share.
        KEY_SHARE = 51,
        /// ticket_request (RFC 9149).
        TICKET_REQUEST = 58,
        /// forward_secret_early_data: Tessera's own, from the private-use range. In a ClientHello:
        /// the kinds of one-time keys that the client can use. In a NewSessionTicket: the
        /// forward-secret ticket. In EncryptedExtensions: the verdict on a refused one.
        FORWARD_SECRET_EARLY_DATA = 0xff5a,
        /// forward_secret_receipts: Tessera's own, from the private-use range. In a ClientHello: the
        /// handles of flights. In EncryptedExtensions: their fate.
        FORWARD_SECRET_RECEIPTS = 0xff5b,
        /// early_records: Tessera's own, from the private-use range, over datagrams. In a ClientHello with early data:
        /// empty. In EncryptedExtensions: how many records of it the server has taken.
        EARLY_RECORDS = 0xff5e,
    }
}

impl ExtensionType {
    /// cached_certificates: Tessera's own, from the private-use range, for a certificate codec. The
    /// engine carries it unread, so it is none of the types that [are known](Self::is_known).
    pub const CACHED_CERTIFICATES: Self = Self(0xff5c);

    /// connection_id (RFC 9146 §3), which the datagram face interprets: to the handshake it is an owner's extension.
    pub const CONNECTION_ID: Self = Self(54);

    /// reset_token: Tessera's own, from the private-use range, over datagrams. In a ClientHello: empty. In
    /// EncryptedExtensions: with what the server shows that it has lost the association. The datagram face's, too.
    pub const RESET_TOKEN: Self = Self(0xff5f);

    /// server_address: Tessera's own, from the private-use range, over datagrams. In a ClientHello: empty. In
    /// EncryptedExtensions: where the server has a socket for the association alone. The datagram face's, too.
    pub const SERVER_ADDRESS: Self = Self(0xff60);

    /// rrc (RFC 9853 §3): the same.
    pub const RRC: Self = Self(61);
}

code_points! {
    /// How a Certificate is compressed (RFC 8879 §7.3); private use begins at 16,384.
    CertificateCompressionAlgorithm(u16) {
        /// zlib (RFC 1950).
        ZLIB = 1,
        /// Brotli (RFC 7932).
        BROTLI = 2,
        /// Zstandard (RFC 8878).
        ZSTD = 3,
    }
}

code_points! {
    /// What a Certificate holds (RFC 7250).
    CertificateType(u8) {
        /// A chain of X.509 certificates.
        X509 = 0,
        /// A SubjectPublicKeyInfo alone.
        RAW_PUBLIC_KEY = 2,
    }
}

code_points! {
    /// A PSK key exchange mode (RFC 8446 §4.2.9).
    PskKeyExchangeMode(u8) {
        /// The PSK alone: no forward secrecy of its own.
        PSK_KE = 0,
        /// The PSK with an (EC)DHE or KEM exchange.
        PSK_DHE_KE = 1,
    }
}
