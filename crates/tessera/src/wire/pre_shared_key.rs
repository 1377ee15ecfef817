//! pre_shared_key and psk_key_exchange_modes (RFC 8446 §4.2.9, §4.2.11).

use alloc::vec::Vec;

use super::code_points::{ExtensionType, PskKeyExchangeMode};
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// One PSK identity as the client offers it.
#[derive(Clone, Copy)]
pub struct PskIdentity<'a> {
    /// The identity: a ticket, or the name of an external PSK.
    pub identity: &'a [u8],
    /// The age of a ticket in milliseconds plus its ticket_age_add, modulo 2^32; 0 for external PSKs.
    pub obfuscated_ticket_age: u32,
}

/// The client's pre_shared_key extension.
#[derive(Clone, Copy)]
pub struct OfferedPsks<'a> {
    identities: &'a [u8],
    binders: &'a [u8],
}

impl<'a> OfferedPsks<'a> {
    /// Reads and checks the extension: as many binders as identities, none empty.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let offered = Self { identities: reader.vec16()?, binders: reader.vec16()? };
        reader.finish()?;
        let mut identities = 0;
        let mut list = Reader::new(offered.identities);
        while !list.is_empty() {
            read_identity(&mut list)?;
            identities += 1;
        }
        let mut binders = 0;
        let mut list = Reader::new(offered.binders);
        while !list.is_empty() {
            read_binder(&mut list)?;
            binders += 1;
        }
        if identities == 0 || binders == 0 {
            return Err(decode_error("pre_shared_key without identities or binders"));
        }
        if identities != binders {
            return Err(illegal_parameter("pre_shared_key has not one binder per identity"));
        }
        Ok(offered)
    }

    /// Iterates over the identities in the client's order.
    pub fn identities(self) -> impl Iterator<Item = PskIdentity<'a>> {
        let mut list = Reader::new(self.identities);
        core::iter::from_fn(move || read_identity(&mut list).ok())
    }

    /// Iterates over the binders, in the order of the identities.
    pub fn binders(self) -> impl Iterator<Item = &'a [u8]> {
        let mut list = Reader::new(self.binders);
        core::iter::from_fn(move || read_binder(&mut list).ok())
    }

    /// Returns the binder of the identity at `index`.
    pub fn binder(self, index: usize) -> Option<&'a [u8]> {
        self.binders().nth(index)
    }

    /// Returns the length in bytes of the binders list with its length prefix, which the binders don't cover
    /// (RFC 8446 §4.2.11.2).
    pub fn binders_len(self) -> usize {
        2 + self.binders.len()
    }
}

fn read_identity<'a>(list: &mut Reader<'a>) -> Result<PskIdentity<'a>, Error> {
    let identity = list.vec16()?;
    if identity.is_empty() {
        return Err(decode_error("a PSK identity is empty"));
    }
    Ok(PskIdentity { identity, obfuscated_ticket_age: list.u32()? })
}

fn read_binder<'a>(list: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    // One too short for any hash is wrong like any other wrong binder.
    list.vec8()
}

/// Writes the client's extension with binders of zeros, to be filled in when the hello is complete;
/// returns the length of the binders list with its length prefix.
pub fn write_offered_psks<'i>(
    out: &mut Vec<u8>,
    psks: impl Iterator<Item = (PskIdentity<'i>, usize)> + Clone,
) -> usize {
    let mut binders_len = 0;
    write_extension(out, ExtensionType::PRE_SHARED_KEY, |out| {
        out.vec16(|out| {
            for (psk, _) in psks.clone() {
                out.vec16(|out| out.bytes(psk.identity));
                out.u32(psk.obfuscated_ticket_age);
            }
        });
        let start = out.len();
        out.vec16(|out| {
            for (_, binder_len) in psks.clone() {
                out.vec8(|out| out.resize(out.len() + binder_len, 0));
            }
        });
        binders_len = out.len() - start;
    });
    binders_len
}

/// The modes that a client offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PskModes {
    /// psk_ke is among them.
    pub psk_ke: bool,
    /// psk_dhe_ke is among them.
    pub psk_dhe_ke: bool,
}

impl PskModes {
    /// Reads the extension; unknown modes are ignored.
    pub fn read(mut reader: Reader<'_>) -> Result<Self, Error> {
        let listed = reader.vec8()?;
        reader.finish()?;
        if listed.is_empty() {
            return Err(decode_error("psk_key_exchange_modes is empty"));
        }
        Ok(Self {
            psk_ke: listed.contains(&PskKeyExchangeMode::PSK_KE.0),
            psk_dhe_ke: listed.contains(&PskKeyExchangeMode::PSK_DHE_KE.0),
        })
    }

    /// Writes the extension, with `more` added.
    pub fn write(self, out: &mut Vec<u8>, more: Option<PskKeyExchangeMode>) {
        write_extension(out, ExtensionType::PSK_KEY_EXCHANGE_MODES, |out| {
            out.vec8(|out| {
                if let Some(mode) = more {
                    out.u8(mode.0);
                }
                if self.psk_dhe_ke {
                    out.u8(PskKeyExchangeMode::PSK_DHE_KE.0);
                }
                if self.psk_ke {
                    out.u8(PskKeyExchangeMode::PSK_KE.0);
                }
            });
        });
    }
}
