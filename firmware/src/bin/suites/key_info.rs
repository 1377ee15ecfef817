//! The key in a certificate.

/// Returns the SubjectPublicKeyInfo of a certificate (RFC 5280 §4.1).
pub fn key_info(certificate: &'static [u8]) -> &'static [u8] {
    let signed = contents(certificate);
    let mut fields = contents(signed);
    // version, serialNumber, signature, issuer, validity, subject
    for _ in 0..6 {
        fields = &fields[len(fields)..];
    }
    &fields[..len(fields)]
}

/// Returns the contents of the first element (X.690 §8.1.3).
fn contents(der: &'static [u8]) -> &'static [u8] {
    let (header, content) = lengths(der);
    &der[header..header + content]
}

fn len(der: &[u8]) -> usize {
    let (header, content) = lengths(der);
    header + content
}

fn lengths(der: &[u8]) -> (usize, usize) {
    match der[1] {
        short @ 0..0x80 => (2, usize::from(short)),
        long => {
            let count = usize::from(long & 0x7f);
            (2 + count, der[2..2 + count].iter().fold(0, |len, byte| len << 8 | usize::from(*byte)))
        }
    }
}
