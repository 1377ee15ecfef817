//! A small public key infrastructure, and peers that sign with it.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self, RsaKeyPair};
use rcgen::{
    CertificateParams, CertificateRevocationListParams, CertifiedIssuer, ExtendedKeyUsagePurpose,
    Issuer, KeyPair, PublicKeyData, SerialNumber, SignatureAlgorithm, SigningKey, date_time_ymd,
};
use tessera::auth::{PeerIdentity, PeerRejected, PeerVerifier, Proof, VerifyPeer};
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use tessera::{Reply, Role};
pub use tessera_pki::authority_params as ca_params;
use tessera_pki::{Authority, revocation_list};
use tessera_webpki::WebPkiVerifier;

/// Certificates are valid from the start of 2030 to the start of 2031; this is a second earlier.
pub const BEFORE: u64 = 1_893_456_000 - 1;
pub const NOW: u64 = 1_900_000_000;
pub const NOT_AFTER: u64 = 1_924_992_000;

pub type Ca = CertifiedIssuer<'static, KeyPair>;

pub fn root_with(name: &str, algorithm: &'static SignatureAlgorithm) -> Ca {
    Authority::with(name, algorithm, |_| ()).issuer
}

pub fn root(name: &str) -> Ca {
    Authority::new(name).issuer
}

pub fn trusting(ca: &Ca) -> WebPkiVerifier {
    WebPkiVerifier::new(&[ca.der()]).unwrap()
}

fn leaf_params(names: &[&str], usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2031, 1, 1);
    params.serial_number = Some(SerialNumber::from(7_u64));
    params.extended_key_usages = vec![usage];
    params
}

pub fn server_params() -> CertificateParams {
    leaf_params(&["server.example", "192.0.2.1"], ExtendedKeyUsagePurpose::ServerAuth)
}

pub fn client_params(names: &[&str]) -> CertificateParams {
    leaf_params(names, ExtendedKeyUsagePurpose::ClientAuth)
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
        let certificate = params.signed_by(&key, issuer).unwrap();
        Self { key, chain: vec![certificate.der().to_vec()] }
    }

    pub fn new(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Self {
        Self::with(params, &rcgen::PKCS_ECDSA_P256_SHA256, issuer)
    }

    fn question(&self, scheme: SignatureScheme) -> VerifyPeer {
        let signed = b"what was signed".to_vec();
        let signature = sign(&self.key, scheme, &signed);
        let proof = Proof::Signature { scheme, signed, signature };
        let question = VerifyPeer::new(Role::Client, self.chain.clone(), proof);
        with(question, |it| it.unix = Some(NOW))
    }

    pub fn as_server_with(&self, scheme: SignatureScheme) -> VerifyPeer {
        with(self.question(scheme), |it| {
            it.peer = Role::Server;
            it.server_name = Some("server.example".into());
        })
    }

    pub fn as_server(&self) -> VerifyPeer {
        self.as_server_with(SignatureScheme::ECDSA_SECP256R1_SHA256)
    }

    /// Changes the question to one about the raw key.
    pub fn raw(&self, question: VerifyPeer) -> VerifyPeer {
        with(question, |it| {
            it.certificate_type = CertificateType::RAW_PUBLIC_KEY;
            it.chain = vec![self.public_key()];
        })
    }

    pub fn public_key(&self) -> Vec<u8> {
        self.key.subject_public_key_info()
    }

    pub fn as_client(&self) -> VerifyPeer {
        self.question(SignatureScheme::ECDSA_SECP256R1_SHA256)
    }
}

/// Returns the question with a change.
pub fn with(mut question: VerifyPeer, change: impl FnOnce(&mut VerifyPeer)) -> VerifyPeer {
    change(&mut question);
    question
}

fn proof_of(question: &mut VerifyPeer) -> (&mut SignatureScheme, &mut Vec<u8>, &mut Vec<u8>) {
    let Proof::Signature { scheme, signed, signature } = &mut question.proof else {
        panic!("peers sign here")
    };
    (scheme, signed, signature)
}

pub fn scheme_of(question: &mut VerifyPeer) -> &mut SignatureScheme {
    proof_of(question).0
}

pub fn signed_of(question: &mut VerifyPeer) -> &mut Vec<u8> {
    proof_of(question).1
}

pub fn signature_of(question: &mut VerifyPeer) -> &mut Vec<u8> {
    proof_of(question).2
}

/// Signs; RSA keys use RSASSA-PSS here, which is not rcgen's default.
fn sign(key: &KeyPair, scheme: SignatureScheme, message: &[u8]) -> Vec<u8> {
    let padding: &'static dyn signature::RsaEncoding = match scheme {
        SignatureScheme::RSA_PSS_RSAE_SHA256 | SignatureScheme::RSA_PSS_PSS_SHA256 => {
            &signature::RSA_PSS_SHA256
        }
        SignatureScheme::RSA_PSS_RSAE_SHA384 | SignatureScheme::RSA_PSS_PSS_SHA384 => {
            &signature::RSA_PSS_SHA384
        }
        SignatureScheme::RSA_PSS_RSAE_SHA512 | SignatureScheme::RSA_PSS_PSS_SHA512 => {
            &signature::RSA_PSS_SHA512
        }
        _ => return key.sign(message).unwrap(),
    };
    let key = RsaKeyPair::from_pkcs8(key.serialized_der()).unwrap();
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(padding, &SystemRandom::new(), message, &mut signature).unwrap();
    signature
}

/// Makes a revocation list of 2030 that revokes these serial numbers.
pub fn crl(issuer: &Issuer<'_, KeyPair>, serials: &[u64]) -> Vec<u8> {
    crl_with(issuer, serials, |_| ())
}

/// Makes such a list with a change.
pub fn crl_with(
    issuer: &Issuer<'_, KeyPair>,
    serials: &[u64],
    change: impl FnOnce(&mut CertificateRevocationListParams),
) -> Vec<u8> {
    let list = revocation_list(issuer, serials, |list| {
        list.this_update = date_time_ymd(2030, 1, 1);
        list.next_update = date_time_ymd(2030, 12, 1);
        list.revoked_certs.iter_mut().for_each(|it| it.revocation_time = date_time_ymd(2030, 1, 2));
        change(list);
    });
    list.der().to_vec()
}

pub fn judge(
    verifier: &dyn PeerVerifier,
    question: &VerifyPeer,
) -> Result<PeerIdentity, PeerRejected> {
    match verifier.verify(question) {
        Reply::Now(verdict) => verdict.map(|accepted| accepted.identity),
        Reply::Later => panic!("webpki answers at once"),
    }
}

#[track_caller]
pub fn refused(verifier: &dyn PeerVerifier, question: &VerifyPeer, alert: AlertDescription) {
    let rejected = judge(verifier, question).unwrap_err();
    assert_eq!(rejected.alert, alert, "{}", rejected.reason);
    assert!(!rejected.reason.is_empty());
}
