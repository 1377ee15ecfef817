//! The kinds of operations.

use serde::{Deserialize, Serialize};

/// The operations that a configuration performs for a connection, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Making an ephemeral key: a client's share.
    KeyGeneration,
    /// Answering a share, key generation and agreement in one: a server's work, or a client's for a one-time key.
    Encapsulation,
    /// Agreeing a secret with the answer to a key share, or with what a peer encapsulated to a certificate's key.
    Decapsulation,
    /// Making a one-time key for a ticket, or computing its public half.
    OneTimeKeyGeneration,
    /// Reading a one-time key in the form in which a vault stored it; from a seed this derives the key again.
    OneTimeKeyReading,
    /// Opening a client's encapsulation with a one-time key.
    OneTimeKeyOpening,
    /// HKDF's two steps, and HMAC.
    KeyDerivation,
    /// The transcript, and hashes of whole messages.
    Hash,
    /// Preparing a key for records, or for their headers.
    RecordKey,
    /// Sealing a record.
    Seal,
    /// Opening a record.
    Open,
    /// Making the mask of a header, to send it or to read it (RFC 9147 §4.2.3).
    HeaderMask,
    /// Random bytes.
    Random,
    /// Signing a CertificateVerify.
    Signature,
    /// Verifying a peer: its chain, its name and its signature.
    Verification,
    /// Checking its signature (CertificateVerify), apart from the rest of the verification; only with
    /// [`algorithms`](super::algorithms).
    ProofVerification,
    /// Sealing a session into a ticket.
    TicketSealing,
    /// Opening a ticket.
    TicketOpening,
    /// Putting a one-time key into a vault.
    VaultPut,
    /// Taking a one-time key from a vault, or deleting it.
    VaultTake,
    /// Querying a register of used tickets.
    Register,
}

impl Operation {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 21] = [
        Self::KeyGeneration,
        Self::Encapsulation,
        Self::Decapsulation,
        Self::OneTimeKeyGeneration,
        Self::OneTimeKeyReading,
        Self::OneTimeKeyOpening,
        Self::KeyDerivation,
        Self::Hash,
        Self::RecordKey,
        Self::Seal,
        Self::Open,
        Self::HeaderMask,
        Self::Random,
        Self::Signature,
        Self::Verification,
        Self::ProofVerification,
        Self::TicketSealing,
        Self::TicketOpening,
        Self::VaultPut,
        Self::VaultTake,
        Self::Register,
    ];

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeyGeneration => "key generation",
            Self::Encapsulation => "encapsulation",
            Self::Decapsulation => "decapsulation",
            Self::OneTimeKeyGeneration => "one-time key generation",
            Self::OneTimeKeyReading => "one-time key reading",
            Self::OneTimeKeyOpening => "one-time key opening",
            Self::KeyDerivation => "HKDF and HMAC",
            Self::Hash => "hash",
            Self::RecordKey => "record key",
            Self::Seal => "seal",
            Self::Open => "open",
            Self::HeaderMask => "header mask",
            Self::Random => "random",
            Self::Signature => "signature",
            Self::Verification => "verification",
            Self::ProofVerification => "CertificateVerify",
            Self::TicketSealing => "ticket sealing",
            Self::TicketOpening => "ticket opening",
            Self::VaultPut => "vault put",
            Self::VaultTake => "vault take",
            Self::Register => "register",
        }
    }

    /// Returns its place in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_at_its_index() {
        for (index, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation.index(), index);
        }
    }
}
