//! Forged records and messages, as a misbehaving peer with the right keys sends them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tessera::KeyLog;
use tessera::crypto::{Aead, Hash, NONCE_LEN, Nonce, Suite};
use tessera::wire::{ContentType, HandshakeType};

/// The secrets of the newest connection, by the labels of the key log.
#[derive(Default)]
pub struct Secrets(Mutex<HashMap<String, Vec<u8>>>);

impl Secrets {
    /// Returns the secret with this label.
    pub fn get(&self, label: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(label).cloned()
    }

    /// Clears everything for the next connection.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Seals and opens under the secret with this label.
    pub fn sealer(&self, suite: &'static Suite, label: &str) -> Option<Sealer> {
        self.get(label).map(|secret| Sealer::new(suite, &secret))
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.insert(label.to_owned(), secret.to_vec());
    }
}

/// HKDF-Expand-Label (RFC 8446 §7.1).
pub fn expand_label(hash: &dyn Hash, secret: &[u8], label: &str, context: &[u8], out: &mut [u8]) {
    expand_prefixed_label(hash, secret, &format!("tls13 {label}"), context, out);
}

/// HKDF-Expand-Label with a label that has its protocol's prefix: "dtls13" in DTLS (RFC 9147 §5.9).
pub fn expand_prefixed_label(
    hash: &dyn Hash,
    secret: &[u8],
    label: &str,
    context: &[u8],
    out: &mut [u8],
) {
    let mut info = (out.len() as u16).to_be_bytes().to_vec();
    info.push(label.len() as u8);
    info.extend_from_slice(label.as_bytes());
    info.push(context.len() as u8);
    info.extend_from_slice(context);
    hash.expand(secret, &info, out);
}

/// HKDF-Expand-Label to one hash output.
pub fn expand_label_to_hash(
    hash: &dyn Hash,
    secret: &[u8],
    label: &str,
    context: &[u8],
) -> Vec<u8> {
    let mut out = vec![0; hash.len()];
    expand_label(hash, secret, label, context, &mut out);
    out
}

/// One direction of one epoch: seals and opens records.
pub struct Sealer {
    suite: &'static Suite,
    secret: Vec<u8>,
    aead: Box<dyn Aead>,
    iv: [u8; NONCE_LEN],
    /// The number of the next record.
    pub number: u64,
}

impl Sealer {
    /// Begins at the first record.
    pub fn new(suite: &'static Suite, secret: &[u8]) -> Self {
        let mut key = vec![0; suite.aead.key_len()];
        expand_label(suite.hash, secret, "key", &[], &mut key);
        let mut iv = [0; NONCE_LEN];
        expand_label(suite.hash, secret, "iv", &[], &mut iv);
        Self { suite, secret: secret.to_vec(), aead: suite.aead.key(&key), iv, number: 0 }
    }

    /// One protected record.
    pub fn seal(&mut self, typ: ContentType, content: &[u8]) -> Vec<u8> {
        self.seal_inner(&[content, &[typ.0]].concat())
    }

    /// Seals one record; `inner` includes its content type and padding.
    pub fn seal_inner(&mut self, inner: &[u8]) -> Vec<u8> {
        let mut record = header(ContentType::APPLICATION_DATA, inner.len() + 16);
        let mut body = inner.to_vec();
        let nonce = Nonce::for_record(&self.iv, self.number);
        let tag = self.aead.seal(&nonce, &record, &mut body);
        self.number += 1;
        record.extend_from_slice(&body);
        record.extend_from_slice(&tag);
        record
    }

    /// Opens one whole record; `None` unless it is the next of this direction and epoch.
    pub fn open(&mut self, record: &[u8]) -> Option<(ContentType, Vec<u8>)> {
        let (header, body) = record.split_at(5);
        let mut body = body.to_vec();
        let nonce = Nonce::for_record(&self.iv, self.number);
        let len = self.aead.open(&nonce, header, &mut body).ok()?;
        self.number += 1;
        let last = body[..len].iter().rposition(|byte| *byte != 0)?;
        let typ = ContentType(body[last]);
        body.truncate(last);
        Some((typ, body))
    }

    /// Switches to the next secret, after a KeyUpdate.
    pub fn update(&mut self) {
        let next = expand_label_to_hash(self.suite.hash, &self.secret, "traffic upd", &[]);
        *self = Self::new(self.suite, &next);
    }
}

fn header(typ: ContentType, len: usize) -> Vec<u8> {
    let [high, low] = (len as u16).to_be_bytes();
    vec![typ.0, 3, 3, high, low]
}

/// Builds a plaintext record.
pub fn plain(typ: ContentType, content: &[u8]) -> Vec<u8> {
    [header(typ, content.len()), content.to_vec()].concat()
}

/// One handshake message.
pub fn message(typ: HandshakeType, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32).to_be_bytes();
    [&[typ.0, len[1], len[2], len[3]], body].concat()
}

/// Returns the records of a stream.
pub fn records(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let [_, _, _, high, low, ..] = *stream {
        let (record, rest) = stream.split_at(5 + usize::from(u16::from_be_bytes([high, low])));
        records.push(record.to_vec());
        stream = rest;
    }
    records
}

/// Returns the handshake messages of a stream of them.
pub fn messages(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let [_, a, b, c, ..] = *stream {
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        let (message, rest) = stream.split_at(4 + len);
        messages.push(message.to_vec());
        stream = rest;
    }
    messages
}

/// Returns the content of a direction's stream: each record's epoch (0 for plaintext, then one more than the index of
/// the sealer that opened it), type and content.
pub fn open_all(stream: &[u8], sealers: &mut [Sealer]) -> Vec<(usize, ContentType, Vec<u8>)> {
    let mut current = 0;
    let mut opened = Vec::new();
    for record in records(stream) {
        if record[0] != ContentType::APPLICATION_DATA.0 {
            opened.push((0, ContentType(record[0]), record[5..].to_vec()));
            continue;
        }
        while current < sealers.len() {
            if let Some((typ, content)) = sealers[current].open(&record) {
                opened.push((current + 1, typ, content));
                break;
            }
            current += 1;
        }
    }
    opened
}

/// Passes every handshake message of a direction's stream through `edit`, and seals it again, one per record. An
/// emptied message is left out. `sealers` returns new sealers of the direction each time.
pub fn rewrite(
    stream: &[u8],
    sealers: impl Fn() -> Vec<Sealer>,
    mut edit: impl FnMut(&mut Vec<u8>),
) -> Vec<u8> {
    let mut closers = sealers();
    let mut rewritten = Vec::new();
    for (epoch, typ, content) in open_all(stream, &mut sealers()) {
        let pieces = match typ {
            ContentType::HANDSHAKE => messages(&content),
            _ => vec![content],
        };
        for mut piece in pieces {
            if typ == ContentType::HANDSHAKE {
                edit(&mut piece);
            }
            if piece.is_empty() && typ == ContentType::HANDSHAKE {
                continue;
            }
            rewritten.extend(match epoch.checked_sub(1) {
                None => plain(typ, &piece),
                Some(index) => closers[index].seal(typ, &piece),
            });
        }
    }
    rewritten
}
