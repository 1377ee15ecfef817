//! A connection's codecs after the handshake.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::after_handshake::{AfterHandshake, NextTicket};
use super::certificate_codec::check_extensions;
use crate::error::Error;
use crate::wire::{AlertDescription, ExtensionType, Extensions, Writer, write_extension};

/// What remains of the codecs; a connection without any allocates nothing.
#[derive(Default)]
pub(crate) struct RemainingCodecs(Option<Box<Inner>>);

struct Inner {
    codecs: Vec<(Option<ExtensionType>, Box<dyn AfterHandshake>)>,
    /// The server has accepted the client.
    accepted: bool,
}

impl RemainingCodecs {
    /// Creates what remains of codecs, each with the type of its first extension of the ClientHello.
    pub(super) fn new(codecs: Vec<(Option<ExtensionType>, Box<dyn AfterHandshake>)>) -> Self {
        Self((!codecs.is_empty()).then(|| Box::new(Inner { codecs, accepted: false })))
    }

    /// Appends the extensions of a server's codecs in a ticket.
    pub(crate) fn write_ticket_extensions(
        &mut self,
        next: &NextTicket,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some(left) = &mut self.0 else { return Ok(()) };
        let made = left.codecs.iter_mut().filter_map(|(_, codec)| codec.ticket_extension(next));
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
        for (own, codec) in self.0.iter_mut().flat_map(|left| &mut left.codecs) {
            let body = extensions.iter().find(|(typ, _)| Some(*typ) == *own);
            if let Some((_, body)) = body {
                codec.ticket(body);
            }
        }
    }

    /// Reports that data or a ticket arrived.
    pub(crate) fn accepted(&mut self) {
        let Some(left) = self.0.as_mut().filter(|left| !left.accepted) else { return };
        left.accepted = true;
        left.codecs.retain_mut(|(_, codec)| codec.accepted());
        if left.codecs.is_empty() {
            self.0 = None;
        }
    }

    /// Reports that the server ended the connection with this fatal alert.
    pub(crate) fn refused(&mut self, alert: AlertDescription) {
        let left = self.0.take().filter(|left| !left.accepted);
        for (_, mut codec) in left.into_iter().flat_map(|left| left.codecs) {
            codec.refused(alert);
        }
    }
}
