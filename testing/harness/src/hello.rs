//! Parses ClientHellos and reassembles them, with valid binders.

use tessera::crypto::{Hash, Suite};
use tessera::wire::{ExtensionType, HandshakeType};

use crate::forge::{expand_label_to_hash, message};

/// A ClientHello as its parts; everything may be changed.
#[derive(Clone)]
pub struct Hello {
    /// Everything before the extensions.
    pub head: Vec<u8>,
    /// Types and contents in order.
    pub extensions: Vec<(u16, Vec<u8>)>,
}

/// An offered PSK: identity and obfuscated age.
pub type Identity = (Vec<u8>, u32);

impl Hello {
    /// Reads a whole message.
    pub fn read(message: &[u8]) -> Self {
        let mut at = 4 + 2 + 32;
        at += 1 + usize::from(message[at]);
        at += 2 + be16(&message[at..]);
        at += 1 + usize::from(message[at]);
        let head = message[4..at].to_vec();
        let mut extensions = Vec::new();
        let mut rest = &message[at + 2..];
        while !rest.is_empty() {
            let len = be16(&rest[2..]);
            extensions.push((be16(rest) as u16, rest[4..4 + len].to_vec()));
            rest = &rest[4 + len..];
        }
        Self { head, extensions }
    }

    /// Returns the whole message.
    pub fn write(&self) -> Vec<u8> {
        let mut block = Vec::new();
        for (typ, body) in &self.extensions {
            block.extend_from_slice(&typ.to_be_bytes());
            block.extend_from_slice(&vec16(body));
        }
        message(HandshakeType::CLIENT_HELLO, &[&self.head[..], &vec16(&block)].concat())
    }

    /// Returns the contents of an extension.
    pub fn extension(&self, typ: ExtensionType) -> Option<&Vec<u8>> {
        self.extensions.iter().find(|(listed, _)| *listed == typ.0).map(|(_, body)| body)
    }

    /// Removes an extension.
    pub fn remove(&mut self, typ: ExtensionType) {
        self.extensions.retain(|(listed, _)| *listed != typ.0);
    }

    /// Changes an extension, or adds it before the last.
    pub fn set(&mut self, typ: ExtensionType, body: &[u8]) {
        if let Some(place) = self.extensions.iter_mut().find(|(listed, _)| *listed == typ.0) {
            place.1 = body.to_vec();
        } else {
            let at = self.extensions.len().saturating_sub(1);
            self.extensions.insert(at, (typ.0, body.to_vec()));
        }
    }

    /// Returns the offered identities.
    pub fn identities(&self) -> Vec<Identity> {
        let Some(body) = self.extension(ExtensionType::PRE_SHARED_KEY) else { return Vec::new() };
        let mut rest = &body[2..2 + be16(body)];
        let mut identities = Vec::new();
        while !rest.is_empty() {
            let len = be16(rest);
            let age = [rest[2 + len], rest[3 + len], rest[4 + len], rest[5 + len]];
            identities.push((rest[2..2 + len].to_vec(), u32::from_be_bytes(age)));
            rest = &rest[6 + len..];
        }
        identities
    }

    /// Offers these identities, with binders of zeros of this length.
    pub fn set_identities(&mut self, identities: &[Identity], binder_len: usize) {
        let mut list = Vec::new();
        let mut binders = Vec::new();
        for (identity, age) in identities {
            list.extend_from_slice(&vec16(identity));
            list.extend_from_slice(&age.to_be_bytes());
            binders.push(binder_len as u8);
            binders.resize(binders.len() + binder_len, 0);
        }
        self.remove(ExtensionType::PRE_SHARED_KEY);
        let body = [vec16(&list), vec16(&binders)].concat();
        self.extensions.push((ExtensionType::PRE_SHARED_KEY.0, body));
    }

    /// Returns the bytes of the binders, each without its length; they all have the same.
    pub fn binders(&mut self) -> Vec<&mut [u8]> {
        let last = self.extensions.last_mut().filter(|(typ, _)| *typ == 41);
        let Some((_, body)) = last else { return Vec::new() };
        let start = 2 + be16(body) + 2;
        let len = usize::from(body[start]);
        body[start..].chunks_mut(1 + len).map(|binder| &mut binder[1..]).collect()
    }

    /// Computes the binder of the identity at `index`.
    pub fn bind(&mut self, index: usize, suite: &Suite, psk: &[u8], label: &str) {
        let binders_len: usize = 2 + self.binders().iter().map(|b| 1 + b.len()).sum::<usize>();
        let whole = self.write();
        let covered = &whole[..whole.len() - binders_len];
        let binder = binder(suite.hash, psk, label, covered);
        self.binders()[index].copy_from_slice(&binder);
    }
}

/// Returns a binder over these bytes (RFC 8446 §4.2.11.2).
pub fn binder(hash: &dyn Hash, psk: &[u8], label: &str, covered: &[u8]) -> Vec<u8> {
    let early = hash.extract(&[], psk);
    let empty = hash.hash(&[]);
    let key = expand_label_to_hash(hash, early.expose(), label, empty.as_ref());
    let finished = expand_label_to_hash(hash, &key, "finished", &[]);
    hash.hmac(&finished, hash.hash(covered).as_ref()).as_ref().to_vec()
}

/// Returns a vector with a length of two bytes.
pub fn vec16(contents: &[u8]) -> Vec<u8> {
    [&(contents.len() as u16).to_be_bytes()[..], contents].concat()
}

fn be16(bytes: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
}
