//! SIGHUP replaces whom `tessera serve` trusts: sessions of withdrawn clients end.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tessera_test_peers::{Directory, openssl};

use crate::openssl::s_client;
use crate::program::{P256, Pki, RSA, Server, connect, facts, stderr};
use crate::reload::{CLIENT, LOCALHOST, ReloadableServer, assert_failed, reload};

/// Reconnects with the earlier sessions, as a client with a certificate.
fn come_back(live: &ReloadableServer, sessions: &str, early_data: bool) -> Output {
    let [root, certificate, key] =
        ["root.pem", "client.pem", "client.key"].map(|name| live.pki.path(name));
    let own = ["--ca", &root, "--certificate", &certificate, "--key", &key];
    let options = ["--sessions", sessions, "--json", "-", "--forward-secret-early-data"];
    let early = live.files.write("early", "early\n");
    let early: &[&str] = if early_data { &["--early-data", &early] } else { &[] };
    live.server.connect(&[&own[..], &options, early].concat(), "hello\n")
}

#[test]
fn a_client_whose_authority_is_gone_does_not_resume() {
    let (clients, sessions) = (Directory::new(), Directory::new());
    let trusted = clients.path("clients.pem");
    let pki = Pki::new(P256);
    fs::copy(pki.path("root.pem"), &trusted).unwrap();
    let (chain, key) = (pki.path("server.pem"), pki.path("server.key"));
    let server = Server::start(&[
        "--certificate",
        &chain,
        "--key",
        &key,
        "--ca",
        &trusted,
        "--require-client-certificate",
        "--forward-secret-early-data",
    ]);
    let live = ReloadableServer { pki, files: Directory::new(), server };
    let sessions = sessions.path("sessions");
    assert_eq!(facts(&come_back(&live, &sessions, true))["resumed"], false);
    live.server.next();
    let told = facts(&come_back(&live, &sessions, true));
    assert_eq!((&told["psk"], &told["early_data"]), (&"forward-secret".into(), &"accepted".into()));
    live.server.next();

    // The same files: no client is withdrawn.
    let told = live.reload();
    assert_eq!(told["ended_sessions_of_certificates"], false, "{told}");
    assert_eq!(facts(&come_back(&live, &sessions, true))["psk"], "forward-secret");
    live.server.next();

    let other = Pki::new(P256);
    fs::copy(other.path("root.pem"), &trusted).unwrap();
    let told = live.reload();
    assert_eq!(told["ended_sessions_of_certificates"], true, "{told}");
    let output = come_back(&live, &sessions, true);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = live.server.next();
    assert_eq!((&told["resumed"], &told["peer"]), (&false.into(), &Value::Null), "{told}");
    assert_ne!(told["early_data"], "accepted");
    assert!(told["error"].as_str().unwrap().contains("not accepted"), "{told}");
}

/// Issues a revocation list of the authority with these certificates.
fn revocation_list(pki: &Pki, revoked: &[&str], out: &str) {
    let directory = &pki.directory;
    let mut index = String::new();
    for name in revoked {
        let serial = pki.path("serial");
        openssl::run(&["x509", "-in", &pki.path(name), "-noout", "-serial", "-out", &serial]);
        let serial = fs::read_to_string(serial).unwrap();
        let (_, serial) = serial.trim().split_once('=').unwrap();
        index += &format!("R\t300101000000Z\t250101000000Z\t{serial}\tunknown\t/CN=it\n");
    }
    let index = directory.write("index", index);
    let number = directory.write("number", "01\n");
    let config = directory.write(
        "ca.cnf",
        format!(
            "[ca]\ndefault_ca=own\n[own]\ndatabase={index}\ncrlnumber={number}\ndefault_md=sha256\n\
             default_crl_days=2\n"
        ),
    );
    let (key, root) = (pki.path("root.key"), pki.path("root.pem"));
    let own = ["ca", "-gencrl", "-config", &config, "-keyfile", &key, "-cert", &root];
    openssl::run(&[&own[..], &["-out", out]].concat());
}

