//! Hashes and the protection of records, observed.

use tessera::crypto::{
    Aead, AeadAlgorithm, Digest, Hash, HeaderKey, HmacState, MASK_LEN, Nonce, OpenFailed,
    RunningHash, SAMPLE_LEN, Secret, TAG_LEN,
};

use crate::observer::{ObservedPart, Observer, during};
use crate::operation::Operation;

impl<O: Observer> Hash for ObservedPart<&'static dyn Hash, O> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn start(&self) -> Box<dyn RunningHash> {
        let inner = self.during(Operation::Hash, |inner| inner.start());
        Box::new(ObservedPart { inner, by: self.by })
    }

    fn hash(&self, input: &[u8]) -> Digest {
        self.during(Operation::Hash, |inner| inner.hash(input))
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        self.during(Operation::KeyDerivation, |inner| inner.hmac(key, message))
    }

    fn hash_of_nothing(&self) -> Digest {
        self.inner.hash_of_nothing()
    }

    fn derived_without_psk(&self) -> Option<&'static [u8]> {
        self.inner.derived_without_psk()
    }

    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]) {
        self.during(Operation::KeyDerivation, |inner| inner.extract_into(salt, input, prk));
    }

    fn extract(&self, salt: &[u8], input: &[u8]) -> Secret {
        self.during(Operation::KeyDerivation, |inner| inner.extract(salt, input))
    }

    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        self.during(Operation::KeyDerivation, |inner| inner.expand(prk, info, out));
    }

    fn key_hmac(&self, prk: &[u8], state: &mut HmacState) {
        self.during(Operation::KeyDerivation, |inner| inner.key_hmac(prk, state));
    }

    fn expand_keyed(&self, state: &HmacState, info: &[u8], out: &mut [u8]) {
        self.during(Operation::KeyDerivation, |inner| inner.expand_keyed(state, info, out));
    }
}

impl<O: Observer> RunningHash for ObservedPart<Box<dyn RunningHash>, O> {
    fn update(&mut self, bytes: &[u8]) {
        let Self { inner, by } = self;
        during(*by, Operation::Hash, || inner.update(bytes));
    }

    fn current(&self) -> Digest {
        self.during(Operation::Hash, |inner| inner.current())
    }
}

impl<O: Observer> AeadAlgorithm for ObservedPart<&'static dyn AeadAlgorithm, O> {
    fn key_len(&self) -> usize {
        self.inner.key_len()
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        let inner = self.during(Operation::RecordKey, |inner| inner.key(key));
        Box::new(ObservedPart { inner, by: self.by })
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        let inner = self.during(Operation::RecordKey, |inner| inner.header_key(key));
        Box::new(ObservedPart { inner, by: self.by })
    }
}

impl<O: Observer> Aead for ObservedPart<Box<dyn Aead>, O> {
    fn seal(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN] {
        self.during(Operation::Seal, |inner| inner.seal(nonce, aad, in_out))
    }

    fn open(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        self.during(Operation::Open, |inner| inner.open(nonce, aad, in_out))
    }
}

impl<O: Observer> HeaderKey for ObservedPart<Box<dyn HeaderKey>, O> {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        self.during(Operation::HeaderMask, |inner| inner.mask(sample))
    }
}
