//! Keys of Falcon-512 and Falcon-1024, as the crates `fn-dsa-...` have them.

use der::asn1::{BitStringRef, OctetStringRef};
use der::{AnyRef, Encode, Tag};
use fn_dsa_kgen::{CryptoRng, KeyPairGenerator, KeyPairGeneratorStandard, RngCore, RngError};
use fn_dsa_sign::{
    DOMAIN_NONE, DomainContext, FN_DSA_LOGN_512, HASH_ID_RAW, HashIdentifier, SigningKey,
    SigningKeyStandard, sign_key_size, signature_size, vrfy_key_size,
};

/// A key pair, encoded.
pub struct FalconKey {
    /// The binary logarithm of the degree: 9 or 10.
    logn: u32,
    /// The private half.
    pub private: Vec<u8>,
    /// The public half.
    pub public: Vec<u8>,
}

impl FalconKey {
    /// Makes a key: `FN_DSA_LOGN_512` or `FN_DSA_LOGN_1024`.
    pub fn generate(logn: u32) -> Self {
        let (mut private, mut public) =
            (vec![0; sign_key_size(logn)], vec![0; vrfy_key_size(logn)]);
        KeyPairGeneratorStandard::default().keygen(logn, &mut Source, &mut private, &mut public);
        Self { logn, private, public }
    }

    /// Reads the private half; `None` if it is malformed.
    pub fn read(private: &[u8]) -> Option<Self> {
        let key = SigningKeyStandard::decode(private)?;
        let mut public = vec![0; vrfy_key_size(key.get_logn())];
        key.to_verifying_key(&mut public);
        Some(Self { logn: key.get_logn(), private: private.to_vec(), public })
    }

    /// Signs without a context, and without a hash of the message before it.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.sign_as(&DOMAIN_NONE, &HASH_ID_RAW, message)
    }

    /// Signs.
    pub fn sign_as(
        &self,
        context: &DomainContext<'_>,
        hash: &HashIdentifier<'_>,
        message: &[u8],
    ) -> Vec<u8> {
        let mut signature = vec![0; signature_size(self.logn)];
        let mut key = SigningKeyStandard::decode(&self.private).unwrap();
        key.sign(&mut Source, context, hash, message, &mut signature).unwrap();
        signature
    }

    /// Returns the AlgorithmIdentifier of its key and its signatures, DER: 1.3.9999.3.16 or 1.3.9999.3.19.
    pub fn algorithm(&self) -> Vec<u8> {
        let last = if self.logn == FN_DSA_LOGN_512 { 16 } else { 19 };
        sequence(&[0x06, 0x05, 0x2b, 0xce, 0x0f, 0x03, last])
    }

    /// Returns the public half as a SubjectPublicKeyInfo, DER.
    pub fn public_key_info(&self) -> Vec<u8> {
        let key = BitStringRef::from_bytes(&self.public).unwrap().to_der().unwrap();
        sequence(&[self.algorithm(), key].concat())
    }

    /// Returns the private half as PKCS#8, DER (RFC 5958), with nothing around it.
    pub fn pkcs8(&self) -> Vec<u8> {
        let key = OctetStringRef::new(&self.private).unwrap().to_der().unwrap();
        sequence(&[vec![0x02, 0x01, 0], self.algorithm(), key].concat())
    }
}

fn sequence(contents: &[u8]) -> Vec<u8> {
    AnyRef::new(Tag::Sequence, contents).unwrap().to_der().unwrap()
}

/// The process's generator, in the form that the crates take.
struct Source;

impl RngCore for Source {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_ne_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        tessera_aws_lc::provider().random.fill(bytes).unwrap();
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RngError> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for Source {}
