//! Cookies: all that a server would have to remember of a client, sealed, and sent back by the client (RFC 9147 §5.1).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::face::{DATAGRAM, HandshakeMessage, RetryState};
use tessera::handshake::Checked;
use tessera::resume::TicketKeys;
use tessera::{Error, ServerConfig};

use crate::path::Path;

/// Makes cookies and opens them.
pub(crate) struct Cookies {
    keys: Arc<dyn TicketKeys>,
    lifetime: Duration,
}

impl Cookies {
    pub(crate) fn new(keys: Arc<dyn TicketKeys>, lifetime: Duration) -> Self {
        Self { keys, lifetime }
    }

    /// Returns the HelloRetryRequest for a first ClientHello.
    pub(crate) fn request(
        &self,
        config: &Checked<ServerConfig>,
        path: &Path,
        hello: HandshakeMessage<'_>,
        unix: Duration,
    ) -> Result<Vec<u8>, Error> {
        RetryState::request(config, &DATAGRAM, hello, |state| {
            let mut contents = unix.as_secs().to_be_bytes().to_vec();
            contents.extend_from_slice(state);
            // Without a key there is no cookie, and the empty one is refused.
            self.keys.seal_for(&purpose(path), &contents, unix).unwrap_or_default()
        })
    }

    /// Returns the state in the cookie of a ClientHello; `None` if it has no cookie.
    pub(crate) fn open(
        &self,
        config: &Checked<ServerConfig>,
        path: &Path,
        hello: HandshakeMessage<'_>,
        unix: Duration,
    ) -> Result<Option<RetryState>, Error> {
        RetryState::of_cookie(config, &DATAGRAM, hello, |cookie| {
            let contents = self.keys.open_for(&purpose(path), cookie, unix)?;
            let (made, state) = contents.split_first_chunk()?;
            // Another server of the fleet may have made it, whose clock is ahead.
            let age = unix.as_secs().abs_diff(u64::from_be_bytes(*made));
            (age <= self.lifetime.as_secs()).then(|| state.to_vec())
        })
    }
}

/// Returns the purpose for which a cookie is sealed: this address, and nothing that isn't a cookie.
fn purpose(path: &Path) -> Vec<u8> {
    let mut purpose = b"dtls cookie 1".to_vec();
    match path.remote.ip().to_canonical() {
        IpAddr::V4(address) => purpose.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => purpose.extend_from_slice(&address.octets()),
    }
    purpose.extend_from_slice(&path.remote.port().to_be_bytes());
    purpose
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another server of the fleet may be of another version.
    #[test]
    fn a_cookie_has_a_purpose_of_its_own_for_each_address() {
        for (remote, expected) in [
            ("192.0.2.1:1000", &b"dtls cookie 1\xc0\0\x02\x01\x03\xe8"[..]),
            ("[::ffff:192.0.2.1]:1001", b"dtls cookie 1\xc0\0\x02\x01\x03\xe9"),
            (
                "[2001:db8::1]:1000",
                b"dtls cookie 1\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x03\xe8",
            ),
        ] {
            let remote = remote.parse().expect("an address");
            assert_eq!(purpose(&Path { remote, local: None }), expected, "{remote}");
        }
    }
}
