//! From a PSK to records: the key schedule (RFC 8446 §7.1) without the secrets of a key exchange, which no party keeps
//! after the handshake.

use tessera::crypto::{Aead, Hash, NONCE_LEN, Nonce, Secret, Suite};

use crate::capture::{Hellos, protected, whole_messages};

const HANDSHAKE: u8 = 22;
pub(crate) const APPLICATION_DATA: u8 = 23;
const FINISHED: u8 = 20;

/// Whether the PSK decrypts the client's early data.
pub(crate) fn early_data(suite: &Suite, psk: &Secret, hellos: &Hellos, sent: &[u8]) -> bool {
    let early = suite.hash.extract(&[], psk.expose());
    let secret = derive_secret(suite.hash, &early, "c e traffic", &hellos.client);
    let mut opener = Opener::new(suite, &secret);
    protected(sent)
        .map_while(|record| opener.open(record))
        .any(|(typ, content)| typ == APPLICATION_DATA && !content.is_empty())
}

/// Whether the PSK decrypts the server's application data.
pub(crate) fn session(suite: &Suite, psk: &Secret, hellos: &Hellos, received: &[u8]) -> bool {
    let hash = suite.hash;
    let zeros = vec![0; hash.len()];
    let early = hash.extract(&[], psk.expose());
    let derived = derive_secret(hash, &early, "derived", &[]);
    let handshake = hash.extract(derived.expose(), &zeros);
    let mut transcript = [hellos.client.as_slice(), &hellos.server].concat();
    let secret = derive_secret(hash, &handshake, "s hs traffic", &transcript);

    // The server's flight up to its Finished; the rest is under the next key.
    let mut opener = Opener::new(suite, &secret);
    let mut flight = Vec::new();
    let mut records = protected(received);
    while !whole_messages(&flight).any(|message| message[0] == FINISHED) {
        match records.next().and_then(|record| opener.open(record)) {
            Some((HANDSHAKE, content)) => flight.extend_from_slice(&content),
            _ => return false,
        }
    }
    transcript.extend_from_slice(&flight);

    let derived = derive_secret(hash, &handshake, "derived", &[]);
    let master = hash.extract(derived.expose(), &zeros);
    let secret = derive_secret(hash, &master, "s ap traffic", &transcript);
    let mut opener = Opener::new(suite, &secret);
    records
        .map_while(|record| opener.open(record))
        .any(|(typ, content)| typ == APPLICATION_DATA && !content.is_empty())
}

/// Derive-Secret.
pub(crate) fn derive_secret(
    hash: &dyn Hash,
    secret: &Secret,
    label: &str,
    messages: &[u8],
) -> Secret {
    let context = hash.hash(messages);
    Secret::filled_by(hash.len(), |out| expand_label(hash, secret, label, context.as_ref(), out))
}

/// HKDF-Expand-Label. Labels, contexts and outputs are short.
fn expand_label(hash: &dyn Hash, secret: &Secret, label: &str, context: &[u8], out: &mut [u8]) {
    const PREFIX: &str = "tls13 ";
    let mut info = (out.len() as u16).to_be_bytes().to_vec();
    info.push((PREFIX.len() + label.len()) as u8);
    info.extend_from_slice(PREFIX.as_bytes());
    info.extend_from_slice(label.as_bytes());
    info.push(context.len() as u8);
    info.extend_from_slice(context);
    hash.expand(secret.expose(), &info, out);
}

/// Decrypts the records under one traffic secret, one after the other.
pub(crate) struct Opener {
    aead: Box<dyn Aead>,
    iv: [u8; NONCE_LEN],
    number: u64,
}

impl Opener {
    pub(crate) fn new(suite: &Suite, secret: &Secret) -> Self {
        let mut key = vec![0; suite.aead.key_len()];
        expand_label(suite.hash, secret, "key", &[], &mut key);
        let mut iv = [0; NONCE_LEN];
        expand_label(suite.hash, secret, "iv", &[], &mut iv);
        Self { aead: suite.aead.key(&key), iv, number: 0 }
    }

    /// Returns the type of this record, if the key decrypts it as its first.
    pub(crate) fn first_type(&self, record: &[u8]) -> Option<u8> {
        self.open_as(0, record).map(|(typ, _)| typ)
    }

    /// Returns the content of the next record and its type; `None` if the key does not decrypt it.
    fn open(&mut self, record: &[u8]) -> Option<(u8, Vec<u8>)> {
        let opened = self.open_as(self.number, record)?;
        self.number += 1;
        Some(opened)
    }

    fn open_as(&self, number: u64, record: &[u8]) -> Option<(u8, Vec<u8>)> {
        let (header, body) = record.split_at_checked(5)?;
        let mut body = body.to_vec();
        let nonce = Nonce::for_record(&self.iv, number);
        let len = self.aead.open(&nonce, header, &mut body).ok()?;
        body.truncate(len);
        // Padding is zeros after the type.
        let last = body.iter().rposition(|byte| *byte != 0)?;
        let typ = body[last];
        body.truncate(last);
        Some((typ, body))
    }
}
