//! Flaws that must be found: in each, a server keeps one thing too long.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use tessera::KeyLog;
use tessera::auth::PrivateKey;
use tessera::crypto::{
    Aead, AeadAlgorithm, AgreementError, Decapsulator, HeaderKey, KeyForm, Provider, SharedSecret,
    Suite,
};
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, OpenTicket, PutRefused, PutSecret, SessionState, TakeAnswer, TakeSecret,
    TicketKeys, Vault,
};
use tessera::wire::SignatureScheme;
use tessera_vault::{MemoryVault, TicketKeyRing};

use crate::way::Way;

/// A flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Slip {
    /// Each early traffic secret stays on the heap.
    EarlySecretOnHeap,
    /// The last application traffic secret stays on a stack, below everything that is in use.
    TrafficSecretOnStack,
    /// Each record key stays.
    RecordKeys,
    /// Each key of record numbers stays.
    RecordNumberKeys,
    /// The ring keeps the PSKs of tickets that it opened.
    Psks,
    /// The private key of a KEM keeps what it decapsulated.
    Decapsulated,
    /// The vault keeps FS secrets that were taken.
    FsSecrets,
    /// The vault keeps seeds that were taken.
    Seeds,
    /// The vault keeps expanded keys that were taken.
    ExpandedKeys,
    /// The application keeps what it read.
    Plaintext,
}

impl Slip {
    /// Returns what must be found because of it: the prefix of the name, and the kind of place.
    pub fn expected(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::EarlySecretOnHeap => &[
                ("c e traffic", "heap"),
                ("opened: traffic secret of the client's first protected record", "heap"),
            ],
            Self::TrafficSecretOnStack => &[("c ap traffic", "stack")],
            Self::RecordKeys => &[("key of c e traffic", "heap"), ("key of s ap traffic", "heap")],
            Self::RecordNumberKeys => {
                &[("sn of c e traffic", "heap"), ("sn of s ap traffic", "heap")]
            }
            Self::Psks => &[("resumption PSK", "heap")],
            Self::Decapsulated => &[("secret encapsulated to a static key", "heap")],
            Self::FsSecrets => &[("FS secret", "heap")],
            Self::Seeds => &[("private key of X25519", "heap")],
            Self::ExpandedKeys => {
                &[("private key of ML-KEM", "heap"), ("private key of X25519", "heap")]
            }
            Self::Plaintext => &[("early plaintext", "heap"), ("application plaintext", "heap")],
        }
    }

    /// Returns the ways in which it is planted. Secrets are the same over any carrier; records and their data aren't.
    pub fn ways(self) -> &'static [Way] {
        match self {
            Self::RecordKeys | Self::Plaintext => &[Way::Fs, Way::DtlsFs],
            Self::RecordNumberKeys => &[Way::DtlsFs],
            Self::Decapsulated => &[Way::Kem, Way::KnownKey],
            _ => &[Way::Fs],
        }
    }

    /// Whether it keeps a single value, rather than one per connection.
    pub fn keeps_one(self) -> bool {
        self == Self::TrafficSecretOnStack
    }
}

/// What was kept.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

fn keep(bytes: &[u8]) {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(bytes.to_vec());
}

/// The application's part.
pub fn received(slip: Option<Slip>, bytes: &[u8]) {
    if slip == Some(Slip::Plaintext) {
        keep(bytes);
    }
}

/// Returns the key log, if the slip concerns traffic secrets.
pub fn key_log(slip: Option<Slip>) -> Option<Arc<dyn KeyLog>> {
    match slip {
        Some(Slip::EarlySecretOnHeap) => Some(Arc::new(OnHeap)),
        Some(Slip::TrafficSecretOnStack) => Some(Arc::new(OnStack::start())),
        _ => None,
    }
}

struct OnHeap;

impl KeyLog for OnHeap {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        if label == "CLIENT_EARLY_TRAFFIC_SECRET" {
            keep(secret);
        }
    }
}

/// A thread that handles secrets deep in its stack, and then waits higher up.
struct OnStack(Mutex<(Sender<Vec<u8>>, Receiver<()>)>);

impl OnStack {
    fn start() -> Self {
        let (sender, receiver) = channel();
        let (handled, done) = channel();
        let thread = thread::Builder::new().name("slip".to_owned());
        // If it fails nothing is found, and the test fails.
        let _ = thread.spawn(move || wait(&receiver, &handled));
        Self(Mutex::new((sender, done)))
    }
}

