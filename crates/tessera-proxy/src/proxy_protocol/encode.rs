//! Encodes a header.

use std::net::{Ipv6Addr, SocketAddr};

use ppp::v2::{self, Builder, Command as Cmd, IPv6, Protocol, Unix, Version};

use super::error::HeaderError;
use super::{Addresses, Command, FIXED, Header, MAX_UNIQUE_ID, Tls, kind};

impl Header {
    /// Returns the bytes to send before everything else.
    pub fn write(&self) -> Result<Vec<u8>, HeaderError> {
        let addresses = self.addresses.to_ppp()?;
        let (command, protocol) = match (self.command, &addresses) {
            (Command::Local, _) => {
                let version = Version::Two | Cmd::Local;
                let none = v2::Addresses::Unspecified;
                let local = Builder::with_addresses(version, Protocol::Unspecified, none);
                return local.build().map_err(|_| self.too_long());
            }
            (Command::Proxy, v2::Addresses::Unspecified) => (Cmd::Proxy, Protocol::Unspecified),
            (Command::Proxy, _) => (Cmd::Proxy, Protocol::Stream),
        };
        if let Some(id) = self.unique_id.as_ref().filter(|id| id.len() > MAX_UNIQUE_ID) {
            return Err(HeaderError::TooLong { len: id.len(), limit: MAX_UNIQUE_ID });
        }
        let tls = self.tls.as_ref().map(Tls::write).transpose()?;
        let values = [
            (kind::AUTHORITY, self.authority.as_ref().map(String::as_bytes)),
            (kind::ALPN, self.alpn.as_deref()),
            (kind::UNIQUE_ID, self.unique_id.as_deref()),
            (kind::SSL, tls.as_deref()),
            (kind::FLIGHT, self.flight.as_deref()),
            (kind::IDENTITY, self.identity.as_deref()),
        ];
        let mut builder = Builder::with_addresses(Version::Two | command, protocol, addresses);
        for (kind, value) in values {
            if let Some(value) = value {
                builder = builder.write_tlv(kind, value).map_err(|_| self.too_long())?;
            }
        }
        builder.build().map_err(|_| self.too_long())
    }
}

impl Header {
    fn too_long(&self) -> HeaderError {
        let optional = [&self.alpn, &self.unique_id, &self.flight, &self.identity];
        let len = optional.into_iter().flatten().map(Vec::len).sum::<usize>();
        let authority = self.authority.as_ref().map_or(0, String::len);
        HeaderError::TooLong { len: FIXED + len + authority, limit: FIXED + usize::from(u16::MAX) }
    }
}

impl Addresses {
    fn to_ppp(&self) -> Result<v2::Addresses, HeaderError> {
        Ok(match self {
            Self::Unspecified => v2::Addresses::Unspecified,
            Self::Ip { source: SocketAddr::V4(source), destination: SocketAddr::V4(to) } => {
                (SocketAddr::V4(*source), SocketAddr::V4(*to)).into()
            }
            Self::Ip { source, destination } => {
                let (from, to) = (mapped(source), mapped(destination));
                IPv6::new(from, to, source.port(), destination.port()).into()
            }
            Self::Unix { source, destination } => {
                v2::Addresses::Unix(Unix::new(padded(source)?, padded(destination)?))
            }
        })
    }
}

fn mapped(address: &SocketAddr) -> Ipv6Addr {
    match address {
        SocketAddr::V4(v4) => v4.ip().to_ipv6_mapped(),
        SocketAddr::V6(v6) => *v6.ip(),
    }
}

fn padded(path: &[u8]) -> Result<[u8; UNIX_ADDRESS], HeaderError> {
    let mut field = [0; UNIX_ADDRESS];
    let Some(begin) = field.get_mut(..path.len()) else {
        return Err(HeaderError::TooLong { len: path.len(), limit: UNIX_ADDRESS });
    };
    begin.copy_from_slice(path);
    Ok(field)
}

/// `sun_path` on Linux.
const UNIX_ADDRESS: usize = 108;

impl Tls {
    fn write(&self) -> Result<Vec<u8>, HeaderError> {
        let flags = [
            (self.is_encrypted, kind::CLIENT_SSL),
            (self.gave_certificate, kind::CLIENT_CERT_CONN),
            (self.gave_certificate_in_session, kind::CLIENT_CERT_SESS),
        ];
        let client = flags.iter().filter(|(holds, _)| *holds).map(|(_, flag)| flag).sum();
        let mut value = vec![client, 0, 0, 0, u8::from(!self.is_verified)];
        let values = [
            (kind::SSL_VERSION, &self.version),
            (kind::SSL_CN, &self.common_name),
            (kind::SSL_CIPHER, &self.cipher),
            (kind::SSL_SIG_ALG, &self.signature_algorithm),
            (kind::SSL_KEY_ALG, &self.key_algorithm),
        ];
        for (kind, text) in values {
            let Some(text) = text else { continue };
            let len = u16::try_from(text.len()).map_err(|_| HeaderError::TooLong {
                len: text.len(),
                limit: usize::from(u16::MAX),
            })?;
            value.push(kind);
            value.extend(len.to_be_bytes());
            value.extend(text.as_bytes());
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_length_of_a_header_that_is_too_long() {
        let header = Header {
            identity: Some(vec![0; 1 << 16]),
            authority: Some("db".into()),
            ..Header::default()
        };
        let Err(HeaderError::TooLong { len, limit }) = header.write() else { panic!() };
        assert_eq!((len, limit), (16 + (1 << 16) + 2, 65_551));
    }
}
