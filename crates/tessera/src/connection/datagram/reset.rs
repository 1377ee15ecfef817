//! Resets: a server that has lost an association informs its client in one round trip (`docs/dtls-mobility.md`).
//!
//! In the handshake the server gives the client a token. A datagram that ends with its MAC under this token is a reset: no
//! one else knows the token, and the server can compute it again when it knows nothing else.

use alloc::boxed::Box;
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::Association;
use crate::crypto::{Digest, Hash};
use crate::error::{Error, decode_error};
use crate::handshake::Handshake;
use crate::record::APPLICATION_EPOCH;
use crate::role::Role;
use crate::wire::{ExtensionType, OpaqueExtension};

/// What proves to a client that its server has lost the association.
#[derive(Clone)]
pub struct ResetToken {
    bytes: Box<Zeroizing<[u8; ResetToken::LEN]>>,
    sha256: &'static dyn Hash,
}

impl ResetToken {
    /// The length of a token, in bytes.
    pub const LEN: usize = 16;

    /// The length of the shortest reset, in bytes: that of the shortest record, so that it looks like one.
    pub const SHORTEST_RESET: usize = 5 + Self::LEN;

    /// The length of the longest reset, in bytes: that of many records. Longer datagrams cost a client nothing.
    pub const LONGEST_RESET: usize = 43;

    /// Creates a token of bytes that no one else can know.
    #[must_use]
    pub fn new(bytes: &[u8; Self::LEN], sha256: &'static dyn Hash) -> Self {
        Self { bytes: Box::new(Zeroizing::new(*bytes)), sha256 }
    }

    /// Appends a reset of `random.len() + 17` bytes to `out`: to others it is a record.
    pub fn write_reset(&self, random: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        // RFC 9147 §4: the bits of a record of data, without a length.
        out.push(0b0010_1000 | (APPLICATION_EPOCH & 3) as u8);
        out.extend_from_slice(random);
        let mac = self.mac(&out[start..]);
        out.extend_from_slice(&mac.as_ref()[..Self::LEN]);
    }

    /// Returns whether a datagram is a reset.
    fn is_reset(&self, datagram: &[u8]) -> bool {
        (Self::SHORTEST_RESET..=Self::LONGEST_RESET).contains(&datagram.len())
            && datagram
                .split_last_chunk::<{ Self::LEN }>()
                .is_some_and(|(start, end)| self.mac(start).as_ref()[..Self::LEN].ct_eq(end).into())
    }

    /// Two resets of an association have nothing in common: an observer who asks for them can't link its connection IDs.
    fn mac(&self, start: &[u8]) -> Digest {
        self.sha256.hmac(&**self.bytes, start)
    }
}

/// No bytes: an attacker who has them can end the association.
impl core::fmt::Debug for ResetToken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ResetToken")
    }
}

/// Returns the extension with which a client offers to understand resets, or in which a server gives its token.
pub(super) fn extension(role: Role, own: Option<&ResetToken>) -> Option<OpaqueExtension> {
    let contents = match (role, own) {
        (Role::Client, _) => Vec::new(),
        (Role::Server, Some(token)) => token.bytes.to_vec(),
        (Role::Server, None) => return None,
    };
    Some(OpaqueExtension { typ: ExtensionType::RESET_TOKEN, contents })
}

impl<H: Handshake> Association<H> {
    /// Keeps the server's token.
    pub(super) fn agree_on_resets(&mut self) -> Result<(), Error> {
        let Some(extension) = self.core.take_extension(ExtensionType::RESET_TOKEN) else {
            return Ok(());
        };
        let contents = Zeroizing::new(extension.contents);
        match (&mut self.server, contents.as_slice().try_into()) {
            (Some(server), Ok(token)) => {
                server.reset_token = server.sha256.map(|hash| ResetToken::new(token, hash));
            }
            // A client's offer, at a server.
            (None, _) if contents.is_empty() => (),
            _ => return Err(decode_error("a reset token of another length")),
        }
        Ok(())
    }

    /// Returns an error if a datagram is the server's reset.
    pub(super) fn check_reset(&self, datagram: &[u8]) -> Result<(), Error> {
        let token = self.server.as_ref().and_then(|it| it.reset_token.as_ref());
        let is_reset = token.is_some_and(|token| token.is_reset(datagram));
        if is_reset { Err(Error::AssociationLost) } else { Ok(()) }
    }
}
