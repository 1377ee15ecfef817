//! The kinds of operations.

use serde::{Deserialize, Serialize};

/// The operations that a configuration performs for a connection, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// An ephemeral key is made: a client's share.
    KeyGeneration,
    /// A share is answered: key generation and agreement in one, of a server's, or of a client's with a
    /// one-time key.
    Encapsulation,
    /// Agreeing a secret with the answer to a key share.
    Decapsulation,
    /// A one-time key is made for a ticket, or its public half computed.
    OneTimeKeyGeneration,
    /// Reading a one-time key in the form in which a vault stored it; from a seed this derives the key again.
    OneTimeKeyReading,
    /// Opening a client's encapsulation with a one-time key.
    OneTimeKeyOpening,
    /// HKDF's two steps, and HMAC.
    KeyDerivation,
    /// The transcript, and hashes of whole messages.
    Hash,
    /// A key for records is made ready, or for their headers.
    RecordKey,
    /// A record is sealed.
    Seal,
    /// A record is opened.
    Open,
    /// Random bytes.
    Random,
    /// A CertificateVerify is signed.
    Signature,
    /// Verifying a peer: its chain, its name and its signature.
    Verification,
    /// Checking its signature (CertificateVerify), apart from the rest of the verification; only with
    /// [`algorithms`](super::algorithms).
    ProofVerification,
    /// A session is sealed into a ticket.
    TicketSealing,
    /// A ticket is opened.
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
    pub const ALL: [Self; 20] = [
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

    /// Its name in tables.
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

    /// Its place in [`ALL`](Self::ALL).
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
