//! Ends that authenticate with KEMs, or know their server's key.

use std::sync::Arc;

use tessera::auth::{
    AskedKey, Credential, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier,
    PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, Provider, SharedSecret};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::resume::KnownServerKey;
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera::{Destination, Role};
use tessera_heap_tests::off_heap;

use crate::need::{Configs, GROUPS, PROVIDER, connect, limits, to, with_certificates};

/// The KEMs are the groups.
pub static WITH_KEMS: Provider = Provider { kems: PROVIDER.groups, ..PROVIDER };

pub const KEMS: [SignatureScheme; 2] =
    [SignatureScheme::KEM_X25519, SignatureScheme::KEM_X25519MLKEM768];

/// The static key of a KEM, which the provider's random numbers always generate again. What it takes is its own, but for
/// the secret.
pub struct StaticKey(pub SignatureScheme);

impl StaticKey {
    fn group(&self) -> NamedGroup {
        self.0.kem().unwrap()
    }

    pub fn public(&self) -> Vec<u8> {
        PROVIDER.group(self.group()).unwrap().generate().unwrap().share().to_vec()
    }

    pub fn known(&self) -> Box<KnownServerKey> {
        let public_key = PeerPublicKey::new(self.0, self.public());
        Box::new(KnownServerKey { public_key, identity: PeerIdentity::default() })
    }
}

impl Decapsulator for StaticKey {
    fn scheme(&self) -> &SignatureScheme {
        &self.0
    }

    fn public_key(&self) -> Option<&[u8]> {
        // The configuration asks once.
        Some(self.public().leak())
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = off_heap(|| {
            let key = PROVIDER.group(self.group()).ok_or(AgreementError::Provider)?.generate()?;
            key.decapsulate(encapsulation)
        })?;
        let copy = SharedSecret::new(secret.expose().to_vec());
        off_heap(|| drop(secret));
        Ok(copy)
    }
}

/// Takes any chain for one to the [`StaticKey`].
pub struct AnyChain(pub [SignatureScheme; 1]);

impl PeerVerifier for AnyChain {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.0
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ED25519]
    }

    fn kem_scheme(&self, _: &AskedKey<'_>) -> Option<SignatureScheme> {
        Some(self.0[0])
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("any chain of a KEM")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let public = off_heap(|| StaticKey(self.0[0]).public());
        let key = PeerPublicKey::new(self.0[0], public.clone());
        off_heap(|| drop(public));
        Reply::Now(Ok(PeerAcceptance::with_public_key(PeerIdentity::default(), key)))
    }
}

pub fn credential(kem: SignatureScheme, chain: Vec<Vec<u8>>) -> Credential {
    Credential::new(chain, PrivateKey::Decapsulates(Arc::new(StaticKey(kem))))
}

/// The ends of a device whose chains have keys of this KEM.
fn with_kem(group: NamedGroup, kem: SignatureScheme) -> Configs {
    let (mut client, mut server) = with_certificates(group);
    (client.provider, server.provider) = (WITH_KEMS, WITH_KEMS);
    client.verifier = Arc::new(AnyChain([kem]));
    server.client_authentication = ClientAuthentication::Required(client.verifier.clone());
    let chain = vec![vec![0x30; 1_200]; 3];
    client.credentials = vec![credential(kem, chain.clone())];
    server.credentials = vec![credential(kem, chain)];
    (client, server)
}

/// Connects in both ends' turn, and prints what they took.
fn takes_at_most_what_is_stated(name: &str, ends: &Configs, to: &dyn Fn() -> Destination) {
    for role in [Role::Client, Role::Server] {
        let needed = |destination: &Destination| match role {
            Role::Client => ends.0.heap_needed(destination),
            Role::Server => ends.1.heap_needed(),
        };
        let peak = connect(ends, to, role, needed);
        println!("{name}, {role:?}: {peak} of {} bytes", needed(&to()));
    }
}

#[test]
fn authentication_with_kems_takes_at_most_what_is_stated() {
    for group in GROUPS {
        for kem in KEMS {
            let to = || to(false);
            let mutual = with_kem(group, kem);
            takes_at_most_what_is_stated(&format!("mutual, {kem:?}, {group:?}"), &mutual, &to);
            let mut without = with_kem(group, kem);
            without.0.credentials.clear();
            without.1.client_authentication =
                ClientAuthentication::Optional(without.0.verifier.clone());
            takes_at_most_what_is_stated(&format!("asked, {kem:?}, {group:?}"), &without, &to);
            without.1.client_authentication = ClientAuthentication::None;
            takes_at_most_what_is_stated(&format!("server, {kem:?}, {group:?}"), &without, &to);
            // Little else is needed: a raw public key, and no tickets.
            let mut raw = without;
            raw.1.credentials = vec![credential(kem, vec![vec![0x30; 32]])];
            let are_classical = group == NamedGroup::X25519 && kem == SignatureScheme::KEM_X25519;
            let longest = if are_classical { 256 } else { 1_536 };
            raw.0.limits = limits(longest, longest, 0);
            raw.1.limits = raw.0.limits;
            raw.0.policy.resumption = false;
            raw.1.tickets = None;
            takes_at_most_what_is_stated(&format!("raw, {kem:?}, {group:?}"), &raw, &to);
        }
    }
}

#[test]
fn a_known_key_takes_at_most_what_is_stated() {
    for group in GROUPS {
        for kem in KEMS {
            let known = || {
                let known_server_key = Some(StaticKey(kem).known());
                Destination { known_server_key, ..to(false) }
            };
            let (mut client, mut server) = with_kem(group, kem);
            client.credentials.clear();
            server.client_authentication = ClientAuthentication::None;
            (client.limits.client_hello, server.limits.client_hello) = (4_096, 4_096);
            // A known key is of SHA-256.
            server.suites = client.suites.clone();
            for retries in [false, true] {
                if retries {
                    client.groups = vec![NamedGroup::SECP256R1, group];
                }
                let name = format!("known, {kem:?}, {group:?}, retry {retries}");
                takes_at_most_what_is_stated(&name, &(client.clone(), server.clone()), &known);
            }
            client.groups = vec![group];
            client.limits = limits(1_536, 1_536, 0);
            client.policy.resumption = false;
            server.tickets = None;
            let name = format!("known, {kem:?}, {group:?}, no tickets");
            takes_at_most_what_is_stated(&name, &(client, server), &known);
        }
    }
}
