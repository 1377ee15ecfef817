//! How much heap a client's connection takes.

use super::config::{ClientConfig, Destination};
use super::connected::Connected;
use super::encrypted_extensions::ReadEncryptedExtensions;
use super::offer::{Offer, OfferedPsk};
use super::part::ClientPart;
use super::server_hello::HELLO_WITHOUT_SHARES;
use crate::auth::KeyId;
use crate::crypto::HmacState;
use crate::error::Error;
use crate::handshake::config::Config;
use crate::handshake::handover::Handover;
use crate::handshake::heap::{self, Encapsulation, Primitives, Written};
use crate::limits::MAX_COOKIE;
use crate::linked::{Certificates, KnownKeys, Sessions};
use crate::resume::ClientSession;
use crate::schedule::HandshakeSecret;
use crate::wire::{FlightHandle, OpaqueExtension, TICKET_ID_LEN};

impl ClientConfig {
    /// Returns how much heap a connection to this destination takes at most, in bytes, from its start to its end, whatever
    /// the server sends within the [`limits`](field@Self::limits). `to` itself exists already and is not counted.
    ///
    /// Counted is what the engine and the provider allocate, handshake messages in the
    /// [`Output`](crate::Output) included, which is to be sent before the next call. A provider's keys are those of its suites
    /// ([`Suite::key_heap`](crate::crypto::Suite::key_heap)); a key pair is assumed to take four times its share and reply.
    ///
    /// Not counted is what lies outside: the buffer for input; application and early data in the output; what the verifier,
    /// the private key, a key log and the owner's answers allocate; what certificate codecs allocate, and add to messages;
    /// sessions that the owner has taken out; what the allocator adds to each block, of which there are at most some 50, and
    /// loses by fragmentation. The size holds for the target for which it is compiled, and for limits that
    /// [`checked`](Self::checked) accepts.
    ///
    /// With small [`limits`](field@Self::limits) and one group it is at most 2.25 times what a connection with a PSK takes.
    #[must_use]
    pub fn heap_needed(&self, to: &Destination) -> usize {
        let primitives = Primitives::of(&self.common());
        let limits = &self.limits;
        let first = usize::from(limits.first_messages());
        let cookie = MAX_COOKIE.min(limits.handshake_message);

        let offered = to.session.as_ref().filter(|_| Sessions::linked().is_some());
        let session = offered.map_or(0, |it| it.ticket.len());
        // A forward-secret identity has what answers a one-time key.
        let answers = offered
            .filter(|it| it.forward_secret.is_some() && self.one_time_kinds().next().is_some());
        let answers = usize::from(answers.is_some());
        let known_key = to.known_server_key.as_ref();
        let known_key =
            known_key.filter(|_| KnownKeys::linked().is_some()).map_or((0, 0), |known| {
                let kem = self.provider.kem(known.public_key.scheme());
                kem.map_or((0, 0), |kem| {
                    (KeyId::LEN + kem.reply_len(), kem.share_len() + 3 * kem.reply_len())
                })
            });
        let identities = to.external_psks.iter().map(|psk| psk.identity.len()).sum::<usize>();
        let identities = identities + known_key.0;
        let psks = to.external_psks.len()
            + usize::from(known_key.0 > 0)
            + usize::from(offered.is_some())
            + answers;
        let of_certificates = Certificates::linked().map_or(0, |_| {
            2 * (self.verifier.schemes().len() + self.verifier.chain_schemes().len())
                + self.verifier.authorities().iter().map(|it| 2 + it.len()).sum::<usize>()
        });
        let lists = 2 * (self.suites.len() + self.groups.len())
            + self.protocols.iter().map(|it| 1 + it.len()).sum::<usize>()
            + of_certificates;
        let share = primitives.longest_share;
        let fixed = if self.grease { 260 } else { 200 };
        let without_shares = fixed
            + to.server_name.len()
            + lists
            + identities
            + session
            + psks * (57 + TICKET_ID_LEN)
            + to.ask_receipts.len() * FlightHandle::LEN
            + OpaqueExtension::len_of(&to.extensions);
        let shares = self.groups.len().min(2) + 2 * answers;
        let hello = without_shares + shares * share;
        let classical = shares * share.min(LONGEST_CLASSICAL_SHARE);
        let room = HELLO_WITHOUT_SHARES + known_key.0;
        let written = match without_shares + classical > room {
            // It grows, and moves.
            true => 3 * hello,
            false => room + shares * share,
        };

        let names = 4 * to.server_name.len() + 2 * identities + 2 * lists.min(256);
        let of_psks = psks * (size_of::<OfferedPsk>() + HmacState::LEN);
        let state = size_of::<Offer>() + names + of_psks + session;

        // Until ServerHello: hellos and the key pairs of both, with what a HelloRetryRequest asks to repeat.
        let second = hello + 6 + cookie;
        let hellos = primitives.hashes()
            + primitives.agreements
            + known_key.1
            + heap::message(limits.handshake_message)
            + written.max(second)
            + 2 * (second + heap::OVERHEAD).max(first);

        // Then certificates and this side's own, or tickets. The buffers are those of the hello as long as they suffice.
        let handovers = size_of::<ReadEncryptedExtensions>()
            .max(size_of::<Handover<ClientPart, HandshakeSecret>>())
            .max(size_of::<Connected>())
            + size_of::<Handover<ClientPart, HandshakeSecret>>();
        let session = size_of::<ClientSession>() + 512 + limits.handshake_message + names;
        let tickets = (1 + usize::from(limits.tickets)) * session;
        let takes_tickets = self.policy.resumption && Sessions::linked().is_some();
        let tickets = if takes_tickets { tickets } else { 0 };
        let received = match Certificates::linked() {
            Some(_) => {
                heap::message(limits.certificate_message)
                    + heap::certificates(limits.certificate_message).max(tickets)
            }
            None => heap::message(limits.handshake_message) + tickets,
        };
        let encapsulation = Encapsulation::to_peer(&self.common());
        let received = received + encapsulation.work;
        // Finished comes with it.
        let longest_alone = hello.max(encapsulation.message + 100);
        let padding = heap::longest_padding(self.padding);
        let sent = match Certificates::linked().filter(|_| !self.credentials.is_empty()) {
            // Finished, and an alert or a KeyUpdate behind it: the buffer grows, and moves.
            None => 2 * (longest_alone + heap::OVERHEAD).max(first) + first.max(128) + 4 * padding,
            Some(_) => {
                let own = heap::flight(&self.credentials) + encapsulation.message;
                let longest = hello.max(own);
                let records = heap::records(longest, self.padding) + padding;
                let written = Written { message: longest, flight: longest, records };
                let decapsulation = heap::decapsulation(&self.common());
                written.buffers(first) + heap::signing(&self.credentials).max(decapsulation)
            }
        };
        state + hellos.max(primitives.keys() + handovers + received + sent)
    }

    /// Checks that [`heap_needed`](Self::heap_needed) bytes of heap are free, in one block. Call it before the connection
    /// starts: then no allocation that is counted there fails if nothing else takes that memory meanwhile, whatever the server
    /// sends. A device calls it with the whole heap at rest, so that a connection which can't be completed never sends a
    /// byte.
    ///
    /// # Errors
    /// They are not: [`Error::OutOfMemory`] with the number.
    pub fn check_heap(&self, to: &Destination) -> Result<(), Error> {
        heap::check(self.heap_needed(to))
    }
}

/// Of secp521r1, in bytes.
const LONGEST_CLASSICAL_SHARE: usize = 133;
