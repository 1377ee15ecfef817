//! Keys of KEMs that OpenSSL makes, and ours in OpenSSL: each side opens what the other encapsulates.

use std::fs;

use tessera::crypto::{Decapsulator, KeyAgreement};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::KemKey;
use tessera_test_peers::{Directory, openssl};

/// ML-KEM by OpenSSL's names.
pub(crate) const ML_KEMS: [(&str, SignatureScheme); 3] = [
    ("ML-KEM-512", SignatureScheme::KEM_MLKEM512),
    ("ML-KEM-768", SignatureScheme::KEM_MLKEM768),
    ("ML-KEM-1024", SignatureScheme::KEM_MLKEM1024),
];

fn ours(scheme: SignatureScheme) -> &'static dyn KeyAgreement {
    tessera_aws_lc::provider().kem(scheme).unwrap()
}

/// The key pair of an end as files of OpenSSL's forms.
struct KeyFiles {
    directory: Directory,
    private: String,
    public: String,
}

impl KeyFiles {
    /// Writes a key of ours.
    fn of(key_der: &[u8]) -> Self {
        let directory = Directory::new();
        let public = KemKey::from_pkcs8(key_der).unwrap().public_key_info().to_vec();
        let [private, public] = [("key.der", key_der), ("pub.der", &public)]
            .map(|(name, der)| directory.write(name, der));
        Self { directory, private, public }
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path(name)).unwrap()
    }

    /// Returns the secret in our encapsulation.
    fn decapsulate(&self, encapsulation: &[u8]) -> Vec<u8> {
        let sealed = self.directory.write("sealed", encapsulation);
        let secret = self.directory.path("opened");
        let key = ["-decap", "-keyform", "DER", "-inkey", &self.private];
        openssl::run(&[&["pkeyutl"], &key[..], &["-in", &sealed, "-secret", &secret]].concat());
        self.read("opened")
    }

    /// Returns an encapsulation by OpenSSL, and its secret.
    fn encapsulate(&self) -> (Vec<u8>, Vec<u8>) {
        let [out, secret] = ["sent", "secret"].map(|name| self.directory.path(name));
        let key = ["-encap", "-keyform", "DER", "-pubin", "-inkey", &self.public];
        openssl::run(&[&["pkeyutl"], &key[..], &["-out", &out, "-secret", &secret]].concat());
        (self.read("sent"), self.read("secret"))
    }
}

/// Each side opens what the other sealed.
#[track_caller]
fn agree(key: &KemKey, files: &KeyFiles) {
    let (sealed, secret) = ours(*key.scheme()).encapsulate(key.public_key()).unwrap();
    assert_eq!(files.decapsulate(&sealed), secret.expose());
    let (sealed, secret) = files.encapsulate();
    assert_eq!(key.decapsulate(&sealed).unwrap().expose(), secret);
}

#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn our_keys_of_ml_kem_are_openssls() {
    for (_, scheme) in ML_KEMS {
        let der = KemKey::generate_pkcs8(scheme).unwrap();
        agree(&KemKey::from_pkcs8(&der).unwrap(), &KeyFiles::of(&der));
    }
}

/// The seed, the expanded key and both (RFC 9935 §6); and the first two as they are, which is OpenSSL's alone.
#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn keys_of_ml_kem_by_openssl_are_ours_in_every_form() {
    for (name, scheme) in ML_KEMS {
        let directory = Directory::new();
        let made = directory.path("made.pem");
        openssl::run(&["genpkey", "-algorithm", name, "-out", &made]);
        let mut public = Vec::new();
        for (form, len) in [
            ("seed-only", Some(86)),
            ("priv-only", None),
            ("seed-priv", None),
            ("bare-seed", Some(84)),
            ("bare-priv", None),
        ] {
            let out = directory.path(form);
            let form = format!("ml-kem.output_formats={form}");
            let options = ["-in", &made, "-outform", "DER", "-out", &out, "-provparam", &form];
            openssl::run(&[&["pkey"], &options[..]].concat());
            let der = fs::read(out).unwrap();
            assert!(len.is_none_or(|len| der.len() == len), "{form}: {} B", der.len());
            let key = KemKey::from_pkcs8(&der).unwrap_or_else(|e| panic!("{name}, {form}: {e}"));
            assert_eq!(*key.scheme(), scheme);
            if public.is_empty() {
                public = key.public_key().to_vec();
                agree(&key, &KeyFiles::of(&der));
            }
            assert_eq!(key.public_key(), public, "{name}, {form}");
        }
    }
}

/// X25519 as it is, without the key derivation of RFC 9180 that `pkeyutl -encap` adds. Every OpenSSL knows it.
#[test]
fn keys_of_x25519_agree_with_openssls() {
    let scheme = SignatureScheme::KEM_X25519;
    let directory = Directory::new();
    let [made, secret] = ["made.der", "secret"].map(|name| directory.path(name));
    openssl::run(&["genpkey", "-algorithm", "X25519", "-outform", "DER", "-out", &made]);
    let theirs = KemKey::from_pkcs8(&fs::read(&made).unwrap()).unwrap();
    let own_der = KemKey::generate_pkcs8(scheme).unwrap();
    let own = KemKey::from_pkcs8(&own_der).unwrap();
    let derive = |key: &str, peer: &[u8]| {
        let peer = directory.write("peer.der", peer);
        let key = ["-keyform", "DER", "-inkey", key, "-peerform", "DER", "-peerkey", &peer];
        openssl::run(&[&["pkeyutl", "-derive"], &key[..], &["-out", &secret]].concat());
        fs::read(&secret).unwrap()
    };
    // OpenSSL encapsulates: its key is the ephemeral one.
    let sealed = theirs.public_key();
    assert_eq!(own.decapsulate(sealed).unwrap().expose(), derive(&made, own.public_key_info()));
    // OpenSSL decapsulates: an encapsulation is a public key.
    let (sealed, shared) = ours(scheme).encapsulate(theirs.public_key()).unwrap();
    let mut info = theirs.public_key_info().to_vec();
    let at = info.len() - sealed.len();
    info[at..].copy_from_slice(&sealed);
    assert_eq!(derive(&made, &info), shared.expose());
    // And with a key of ours.
    let (sealed, shared) = ours(scheme).encapsulate(own.public_key()).unwrap();
    info[at..].copy_from_slice(&sealed);
    assert_eq!(derive(&directory.write("own.der", &*own_der), &info), shared.expose());
}
