//! Extension blocks: the list itself, and the rules for every message that has one.

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::distinct::Distinct;
use super::reader::Reader;
use super::writer::Writer;
use crate::alert::AlertDescription;
use crate::error::{Error, illegal_parameter, protocol};

/// Calls `each` with every extension of the block at `reader`'s position; a repeated type
/// is an error (RFC 8446 §4.2).
pub fn read_extensions<'a>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(ExtensionType, Reader<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut block = Reader::new(reader.vec16()?);
    let mut seen = Distinct::default();
    while !block.is_empty() {
        let typ = ExtensionType(block.u16()?);
        let body = Reader::new(block.vec16()?);
        if !seen.insert(typ.0) {
            return Err(illegal_parameter("an extension comes twice"));
        }
        each(typ, body)?;
    }
    Ok(())
}

/// An extension block whose format was checked.
#[derive(Clone, Copy)]
pub struct Extensions<'a>(&'a [u8]);

impl<'a> Extensions<'a> {
    /// Wraps a block without its length.
    pub fn of(block: &'a [u8]) -> Self {
        Self(block)
    }

    /// Reads the block at `reader`'s position; empty if there is none.
    pub fn at(mut reader: Reader<'a>) -> Self {
        Self(reader.vec16().unwrap_or_default())
    }

    /// Iterates over the extensions in order.
    pub fn iter(self) -> impl Iterator<Item = (ExtensionType, &'a [u8])> {
        let mut block = Reader::new(self.0);
        core::iter::from_fn(move || {
            let typ = block.u16().ok()?;
            Some((ExtensionType(typ), block.vec16().ok()?))
        })
    }

    /// Appends them unchanged.
    pub fn write(self, out: &mut Vec<u8>) {
        out.bytes(self.0);
    }
}

/// Appends one extension.
pub fn write_extension(out: &mut Vec<u8>, typ: ExtensionType, body: impl FnOnce(&mut Vec<u8>)) {
    out.u16(typ.0);
    out.vec16(body);
}

/// Returns the error for an extension that this message can't have: unsupported_extension if the client did
/// not offer it, otherwise it is in the wrong message (RFC 8446 §4.2).
pub fn refuse_response_extension(offered: bool) -> Error {
    if offered {
        illegal_parameter("an extension stands in a message where it may not")
    } else {
        UNSOLICITED
    }
}

/// A response to an extension that was not offered.
pub const UNSOLICITED: Error =
    protocol(AlertDescription::UNSUPPORTED_EXTENSION, "an extension that was not offered");

/// Writes an extension that is a list of code points with a two-byte length.
pub fn write_code_points(out: &mut Vec<u8>, typ: ExtensionType, listed: impl Iterator<Item = u16>) {
    write_extension(out, typ, |out| out.vec16(|out| listed.for_each(|code| out.u16(code))));
}

/// Writes an extension without contents.
pub fn write_empty(out: &mut Vec<u8>, typ: ExtensionType) {
    write_extension(out, typ, |_| ());
}
