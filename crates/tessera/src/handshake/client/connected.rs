//! After the handshake: reads tickets (RFC 8446 §4.6).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ClientState;
use super::config::ClientConfig;
use crate::error::Error;
use crate::handshake::application::Application;
use crate::handshake::config::Checked;
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::lineage::{Lineage, TicketTerms};
use crate::limits::copied;
use crate::linked::Sessions;
use crate::resume::{
    ClientSession, Companion, FsClientTicket, SessionClock, fs_secret, one_time_keys,
};
use crate::schedule::ResumptionSecret;
use crate::wire::{HandshakeMessage, HandshakeType, NamedGroup, NewSessionTicket};

/// The handshake is complete.
pub struct Connected {
    pub(super) application: Application,
    pub(super) resumption: ResumptionSecret,
    pub(super) config: Checked<ClientConfig>,
    pub(super) lineage: Lineage,
    pub(super) group: Option<NamedGroup>,
}

impl Connected {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        match message.typ {
            HandshakeType::NEW_SESSION_TICKET => self.read_ticket(message, ctx)?,
            _ => self.application.receive(message, ctx)?,
        }
        Ok(ClientState::Connected(self))
    }

    fn read_ticket(
        &mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.application.count_post_handshake()?;
        if Sessions::linked().is_none() {
            return Ok(());
        }
        let reader = message.reader_for(HandshakeType::NEW_SESSION_TICKET)?;
        let is_forward_secret = self.config.policy.early_data.forward_secret.is_some();
        let message = NewSessionTicket::read(reader, is_forward_secret)?;
        self.application.codecs.ticket(message.extensions);
        let is_monotonic = self.lineage.is_monotonic;
        // §4.6.1: discard a ticket whose lifetime is zero.
        let now = ctx.now.on(is_monotonic).filter(|_| message.lifetime > 0);
        let Some(now) = now else { return Ok(()) };
        let kept = ctx.events.iter().filter(|event| matches!(event, Event::NewSession(_))).count();
        if !self.config.policy.resumption || kept >= self.config.limits.tickets.into() {
            return Ok(());
        }
        let forward_secret = message
            .forward_secret
            .filter(|ticket| self.config.one_time_kinds().any(|kind| kind == ticket.kind))
            // A key of another length can't be answered, and the stored session stays small.
            .filter(|ticket| {
                let keys = one_time_keys(&self.config.provider, ticket.kind);
                keys.is_some_and(|keys| keys.public_len() == ticket.public.len())
            })
            .map(|ticket| -> Result<_, Error> {
                let (secret, handle) = fs_secret(self.application.exporter()?, &ticket);
                Ok(FsClientTicket {
                    kind: ticket.kind,
                    id: *ticket.id,
                    public: copied(ticket.public)?,
                    lifetime: ticket.lifetime,
                    max_early_data_size: ticket.max_early_data_size,
                    secret,
                    handle,
                })
            })
            .transpose()?;
        let terms = TicketTerms {
            lifetime: message.lifetime,
            age_add: message.age_add,
            max_early_data_size: message.small.max_early_data_size.map_or(0, |size| size.0),
            companion: forward_secret.as_ref().map(|ticket| Companion {
                id: ticket.id,
                handle: ticket.handle,
                max_early_data_size: ticket.max_early_data_size,
                incarnation: None,
            }),
            policy_epoch: self.config.policy_epoch,
            scope: Vec::new(),
        };
        let psk = self.resumption.psk(message.nonce);
        let mut state = self.lineage.session(self.application.suite, psk, terms, now);
        // Rounded up: with an age that is a millisecond too high, GnuTLS refuses the early data, since
        // by the server's clock that time has not passed.
        state.issued_at = now.as_nanos().div_ceil(NANOS_PER_MILLI) as u64;
        let ticket = copied(message.ticket)?;
        let clock = if is_monotonic { SessionClock::Monotonic } else { SessionClock::Unix };
        let session = ClientSession { state, ticket, group: self.group, forward_secret, clock };
        ctx.event(Event::NewSession(Box::new(session)));
        Ok(())
    }
}

const NANOS_PER_MILLI: u128 = 1_000_000;
