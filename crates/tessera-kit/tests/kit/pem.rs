//! Certificates and keys in all file formats.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der, PublicKeyX509Der};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use tessera::auth::PrivateKey;
use tessera::crypto::Signer;
use tessera::wire::SignatureScheme;
use tessera_kit::{ProgramError, SettingFile, credential, pem, trust};
use tessera_pki::Authority;
use tessera_pki::rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};

/// A file that is removed after the test.
struct TestFile(PathBuf);

impl TestFile {
    fn new(content: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-kit-pem-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).unwrap();
        Self(path)
    }

    fn setting(&self) -> SettingFile<'_> {
        SettingFile { setting: "tls.key", path: &self.0 }
    }

    fn certificate(&self) -> SettingFile<'_> {
        SettingFile { setting: "tls.certificate", path: &self.0 }
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn armored(label: &str, der: &[u8]) -> String {
    ::pem::encode(&::pem::Pem::new(label, der))
}

/// Makes a certificate of this key, as PEM.
fn certificate(key: &KeyPair) -> String {
    let params = CertificateParams::new(["server.example".to_owned()]).unwrap();
    params.self_signed(key).unwrap().pem()
}

fn refusal<T>(result: Result<T, ProgramError>) -> String {
    let error = result.map(|_| ()).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

/// Checks that this PEM is the key of the certificate, and which signatures it makes.
fn assert_loads(certificate: &str, key: &str, scheme: SignatureScheme) {
    let (certificate, key) = (TestFile::new(certificate), TestFile::new(key));
    credential::load(certificate.setting(), key.setting()).unwrap();
    let signer = pem::private_key(key.setting()).unwrap();
    assert!(signer.schemes().contains(&scheme));
    signer.sign(scheme, b"message").unwrap();
}

#[test]
fn ecdsa_keys_load_as_pkcs8_and_as_sec1() {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let (certificate, scheme) = (certificate(&key), SignatureScheme::ECDSA_SECP256R1_SHA256);
    assert_loads(&certificate, &key.serialize_pem(), scheme);

    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key.serialize_der()).unwrap();
    let sec1: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().unwrap();
    let sec1 = armored("EC PRIVATE KEY", sec1.as_ref());
    assert_loads(&certificate, &sec1, scheme);
    // `openssl ecparam -genkey` writes the curve before the key.
    let curve = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    assert_loads(&certificate, &(armored("EC PARAMETERS", &curve) + &sec1), scheme);
    // Both in one file.
    assert_loads(&(certificate.clone() + &sec1), &(certificate + &sec1), scheme);
}

#[test]
fn rsa_keys_load_as_pkcs8_and_as_pkcs1() {
    let key = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    let (certificate, scheme) = (certificate(&key), SignatureScheme::RSA_PSS_RSAE_SHA256);
    assert_loads(&certificate, &key.serialize_pem(), scheme);
    // RFC 5958 §2: version, algorithm, and PKCS#1 in an OCTET STRING.
    let pkcs1 = &key.serialize_der()[4 + 3 + 15 + 4..];
    assert_loads(&certificate, &armored("RSA PRIVATE KEY", pkcs1), scheme);
}

/// In each form of RFC 9935 §6 and RFC 8410 §7, as `KemKey` reads them.
#[test]
fn keys_of_kems_load_where_kems_are_accepted_alone() {
    let authority = Authority::new("root");
    for scheme in [SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_X25519] {
        let leaf = authority.issue_kem(scheme, &["server.example"], |_| ());
        let (certificate, key) = (TestFile::new(&leaf.chain_pem()), TestFile::new(&leaf.key_pem()));
        let loaded = credential::load_any(certificate.certificate(), key.setting()).unwrap();
        assert!(matches!(loaded.key, PrivateKey::Decapsulates(key) if *key.scheme() == scheme));
        pem::kem_key(key.setting()).unwrap();
        for why in [
            refusal(credential::load(certificate.certificate(), key.setting())),
            refusal(pem::private_key(key.setting())),
        ] {
            assert!(why.contains("name one that signs after tls.key"), "{why}");
        }
        let other = authority.issue_kem(scheme, &["server.example"], |_| ());
        let other = TestFile::new(&other.key_pem());
        let why = refusal(credential::load_any(certificate.certificate(), other.setting()));
        assert!(why.contains("belongs to another certificate"), "{why}");
    }
    let signs = TestFile::new(&KeyPair::generate().unwrap().serialize_pem());
    assert!(refusal(pem::kem_key(signs.setting())).contains("this key signs, and tls.key takes"));
}

