//! NIST's ACVP vectors of key generation, as the package of the crate `fips203` has them.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tessera_kem::{DecapsulationKey, EncapsulationKey};

const VECTORS: &str = "tests/nist_vectors/ML-KEM-keyGen-FIPS203/internalProjection.json.gz";

#[test]
fn keys_are_those_of_nists_vectors() {
    let compressed = std::fs::read(package("fips203").join(VECTORS)).unwrap();
    let vectors: Value = serde_json::from_slice(&gunzip(&compressed)).unwrap();
    let mut checked = 0;
    for group in vectors["testGroups"].as_array().unwrap() {
        let check = match group["parameterSet"].as_str().unwrap() {
            "ML-KEM-512" => key_gen::<2>,
            "ML-KEM-768" => key_gen::<3>,
            "ML-KEM-1024" => key_gen::<4>,
            other => panic!("an unknown parameter set: {other}"),
        };
        for test in group["tests"].as_array().unwrap() {
            check(test);
            checked += 1;
        }
    }
    assert_eq!(checked, 75);
}

fn key_gen<const K: usize>(test: &Value) {
    let seed = [hex(&test["d"]), hex(&test["z"])].concat();
    let key = DecapsulationKey::<K>::from_seed(seed.as_slice().try_into().unwrap());
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    key.encapsulation_key().write(&mut public).unwrap();
    assert_eq!(public, hex(&test["ek"]), "{}", test["tcId"]);
    let mut expanded = vec![0; DecapsulationKey::<K>::EXPANDED_LEN];
    key.write_expanded(&mut expanded).unwrap();
    assert_eq!(expanded, hex(&test["dk"]), "{}", test["tcId"]);
}

fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Where cargo has put a dependency.
fn package(name: &str) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--offline"]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages.iter().find(|package| package["name"] == name).unwrap();
    PathBuf::from(found["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// Opens a file of gzip (RFC 1952) whose header has a file's name, or no optional part.
fn gunzip(file: &[u8]) -> Vec<u8> {
    const NAME: u8 = 8;
    assert_eq!(&file[..3], [0x1f, 0x8b, 8]);
    assert_eq!(file[3] & !NAME, 0, "the header has other parts");
    let mut content = &file[10..];
    if file[3] == NAME {
        let end = content.iter().position(|byte| *byte == 0).unwrap();
        content = &content[end + 1..];
    }
    miniz_oxide::inflate::decompress_to_vec(&content[..content.len() - 8]).unwrap()
}
