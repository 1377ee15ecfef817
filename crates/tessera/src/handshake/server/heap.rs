//! How much heap a server's connection takes.

use super::config::ServerConfig;
use super::connected::Connected;
use super::decisions::ReadClientHello;
use super::part::ServerPart;
use crate::auth::PeerIdentity;
use crate::error::Error;
use crate::handshake::config::Config;
use crate::handshake::handover::Handover;
use crate::handshake::heap::{self, Encapsulation, Primitives, Written};
use crate::limits::MAX_POST_HANDSHAKE_IN_A_ROW;
use crate::schedule::MasterSecret;
use crate::wire::OpaqueExtension;

impl ServerConfig {
    /// Returns how much heap a connection takes at most, in bytes, from its start to its end, whatever the client sends
    /// within the [`limits`](field@Self::limits).
    ///
    /// Counted and not counted is what it is for
    /// [a client](crate::ClientConfig::heap_needed), and what a chooser, a judge, ticket keys and vaults allocate is their
    /// own. A configuration that a [`ConfigChooser`](super::ConfigChooser) chooses needs its own check.
    #[must_use]
    pub fn heap_needed(&self) -> usize {
        let primitives = Primitives::of(&self.common());
        let limits = &self.limits;
        let first = usize::from(limits.first_messages());
        let share = primitives.longest_share;
        let handover = size_of::<Handover<ServerPart, MasterSecret>>();
        let state = size_of::<ReadClientHello>() + handover + handover.max(size_of::<Connected>());
        let is_asked = self.client_authentication.verifier().is_some();
        let keeps_more =
            self.tickets.is_some() || self.chooser.is_some() || !self.extensions.is_empty();

        // The ClientHello, and what is copied of it: names, an identity, a session.
        let hello = heap::message(limits.client_hello)
            + limits.client_hello * if keeps_more { 5 } else { 1 };
        let received = match is_asked {
            true => {
                heap::message(limits.certificate_message)
                    + heap::certificates(limits.certificate_message)
            }
            false => heap::message(limits.small_message()),
        };
        // ServerHello, and the messages after it.
        let protocols = self.protocols.iter().map(|it| it.len()).max().unwrap_or(0);
        let authorities = self.client_authentication.verifier().map_or(0, |verifier| {
            256 + 2 * (verifier.schemes().len() + verifier.chain_schemes().len())
                + verifier.authorities().iter().map(|it| 2 + it.len()).sum::<usize>()
        });
        let encapsulation = Encapsulation::to_peer(&self.common());
        let received = received + encapsulation.work.max(heap::decapsulation(&self.common()));
        let hello_back = 136 + share;
        let extensions = 136 + protocols + OpaqueExtension::len_of(&self.extensions);
        let own = heap::flight(&self.credentials);
        let flight = extensions + authorities + own;
        // A session and its seal, and a one-time key of X25519MLKEM768.
        let one_time = if self.policy.early_data.forward_secret.is_some() { 1300 } else { 0 };
        let identity = if is_asked { PeerIdentity::MAX_LEN } else { 0 };
        let ticket = 1024 + one_time + limits.client_hello + self.scope.len() + identity;
        let most = self.policy.tickets.at_most(MAX_POST_HANDSHAKE_IN_A_ROW);
        let tickets = match self.tickets {
            Some(_) => usize::from(most.new_session_count.max(most.resumption_count)),
            None => 0,
        };
        let written = Written {
            message: hello_back
                .max(extensions)
                .max(authorities)
                .max(own)
                .max(encapsulation.message)
                .max(tickets.min(1) * ticket),
            flight: flight.max(hello_back).max(encapsulation.message + 100).max(tickets * ticket),
            records: (hello_back + CHANGE_CIPHER_SPEC + heap::records(flight, self.padding))
                .max(heap::records(tickets * ticket, self.padding)),
        };
        let answered = hello + share + primitives.agreement.max(heap::signing(&self.credentials));
        state + primitives.keys() + answered.max(received) + written.buffers(first)
    }

    /// Checks that [`heap_needed`](Self::heap_needed) bytes of heap are free, in one block, as
    /// [`ClientConfig::check_heap`](crate::ClientConfig::check_heap) does. Call it before
    /// [`ServerConnection::start`](crate::ServerConnection::start).
    ///
    /// # Errors
    /// They are not: [`Error::OutOfMemory`] with the number.
    pub fn check_heap(&self) -> Result<(), Error> {
        heap::check(self.heap_needed())
    }
}

/// A record of it, and the header of the record before it.
const CHANGE_CIPHER_SPEC: usize = 6 + 5;
