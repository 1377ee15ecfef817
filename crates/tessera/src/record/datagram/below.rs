//! The carrier of a handshake over datagrams.

use alloc::boxed::Box;

use super::Datagrams;
use super::numbering::Numbering;
use super::protection::Protection;
use super::record_number::EARLY_DATA_EPOCH;
use crate::crypto::Suite;
use crate::error::{Error, unexpected_message};
use crate::handshake::{Below, Direction, Epoch, Limit};
use crate::limits::MAX_PLAINTEXT;
use crate::schedule::TrafficSecret;

/// The record layer for the time of one call.
pub(crate) struct DatagramBelow<'d> {
    pub(crate) datagrams: &'d mut Datagrams,
}

impl Below for DatagramBelow<'_> {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        let epoch = match epoch {
            Epoch::Application => self.datagrams.outgoing.newest(),
            epoch => self.datagrams.numbering.number_of(epoch),
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
        if epoch == Epoch::AuthenticatedHandshake {
            datagrams.numbering = Numbering::WithAuthenticatedHandshake;
        }
        let first = datagrams.numbering.number_of(epoch);
        match direction {
            Direction::Write => datagrams.outgoing.install(first, protection),
            Direction::Read => {
                let number = first.max(match epoch {
                    Epoch::Application => datagrams.incoming.epochs.newest() + 1,
                    _ => 0,
                });
                if epoch != Epoch::EarlyData {
                    datagrams.change_message_epoch(number)?;
                }
                if matches!(epoch, Epoch::Handshake | Epoch::AuthenticatedHandshake) {
                    datagrams.late_secret = datagrams.reads_last().then(|| secret.keep());
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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::super::early_records::tests::{datagrams, install};
    use super::super::fragment::Fragment;
    use super::super::numbering::APPLICATION_EPOCH;
    use super::super::record_number::HANDSHAKE_EPOCH;
    use super::*;
    use crate::role::Role;
    use crate::wire::{AlertDescription, HandshakeType};

    #[test]
    fn a_part_of_a_message_under_keys_that_end_is_refused_and_one_without_keys_dropped() {
        for (epoch, expected) in
            [(0, Ok(())), (HANDSHAKE_EPOCH, Err(Some(AlertDescription::UNEXPECTED_MESSAGE)))]
        {
            let mut datagrams = datagrams(Role::Server);
            datagrams.message_epoch = epoch;
            let typ = HandshakeType::FINISHED;
            let part = Fragment { typ, message_len: 2, message_seq: 0, offset: 0, bytes: b"x" };
            assert!(datagrams.fragments.insert(part, epoch, 1000).is_ok());
            let changed = datagrams.change_message_epoch(APPLICATION_EPOCH);
            assert_eq!(changed.map_err(|error| error.alert()), expected, "epoch {epoch}");
            assert_eq!(datagrams.fragments.has_parts(), epoch > 0);
        }
    }

    #[test]
    fn keys_go_with_the_last_message_that_needs_them() {
        use Direction::{Read, Write};
        let mut server = datagrams(Role::Server);
        for (direction, epoch) in [
            (Read, Epoch::EarlyData),
            (Write, Epoch::Handshake),
            (Read, Epoch::Handshake),
            (Write, Epoch::Application),
        ] {
            install(&mut server, direction, epoch);
        }
        assert_eq!(server.send_message(HANDSHAKE_EPOCH, &[20, 0, 0, 1, 7]), Ok(()));
        install(&mut server, Read, Epoch::Application);
        let read = |server: &Datagrams| server.incoming.epochs.all.len();
        assert_eq!((read(&server), server.outgoing.epochs.len()), (3, 2));
        server.complete(Duration::ZERO);
        assert_eq!((read(&server), server.outgoing.epochs.len()), (2, 2), "no early data");
        server.flight.give_up();
        server.acknowledged_all();
        assert_eq!((read(&server), server.outgoing.epochs.len()), (2, 1), "all is acknowledged");
        server.end();
        assert_eq!((read(&server), server.outgoing.epochs.len()), (0, 0));
    }

    #[test]
    fn the_last_message_number_ends_key_updates() {
        let mut datagrams = datagrams(Role::Server);
        datagrams.flight.skip_to(u16::MAX);
        let below = DatagramBelow { datagrams: &mut datagrams };
        assert_eq!(below.may_update(), Ok(()));
        assert_eq!(below.datagrams.send_after_handshake(&[24, 0, 0, 1, 0]), Ok(()));
        assert!(matches!(below.may_update(), Err(Error::TooEarly(_))));
    }
}
