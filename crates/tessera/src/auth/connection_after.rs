//! A connection's codecs after the handshake.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::after_handshake::{AfterHandshake, NextTicket};
use super::connection_codecs::{ConnectionCodecs, check_extensions};
use crate::error::Error;
use crate::wire::{
    AlertDescription, ExtensionType, Extensions, HandshakeType, Writer, write_extension,
};

/// What remains of a client's codecs; a connection without any allocates nothing.
#[derive(Default)]
pub(crate) struct RemainingCodecs(Option<Box<Inner>>);

struct Inner {
    codecs: Vec<(Option<ExtensionType>, Box<dyn AfterHandshake>)>,
    /// The server has accepted the client.
    accepted: bool,
}

impl ConnectionCodecs {
    /// Turns a client's codecs into what remains of them.
    pub(crate) fn after(self) -> RemainingCodecs {
        let left = self.into_codecs().filter_map(|codec| {
            let typ = codec.extensions(HandshakeType::CLIENT_HELLO).first().map(|it| it.typ);
            Some((typ, codec.after()?))
        });
        let codecs: Vec<_> = left.collect();
        RemainingCodecs((!codecs.is_empty()).then(|| Box::new(Inner { codecs, accepted: false })))
    }

    /// Appends the extensions of a server's codecs in a ticket.
    pub(crate) fn write_ticket_extensions(
        &mut self,
        next: &NextTicket,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let made = self.codecs_mut().filter_map(|it| it.codec.ticket_extension(next));
        let made: Vec<_> = made.collect();
        check_extensions(made.iter(), &[])?;
        for extension in made {
            write_extension(out, extension.typ, |out| out.bytes(&extension.contents));
        }
        Ok(())
    }
}

impl RemainingCodecs {
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
