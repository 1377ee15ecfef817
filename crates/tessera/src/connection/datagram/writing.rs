//! Data that an association sends, the keys for it, and its end.

use alloc::vec::Vec;
use core::time::Duration;

use super::Association;
use crate::error::Error;
use crate::handshake::{Direction, Handshake};
use crate::record::DatagramBelow;
use crate::wire::AlertDescription;

impl<H: Handshake> Association<H> {
    /// Returns whether data may be written. A server may write once its flight is sent, before the client's Finished
    /// has authenticated the client.
    #[must_use]
    pub fn can_write(&self) -> bool {
        let has_keys = self.datagrams.has_application_keys();
        self.check_writable().is_ok() && has_keys && self.core.may_write()
    }

    /// Changes [`first_timeout`](super::AssociationOptions::first_timeout), also for what was sent: the round-trip time
    /// may become known from elsewhere, such as ICE (RFC 9147 §5.8.2).
    pub fn set_first_timeout(&mut self, timeout: Duration) {
        self.datagrams.set_first_timeout(timeout);
    }

    /// Sends datagrams of at most `len` bytes from now on, without the headers of UDP and IP: what the path is known to
    /// carry, or the socket to refuse. Timeouts of the handshake shorten them again. Early data that waits in longer
    /// records is lost.
    pub fn set_max_datagram(&mut self, len: usize) {
        self.datagrams.set_max_datagram(len);
    }

    /// Returns the most data in one datagram, in bytes.
    #[must_use]
    pub fn max_data(&self) -> usize {
        self.datagrams.max_data()
    }

    /// Returns the length of the datagram that [`write`](Self::write) makes of `len` bytes of data, padding included.
    #[must_use]
    pub fn datagram_len(&self, len: usize) -> usize {
        self.datagrams.datagram_len(len)
    }

    /// Appends a datagram with `data` to `out`, of at most [`max_data`](Self::max_data) bytes. It is sent once: what
    /// must arrive is the application's to repeat. First [`transmit`](Self::transmit): a peer drops data that overtakes
    /// the end of the handshake.
    ///
    /// # Errors
    /// [`Error::TooEarly`] before there are keys, or while used-up keys wait for the peer to acknowledge new ones;
    /// [`Error::Misuse`] if the data is too long.
    pub fn write(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.check_writable()?;
        if !self.can_write() {
            return Err(Error::TooEarly("no application data yet"));
        }
        if data.len() > self.max_data() {
            return Err(Error::Misuse("more data than one datagram holds"));
        }
        self.wake();
        // RFC 8446 §5.5: change the keys before they are used up.
        if self.datagrams.outgoing.nears_limit()
            && self.core.is_complete()
            && self.datagrams.may_send_after_handshake().is_ok()
        {
            self.update_keys(true)?;
        }
        if self.datagrams.outgoing.is_at_limit() {
            return Err(Error::TooEarly("the keys are used up, and the new ones not acknowledged"));
        }
        self.datagrams.write_data(data, out);
        Ok(())
    }

    /// Changes this side's keys if the peer has asked for it, at once: its next data must not come first (RFC 8446 §4.6.3).
    /// An earlier change that is under way must be acknowledged before (RFC 9147 §8).
    pub(super) fn answer_key_update(&mut self) -> Result<(), Error> {
        let may_answer = !self.write_closed && self.datagrams.may_send_after_handshake().is_ok();
        if self.core.owes_update() && may_answer { self.update_keys(false) } else { Ok(()) }
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own. [`transmit`](Self::transmit) sends
    /// the message; the keys change when the peer has acknowledged it.
    ///
    /// # Errors
    /// [`Error::TooEarly`] while an earlier change is under way.
    pub fn update_keys(&mut self, request: bool) -> Result<(), Error> {
        self.check_writable()?;
        // From the secret that the update replaces.
        self.wake();
        let mut below = DatagramBelow { datagrams: &mut self.datagrams };
        self.core.update_keys(request, &mut below)
    }

    /// Sends close_notify with the next datagram: this side sends nothing more, and may continue to read.
    pub fn close(&mut self) {
        if !self.write_closed {
            // From the secret that the end drops.
            self.wake();
            self.write_closed = true;
            self.datagrams.send_alert(AlertDescription::CLOSE_NOTIFY);
            self.core.end(Direction::Write);
        }
    }
}
