//! First connections: which peers are accepted, and the alerts of refusals.

use std::sync::{Arc, Mutex};

use tessera::ServerConfig;
use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{AlertDescription, EntryExtensions, SignatureScheme};
use tessera_pki::rcgen::{ExtendedKeyUsagePurpose, SerialNumber, date_time_ymd};
use tessera_sepp::identity::{Direction, Identity, Listener};
use tessera_sepp::reconnection::{IdentityRefusal, Mode};
use tessera_tokio::Acceptor;

use crate::world::{HOME, NAMED, THIRD, VISITED, World, fqdn, meet};
use tessera_pki::Leaf;

#[tokio::test]
async fn both_ends_know_the_others_identity() {
    let world = World::associated("").await;
    let met = meet(&world.visited.to(HOME), HOME, world.home.n32f(), b"").await;
    assert_eq!(met.mode(), Mode::Full);
    let client = met.client.unwrap();
    assert_eq!(client.protocol.as_deref(), Some(&b"h2"[..]));
    let server = world.home.identify(&met.server.unwrap());
    let Identity { peer, certificate, direction, listener, association, .. } = &*server.identity;
    assert_eq!(
        (peer, *direction, *listener),
        (&fqdn(VISITED), Direction::Incoming, Listener::N32f)
    );
    assert_eq!(certificate.fqdns, [fqdn(VISITED)]);
    assert_eq!(certificate.plmns.to_string(), "001-01");
    assert_eq!((&*certificate.anchor, association.is_some()), ("visited", true));
    let client = world.visited.identify(&client);
    assert_eq!(
        (&client.identity.peer, client.identity.direction),
        (&fqdn(HOME), Direction::Outgoing)
    );
    assert_eq!(client.identity.certificate.plmns.to_string(), "999-70");
}

/// A peer without an association gets an answer over HTTP, which reports that.
#[tokio::test]
async fn without_an_association_the_identity_states_that() {
    let world = World::new("");
    let met = meet(&world.visited.to(HOME), HOME, world.home.n32f(), b"").await;
    assert_eq!(world.home.identify(&met.server.unwrap()).identity.association, None);
}

/// Certificates with one fault each, and the alert for it.
fn faulty(world: &World) -> Vec<(&'static str, Leaf, AlertDescription)> {
    let (visited, third) = (&world.visited_ca, &world.third_ca);
    let wildcard = "*.5gc.mnc410.mcc310.3gppnetwork.org";
    let other = "sepp9.5gc.mnc001.mcc001.3gppnetwork.org";
    vec![
        (
            "expired",
            visited.issue_with(&[VISITED], |it| it.not_after = date_time_ymd(2021, 1, 1)),
            AlertDescription::CERTIFICATE_EXPIRED,
        ),
        (
            "not yet valid",
            visited.issue_with(&[VISITED], |it| it.not_before = date_time_ymd(2099, 1, 1)),
            AlertDescription::CERTIFICATE_EXPIRED,
        ),
        (
            "revoked",
            visited
                .issue_with(&[VISITED], |it| it.serial_number = Some(SerialNumber::from(13_u64))),
            AlertDescription::CERTIFICATE_REVOKED,
        ),
        (
            "for other uses",
            visited.issue_with(&[VISITED], |it| {
                it.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
            }),
            AlertDescription::UNSUPPORTED_CERTIFICATE,
        ),
        ("of the authority of another network", third.issue(VISITED), AlertDescription::UNKNOWN_CA),
        (
            "of two trust anchors",
            visited.issue_with(&[VISITED, THIRD], |_| ()),
            AlertDescription::CERTIFICATE_UNKNOWN,
        ),
        (
            "of two trust anchors, by a wildcard",
            visited.issue_with(&[VISITED, wildcard], |_| ()),
            AlertDescription::CERTIFICATE_UNKNOWN,
        ),
        (
            "of its peer's network too",
            visited.issue_with(&[VISITED, HOME], |_| ()),
            AlertDescription::ACCESS_DENIED,
        ),
        ("of no network", visited.issue("sepp.example.org"), AlertDescription::UNKNOWN_CA),
        ("of an unknown name", visited.issue(other), AlertDescription::ACCESS_DENIED),
    ]
}

/// Returns the alert of a server that knows the peer by another name than the dialled one.
fn as_server(name: &str, alert: AlertDescription) -> AlertDescription {
    if name == "of an unknown name" { AlertDescription::BAD_CERTIFICATE } else { alert }
}

