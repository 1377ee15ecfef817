//! AES-GCM.

use alloc::boxed::Box;

use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit};
use aes::{Aes128, Aes256};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use tessera::crypto::{HeaderKey, MASK_LEN, SAMPLE_LEN, Suite};
use tessera::wire::CipherSuite;

use crate::aead::{Algorithm, EXACT};
use crate::hash::{SHA256, SHA384};

pub(crate) static AES_128_GCM_SHA256: Suite =
    Suite::new(CipherSuite::TLS_AES_128_GCM_SHA256, &SHA256, &AES_128_GCM);

pub(crate) static AES_256_GCM_SHA384: Suite =
    Suite::new(CipherSuite::TLS_AES_256_GCM_SHA384, &SHA384, &AES_256_GCM);

static AES_128_GCM: Algorithm<Aes128Gcm> =
    Algorithm::new(|key| Box::new(Mask(Aes128::new_from_slice(key).expect(EXACT))));

static AES_256_GCM: Algorithm<Aes256Gcm> =
    Algorithm::new(|key| Box::new(Mask(Aes256::new_from_slice(key).expect(EXACT))));

struct Mask<C>(C);

impl<C> HeaderKey for Mask<C>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Send + Sync,
{
    /// RFC 9001 §5.4.3: the sample, encrypted.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        let mut block = (*sample).into();
        self.0.encrypt_block(&mut block);
        let [a, b, c, d, e, ..]: [u8; SAMPLE_LEN] = block.into();
        [a, b, c, d, e]
    }
}
