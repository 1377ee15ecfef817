//! What goes out: ACKs, flights and their retransmission, early data, alerts.

use alloc::vec::Vec;
use core::time::Duration;

use super::Datagrams;
use super::acknowledgements::EMPTY_ACK_LEN;
use super::outgoing::RecordEnd;
use super::record_number::EARLY_DATA_EPOCH;
use crate::error::Error;
use crate::wire::{AlertDescription, ContentType};

impl Datagrams {
    /// Returns when [`expire`](Self::expire) or [`transmit`](Self::transmit) must be called.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        [self.transmits_at(), self.incoming.epochs.deadline()].into_iter().flatten().min()
    }

    /// Returns when something is sent although nothing arrives.
    pub(crate) fn transmits_at(&self) -> Option<Duration> {
        let due = self.acknowledgements.deadline().filter(|_| self.may_acknowledge());
        [self.timer.deadline(), due].into_iter().flatten().min()
    }

    /// Drops the keys whose time is over, and sends the flight again if its time is.
    ///
    /// # Errors
    /// [`Error::TimedOut`]: the peer answers nothing in the handshake, or a server neither acknowledges its end nor
    /// sends anything under the keys after it.
    pub(crate) fn expire(&mut self, now: Duration) -> Result<(), Error> {
        self.incoming.epochs.expire(now);
        let Some(in_a_row) = self.timer.expire(now) else { return Ok(()) };
        if in_a_row > MAX_RETRANSMISSIONS {
            let application = self.numbering.application();
            let is_heard = self.incoming.epochs.newest_record().0 >= application;
            if !self.is_complete || self.flight.is_below(application) && !is_heard {
                return Err(Error::TimedOut);
            }
            // The peer is gone, or doesn't want the messages; data may still pass. A KeyUpdate goes on with the next
            // data: without it the keys would be used up.
            match self.next_keys {
                Some(_) => self.timer.stop(),
                None => self.flight.give_up(),
            }
            return Ok(());
        }
        if in_a_row >= SMALLER_AFTER && !self.is_complete {
            // §4.4: perhaps the datagrams are too long for the path. After the handshake it carried them.
            self.set_max_datagram(match self.max_datagram {
                ..=IPV4_MINIMUM => self.max_datagram / 2,
                _ => IPV4_MINIMUM,
            });
        }
        self.was_hurried &= in_a_row == 0;
        self.acknowledgements.withdraw_empty();
        self.burst_left = self.max_burst;
        if in_a_row == 0 {
            self.flight.send_overtaken_again();
        }
        // The rest of a long flight before its beginning again.
        if !self.flight.has_unsent() {
            self.flight.send_again();
        }
        Ok(())
    }

    /// Returns whether something is to be sent now.
    pub(crate) fn has_output(&self, now: Duration) -> bool {
        let acknowledges = self.acknowledgements.deadline().is_some_and(|due| due <= now);
        acknowledges && self.may_acknowledge()
            || self.burst_left > 0 && self.flight.has_unsent()
            || self.alert.is_some()
            || !self.unsent_early.is_empty()
    }

    /// Appends the next datagram to send, of at most `room` bytes; returns whether there is one.
    pub(crate) fn transmit(&mut self, room: usize, now: Duration, out: &mut Vec<u8>) -> bool {
        // The peer's connection ID may have become longer.
        self.set_max_datagram(self.max_datagram);
        let max_datagram = self.max_datagram;
        self.max_datagram = max_datagram.min(room);
        let has_sent = self.transmit_one(now, out);
        self.max_datagram = max_datagram;
        has_sent
    }

    fn transmit_one(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        self.transmit_ack(now, out);
        let mut has_sent = false;
        while self.burst_left > 0 && self.transmit_messages(start, now, out) {
            self.burst_left -= 1;
            has_sent = true;
        }
        let fits = |record: &Vec<u8>| out.len() - start + record.len() <= self.max_datagram;
        if !self.flight.has_unsent() && self.unsent_early.first().is_some_and(fits) {
            out.extend(self.unsent_early.remove(0));
        }
        if !self.flight.has_unsent()
            && let Some(alert) = self.alert
        {
            self.transmit_alert(alert, start, out);
        }
        if has_sent && (!self.flight.has_unsent() || self.burst_left == 0) {
            self.timer.start(now);
            if self.flight.has_unsent() {
                // A long flight goes on before its answer is due: a ClientHello has none, nor an ACK, until it is whole.
                self.timer.hurry(now + self.timer.quarter());
            }
        }
        out.len() > start
    }

    fn transmit_ack(&mut self, now: Duration, out: &mut Vec<u8>) {
        let is_due = self.acknowledgements.deadline().is_some_and(|due| due <= now);
        if !is_due || !self.may_acknowledge() {
            return;
        }
        let epoch = self.control_epoch();
        let room = (self.max_datagram, RecordEnd::Delimited);
        let most = self.outgoing.most_content(epoch, self.max_datagram);
        let acks = &mut self.acknowledgements;
        if most < EMPTY_ACK_LEN {
            // What isn't acknowledged comes again.
            acks.withdraw();
            return;
        }
        self.outgoing.record(ContentType::ACK, epoch, room, out, |out| {
            acks.write(epoch, most, out);
        });
    }

    /// Appends a record of messages; returns whether anything fitted.
    fn transmit_messages(&mut self, start: usize, now: Duration, out: &mut Vec<u8>) -> bool {
        let Some(epoch) = self.flight.unsent_epoch() else { return false };
        let before = out.len();
        let room = self.max_datagram.saturating_sub(before - start);
        let most = self.outgoing.most_content(epoch, room);
        let number = self.outgoing.next_number(epoch);
        let flight = &mut self.flight;
        let place = (room, RecordEnd::Delimited);
        self.outgoing.record(ContentType::HANDSHAKE, epoch, place, out, |out| {
            flight.write_record(number, most, now, out);
        });
        out.len() > before
    }

    fn transmit_alert(&mut self, alert: AlertDescription, start: usize, out: &mut Vec<u8>) {
        let content = alert.to_content();
        let epoch = self.control_epoch();
        let room = self.max_datagram.saturating_sub(out.len() - start);
        if self.outgoing.most_content(epoch, room) < content.len() {
            return;
        }
        let place = (room, RecordEnd::Delimited);
        self.outgoing.record(ContentType::ALERT, epoch, place, out, |out| {
            out.extend_from_slice(&content);
        });
        self.alert = None;
        // §5.10: nothing follows.
        self.is_closed = true;
        self.flight.give_up();
        self.next_keys = None;
        self.timer.stop();
        self.outgoing.close();
    }

    fn may_acknowledge(&self) -> bool {
        self.is_agreed() && !self.is_closed
    }

    /// Returns the epoch of ACKs and alerts: the newest, but not that of early data (§7).
    fn control_epoch(&self) -> u64 {
        match self.outgoing.newest() {
            EARLY_DATA_EPOCH => 0,
            newest => newest,
        }
    }
}