#[tokio::test]
async fn clients_with_a_fault_are_refused_with_its_alert() {
    let world = World::new("");
    world.home.write("visited.crl", world.visited_ca.revoking(&[13]));
    world.home.reload(&world.home_words);
    for (name, leaf, alert) in faulty(&world) {
        let client = world.visited.careless(HOME, |it| it.credentials = vec![leaf.credential()]);
        for server in [world.home.n32c(), world.home.n32f()] {
            let met = meet(&client, HOME, server, b"").await;
            assert_eq!(met.server_alert(), Some(alert), "{name}: {:?}", met.server);
        }
    }
    // A valid certificate, and none at all.
    let met = meet(&world.visited.to(HOME), HOME, world.home.n32f(), b"").await;
    assert_eq!(met.mode(), Mode::Full);
    let client = world.visited.careless(HOME, |it| it.credentials.clear());
    let met = meet(&client, HOME, world.home.n32f(), b"").await;
    assert_eq!(met.server_alert(), Some(AlertDescription::CERTIFICATE_REQUIRED));
}

#[tokio::test]
async fn servers_with_a_fault_are_refused_with_its_alert() {
    let world = World::new("");
    world.home.write("visited.crl", world.visited_ca.revoking(&[13]));
    world.home.reload(&world.home_words);
    let server = |leaf: &Leaf| {
        let own = vec![leaf.credential()];
        let mut config = ServerConfig::new(tessera_aws_lc::provider(), own);
        config.protocols = vec![b"h2".to_vec()];
        Acceptor::new(config.checked().unwrap())
    };
    for (name, leaf, alert) in faulty(&world) {
        let met = meet(&world.home.to(VISITED), VISITED, &server(&leaf), b"").await;
        assert_eq!(met.client_alert(), Some(as_server(name, alert)), "{name}: {:?}", met.client);
    }
    let good = world.visited_ca.issue(VISITED);
    let met = meet(&world.home.to(VISITED), VISITED, &server(&good), b"").await;
    assert_eq!(met.mode(), Mode::Full);
}

/// Two peers of one anchor: a certificate with both names identifies neither.
#[tokio::test]
async fn a_certificate_of_two_peers_is_refused() {
    let mut world = World::new("");
    let other = "sepp9.5gc.mnc003.mcc001.3gppnetwork.org";
    world.home_words.peers[0].2 = format!(
        "[peer.other]\nfqdn = \"{other}\"\nplmns = [\"001-03\"]\nanchor = \"visited\"\ninitiate = false\n"
    );
    world.home.reload(&world.home_words);
    for (names, alert) in [
        (vec![VISITED, other], Some(AlertDescription::ACCESS_DENIED)),
        (vec![other], None),
        // Its own network isn't among them.
        (vec![VISITED], None),
    ] {
        let leaf = world.visited_ca.issue_with(&names, |_| ());
        let client = world.visited.careless(HOME, |it| it.credentials = vec![leaf.credential()]);
        let met = meet(&client, HOME, world.home.n32f(), b"").await;
        assert_eq!(met.server_alert(), alert, "{names:?}");
    }
}

/// S10, over a full handshake: N32-f proves no more than N32-c did.
#[tokio::test]
async fn n32f_names_no_more_than_n32c() {
    let world = World::associated("").await;
    let also = "sepp2.5gc.mnc003.mcc001.3gppnetwork.org";
    let larger = world.visited_ca.issue_with(&[VISITED, also], |_| ());
    let client = world.visited.careless(HOME, |it| it.credentials = vec![larger.credential()]);
    let met = meet(&client, HOME, world.home.n32f(), b"").await;
    assert_eq!(met.server_alert(), Some(AlertDescription::ACCESS_DENIED), "{:?}", met.server);
    // N32-c may prove more, and N32-f then too.
    let met = meet(&client, HOME, world.home.n32c(), b"").await;
    let identity = world.home.identify(&met.server.unwrap()).identity;
    assert_eq!(identity.certificate.plmns.to_string(), "001-01, 001-03");
    world.home.associations.establish(VISITED, 2, identity.certificate.clone());
    let met = meet(&client, HOME, world.home.n32f(), b"").await;
    assert_eq!(met.mode(), Mode::Full);
}

