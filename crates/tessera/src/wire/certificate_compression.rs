//! compress_certificate and CompressedCertificate (RFC 8879).

use alloc::vec::Vec;

use super::code_points::{CertificateCompressionAlgorithm, ExtensionType, HandshakeType};
use super::distinct::Distinct;
use super::extensions::write_extension;
use super::handshake::write_message;
use super::reader::{CodePoints, Reader};
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// Reads compress_certificate: the algorithms that the sender can decompress, each listed once.
pub fn read_compression_algorithms(mut reader: Reader<'_>) -> Result<CodePoints<'_>, Error> {
    let algorithms = CodePoints::new(reader.vec8()?)?;
    reader.finish()?;
    let mut seen = Distinct::default();
    if !algorithms.iter().all(|algorithm| seen.insert(algorithm)) {
        return Err(illegal_parameter("compress_certificate names an algorithm twice"));
    }
    Ok(algorithms)
}

/// Writes compress_certificate.
pub fn write_compression_algorithms(
    out: &mut Vec<u8>,
    algorithms: impl Iterator<Item = CertificateCompressionAlgorithm>,
) {
    write_extension(out, ExtensionType::COMPRESS_CERTIFICATE, |out| {
        out.vec8(|out| algorithms.for_each(|algorithm| out.u16(algorithm.0)));
    });
}

/// A CompressedCertificate.
pub struct CompressedCertificate<'a> {
    /// The algorithm.
    pub algorithm: CertificateCompressionAlgorithm,
    /// The length of the Certificate's body, in bytes (RFC 8879, erratum 8753: without the frame).
    pub uncompressed_len: usize,
    /// The Certificate's body, compressed.
    pub compressed: &'a [u8],
}

impl<'a> CompressedCertificate<'a> {
    /// Reads the body of the message.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let message = Self {
            algorithm: CertificateCompressionAlgorithm(reader.u16()?),
            uncompressed_len: reader.u24()?,
            compressed: reader.vec24()?,
        };
        reader.finish()?;
        if message.compressed.is_empty() {
            return Err(decode_error("a CompressedCertificate is empty"));
        }
        Ok(message)
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_message(out, HandshakeType::COMPRESSED_CERTIFICATE, |out| {
            out.u16(self.algorithm.0);
            out.u24(self.uncompressed_len);
            out.vec24(|out| out.bytes(self.compressed));
        });
    }
}
