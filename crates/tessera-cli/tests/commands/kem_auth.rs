//! KEM authentication, and known server keys.

use std::fs;

use serde_json::Value;

use crate::certificate::{KemPki, SERVER};
use crate::program::{Server, connect, facts, run, stderr, tessera};

/// An authority with ML-DSA, a server and a client with keys of KEMs.
struct Ends {
    pki: KemPki,
}

impl Ends {
    fn new() -> Self {
        let pki = KemPki::new("ml-dsa-44");
        pki.issue("server", "ml-kem-768", SERVER);
        pki.issue("client", "ml-kem-512", &["--name", "client.example", "--client"]);
        Self { pki }
    }

    fn serve(&self, more: &[&str]) -> Server {
        let [own, key] = ["server.pem", "server.key"].map(|it| self.pki.path(it));
        Server::start(&[&["--kem-auth", "--certificate", &own, "--key", &key], more].concat())
    }

    fn connect(&self, server: &Server, more: &[&str]) -> Value {
        let root = self.pki.path("root.pem");
        let own = ["--kem-auth", "--ca", &root, "--json", "-"];
        facts(&server.connect(&[&own, more].concat(), "hello"))
    }
}

#[test]
fn a_server_authenticates_with_a_kem_and_tickets_and_early_data_follow() {
    let ends = Ends::new();
    let early = "--forward-secret-early-data";
    let server = ends.serve(&[early]);
    let (sessions, data) = (ends.pki.path("sessions"), ends.pki.path("data"));
    fs::write(&data, "early").unwrap();
    let first = ends.connect(&server, &["--sessions", &sessions, early]);
    let scheme = "KEM_MLKEM768";
    assert_eq!((&first["server_signature_scheme"], &first["psk"]), (&scheme.into(), &Value::Null));
    assert_eq!(
        (&first["peer"], &first["server_is_implicit"]),
        (&"127.0.0.1".into(), &false.into())
    );
    let then = ends.connect(&server, &["--sessions", &sessions, early, "--early-data", &data]);
    assert_eq!((&then["psk"], &then["early_data"]), (&"forward-secret".into(), &"accepted".into()));
    assert_eq!(then["peer"], "127.0.0.1");
    assert_eq!(server.next()["server_signature_scheme"], scheme);
    // People see it, too.
    let [root, own] = ["root.pem", "server.pem"].map(|it| ends.pki.path(it));
    let output = server.connect(&["--kem-auth", "--ca", &root], "hello");
    assert!(
        stderr(&output).contains("full handshake with a KEM, X25519MLKEM768"),
        "{}",
        stderr(&output)
    );
    // A certificate that is trusted itself, and any.
    for trust in
        [&["--fingerprint", &server.fingerprint][..], &["--insecure-accept-any-certificate"]]
    {
        let told =
            facts(&server.connect(&[trust, &["--kem-auth", "--json", "-"]].concat(), "hello"));
        assert_eq!(told["server_signature_scheme"], scheme, "{told}");
    }
    let wrong = ["--kem-auth", "--fingerprint", &"00".repeat(32)];
    assert_eq!(server.connect(&wrong, "").status.code(), Some(1));
    let told = facts(&server.connect(&["--kem-auth", "--ca", &own, "--json", "-"], "hello"));
    assert_eq!(told["peer"], "127.0.0.1", "the certificate itself as a root");
}

