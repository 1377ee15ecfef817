//! The test vectors of docs/0rtt-fs.md: their values are computed again, and their flights are
//! accepted. `conformance/vectors/check` computes them without this code.
//!
//! With TESSERA_WRITE_VECTORS set, the vectors are regenerated.
//!
//! The same for docs/kem-auth.md, and the traces of RFC 8448.

mod answers;
mod datagrams;
mod derive;
mod flight;
mod kem_auth;
mod make;
mod mobility;
mod rfc8448;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use tessera::crypto::KeyForm;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_harness::{Mode, OneVault, Scene, Trace};

/// The named values of a section.
type Values = Vec<(&'static str, Vec<u8>)>;

/// One section: a ticket, and the flight under it.
struct Case {
    section: &'static str,
    kind: NamedGroup,
    suite: CipherSuite,
    mode: Mode,
    /// Whether the server wants another group than the one for which the client has a share.
    retries: bool,
}

const X25519: Case = Case {
    section: "x25519",
    kind: NamedGroup::X25519,
    suite: CipherSuite::TLS_AES_128_GCM_SHA256,
    mode: Mode::FsDhe,
    retries: false,
};

const CASES: [Case; 5] = [
    X25519,
    Case { section: "x25519mlkem768", kind: NamedGroup::X25519MLKEM768, ..X25519 },
    Case {
        section: "one-time psk",
        kind: NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED,
        mode: Mode::FsPsk,
        ..X25519
    },
    Case {
        section: "sha384, psk_ke",
        suite: CipherSuite::TLS_AES_256_GCM_SHA384,
        mode: Mode::FsKe,
        ..X25519
    },
    Case { section: "hello retry request", retries: true, ..X25519 },
];

impl Case {
    /// The two ends of the section. The server's tickets are not sealed.
    fn scene(&self) -> Scene {
        let mut scene = Scene::new(tessera_aws_lc::provider(), self.mode);
        scene.client.suites = vec![self.suite];
        scene.server.suites = vec![self.suite];
        let group = match self.kind {
            NamedGroup::X25519MLKEM768 => NamedGroup::X25519MLKEM768,
            _ => NamedGroup::X25519,
        };
        scene.client.groups = vec![group, NamedGroup::SECP256R1];
        scene.server.groups = vec![group];
        if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
            guard.kinds = vec![self.kind];
            // The vectors derive every secret from others, private keys from seeds.
            scene.vault = Arc::new(OneVault::of(KeyForm::Seed));
            guard.vault = scene.vault.clone();
        }
        scene
    }

    /// The scene when the client reconnects.
    fn at_the_flight(&self, mut scene: Scene) -> Scene {
        if self.retries {
            scene.server.groups = vec![NamedGroup::SECP256R1];
        }
        scene
    }
}

#[test]
fn the_vectors_of_forward_secret_0rtt_are_reproduced() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/0rtt-fs-vectors.txt");
    if std::env::var_os("TESSERA_WRITE_VECTORS").is_some() {
        std::fs::write(&path, text()).expect("the file can be written");
    }
    let vectors = Trace::read(&std::fs::read_to_string(&path).expect("the file is there"));
    for case in &CASES {
        derive::check(case, &vectors);
        flight::check(case, &vectors);
    }
    answers::check(&vectors);
    datagrams::check(&vectors);
}

/// The whole file, made again.
fn text() -> String {
    let mut text = String::from(
        "# Test vectors of forward-secret 0-RTT (0rtt-fs.md, section 14). Made and checked by\n\
         # crates/tessera/tests/vectors, and checked by conformance/vectors/check, which shares no code.\n",
    );
    let flights = CASES.iter().map(|case| (case.section, make::flight(case)));
    for (section, values) in flights.chain(answers::make()).chain(datagrams::make()) {
        writeln!(text, "\n[{section}]").expect("a string");
        for (name, value) in values {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{name} = {hex}").expect("a string");
        }
    }
    text
}