/// How many timeouts in a row make datagrams shorter.
const SMALLER_AFTER: u32 = 2;

/// The minimum of IPv4 (RFC 9147 §4.4), without the headers of UDP and IP.
const IPV4_MINIMUM: usize = 576 - 28;

/// How often a flight is sent again.
const MAX_RETRANSMISSIONS: u32 = 12;

#[cfg(test)]
mod tests {
    use super::super::early_records::tests::{datagrams, install};
    use super::super::record_number::RecordNumber;
    use super::*;
    use crate::handshake::{Direction, Epoch};
    use crate::role::Role;

    #[test]
    fn a_flight_goes_out_in_bursts() {
        let mut server = datagrams(Role::Server);
        server.max_burst = 3;
        let message = [&[11, 0, 0x27, 0x10][..], &[7; 10_000]].concat();
        assert_eq!(server.send_message(0, &message), Ok(()));
        for burst in 0..3 {
            let mut datagram = Vec::new();
            let sends = |_: &u32| server.transmit(1200, Duration::ZERO, &mut datagram);
            assert_eq!((0..20).take_while(sends).count(), 3, "burst {burst}");
            let next = server.deadline().expect("the rest, or the first again");
            assert_eq!(server.expire(next), Ok(()));
        }
    }

    /// What may be sent to an address that is unproved.
    #[test]
    fn no_datagram_is_longer_than_its_room() {
        for room in 0..60 {
            for is_protected in [false, true] {
                let mut server = datagrams(Role::Server);
                server.after_stateless_retry();
                if is_protected {
                    install(&mut server, Direction::Write, Epoch::Handshake);
                }
                let epoch = server.outgoing.newest();
                assert_eq!(server.send_message(epoch, &[20, 0, 0, 4, 1, 2, 3, 4]), Ok(()));
                let number = RecordNumber { epoch: 0, sequence: 0 };
                server.acknowledgements.note(number, Duration::ZERO);
                server.send_alert(AlertDescription::CLOSE_NOTIFY);
                for _ in 0..10 {
                    let mut datagram = Vec::new();
                    server.transmit(room, Duration::ZERO, &mut datagram);
                    assert!(datagram.len() <= room, "{room}: {} bytes", datagram.len());
                }
            }
        }
    }
}
