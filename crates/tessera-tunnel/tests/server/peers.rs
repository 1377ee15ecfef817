//! Which clients may connect, and what the others see.

use std::fs;
use std::io;
use std::path::Path;

use tessera::wire::AlertDescription;
use tessera_kit::credential::fingerprint;
use tessera_pki::rcgen::{KeyPair, SanType};
use tessera_tokio::EarlyData;
use tessera_tunnel::config::{ClientSection, Peers, ServerSection};
use tessera_tunnel::metrics::{HandshakeKind, Outcome};

use crate::backends::Echo;
use crate::world::{Client, Files, RunningServer};

fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

fn uri(uri: &str) -> SanType {
    SanType::URI(uri.try_into().unwrap())
}

/// Whether a request goes through, both at first and as early data.
async fn is_allowed(server: &ServerSection, client: &ClientSection) -> io::Result<()> {
    let server = RunningServer::start(server);
    let client = Client::new(client);
    let answered = client.request(server.address, b"hello").await;
    if answered.is_ok() {
        let early = client.early(server.address, b"again").await;
        assert!(matches!(early, EarlyData::Accepted { .. }), "{early:?}");
        drop(early);
    }
    let metrics = server.metrics.clone();
    server.stop().await;
    if answered.is_err() {
        assert_eq!(metrics.connections.get(Outcome::HandshakeFailed), 1);
        assert_eq!(metrics.handshakes.get(HandshakeKind::Failed), 1);
    }
    answered.map(|answer| assert_eq!(answer, b"hello"))
}

#[track_caller]
fn alert(refused: io::Result<()>) -> AlertDescription {
    let error = refused.expect_err("it was allowed");
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<tessera::Error>());
    match inner {
        Some(tessera::Error::AlertReceived(alert)) => *alert,
        _ => panic!("{error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_allowed_by_name_uri_or_all_of_an_authority() {
    let (files, echo) = (Files::new(), Echo::start().await);
    files.issue("by-uri", uri("spiffe://example/app"));
    files.issue("other", dns("other.example"));
    let server = files.server(&echo.forward());
    let with = |name: &str| {
        let mut client = files.client();
        client.certificate = Some(files.path(&format!("{name}.pem")));
        client
    };
    is_allowed(&server, &with("client")).await.unwrap();
    let refused = is_allowed(&server, &with("other")).await;
    assert_eq!(alert(refused), AlertDescription::ACCESS_DENIED);

    let mut by_uri = server.clone();
    (by_uri.peers.names, by_uri.peers.uris) = (Vec::new(), vec!["spiffe://example/app".to_owned()]);
    is_allowed(&by_uri, &with("by-uri")).await.unwrap();
    assert_eq!(alert(is_allowed(&by_uri, &with("client")).await), AlertDescription::ACCESS_DENIED);

    let mut any = server.clone();
    (any.peers.names, any.peers.any_of_ca) = (Vec::new(), true);
    is_allowed(&any, &with("other")).await.unwrap();

    files.issue_elsewhere("stranger", dns("client.example"));
    assert_eq!(alert(is_allowed(&any, &with("stranger")).await), AlertDescription::UNKNOWN_CA);
    let mut nameless = with("client");
    (nameless.certificate, nameless.key) = (None, None);
    let refused = is_allowed(&server, &nameless).await;
    assert_eq!(alert(refused), AlertDescription::CERTIFICATE_REQUIRED);
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_are_allowed_by_fingerprint_at_both_ends() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let client_der = files.issue_elsewhere("client", dns("whoever.example"));
    let server_der = files.issue_elsewhere("server", dns("wherever.example"));
    let (mut server, mut client) = (files.server(&echo.forward()), files.client());
    let only = |der: &[u8]| Peers {
        fingerprints: vec![fingerprint(der).to_uppercase()],
        ..Peers::default()
    };
    (server.peers, client.peers) = (only(&client_der), only(&server_der));
    is_allowed(&server, &client).await.unwrap();
    server.peers = only(&server_der);
    assert_eq!(alert(is_allowed(&server, &client).await), AlertDescription::ACCESS_DENIED);
    server.peers = only(&client_der);
    client.peers = only(&client_der);
    let error = is_allowed(&server, &client).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`peers` of [client.test]") && text.contains(&fingerprint(&server_der)),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_are_allowed_by_raw_public_key_at_both_ends() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let key = |name: &str| {
        let pair = KeyPair::generate().unwrap();
        fs::write(files.path(&format!("{name}.key")), pair.serialize_pem()).unwrap();
        fs::write(files.path(&format!("{name}.pub")), pair.public_key_pem()).unwrap();
    };
    ["server", "client", "other"].into_iter().for_each(key);
    let own = |name: &str| Some(files.path(&format!("{name}.key")));
    let only = |name: &str| Peers {
        public_keys: vec![files.path(&format!("{name}.pub"))],
        ..Peers::default()
    };
    let (mut server, mut client) = (files.server(&echo.forward()), files.client());
    (server.certificate, server.key, server.peers) = (None, own("server"), only("client"));
    (client.certificate, client.key, client.peers) = (None, own("client"), only("server"));
    is_allowed(&server, &client).await.unwrap();
    client.key = own("other");
    assert_eq!(alert(is_allowed(&server, &client).await), AlertDescription::CERTIFICATE_UNKNOWN);
}

fn psks(path: &Path, lines: &str) -> Peers {
    fs::write(path, lines).unwrap();
    Peers { psk_file: Some(path.to_owned()), ..Peers::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_are_allowed_by_external_psk_alone() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let (mut server, mut client) = (files.server(&echo.forward()), files.client());
    (server.certificate, client.certificate) = (None, None);
    let secret = "00112233445566778899aabbccddeeff";
    server.peers = psks(&files.path("psks"), &format!("# ours\napp:{secret}\n"));
    client.peers = psks(&files.path("psk"), &format!("app:{secret}\n"));
    is_allowed(&server, &client).await.unwrap();
    client.peers = psks(&files.path("psk"), &format!("stranger:{secret}\n"));
    assert_eq!(alert(is_allowed(&server, &client).await), AlertDescription::HANDSHAKE_FAILURE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_judged_by_its_name_or_by_its_uri() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let (mut server, mut client) = (files.server(&echo.forward()), files.client());
    client.server_name = Some("other.example".to_owned());
    is_allowed(&server, &client).await.unwrap_err();
    client.peers.names = vec!["server.example".to_owned()];
    is_allowed(&server, &client).await.unwrap();

    files.issue("server-uri", uri("spiffe://example/db"));
    server.certificate = Some(files.path("server-uri.pem"));
    client.peers.names.clear();
    client.peers.uris = vec!["spiffe://example/db".to_owned()];
    is_allowed(&server, &client).await.unwrap();
    client.peers.uris = vec!["spiffe://example/other".to_owned()];
    let error = is_allowed(&server, &client).await.unwrap_err().to_string();
    assert!(error.contains("none of its names is allowed: uri:spiffe://example/db"), "{error}");
}
