//! client_certificate_type and server_certificate_type (RFC 7250 §3).

use alloc::vec::Vec;

use super::code_points::{CertificateType, ExtensionType};
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, illegal_parameter};

/// The types that a client lists, for its own certificate or the server's.
#[derive(Clone, Copy)]
pub struct CertificateTypes<'a>(&'a [u8]);

impl<'a> CertificateTypes<'a> {
    /// Reads and checks the list of a ClientHello.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let listed = reader.vec8()?;
        reader.finish()?;
        if listed.is_empty() || listed == [CertificateType::X509.0] {
            return Err(illegal_parameter(
                "the list of certificate types is empty or has X.509 alone: omit the extension",
            ));
        }
        Ok(Self(listed))
    }

    /// Returns whether the client accepts the type: without a list only X.509.
    pub fn allow(listed: Option<Self>, typ: CertificateType) -> bool {
        listed.map_or(typ == CertificateType::X509, |types| types.0.contains(&typ.0))
    }
}

/// Returns whether the types differ from the default without a list.
pub fn need_listing(types: &[CertificateType]) -> bool {
    !types.is_empty() && types != [CertificateType::X509]
}

/// Writes a client's list, if needed.
pub fn write_certificate_types(out: &mut Vec<u8>, typ: ExtensionType, types: &[CertificateType]) {
    if need_listing(types) {
        write_extension(out, typ, |out| {
            out.vec8(|out| types.iter().for_each(|typ| out.u8(typ.0)));
        });
    }
}

/// Writes a server's choice.
pub fn write_certificate_type(out: &mut Vec<u8>, typ: ExtensionType, chosen: CertificateType) {
    write_extension(out, typ, |out| out.u8(chosen.0));
}