#[test]
fn both_ends_authenticate_with_kems() {
    let ends = Ends::new();
    let root = ends.pki.path("root.pem");
    let [own, key] = ["client.pem", "client.key"].map(|it| ends.pki.path(it));
    for udp in [&[][..], &["--udp"]] {
        let demands = ["--ca", &root, "--require-client-certificate"];
        let server = ends.serve(&[&demands[..], udp].concat());
        let sessions = ends.pki.path(&format!("sessions{}", udp.concat()));
        let options = ["--certificate", &own, "--key", &key, "--sessions", &sessions];
        let options = [&options[..], udp].concat();
        for psk in [Value::Null, "resumption".into()] {
            assert_eq!(ends.connect(&server, &options)["psk"], psk);
            let told = server.next();
            let expected = (&"dns:client.example".into(), &Value::Null);
            assert_eq!((&told["peer"], &told["error"]), expected, "{udp:?}");
        }
    }
    let server = ends.serve(&["--ca", &root, "--require-client-certificate"]);
    // A client without a certificate is refused; its server had shown nothing but its certificate until then.
    let options = ["--kem-auth", "--ca", &root, "--json", "-"];
    let output = server.connect(&options, "hello");
    assert!(stderr(&output).contains("it requires a certificate"), "{}", stderr(&output));
    // A client that signs has none for such a server.
    ends.pki.issue("signing", "p256", &["--name", "client.example", "--client"]);
    let [own, key] = ["signing.pem", "signing.key"].map(|it| ends.pki.path(it));
    let output =
        server.connect(&[&options[..], &["--certificate", &own, "--key", &key]].concat(), "");
    let told = stderr(&output);
    assert!(told.contains("it requires a certificate") && told.contains("of a KEM"), "{told}");
}

