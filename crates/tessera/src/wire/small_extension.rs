//! An extension that is one small value.

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::extensions::write_extension;
use super::reader::Reader;
use crate::error::Error;

/// An extension that is one small value.
pub trait SmallExtension: Copy {
    /// Its code point.
    const TYPE: ExtensionType;

    /// Reads the contents; the caller refuses bytes that are left over.
    fn read(body: &mut Reader<'_>) -> Result<Self, Error>;

    /// Appends the contents.
    fn write(self, out: &mut Vec<u8>);
}

/// Appends one small extension, if present.
pub fn write_small_extension<E: SmallExtension>(value: Option<E>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        write_extension(out, E::TYPE, |out| value.write(out));
    }
}
