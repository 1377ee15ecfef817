//! Tag, length, value: the encoding of everything that outlives a connection.

use alloc::vec::Vec;

use crate::wire::{Reader, Writer};

/// Appends a field. Fields are bounded far below 64 KiB.
pub(crate) fn put(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    debug_assert!(value.len() < 1 << 16, "a field is longer than its length can express");
    let [high, low] = (value.len() as u16).to_be_bytes();
    out.bytes(&[tag, high, low]);
    out.bytes(value);
}

/// Appends a field that is written in place.
pub(crate) fn put_with(out: &mut Vec<u8>, tag: u8, value: impl FnOnce(&mut Vec<u8>)) {
    out.u8(tag);
    out.vec16(value);
}

/// Calls `field` for every tag and value; `None` as soon as something is malformed or `field` returns
/// `None`. Tags must rise, so that no field is repeated and every value has one encoding.
pub(crate) fn read<'a>(
    bytes: &'a [u8],
    mut field: impl FnMut(u8, &'a [u8]) -> Option<()>,
) -> Option<()> {
    let mut reader = Reader::new(bytes);
    let mut last = None;
    while !reader.is_empty() {
        let tag = reader.u8().ok()?;
        if last.is_some_and(|last| tag <= last) {
            return None;
        }
        last = Some(tag);
        field(tag, reader.vec16().ok()?)?;
    }
    Some(())
}

/// Converts a value of fixed length.
pub(crate) fn array<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    value.try_into().ok()
}
