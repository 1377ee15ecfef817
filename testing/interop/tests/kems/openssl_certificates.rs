//! Certificates with keys of KEMs: OpenSSL's, with which both ends authenticate, and ours, which OpenSSL reads and verifies.

use std::fs;
use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::ClientAuthentication;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::KemKey;
use tessera_interop::{CLIENT_NAME, Client, Listener, Pki, SERVER_NAME, to};
use tessera_pki::KemLeaf;
use tessera_test_peers::openssl;

use crate::KEMS;
use crate::openssl_keys::ML_KEMS;

/// Returns a certificate that OpenSSL issues, by the authority's key, for a key of this algorithm that it makes.
fn issued_by_openssl(pki: &Pki, algorithm: &str, name: &str, extensions: &str) -> Credential {
    let at = |end: &str| pki.directory.path(&format!("{algorithm}-{name}.{end}"));
    let [key, key_der, public, der] = ["key", "key.der", "pub", "der"].map(at);
    openssl::run(&["genpkey", "-algorithm", algorithm, "-out", &key]);
    openssl::run(&["pkey", "-in", &key, "-outform", "DER", "-out", &key_der]);
    openssl::run(&["pkey", "-in", &key, "-pubout", "-out", &public]);
    let extensions = pki.directory.write(
        &format!("{algorithm}-{name}.ext"),
        format!("subjectAltName=DNS:{name}\n{extensions}"),
    );
    let (subject, ca_key) = (format!("/CN={name}"), pki.ca_key_file());
    let of = ["x509", "-new", "-force_pubkey", &public, "-subj", &subject, "-days", "2"];
    let by = ["-CA", &pki.ca_file, "-CAkey", &ca_key, "-extfile", &extensions];
    openssl::run(&[&of[..], &by, &["-outform", "DER", "-out", &der]].concat());
    let key = KemKey::from_pkcs8(&fs::read(key_der).unwrap()).unwrap();
    Credential::new(vec![fs::read(der).unwrap()], PrivateKey::Decapsulates(Arc::new(key)))
}

/// Both ends authenticate with a KEM.
#[track_caller]
fn authenticate(pki: &Pki, server: Credential, client: Credential, scheme: SignatureScheme) {
    let provider = tessera_aws_lc::provider();
    let mut client_config = ClientConfig::new(provider, pki.verifier_with_kems(&[scheme]));
    client_config.credentials = vec![client];
    let mut server_config = ServerConfig::new(provider, vec![server]);
    server_config.client_authentication =
        ClientAuthentication::Required(pki.verifier_with_kems(&[scheme]));
    let listener = Listener::new();
    let mut client = Client::start(&client_config, to(None), listener.address());
    let mut server = listener.serve(&server_config);
    while !(client.told.complete && server.told.complete) {
        client.step();
        server.step();
        assert_eq!((&client.told.error, &server.told.error), (&None, &None), "{scheme:?}");
    }
    for facts in [client.facts(), server.facts()] {
        assert_eq!(facts.signature_scheme, Some(scheme));
    }
    let peer = server.facts().peer.clone().unwrap();
    assert_eq!(peer.blob, format!("dns:{CLIENT_NAME}").into_bytes());
}

/// Of an authority on P-256 and one with ML-DSA-65; with the key usage of RFC 9935 §5, and with none.
#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn both_ends_authenticate_with_ml_kem_certificates_by_openssl() {
    for pki in [Pki::new(), Pki::post_quantum()] {
        for (algorithm, scheme) in ML_KEMS {
            for usage in ["keyUsage=critical,keyEncipherment\n", ""] {
                let issued = |name: &str, purpose: &str| {
                    let extensions = format!("{usage}extendedKeyUsage={purpose}\n");
                    issued_by_openssl(&pki, algorithm, name, &extensions)
                };
                let server = issued(SERVER_NAME, "serverAuth");
                authenticate(&pki, server, issued(CLIENT_NAME, "clientAuth"), scheme);
            }
        }
    }
}

#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn both_ends_authenticate_with_x25519_certificates_by_openssl() {
    let pki = Pki::new();
    let usage = "keyUsage=critical,keyAgreement\n";
    let [server, client] =
        [SERVER_NAME, CLIENT_NAME].map(|name| issued_by_openssl(&pki, "X25519", name, usage));
    authenticate(&pki, server, client, SignatureScheme::KEM_X25519);
}

#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn openssl_reads_and_verifies_our_certificates_and_keys_of_kems() {
    for pki in [Pki::new(), Pki::post_quantum()] {
        for scheme in KEMS {
            let leaf = pki.server_with_kem(scheme);
            let [certificate, key] = files(&pki, &leaf);
            let purpose = ["-purpose", "sslserver", "-CAfile", &pki.ca_file];
            let name = ["-verify_hostname", SERVER_NAME];
            let verified =
                openssl::output(&[&["verify"], &purpose[..], &name, &[&certificate]].concat());
            assert!(verified.contains(": OK"), "{verified}");
            let (algorithm, usage) = match ML_KEMS.iter().find(|(_, it)| *it == scheme) {
                Some((name, _)) => (*name, "Key Encipherment"),
                None => ("X25519", "Key Agreement"),
            };
            let text = openssl::output(&["x509", "-noout", "-text", "-in", &certificate]);
            assert!(text.contains(&format!("{algorithm} Public-Key:")), "{text}");
            let told = text.split_once("X509v3 Key Usage: critical\n").unwrap().1;
            assert_eq!(told.lines().next().unwrap().trim(), usage, "{algorithm}");
            let text = openssl::output(&["pkey", "-noout", "-text", "-in", &key]);
            assert!(text.contains(&format!("{algorithm} Private-Key:")), "{text}");
            // The halves belong together.
            let of_key = openssl::output(&["pkey", "-pubout", "-in", &key]);
            assert_eq!(
                of_key,
                openssl::output(&["x509", "-noout", "-pubkey", "-in", &certificate])
            );
        }
    }
}

fn files(pki: &Pki, leaf: &KemLeaf) -> [String; 2] {
    [("kem.pem", leaf.chain_pem()), ("kem.key", leaf.key_pem())]
        .map(|(name, pem)| pki.directory.write(name, pem))
}
