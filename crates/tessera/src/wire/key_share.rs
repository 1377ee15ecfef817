//! key_share (RFC 8446 §4.2.8).

use alloc::vec::Vec;

use super::code_points::{ExtensionType, NamedGroup};
use super::distinct::Distinct;
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// One share: the client's, or the server's reply.
#[derive(Clone, Copy)]
pub struct KeyShareEntry<'a> {
    /// The group or KEM.
    pub group: NamedGroup,
    /// The share: a public key, or a ciphertext.
    pub key_exchange: &'a [u8],
}

impl<'a> KeyShareEntry<'a> {
    /// Reads one entry.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let group = NamedGroup(reader.u16()?);
        let key_exchange = reader.vec16()?;
        if key_exchange.is_empty() {
            return Err(decode_error("a key share is empty"));
        }
        Ok(Self { group, key_exchange })
    }

    /// Writes one entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.group.0);
        out.vec16(|out| out.bytes(self.key_exchange));
    }
}

/// The client's shares; the list may be empty, and no group is repeated.
#[derive(Clone, Copy)]
pub struct KeyShares<'a>(&'a [u8]);

impl<'a> KeyShares<'a> {
    /// Reads and checks the list.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let shares = reader.vec16()?;
        reader.finish()?;
        let mut entries = Reader::new(shares);
        let mut groups = Distinct::default();
        while !entries.is_empty() {
            let entry = KeyShareEntry::read(&mut entries)?;
            if !groups.insert(entry.group.0) {
                return Err(illegal_parameter("two key shares for one group"));
            }
        }
        Ok(Self(shares))
    }

    /// Returns the share for `group`, if any.
    pub fn get(self, group: NamedGroup) -> Option<&'a [u8]> {
        self.iter().find(|entry| entry.group == group).map(|entry| entry.key_exchange)
    }

    /// Iterates over the shares in the client's order.
    pub fn iter(self) -> impl Iterator<Item = KeyShareEntry<'a>> {
        let mut entries = Reader::new(self.0);
        core::iter::from_fn(move || KeyShareEntry::read(&mut entries).ok())
    }
}

/// Writes the client's extension.
pub fn write_client_key_shares<'s>(
    out: &mut Vec<u8>,
    shares: impl Iterator<Item = KeyShareEntry<'s>>,
) {
    write_extension(out, ExtensionType::KEY_SHARE, |out| {
        out.vec16(|out| shares.for_each(|share| share.write(out)));
    });
}

/// Writes the extension of a ServerHello.
pub fn write_server_key_share(out: &mut Vec<u8>, reply: KeyShareEntry<'_>) {
    write_extension(out, ExtensionType::KEY_SHARE, |out| reply.write(out));
}

/// Writes the extension of a HelloRetryRequest.
pub fn write_retry_key_share(out: &mut Vec<u8>, group: NamedGroup) {
    write_extension(out, ExtensionType::KEY_SHARE, |out| out.u16(group.0));
}
