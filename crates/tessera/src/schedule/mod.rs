//! The key schedule (RFC 8446 §7.1) as typestates: early, handshake, master.
//!
//! Each secret yields its derived secrets and is then consumed by the next step, so that no
//! step is repeated or out of order, and no secret outlives its use.

mod label;
mod profile;
#[cfg(test)]
mod tests;
mod traffic;
mod transcript;

pub(crate) use label::{KeyDerivation, MAX_LABEL};
pub use profile::{Profile, STREAM};
pub use traffic::TrafficSecret;
pub(crate) use transcript::Transcript;

use alloc::boxed::Box;

use crate::crypto::{Digest, HmacState, Secret, SharedSecret};

/// A secret of the schedule, with HMAC keyed. The next one replaces it in its place.
type Keyed = Box<HmacState>;

/// The Early Secret, with or without a PSK.
pub(crate) struct EarlySecret {
    kdf: KeyDerivation,
    secret: Keyed,
}

impl EarlySecret {
    /// Extracts the PSK.
    pub(crate) fn new(kdf: KeyDerivation, psk: &[u8]) -> Self {
        let mut secret = Keyed::default();
        kdf.extract(&[], psk, &mut secret);
        Self { kdf, secret }
    }

    /// Creates the early secret of a handshake without PSK.
    pub(crate) fn without_psk(kdf: KeyDerivation) -> Self {
        Self::new(kdf, kdf.zeros())
    }

    /// Computes the PSK binder over a transcript that ends before the binders (§4.2.11.2). The label depends on
    /// the kind of PSK.
    pub(crate) fn binder(&self, label: &[u8], transcript: &Digest) -> Digest {
        self.mac(label, transcript)
    }

    /// Computes the proof of a lone forward-secret identity that its sender has the PSK, over the hash of
    /// what precedes the proof.
    pub(crate) fn lone_identity_proof(&self, covered: &Digest) -> Digest {
        self.mac(b"fs proof", covered)
    }

    fn mac(&self, label: &[u8], covered: &Digest) -> Digest {
        self.kdf.with_derived(&self.secret, label, |key| self.kdf.finished(key, covered))
    }

    /// Derives client_early_traffic_secret over the ClientHello.
    pub(crate) fn client_early_traffic(&self, transcript: &Digest) -> TrafficSecret {
        traffic(self.kdf, &self.secret, b"c e traffic", transcript)
    }

    /// Continues with the secret of a key exchange, or with none in psk_ke.
    pub(crate) fn into_handshake(self, shared: Option<&SharedSecret>) -> HandshakeSecret {
        let Self { kdf, mut secret } = self;
        kdf.extract_next(&mut secret, shared.map_or(kdf.zeros(), SharedSecret::expose));
        HandshakeSecret { kdf, secret }
    }
}

/// The Handshake Secret.
pub(crate) struct HandshakeSecret {
    kdf: KeyDerivation,
    secret: Keyed,
}

impl HandshakeSecret {
    /// Derives client_handshake_traffic_secret over ClientHello..ServerHello.
    pub(crate) fn client_traffic(&self, transcript: &Digest) -> TrafficSecret {
        traffic(self.kdf, &self.secret, b"c hs traffic", transcript)
    }

    /// Derives server_handshake_traffic_secret over ClientHello..ServerHello.
    pub(crate) fn server_traffic(&self, transcript: &Digest) -> TrafficSecret {
        traffic(self.kdf, &self.secret, b"s hs traffic", transcript)
    }

    /// Continues to the Master Secret.
    pub(crate) fn into_master(self) -> MasterSecret {
        let Self { kdf, mut secret } = self;
        kdf.extract_next(&mut secret, kdf.zeros());
        MasterSecret { kdf, secret }
    }
}

/// The Master Secret.
pub(crate) struct MasterSecret {
    kdf: KeyDerivation,
    secret: Keyed,
}

impl MasterSecret {
    /// Derives client_application_traffic_secret_0 over ClientHello..server Finished.
    pub(crate) fn client_traffic(&self, transcript: &Digest) -> TrafficSecret {
        traffic(self.kdf, &self.secret, b"c ap traffic", transcript)
    }

    /// Derives server_application_traffic_secret_0 over ClientHello..server Finished.
    pub(crate) fn server_traffic(&self, transcript: &Digest) -> TrafficSecret {
        traffic(self.kdf, &self.secret, b"s ap traffic", transcript)
    }

    /// Derives exporter_master_secret over ClientHello..server Finished.
    pub(crate) fn exporter(&self, transcript: &Digest) -> ExporterSecret {
        let secret = self.kdf.derive_secret(&self.secret, b"exp master", transcript);
        ExporterSecret { kdf: self.kdf, secret }
    }

    /// Derives resumption_master_secret over ClientHello..client Finished; the last use of this secret.
    pub(crate) fn into_resumption(self, transcript: &Digest) -> ResumptionSecret {
        let Self { kdf, mut secret } = self;
        kdf.derive_next(&mut secret, b"res master", transcript);
        ResumptionSecret { kdf, secret }
    }
}

fn traffic(kdf: KeyDerivation, of: &HmacState, label: &[u8], transcript: &Digest) -> TrafficSecret {
    TrafficSecret::new(kdf, kdf.derive_secret(of, label, transcript))
}

/// exporter_master_secret (§7.5).
pub(crate) struct ExporterSecret {
    kdf: KeyDerivation,
    secret: Secret,
}

impl ExporterSecret {
    /// Computes TLS-Exporter(label, context, length of `out`). In its own frame: the caller wipes it.
    #[inline(never)]
    pub(crate) fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) {
        let context = self.kdf.hash.hash(context);
        let kdf = &self.kdf;
        let expand =
            |secret: &HmacState| kdf.expand_label(secret, b"exporter", context.as_ref(), out);
        kdf.with_keyed(self.secret.expose(), |exporter| {
            kdf.with_derived(exporter, label, |secret| kdf.with_keyed(secret, expand));
        });
    }

    /// Returns the secret itself, for the key log.
    pub(crate) fn expose(&self) -> &[u8] {
        self.secret.expose()
    }

    /// Returns the length of one hash output, in bytes.
    pub(crate) fn hash_len(&self) -> usize {
        self.kdf.hash.len()
    }
}

/// resumption_master_secret (§4.6.1).
pub(crate) struct ResumptionSecret {
    kdf: KeyDerivation,
    secret: Keyed,
}

impl ResumptionSecret {
    /// Derives the PSK of the ticket with this nonce.
    pub(crate) fn psk(&self, ticket_nonce: &[u8]) -> Secret {
        self.kdf.expand_label_to_secret(&self.secret, b"resumption", ticket_nonce)
    }

    /// Derives a certificate codec's ticket for a context of at most 255 bytes, of at most 255 bytes
    /// (docs/cached-handshakes.md).
    pub(crate) fn certificate_ticket(&self, context: &[u8], out: &mut [u8]) {
        self.kdf.expand_label(&self.secret, b"bithac ticket", context, out);
    }
}
