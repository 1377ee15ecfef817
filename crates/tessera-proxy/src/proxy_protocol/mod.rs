//! The PROXY protocol, version 2: a proxy says in front of a connection's bytes whom it forwards it for.
//!
//! The specification is HAProxy's `doc/proxy-protocol.txt` (2020/03/05 and later). Version 1, a line of text, carries
//! neither identities nor names of flights, and is refused.
//!
//! A header is believed: whoever may send one can claim any address. So it is taken from [`TrustedNetworks`] alone.

mod checksum;
mod decode;
mod encode;
mod error;
mod read;
mod trusted;

use std::net::SocketAddr;

use ppp::v2::PROTOCOL_PREFIX as PREFIX;

pub use self::error::{HeaderError, LooksLike};
pub use self::read::{HeaderLimits, read_header};
pub use self::trusted::{Network, NetworkError, TrustedNetworks};

/// What a header says.
///
/// ```
/// use tessera_proxy::proxy_protocol::{Addresses, Header};
///
/// let (source, destination) = ("192.0.2.7:51234".parse()?, "198.51.100.1:5432".parse()?);
/// let header = Header {
///     addresses: Addresses::Ip { source, destination },
///     flight: Some(vec![7; 32]),
///     ..Header::default()
/// };
/// let bytes = header.write()?;
/// assert_eq!(Header::parse(&bytes)?, header);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Whom the connection is for.
    pub command: Command,
    /// Whose connection it is.
    pub addresses: Addresses,
    /// The host name that the client asked for (PP2_TYPE_AUTHORITY): of TLS the server name.
    pub authority: Option<String>,
    /// The application protocol (PP2_TYPE_ALPN).
    pub alpn: Option<Vec<u8>>,
    /// A name of the connection (PP2_TYPE_UNIQUE_ID), at most [`MAX_UNIQUE_ID`] bytes.
    pub unique_id: Option<Vec<u8>>,
    /// What is known of the client's TLS (PP2_TYPE_SSL).
    pub tls: Option<Tls>,
    /// The name of the client's first flight: the bytes of a `FlightHandle`. Whoever keeps it beside what a request
    /// did can tell later whether the request was executed. Ours: type [`FLIGHT`].
    pub flight: Option<Vec<u8>>,
    /// Who the client is, as the proxy knows it. Ours: type [`IDENTITY`].
    pub identity: Option<Vec<u8>>,
}

/// The type of [`Header::flight`], of those that the specification leaves to applications.
pub const FLIGHT: u8 = 0xe0;

/// The type of [`Header::identity`].
pub const IDENTITY: u8 = 0xe1;

/// How long [`Header::unique_id`] may be.
pub const MAX_UNIQUE_ID: usize = 128;

/// Whom a connection is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Command {
    /// The proxy itself, to look whether the receiver is there: nothing else of the header counts.
    Local,
    /// A client of the proxy.
    #[default]
    Proxy,
}

/// The ends of a connection that is forwarded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Addresses {
    /// The proxy doesn't know them, or doesn't say.
    #[default]
    Unspecified,
    /// Of TCP. Both are of the same family; an IPv4 address among IPv6 ones is written as a mapped one.
    Ip {
        /// The client's.
        source: SocketAddr,
        /// The proxy's, to which the client connected.
        destination: SocketAddr,
    },
    /// Of Unix sockets: paths, or with a zero in front names that are in no directory; empty for one without a name.
    /// At most 108 bytes each.
    Unix {
        /// The client's.
        source: Vec<u8>,
        /// The proxy's.
        destination: Vec<u8>,
    },
}

/// What a proxy says of its client's TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// The client speaks TLS with the proxy (PP2_CLIENT_SSL).
    pub is_encrypted: bool,
    /// It gave a certificate on this connection (PP2_CLIENT_CERT_CONN).
    pub gave_certificate: bool,
    /// It gave one in this session: on this connection, or on the one that this one resumes (PP2_CLIENT_CERT_SESS).
    pub gave_certificate_in_session: bool,
    /// It gave a certificate that was verified.
    pub is_verified: bool,
    /// Such as `TLSv1.3`.
    pub version: Option<String>,
    /// The common name of the certificate's subject.
    pub common_name: Option<String>,
    /// Such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: Option<String>,
    /// The algorithm of the signature in the proxy's certificate, such as `SHA256`.
    pub signature_algorithm: Option<String>,
    /// That of the key in it, such as `RSA2048`.
    pub key_algorithm: Option<String>,
}

/// Types of values, and flags, as the specification has them. `ppp` names most of the types.
mod kind {
    use ppp::v2::Type;

    pub(super) use super::{FLIGHT, IDENTITY};

    pub(super) const ALPN: u8 = Type::ALPN as u8;
    pub(super) const AUTHORITY: u8 = Type::Authority as u8;
    pub(super) const CRC32C: u8 = Type::CRC32C as u8;
    pub(super) const UNIQUE_ID: u8 = Type::UniqueId as u8;
    pub(super) const SSL: u8 = Type::SSL as u8;
    pub(super) const SSL_VERSION: u8 = Type::SSLVersion as u8;
    pub(super) const SSL_CN: u8 = Type::SSLCommonName as u8;
    pub(super) const SSL_CIPHER: u8 = Type::SSLCipher as u8;
    pub(super) const SSL_SIG_ALG: u8 = Type::SSLSignatureAlgorithm as u8;
    pub(super) const SSL_KEY_ALG: u8 = Type::SSLKeyAlgorithm as u8;

    pub(super) const CLIENT_SSL: u8 = 1;
    pub(super) const CLIENT_CERT_CONN: u8 = 2;
    pub(super) const CLIENT_CERT_SESS: u8 = 4;
}

/// What every header has: the prefix, version and command, family and transport, and the length of the rest.
const FIXED: usize = 16;