#[test]
fn a_private_key_of_another_certificate_is_refused() {
    let [one, other] = [(), ()].map(|()| KeyPair::generate().unwrap());
    let (certificate, key) =
        (TestFile::new(&certificate(&one)), TestFile::new(&other.serialize_pem()));
    let why = refusal(credential::load(certificate.certificate(), key.setting()));
    assert!(why.contains("belongs to another certificate"), "{why}");
    assert!(why.ends_with("check the paths after tls.certificate and tls.key"), "{why}");
}

#[test]
fn the_error_about_a_malformed_certificate_names_its_setting() {
    let key = TestFile::new(&KeyPair::generate().unwrap().serialize_pem());
    let garbage = TestFile::new(&armored("CERTIFICATE", b"no certificate"));
    let broken = TestFile::new("-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----\n");
    for (file, words) in [
        (&garbage, "the first certificate is malformed; check the path after tls.certificate ("),
        (&broken, "malformed PEM: a block is not base64; copy the file again, or check the path"),
    ] {
        let why = refusal(credential::load(file.certificate(), key.setting()));
        assert!(why.contains(words), "{words}: {why}");
    }
    let why = refusal(trust::roots(garbage.certificate()));
    assert!(why.ends_with("it is malformed; check the path after tls.certificate"), "{why}");
    // What a `main` prints that returns it.
    let error = trust::roots(garbage.certificate()).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn the_error_about_a_file_without_a_key_names_the_remedy() {
    for (content, words) in [
        ("", "tls.key takes PEM"),
        (
            &armored("PUBLIC KEY", b"a key"),
            "it is the public half; name the private key after tls.key",
        ),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n", "malformed PEM"),
        (&armored("PRIVATE KEY", b"no key"), "the private key is malformed"),
        (&armored("EC PRIVATE KEY", b"no key"), "the private key is malformed"),
        (&armored("RSA PRIVATE KEY", b"no key"), "the private key is malformed"),
        (&armored("ENCRYPTED PRIVATE KEY", b"locked"), "openssl pkcs8 -in"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
             DEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
            "openssl pkey -in",
        ),
    ] {
        let file = TestFile::new(content);
        let why = refusal(pem::private_key(file.setting()));
        assert!(why.contains(words), "{words}: {why}");
        assert!(why.starts_with(&file.0.display().to_string()), "{why}");
    }
    let missing = SettingFile { setting: "tls.key", path: Path::new("/no/such/file") };
    let why = refusal(pem::private_key(missing));
    assert!(why.contains("no such file; check the path after tls.key"), "{why}");
}

#[test]
fn pem_files_that_are_too_long_are_not_read() {
    let file = TestFile::new(&"x".repeat(1024 * 1024 + 1));
    let why = refusal(pem::certificates(file.setting()));
    assert!(why.contains("too long: at most 1048576 bytes are allowed"), "{why}");
}

#[test]
fn files_of_roots_and_of_raw_public_keys_make_verifiers() {
    let authority = Authority::new("root");
    let key = authority.issuer.key();
    let root = TestFile::new(&authority.pem());
    trust::roots(root.setting()).unwrap();
    assert!(
        refusal(trust::raw_public_keys(root.setting(), "peer")).contains("openssl x509 -pubkey")
    );

    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key.serialize_der()).unwrap();
    let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
    let public = TestFile::new(&armored("PUBLIC KEY", public.as_ref()));
    trust::raw_public_keys(public.setting(), "peer").unwrap();
    refusal(trust::raw_public_keys(public.setting(), ""));
    assert!(refusal(trust::roots(public.setting())).contains("no certificate in this file"));
}

#[test]
fn the_error_about_a_public_key_in_der_has_a_command_that_converts_it() {
    let authority = Authority::new("root");
    let certificate = TestFile::new(::pem::parse(authority.pem()).unwrap().contents());
    let why = refusal(pem::public_keys(certificate.setting()));
    assert!(why.ends_with("openssl x509 -pubkey -noout -in FILE"), "{why}");

    let leaf = authority.issue_kem(SignatureScheme::KEM_MLKEM768, &["server.example"], |_| ());
    let key = TestFile::new(&leaf.key_pem());
    let public = pem::kem_key(key.setting()).unwrap().public_key_info().to_vec();
    let (der, converted) = (TestFile::new(&public), TestFile::new(""));
    let why = refusal(pem::public_keys(der.setting()));
    assert!(why.contains("tls.key takes PEM (-----BEGIN PUBLIC KEY-----)"), "{why}");
    let (_, command) = why.split_once("convert a key from DER with: ").expect(&why);
    let command = command.replace("FILE", "\"$1\"").replace("NEW", "\"$2\"");
    let shell = ["-c", &command, "sh"];
    let status = Command::new("sh").args(shell).args([&der.0, &converted.0]).status().unwrap();
    assert!(status.success(), "{command}");
    assert_eq!(pem::public_keys(converted.setting()).unwrap(), [public]);
}
