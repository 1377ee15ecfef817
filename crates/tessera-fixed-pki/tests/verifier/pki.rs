//! Peers, and both verifiers.

use pki_types::SignatureVerificationAlgorithm;
use rcgen::{
    CertificateParams, CertifiedIssuer, CustomExtension, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    PublicKeyData, SignatureAlgorithm, SigningKey, date_time_ymd,
};
use tessera::auth::{PeerIdentity, PeerRejected, PeerVerifier, Proof, VerifyPeer};
use tessera::wire::SignatureScheme;
use tessera::{Reply, Role};
use tessera_fixed_pki::{Algorithms, Anchor, Defect, FixedPkiVerifier};
use tessera_pki::authority_params;
use tessera_webpki::WebPkiVerifier;
use webpki::aws_lc_rs as aws_lc;

/// Certificates are valid from the start of 2030 to the start of 2031.
pub const NOT_BEFORE: u64 = 1_893_456_000;
pub const NOW: u64 = 1_900_000_000;
pub const NOT_AFTER: u64 = 1_924_992_000;

pub type Ca = CertifiedIssuer<'static, KeyPair>;

/// AWS-LC's algorithms of the kinds that devices have.
pub static ALGORITHMS: Algorithms = &[
    (SignatureScheme::ECDSA_SECP256R1_SHA256, aws_lc::ECDSA_P256_SHA256),
    (SignatureScheme::MLDSA44, aws_lc::ML_DSA_44),
    (SignatureScheme::MLDSA65, aws_lc::ML_DSA_65),
];

static CHAIN: &[&dyn SignatureVerificationAlgorithm] =
    &[aws_lc::ECDSA_P256_SHA256, aws_lc::ML_DSA_44, aws_lc::ML_DSA_65];

pub fn root_with(
    algorithm: &'static SignatureAlgorithm,
    change: impl FnOnce(&mut CertificateParams),
) -> Ca {
    let mut params = authority_params("root");
    change(&mut params);
    CertifiedIssuer::self_signed(params, KeyPair::generate_for(algorithm).unwrap()).unwrap()
}

pub fn root() -> Ca {
    root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |_| ())
}

/// Makes an authority of this name below another one.
pub fn below(name: &str, issuer: &Ca, change: impl FnOnce(&mut CertificateParams)) -> Ca {
    let mut params = authority_params(name);
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2031, 1, 1);
    change(&mut params);
    let key = KeyPair::generate_for(issuer.key().algorithm()).unwrap();
    CertifiedIssuer::signed_by(params, key, issuer).unwrap()
}

pub fn server_params() -> CertificateParams {
    params(&["server.example"], ExtendedKeyUsagePurpose::ServerAuth)
}

pub fn client_params(names: &[&str]) -> CertificateParams {
    params(names, ExtendedKeyUsagePurpose::ClientAuth)
}

fn params(names: &[&str], usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2031, 1, 1);
    params.extended_key_usages = vec![usage];
    params
}

/// Returns an extension with this identifier and value.
pub fn extension(id: &[u64], is_critical: bool, value: &[u8]) -> CustomExtension {
    let mut extension = CustomExtension::from_oid_content(id, value.to_vec());
    extension.set_criticality(is_critical);
    extension
}

/// A peer: its key and its chain.
pub struct Peer {
    pub key: KeyPair,
    pub chain: Vec<Vec<u8>>,
}

