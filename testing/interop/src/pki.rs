//! Certificates for all parties.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tessera::auth::{Credential, PrivateKey};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::SigningKey;
use tessera_pki::rcgen::{self, ExtendedKeyUsagePurpose, KeyPair, SignatureAlgorithm};
use tessera_pki::{Authority, KemLeaf, revocation_list};
use tessera_test_peers::{Directory, openssl};
use tessera_webpki::{PinnedKey, PinnedKeyVerifier, WebPkiVerifier};

/// The name of every server.
pub const SERVER_NAME: &str = "server.example";

/// The name of every client.
pub const CLIENT_NAME: &str = "client.example";

/// The kinds of keys that certificates are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// Ed25519.
    Ed25519,
    /// RSA with 2,048 bits, rsaEncryption.
    Rsa,
    /// ECDSA on P-521.
    P521,
    /// RSA with 2,048 bits, for RSASSA-PSS alone with any hash.
    RsaPss,
    /// The same with SHA-384 alone.
    RsaPssSha384,
    /// ML-DSA-44, which OpenSSL knows since 3.5.
    MlDsa44,
    /// ML-DSA-65, as above.
    MlDsa65,
}

impl KeyKind {
    /// Those that every peer supports.
    pub const ALL: [Self; 7] = [
        Self::P256,
        Self::P384,
        Self::Ed25519,
        Self::Rsa,
        Self::P521,
        Self::RsaPss,
        Self::RsaPssSha384,
    ];

    /// Returns how a key of this kind is made: by rcgen, or by the openssl program with these options.
    fn made(self) -> Result<&'static SignatureAlgorithm, &'static [&'static str]> {
        match self {
            Self::P256 => Ok(&rcgen::PKCS_ECDSA_P256_SHA256),
            Self::P384 => Ok(&rcgen::PKCS_ECDSA_P384_SHA384),
            Self::P521 => Ok(&rcgen::PKCS_ECDSA_P521_SHA512),
            Self::Ed25519 => Ok(&rcgen::PKCS_ED25519),
            Self::Rsa => Ok(&rcgen::PKCS_RSA_SHA256),
            Self::MlDsa44 => Ok(&rcgen::PKCS_ML_DSA_44),
            Self::MlDsa65 => Ok(&rcgen::PKCS_ML_DSA_65),
            Self::RsaPss => Err(&[]),
            Self::RsaPssSha384 => Err(&[
                "-pkeyopt",
                "rsa_pss_keygen_md:sha384",
                "-pkeyopt",
                "rsa_pss_keygen_mgf1_md:sha384",
                "-pkeyopt",
                "rsa_pss_keygen_saltlen:48",
            ]),
        }
    }
}

/// An authority, and the directory with its certificates.
pub struct Pki {
    /// The directory; tests and peers may put more files into it.
    pub directory: Directory,
    /// The path of the authority's certificate, PEM.
    pub ca_file: String,
    /// The common name of the authority.
    pub name: String,
    ca: Authority,
}

/// A certificate with its key.
pub struct Identity {
    /// The path of the certificate, PEM.
    pub certificate_file: String,
    /// The path of the key, DER.
    pub key_file: String,
    /// The path of the certificate that issued it, PEM; empty if that is the authority's.
    pub intermediate_file: String,
    /// The chain, DER, the end entity first and without the authority.
    pub chain: Vec<Vec<u8>>,
    /// The key, PKCS#8 DER.
    pub key: Vec<u8>,
    /// The serial numbers of the chain's certificates.
    pub serials: Vec<u64>,
}

impl Pki {
    /// Creates an authority that no party trusts yet.
    pub fn new() -> Self {
        Self::of(&rcgen::PKCS_ECDSA_P256_SHA256)
    }

    /// Creates a new authority that signs with ML-DSA-65.
    pub fn post_quantum() -> Self {
        Self::of(&rcgen::PKCS_ML_DSA_65)
    }

    fn of(algorithm: &'static SignatureAlgorithm) -> Self {
        // Unique names: given two authorities of one name, verifiers report a wrong signature, not an unknown
        // authority.
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("Tessera interop CA {number}");
        let ca = Authority::with(&name, algorithm, |_| ());
        let directory = Directory::new();
        Self { ca_file: directory.write("ca.pem", ca.pem()), directory, name, ca }
    }

    /// Returns a server's certificate, for [`SERVER_NAME`].
    pub fn server(&self, kind: KeyKind) -> Identity {
        self.issue("server", SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth, kind, &self.ca)
    }

    /// The same with a key of this KEM.
    pub fn server_with_kem(&self, kem: SignatureScheme) -> KemLeaf {
        self.ca.issue_kem(kem, &[SERVER_NAME], |_| ())
    }

