//! Every way to shake hands.
use tessera_test_peers::Directory;

use tessera_test_peers::openssl;

use crate::program::{P256, Pki, RSA, Server, connect, facts, stderr};

const KEY: &str = "client1:000102030405060708090a0b0c0d0e0f1011121314151617";

#[test]
fn serve_echoes_what_connect_sends() {
    let server = Server::start(&[]);
    let long = "0123456789abcdef".repeat(20_000);
    let output = server.connect(&["--fingerprint", &server.fingerprint], &long);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout == long.as_bytes(), "{} bytes came back", output.stdout.len());
    assert!(stderr(&output).contains("full handshake, X25519MLKEM768"), "{}", stderr(&output));

    let told = server.next();
    assert_eq!(told["event"], "connection");
    assert_eq!(told["version"], "TLSv1.3");
    assert_eq!(told["group"], "X25519MLKEM768");
    assert_eq!(told["server_signature_scheme"], "ECDSA_SECP256R1_SHA256");
    assert_eq!(told["resumed"], false);
    assert_eq!(told["ancestry"], "post-quantum");
    assert_eq!(told["error"], serde_json::Value::Null);
    assert!(told["bytes_received"].as_u64().unwrap() > long.len() as u64);
    assert!(told["handshake_micros"].as_u64().unwrap() <= told["total_micros"].as_u64().unwrap());
}

#[test]
fn keys_are_read_as_sec1_and_as_pkcs1() {
    for (kind, label) in [(P256, "BEGIN EC PRIVATE KEY"), (RSA, "BEGIN RSA PRIVATE KEY")] {
        let pki = Pki::new(kind);
        let [root, certificate, key, old] =
            ["root.pem", "server.pem", "server.key", "old.key"].map(|it| pki.path(it));
        openssl::run(&["pkey", "-traditional", "-in", &key, "-out", &old]);
        assert!(std::fs::read_to_string(&old).unwrap().contains(label));
        let server = Server::start(&["--certificate", &certificate, "--key", &old]);
        let output = server.connect(&["--ca", &root], "hello");
        assert!(output.stdout == b"hello", "{}", stderr(&output));
    }
}

#[test]
fn connect_and_serve_verify_each_others_certificates() {
    for kind in [P256, RSA] {
        let pki = Pki::new(kind);
        let [root, certificate, key] =
            ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
        let server = Server::start(&[
            "--certificate",
            &certificate,
            "--key",
            &key,
            "--ca",
            &root,
            "--require-client-certificate",
        ]);
        let [certificate, key] = ["client.pem", "client.key"].map(|it| pki.path(it));
        let options = ["--ca", &root, "--server-name", "localhost", "--json", "-"];
        let own = ["--certificate", &certificate, "--key", &key];
        let told = facts(&server.connect(&[&options[..], &own].concat(), ""));
        assert_eq!(told["peer"], "localhost");
        assert_eq!(server.next()["peer"], "dns:client.example");

        let output = server.connect(&options, "");
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("CERTIFICATE_REQUIRED"), "{}", stderr(&output));
        assert!(server.next()["error"].as_str().unwrap().contains("needs one"));
    }
}

#[test]
fn serve_welcomes_client_certificates_that_it_does_not_require() {
    let pki = Pki::new(P256);
    let root = pki.path("root.pem");
    let server = Server::start(&["--ca", &root, "--ask-client-certificate"]);
    let told = server.facts(&[]);
    assert_eq!(told["psk"], serde_json::Value::Null);
    assert_eq!(server.next()["peer"], serde_json::Value::Null);
    let (certificate, key) = (pki.path("client.pem"), pki.path("client.key"));
    server.facts(&["--certificate", &certificate, "--key", &key]);
    assert_eq!(server.next()["peer"], "dns:client.example");
}

