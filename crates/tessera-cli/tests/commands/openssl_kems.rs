//! Certificates with keys of KEMs, by `tessera certificate` and by OpenSSL, which knows ML-KEM from 3.5 on.

use std::fs;

use serde_json::Value;
use tessera_test_peers::{Directory, openssl};

use crate::certificate::{KemPki, SERVER};
use crate::program::{Server, facts};

/// The keys, and what OpenSSL calls them.
const KINDS: [(&str, &str); 4] = [
    ("ml-kem-512", "ML-KEM-512"),
    ("ml-kem-768", "ML-KEM-768"),
    ("ml-kem-1024", "ML-KEM-1024"),
    ("x25519", "X25519"),
];

#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn openssl_verifies_what_tessera_certificate_makes() {
    for authority in ["p256", "ed25519", "ml-dsa-44", "ml-dsa-65"] {
        let pki = KemPki::new(authority);
        let [root, own, key] = ["root.pem", "own.pem", "own.key"].map(|it| pki.path(it));
        for (kind, name) in KINDS {
            pki.issue("own", kind, &[SERVER, &["--force"]].concat());
            let strict = ["-x509_strict", "-purpose", "sslserver", "-CAfile", &root];
            let verified = openssl::output(&[&["verify"], &strict[..], &[&own]].concat());
            assert!(verified.contains(": OK"), "{verified}");
            let text = openssl::output(&["x509", "-noout", "-text", "-in", &own]);
            assert!(text.contains(&format!("{name} Public-Key:")), "{text}");
            // The program's keys are for their owner alone.
            let readable = pki.path("readable.key");
            fs::write(&readable, fs::read(&key).unwrap()).unwrap();
            let of_key = openssl::output(&["pkey", "-pubout", "-in", &readable]);
            assert_eq!(of_key, openssl::output(&["x509", "-noout", "-pubkey", "-in", &own]));
        }
    }
}

/// An authority of OpenSSL's, and both ends with its certificates: over TCP and over datagrams.
#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn both_ends_authenticate_with_certificates_by_openssl() {
    let directory = Directory::new();
    let path = |name: &str| directory.path(name);
    let [ca, ca_key] = [path("ca.pem"), path("ca.key")];
    let subject = ["-subj", "/CN=An authority", "-days", "2"];
    let made = ["req", "-x509", "-newkey", "ML-DSA-65", "-nodes", "-keyout", &ca_key, "-out", &ca];
    openssl::run(&[&made[..], &subject].concat());
    for (_, algorithm) in KINDS {
        let usage = if algorithm == "X25519" { "keyAgreement" } else { "keyEncipherment" };
        let issue = |file: &str, names: &str, purpose: &str| {
            let [own, key, public, extensions] =
                ["pem", "key", "pub", "ext"].map(|end| path(&format!("{file}.{end}")));
            openssl::run(&["genpkey", "-algorithm", algorithm, "-out", &key]);
            openssl::run(&["pkey", "-in", &key, "-pubout", "-out", &public]);
            let text = format!(
                "subjectAltName={names}\nkeyUsage=critical,{usage}\nextendedKeyUsage={purpose}\n"
            );
            fs::write(&extensions, text).unwrap();
            let of = ["x509", "-new", "-force_pubkey", &public, "-subj", "/CN=An end"];
            let by = ["-CA", &ca, "-CAkey", &ca_key, "-extfile", &extensions, "-out", &own];
            openssl::run(&[&of[..], &by].concat());
            (own, key)
        };
        let (server, server_key) = issue("server", "DNS:localhost,IP:127.0.0.1", "serverAuth");
        let (client, client_key) = issue("client", "DNS:client.example", "clientAuth");
        for udp in [&[][..], &["--udp"]] {
            let own = ["--kem-auth", "--certificate", &server, "--key", &server_key];
            let asks = ["--ca", &ca, "--require-client-certificate"];
            let server = Server::start(&[&own[..], &asks, udp].concat());
            let own = ["--kem-auth", "--certificate", &client, "--key", &client_key];
            let trusts = ["--ca", &ca, "--json", "-"];
            let told = facts(&server.connect(&[&own[..], &trusts, udp].concat(), "hello"));
            let scheme = format!("KEM_{}", algorithm.replacen("ML-KEM-", "MLKEM", 1));
            assert_eq!(told["server_signature_scheme"], scheme, "{told}");
            let told = server.next();
            let expected = (&"dns:client.example".into(), &Value::Null);
            assert_eq!((&told["peer"], &told["error"]), expected);
        }
    }
}
