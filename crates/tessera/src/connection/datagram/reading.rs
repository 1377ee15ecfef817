//! What arrives at an association: records, and in them messages, data, alerts and ACKs.

use super::{Association, connection_id};
use crate::connection::{PathMessage, Progress, ReadEvent};
use crate::error::{Error, decode_error, illegal_parameter, protocol, unexpected_message};
use crate::handshake::{Direction, Event, Handshake};
use crate::limits::{MAX_CLIENT_HELLO_OF_DATAGRAMS, MAX_WARNINGS};
use crate::record::{DatagramBelow, EARLY_DATA_EPOCH, Forgeries, NextRecord, OpenedRecord};
use crate::role::Role;
use crate::time::Time;
use crate::wire::{AlertDescription, ContentType, HandshakeMessage, HandshakeType};

impl<H: Handshake> Association<H> {
    pub(super) fn read_on(
        &mut self,
        now: Time,
        datagram: &mut [u8],
    ) -> Result<Progress<H::Question>, Error> {
        let mut consumed = 0;
        loop {
            if let Some(event) = self.core.event() {
                if matches!(event, Event::HandshakeComplete) {
                    self.datagrams.complete(now.monotonic);
                    if self.write_closed {
                        self.core.end(Direction::Write);
                    }
                }
                return Ok(Progress { consumed, event: ReadEvent::Handshake(event) });
            }
            if let Some(question) = self.core.question() {
                return Ok(Progress { consumed, event: ReadEvent::Question(question) });
            }
            if let Some(count) = self.next_request_for_ids() {
                let event = ReadEvent::ConnectionIdsRequested(count);
                return Ok(Progress { consumed, event });
            }
            if let Some(data) = self.datagrams.next_early_data() {
                return Ok(Progress { consumed, event: ReadEvent::EarlyDatagram(data) });
            }
            // The answer to a ClientHello counts the early data that came with it.
            let is_read = H::ROLE == Role::Client
                || consumed == datagram.len()
                || self.datagrams.has_read_keys();
            if is_read && !self.core.is_suspended() && self.read_message(now)? {
                continue;
            }
            if core::mem::take(&mut self.owes_end) {
                return Ok(Progress { consumed, event: ReadEvent::PeerClosed });
            }
            if consumed == datagram.len() {
                let event = match self.core.is_suspended() {
                    true => ReadEvent::WaitingForAnswer,
                    false => ReadEvent::NeedInput,
                };
                return Ok(Progress { consumed, event });
            }
            let begin = consumed;
            let next = self.datagrams.incoming.next(&mut datagram[begin..], now.monotonic);
            if self.datagrams.incoming.take_has_derived() {
                self.core.wipe_derivation();
            }
            match next {
                NextRecord::Dropped(len) => {
                    consumed += len;
                    self.count_forgeries()?;
                }
                NextRecord::WithoutKeys(len) => {
                    consumed += len;
                    let may_keep = H::ROLE == Role::Server && !self.datagrams.has_read_keys();
                    if !may_keep || !self.datagrams.keep_early(&datagram[begin..consumed]) {
                        self.datagrams.incoming.counts.without_keys += 1;
                    }
                    self.datagrams.note_missing_keys(now.monotonic);
                }
                NextRecord::Invalid(error) => return Err(error),
                NextRecord::Opened(record, len) => {
                    consumed += len;
                    let content = begin + record.content.start..begin + record.content.end;
                    let event = match self.record(&record, &datagram[content.clone()], now)? {
                        Content::None => continue,
                        Content::Data => ReadEvent::Data(content),
                        Content::EarlyData => ReadEvent::EarlyData(content),
                        Content::Path(message) => ReadEvent::Path(message),
                    };
                    return Ok(Progress { consumed, event });
                }
            }
        }
    }

    /// Handles a record; returns what its owner gets of it.
    fn record(
        &mut self,
        record: &OpenedRecord,
        content: &[u8],
        now: Time,
    ) -> Result<Content, Error> {
        let epoch = record.number.epoch;
        self.datagrams.note_epoch(epoch, now.monotonic);
        match record.typ {
            ContentType::HANDSHAKE => {
                let longest = match H::ROLE {
                    Role::Server if epoch == 0 => {
                        MAX_CLIENT_HELLO_OF_DATAGRAMS.min(self.core.max_message())
                    }
                    _ => self.core.max_message(),
                };
                self.datagrams.keep_messages(record, content, longest, now.monotonic)?;
            }
            ContentType::ACK => {
                self.datagrams.receive_ack(content, epoch, now.monotonic)?;
                self.answer_key_update()?;
            }
            ContentType::ALERT => self.alert(record, content)?,
            ContentType::APPLICATION_DATA if epoch >= self.datagrams.numbering.application() => {
                self.core.saw_data();
                if !content.is_empty() {
                    return Ok(Content::Data);
                }
            }
            ContentType::APPLICATION_DATA if epoch == EARLY_DATA_EPOCH => {
                if !self.datagrams.count_early(content.len()) {
                    return Err(unexpected_message("more early data than max_early_data_size"));
                }
                if !content.is_empty() {
                    return Ok(Content::EarlyData);
                }
            }
            ContentType::RETURN_ROUTABILITY_CHECK => {
                if let Some(message) = self.receive_path_message(content, epoch)? {
                    return Ok(Content::Path(message));
                }
            }
            _ => return Err(UNEXPECTED_TYPE),
        }
        Ok(Content::None)
    }

