//! A provider that records every secret that passes through it: this end's key schedule is the other end's too.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tessera::crypto::{
    AgreementError, Digest, Ephemeral, Hash, HmacState, KeyAgreement, Provider, RunningHash,
    SharedSecret, Suite,
};
use tessera::wire::NamedGroup;

/// The recorded secrets.
#[derive(Default)]
pub struct Recorder(Mutex<RecordedSecrets>);

/// The secrets of connections, by value.
#[derive(Default)]
pub struct RecordedSecrets {
    /// Every output of the key schedule and every agreed key, with a name.
    pub secrets: HashMap<Vec<u8>, String>,
    /// The inputs of HKDF-Extract: the PSKs that were used.
    pub used: HashSet<Vec<u8>>,
    /// Of which input each output of HKDF-Extract is.
    inputs: HashMap<Vec<u8>, Vec<u8>>,
    /// The peer's public keys of X25519, of hybrids too.
    pub public_keys: HashSet<Vec<u8>>,
    /// The peer's public keys of ML-KEM-768, the first part of the hybrid.
    pub ml_kem_keys: HashSet<Vec<u8>>,
    /// Values derived from nothing but zeros.
    constants: HashSet<Vec<u8>>,
    /// The keys of HMAC's states.
    keys: HashMap<[u8; HmacState::LEN], Vec<u8>>,
}

impl Recorder {
    /// Returns the AWS-LC provider, recording everything. It lives as long as the process.
    pub fn provider(&'static self) -> Provider {
        let provider = tessera_aws_lc::provider();
        let suites = provider.suites.iter().map(|suite| {
            let hash = Box::leak(Box::new(RecordedHash { hash: suite.hash, recorder: self }));
            let recorded = Suite::new(suite.id, hash, suite.aead)
                .with_confidentiality_limit(suite.confidentiality_limit);
            &*Box::leak(Box::new(recorded))
        });
        let groups = provider.groups.iter().map(|group| {
            let group = RecordedGroup { group: *group, recorder: self };
            &*Box::leak(Box::new(group)) as &dyn KeyAgreement
        });
        Provider {
            suites: Vec::leak(suites.collect()),
            groups: Vec::leak(groups.collect()),
            ..provider
        }
    }

    /// Returns what was recorded so far.
    pub fn recorded(&self) -> MutexGuard<'_, RecordedSecrets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordedSecrets {
    /// Returns those that must not be left. The exceptions, here and nowhere else:
    ///
    /// - PSKs and FS secrets of unused tickets. (Other live secrets are not recorded: a vault's keys, the ring's keys
    ///   and private keys of certificates stay in the process.)
    /// - Values that anyone can compute.
    /// - IVs: with the number of a record they form its nonce, which is no secret of an AEAD and decrypts nothing
    ///   without the key.
    pub fn forbidden(&self) -> impl Iterator<Item = (&Vec<u8>, &String)> {
        self.secrets.iter().filter(|(secret, name)| {
            let is_unused = *name == PSK && !self.used.contains(*secret);
            let is_iv = name.starts_with(IV_OF);
            !is_unused && !is_iv && !self.constants.contains(*secret)
        })
    }

    fn extracted(&mut self, salt: &[u8], input: &[u8], output: &[u8]) {
        let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        let parent = self.secrets.get(salt).map_or("", String::as_str);
        let follows = parent == DERIVED_OF_AUTHENTICATED;
        let name = match parent {
            _ if is_zero(salt) => "early secret",
            "derived of early secret" => "handshake secret",
            "derived of handshake secret" if !is_zero(input) => AUTHENTICATED,
            "derived of handshake secret" | DERIVED_OF_AUTHENTICATED => "master secret",
            // An FS secret is exported together with a handle.
            _ => {
                self.secrets.insert(salt.to_vec(), FS_SECRET.to_owned());
                "extract of FS secret"
            }
        };
        if is_zero(salt) && is_zero(input) {
            self.constants.insert(output.to_vec());
        }
        if name == AUTHENTICATED || (follows && !is_zero(input)) {
            self.secrets.insert(input.to_vec(), ENCAPSULATED.to_owned());
        }
        self.used.insert(input.to_vec());
        self.inputs.insert(output.to_vec(), input.to_vec());
        self.secrets.insert(output.to_vec(), name.to_owned());
    }

    /// Who has the state of HMAC can compute whatever its key derives.
    fn keyed(&mut self, key: &[u8], state: &[u8; HmacState::LEN]) {
        let of = self.secrets.get(key).map_or("unknown", String::as_str);
        let name = format!("HMAC state of {of}");
        let used = state.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        for half in state[..used].chunks(HALF_STATE).filter(|half| half.len() >= 16) {
            if self.constants.contains(key) {
                self.constants.insert(half.to_vec());
            }
            self.secrets.insert(half.to_vec(), name.clone());
        }
        self.keys.insert(*state, key.to_vec());
    }

    fn keyed_with(&self, state: &[u8; HmacState::LEN]) -> Vec<u8> {
        self.keys.get(state).cloned().unwrap_or_default()
    }

