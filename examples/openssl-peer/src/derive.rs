//! The derivations of docs/0rtt-fs.md §4 and §15, with OpenSSL's primitives. The suite is
//! TLS_AES_128_GCM_SHA256, so every hash is SHA-256.

use openssl::derive::Deriver;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkey::{Id, PKey, Private};
use openssl::sha::sha256;
use openssl::sign::Signer;
use openssl::ssl::SslRef;
use tessera::Zeroizing;

use crate::messages::lone_without_proof;

/// As long as the hash.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// The suite as on the wire.
pub(crate) const SUITE: [u8; 2] = [0x13, 0x01];

/// Returns the FS secret of a ticket, and the name of its flight (§4.1). `ticket` is the ForwardSecretTicket as on the
/// wire.
pub(crate) fn fs_secret_and_handle(
    ssl: &SslRef,
    ticket: &[u8],
) -> Result<(Key, [u8; 32]), ErrorStack> {
    let mut exported = Zeroizing::new([0; 64]);
    ssl.export_keying_material(&mut exported[..], "EXPORTER-tessera-0rttfs", Some(ticket))?;
    let (mut secret, mut handle) = (Zeroizing::new([0; 32]), [0; 32]);
    secret.copy_from_slice(&exported[..32]);
    handle.copy_from_slice(&exported[32..]);
    Ok((secret, handle))
}

/// X25519; OpenSSL rejects an all-zero output.
pub(crate) fn agree(
    private: &PKey<Private>,
    public: &[u8],
) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
    let public = PKey::public_key_from_raw_bytes(public, Id::X25519)?;
    let mut deriver = Deriver::new(private)?;
    deriver.set_peer(&public)?;
    deriver.derive_to_vec().map(Zeroizing::new)
}

/// psk' (§4.3).
pub(crate) fn psk_for_flight(
    fs_secret: &[u8],
    agreed: &[u8],
    identity: &[u8],
) -> Result<Key, ErrorStack> {
    let extracted = hmac(fs_secret, agreed)?;
    expand_label(&extracted, "0rttfs", &sha256(identity))
}

/// Returns a lone identity (§15).
pub(crate) fn lone_identity(
    id: &[u8; 32],
    encapsulated: &[u8],
    ticket: &[u8],
    ticket_psk: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let mut identity = lone_without_proof(id, encapsulated, ticket);
    // As a binder (RFC 8446 §4.2.11.2), except for the label, and for what it covers.
    let early_secret = hmac(&[0; 32], ticket_psk)?;
    let key = expand_label(&early_secret, "fs proof", &sha256(b""))?;
    let finished_key = expand_label(&key, "finished", b"")?;
    let proof = hmac(&finished_key[..], &sha256(&identity))?;
    identity.extend_from_slice(&proof[..]);
    Ok(identity)
}

/// HKDF-Expand-Label to 32 bytes (RFC 8446 §7.1): the first block of HKDF-Expand.
fn expand_label(secret: &Key, label: &str, context: &[u8]) -> Result<Key, ErrorStack> {
    let mut info = vec![0, 32, 6 + label.len() as u8];
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(context.len() as u8);
    info.extend_from_slice(context);
    info.push(1);
    hmac(&secret[..], &info)
}

/// HMAC-SHA256, which is HKDF-Extract too.
fn hmac(key: &[u8], message: &[u8]) -> Result<Key, ErrorStack> {
    let key = PKey::hmac(key)?;
    let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
    signer.update(message)?;
    let mut out = Zeroizing::new([0; 32]);
    signer.sign(&mut out[..])?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use tessera_harness::Trace;

    use super::*;
    use crate::messages::{PAIRED, with_len16};

    /// The vectors of docs/0rtt-fs.md, without any of Tessera's own derivations.
    #[test]
    fn the_vectors_of_forward_secret_0rtt_are_derived_again() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/0rtt-fs-vectors.txt");
        let vectors = Trace::read(&std::fs::read_to_string(path).expect("the file is there"));
        let get = |name: &str| vectors.get("x25519", name);
        let id = get("id").first_chunk().expect("32 bytes");
        let encapsulated = get("encapsulated");

        let key = PKey::private_key_from_raw_bytes(get("seed"), Id::X25519).expect("a key");
        let agreed = agree(&key, encapsulated).expect("agrees");
        assert_eq!(&agreed[..], get("agreed secret"));
        let paired = [PAIRED, id, &with_len16(encapsulated)].concat();
        assert_eq!(paired, get("identity"));
        let psk = psk_for_flight(get("FS secret"), &agreed, &paired).expect("derives");
        assert_eq!(&psk[..], get("psk'"));

        let lone = get("lone identity");
        let ticket = &lone[lone_without_proof(id, encapsulated, b"").len()..lone.len() - 32];
        let made = lone_identity(id, encapsulated, ticket, get("resumption PSK"));
        assert_eq!(made.expect("derives"), lone);
        let psk = psk_for_flight(get("FS secret"), &agreed, lone).expect("derives");
        assert_eq!(&psk[..], get("lone psk'"));
    }
}
