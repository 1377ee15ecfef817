//! What a vault keeps of a one-time key, and its encoding.

use alloc::vec::Vec;
use core::fmt;

use crate::crypto::{KeyForm, Secret, SecretBytes};
use crate::wire::{NamedGroup, Reader, Writer};

/// What a server's vault keeps per forward-secret ticket.
pub struct OneTimeSecret {
    /// The kind of the one-time key.
    pub kind: NamedGroup,
    /// The form of `key`.
    pub form: KeyForm,
    /// The private half of the one-time key; empty if the FS secret is all there is.
    pub key: SecretBytes,
    /// From TLS-Exporter("EXPORTER-tessera-0rttfs", the ticket's contents) of the connection that issued
    /// the ticket. Neither it nor the resumption PSK can be derived from the other.
    pub fs_secret: Secret,
}

impl OneTimeSecret {
    /// The longest private half that can be kept, in bytes.
    pub const MAX_KEY_LEN: usize = 60_000;

    /// Encodes the secret for a vault that stores bytes, and must encrypt them.
    ///
    /// A short seed is encoded as in version 1. An earlier version treats what it can't decode as absent.
    pub fn encode(&self) -> SecretBytes {
        let Self { kind, form, key, fs_secret } = self;
        let fs_secret = fs_secret.expose();
        let is_version_1 = *form == KeyForm::Seed && key.len() <= usize::from(u8::MAX);
        let header = if is_version_1 { 2 + 1 } else { VERSION_2.len() + 1 + 2 + 2 };
        let len = header + key.len() + 1 + fs_secret.len();
        // Never grows: a reallocation would leave secrets behind.
        let mut out = Vec::with_capacity(len);
        if is_version_1 {
            out.u16(kind.0);
            out.vec8(|out| out.bytes(key));
        } else {
            out.bytes(&VERSION_2);
            out.u8(match form {
                KeyForm::Seed => SEED,
                KeyForm::Expanded => EXPANDED,
            });
            out.u16(kind.0);
            out.vec16(|out| out.bytes(key));
        }
        out.vec8(|out| out.bytes(fs_secret));
        out.into()
    }

    /// Decodes what [`encode`](Self::encode) wrote, in this version or an earlier one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (mut reader, form) = match bytes.strip_prefix(&VERSION_2) {
            None => (Reader::new(bytes), None),
            Some(rest) => {
                let mut reader = Reader::new(rest);
                let form = match reader.u8().ok()? {
                    SEED => KeyForm::Seed,
                    EXPANDED => KeyForm::Expanded,
                    _ => return None,
                };
                (reader, Some(form))
            }
        };
        let kind = NamedGroup(reader.u16().ok()?);
        let key = if form.is_some() { reader.vec16() } else { reader.vec8() };
        let secret = Self {
            kind,
            form: form.unwrap_or(KeyForm::Seed),
            key: key.ok()?.into(),
            fs_secret: Secret::from_slice(reader.vec8().ok()?)?,
        };
        reader.is_empty().then_some(secret)
    }
}

/// Version 1 has the kind here; no kind has this value, and version 1 fails to parse the vectors that follow.
const VERSION_2: [u8; 3] = [0, 0, 2];

const SEED: u8 = 0;
const EXPANDED: u8 = 1;

impl fmt::Debug for OneTimeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneTimeSecret").field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn secrets_of_any_form_and_length_come_back_from_their_encoding() {
        for form in [KeyForm::Seed, KeyForm::Expanded] {
            for len in [0, 1, 32, 96, 255, 256, 2432, OneTimeSecret::MAX_KEY_LEN] {
                for fs_len in [32, 48] {
                    let encoded = secret(form, len, fs_len).encode();
                    let decoded = OneTimeSecret::decode(&encoded).expect("as encoded");
                    assert_eq!((decoded.kind, decoded.form), (KIND, form));
                    assert_eq!(*decoded.key, *secret(form, len, fs_len).key);
                    assert_eq!(decoded.fs_secret.expose(), vec![9; fs_len]);
                    let last = encoded.len() - 1;
                    assert!(OneTimeSecret::decode(&encoded[..last]).is_none());
                    assert!(OneTimeSecret::decode(&[&encoded[..], &[0]].concat()).is_none());
                }
            }
        }
    }

    /// Servers of both versions share vaults during an upgrade, and after a rollback.
    #[test]
    fn seeds_are_encoded_as_in_version_1_which_reads_nothing_else() {
        for len in [0, 32, 96] {
            let encoded = secret(KeyForm::Seed, len, 32).encode();
            let parts = [&[0x11, 0xec, len as u8][..], &vec![7; len], &[32], &[9; 32]];
            assert_eq!(*encoded, parts.concat());
            assert!(version_1_reads(&encoded));
        }
        for len in [32, 96, 2432] {
            assert!(!version_1_reads(&secret(KeyForm::Expanded, len, 32).encode()));
        }
        let mut later = secret(KeyForm::Expanded, 2432, 32).encode();
        later[VERSION_2.len()] = 2;
        assert!(OneTimeSecret::decode(&later).is_none(), "an unknown form");
    }

    const KIND: NamedGroup = NamedGroup::X25519MLKEM768;

    fn secret(form: KeyForm, len: usize, fs_len: usize) -> OneTimeSecret {
        let fs_secret = Secret::filled_by(fs_len, |out| out.fill(9));
        OneTimeSecret { kind: KIND, form, key: vec![7; len].into(), fs_secret }
    }

    fn version_1_reads(bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        let mut read = || {
            reader.u16().ok()?;
            reader.vec8().ok()?;
            Secret::from_slice(reader.vec8().ok()?)?;
            reader.is_empty().then_some(())
        };
        read().is_some()
    }
}
