//! Which certificates a side accepts: sent by a client in its ClientHello and by a server in its
//! CertificateRequest, in the same extensions (RFC 8446 §4.2.3, §4.2.4, §4.4.2.1; RFC 8879).

use alloc::vec::Vec;

use super::certificate_compression::read_compression_algorithms;
use super::code_points::{ExtensionType, SignatureScheme};
use super::entry_extensions::EntryExtensions;
use super::extensions::{write_code_points, write_extension};
use super::reader::{CodePoints, Reader};
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// What the peer accepts.
#[derive(Clone, Copy, Default)]
pub struct CertificateCriteria<'a> {
    /// signature_algorithms: for CertificateVerify, and for the chain if there is no
    /// signature_algorithms_cert.
    pub signature_algorithms: Option<CodePoints<'a>>,
    /// signature_algorithms_cert: for the chain.
    pub signature_algorithms_cert: Option<CodePoints<'a>>,
    /// certificate_authorities.
    pub authorities: Option<Authorities<'a>>,
    /// status_request and signed_certificate_timestamp: what it wants with the certificates.
    pub entry_extensions: EntryExtensions,
    /// compress_certificate: the algorithms that it can decompress.
    pub compression_algorithms: Option<CodePoints<'a>>,
}

impl<'a> CertificateCriteria<'a> {
    /// Reads an extension if it is one of these; returns whether it was. Excludes status_request, whose
    /// format in a ClientHello differs from that in a CertificateRequest.
    pub fn read(&mut self, typ: ExtensionType, body: Reader<'a>) -> Result<bool, Error> {
        match typ {
            ExtensionType::SIGNATURE_ALGORITHMS => self.signature_algorithms = schemes(body)?,
            ExtensionType::SIGNATURE_ALGORITHMS_CERT => {
                let listed = schemes(body)?;
                // docs/kem-auth.md §3: a KEM signs no certificate.
                if listed.is_some_and(|it| it.iter().any(|id| SignatureScheme(id).kem().is_some()))
                {
                    return Err(illegal_parameter("a KEM in signature_algorithms_cert"));
                }
                self.signature_algorithms_cert = listed;
            }
            ExtensionType::CERTIFICATE_AUTHORITIES => {
                self.authorities = Some(Authorities::read(body)?);
            }
            ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP => {
                body.finish()?;
                self.entry_extensions.signed_certificate_timestamp = true;
            }
            ExtensionType::COMPRESS_CERTIFICATE => {
                self.compression_algorithms = Some(read_compression_algorithms(body)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns whether the peer can check a CertificateVerify of the scheme, or encapsulate to a key of the KEM.
    pub fn accepts_proof(&self, scheme: SignatureScheme) -> bool {
        self.signature_algorithms.is_some_and(|schemes| schemes.contains(scheme.0))
    }

    /// Returns whether the peer can check certificates signed with the scheme.
    pub fn accepts_in_chain(&self, scheme: SignatureScheme) -> bool {
        let schemes = self.signature_algorithms_cert.or(self.signature_algorithms);
        schemes.is_some_and(|schemes| schemes.contains(scheme.0))
    }
}

fn schemes(mut body: Reader<'_>) -> Result<Option<CodePoints<'_>>, Error> {
    let schemes = CodePoints::new(body.vec16()?)?;
    body.finish()?;
    Ok(Some(schemes))
}

/// The distinguished names of certificate_authorities, DER; not empty.
#[derive(Clone, Copy)]
pub struct Authorities<'a>(&'a [u8]);

impl<'a> Authorities<'a> {
    /// Reads and checks the list.
    fn read(mut body: Reader<'a>) -> Result<Self, Error> {
        let listed = body.vec16()?;
        body.finish()?;
        let mut list = Reader::new(listed);
        if list.is_empty() {
            return Err(decode_error("certificate_authorities is empty"));
        }
        while !list.is_empty() {
            if list.vec16()?.is_empty() {
                return Err(decode_error("the name of an authority is empty"));
            }
        }
        Ok(Self(listed))
    }

    /// Iterates over the names in the peer's order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut list = Reader::new(self.0);
        core::iter::from_fn(move || list.vec16().ok())
    }

    /// Returns whether one of `names` is in the list.
    pub fn contain_any(self, names: &[Vec<u8>]) -> bool {
        !names.is_empty() && self.iter().any(|listed| names.iter().any(|name| name == listed))
    }
}

/// Writes what this side accepts. `chain_schemes` is empty if `schemes` covers the chain too,
/// and `authorities` if none are listed; `more` is a scheme in front of both lists.
pub fn write_certificate_criteria(
    out: &mut Vec<u8>,
    schemes: impl Iterator<Item = SignatureScheme>,
    chain_schemes: &[SignatureScheme],
    authorities: &[Vec<u8>],
    more: Option<SignatureScheme>,
) {
    let schemes = more.into_iter().chain(schemes).map(|scheme| scheme.0);
    write_code_points(out, ExtensionType::SIGNATURE_ALGORITHMS, schemes);
    if !chain_schemes.is_empty() {
        let schemes = more.iter().chain(chain_schemes).map(|scheme| scheme.0);
        write_code_points(out, ExtensionType::SIGNATURE_ALGORITHMS_CERT, schemes);
    }
    if !authorities.is_empty() {
        write_extension(out, ExtensionType::CERTIFICATE_AUTHORITIES, |out| {
            out.vec16(|out| {
                authorities.iter().for_each(|name| out.vec16(|out| out.bytes(name)));
            });
        });
    }
}
