//! What a server signs in a handshake.

/// Whether this is the content of a server's CertificateVerify (RFC 8446 §4.4.3): 64 spaces, the context string, a zero byte,
/// and a transcript hash of a suite of TLS 1.3, SHA-256 or SHA-384 (§B.4).
///
/// The spaces are there so that it is never the beginning of what an earlier version of TLS, or a client, signs.
pub(super) fn is_server_certificate_verify(message: &[u8]) -> bool {
    let hash = message.strip_prefix(&[b' '; 64]).and_then(|rest| rest.strip_prefix(CONTEXT));
    hash.is_some_and(|hash| matches!(hash.len(), 32 | 48))
}

const CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";

#[cfg(test)]
mod tests {
    use super::*;

    fn content(spaces: usize, context: &[u8], hash: usize) -> Vec<u8> {
        [&vec![b' '; spaces][..], context, &vec![0x5a; hash]].concat()
    }

    #[test]
    fn only_a_servers_certificate_verify_is_signed() {
        for hash in [32, 48] {
            assert!(is_server_certificate_verify(&content(64, CONTEXT, hash)), "{hash}");
        }
        let client = b"TLS 1.3, client CertificateVerify\0";
        for (what, message) in [
            ("a client's", content(64, client, 32)),
            ("of DTLS", content(64, b"DTLS1.3, server CertificateVerify\0", 32)),
            ("without a separator", content(64, &CONTEXT[..33], 33)),
            ("with another separator", content(64, b"TLS 1.3, server CertificateVerify ", 32)),
            ("with fewer spaces", content(63, CONTEXT, 32)),
            ("with more spaces", content(65, CONTEXT, 32)),
            ("without spaces", content(0, CONTEXT, 32)),
            ("a hash alone", content(0, b"", 32)),
            ("empty", Vec::new()),
        ] {
            assert!(!is_server_certificate_verify(&message), "{what}");
        }
        for hash in (0..=200).filter(|len| ![32, 48].contains(len)) {
            assert!(!is_server_certificate_verify(&content(64, CONTEXT, hash)), "{hash}");
        }
        let mut changed = content(64, CONTEXT, 32);
        for at in 0..64 + CONTEXT.len() {
            changed[at] ^= 1;
            assert!(!is_server_certificate_verify(&changed), "{at}");
            changed[at] ^= 1;
        }
        assert!(is_server_certificate_verify(&changed));
    }
}
