//! KEMEncapsulation (docs/kem-auth.md §4).

use alloc::vec::Vec;

use super::code_points::HandshakeType;
use super::handshake::write_message;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, illegal_parameter};

/// A KEMEncapsulation: what its sender encapsulated to the key of its peer's certificate.
pub struct KemEncapsulation<'a> {
    /// The ciphertext, or with X25519 the ephemeral public key.
    pub encapsulation: &'a [u8],
}

impl<'a> KemEncapsulation<'a> {
    /// Reads the body of the message.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let context = reader.vec8()?;
        let encapsulation = reader.vec16()?;
        reader.finish()?;
        if !context.is_empty() {
            return Err(illegal_parameter(
                "certificate_request_context is for later handshakes only",
            ));
        }
        Ok(Self { encapsulation })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_message(out, HandshakeType::KEM_ENCAPSULATION, |out| {
            out.vec8(|_| ());
            out.vec16(|out| out.bytes(self.encapsulation));
        });
    }
}