#[test]
fn a_client_that_a_new_list_revokes_does_not_resume_and_a_list_of_another_authority_is_refused() {
    let pki = Pki::new(P256);
    let files = Directory::new();
    pki.issue("other", CLIENT, P256);
    let (crl, sessions) = (files.path("clients.crl"), files.path("sessions"));
    revocation_list(&pki, &[], &crl);
    let [chain, key, root] = ["server.pem", "server.key", "root.pem"].map(|name| pki.path(name));
    let server = Server::start(&[
        "--certificate",
        &chain,
        "--key",
        &key,
        "--ca",
        &root,
        "--crl",
        &crl,
        "--require-client-certificate",
        "--forward-secret-early-data",
    ]);
    let live = ReloadableServer { pki, files, server };
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], false);
    live.server.next();

    // A later list without entries ends nothing.
    revocation_list(&live.pki, &[], &crl);
    assert_eq!(live.reload()["ended_sessions_of_certificates"], false);
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], true);
    live.server.next();

    let namesake = Pki::new(P256);
    revocation_list(&namesake, &[], &crl);
    assert_failed(&live.reload(), 2, "clients.crl", "not signed by a root of that name");
    fs::write(&crl, "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n").unwrap();
    assert_failed(&live.reload(), 2, "clients.crl", "revocation list");
    fs::write(&crl, "").unwrap();
    assert_failed(&live.reload(), 2, "clients.crl", "no revocation list");
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], true);
    live.server.next();

    // Another client's revocation ends all sessions; the other clients make full handshakes.
    revocation_list(&live.pki, &["other.pem"], &crl);
    assert_eq!(live.reload()["ended_sessions_of_certificates"], true);
    assert_eq!(facts(&come_back(&live, &sessions, false))["resumed"], false);
    live.server.next();

    revocation_list(&live.pki, &["client.pem", "other.pem"], &crl);
    live.reload();
    let output = come_back(&live, &sessions, true);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = live.server.next();
    assert!(told["error"].as_str().unwrap().contains("CERTIFICATE_REVOKED"), "{told}");
    assert_ne!(told["early_data"], "accepted");
}

#[test]
fn psks_are_exchanged_and_sessions_of_those_that_are_gone_end() {
    let files = Directory::new();
    let [one, other] = [1, 2].map(|byte| format!("client1:{}", format!("{byte:02x}").repeat(16)));
    let (psks, sessions) = (files.write("psks", &one), files.path("sessions"));
    let server = Server::start(&["--psk-file", &psks]);
    let come_back = |psk: &str| {
        let options = ["--psk", psk, "--sessions", &sessions, "--json", "-"];
        connect(&[&[&*server.address], &options[..]].concat(), "hello\n")
    };
    assert_eq!(facts(&come_back(&one))["psk"], "external");
    server.next();
    fs::write(&psks, format!("second:{}\n{one}\n", "07".repeat(16))).unwrap();
    assert_eq!(reload(&server)["ended_sessions_of_psks"], false);
    assert_eq!(facts(&come_back(&one))["psk"], "resumption");
    server.next();

    fs::write(&psks, format!("{one}\n{other}\n")).unwrap();
    assert_failed(&reload(&server), 2, "psks", "another PSK has this identity");
    fs::write(&psks, &one[..one.len() / 2]).unwrap();
    let told = reload(&server);
    assert_failed(&told, 2, "psks", "16 bytes");
    assert_eq!(told["line"], 1);
    fs::write(&psks, "\n# empty\n").unwrap();
    assert_failed(&reload(&server), 2, "psks", "no PSK");

    // Another secret under the same name.
    fs::write(&psks, &other).unwrap();
    assert_eq!(reload(&server)["ended_sessions_of_psks"], true);
    assert_eq!(come_back(&one).status.code(), Some(1));
    let told = server.next();
    assert_eq!(told["resumed"], false, "{told}");
    assert_eq!(facts(&come_back(&other))["psk"], "external");
}

#[test]
fn s_client_sees_the_new_certificate_and_does_not_resume_under_another_authority() {
    let (pki, files) = (Pki::new(P256), Directory::new());
    pki.issue("renewed", LOCALHOST, RSA);
    let [chain, key, trusted, session] =
        ["chain", "key", "clients", "session"].map(|name| files.path(name));
    let exchange = |from: &str, to: &str| {
        fs::copy(pki.path(from), to).unwrap();
    };
    exchange("server.pem", &chain);
    exchange("server.key", &key);
    exchange("root.pem", &trusted);
    let server = Server::start(&[
        "--http",
        "--certificate",
        &chain,
        "--key",
        &key,
        "--ca",
        &trusted,
        "--require-client-certificate",
    ]);
    let [root, own, own_key] = ["root.pem", "client.pem", "client.key"].map(|name| pki.path(name));
    let as_client = ["-cert", &own, "-key", &own_key, "-CAfile", &root, "-verify_return_error"];
    let s_client = |more: &[&str]| s_client(&server, &[&as_client, more].concat());
    let page = s_client(&["-sess_out", &session]);
    assert!(page.contains("CN = server") || page.contains("CN=server"), "{page}");
    server.next();

    exchange("renewed.pem", &chain);
    exchange("renewed.key", &key);
    assert_eq!(reload(&server)["certificate_changed"], true);
    let page = s_client(&[]);
    assert!(page.contains("CN = renewed") || page.contains("CN=renewed"), "{page}");
    assert!(page.contains("200 OK"), "{page}");
    server.next();
    let page = s_client(&["-sess_in", &session, "-sess_out", &session]);
    assert!(page.contains("Reused, TLSv1.3") && page.contains("200 OK"), "{page}");
    server.next();

    let other = Pki::new(P256);
    fs::copy(other.path("root.pem"), &trusted).unwrap();
    assert_eq!(reload(&server)["ended_sessions_of_certificates"], true);
    let page = s_client(&["-sess_in", &session]);
    assert!(!page.contains("Reused") && !page.contains("200 OK"), "{page}");
    let told = server.next();
    assert!(told["error"].as_str().unwrap().contains("not accepted"), "{told}");
}