#[test]
fn a_client_without_kem_auth_is_refused_by_a_server_with_a_kem_and_meets_others() {
    let ends = Ends::new();
    let root = ends.pki.path("root.pem");
    let server = ends.serve(&[]);
    let output = server.connect(&["--ca", &root], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--kem-auth"), "{}", stderr(&output));
    ends.pki.issue("signing", "ml-dsa-44", SERVER);
    let [own, key] = ["signing.pem", "signing.key"].map(|it| ends.pki.path(it));
    let signing = Server::start(&["--certificate", &own, "--key", &key]);
    assert_eq!(ends.connect(&signing, &[])["server_signature_scheme"], "MLDSA44");
}

#[test]
fn a_server_whose_key_is_known_shows_no_certificate_over_tcp_and_udp() {
    let ends = Ends::new();
    let [own, key, public] = ["server.pem", "known.key", "known.pub"].map(|it| ends.pki.path(it));
    let made =
        ["certificate", "key", "--kind", "ml-kem-768", "--key", &key, "--public-key", &public];
    assert!(run(tessera().args(made), "").status.success());
    for udp in [&[][..], &["--udp"]] {
        let server = Server::start(&[&["--known-key", &key], udp].concat());
        assert!(server.listening["fingerprint"].is_null(), "{}", server.listening);
        let known = [&["--known-key", &public, "--json", "-"], udp].concat();
        let told = facts(&server.connect(&known, "hello"));
        assert_eq!((&told["psk"], &told["resumed"]), (&"known-key".into(), &false.into()));
        assert_eq!((&told["peer"], &told["peer_certificate"]), (&"127.0.0.1".into(), &Value::Null));
        assert_eq!(server.next()["psk"], "known-key");
        // Who knows another key gets nothing.
        let other = [&["--known-key", &own], udp].concat();
        assert_eq!(server.connect(&other, "").status.code(), Some(1));
    }
    let server = Server::start(&["--known-key", &key]);
    let output = server.connect(&["--known-key", &public], "hello");
    assert!(stderr(&output).contains("known server key, X25519MLKEM768"), "{}", stderr(&output));
}

/// The certificate's own key can be known, too.
#[test]
fn an_unknown_key_costs_no_round_trip_and_sessions_follow_a_known_one() {
    let ends = Ends::new();
    let [own, key] = ["client.pem", "client.key"].map(|it| ends.pki.path(it));
    let server = ends.serve(&["--known-key", &key]);
    let sessions = ends.pki.path("sessions");
    for known in [&own, &ends.pki.path("server.pem")] {
        let options = ["--known-key", known, "--sessions", &sessions];
        assert_eq!(ends.connect(&server, &options)["psk"], "known-key");
        assert_eq!(ends.connect(&server, &options)["psk"], "resumption");
    }
    // A session of one key is none of another.
    ends.pki.issue("another", "ml-kem-768", SERVER);
    let another = ends.pki.path("another.pem");
    let told = ends.connect(&server, &["--known-key", &another, "--sessions", &sessions]);
    assert_eq!((&told["psk"], &told["hello_retry_request"]), (&Value::Null, &false.into()));
    assert_eq!(told["server_signature_scheme"], "KEM_MLKEM768");
    let output = server.connect(&["--known-key", &another], "");
    assert!(stderr(&output).contains("check the file after --known-key"), "{}", stderr(&output));
    // Without an authority a certificate isn't accepted.
    let output = server.connect(&["--kem-auth", "--known-key", &another], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("add --ca FILE"), "{}", stderr(&output));
}

#[test]
fn a_server_that_signs_has_known_keys_too_and_reloads_them() {
    let ends = Ends::new();
    ends.pki.issue("signing", "p256", SERVER);
    let [root, own, key, known, public] =
        ["root.pem", "signing.pem", "signing.key", "server.key", "server.pem"]
            .map(|it| ends.pki.path(it));
    let server = Server::start(&["--certificate", &own, "--key", &key, "--known-key", &known]);
    let options = ["--ca", &root, "--known-key", &public, "--json", "-"];
    assert_eq!(facts(&server.connect(&options, "hello"))["psk"], "known-key");
    assert_eq!(server.next()["psk"], "known-key");
    fs::copy(ends.pki.path("client.key"), &known).unwrap();
    server.signal("-HUP");
    assert_eq!(server.next()["event"], "reloaded");
    let told = facts(&server.connect(&options, "hello"));
    assert_eq!(told["server_signature_scheme"], "ECDSA_SECP256R1_SHA256", "{told}");
}

#[test]
fn options_and_keys_of_the_wrong_kind_are_refused_with_the_fix() {
    let ends = Ends::new();
    ends.pki.issue("signing", "p256", SERVER);
    let [root, kem, kem_key, own, key] =
        ["root.pem", "server.pem", "server.key", "signing.pem", "signing.key"]
            .map(|it| ends.pki.path(it));
    let refused = |command: &str, options: &[&str], advice: &[&str]| {
        let host: &[&str] =
            if command == "connect" { &["localhost:1"] } else { &["--listen", "127.0.0.1:0"] };
        let output = run(tessera().arg(command).args(host).args(options), "");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {told}");
        for advice in advice {
            assert!(told.contains(advice), "{options:?}: {told}");
        }
    };
    let with_kem = ["--certificate", &kem, "--key", &kem_key];
    let signing = ["--certificate", &own, "--key", &key];
    for command in ["serve", "connect"] {
        let advice = [kem_key.as_str(), "doesn't sign: add --kem-auth"];
        refused(command, &with_kem, &advice);
    }
    refused("serve", &[&signing[..], &["--kem-auth"]].concat(), &[&key, "this key signs"]);
    refused("serve", &["--kem-auth"], &["--certificate"]);
    let asking = ["--ca", &root, "--require-client-certificate", "--known-key", &kem_key];
    refused("serve", &asking, &["--known-key", "--require-client-certificate"]);
    refused("serve", &["--known-key", &key], &[&key, "this key signs", "ML-KEM-768"]);
    refused("serve", &["--known-key", &kem], &[&kem, "no private key in this file"]);
    refused("connect", &["--known-key", &own], &[&own, "none of a KEM", "--known-key"]);
    refused("connect", &["--known-key", &kem_key], &[&kem_key, "private key", "--known-key"]);
    let server = Server::start(&["--known-key", &kem_key]);
    ends.pki.issue("another", "ml-kem-768", SERVER);
    let output = server.connect(&["--known-key", &ends.pki.path("another.pem")], "");
    assert!(stderr(&output).contains("check the file after --known-key"), "{}", stderr(&output));
    let output = server.connect(&["--kem-auth", "--ca", &root], "");
    assert!(stderr(&output).contains("must be known here: --known-key"), "{}", stderr(&output));
    let output = server.connect(&["--known-key", &kem, "--suites", "TLS_AES_256_GCM_SHA384"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--known-key: add a suite with SHA-256 to --suites"),
        "{}",
        stderr(&output)
    );
    // Files of the seed alone were read above; a damaged one names itself.
    let damaged = ends.pki.path("damaged.key");
    let text = fs::read_to_string(&kem_key).unwrap();
    fs::write(&damaged, text.replacen("MF", "ME", 1)).unwrap();
    refused("serve", &["--known-key", &damaged], &[&damaged, "malformed"]);
    assert_eq!(
        connect(&["localhost:1", "--known-key", "/no/such/file"], "").status.code(),
        Some(2)
    );
}
