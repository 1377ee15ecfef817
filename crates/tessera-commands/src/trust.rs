//! Which servers a client accepts.

use std::sync::Arc;

use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier, Proof,
    VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, EntryExtensions, SignatureScheme};
use tessera_kit::credential::fingerprint;
use tessera_kit::{ProgramError, SettingFile, hex, pem, trust};
use tessera_webpki::{Algorithms, KnownChains, kem_public_key_of_certificate};

use crate::kems::{self, KEMS};
use crate::options::ConnectOptions;

/// How servers are verified, with a name: a resumption doesn't verify again, so sessions must not cross kinds of trust.
pub(crate) struct Trust {
    pub(crate) verifier: Arc<dyn PeerVerifier>,
    pub(crate) name: String,
}

pub(crate) fn of_servers(options: &ConnectOptions) -> Result<Trust, ProgramError> {
    let common = &options.common;
    let proofs = AcceptedProofs::new(common.kem_auth);
    let accepted = |verifier| kems::accepted(common.kem_auth, verifier);
    let (verifier, name): (Arc<dyn PeerVerifier>, _) = if let Some(wanted) = options.fingerprint {
        let wanted = hex::encode(&wanted);
        (Arc::new(PinnedCertificate { wanted: wanted.clone(), proofs }), wanted)
    } else if options.insecure_accept_any_certificate {
        (Arc::new(AnyCertificate(proofs)), "insecure".to_owned())
    } else if let Some(ca) = &common.ca {
        let file = SettingFile { setting: "--ca", path: ca };
        let roots = pem::certificates(file)?;
        let name = format!("ca {}", fingerprint(&roots.concat()));
        let verifier = trust::remembering(accepted(trust::roots_of(file, &roots)?)?)?;
        (Arc::new(ExplainingVerifier(verifier)), name)
    } else if options.accepts_no_certificate() {
        (Arc::new(NoCertificate { key_is_known: !common.known_keys.is_empty() }), "psk".to_owned())
    } else {
        let verifier = trust::remembering(accepted(trust::system("--ca FILE")?)?)?;
        (Arc::new(ExplainingVerifier(verifier)), "system".to_owned())
    };
    Ok(Trust { verifier, name })
}

/// Adds advice to a rejection.
struct ExplainingVerifier(KnownChains);

impl PeerVerifier for ExplainingVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        self.0.chain_schemes()
    }

    fn authorities(&self) -> &[Vec<u8>] {
        self.0.authorities()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.0.entry_extensions()
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        self.0.kem_scheme(asked)
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        match self.0.verify(question) {
            Reply::Now(Err(mut rejected)) => {
                // webpki returns the second also where another root has the issuer's name.
                let unknown =
                    [AlertDescription::UNKNOWN_CA, AlertDescription::UNSUPPORTED_CERTIFICATE];
                let advice = if unknown.contains(&rejected.alert) {
                    "trust its issuer with --ca FILE"
                } else if self.0.verify_without_names(question).is_ok() {
                    "check the name, which --server-name sets"
                } else {
                    return Reply::Now(Err(rejected));
                };
                let fingerprint = fingerprint_of(question);
                rejected.reason.push_str(&format!(
                    "; {advice}, or, if this is the right certificate, trust it itself with --fingerprint \
                     {fingerprint}"
                ));
                Reply::Now(Err(rejected))
            }
            other => other,
        }
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.0.is_proof_right(question)
    }
}

/// Accepts one certificate, whatever its names and dates.
struct PinnedCertificate {
    wanted: String,
    proofs: AcceptedProofs,
}

impl PeerVerifier for PinnedCertificate {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.proofs.schemes
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        kem_key_of(asked.chain).map(|key| key.scheme())
    }

    fn policy(&self) -> VerifierPolicy {
        let policy = VerifierPolicy::new("tessera-commands: one certificate, 1");
        self.proofs.add_to(policy.with(self.wanted.as_bytes()))
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let found = fingerprint_of(question);
        Reply::Now(if found == self.wanted {
            verify_proof(question, format!("sha256:{found}"))
        } else {
            Err(PeerRejected {
                alert: AlertDescription::BAD_CERTIFICATE,
                reason: format!("it has another certificate: --fingerprint {found}"),
            })
        })
    }
}

/// Accepts any certificate whose key the server proves; this does not stop an attacker on the path.
struct AnyCertificate(AcceptedProofs);

impl PeerVerifier for AnyCertificate {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.0.schemes
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        kem_key_of(asked.chain).map(|key| key.scheme())
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.add_to(VerifierPolicy::new("tessera-commands: any certificate, 1"))
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let found = fingerprint_of(question);
        Reply::Now(verify_proof(question, format!("unverified sha256:{found}")))
    }
}

/// Rejects all certificates: for clients that use PSKs, or know the server's key.
struct NoCertificate {
    key_is_known: bool,
}

impl PeerVerifier for NoCertificate {
    fn schemes(&self) -> &[SignatureScheme] {
        SCHEMES
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tessera-commands: no certificate, 1")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let reason = if self.key_is_known {
            "the server doesn't have the key of --known-key, or asks clients for certificates, and shows a certificate; \
             check the file after --known-key, or accept certificates with --ca FILE"
        } else {
            "the server doesn't use the PSK, but shows a certificate; check identity, key, --psk-hash and \
             --import-psks on both sides, or accept certificates with --ca FILE"
        };
        Reply::Now(Err(PeerRejected { alert: AlertDescription::UNKNOWN_CA, reason: reason.into() }))
    }
}

/// Verifies the signature of an accepted certificate, or returns its key, if it is one of a KEM.
fn verify_proof(question: &VerifyPeer, identity: String) -> Result<PeerAcceptance, PeerRejected> {
    let identity = PeerIdentity { blob: identity.into_bytes(), expires_at: None };
    match &question.proof {
        Proof::Kem { .. } => {
            let key = kem_key_of(&question.chain).ok_or_else(|| PeerRejected {
                alert: AlertDescription::BAD_CERTIFICATE,
                reason: "its certificate has no key of a KEM that can be read".into(),
            })?;
            Ok(PeerAcceptance::with_public_key(identity, key))
        }
        _ => Algorithms::AWS_LC.verify_signature(question).map(|()| identity.into()),
    }
}

fn kem_key_of(chain: &[Vec<u8>]) -> Option<PeerPublicKey> {
    kem_public_key_of_certificate(chain.first()?)
}

fn fingerprint_of(question: &VerifyPeer) -> String {
    question.chain.first().map(|der| fingerprint(der)).unwrap_or_default()
}

/// The proofs that a verifier without a chain accepts.
struct AcceptedProofs {
    schemes: Vec<SignatureScheme>,
    kems: bool,
}

impl AcceptedProofs {
    fn new(kems: bool) -> Self {
        let kem_schemes = if kems { KEMS } else { &[] };
        Self { schemes: [SCHEMES, kem_schemes].concat(), kems }
    }

    /// Leaves the policy as it is without KEMs: sessions survive.
    fn add_to(&self, policy: VerifierPolicy) -> VerifierPolicy {
        if self.kems { policy.with(b"KEMs") } else { policy }
    }
}

/// Signature schemes of handshakes, and those that only occur in chains, which are not verified here.
const SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
    SignatureScheme::MLDSA44,
    SignatureScheme::MLDSA65,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];
