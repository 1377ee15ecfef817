//! record_size_limit (RFC 8449).

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::reader::Reader;
use super::small_extensions::SmallExtension;
use super::writer::Writer;
use crate::error::{Error, illegal_parameter};

/// The largest record that a side takes, in bytes of plaintext and content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSizeLimit(pub u16);

impl SmallExtension for RecordSizeLimit {
    const TYPE: ExtensionType = ExtensionType::RECORD_SIZE_LIMIT;

    /// Less than 64 is an error (RFC 8449 §4).
    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        match body.u16()? {
            limit @ 64.. => Ok(Self(limit)),
            _ => {
                // What is malformed is not judged by its value.
                body.finish()?;
                Err(illegal_parameter("record_size_limit is below 64"))
            }
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u16(self.0);
    }
}
