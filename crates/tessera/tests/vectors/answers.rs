//! The server's answers in EncryptedExtensions: verdicts and receipts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::Destination;
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, ClientSession, FlightHandle, PutRefused, PutSecret, Receipt, Receipts, SettleReceipt,
    TakeAnswer, TakeSecret, Vault,
};
use tessera::wire::{ExtensionType, HandshakeType};
use tessera_harness::{Hello, Scene, Trace, at, messages, open_all, records, to};

use crate::{Values, X25519};

/// A whole EncryptedExtensions message.
pub(crate) struct EncryptedExtensions(pub(crate) Vec<u8>);

impl EncryptedExtensions {
    /// Extracts it from a server's first flight, the scene's newest.
    pub(crate) fn of(scene: &Scene, flight: &[u8]) -> Self {
        let opened = open_all(flight, &mut scene.server_sealers());
        let under_handshake_keys = opened.iter().filter(|(epoch, ..)| *epoch == 1);
        let mut messages = under_handshake_keys.flat_map(|(.., content)| messages(content));
        let found = messages.find(|message| message[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0);
        Self(found.expect("EncryptedExtensions"))
    }
}

const ENDED_BEFORE: u32 = 70_000;

/// The vectors' names of a vault's answers.
const VERDICTS: [(&str, Absence); 4] = [
    ("unknown", Absence::Unknown),
    ("burned", Absence::Burned),
    ("used", Absence::Used),
    ("lost", Absence::Lost { ended_before: Duration::from_millis(ENDED_BEFORE as u64) }),
];

/// The sections of the server's answers.
pub(crate) fn make() -> [(&'static str, Values); 2] {
    let mut verdicts = VERDICTS.map(|(name, absent)| (name, verdict(absent))).to_vec();
    verdicts.push(("ended before", ENDED_BEFORE.to_be_bytes().to_vec()));
    let [extension, answer] = receipts();
    let receipts = vec![
        ("handles", HANDLES.as_flattened().to_vec()),
        ("ClientHello extension", extension),
        ("EncryptedExtensions", answer),
    ];
    [("verdicts", verdicts), ("receipts", receipts)]
}

/// Checks that the engine still answers so.
pub(crate) fn check(vectors: &Trace) {
    for (section, values) in make() {
        for (name, value) in values {
            assert_eq!(vectors.get(section, name), value, "{section}, {name}");
        }
    }
}

/// A server's answer to early data whose key is absent.
fn verdict(absent: Absence) -> Vec<u8> {
    let mut scene = X25519.scene();
    let session = scene.session();
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = Arc::new(EmptyVault(absent));
    }
    let mut pair = scene.start(session, at(0));
    pair.client_to_server();
    EncryptedExtensions::of(&scene, &pair.intercept_server()).0
}

const HANDLES: [[u8; 32]; 4] = [[0xa0; 32], [0xa1; 32], [0xa2; 32], [0xa3; 32]];

/// A client's question about four flights, as a whole extension, and the server's answer.
fn receipts() -> [Vec<u8>; 2] {
    let mut scene = X25519.scene();
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.receipts = Some(Arc::new(SequentialReceipts::default()));
    }
    let ask_receipts = HANDLES.map(FlightHandle).to_vec();
    // Only a client that presents a PSK gets an answer.
    let session = scene.session().map(|it| ClientSession { forward_secret: None, ..it });
    let mut pair = scene.start_to(Destination { ask_receipts, ..to(session) }, at(0));
    let hello = records(pair.client_output.as_slice()).remove(0);
    let extension = Hello::read(&hello[5..]);
    let extension = extension.extension(ExtensionType::FORWARD_SECRET_RECEIPTS);
    let extension = extension.expect("the question").clone();
    pair.client_to_server();
    [extension, EncryptedExtensions::of(&scene, &pair.intercept_server()).0]
}

/// A vault without the requested secret.
struct EmptyVault(Absence);

impl Vault for EmptyVault {
    fn put(&self, _: PutSecret<'_>) -> Result<(), PutRefused> {
        Err(PutRefused)
    }

    fn take(&self, _: &TakeSecret) -> Reply<TakeAnswer> {
        Reply::Now(TakeAnswer::Absent(self.0))
    }

    fn burn(&self, _: &FlightHandle) {}

    fn len(&self) -> usize {
        0
    }
}

/// Returns the receipts in the order of their bytes on the wire.
#[derive(Default)]
struct SequentialReceipts(Mutex<usize>);

impl Receipts for SequentialReceipts {
    fn settle(&self, _: &SettleReceipt) -> Reply<Receipt> {
        let all = [Receipt::Unknown, Receipt::Burned, Receipt::TakenNotDone, Receipt::Done];
        let mut next = self.0.lock().expect("no panic");
        *next += 1;
        Reply::Now(all[*next - 1])
    }
}
