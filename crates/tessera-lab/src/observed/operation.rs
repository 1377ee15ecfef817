//! The kinds of operations.

use serde::{Deserialize, Serialize};

/// What a configuration does for a connection, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// An ephemeral key is made: a client's share.
    KeyGeneration,
    /// A share is answered: key generation and agreement in one, of a server's, or of a client's with a
    /// one-time key.
    Encapsulation,
    /// A secret is agreed with the answer to a share.
    Decapsulation,
    /// A one-time key is made for a ticket, or its public half computed.
    OneTimeKeyGeneration,
    /// A one-time key is read in the form in which a vault kept it; from its seed it is derived anew.
    OneTimeKeyReading,
    /// A one-time key opens what a client encapsulated to it.
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
    /// A peer is judged: its chain, its name and its signature.
    Verification,
    /// A session is sealed into a ticket.
    TicketSealing,
    /// A ticket is opened.
    TicketOpening,
    /// A vault takes in a one-time key.
    VaultPut,
    /// A vault gives a one-time key out, or deletes it.
    VaultTake,
    /// A register of used tickets is asked.
    Register,
}

impl Operation {
    /// All of them, in the order of their discriminants.
    pub(crate) const ALL: [Self; 19] = [
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
        Self::TicketSealing,
        Self::TicketOpening,
        Self::VaultPut,
        Self::VaultTake,
        Self::Register,
    ];

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
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
            Self::TicketSealing => "ticket sealing",
            Self::TicketOpening => "ticket opening",
            Self::VaultPut => "vault put",
            Self::VaultTake => "vault take",
            Self::Register => "register",
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_where_its_index_says() {
        for (index, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation.index(), index);
        }
    }
}
