//! exporter_master_secret (RFC 8446 §7.5).

use super::label::{KeyDerivation, Label};
use crate::crypto::HmacState;

/// exporter_master_secret, borrowed from the slab.
#[derive(Clone, Copy)]
pub(crate) struct ExporterSecret<'s> {
    kdf: KeyDerivation,
    secret: &'s [u8],
}

impl<'s> ExporterSecret<'s> {
    pub(super) fn new(kdf: KeyDerivation, secret: &'s [u8]) -> Self {
        Self { kdf, secret }
    }

    /// Computes TLS-Exporter(label, context, length of `out`). In its own frame: the caller wipes it.
    #[inline(never)]
    pub(crate) fn export(self, label: &[u8], context: &[u8], out: &mut [u8]) {
        let context = self.kdf.hash.hash(context);
        let kdf = &self.kdf;
        let expand =
            |secret: &HmacState| kdf.expand_label(secret, Label::EXPORTER, context.as_ref(), out);
        kdf.with_keyed(self.secret, |exporter| {
            kdf.with_derived_for_exporter(exporter, label, |secret| kdf.with_keyed(secret, expand));
        });
    }

    /// Returns the secret itself, for the key log.
    pub(crate) fn expose(self) -> &'s [u8] {
        self.secret
    }

    /// Returns the length of one hash output, in bytes.
    pub(crate) fn hash_len(self) -> usize {
        self.kdf.hash.len()
    }
}
