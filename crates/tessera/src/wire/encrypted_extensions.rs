//! EncryptedExtensions (RFC 8446 §4.3.1).

use alloc::vec::Vec;

use super::certificate_type::write_certificate_type;
use super::code_points::{CertificateType, ExtensionType, HandshakeType};
use super::extensions::{
    UNSOLICITED, read_extensions, refuse_response_extension, write_empty, write_extension,
};
use super::grease::is_grease;
use super::handshake::write_message;
use super::protocols::{Protocols, write_protocols};
use super::reader::{CodePoints, Reader};
use super::rejection::Rejection;
use super::small_extensions::SmallExtensions;
use super::writer::Writer;
use crate::error::{Error, decode_error};

/// What the server states about the connection under its handshake keys.
#[derive(Default)]
pub struct EncryptedExtensions<'a> {
    /// The server used the server_name.
    pub server_name: bool,
    /// The application protocol.
    pub protocol: Option<&'a [u8]>,
    /// The type of certificate that the server asks the client for.
    pub client_certificate_type: Option<CertificateType>,
    /// The type of the server's own certificate.
    pub server_certificate_type: Option<CertificateType>,
    /// The extensions that are one small value each.
    pub small: SmallExtensions,
    /// The server accepted the early data.
    pub early_data: bool,
    /// The fate of a forward-secret ticket whose early data was refused.
    pub(crate) rejection: Option<Rejection>,
    /// The fate of the flights that the client asked about, one byte each; empty for no answer.
    pub receipts: &'a [u8],
    /// The owner's extensions.
    pub opaque: Vec<(ExtensionType, &'a [u8])>,
}

impl<'a> EncryptedExtensions<'a> {
    /// Reads the body of the message; `offered` tests which extensions the client sent.
    pub fn read(
        mut reader: Reader<'a>,
        offered: impl Fn(ExtensionType) -> bool,
    ) -> Result<Self, Error> {
        let mut extensions = Self::default();
        read_extensions(&mut reader, |typ, mut body| {
            if !offered(typ) {
                return Err(UNSOLICITED);
            }
            match typ {
                ExtensionType::SERVER_NAME => extensions.server_name = true,
                ExtensionType::ALPN => {
                    extensions.protocol = Some(Protocols::read(Reader::new(body.rest()))?.only()?);
                }
                ExtensionType::CLIENT_CERTIFICATE_TYPE => {
                    extensions.client_certificate_type = Some(CertificateType(body.u8()?));
                }
                ExtensionType::SERVER_CERTIFICATE_TYPE => {
                    extensions.server_certificate_type = Some(CertificateType(body.u8()?));
                }
                // The server's preferences for later connections; nothing to do (§4.2.7).
                ExtensionType::SUPPORTED_GROUPS => drop(CodePoints::new(body.vec16()?)?),
                ExtensionType::EARLY_DATA => extensions.early_data = true,
                ExtensionType::FORWARD_SECRET_EARLY_DATA => {
                    extensions.rejection = Some(Rejection::read(&mut body)?);
                }
                ExtensionType::FORWARD_SECRET_RECEIPTS => {
                    extensions.receipts = body.vec8()?;
                    if extensions.receipts.is_empty() {
                        return Err(decode_error("forward_secret_receipts has no receipt"));
                    }
                }
                _ => {
                    if extensions.small.read(HandshakeType::ENCRYPTED_EXTENSIONS, typ, body)? {
                        return Ok(());
                    }
                    if typ.is_known() || is_grease(typ.0) {
                        return Err(refuse_response_extension(true));
                    }
                    // An offered extension unknown to the engine is the owner's.
                    extensions.opaque.push((typ, body.rest()));
                }
            }
            if body.is_empty() { Ok(()) } else { Err(decode_error("an extension is too long")) }
        })?;
        reader.finish()?;
        Ok(extensions)
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_message(out, HandshakeType::ENCRYPTED_EXTENSIONS, |out| {
            out.vec16(|out| {
                if self.server_name {
                    write_empty(out, ExtensionType::SERVER_NAME);
                }
                if let Some(protocol) = self.protocol {
                    write_protocols(out, core::iter::once(protocol));
                }
                if let Some(typ) = self.client_certificate_type {
                    write_certificate_type(out, ExtensionType::CLIENT_CERTIFICATE_TYPE, typ);
                }
                if let Some(typ) = self.server_certificate_type {
                    write_certificate_type(out, ExtensionType::SERVER_CERTIFICATE_TYPE, typ);
                }
                self.small.write(HandshakeType::ENCRYPTED_EXTENSIONS, out);
                if self.early_data {
                    write_empty(out, ExtensionType::EARLY_DATA);
                }
                if let Some(rejection) = self.rejection {
                    write_extension(out, ExtensionType::FORWARD_SECRET_EARLY_DATA, |out| {
                        rejection.write(out);
                    });
                }
                if !self.receipts.is_empty() {
                    write_extension(out, ExtensionType::FORWARD_SECRET_RECEIPTS, |out| {
                        out.vec8(|out| out.bytes(self.receipts));
                    });
                }
                for (typ, contents) in &self.opaque {
                    write_extension(out, *typ, |out| out.bytes(contents));
                }
            });
        });
    }
}
