//! Chains as rustls' algorithms for compressing certificates.
//!
//! rustls holds `&'static` values, and calls them with bytes only. An encoder has no state, so there is a static one
//! for each id. A decoder needs the chains that it restores: [`Decoders`] creates one for each id that it ever meets,
//! and never frees it. It empties them instead.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{
    CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel, DecompressionFailed,
};

use crate::chain::{self, Chain};
use crate::message;

/// Abbreviates the chain with this id.
pub(crate) fn encoder(id: u16) -> &'static dyn CertCompressor {
    static ENCODERS: [Encoder; chain::IDS] = {
        let mut encoders = [const { Encoder { id: 0 } }; chain::IDS];
        let mut place = 0;
        while place < chain::IDS {
            encoders[place].id = chain::FIRST_ID | place as u16;
            place += 1;
        }
        encoders
    };
    &ENCODERS[chain::place(id)]
}

#[derive(Debug)]
struct Encoder {
    id: u16,
}

impl CertCompressor for Encoder {
    fn compress(&self, body: Vec<u8>, _: CompressionLevel) -> Result<Vec<u8>, CompressionFailed> {
        let abbreviated = message::abbreviate(&body).ok_or(CompressionFailed)?;
        // For another chain, such as that of another server name, rustls sends a whole certificate.
        if chain::id(&abbreviated.hash) != self.id {
            return Err(CompressionFailed);
        }
        Ok(abbreviated.content)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Unknown(self.id)
    }
}

/// One decoder for each id of the chains that peers may send.
pub(crate) struct Decoders {
    decoders: HashMap<u16, &'static Decoder>,
    /// Counts the restored chains.
    restored: Arc<AtomicUsize>,
}

impl Decoders {
    pub(crate) fn new(restored: Arc<AtomicUsize>) -> Self {
        Self { decoders: HashMap::new(), restored }
    }

    /// Returns the decoder of an id, from now on.
    pub(crate) fn of(&mut self, id: u16) -> &'static Decoder {
        self.decoders.entry(id).or_insert_with(|| {
            let (chains, is_disputed) = Default::default();
            Box::leak(Box::new(Decoder {
                id,
                chains,
                is_disputed,
                restored: self.restored.clone(),
            }))
        })
    }

    /// Returns the decoder of an id that a chain has or had.
    pub(crate) fn get(&self, id: u16) -> Option<&'static Decoder> {
        self.decoders.get(&id).copied()
    }

    /// Knows a chain.
    pub(crate) fn insert(&mut self, chain: Arc<Chain>) {
        self.of(chain.id()).chains(|chains| chains.push(chain));
    }

    /// Forgets a chain.
    pub(crate) fn remove(&self, chain: &Chain) {
        if let Some(decoder) = self.get(chain.id()) {
            decoder.chains(|chains| chains.retain(|it| **it != *chain));
        }
    }
}

/// Restores the chains with one id.
pub(crate) struct Decoder {
    id: u16,
    /// Those with this id: one, except for collisions.
    chains: Mutex<Vec<Arc<Chain>>>,
    /// A peer meant another chain with this id. Until that chain is known too, the id can't be offered.
    is_disputed: AtomicBool,
    restored: Arc<AtomicUsize>,
}

impl Decoder {
    /// Whether a peer sent the hash of an unknown chain.
    pub(crate) fn is_disputed(&self) -> bool {
        self.is_disputed.load(Ordering::Relaxed)
    }

    /// Ends a dispute: the peer has sent its chain.
    pub(crate) fn settle(&self) {
        self.is_disputed.store(false, Ordering::Relaxed);
    }

    fn chains<T>(&self, change: impl FnOnce(&mut Vec<Arc<Chain>>) -> T) -> T {
        change(&mut self.chains.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CertDecompressor for Decoder {
    fn decompress(&self, content: &[u8], body: &mut [u8]) -> Result<(), DecompressionFailed> {
        let hash = message::hash(content).ok_or(DecompressionFailed)?;
        let chain =
            self.chains(|chains| chains.iter().find(|chain| *chain.hash() == hash).cloned());
        let Some(chain) = chain else {
            self.is_disputed.store(true, Ordering::Relaxed);
            return Err(DecompressionFailed);
        };
        message::restore(content, &chain, body).ok_or(DecompressionFailed)?;
        self.restored.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Unknown(self.id)
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("id", &self.id).finish_non_exhaustive()
    }
}
