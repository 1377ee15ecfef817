//! server_name (RFC 6066 §3).

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// Reads the client's server_name: the host name as sent (RFC 6066 §3).
pub fn read_server_name<'a>(mut reader: Reader<'a>) -> Result<Option<&'a str>, Error> {
    let mut list = Reader::new(reader.vec16()?);
    reader.finish()?;
    if list.is_empty() {
        return Err(decode_error("server_name is empty"));
    }
    let mut host_name = None;
    while !list.is_empty() {
        let typ = list.u8()?;
        let name = list.vec16()?;
        if typ != HOST_NAME {
            continue;
        }
        if host_name.is_some() {
            return Err(illegal_parameter("server_name has two host names"));
        }
        let printable =
            !name.is_empty() && name.len() <= 255 && name.iter().all(u8::is_ascii_graphic);
        let name = core::str::from_utf8(name).ok().filter(|_| printable);
        host_name = Some(name.ok_or(illegal_parameter("server_name is not a host name"))?);
    }
    Ok(host_name)
}

/// Writes the client's server_name.
pub fn write_server_name(out: &mut Vec<u8>, name: &str) {
    write_extension(out, ExtensionType::SERVER_NAME, |out| {
        out.vec16(|out| {
            out.u8(HOST_NAME);
            out.vec16(|out| out.bytes(name.as_bytes()));
        });
    });
}

const HOST_NAME: u8 = 0;
