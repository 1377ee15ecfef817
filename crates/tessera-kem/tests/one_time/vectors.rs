//! The vectors of T_H in `docs/one-time-kem-vectors.txt`, which `conformance/vectors/check` computes, too.

use std::fmt::Write;
use std::path::PathBuf;

use tessera_kem::{EncapsulationKey, ExperimentalOneTimeKey};

use crate::{public, t_h};

const NAMES: [&str; 6] = ["d", "ek", "m", "r", "c", "K"];

/// A section: key, ciphertext and secret of a parameter set. `byte` is what random bytes are made of.
fn section<const K: usize>(byte: u8) -> [Vec<u8>; 6] {
    let [d, m, r]: [[u8; 32]; 3] =
        [1, 2, 3].map(|n| core::array::from_fn(|i| byte ^ (n * 64) ^ i as u8));
    let mut ek = public::<K>();
    let key = ExperimentalOneTimeKey::<K>::generate(&d, &mut ek).unwrap();
    let mut c = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
    let read = EncapsulationKey::new(&ek).unwrap();
    let secret = ExperimentalOneTimeKey::<K>::encapsulate(&read, &[m, r], &mut c).unwrap();
    assert_eq!(key.decapsulate(&c).unwrap().expose(), secret.expose());
    assert_eq!(t_h(&m, &c, &ek), *secret.expose());
    [d.to_vec(), ek, m.to_vec(), r.to_vec(), c, secret.expose().to_vec()]
}

fn text() -> String {
    let mut text = String::from(
        "# Test vectors of T_H (one-time-kem.md). Made and checked by crates/tessera-kem/tests/one_time, and checked by\n\
         # conformance/vectors/check, which shares no code.\n",
    );
    let sections = [
        ("ML-KEM-512", section::<2>(0x05)),
        ("ML-KEM-768", section::<3>(0x07)),
        ("ML-KEM-1024", section::<4>(0x0a)),
    ];
    for (name, values) in sections {
        writeln!(text, "\n[{name}]").unwrap();
        for (name, value) in NAMES.iter().zip(values) {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{name} = {hex}").unwrap();
        }
    }
    text
}

#[test]
fn the_vectors_of_t_h_are_reproduced() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/one-time-kem-vectors.txt");
    if std::env::var_os("TESSERA_WRITE_VECTORS").is_some() {
        std::fs::write(&path, text()).expect("the file can be written");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the file is there"), text());
}
