//! Tests each property of an identity, and what happens when it no longer holds.

use std::sync::Mutex;

use tessera_kit::trust;
use tessera_webpki::WebPkiVerifier;

use super::*;
use crate::identity::{AssociationId, CertificateIdentity, KnownPeer, TrustAnchor, TrustAnchors};
use crate::names::{Fqdn, PlmnSet};
use crate::reconnection::Modes;

const PEER: &str = "sepp2.5gc.mnc001.mcc001.3gppnetwork.org";
const NOW: Duration = Duration::from_secs(1_800_000_000);
const FOR_N32F: Purpose = Purpose { direction: Direction::Incoming, listener: Listener::N32f };

/// The association with the peer.
struct One(Mutex<Option<(AssociationId, CertificateIdentity)>>);

impl AssociationLookup for One {
    fn established(&self, _: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        self.0.lock().unwrap().clone()
    }
}

fn plmns(text: &[&str]) -> PlmnSet {
    text.iter().map(|plmn| plmn.parse().unwrap()).collect()
}

fn known(peer: &str) -> Arc<KnownPeers> {
    let root = tessera_pki::Authority::new("visited");
    let anchor = TrustAnchor {
        name: "visited".into(),
        plmns: plmns(&["001-01", "001-02"]),
        verifier: trust::remembering(WebPkiVerifier::new(&[root.der()]).unwrap()).unwrap(),
    };
    let peer = KnownPeer {
        fqdn: peer.parse().unwrap(),
        plmns: plmns(&["001-01"]),
        anchor: "visited".into(),
        pins: Vec::new(),
        modes: Modes::default(),
        without_server_name: false,
    };
    let anchors = TrustAnchors::new(vec![anchor]).unwrap();
    Arc::new(KnownPeers::new(anchors, vec![peer], &[]).unwrap())
}

fn certificate() -> CertificateIdentity {
    CertificateIdentity {
        fqdns: vec![PEER.parse().unwrap()],
        plmns: plmns(&["001-01"]),
        anchor: "visited".into(),
        fingerprint: [7; 32],
        expires_at: NOW.as_secs() + 1,
    }
}

/// Returns a standing, and an identity that it accepts.
fn good() -> (Standing, Arc<One>, Identity) {
    let id = AssociationId([1; 16]);
    let associations = Arc::new(One(Mutex::new(Some((id, certificate())))));
    let known = known(PEER);
    let identity = Identity {
        peer: PEER.parse().unwrap(),
        certificate: certificate(),
        direction: Direction::Incoming,
        listener: Listener::N32f,
        association: Some(id),
        epoch: known.epoch_of(&PEER.parse().unwrap()).unwrap(),
    };
    (Standing::new(known, associations.clone()), associations, identity)
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Identity), why: IdentityRefusal) {
    let (standing, _, mut identity) = good();
    change(&mut identity);
    assert_eq!(standing.resumes(&identity, FOR_N32F, NOW), Err(why));
}

#[test]
fn an_identity_resumes_while_all_of_it_is_so() {
    let (standing, _, identity) = good();
    assert_eq!(standing.resumes(&identity, FOR_N32F, NOW), Ok(()));
    refused(|it| it.direction = Direction::Outgoing, IdentityRefusal::OtherDirection);
    refused(|it| it.listener = Listener::Shared, IdentityRefusal::OtherListener);
    refused(|it| it.listener = Listener::N32c, IdentityRefusal::OtherListener);
    refused(|it| it.peer = "sepp.example.org".parse().unwrap(), IdentityRefusal::UnknownPeer);
    refused(|it| it.certificate.anchor = "third".into(), IdentityRefusal::OtherAnchor);
    refused(|it| it.epoch ^= 1, IdentityRefusal::OtherEpoch);
    refused(|it| it.certificate.expires_at = NOW.as_secs(), IdentityRefusal::Expired);
    refused(|it| it.association = None, IdentityRefusal::OtherAssociation);
    refused(|it| it.association = Some(AssociationId([2; 16])), IdentityRefusal::OtherAssociation);
    refused(|it| it.certificate.plmns = plmns(&["001-01", "001-02"]), IdentityRefusal::BeyondN32c);
}

#[test]
fn n32c_never_resumes() {
    let (standing, _, mut identity) = good();
    identity.listener = Listener::N32c;
    let purpose = Purpose { listener: Listener::N32c, ..FOR_N32F };
    assert_eq!(standing.resumes(&identity, purpose, NOW), Err(IdentityRefusal::OtherListener));
}

#[test]
fn without_the_association_nothing_resumes_and_what_runs_goes_on() {
    let (standing, associations, identity) = good();
    *associations.0.lock().unwrap() = None;
    assert_eq!(standing.resumes(&identity, FOR_N32F, NOW), Err(IdentityRefusal::NoAssociation));
    assert_eq!(standing.stands(&identity, NOW), Ok(()));
    // N32-c now has another anchor.
    let other = CertificateIdentity { anchor: "third".into(), ..certificate() };
    *associations.0.lock().unwrap() = Some((AssociationId([1; 16]), other));
    assert_eq!(standing.resumes(&identity, FOR_N32F, NOW), Err(IdentityRefusal::BeyondN32c));
}

/// Different roots have different epochs; reloading the same files keeps the epoch.
#[test]
fn an_epoch_follows_from_the_configured_trust() {
    let (standing, associations, identity) = good();
    let under = |known| Standing::new(known, associations.clone());
    let same = under(standing.known().clone());
    assert_eq!(same.resumes(&identity, FOR_N32F, NOW), Ok(()));
    let other = under(known(PEER));
    assert_eq!(other.resumes(&identity, FOR_N32F, NOW), Err(IdentityRefusal::OtherEpoch));
    let standing = under(known("sepp9.5gc.mnc001.mcc001.3gppnetwork.org"));
    assert_eq!(standing.resumes(&identity, FOR_N32F, NOW), Err(IdentityRefusal::UnknownPeer));
    assert_eq!(standing.stands(&identity, NOW), Err(IdentityRefusal::UnknownPeer));
}
