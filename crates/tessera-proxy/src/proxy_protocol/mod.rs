//! The PROXY protocol, version 2: before a connection's bytes a proxy names the client that it forwards.
//!
//! The specification is HAProxy's `doc/proxy-protocol.txt` (2020/03/05 and later). Version 1, a line of text, carries
//! neither identities nor names of flights, and is rejected.
//!
//! A header is not authenticated: its sender can claim any address. So it is accepted only from [`TrustedNetworks`].

mod checksum;
mod decode;
mod encode;
mod error;
mod read;
mod trusted;

use std::net::SocketAddr;

use ppp::v2::PROTOCOL_PREFIX as PREFIX;

pub use self::error::{DetectedProtocol, HeaderError};
pub use self::read::{HeaderLimits, read_header};
pub use self::trusted::{Network, NetworkError, TrustedNetworks};

/// A header.
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
    /// On whose behalf the connection was made.
    pub command: Command,
    /// The ends of the forwarded connection.
    pub addresses: Addresses,
    /// The host name that the client requested (PP2_TYPE_AUTHORITY): in TLS the server name.
    pub authority: Option<String>,
    /// The application protocol (PP2_TYPE_ALPN).
    pub alpn: Option<Vec<u8>>,
    /// An identifier of the connection (PP2_TYPE_UNIQUE_ID), at most [`MAX_UNIQUE_ID`] bytes.
    pub unique_id: Option<Vec<u8>>,
    /// Facts about the client's TLS (PP2_TYPE_SSL).
    pub tls: Option<Tls>,
    /// The name of the client's first flight: the bytes of a `FlightHandle`. A backend that stores it with a request's
    /// effect can find out later whether the request was executed. Our extension: type [`FLIGHT`].
    pub flight: Option<Vec<u8>>,
    /// The client's identity, as the proxy knows it. Our extension: type [`IDENTITY`].
    pub identity: Option<Vec<u8>>,
}

/// The type of [`Header::flight`], from the range for applications.
pub const FLIGHT: u8 = 0xe0;

/// The type of [`Header::identity`].
pub const IDENTITY: u8 = 0xe1;

/// The longest [`Header::unique_id`].
pub const MAX_UNIQUE_ID: usize = 128;

/// On whose behalf a connection was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Command {
    /// The proxy's own, a health check of the receiver: the rest of the header is ignored.
    Local,
    /// A client's.
    #[default]
    Proxy,
}

/// The ends of a forwarded connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Addresses {
    /// The proxy doesn't know them, or doesn't send them.
    #[default]
    Unspecified,
    /// TCP. Both have the same family on the wire: an IPv4 address next to an IPv6 one is written as a mapped one.
    Ip {
        /// The client's address.
        source: SocketAddr,
        /// The proxy's address, to which the client connected.
        destination: SocketAddr,
    },
    /// Unix sockets: paths, or abstract names, which start with a zero; empty for a socket without a name. At most 108
    /// bytes each.
    Unix {
        /// The client's address.
        source: Vec<u8>,
        /// The proxy's address.
        destination: Vec<u8>,
    },
}

/// Facts about a client's TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// The client uses TLS to the proxy (PP2_CLIENT_SSL).
    pub is_encrypted: bool,
    /// It presented a certificate on this connection (PP2_CLIENT_CERT_CONN).
    pub gave_certificate: bool,
    /// It presented one in this session: on this connection, or on the one that this one resumes
    /// (PP2_CLIENT_CERT_SESS).
    pub gave_certificate_in_session: bool,
    /// It presented a certificate that was verified.
    pub is_verified: bool,
    /// For example `TLSv1.3`.
    pub version: Option<String>,
    /// The common name of the certificate's subject.
    pub common_name: Option<String>,
    /// For example `TLS_AES_128_GCM_SHA256`.
    pub cipher: Option<String>,
    /// The signature algorithm of the proxy's certificate, such as `SHA256`.
    pub signature_algorithm: Option<String>,
    /// The key algorithm of the proxy's certificate, such as `RSA2048`.
    pub key_algorithm: Option<String>,
}

/// Types of values, and flags, from the specification. `ppp` has names for most of the types.
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

/// The fixed part of a header: prefix, version and command, family and transport, and the length of the rest.
const FIXED: usize = 16;
