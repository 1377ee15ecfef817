//! The numbers of an association's epochs.

use super::record_number::{EARLY_DATA_EPOCH, HANDSHAKE_EPOCH};
use crate::handshake::Epoch;

/// How an association numbers its epochs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// As RFC 9147 §6.1 does.
    #[default]
    Rfc9147,
    /// With an authenticated handshake (docs/kem-auth.md §8): no two epochs before the first KeyUpdate have the same low
    /// bits, and those of data are RFC 9147's.
    WithAuthenticatedHandshake,
}

impl Numbering {
    /// Returns the epoch of the handshake's last messages.
    pub(crate) fn last_of_handshake(self) -> u64 {
        match self {
            Self::Rfc9147 => HANDSHAKE_EPOCH,
            Self::WithAuthenticatedHandshake => AUTHENTICATED_HANDSHAKE_EPOCH,
        }
    }

    /// Returns the first epoch of application data.
    pub(crate) fn application(self) -> u64 {
        match self {
            Self::Rfc9147 => APPLICATION_EPOCH,
            Self::WithAuthenticatedHandshake => APPLICATION_EPOCH + 4,
        }
    }

    /// Returns the first number of an epoch.
    pub(crate) fn number_of(self, epoch: Epoch) -> u64 {
        match epoch {
            Epoch::Initial => 0,
            Epoch::EarlyData => EARLY_DATA_EPOCH,
            Epoch::Handshake => HANDSHAKE_EPOCH,
            Epoch::AuthenticatedHandshake => AUTHENTICATED_HANDSHAKE_EPOCH,
            Epoch::Application => self.application(),
        }
    }

    /// Returns the epoch of a message.
    pub(crate) fn epoch_of(self, number: u64) -> Epoch {
        match number {
            0 => Epoch::Initial,
            EARLY_DATA_EPOCH => Epoch::EarlyData,
            HANDSHAKE_EPOCH => Epoch::Handshake,
            _ if number < self.application() => Epoch::AuthenticatedHandshake,
            _ => Epoch::Application,
        }
    }
}

/// The epoch of the authenticated handshake traffic secrets.
const AUTHENTICATED_HANDSHAKE_EPOCH: u64 = 4;

/// The first epoch of application traffic secrets by RFC 9147 §6.1.
pub(crate) const APPLICATION_EPOCH: u64 = 3;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::read_epochs::EPOCH_MASK;
    use super::*;

    #[test]
    fn epochs_of_a_handshake_ascend_and_their_records_tell_them_apart() {
        let all = [
            Epoch::Initial,
            Epoch::EarlyData,
            Epoch::Handshake,
            Epoch::AuthenticatedHandshake,
            Epoch::Application,
        ];
        for numbering in [Numbering::Rfc9147, Numbering::WithAuthenticatedHandshake] {
            let is_used = |epoch: &Epoch| {
                *epoch != Epoch::AuthenticatedHandshake || numbering != Numbering::Rfc9147
            };
            let used: Vec<Epoch> = all.into_iter().filter(is_used).collect();
            let numbers: Vec<u64> = used.iter().map(|it| numbering.number_of(*it)).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
            // Records of epoch 0 have another header.
            let mut bits: Vec<u64> = numbers[1..].iter().map(|it| it & EPOCH_MASK).collect();
            assert_eq!(bits.last(), Some(&APPLICATION_EPOCH));
            bits.sort_unstable();
            bits.dedup();
            assert_eq!(bits.len(), used.len() - 1, "{numbers:?}");
            for (epoch, number) in used.into_iter().zip(numbers) {
                assert_eq!(numbering.epoch_of(number), epoch);
            }
            let updated = numbering.application() + 1;
            assert_eq!(numbering.epoch_of(updated), Epoch::Application);
            assert_eq!(
                numbering.last_of_handshake(),
                match numbering {
                    Numbering::Rfc9147 => numbering.number_of(Epoch::Handshake),
                    _ => numbering.number_of(Epoch::AuthenticatedHandshake),
                }
            );
        }
    }
}
