//! Reads records.

use super::protection::Protection;
use crate::error::{Error, decode_error, illegal_parameter, protocol, unexpected_message};
use crate::handshake::{Epoch, RefusedEarlyData};
use crate::limits::{MAX_CHANGE_CIPHER_SPECS, MAX_EMPTY_RECORDS, MAX_EXPANSION, MAX_PLAINTEXT};
use crate::role::Role;
use crate::wire::{AlertDescription, ContentType};

/// The receiving half.
pub(crate) struct IncomingRecords {
    pub(crate) epoch: Epoch,
    protection: Option<Protection>,
    /// The most plaintext and content type of one record; this side may have lowered it (RFC 8449).
    pub(crate) max_inner_plaintext: usize,
    /// The kind of refused early data to drop, and how many more bytes of it.
    pub(crate) skip: Option<(RefusedEarlyData, usize)>,
    pub(crate) early_data_left: usize,
    /// Whether a change_cipher_spec may come: after the first hello, before the last Finished.
    change_cipher_spec_allowed: bool,
    change_cipher_specs: u8,
    empty_in_a_row: u8,
}

/// One record, with its content in place in the caller's buffer.
pub(crate) enum Incoming<'i> {
    /// The record is incomplete.
    Partial,
    /// An ignored record.
    Nothing,
    /// Whole messages or parts of them.
    Handshake(&'i [u8]),
    /// An alert.
    Alert(AlertDescription),
    /// Application data, early if that is the epoch.
    Data(&'i [u8]),
}

impl IncomingRecords {
    pub(crate) fn new(role: Role) -> Self {
        Self {
            epoch: Epoch::Initial,
            protection: None,
            max_inner_plaintext: MAX_PLAINTEXT + 1,
            skip: None,
            early_data_left: 0,
            change_cipher_spec_allowed: role == Role::Client,
            change_cipher_specs: 0,
            empty_in_a_row: 0,
        }
    }

    pub(crate) fn install(&mut self, epoch: Epoch, protection: Protection) {
        self.epoch = epoch;
        self.protection = Some(protection);
        self.change_cipher_spec_allowed = epoch != Epoch::Application;
    }

    /// Stops reading and drops the keys.
    pub(crate) fn close(&mut self) {
        self.protection = None;
    }

    /// Reads the first record of `input`; returns its length and its content. The content starts right after
    /// the header.
    pub(crate) fn read<'i>(&mut self, input: &'i mut [u8]) -> Result<(usize, Incoming<'i>), Error> {
        let Some(header) = input.first_chunk::<HEADER_LEN>().copied() else {
            check_first_byte(input)?;
            return Ok((0, Incoming::Partial));
        };
        let typ = ContentType(header[0]);
        let len = usize::from(u16::from_be_bytes([header[3], header[4]]));
        check_first_byte(&header)?;
        // RFC 8446 §5.1, §5.2. Dropped early data is protected although this side has no keys yet.
        let protected = self.protection.is_some() || typ == ContentType::APPLICATION_DATA;
        let longest = MAX_PLAINTEXT + if protected { MAX_EXPANSION } else { 0 };
        if len > longest {
            return Err(protocol(AlertDescription::RECORD_OVERFLOW, "a record is too long"));
        }
        let Some(fragment) = input.get_mut(HEADER_LEN..HEADER_LEN + len) else {
            return Ok((0, Incoming::Partial));
        };
        let incoming = if typ == ContentType::CHANGE_CIPHER_SPEC {
            self.change_cipher_spec(fragment)?
        } else if self.protection.is_none() {
            self.plaintext(typ, fragment)?
        } else {
            self.protected(typ, &header, fragment)?
        };
        Ok((HEADER_LEN + len, incoming))
    }

    fn plaintext<'i>(
        &mut self,
        typ: ContentType,
        fragment: &'i mut [u8],
    ) -> Result<Incoming<'i>, Error> {
        if let Some((RefusedEarlyData::BeforeSecondHello, left)) = &mut self.skip
            && typ == ContentType::APPLICATION_DATA
        {
            skip(left, fragment)?;
            return Ok(Incoming::Nothing);
        }
        match typ {
            ContentType::HANDSHAKE => {
                self.skip = None;
                self.change_cipher_spec_allowed = true;
                self.content(typ, fragment)
            }
            ContentType::ALERT => self.content(typ, fragment),
            _ => Err(unexpected_message("application data in plaintext")),
        }
    }

    fn protected<'i>(
        &mut self,
        typ: ContentType,
        header: &[u8; HEADER_LEN],
        fragment: &'i mut [u8],
    ) -> Result<Incoming<'i>, Error> {
        let Some(protection) = &mut self.protection else { return Ok(Incoming::Nothing) };
        // A peer that failed before it had keys sends its alert in plaintext. Since that ends the connection
        // with an error, a forged one gains nothing over cutting the connection; a forged clean end would.
        if typ == ContentType::ALERT && protection.is_unused() && self.epoch <= Epoch::Handshake {
            let incoming = self.content(typ, fragment)?;
            return match incoming {
                Incoming::Alert(
                    AlertDescription::CLOSE_NOTIFY | AlertDescription::USER_CANCELED,
                ) => Err(unexpected_message("an end in plaintext after keys were agreed")),
                incoming => Ok(incoming),
            };
        }
        if typ != ContentType::APPLICATION_DATA {
            return Err(unexpected_message("a record in plaintext after keys were agreed"));
        }
        let opened = match protection.open(header, fragment) {
            Ok(len) => len,
            Err(_) => {
                if let Some((RefusedEarlyData::DoesNotOpen, left)) = &mut self.skip {
                    skip(left, fragment)?;
                    return Ok(Incoming::Nothing);
                }
                return Err(protocol(
                    AlertDescription::BAD_RECORD_MAC,
                    "a record does not open under its key",
                ));
            }
        };
        self.skip = None;
        // A client sends early data before it can know the server's limit.
        let longest = match self.epoch {
            Epoch::EarlyData => MAX_PLAINTEXT + 1,
            _ => self.max_inner_plaintext,
        };
        if opened > longest {
            return Err(protocol(AlertDescription::RECORD_OVERFLOW, "a record is too long inside"));
        }
        // §5.4: the content type is the last byte that isn't zero.
        let inner = &fragment[..opened];
        let Some(last) = inner.iter().rposition(|byte| *byte != 0) else {
            return Err(unexpected_message("a record of nothing but padding"));
        };
        let typ = ContentType(inner[last]);
        self.content(typ, &fragment[..last])
    }

    fn content<'i>(&mut self, typ: ContentType, content: &'i [u8]) -> Result<Incoming<'i>, Error> {
        match typ {
            ContentType::HANDSHAKE | ContentType::ALERT if content.is_empty() => {
                Err(unexpected_message("an empty handshake or alert record"))
            }
            ContentType::HANDSHAKE => {
                self.empty_in_a_row = 0;
                Ok(Incoming::Handshake(content))
            }
            ContentType::ALERT => match content {
                // §6: the level has no meaning in TLS 1.3, but only two values exist.
                [1 | 2, description] => Ok(Incoming::Alert(AlertDescription(*description))),
                [_, _] => Err(illegal_parameter("an alert of no known level")),
                _ => Err(decode_error("an alert has two bytes")),
            },
            ContentType::APPLICATION_DATA => self.data(content),
            _ => Err(unexpected_message("a protected record of another type")),
        }
    }

    fn data<'i>(&mut self, content: &'i [u8]) -> Result<Incoming<'i>, Error> {
        match self.epoch {
            Epoch::Application => (),
            Epoch::EarlyData => {
                let left = self.early_data_left.checked_sub(content.len());
                self.early_data_left =
                    left.ok_or(unexpected_message("more early data than max_early_data_size"))?;
            }
            Epoch::Initial | Epoch::Handshake | Epoch::AuthenticatedHandshake => {
                return Err(unexpected_message(
                    "application data before the handshake is complete",
                ));
            }
        }
        if content.is_empty() {
            self.empty_in_a_row += 1;
            if self.empty_in_a_row > MAX_EMPTY_RECORDS {
                return Err(unexpected_message("too many empty records"));
            }
        } else {
            self.empty_in_a_row = 0;
        }
        Ok(Incoming::Data(content))
    }

    /// RFC 8446 §5: drops the one that middlebox compatibility sends.
    fn change_cipher_spec<'i>(&mut self, fragment: &[u8]) -> Result<Incoming<'i>, Error> {
        self.change_cipher_specs = self.change_cipher_specs.saturating_add(1);
        let too_many = self.change_cipher_specs > MAX_CHANGE_CIPHER_SPECS;
        if fragment != [1] || !self.change_cipher_spec_allowed || too_many {
            return Err(unexpected_message("change_cipher_spec where it may not be"));
        }
        Ok(Incoming::Nothing)
    }
}

/// Drops refused early data.
fn skip(left: &mut usize, fragment: &[u8]) -> Result<(), Error> {
    // The longest possible content; never counted as zero.
    let plaintext = fragment.len().saturating_sub(1 + crate::crypto::TAG_LEN).max(1);
    *left = left
        .checked_sub(plaintext)
        .ok_or(unexpected_message("more refused early data than anyone may send"))?;
    Ok(())
}

/// Refuses what can't be TLS at its first byte, without waiting for the rest.
fn check_first_byte(input: &[u8]) -> Result<(), Error> {
    match input.first().map(|byte| ContentType(*byte)) {
        None
        | Some(
            ContentType::CHANGE_CIPHER_SPEC
            | ContentType::ALERT
            | ContentType::HANDSHAKE
            | ContentType::APPLICATION_DATA,
        ) => Ok(()),
        Some(_) => Err(unexpected_message("not a TLS record")),
    }
}

/// The length of a record's header, in bytes.
pub(crate) const HEADER_LEN: usize = 5;
