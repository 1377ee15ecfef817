//! The socket that a server has for one association: it announces where that is in the handshake, under keys, and the
//! client goes on there (`docs/dtls-mobility.md`).
//!
//! The association only carries the announcement. When to go there, and when to be there, is decided by what owns the
//! sockets.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::num::NonZeroU16;

use super::Association;
use crate::address_prefix::AddressPrefix;
use crate::error::{Error, decode_error, illegal_parameter};
use crate::handshake::Handshake;
use crate::role::Role;
use crate::wire::{ExtensionType, OpaqueExtension, Reader, Writer};

/// Where the server has a socket for an association alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its IP address; `None`: the one that the client uses, which the server need not know.
    pub ip: Option<IpAddr>,
    /// Its port.
    pub port: NonZeroU16,
}

impl ServerAddress {
    /// Returns the address for a client that uses this one of the server.
    #[must_use]
    pub fn seen_from(&self, server: SocketAddr) -> SocketAddr {
        let mut address = server;
        address.set_port(self.port.get());
        if let Some(ip) = self.ip {
            address.set_ip(ip);
        }
        address
    }

    fn read(contents: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(contents);
        let ip = match *reader.vec8()? {
            [] => None,
            ref bytes => Some(
                read_ip(bytes).ok_or(decode_error("an IP address of neither 4 nor 16 bytes"))?,
            ),
        };
        let port = reader.u16()?;
        reader.finish()?;
        let port = NonZeroU16::new(port).ok_or(illegal_parameter("a socket at port 0"))?;
        Ok(Self { ip, port })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.vec8(|out| match self.ip {
            Some(IpAddr::V4(ip)) => out.bytes(&ip.octets()),
            Some(IpAddr::V6(ip)) => out.bytes(&ip.octets()),
            None => (),
        });
        out.u16(self.port.get());
    }
}

fn read_ip(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4().or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// What a client knows of its server's socket.
pub(super) struct FollowedServer {
    allowed: Vec<AddressPrefix>,
    announced: Option<ServerAddress>,
}

impl FollowedServer {
    pub(super) fn new(allowed: Vec<AddressPrefix>) -> Self {
        Self { allowed, announced: None }
    }
}

/// Returns the extension with which a client offers to follow, or in which a server announces its socket.
pub(super) fn extension(
    role: Role,
    follows: bool,
    own: Option<&ServerAddress>,
) -> Option<OpaqueExtension> {
    let mut contents = Vec::new();
    match (role, own) {
        (Role::Client, _) if follows => (),
        (Role::Server, Some(own)) => own.write(&mut contents),
        _ => return None,
    }
    Some(OpaqueExtension { typ: ExtensionType::SERVER_ADDRESS, contents })
}

impl<H: Handshake> Association<H> {
    /// Keeps the server's announcement, which must stay where the client allows: a server must not send clients to
    /// others.
    pub(super) fn agree_on_server_address(&mut self) -> Result<(), Error> {
        let Some(extension) = self.core.take_extension(ExtensionType::SERVER_ADDRESS) else {
            return Ok(());
        };
        let Some(followed) = self.server.as_mut().and_then(|it| it.followed.as_mut()) else {
            // A client's offer, at a server.
            return Reader::new(&extension.contents).finish();
        };
        let announced = ServerAddress::read(&extension.contents)?;
        if announced.ip.is_some_and(|ip| !followed.allowed.iter().any(|it| it.contains(ip))) {
            return Err(illegal_parameter("a socket at an address that isn't allowed"));
        }
        followed.announced = Some(announced);
        Ok(())
    }

    /// Returns where the server has a socket for this association alone, once the handshake has authenticated that.
    #[must_use]
    pub fn server_address(&self) -> Option<ServerAddress> {
        let followed = self.server.as_ref()?.followed.as_ref();
        followed.filter(|_| self.core.is_complete())?.announced
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::wire::{AlertDescription, EncryptedExtensions};

    /// The vectors of `docs/dtls-mobility.md`.
    #[test]
    fn an_announcement_has_the_form_that_is_specified() {
        let port = NonZeroU16::new(0xc001).expect("not 0");
        let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);
        let v6_bytes = [&[16][..], &v6.octets(), &[0xc0, 1]].concat();
        for (ip, bytes) in [
            (None, vec![0, 0xc0, 1]),
            (Some(Ipv4Addr::new(192, 0, 2, 1).into()), vec![4, 192, 0, 2, 1, 0xc0, 1]),
            (Some(v6.into()), v6_bytes),
        ] {
            let address = ServerAddress { ip, port };
            let mut written = Vec::new();
            address.write(&mut written);
            assert_eq!(written, bytes);
            assert_eq!(ServerAddress::read(&bytes), Ok(address));
        }
    }

    #[test]
    fn an_announcement_without_an_offer_is_unsupported_extension() {
        let own = ServerAddress { ip: None, port: NonZeroU16::MIN };
        let own = extension(Role::Server, false, Some(&own)).expect("announced");
        let opaque = vec![(own.typ, &own.contents[..])];
        let mut message = Vec::new();
        EncryptedExtensions { opaque, ..EncryptedExtensions::default() }.write(&mut message);
        let body = || Reader::new(&message[4..]);
        assert!(EncryptedExtensions::read(body(), |_| true).is_ok());
        let error = EncryptedExtensions::read(body(), |_| false).err();
        let alert = error.and_then(|error| error.alert());
        assert_eq!(alert, Some(AlertDescription::UNSUPPORTED_EXTENSION));
    }

    #[test]
    fn an_announcement_of_another_length_or_port_0_is_refused() {
        let mut wrong = vec![vec![], vec![0], vec![0, 1], vec![0, 1, 2, 3], vec![4, 1, 2, 3, 4, 5]];
        wrong.extend([1_u8, 3, 5, 15, 17].map(|len| {
            let mut bytes = vec![1; usize::from(len) + 3];
            bytes[0] = len;
            bytes
        }));
        for bytes in wrong {
            let error = ServerAddress::read(&bytes).expect_err("another length");
            assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR), "{bytes:?}");
        }
        let error = ServerAddress::read(&[0, 0, 0]).expect_err("port 0");
        assert_eq!(error.alert(), Some(AlertDescription::ILLEGAL_PARAMETER));
    }
}
