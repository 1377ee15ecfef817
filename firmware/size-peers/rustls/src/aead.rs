//! ChaCha20-Poly1305 (RFC 8439) for records.

use alloc::boxed::Box;

use aead::inout::InOutBuf;
use aead::{AeadInOut, KeyInit};
use chacha20poly1305::ChaCha20Poly1305 as Cipher;
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm,
    UnsupportedOperationError, make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion};

const TAG: usize = 16;

pub(crate) struct ChaCha20Poly1305;

struct Key {
    cipher: Cipher,
    iv: Iv,
}

fn key(key: &AeadKey, iv: Iv) -> Box<Key> {
    let cipher = Cipher::new_from_slice(key.as_ref()).expect("32 bytes, as `key_len` returns");
    Box::new(Key { cipher, iv })
}

impl Tls13AeadAlgorithm for ChaCha20Poly1305 {
    fn encrypter(&self, secret: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        key(&secret, iv)
    }

    fn decrypter(&self, secret: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        key(&secret, iv)
    }

    fn key_len(&self) -> usize {
        32
    }

    fn extract_keys(
        &self,
        _: AeadKey,
        _: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Err(UnsupportedOperationError)
    }
}

impl MessageEncrypter for Key {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let total = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(total);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        let nonce = Nonce::new(&self.iv, seq).0.into();
        let content = InOutBuf::from(payload.as_mut());
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce, &make_tls13_aad(total), content)
            .map_err(|_| Error::EncryptError)?;
        payload.extend_from_slice(&tag);
        let (kind, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        Ok(OutboundOpaqueMessage::new(kind, version, payload))
    }

    fn encrypted_payload_len(&self, len: usize) -> usize {
        len + 1 + TAG
    }
}

impl MessageDecrypter for Key {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let payload = &mut message.payload;
        let aad = make_tls13_aad(payload.len());
        let nonce = Nonce::new(&self.iv, seq).0.into();
        let (text, tag) = payload.split_last_chunk_mut::<TAG>().ok_or(Error::DecryptError)?;
        let len = text.len();
        self.cipher
            .decrypt_inout_detached(&nonce, &aad, InOutBuf::from(text), &(*tag).into())
            .map_err(|_| Error::DecryptError)?;
        payload.truncate(len);
        message.into_tls13_unpadded_message()
    }
}
