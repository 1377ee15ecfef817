//! Which peers are allowed: the verifier of both roles.
//!
//! A certificate is accepted if it chains to a root and has an allowed name or URI, or if its fingerprint is allowed,
//! whatever its dates and names; a raw public key if it is listed. The peer must sign with the private key of either. A
//! section with external PSKs alone accepts no certificate.

mod identity;
mod load;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use tessera::Role;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use tessera_kit::credential::fingerprint;
use tessera_kit::trust;
use tessera_webpki::{Algorithms, IdentityName, KnownChains, PinnedKeyVerifier};

pub use self::identity::identity;
pub(crate) use self::identity::identity_for_backend;
pub use self::load::{allowed, psks};

/// Accepts the peers that a section of the configuration names.
///
/// # Identities
/// Of a client by `ca`: all its DNS names and URIs, or its subject (as `tessera_webpki::WebPkiVerifier` returns them).
/// Of a server by `ca`: the name it was accepted for, or all names if it is known by a URI. By fingerprint:
/// `sha256:HEX` of the certificate. By public key: `key:sha256:HEX` of the SubjectPublicKeyInfo.
pub struct AllowedPeers {
    /// `[server.NAME]`: where a refused peer could be allowed.
    section: String,
    chains: Option<Chains>,
    /// SHA-256 of certificates, in hexadecimal.
    fingerprints: BTreeSet<String>,
    keys: Option<PinnedKeyVerifier>,
    types: Vec<CertificateType>,
    schemes: Vec<SignatureScheme>,
}

/// Peers with certificates that chain to a root.
struct Chains {
    verifier: KnownChains,
    names: BTreeSet<String>,
    uris: BTreeSet<String>,
    /// Servers known by their URIs: the verifier checks no name.
    by_uri: Option<KnownChains>,
    any: bool,
}

impl AllowedPeers {
    fn judge(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        // The fingerprint is checked before the chain, so the certificate must be present.
        let shown = fingerprint(trust::end_entity(question)?);
        if question.certificate_type == CertificateType::RAW_PUBLIC_KEY {
            return self.judge_key(question, &shown);
        }
        if self.fingerprints.contains(&shown) {
            Algorithms::AWS_LC.verify_signature(question)?;
            return Ok(known_as(format!("sha256:{shown}")));
        }
        let Some(chains) = &self.chains else {
            let what = if self.fingerprints.is_empty() {
                "peers are not identified by certificates here"
            } else {
                "the certificate is not among those allowed"
            };
            return Err(self.advise(AlertDescription::ACCESS_DENIED, what, &shown));
        };
        let accepted = match question.peer {
            Role::Client => chains.judge_client(question),
            Role::Server => chains.judge_server(question),
        };
        accepted.map_err(|refused| match refused.alert {
            AlertDescription::ACCESS_DENIED | AlertDescription::UNKNOWN_CA => {
                self.advise(refused.alert, &refused.reason, &shown)
            }
            _ => refused,
        })
    }

    fn judge_key(
        &self,
        question: &VerifyPeer,
        shown: &str,
    ) -> Result<PeerAcceptance, PeerRejected> {
        let Some(keys) = &self.keys else {
            let what = "peers are not identified by public keys here";
            return Err(self.advise(AlertDescription::ACCESS_DENIED, what, shown));
        };
        // A peer with a listed key is allowed under any name.
        let mut question = question.clone();
        question.server_name = question.server_name.map(|_| shown.to_owned());
        match keys.verify(&question) {
            Reply::Now(Ok(_)) => Ok(known_as(format!("key:sha256:{shown}"))),
            Reply::Now(Err(refused)) => Err(refused),
            Reply::Later => Err(internal("the verifier of public keys left its answer for later")),
        }
    }

    fn advise(&self, alert: AlertDescription, what: &str, shown: &str) -> PeerRejected {
        let reason = format!(
            "{what}; `peers` of {} lists who is allowed, and this is sha256:{shown}",
            self.section
        );
        PeerRejected { alert, reason }
    }
}

impl Chains {
    fn judge_client(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        let accepted = ask(&self.verifier, question)?;
        if self.any || self.lists(&accepted.identity) {
            return Ok(accepted);
        }
        Err(self.not_allowed(&accepted.identity))
    }

    /// Judges a server by the requested name, or by one of those that replace it.
    fn judge_server(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        let mut refused = None;
        if self.names.is_empty() && self.by_uri.is_none() {
            return ask(&self.verifier, question);
        }
        for name in &self.names {
            let mut question = question.clone();
            question.server_name = Some(name.clone());
            match ask(&self.verifier, &question) {
                Ok(accepted) => return Ok(accepted),
                Err(error) => refused = Some(error),
            }
        }
        match &self.by_uri {
            None => Err(refused.unwrap_or_else(|| internal("there is no name to verify"))),
            Some(verifier) => {
                let accepted = ask(verifier, question)?;
                match self.has_uri(&accepted.identity) {
                    true => Ok(accepted),
                    false => Err(self.not_allowed(&accepted.identity)),
                }
            }
        }
    }

    /// Whether one of its names is allowed.
    fn lists(&self, peer: &PeerIdentity) -> bool {
        IdentityName::all_in(&peer.blob).any(|name| match name {
            IdentityName::Dns(name) => self.names.contains(name),
            IdentityName::Uri(uri) => self.uris.contains(uri),
        })
    }

    fn has_uri(&self, peer: &PeerIdentity) -> bool {
        IdentityName::all_in(&peer.blob)
            .any(|name| matches!(name, IdentityName::Uri(uri) if self.uris.contains(uri)))
    }

    fn not_allowed(&self, peer: &PeerIdentity) -> PeerRejected {
        PeerRejected {
            alert: AlertDescription::ACCESS_DENIED,
            reason: format!(
                "the certificate is valid, but none of its names is allowed: {}",
                identity(&peer.blob)
            ),
        }
    }
}

fn ask(verifier: &KnownChains, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
    match verifier.verify(question) {
        Reply::Now(answer) => answer,
        Reply::Later => Err(internal("the verifier of certificates left its answer for later")),
    }
}

fn known_as(name: String) -> PeerAcceptance {
    PeerIdentity { blob: name.into_bytes(), expires_at: None }.into()
}

fn internal(reason: &str) -> PeerRejected {
    PeerRejected { alert: AlertDescription::INTERNAL_ERROR, reason: reason.to_owned() }
}

impl PeerVerifier for AllowedPeers {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        self.chains.as_ref().map_or(&[], |chains| chains.verifier.chain_schemes())
    }

    fn certificate_types(&self) -> &[CertificateType] {
        &self.types
    }

    fn policy(&self) -> VerifierPolicy {
        let policy = VerifierPolicy::new("tessera-tunnel: peers, 1").with_set(&self.fingerprints);
        let keys = self.keys.as_ref().map(|keys| keys.policy());
        let policy = policy.with_set(keys.iter().map(VerifierPolicy::as_bytes));
        match &self.chains {
            None => policy.with(b"no chains"),
            Some(chains) => policy
                .with(if chains.any { b"any name" } else { b"chains" })
                .with_policy(&chains.verifier.policy())
                .with_set(&chains.names)
                .with_set(&chains.uris),
        }
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(self.judge(question))
    }
}
