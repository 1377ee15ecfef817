//! A connection's codecs after the handshake.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::after_handshake::{AfterHandshake, NextTicket};
use super::certificate_codec::check_extensions;
use crate::error::Error;
use crate::linked::Certificates;
use crate::wire::{AlertDescription, ExtensionType, Extensions, Writer, write_extension};

/// What remains of the codecs; a connection without any allocates nothing.
#[derive(Default)]
pub(crate) struct RemainingCodecs {
    /// Most connections have no other.
    first: Option<Remaining>,
    others: Vec<Remaining>,
    /// The server has accepted the client.
    accepted: bool,
}

/// What remains of a codec, with the type of its first extension of the ClientHello.
pub(super) type Remaining = Certificates<(Option<ExtensionType>, Box<dyn AfterHandshake>)>;

impl RemainingCodecs {
    /// Adds what remains of a codec.
    pub(super) fn add(&mut self, codec: Remaining) {
        match self.first {
            None => self.first = Some(codec),
            Some(_) => self.others.push(codec),
        }
    }

    /// Returns whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    /// Appends the extensions of a server's codecs in a ticket.
    pub(crate) fn write_ticket_extensions(
        &mut self,
        next: &NextTicket,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let made = self.codecs().filter_map(|codec| codec.1.ticket_extension(next));
        let made: Vec<_> = made.collect();
        check_extensions(made.iter(), &[])?;
        for extension in made {
            write_extension(out, extension.typ, |out| out.bytes(&extension.contents));
        }
        Ok(())
    }

    /// Hands the extensions of a received ticket to the codecs.
    pub(crate) fn ticket(&mut self, extensions: Extensions<'_>) {
        self.accepted();
        for codec in self.codecs() {
            let (own, codec) = &mut **codec;
            let body = extensions.iter().find(|(typ, _)| Some(*typ) == *own);
            if let Some((_, body)) = body {
                codec.ticket(body);
            }
        }
    }

    /// Reports that data or a ticket arrived.
    pub(crate) fn accepted(&mut self) {
        if self.accepted {
            return;
        }
        self.accepted = true;
        if self.first.is_none() {
            return;
        }
        let goes_on = |codec: &mut Remaining| codec.1.accepted();
        self.first = self.first.take().and_then(|mut first| goes_on(&mut first).then_some(first));
        self.others.retain_mut(goes_on);
        self.others.shrink_to_fit();
    }

    /// Reports that the server ended the connection with this fatal alert.
    pub(crate) fn refused(&mut self, alert: AlertDescription) {
        if self.first.is_none() {
            return;
        }
        let Self { first, others, accepted } = mem::take(self);
        for mut codec in first.into_iter().chain(others).filter(|_| !accepted) {
            codec.1.refused(alert);
        }
    }

    fn codecs(&mut self) -> impl Iterator<Item = &mut Remaining> {
        self.first.iter_mut().chain(&mut self.others)
    }
}
