//! Names in certificates: of authorities, as in certificate_authorities (RFC 8446 §4.2.4), and of peers.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use der::asn1::AnyRef;
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};
use pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::error::ConfigError;
use crate::extensions;

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
    let der = CertificateDer::from(certificate);
    let certificate = EndEntityCert::try_from(&der).map_err(ConfigError::certificate)?;
    let names = certificate.valid_dns_names();
    let mut names: Vec<_> = names.map(|name| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Returns the names of a certificate (DER) as their bytes are there: the first common name, then the DNS names, URIs and
/// IP addresses in their order. For programs that identify servers by all of them.
///
/// # Errors
/// Returns an error if the certificate can't be parsed.
pub fn subject_names(certificate: &[u8]) -> Result<Vec<Vec<u8>>, ConfigError> {
    let der = CertificateDer::from(certificate);
    let parsed = EndEntityCert::try_from(&der).map_err(ConfigError::certificate)?;
    let malformed = |error: der::Error| ConfigError::Certificate(error.to_string());
    let mut names = Vec::new();
    names.extend(common_name(parsed.subject()).map_err(malformed)?);
    for value in extensions::values(certificate, SUBJECT_ALT_NAME).map_err(malformed)? {
        names.extend(alternative_names(value).map_err(malformed)?);
    }
    Ok(names)
}

/// Returns the first common name of the contents of a Name (RFC 5280 §4.1.2.4).
fn common_name(name: &[u8]) -> der::Result<Option<Vec<u8>>> {
    for relative_name in elements(name)? {
        for attribute in elements(relative_name.value())? {
            if let [id, value] = elements(attribute.value())?[..]
                && id.value() == COMMON_NAME
            {
                return Ok(Some(value.value().to_vec()));
            }
        }
    }
    Ok(None)
}

/// Returns the DNS names, URIs and IP addresses of the extension (RFC 5280 §4.2.1.6).
fn alternative_names(extension: &[u8]) -> der::Result<Vec<Vec<u8>>> {
    let names = elements(AnyRef::from_der(extension)?.value())?;
    let is_known = |name: &&AnyRef<'_>| {
        let Tag::ContextSpecific { number: TagNumber(number), .. } = name.tag() else {
            return false;
        };
        [DNS_NAME, URI, IP_ADDRESS].contains(&number)
    };
    Ok(names.iter().filter(is_known).map(|name| name.value().to_vec()).collect())
}

/// Returns the elements of the contents of a SEQUENCE or SET.
fn elements(contents: &[u8]) -> der::Result<Vec<AnyRef<'_>>> {
    let mut reader = SliceReader::new(contents)?;
    let mut elements = Vec::new();
    while !reader.is_finished() {
        elements.push(AnyRef::decode(&mut reader)?);
    }
    Ok(elements)
}

/// Contents of the identifier of commonName, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// Contents of the identifier of subjectAltName, 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// Tags of GeneralName (RFC 5280 §4.2.1.6).
const DNS_NAME: u32 = 2;
const URI: u32 = 6;
const IP_ADDRESS: u32 = 7;

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
    use alloc::vec::Vec;

    use rcgen::{DnType, SanType};

    use super::{sequence, subject_names};

    #[test]
    fn names_are_returned_as_they_are_and_in_their_order() {
        let authority = tessera_pki::Authority::new("Test CA");
        let names = |change: fn(&mut rcgen::CertificateParams)| -> Vec<Vec<u8>> {
            subject_names(&authority.issue_with(&[], change).der()).expect("a certificate")
        };
        let all = names(|params| {
            params.distinguished_name.push(DnType::CommonName, "Name");
            params.subject_alt_names = [
                SanType::URI("https://a.example/".try_into().expect("ASCII")),
                SanType::DnsName("B.example".try_into().expect("ASCII")),
                SanType::Rfc822Name("c@d.example".try_into().expect("ASCII")),
                SanType::IpAddress([192, 0, 2, 1].into()),
                SanType::DnsName("*.a.example".try_into().expect("ASCII")),
            ]
            .to_vec();
        });
        let expected: [&[u8]; 5] =
            [b"Name", b"https://a.example/", b"B.example", &[192, 0, 2, 1], b"*.a.example"];
        assert_eq!(all, expected);
        assert!(
            names(|params| params.distinguished_name = rcgen::DistinguishedName::new()).is_empty()
        );
    }

    #[test]
    fn a_certificate_that_is_cut_off_has_no_names() {
        let der = tessera_pki::Authority::new("Test CA").issue("a.example").der();
        assert!(subject_names(&der).is_ok());
        assert!((0..der.len()).all(|len| subject_names(&der[..len]).is_err()));
    }

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