impl Peer {
    pub fn with(
        params: &CertificateParams,
        algorithm: &'static SignatureAlgorithm,
        issuer: &Issuer<'_, KeyPair>,
    ) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let chain = vec![params.signed_by(&key, issuer).unwrap().der().to_vec()];
        Self { key, chain }
    }

    pub fn new(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Self {
        Self::with(params, &rcgen::PKCS_ECDSA_P256_SHA256, issuer)
    }

    /// Returns it with these authorities' certificates after its own.
    pub fn above(mut self, authorities: &[&Ca]) -> Self {
        self.chain.extend(authorities.iter().map(|it| it.der().to_vec()));
        self
    }

    /// Returns its key, a SubjectPublicKeyInfo.
    pub fn public_key(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    pub fn as_client_with(&self, scheme: SignatureScheme) -> VerifyPeer {
        let signed = b"what was signed".to_vec();
        let signature = self.key.sign(&signed).unwrap();
        let proof = Proof::Signature { scheme, signed, signature };
        let question = VerifyPeer::new(Role::Client, self.chain.clone(), proof);
        with(question, |it| it.unix = Some(NOW))
    }

    pub fn as_server_with(&self, scheme: SignatureScheme) -> VerifyPeer {
        with(self.as_client_with(scheme), |it| {
            it.peer = Role::Server;
            it.server_name = Some("server.example".into());
        })
    }

    pub fn as_server(&self) -> VerifyPeer {
        self.as_server_with(SignatureScheme::ECDSA_SECP256R1_SHA256)
    }

    pub fn as_client(&self) -> VerifyPeer {
        self.as_client_with(SignatureScheme::ECDSA_SECP256R1_SHA256)
    }
}

/// Returns the question with a change.
pub fn with(mut question: VerifyPeer, change: impl FnOnce(&mut VerifyPeer)) -> VerifyPeer {
    change(&mut question);
    question
}

pub fn judge(
    verifier: &dyn PeerVerifier,
    question: &VerifyPeer,
) -> Result<PeerIdentity, PeerRejected> {
    match verifier.verify(question) {
        Reply::Now(verdict) => verdict.map(|accepted| accepted.identity),
        Reply::Later => panic!("both answer at once"),
    }
}

/// Both verifiers with the same anchors.
pub struct Both {
    pub fixed: FixedPkiVerifier,
    pub webpki: WebPkiVerifier,
}

impl Both {
    pub fn new(roots: &[&Ca]) -> Self {
        Self::trusting(&roots.iter().map(|root| root.der().to_vec()).collect::<Vec<_>>())
    }

    pub fn trusting(roots: &[Vec<u8>]) -> Self {
        Self::with(roots, ALGORITHMS, CHAIN)
    }

    pub fn with(
        roots: &[Vec<u8>],
        algorithms: Algorithms,
        chain: &'static [&'static dyn SignatureVerificationAlgorithm],
    ) -> Self {
        let anchors = roots.iter().map(|root| anchor(root)).collect();
        let fixed = FixedPkiVerifier::new(anchors, algorithms).unwrap().accepting_clients();
        let algorithms =
            tessera_webpki::Algorithms { handshake: algorithms, chain, chain_schemes: &[] };
        Self { fixed, webpki: WebPkiVerifier::with_algorithms(roots, algorithms).unwrap() }
    }

    /// Returns those of devices with algorithms for certificates alone.
    pub fn accepting_in_certificates(roots: &[&Ca]) -> Self {
        use tessera_rustcrypto::{CHAIN_ALGORITHMS, CHAIN_SCHEMES, HANDSHAKE_ALGORITHMS};
        let algorithms = tessera_webpki::Algorithms {
            handshake: HANDSHAKE_ALGORITHMS,
            chain: CHAIN_ALGORITHMS,
            chain_schemes: CHAIN_SCHEMES,
        };
        let roots: Vec<_> = roots.iter().map(|root| root.der().to_vec()).collect();
        let Self { fixed, .. } = Self::with(&roots, HANDSHAKE_ALGORITHMS, CHAIN_ALGORITHMS);
        let fixed = fixed.accepting_in_certificates(CHAIN_ALGORITHMS, CHAIN_SCHEMES);
        Self { fixed, webpki: WebPkiVerifier::with_algorithms(&roots, algorithms).unwrap() }
    }

    /// Asserts that both accept, with the same identity, which it returns.
    #[track_caller]
    pub fn accept(&self, question: &VerifyPeer) -> PeerIdentity {
        let verdicts = (judge(&self.fixed, question), judge(&self.webpki, question));
        match verdicts {
            (Ok(one), Ok(other)) if one == other => one,
            verdicts => panic!("{verdicts:?}"),
        }
    }

    /// Asserts that both refuse with the same alert, this verifier for that reason.
    #[track_caller]
    pub fn refuse(&self, question: &VerifyPeer, defect: Defect) {
        let (fixed, webpki) = (judge(&self.fixed, question), judge(&self.webpki, question));
        assert_eq!(fixed, Err(defect.into()));
        match webpki {
            Err(rejected) => assert_eq!(rejected.alert, defect.alert(), "{}", rejected.reason),
            Ok(identity) => panic!("webpki accepts {identity:?}"),
        }
    }

    /// Asserts that this verifier alone refuses.
    #[track_caller]
    pub fn refuse_alone(&self, question: &VerifyPeer, defect: Defect) {
        assert_eq!(judge(&self.fixed, question), Err(defect.into()));
        assert!(judge(&self.webpki, question).is_ok());
    }
}

/// Returns an anchor of bytes that an image has in its flash.
pub fn anchor(der: &[u8]) -> Anchor {
    Anchor::certificate(leaked(der)).unwrap()
}

pub fn leaked(bytes: &[u8]) -> &'static [u8] {
    Box::leak(bytes.into())
}