    /// Hands the next whole message to the handshake; returns whether there was one.
    fn read_message(&mut self, now: Time) -> Result<bool, Error> {
        let Some((epoch, bytes)) = self.datagrams.next_message(now.monotonic) else {
            return Ok(false);
        };
        let message = HandshakeMessage::split_from(&bytes).ok_or(NOT_WHOLE)?;
        if connection_id::is_about_ids(message.typ) {
            self.receive_about_ids(message)?;
            return Ok(true);
        }
        if message.typ == HandshakeType::HELLO_VERIFY_REQUEST && H::ROLE == Role::Client {
            let alert = AlertDescription::PROTOCOL_VERSION;
            return Err(protocol(alert, "the server speaks no DTLS 1.3"));
        }
        let epoch = self.datagrams.numbering.epoch_of(epoch);
        let mut below = DatagramBelow { datagrams: &mut self.datagrams };
        self.core.message(epoch, message, now, &mut below)?;
        self.answer_key_update()?;
        self.agree_on_ids()?;
        self.agree_on_resets()?;
        self.agree_on_server_address()?;
        Ok(true)
    }

    fn alert(&mut self, record: &OpenedRecord, content: &[u8]) -> Result<(), Error> {
        let is_plaintext = record.number.epoch == 0;
        // Anyone can have sent it. At a server that costs the alert of a client that refuses a HelloRetryRequest: such a
        // handshake times out.
        let is_misplaced = H::ROLE == Role::Server || self.datagrams.has_read_keys();
        let alert = match content {
            _ if is_plaintext && is_misplaced => {
                self.datagrams.incoming.counts.misplaced += 1;
                return Ok(());
            }
            // RFC 8446 §6: the level has no meaning, but only two values exist.
            [1 | 2, description] => AlertDescription(*description),
            _ if is_plaintext => {
                self.datagrams.incoming.counts.malformed += 1;
                return Ok(());
            }
            [_, _] => return Err(illegal_parameter("an alert of no known level")),
            _ => return Err(decode_error("an alert has two bytes")),
        };
        match alert {
            AlertDescription::CLOSE_NOTIFY if !self.core.is_complete() => {
                Err(Error::AlertReceived(alert))
            }
            AlertDescription::CLOSE_NOTIFY => {
                self.owes_end = !core::mem::replace(&mut self.read_closed, true);
                self.datagrams.incoming.end_at(record.number);
                self.core.end(Direction::Read);
                Ok(())
            }
            AlertDescription::USER_CANCELED => {
                // RFC 8446 §6.1: a close_notify follows.
                self.warnings += 1;
                if self.warnings > MAX_WARNINGS {
                    return Err(unexpected_message("too many warnings"));
                }
                Ok(())
            }
            alert => Err(Error::AlertReceived(alert)),
        }
    }

    /// Replaces keys under which many records were forged, or ends the association (RFC 9147 §4.5.3).
    fn count_forgeries(&mut self) -> Result<(), Error> {
        match self.datagrams.incoming.epochs.forgeries() {
            Forgeries::Few => Ok(()),
            Forgeries::NearLimit => {
                // The peer's keys are at stake: ask for new ones.
                if self.update_keys(true).is_ok() {
                    self.datagrams.incoming.epochs.note_asked();
                }
                Ok(())
            }
            Forgeries::AtLimit => Err(protocol(
                AlertDescription::BAD_RECORD_MAC,
                "as many forged records as the keys withstand",
            )),
        }
    }
}

/// What the owner of an association gets of a record.
enum Content {
    None,
    Data,
    EarlyData,
    Path(PathMessage),
}

pub(super) const UNEXPECTED_TYPE: Error =
    unexpected_message("a record of another type than may come");

/// Fragments make whole messages only.
const NOT_WHOLE: Error = Error::Internal("a message that is not whole");
