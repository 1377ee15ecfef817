//! Names in certificates: of authorities, as in certificate_authorities (RFC 8446 §4.2.4), and of peers.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::error::ConfigError;

/// Returns the issuers of a chain's certificates (DER) without duplicates, in the form of
/// [`Credential::issuers`](tessera::auth::Credential::issuers).
pub fn issuers<T: AsRef<[u8]>>(chain: &[T]) -> Result<Vec<Vec<u8>>, ConfigError> {
    let mut names = Vec::new();
    for der in chain {
        let der = CertificateDer::from(der.as_ref());
        let certificate = EndEntityCert::try_from(&der).map_err(ConfigError::certificate)?;
        let name = sequence(certificate.issuer());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Returns the DNS names among the subject alternative names of a certificate (DER), in lower case, sorted,
/// without duplicates; wildcards stay as they are. Whether the certificate is valid is up to a verifier.
///
/// # Errors
/// Returns an error if the certificate can't be parsed.
pub fn dns_names(certificate: &[u8]) -> Result<Vec<String>, ConfigError> {
    let mut names = dns_names_in_order(certificate)?;
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Returns the same names in the order of the certificate, with duplicates.
///
/// # Errors
/// Returns an error if the certificate can't be parsed.
pub fn dns_names_in_order(certificate: &[u8]) -> Result<Vec<String>, ConfigError> {
    let der = CertificateDer::from(certificate);
    let certificate = EndEntityCert::try_from(&der).map_err(ConfigError::certificate)?;
    Ok(certificate.valid_dns_names().map(|name| name.to_ascii_lowercase()).collect())
}

/// Adds tag and length, which a name has on the wire, to the contents that webpki returns.
pub(crate) fn sequence(contents: &[u8]) -> Vec<u8> {
    const SEQUENCE: u8 = 0x30;
    let mut der = Vec::with_capacity(contents.len() + 4);
    der.push(SEQUENCE);
    // X.690 §8.1.3: the shortest form of the length.
    let len = contents.len().to_be_bytes();
    let significant = &len[len.iter().take_while(|byte| **byte == 0).count()..];
    match significant {
        [] => der.push(0),
        [short @ ..=0x7f] => der.push(*short),
        long => {
            der.push(0x80 | long.len() as u8);
            der.extend_from_slice(long);
        }
    }
    der.extend_from_slice(contents);
    der
}

#[cfg(test)]
mod tests {
    use super::sequence;

    #[test]
    fn lengths_of_names_are_encoded_as_short_as_can_be() {
        for (len, header) in [
            (0, &[0x30, 0][..]),
            (0x7f, &[0x30, 0x7f]),
            (0x80, &[0x30, 0x81, 0x80]),
            (0x1234, &[0x30, 0x82, 0x12, 0x34]),
        ] {
            let der = sequence(&alloc::vec![7; len]);
            assert_eq!((&der[..header.len()], der.len()), (header, header.len() + len));
        }
    }
}
