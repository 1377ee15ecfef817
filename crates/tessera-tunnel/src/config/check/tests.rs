//! Contradictory configurations, and valid ones.

use std::time::Duration;

use super::*;
use crate::config::KeySource;

/// A valid server section.
pub(in crate::config) fn server() -> ServerSection {
    let mut section = ServerSection::new(":8443".parse().unwrap(), "db:5432".parse().unwrap());
    section.certificate = Some("server.pem".into());
    section.peers.ca = Some(Anchors::File("ca.pem".into()));
    section.peers.names = vec!["app.example".into()];
    section
}

/// A valid client section.
pub(in crate::config) fn client() -> ClientSection {
    let connect = "db.example:8443".parse().unwrap();
    let mut section = ClientSection::new("127.0.0.1:5432".parse().unwrap(), connect);
    section.peers.ca = Some(Anchors::System);
    section
}

#[track_caller]
fn refused(change: impl FnOnce(&mut ServerSection), key: &str) {
    let mut section = server();
    change(&mut section);
    let error = section.check("pg").unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().starts_with(&format!("[server.pg] {key}: ")), "{error}");
}

#[test]
fn an_impossible_server_setting_is_reported_by_its_key() {
    server().check("pg").unwrap();
    refused(|it| it.peers = Peers::default(), "peers");
    refused(|it| it.peers.names.clear(), "peers.ca");
    refused(|it| it.peers.any_of_ca = true, "peers.any-of-ca");
    refused(|it| it.peers.psk_file = Some("psks".into()), "peers.psk-file");
    refused(
        |it| {
            it.peers.ca = None;
            it.peers.fingerprints = vec!["00".into()];
        },
        "peers.names",
    );
    refused(|it| it.certificate = None, "certificate");
    refused(
        |it| it.peers = Peers { psk_file: Some("psks".into()), ..Peers::default() },
        "certificate",
    );
    refused(|it| it.send_proxy_identity = true, "send-proxy-identity");
    refused(|it| it.limits.connect = it.limits.handshake, "limits.connect");
    refused(|it| it.limits.connections = 0, "limits.connections");
    refused(|it| it.limits.handshakes = Some(0), "limits.handshakes");
    refused(|it| it.limits.idle = Duration::ZERO, "limits.idle");
    refused(
        |it| it.limits.connections_per_address = Some(20_000),
        "limits.connections-per-address",
    );
    refused(
        |it| it.limits.new_per_second_per_address = Some(0),
        "limits.new-per-second-per-address",
    );
}

#[test]
fn names_that_no_certificate_has_are_refused() {
    for name in ["*.example", "app example", "", ".example", "spiffe://x/y", "app.example:8443"] {
        refused(|it| it.peers.names = vec!["app.example".into(), name.into()], "peers.names");
    }
    for name in ["app.example", "localhost", "xn--bcher-kva.example", "my_app", "192.0.2.1"] {
        let mut section = server();
        section.peers.names = vec![name.into()];
        section.check("pg").unwrap();
    }
}

#[test]
fn a_client_states_which_server_is_right() {
    let section = client;
    section().check("pg").unwrap();
    let (mut nobody, mut any, mut lists) = (section(), section(), section());
    nobody.peers.ca = None;
    any.peers.any_of_ca = true;
    lists.peers.crl = vec!["x.crl".into()];
    let (mut hasty, mut keyed, mut many) = (section(), section(), section());
    hasty.limits.write = Duration::ZERO;
    let mut more = section();
    more.limits.connections_per_address = Some(more.limits.connections + 1);
    keyed.sessions_key = Some(KeySource::File("/nowhere".into()));
    many.spare = MOST_SPARE;
    many.check("pg").unwrap();
    many.spare += 1;
    for (section, key) in [
        (nobody, "peers"),
        (any, "peers.any-of-ca"),
        (lists, "peers.crl"),
        (hasty, "limits.write"),
        (more, "limits.connections-per-address"),
        (keyed, "sessions-key"),
        (many, "spare"),
    ] {
        let error = section.check("pg").unwrap_err().to_string();
        assert!(error.starts_with(&format!("[client.pg] {key}: ")), "{error}");
    }
}