    /// Returns a server's certificate from an intermediate authority.
    pub fn server_of_intermediate(&self) -> Identity {
        let by = &rcgen::PKCS_ECDSA_P384_SHA384;
        self.issue_below(SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth, KeyKind::P256, by)
    }

    /// Returns a server's certificate and its intermediate authority's, all of whose keys are ML-DSA-65's.
    pub fn post_quantum_server(&self) -> Identity {
        let usage = ExtendedKeyUsagePurpose::ServerAuth;
        self.issue_below(SERVER_NAME, usage, KeyKind::MlDsa65, &rcgen::PKCS_ML_DSA_65)
    }

    /// The same of a client.
    pub fn post_quantum_client(&self) -> Identity {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        self.issue_below(CLIENT_NAME, usage, KeyKind::MlDsa65, &rcgen::PKCS_ML_DSA_65)
    }

    fn issue_below(
        &self,
        name: &str,
        usage: ExtendedKeyUsagePurpose,
        kind: KeyKind,
        intermediate: &'static SignatureAlgorithm,
    ) -> Identity {
        let serial = next_serial();
        let name_below = "Tessera interop intermediate CA";
        let intermediate = self.ca.below_with(name_below, intermediate, |params| {
            params.serial_number = Some(serial.into());
        });
        let mut identity = self.issue("below", name, usage, kind, &intermediate);
        let file = identity.certificate_file.replace(".pem", "-intermediate.pem");
        std::fs::write(&file, intermediate.pem()).unwrap();
        identity.intermediate_file = file;
        identity.serials.push(serial);
        identity
    }

    /// Returns a client's certificate, for [`CLIENT_NAME`].
    pub fn client(&self, kind: KeyKind) -> Identity {
        self.issue("client", CLIENT_NAME, ExtendedKeyUsagePurpose::ClientAuth, kind, &self.ca)
    }

    /// The same with a key of this KEM.
    pub fn client_with_kem(&self, kem: SignatureScheme) -> KemLeaf {
        self.ca.issue_kem(kem, &[CLIENT_NAME], |_| ())
    }

    fn issue(
        &self,
        file: &str,
        name: &str,
        usage: ExtendedKeyUsagePurpose,
        kind: KeyKind,
        issuer: &Authority,
    ) -> Identity {
        let algorithm = match kind.made() {
            Ok(algorithm) => algorithm,
            Err(options) => return self.issue_by_openssl(file, name, &usage, options),
        };
        let serial = next_serial();
        let key = KeyPair::generate_for(algorithm).unwrap();
        let leaf = issuer.issue_for(key, &[name], |params| {
            params.extended_key_usages = vec![usage];
            params.serial_number = Some(serial.into());
        });
        // One authority issues several of a kind.
        let file = format!("{file}-{kind:?}-{serial}");
        let der = private_key(&leaf.key, kind);
        Identity {
            certificate_file: self.directory.write(&format!("{file}.pem"), &leaf.pem),
            key_file: self.directory.write(&format!("{file}-key.der"), &der),
            intermediate_file: String::new(),
            chain: leaf.chain,
            key: der,
            serials: vec![serial],
        }
    }

    /// Returns a certificate of this authority for a key that rcgen can't make: RSASSA-PSS.
    fn issue_by_openssl(
        &self,
        file: &str,
        name: &str,
        usage: &ExtendedKeyUsagePurpose,
        options: &[&str],
    ) -> Identity {
        let usage = match usage {
            ExtendedKeyUsagePurpose::ServerAuth => "serverAuth",
            _ => "clientAuth",
        };
        let extensions = format!(
            "subjectAltName=DNS:{name}\nextendedKeyUsage={usage}\nkeyUsage=digitalSignature\n"
        );
        let extensions = self.directory.write(&format!("{file}.ext"), extensions);
        let ca_key = self.ca_key_file();
        let at = |ending: &str| self.directory.path(&format!("{file}-pss{ending}"));
        let (key, request, certificate) = (at("-key.pem"), at(".csr"), at(".pem"));
        let (key_der, der) = (at("-key.der"), at(".der"));
        let bits = ["-pkeyopt", "rsa_keygen_bits:2048", "-out", &key];
        openssl::run(&[&["genpkey", "-algorithm", "RSA-PSS"][..], &bits, options].concat());
        let subject = format!("/CN={name}");
        openssl::run(&["req", "-new", "-key", &key, "-subj", &subject, "-out", &request]);
        let by = ["-CA", &self.ca_file, "-CAkey", &ca_key, "-set_serial", "7", "-days", "2"];
        let of = ["x509", "-req", "-in", &request, "-extfile", &extensions, "-out", &certificate];
        openssl::run(&[&of[..], &by].concat());
        openssl::run(&["x509", "-in", &certificate, "-outform", "DER", "-out", &der]);
        openssl::run(&["pkey", "-in", &key, "-outform", "DER", "-out", &key_der]);
        Identity {
            certificate_file: certificate,
            intermediate_file: String::new(),
            chain: vec![std::fs::read(der).unwrap()],
            key: std::fs::read(&key_der).unwrap(),
            key_file: key_der,
            serials: vec![7],
        }
    }

