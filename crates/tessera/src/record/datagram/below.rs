//! The carrier of a handshake over datagrams.

use alloc::boxed::Box;

use super::Datagrams;
use super::protection::Protection;
use super::record_number::{APPLICATION_EPOCH, EARLY_DATA_EPOCH, HANDSHAKE_EPOCH};
use crate::crypto::Suite;
use crate::error::{Error, unexpected_message};
use crate::handshake::{Below, Direction, Epoch, Limit};
use crate::limits::MAX_PLAINTEXT;
use crate::role::Role;
use crate::schedule::TrafficSecret;

/// The record layer for the time of one call.
pub(crate) struct DatagramBelow<'d> {
    pub(crate) datagrams: &'d mut Datagrams,
}

impl Below for DatagramBelow<'_> {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        let epoch = match epoch {
            Epoch::Application => self.datagrams.outgoing.newest(),
            epoch => number_of(epoch),
        };
        // A handshake has few messages; those after it are counted before they are sent.
        let sent = self.datagrams.send_message(epoch, message);
        debug_assert!(sent.is_ok(), "a handshake of more than 65,535 messages");
    }

    fn flight_ended(&self) -> Result<(), Error> {
        // Datagrams overtake each other: what follows is judged when the keys change.
        Ok(())
    }

    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        suite: &'static Suite,
        secret: TrafficSecret<'_>,
    ) -> Result<(), Error> {
        let protection = Protection::new(suite, secret);
        let datagrams = &mut *self.datagrams;
        match direction {
            Direction::Write => datagrams.outgoing.install(number_of(epoch), protection),
            Direction::Read => {
                let number = number_of(epoch).max(match epoch {
                    Epoch::Application => datagrams.incoming.epochs.newest() + 1,
                    _ => 0,
                });
                if epoch != Epoch::EarlyData {
                    datagrams.change_message_epoch(number)?;
                }
                if epoch == Epoch::Handshake && datagrams.role == Role::Server {
                    datagrams.late_secret = Some(secret.keep());
                }
                datagrams.incoming.epochs.install(number, protection);
            }
        }
        Ok(())
    }

    fn may_update(&self) -> Result<(), Error> {
        self.datagrams.may_send_after_handshake()
    }

    fn update(&mut self, key_update: &[u8], suite: &'static Suite, next: TrafficSecret<'_>) {
        self.send(Epoch::Application, key_update);
        self.datagrams.next_keys = Some(Box::new(Protection::new(suite, next)));
    }

    fn close_early_data(&mut self) -> Option<u32> {
        Some(self.datagrams.close_early_data())
    }

    fn early_records_sent(&self) -> u64 {
        self.datagrams.outgoing.next_number(EARLY_DATA_EPOCH).sequence
    }

    fn withdraw_early_data(&mut self) {
        self.datagrams.outgoing.drop_epoch(EARLY_DATA_EPOCH);
        self.datagrams.unsent_early.clear();
    }

    fn limit(&mut self, limit: Limit) {
        let datagrams = &mut *self.datagrams;
        match limit {
            Limit::EarlyData(limit) => {
                datagrams.early_data_left = usize::try_from(limit).unwrap_or(usize::MAX);
            }
            // It doesn't open, like anything else without keys.
            Limit::RefusedEarlyData(..) => (),
            Limit::Records { peer, own } => {
                datagrams.outgoing.max_plaintext = MAX_PLAINTEXT.min(usize::from(peer) - 1);
                datagrams.incoming.max_inner_plaintext = own.into();
            }
            Limit::Padding(padding) => datagrams.outgoing.padding = padding,
        }
    }
}

impl Datagrams {
    /// Expects the peer's next message in this epoch.
    ///
    /// # Errors
    /// The peer has sent another message under the keys that end here.
    fn change_message_epoch(&mut self, number: u64) -> Result<(), Error> {
        if self.fragments.has_parts() {
            if self.message_epoch > 0 {
                return Err(unexpected_message("a message after the last under its keys"));
            }
            // Anyone can have sent it.
            self.fragments.clear();
            self.incoming.counts.misplaced += 1;
        }
        self.message_epoch = number;
        Ok(())
    }
}

/// Returns the first number of an epoch (RFC 9147 §6.1).
fn number_of(epoch: Epoch) -> u64 {
    match epoch {
        Epoch::Initial => 0,
        Epoch::EarlyData => EARLY_DATA_EPOCH,
        Epoch::Handshake => HANDSHAKE_EPOCH,
        Epoch::Application => APPLICATION_EPOCH,
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::super::fragments::Fragment;
    use super::*;
    use crate::wire::{AlertDescription, HandshakeType};

    #[test]
    fn a_part_of_a_message_under_keys_that_end_is_refused_and_one_without_keys_dropped() {
        for (epoch, expected) in
            [(0, Ok(())), (HANDSHAKE_EPOCH, Err(Some(AlertDescription::UNEXPECTED_MESSAGE)))]
        {
            let mut datagrams =
                Datagrams::new(Role::Server, Duration::from_secs(1), true, 1200, 10);
            datagrams.message_epoch = epoch;
            let typ = HandshakeType::FINISHED;
            let part = Fragment { typ, message_len: 2, message_seq: 0, offset: 0, bytes: b"x" };
            assert!(datagrams.fragments.insert(part, epoch, 1000).is_ok());
            let changed = datagrams.change_message_epoch(APPLICATION_EPOCH);
            assert_eq!(changed.map_err(|error| error.alert()), expected, "epoch {epoch}");
            assert_eq!(datagrams.fragments.has_parts(), epoch > 0);
        }
    }
}
