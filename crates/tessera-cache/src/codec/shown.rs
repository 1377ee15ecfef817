//! A peer's chain that came as a hash.

use tessera::auth::{CertificateNotDecoded, Decoded};

use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::metrics::Metrics;
use crate::wire::Content;

/// A peer's chain that came as a hash.
pub(super) struct Shown {
    /// The chain that was expected.
    pub(super) hash: ChainHash,
    pub(super) form: Form,
    /// Whether it is the one that the peer named. If it isn't, the handshake goes on with the expected one
    /// until the proof, and ends as if the proof were wrong: so nobody learns from the alert which chain
    /// was expected, and nobody makes a cache forget it.
    pub(super) matches: bool,
}

impl Shown {
    /// Reads the content of a CompressedCertificate, and writes the body that it stands for. Of a chain that
    /// isn't there the verifier is asked by its hash.
    pub(super) fn decode(
        hash: ChainHash,
        form: &Form,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<(Self, Decoded), CertificateNotDecoded> {
        let content = Content::read(encoded).ok_or(CertificateNotDecoded)?;
        let decoded = match form {
            Form::Whole(chain) => {
                chain.fill_body(&content.extensions, body).ok_or(CertificateNotDecoded)?;
                Decoded::Body(body.len())
            }
            Form::Known(hash, outline) => {
                if !outline.fits(&content.extensions, body.len()) {
                    return Err(CertificateNotDecoded);
                }
                let entry_extensions = encoded.get(ChainHash::LEN..).unwrap_or_default().to_vec();
                Decoded::Known { hash: hash.0, entry_extensions }
            }
        };
        let shown = Self { hash, form: form.clone(), matches: content.chain == hash };
        Ok((shown, decoded))
    }

    pub(super) fn count(&self, body: usize, encoded: usize, metrics: &mut Metrics) {
        if self.matches {
            metrics.saved(body, encoded);
        } else {
            metrics.wrong_hash += 1;
        }
    }
}
