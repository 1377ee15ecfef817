//! Mutated messages: nothing panics, and a restored message is the known chain with the extensions that were sent.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use tessera_rustls_cached::{Chain, abbreviate, restore};

const ROUNDS: usize = 20_000;

/// Changes bytes, always the same way.
struct Mutator(u64);

impl Mutator {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// Mostly changes bytes after the first `known` ones, which the decoder compares with its cache.
    fn mutate(&mut self, of: &[u8], known: usize) -> Vec<u8> {
        let mut bytes = of.to_vec();
        for _ in 0..=self.below(3) {
            let from = if self.below(8) == 0 { 0 } else { known.min(bytes.len()) };
            let at = from + self.below(bytes.len() - from);
            let byte = self.below(256) as u8;
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at.min(bytes.len()), byte),
                2 => bytes.extend_from_slice(&[0, 4, 0, byte, 0, 0]),
                3 if at < bytes.len() => drop(bytes.remove(at)),
                4 if at < bytes.len() => bytes[at] = [0, 1, 4, 0x7f, 0xff][self.below(5)],
                _ if at < bytes.len() => bytes[at] ^= 1 << (byte % 8),
                _ => (),
            }
        }
        bytes
    }
}

/// Returns the body of a Certificate with these certificates and extensions.
fn body(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let len = |len: usize| (len as u32).to_be_bytes();
    let entry = |(certificate, extensions): &(&[u8], &[u8])| {
        let lens = (len(certificate.len()), len(extensions.len()));
        [&lens.0[1..], certificate, &lens.1[2..], extensions].concat()
    };
    let list: Vec<u8> = entries.iter().flat_map(entry).collect();
    [&[0][..], &len(list.len())[1..], &list].concat()
}

#[test]
fn changed_contents_and_messages_are_read_or_refused_whatever_they_are() {
    let chain = Chain::new([&b"end entity"[..], b"issuer"]).unwrap();
    let staple: &[u8] = &[0, 5, 0, 2, 7, 7];
    let stapled = body(&[(b"end entity", staple), (b"issuer", &[])]);
    let content = abbreviate(&stapled).unwrap().content;
    let (mut mutator, mut restored, mut abbreviated) = (Mutator(1), 0, 0);
    for round in 0..ROUNDS {
        let said = mutator.mutate(&content, chain.hash().len());
        // A length: the right one for this content, or another.
        let plain = body(&[(b"end entity", &[]), (b"issuer", &[])]).len();
        let right = plain + said.len().saturating_sub(chain.hash().len() + 4);
        let len = if round % 4 == 0 { mutator.below(200) } else { right };
        let mut room = vec![0; len];
        if restore(&said, &chain, &mut room).is_some() {
            restored += 1;
            let again = abbreviate(&room).unwrap();
            assert_eq!((again.hash, again.content), (*chain.hash(), said), "{round}");
        }
        let message = mutator.mutate(&stapled, 0);
        if let Some(it) = abbreviate(&message) {
            abbreviated += 1;
            assert!(it.content.starts_with(&it.hash) && it.content.len() < message.len() + 32);
        }
    }
    assert!(restored > ROUNDS / 200 && abbreviated > ROUNDS / 200, "{restored} {abbreviated}");
}