impl KeyLog for OnStack {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        if label == "CLIENT_TRAFFIC_SECRET_0" {
            let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = thread.0.send(secret.to_vec());
            // Before the connection ends, however busy the machine is.
            let _ = thread.1.recv();
        }
    }
}

fn wait(receiver: &Receiver<Vec<u8>>, handled: &Sender<()>) {
    while let Ok(mut secret) = receiver.recv() {
        handle(&secret);
        secret.fill(0);
        std::hint::black_box(&secret);
        let _ = handled.send(());
    }
}

#[inline(never)]
fn handle(secret: &[u8]) {
    // At many depths: an allocator's later cleanup overwrites some of them.
    let mut deep = [0; 64 * 1024];
    deep.chunks_exact_mut(secret.len()).step_by(64).for_each(|at| at.copy_from_slice(secret));
    std::hint::black_box(&deep);
}

/// Returns the ticket keys.
pub fn tickets(slip: Option<Slip>, ring: TicketKeyRing) -> Arc<dyn TicketKeys> {
    match slip {
        Some(Slip::Psks) => Arc::new(KeepingRing(ring)),
        _ => Arc::new(ring),
    }
}

struct KeepingRing(TicketKeyRing);

impl TicketKeys for KeepingRing {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        self.0.seal(session, unix)
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let opened = self.0.open(question);
        if let Reply::Now(Some(session)) = &opened {
            keep(session.psk.expose());
        }
        opened
    }
}

/// Returns the vault.
pub fn vault(slip: Option<Slip>, vault: MemoryVault) -> Arc<dyn Vault> {
    match slip {
        Some(slip @ (Slip::FsSecrets | Slip::Seeds | Slip::ExpandedKeys)) => {
            Arc::new(KeepingVault { vault, slip })
        }
        _ => Arc::new(vault),
    }
}

struct KeepingVault {
    vault: MemoryVault,
    slip: Slip,
}

impl Vault for KeepingVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.vault.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        let taken = self.vault.take(question);
        if let Reply::Now(TakeAnswer::Taken(secret)) = &taken {
            keep(match self.slip {
                Slip::Seeds | Slip::ExpandedKeys => &secret.key,
                _ => secret.fs_secret.expose(),
            });
        }
        taken
    }

    fn burn(&self, handle: &FlightHandle) {
        self.vault.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        match self.slip {
            Slip::Seeds => KeyForm::Seed,
            _ => self.vault.key_form(),
        }
    }

    fn len(&self) -> usize {
        self.vault.len()
    }
}

/// Returns the private key of a certificate.
pub fn private_key(slip: Option<Slip>, key: PrivateKey) -> PrivateKey {
    match key {
        PrivateKey::Decapsulates(key) if slip == Some(Slip::Decapsulated) => {
            PrivateKey::Decapsulates(Arc::new(KeepingKey(key)))
        }
        key => key,
    }
}

struct KeepingKey(Arc<dyn Decapsulator>);

impl Decapsulator for KeepingKey {
    fn scheme(&self) -> &SignatureScheme {
        self.0.scheme()
    }

    fn public_key(&self) -> Option<&[u8]> {
        self.0.public_key()
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = self.0.decapsulate(encapsulation)?;
        keep(secret.expose());
        Ok(secret)
    }
}

/// Returns the cryptography.
pub fn provider(slip: Option<Slip>) -> Provider {
    let provider = tessera_aws_lc::provider();
    let Some(slip @ (Slip::RecordKeys | Slip::RecordNumberKeys)) = slip else {
        return provider;
    };
    let suites = provider.suites.iter().map(|suite| {
        let aead = Box::leak(Box::new(KeepingAead { aead: suite.aead, slip }));
        &*Box::leak(Box::new(Suite::new(suite.id, suite.hash, aead)))
    });
    Provider { suites: Vec::leak(suites.collect()), ..provider }
}

struct KeepingAead {
    aead: &'static dyn AeadAlgorithm,
    slip: Slip,
}

impl AeadAlgorithm for KeepingAead {
    fn key_len(&self) -> usize {
        self.aead.key_len()
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        if self.slip == Slip::RecordKeys {
            keep(key);
        }
        self.aead.key(key)
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        if self.slip == Slip::RecordNumberKeys {
            keep(key);
        }
        self.aead.header_key(key)
    }
}