#[test]
fn connect_reaches_serve_with_external_and_imported_psks() {
    let directory = Directory::new();
    let file =
        directory.write("psks", format!("# comment\n\nother:{0}{0}\n{KEY}\n", "aa".repeat(16)));
    let import = ["--import-psks", "--psk-context", "client-server"];
    let cases: [(&[&str], &str, &str); 4] = [
        (&[], "external", "client1"),
        (&["--psk-hash", "sha384"], "external", "client1"),
        (&import, "imported", "0x"),
        (&["--psk-only-without-forward-secrecy"], "external", "client1"),
    ];
    for (options, kind, identity) in cases {
        let server = Server::start(&[&["--psk-file", file.as_str()], options].concat());
        assert_eq!(server.fingerprint, "", "no certificate is made if there are PSKs");
        let known = [&["--psk", KEY, "--json", "-"], options].concat();
        let told = facts(&server.connect(&known, "hello"));
        assert_eq!(told["psk"], kind);
        assert_eq!(told["resumed"], false);
        assert!(told["external_psk"].as_str().unwrap().starts_with(identity), "{told}");
        if options.contains(&"sha384") {
            assert_eq!(told["suite"], "TLS_AES_256_GCM_SHA384");
        }
        let alone = options.contains(&"--psk-only-without-forward-secrecy");
        assert_eq!(told["group"].is_null(), alone, "{told}");
        assert_eq!(server.next()["psk"], kind);
    }
}

#[test]
fn options_choose_group_suite_protocol_and_record_size() {
    let server = Server::start(&["--groups", "p-256,x25519", "--alpn", "b,a"]);
    let told = server.facts(&[
        "--groups",
        "X25519MLKEM768,x25519,secp256r1",
        "--suites",
        "tls_chacha20_poly1305_sha256",
        "--alpn",
        "a,b",
        "--record-size-limit",
        "64",
    ]);
    assert_eq!(told["group"], "X25519");
    assert_eq!(told["suite"], "TLS_CHACHA20_POLY1305_SHA256");
    assert_eq!(told["protocol"], "b");
    assert_eq!(told["ancestry"], "classical");
    assert_eq!(server.next()["hello_retry_request"], false);
    let told = server.facts(&["--groups", "secp384r1,secp256r1"]);
    assert_eq!(told["hello_retry_request"], true);
    assert_eq!(told["group"], "SECP256R1");
}

#[test]
fn the_key_log_of_connect_has_every_secret() {
    let directory = Directory::new();
    let (near, far) = (directory.path("near"), directory.path("far"));
    let server = Server::start(&["--key-log", &far]);
    server.facts(&["--key-log", &near]);
    let log = std::fs::read_to_string(&near).unwrap();
    for label in [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
    ] {
        let line = log.lines().find(|line| line.starts_with(label)).expect(label);
        assert!(std::fs::read_to_string(&far).unwrap().contains(line), "{line}");
    }
}

/// As Debian's `make-ssl-cert` makes `ssl-cert-snakeoil.pem`, and as `openssl req -x509` makes them.
#[test]
fn a_certificate_that_signed_itself_can_be_trusted() {
    let directory = Directory::new();
    for (name, authority) in [("snakeoil", "CA:FALSE"), ("authority", "CA:TRUE")] {
        let [certificate, key] = ["pem", "key"].map(|end| directory.path(&format!("{name}.{end}")));
        let constraints = format!("basicConstraints=critical,{authority}");
        let mut request = vec!["req", "-x509", "-nodes", "-days", "2", "-newkey", "rsa:2048"];
        request.extend(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
        request.extend(["-addext", &constraints, "-keyout", &key, "-out", &certificate]);
        openssl::run(&request);
        let server = Server::start(&["--certificate", &certificate, "--key", &key]);
        let trust = ["--ca", &certificate, "--server-name", "localhost"];
        let output = server.connect(&trust, "hello");
        assert_eq!(output.stdout, b"hello", "{name}: {}", stderr(&output));
        // Another server of that name is rejected.
        let other = Server::start(&["--name", "localhost"]);
        let output = other.connect(&trust, "hello");
        assert_eq!(output.status.code(), Some(1), "{name}");
        if authority == "CA:FALSE" {
            let told = stderr(&output);
            assert!(told.contains("no trusted root issued it"), "{told}");
        }
    }
}

#[test]
fn a_certificate_that_serve_made_can_be_written_and_trusted() {
    let directory = Directory::new();
    let path = directory.path("certificate.pem");
    let server = Server::start(&["--name", "server.test", "--write-certificate", &path]);
    let told = connect(
        &[&server.address, "--ca", &path, "--server-name", "server.test", "--json", "-"],
        "",
    );
    assert_eq!(facts(&told)["peer"], "server.test");
}
