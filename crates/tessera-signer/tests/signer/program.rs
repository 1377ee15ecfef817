//! A configuration in files.

use std::fs;
use std::path::{Path, PathBuf};

use tessera_pki::rcgen;
use tessera_test_peers::Directory;

use crate::common::*;

/// Writes a configuration and its files; returns the path.
fn write(directory: &Directory, world: &World) -> PathBuf {
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let bare = world.leaf(&rcgen::PKCS_RSA_SHA256);
    for (name, text) in [
        ("signer.pem", world.authority.issue("localhost").both_pem()),
        ("ca.pem", world.authority.pem()),
        ("www.pem", leaf.both_pem()),
        ("bare.key", bare.key_pem()),
    ] {
        directory.write_private(name, text);
    }
    let text = "[signer]\nlisten = \"127.0.0.1:0\"\ncertificate = \"signer.pem\"\nca = \"ca.pem\"\n\
                [key.www]\ncertificate = \"www.pem\"\nallow = [\"edge-a.internal\"]\nrate = 5\nburst = 9\n\
                [key.bare]\nkey = \"bare.key\"\nallow = [\"edge-a.internal\"]\nrate = 7\n";
    PathBuf::from(directory.write("signer.toml", text))
}

fn problem(path: &Path) -> String {
    tessera_signer::summary(path).expect_err("it can run").to_string()
}

#[test]
fn check_reads_every_file_and_shows_who_may_sign() {
    let (directory, world) = (Directory::new(), World::new());
    let path = write(&directory, &world);
    let text = tessera_signer::summary(&path).unwrap();
    for line in ["[key.www]", "edge-a.internal", "5 signatures a second, 9 at once", "0x0403"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("7 signatures a second, 7 at once") && text.contains("0x0804"), "{text}");

    // A key of another certificate.
    let other = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let good = fs::read_to_string(directory.path("www.pem")).unwrap();
    directory.write("www.pem", &(other.chain_pem() + &good));
    assert!(problem(&path).contains("belongs to another certificate"), "{}", problem(&path));
    directory.write("www.pem", &good);
    directory.write("bare.key", "nothing");
    assert!(problem(&path).contains("no private key"), "{}", problem(&path));
    fs::remove_file(directory.path("ca.pem")).unwrap();
    assert!(problem(&path).contains("ca.pem"), "{}", problem(&path));
}