    fn expanded(&mut self, prk: &[u8], info: &[u8], output: &[u8]) {
        // HkdfLabel: the length of the output, the prefix and the label, the context.
        let label = info.get(2).and_then(|len| info.get(3..3 + usize::from(*len)));
        let label = String::from_utf8_lossy(label.unwrap_or_default());
        let label =
            label.strip_prefix("tls13 ").or(label.strip_prefix("dtls13")).unwrap_or("unnamed");
        let parent = self.secrets.get(prk).map_or("unknown", String::as_str);
        let name = match label {
            "resumption" => PSK.to_owned(),
            "0rttfs" => "psk'".to_owned(),
            "key" | "iv" | "sn" | "finished" | "derived" | "traffic upd" | "exporter" => {
                format!("{label} of {parent}")
            }
            label => label.to_owned(),
        };
        if label == "known key"
            && let Some(input) = self.inputs.get(prk)
        {
            self.secrets.insert(input.clone(), ENCAPSULATED.to_owned());
        }
        if self.constants.contains(prk) {
            self.constants.insert(output.to_vec());
        }
        self.secrets.insert(output.to_vec(), name);
    }

    fn agreed(&mut self, public: &[u8], secret: &SharedSecret) {
        let secret = secret.expose();
        self.secrets.insert(secret.to_vec(), "agreed key".to_owned());
        if let Some((one, two)) = secret.split_at_checked(HALF)
            && two.len() == HALF
        {
            self.secrets.insert(one.to_vec(), "agreed key, ML-KEM's half".to_owned());
            self.secrets.insert(two.to_vec(), "agreed key, X25519's half".to_owned());
        }
        self.public_keys.extend(public.last_chunk::<32>().map(|key| key.to_vec()));
        if let [key @ .., _] = public.as_chunks::<32>().0
            && key.len() * 32 == ML_KEM_KEY
        {
            self.ml_kem_keys.insert(key.as_flattened().to_vec());
        }
    }
}

/// The prefix of the names of IVs.
const IV_OF: &str = "iv of ";

/// The resumption PSK of a ticket.
const PSK: &str = "resumption PSK";

/// The secret between those of the handshake and of the master secret, with KEM authentication (docs/kem-auth.md §5).
const AUTHENTICATED: &str = "authenticated handshake secret";
const DERIVED_OF_AUTHENTICATED: &str = "derived of authenticated handshake secret";

/// What was encapsulated to the key of a certificate, or to a known one.
const ENCAPSULATED: &str = "secret encapsulated to a static key";

/// The FS secret of a ticket.
const FS_SECRET: &str = "FS secret";

/// Each half of the hybrid's agreed key, in bytes.
const HALF: usize = 32;

/// Length of a public key of ML-KEM-768; a ciphertext is shorter.
const ML_KEM_KEY: usize = 1184;

/// Each chaining value of HMAC-SHA-256's state, which AWS-LC's provider keeps in 32 bytes.
const HALF_STATE: usize = 32;

struct RecordedHash {
    hash: &'static dyn Hash,
    recorder: &'static Recorder,
}

impl Hash for RecordedHash {
    fn len(&self) -> usize {
        self.hash.len()
    }

    fn start(&self) -> Box<dyn RunningHash> {
        self.hash.start()
    }

    fn hash(&self, input: &[u8]) -> Digest {
        self.hash.hash(input)
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        self.hash.hmac(key, message)
    }

    fn hash_of_nothing(&self) -> Digest {
        self.hash.hash_of_nothing()
    }

    // Not `derived_without_psk`: the recorder must see the extraction.

    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]) {
        self.hash.extract_into(salt, input, prk);
        self.recorder.recorded().extracted(salt, input, prk);
    }

    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        self.hash.expand(prk, info, out);
        self.recorder.recorded().expanded(prk, info, out);
    }

    fn key_hmac(&self, prk: &[u8], state: &mut HmacState) {
        self.hash.key_hmac(prk, state);
        self.recorder.recorded().keyed(prk, state.bytes());
    }

    fn expand_keyed(&self, state: &HmacState, info: &[u8], out: &mut [u8]) {
        self.hash.expand_keyed(state, info, out);
        let mut recorded = self.recorder.recorded();
        let prk = recorded.keyed_with(state.bytes());
        recorded.expanded(&prk, info, out);
    }
}

struct RecordedGroup {
    group: &'static dyn KeyAgreement,
    recorder: &'static Recorder,
}

impl KeyAgreement for RecordedGroup {
    fn group(&self) -> NamedGroup {
        self.group.group()
    }

    fn share_len(&self) -> usize {
        self.group.share_len()
    }

    fn reply_len(&self) -> usize {
        self.group.reply_len()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let key = self.group.generate()?;
        Ok(Box::new(RecordedKey { key, recorder: self.recorder }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let (reply, secret) = self.group.encapsulate(share)?;
        self.recorder.recorded().agreed(share, &secret);
        Ok((reply, secret))
    }
}

struct RecordedKey {
    key: Box<dyn Ephemeral>,
    recorder: &'static Recorder,
}

impl Ephemeral for RecordedKey {
    fn share(&self) -> &[u8] {
        self.key.share()
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let secret = self.key.decapsulate(reply)?;
        self.recorder.recorded().agreed(reply, &secret);
        Ok(secret)
    }
}
