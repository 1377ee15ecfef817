//! Parses a header.

use std::net::{SocketAddrV4, SocketAddrV6};

use ppp::v2;

use super::checksum::crc32c;
use super::error::{DetectedProtocol, HeaderError};
use super::{Addresses, Command, FIXED, Header, MAX_UNIQUE_ID, PREFIX, Tls, kind};

impl Header {
    /// Parses exactly one header.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let [.., version_and_command, _, high, low] = bytes.get(..FIXED).unwrap_or_default() else {
            return Err(HeaderError::Truncated { received: bytes.len() });
        };
        if !bytes.starts_with(PREFIX) {
            return Err(HeaderError::NotAHeader { looks_like: DetectedProtocol::Unknown });
        }
        let len = FIXED + usize::from(u16::from_be_bytes([*high, *low]));
        if bytes.len() < len {
            return Err(HeaderError::Truncated { received: bytes.len() });
        }
        if bytes.len() > len {
            return Err(malformed("bytes after its end"));
        }
        match version_and_command {
            // "discard the protocol block including the family which is ignored"
            0x20 => Ok(Self { command: Command::Local, ..Self::default() }),
            0x21 => understand(bytes),
            other => Err(HeaderError::UnknownVersion(*other)),
        }
    }
}

fn understand(bytes: &[u8]) -> Result<Header, HeaderError> {
    let parsed = v2::Header::try_from(bytes).map_err(malformed)?;
    let mut header = Header { addresses: addresses(&parsed)?, ..Header::default() };
    // Not `parsed.tlvs()`, which returns none if the addresses are unspecified.
    let mut at = FIXED + parsed.addresses.len();
    for item in v2::TypeLengthValues::from(&bytes[at..]) {
        let item = item.map_err(malformed)?;
        let value = &item.value[..];
        at += TYPE_AND_LENGTH + value.len();
        match item.kind {
            kind::ALPN => put(&mut header.alpn, value.to_vec(), "ALPN")?,
            kind::AUTHORITY => put(&mut header.authority, text(value, "AUTHORITY")?, "AUTHORITY")?,
            kind::CRC32C => check(bytes, at, value)?,
            kind::UNIQUE_ID if value.len() > MAX_UNIQUE_ID => {
                return Err(malformed("a UNIQUE_ID of more than 128 bytes"));
            }
            kind::UNIQUE_ID => put(&mut header.unique_id, value.to_vec(), "UNIQUE_ID")?,
            kind::SSL => put(&mut header.tls, tls(value)?, "SSL")?,
            kind::FLIGHT => put(&mut header.flight, value.to_vec(), "flight")?,
            kind::IDENTITY => put(&mut header.identity, value.to_vec(), "identity")?,
            // "must ignore" unknown types, and NOOP, NETNS.
            _ => (),
        }
    }
    Ok(header)
}

fn addresses(parsed: &v2::Header<'_>) -> Result<Addresses, HeaderError> {
    if parsed.protocol == v2::Protocol::Datagram {
        return Err(malformed("datagrams, where a stream is forwarded"));
    }
    Ok(match &parsed.addresses {
        v2::Addresses::Unspecified => Addresses::Unspecified,
        // Without a specified transport the addresses have no meaning.
        _ if parsed.protocol == v2::Protocol::Unspecified => Addresses::Unspecified,
        v2::Addresses::IPv4(ip) => Addresses::Ip {
            source: SocketAddrV4::new(ip.source_address, ip.source_port).into(),
            destination: SocketAddrV4::new(ip.destination_address, ip.destination_port).into(),
        },
        v2::Addresses::IPv6(ip) => Addresses::Ip {
            source: SocketAddrV6::new(ip.source_address, ip.source_port, 0, 0).into(),
            destination: SocketAddrV6::new(ip.destination_address, ip.destination_port, 0, 0)
                .into(),
        },
        v2::Addresses::Unix(unix) => Addresses::Unix {
            source: without_padding(&unix.source),
            destination: without_padding(&unix.destination),
        },
    })
}

/// A path ends at its first zero. The zero before an abstract name belongs to it.
fn without_padding(field: &[u8]) -> Vec<u8> {
    let zeros = field.iter().rev().take_while(|byte| **byte == 0).count();
    field[..field.len() - zeros].to_vec()
}

/// Parses struct pp2_tlv_ssl: a byte of flags, 4 bytes that are zero for a verified client, and nested values.
fn tls(value: &[u8]) -> Result<Tls, HeaderError> {
    let Some((&[client, ref verify @ ..], values)) = value.split_first_chunk::<5>() else {
        return Err(malformed("an SSL value of less than 5 bytes"));
    };
    let mut tls = Tls {
        is_encrypted: client & kind::CLIENT_SSL != 0,
        gave_certificate: client & kind::CLIENT_CERT_CONN != 0,
        gave_certificate_in_session: client & kind::CLIENT_CERT_SESS != 0,
        ..Tls::default()
    };
    // Zero also if there was nothing to verify.
    tls.is_verified =
        *verify == [0; 4] && (tls.gave_certificate || tls.gave_certificate_in_session);
    for item in v2::TypeLengthValues::from(values) {
        let item = item.map_err(malformed)?;
        let (field, name) = match item.kind {
            kind::SSL_VERSION => (&mut tls.version, "SSL_VERSION"),
            kind::SSL_CN => (&mut tls.common_name, "SSL_CN"),
            kind::SSL_CIPHER => (&mut tls.cipher, "SSL_CIPHER"),
            kind::SSL_SIG_ALG => (&mut tls.signature_algorithm, "SSL_SIG_ALG"),
            kind::SSL_KEY_ALG => (&mut tls.key_algorithm, "SSL_KEY_ALG"),
            _ => continue,
        };
        put(field, text(&item.value, name)?, name)?;
    }
    Ok(tls)
}

/// Rejects two values of one type: two readers might use different ones.
fn put<T>(field: &mut Option<T>, value: T, name: &str) -> Result<(), HeaderError> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(malformed(format!("two values of {name}"))),
    }
}

fn text(value: &[u8], name: &str) -> Result<String, HeaderError> {
    let text = str::from_utf8(value).map_err(|_| malformed(format!("{name} is not UTF-8")))?;
    Ok(text.into())
}

/// Verifies the checksum of the whole header, with zeros in the checksum's place, which ends at `end`.
fn check(bytes: &[u8], end: usize, value: &[u8]) -> Result<(), HeaderError> {
    let Ok(expected) = <[u8; 4]>::try_from(value) else {
        return Err(malformed("a checksum that is not 4 bytes long"));
    };
    let computed = crc32c([&bytes[..end - expected.len()], &[0; 4], &bytes[end..]]);
    if computed == u32::from_be_bytes(expected) { Ok(()) } else { Err(HeaderError::Checksum) }
}

/// Before each value: a byte of type, two of length.
const TYPE_AND_LENGTH: usize = 3;

fn malformed(why: impl ToString) -> HeaderError {
    HeaderError::Malformed(why.to_string())
}