    /// Writes the authority's key, PEM; returns the path.
    pub fn ca_key_file(&self) -> String {
        self.directory.write("ca-key.pem", self.ca.issuer.key().serialize_pem())
    }

    /// Returns a revocation list of the authority, DER, with these serial numbers.
    pub fn revocation_list(&self, serials: &[u64]) -> Vec<u8> {
        revocation_list(&self.ca.issuer, serials, |_| ()).der().to_vec()
    }

    /// Returns a verifier that trusts this authority.
    pub fn verifier(&self) -> Arc<WebPkiVerifier> {
        Arc::new(WebPkiVerifier::new(&[self.ca.der()]).unwrap())
    }

    /// The same, which accepts these KEMs, too.
    pub fn verifier_with_kems(&self, kems: &[SignatureScheme]) -> Arc<WebPkiVerifier> {
        let verifier = WebPkiVerifier::new(&[self.ca.der()]).unwrap();
        Arc::new(verifier.accepting_kems(kems).unwrap())
    }

    /// Returns a verifier that trusts this authority, and sends its name to peers.
    pub fn naming_verifier(&self) -> Arc<WebPkiVerifier> {
        Arc::new(WebPkiVerifier::new(&[self.ca.der()]).unwrap().naming_authorities())
    }

    /// Returns the authority's certificate, DER.
    pub fn root(&self) -> Vec<u8> {
        self.ca.der()
    }
}

fn next_serial() -> u64 {
    static NEXT: AtomicU32 = AtomicU32::new(8);
    NEXT.fetch_add(1, Ordering::Relaxed).into()
}

/// Returns a key as PKCS#8. AWS-LC writes Ed25519 keys as version 2, with the public key (RFC 5958); OpenSSL 3.0 reads
/// only version 1 (RFC 8410 §7).
fn private_key(key: &KeyPair, kind: KeyKind) -> Vec<u8> {
    let der = key.serialize_der();
    if kind != KeyKind::Ed25519 {
        return der;
    }
    const BEFORE_SEED: &[u8] =
        &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    // The two versions differ in nothing else before the seed.
    [BEFORE_SEED, &der[BEFORE_SEED.len()..][..32]].concat()
}

impl Default for Pki {
    fn default() -> Self {
        Self::new()
    }
}

impl Identity {
    /// Returns the identity for Tessera.
    pub fn credential(&self) -> Credential {
        let key = SigningKey::from_pkcs8(&self.key).unwrap();
        let issuers = tessera_webpki::issuers(&self.chain).unwrap();
        let key = PrivateKey::Signs(Arc::new(key));
        Credential { issuers, ..Credential::new(self.chain.clone(), key) }
    }

    /// Its public key (SubjectPublicKeyInfo, DER).
    pub fn public_key(&self) -> Vec<u8> {
        SigningKey::from_pkcs8(&self.key).unwrap().public_key_info().unwrap()
    }

    /// Returns the public key alone, for Tessera.
    pub fn raw_public_key(&self) -> Credential {
        let key = SigningKey::from_pkcs8(&self.key).unwrap();
        Credential::raw_public_key(self.public_key(), PrivateKey::Signs(Arc::new(key)))
    }

    /// Returns a verifier that knows this key under this name.
    pub fn pinned_as(&self, name: &str) -> Arc<PinnedKeyVerifier> {
        let key = PinnedKey { public_key: self.public_key(), name: name.into() };
        Arc::new(PinnedKeyVerifier::new(vec![key]).unwrap())
    }

    /// Writes its key as a PEM file, for programs that read no other; returns the path.
    pub fn key_pem(&self) -> String {
        let file = self.key_file.replace(".der", ".pem");
        openssl::run(&["pkey", "-in", &self.key_file, "-out", &file]);
        file
    }

    /// Writes its chain as a PEM file; returns the path.
    pub fn chain_file(&self) -> String {
        if self.intermediate_file.is_empty() {
            return self.certificate_file.clone();
        }
        let files = [&self.certificate_file, &self.intermediate_file];
        let pem = files.map(|file| std::fs::read_to_string(file).unwrap()).concat();
        let file = self.certificate_file.replace(".pem", "-chain.pem");
        std::fs::write(&file, pem).unwrap();
        file
    }

    /// Returns the identity for the openssl program.
    pub fn arguments(&self) -> [&str; 4] {
        ["-cert", &self.certificate_file, "-key", &self.key_file]
    }
}
