//! Authenticated encryption, and header protection.

use alloc::boxed::Box;
use core::marker::PhantomData;

use aead::consts::{U12, U16};
use aead::inout::InOutBuf;
use aead::{AeadInOut, KeyInit};
use tessera::crypto::{Aead, AeadAlgorithm, HeaderKey, Nonce, OpenFailed, TAG_LEN};

/// The AEAD `C`.
pub(crate) struct Algorithm<C> {
    header_key: fn(&[u8]) -> Box<dyn HeaderKey>,
    aead: PhantomData<fn() -> C>,
}

impl<C> Algorithm<C> {
    pub(crate) const fn new(header_key: fn(&[u8]) -> Box<dyn HeaderKey>) -> Self {
        Self { header_key, aead: PhantomData }
    }
}

impl<C> AeadAlgorithm for Algorithm<C>
where
    C: AeadInOut<NonceSize = U12, TagSize = U16> + KeyInit + Send + Sync + 'static,
{
    fn key_len(&self) -> usize {
        C::key_size()
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        Box::new(Key(C::new_from_slice(key).expect(EXACT)))
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        (self.header_key)(key)
    }
}

/// Why a key can be read.
pub(crate) const EXACT: &str = "the key is exactly `key_len` bytes long";

struct Key<C>(C);

impl<C> Aead for Key<C>
where
    C: AeadInOut<NonceSize = U12, TagSize = U16> + Send + Sync,
{
    fn seal(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN] {
        self.0
            .encrypt_inout_detached(&nonce.0.into(), aad, InOutBuf::from(in_out))
            .expect("sealing fails only beyond 2^36 bytes")
            .into()
    }

    fn open(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        let (text, tag) = in_out.split_last_chunk_mut::<TAG_LEN>().ok_or(OpenFailed)?;
        let len = text.len();
        self.0
            .decrypt_inout_detached(&nonce.0.into(), aad, InOutBuf::from(text), &(*tag).into())
            .map(|()| len)
            .map_err(|_| OpenFailed)
    }
}
