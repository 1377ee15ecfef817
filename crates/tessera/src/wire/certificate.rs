//! Certificate and CertificateVerify (RFC 8446 §4.4.2, §4.4.3).

use alloc::vec::Vec;

use super::code_points::{CertificateType, ExtensionType, HandshakeType, SignatureScheme};
use super::entry_extensions::{
    EntryExtensions, read_certificate_status, read_sct_list, write_certificate_status,
    write_sct_list,
};
use super::extensions::{UNSOLICITED, read_extensions};
use super::handshake::write_message;
use super::reader::Reader;
use super::writer::Writer;
use crate::alert::AlertDescription;
use crate::error::{Error, decode_error, illegal_parameter, protocol};
use crate::limits::copied;

/// The certificates of a Certificate message, and what is stapled to the end entity's.
#[derive(Debug)]
pub struct Certificate {
    /// What `chain` holds, as negotiated.
    pub certificate_type: CertificateType,
    /// The chain as DER, the end entity first, or the raw public key; empty if the peer has none.
    pub chain: Vec<Vec<u8>>,
    /// The hash of a known chain, which is then not included.
    pub known: Option<[u8; 32]>,
    /// The OCSP response for the end entity, DER.
    pub ocsp_response: Option<Vec<u8>>,
    /// The SignedCertificateTimestampList for the end entity (RFC 6962 §3.3).
    pub sct_list: Option<Vec<u8>>,
}

impl Certificate {
    /// Reads the body of a Certificate of the main handshake. Each entry may have only the `requested`
    /// extensions. The message may have `longest` bytes, which bounds how many certificates are kept.
    pub fn read(
        mut reader: Reader<'_>,
        certificate_type: CertificateType,
        requested: EntryExtensions,
        longest: usize,
    ) -> Result<Self, Error> {
        if !reader.vec8()?.is_empty() {
            return Err(decode_error("certificate_request_context is for later handshakes only"));
        }
        let mut list = Reader::new(reader.vec24()?);
        reader.finish()?;
        let mut read = Self::empty(certificate_type);
        while !list.is_empty() {
            let certificate = list.vec24()?;
            if certificate.is_empty() {
                return Err(decode_error("a certificate is empty"));
            }
            let stapled = StapledData::read(&mut list, requested)?;
            read.add_entry(read.chain.len(), stapled)?;
            if read.chain.len() == max_chain(longest) {
                return Err(TOO_MANY);
            }
            read.chain.push(copied(certificate)?);
        }
        Ok(read)
    }

    /// Creates a Certificate whose chain is known by its hash; `extensions` are those of its entries, or empty.
    pub fn known(
        hash: [u8; 32],
        extensions: &[u8],
        certificate_type: CertificateType,
        requested: EntryExtensions,
    ) -> Result<Self, Error> {
        let mut list = Reader::new(extensions);
        let mut read = Self { known: Some(hash), ..Self::empty(certificate_type) };
        let mut entries = 0;
        while !list.is_empty() {
            let stapled = StapledData::read(&mut list, requested)?;
            read.add_entry(entries, stapled)?;
            entries += 1;
        }
        Ok(read)
    }

    /// Returns whether the peer has no certificate.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty() && self.known.is_none()
    }

    fn empty(certificate_type: CertificateType) -> Self {
        let (known, ocsp_response, sct_list) = (None, None, None);
        Self { certificate_type, chain: Vec::new(), known, ocsp_response, sct_list }
    }

    /// Checks that one more entry may follow `before` others, and keeps what is stapled to the first. Data stapled
    /// to the other certificates must be well-formed too, and is dropped.
    fn add_entry(&mut self, before: usize, stapled: StapledData<'_>) -> Result<(), Error> {
        if before == MAX_CHAIN {
            return Err(TOO_MANY);
        }
        // RFC 8446 §4.4.2: a raw public key is the only entry.
        if self.certificate_type == CertificateType::RAW_PUBLIC_KEY && before > 0 {
            return Err(illegal_parameter("more than one raw public key"));
        }
        if before == 0 {
            self.ocsp_response = stapled.ocsp_response.map(copied).transpose()?;
            self.sct_list = stapled.sct_list.map(copied).transpose()?;
        }
        Ok(())
    }
}

/// The extensions of a CertificateEntry.
#[derive(Default)]
struct StapledData<'a> {
    ocsp_response: Option<&'a [u8]>,
    sct_list: Option<&'a [u8]>,
}

impl<'a> StapledData<'a> {
    fn read(list: &mut Reader<'a>, requested: EntryExtensions) -> Result<Self, Error> {
        let mut read = Self::default();
        read_extensions(list, |typ, body| {
            match typ {
                ExtensionType::STATUS_REQUEST if requested.status_request => {
                    read.ocsp_response = Some(read_certificate_status(body)?);
                }
                ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP
                    if requested.signed_certificate_timestamp =>
                {
                    read.sct_list = Some(read_sct_list(body)?);
                }
                _ => return Err(UNSOLICITED),
            }
            Ok(())
        })?;
        Ok(read)
    }
}

/// The longest chain that is read; no real PKI has longer ones.
const MAX_CHAIN: usize = 100;

/// Returns the longest chain in a message of `longest` bytes: no certificate has less than 64.
pub fn max_chain(longest: usize) -> usize {
    MAX_CHAIN.min(1 + longest / 64)
}

const TOO_MANY: Error = protocol(AlertDescription::BAD_CERTIFICATE, "the chain is too long");

/// Appends the body of a Certificate of the main handshake. `ocsp_response` and `sct_list` go with the
/// end entity.
pub fn write_certificate_body(
    out: &mut Vec<u8>,
    chain: &[Vec<u8>],
    mut ocsp_response: Option<&[u8]>,
    mut sct_list: Option<&[u8]>,
) {
    out.u8(0);
    out.vec24(|out| {
        for certificate in chain {
            out.vec24(|out| out.bytes(certificate));
            out.vec16(|out| {
                if let Some(response) = ocsp_response.take() {
                    write_certificate_status(out, response);
                }
                if let Some(list) = sct_list.take() {
                    write_sct_list(out, list);
                }
            });
        }
    });
}

/// Appends an empty Certificate, for a client without one.
pub fn write_no_certificate(out: &mut Vec<u8>) {
    write_message(out, HandshakeType::CERTIFICATE, |out| {
        write_certificate_body(out, &[], None, None);
    });
}

/// A CertificateVerify.
pub struct CertificateVerify<'a> {
    /// The scheme of the signature.
    pub scheme: SignatureScheme,
    /// The signature.
    pub signature: &'a [u8],
}

impl<'a> CertificateVerify<'a> {
    /// Reads the body of the message.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let verify = Self { scheme: SignatureScheme(reader.u16()?), signature: reader.vec16()? };
        reader.finish()?;
        Ok(verify)
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_message(out, HandshakeType::CERTIFICATE_VERIFY, |out| {
            out.u16(self.scheme.0);
            out.vec16(|out| out.bytes(self.signature));
        });
    }
}