/// Any peer may have a name without a network: the anchor and the networks decide.
#[tokio::test]
async fn a_name_is_the_peers_under_its_anchor_and_with_its_networks_alone() {
    let mut world = World::new("");
    world.home_words.peers[0].1 = NAMED;
    world.home.reload(&world.home_words);
    let of_third =
        world.third_ca.issue_with(&[NAMED, "x.5gc.mnc410.mcc310.3gppnetwork.org"], |_| ());
    let other_network =
        world.visited_ca.issue_with(&[NAMED, "x.5gc.mnc003.mcc001.3gppnetwork.org"], |_| ());
    let own = world.visited_ca.issue_with(&[NAMED, VISITED], |_| ());
    for (leaf, alert) in [
        (of_third, Some(AlertDescription::ACCESS_DENIED)),
        (other_network, Some(AlertDescription::ACCESS_DENIED)),
        (own, None),
    ] {
        let client = world.visited.careless(HOME, |it| it.credentials = vec![leaf.credential()]);
        let met = meet(&client, HOME, world.home.n32f(), b"").await;
        assert_eq!(met.server_alert(), alert, "{:?}", met.server);
    }
}

#[tokio::test]
async fn a_pinned_peer_shows_that_certificate_and_no_other() {
    let mut world = World::new("");
    let pinned = world.visited_ca.issue(VISITED);
    let fingerprint = tessera_kit::credential::fingerprint(&pinned.der());
    world.home_words.peers[0].2 = format!("pins = [\"{fingerprint}\"]\n");
    world.home.reload(&world.home_words);
    let met = meet(&world.visited.to(HOME), HOME, world.home.n32f(), b"").await;
    assert_eq!(met.server_alert(), Some(AlertDescription::ACCESS_DENIED));
    let client = world.visited.careless(HOME, |it| it.credentials = vec![pinned.credential()]);
    assert_eq!(meet(&client, HOME, world.home.n32f(), b"").await.mode(), Mode::Full);
}

/// An identity from another verifier doesn't count here.
#[tokio::test]
async fn a_connection_that_another_verifier_accepted_is_nobodys() {
    let world = World::new("");
    let roots = trusting(&world);
    let own = vec![world.home_ca.issue(HOME).credential()];
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), own);
    config.client_authentication = ClientAuthentication::Required(Arc::new(roots));
    config.protocols = vec![b"h2".to_vec()];
    let server = Acceptor::new(config.checked().unwrap());
    let met = meet(&world.visited.to(HOME), HOME, &server, b"").await;
    let read = world.home.tls().standing().identify(&met.server.unwrap());
    assert_eq!(read.err(), Some(IdentityRefusal::Unreadable));
}

fn trusting(world: &World) -> tessera_webpki::WebPkiVerifier {
    let leaf = world.visited_ca.der();
    tessera_webpki::WebPkiVerifier::new(&[leaf]).unwrap()
}

/// Keeps the OCSP response that comes with a certificate.
struct StapleVerifier(tessera_webpki::WebPkiVerifier, Mutex<Option<Vec<u8>>>);

impl PeerVerifier for StapleVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("asking").with_policy(&self.0.policy())
    }

    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions { status_request: true, ..EntryExtensions::default() }
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        (*self.1.lock().unwrap()).clone_from(&question.ocsp_response);
        self.0.verify(question)
    }
}

#[tokio::test]
async fn an_ocsp_response_is_stapled_to_the_certificate() {
    let mut world = World::new("");
    let response = [0x30, 3, 0x0a, 1, 6];
    world.home_words.local = "ocsp = \"own.ocsp\"\n";
    world.home.write("own.ocsp", b"-----BEGIN");
    assert!(world.home.fail_to_reload(&world.home_words).contains("own.ocsp"));
    world.home.write("own.ocsp", response);
    world.home.reload(&world.home_words);
    let roots = tessera_webpki::WebPkiVerifier::new(&[world.home_ca.der()]).unwrap();
    let asking = Arc::new(StapleVerifier(roots, Mutex::default()));
    let client = world.visited.careless(HOME, |it| it.verifier = asking.clone());
    for server in [world.home.n32c(), world.home.n32f()] {
        assert_eq!(meet(&client, HOME, server, b"").await.mode(), Mode::Full);
        assert_eq!(asking.1.lock().unwrap().take().as_deref(), Some(&response[..]));
    }
}
