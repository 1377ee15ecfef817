//! The codec of a server's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, CodecRefusal, Decoded,
    EncodedCertificate, FromClient, HandshakeEnd, PeerCertificate, Role, ToServer,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType, ExtensionType};

use super::offered::{Offered, Received, asked_of};
use super::{ALL_IDS, derive, learned_form, paper};
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::{TICKETS, TicketBytes, public_id, salted_id};
use crate::public_ids::PublicIds;
use crate::server::{Remembered, ServerCache, Under};
use crate::wire::{Content, Hello, Malformed};

impl CertificateCodecFactory for ServerCache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        ALL_IDS
    }

    /// None: a server's cache in a client's configuration does nothing.
    fn client_codec(self: Arc<Self>, _: &ToServer<'_>) -> Option<Box<dyn CertificateCodec>> {
        None
    }

    fn server_codec(
        self: Arc<Self>,
        from: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        self.codec_for(from, false)
    }

    fn server_codec_with_psk(
        self: Arc<Self>,
        from: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        self.codec_for(from, true)
    }
}

impl ServerCache {
    /// The codec of a connection, by what the client sent: it uses one carrier.
    fn codec_for(
        self: Arc<Self>,
        from: &FromClient<'_>,
        psk: bool,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        let takes_part = from.offer.extension(ExtensionType::CACHED_CERTIFICATES).is_some();
        if let Some(ticket_extension) = self.carrier.paper().filter(|_| !takes_part) {
            let codec = paper::server_codec(self.clone(), ticket_extension, from, psk)?;
            if let Some(codec) = codec {
                return Ok(Some(Box::new(codec)));
            }
        }
        Ok(self.codec(from, psk)?.map(|codec| Box::new(codec) as _))
    }

    fn codec(
        self: Arc<Self>,
        from: &FromClient<'_>,
        psk: bool,
    ) -> Result<Option<ServerCodec>, CodecRefusal> {
        let hello = from.offer.extension(ExtensionType::CACHED_CERTIFICATES);
        let hello = hello.map(Hello::read).transpose().map_err(refusal)?;
        let under = self.under(from);
        let known = match hello {
            None if self.public_ids == PublicIds::Never => return Ok(None),
            None if psk => return Ok(None),
            None => self.recognisable(under, from),
            Some(Hello::TakesPart) => Vec::new(),
            Some(Hello::Tickets(tickets)) => self.find(&tickets, under, from, psk),
        };
        let offered = self.offered(known, from);
        Ok(Some(ServerCodec {
            cache: self,
            psk,
            hello,
            random: *from.random,
            under,
            ids: offered.iter().map(|it| it.id).collect(),
            offered,
            sent_cached: None,
            received: None,
        }))
    }

    /// The client that these tickets are of. They aren't looked up where nobody asks for a certificate, and
    /// without a clock, since nobody could tell whether what is known has expired.
    fn find(
        &self,
        tickets: &[TicketBytes; TICKETS],
        under: Under,
        from: &FromClient<'_>,
        psk: bool,
    ) -> Vec<(Id, Remembered)> {
        let Some(unix) = from.now.unix.filter(|_| psk || from.policy.is_some()) else {
            return Vec::new();
        };
        let may_offer = |typ| psk || is_only_type(from, typ);
        let found = self.take(tickets, under, unix.as_secs(), may_offer);
        // Tickets of the other carrier have none.
        let found = found.filter(|found| ALL_IDS.contains(&found.id));
        found.into_iter().map(|found| (found.id, found.peer)).collect()
    }

    /// The clients that don't take part, by the ids that they may be offered.
    fn recognisable(&self, under: Under, from: &FromClient<'_>) -> Vec<(Id, Remembered)> {
        let Some(unix) = from.now.unix.map(|unix| unix.as_secs()) else { return Vec::new() };
        let known = self.public(under);
        let unique = |id: Id| known.iter().filter(|it| public_id(&it.hash) == id).count() == 1;
        let is_good = |peer: &Remembered| match &peer.form {
            Form::Whole(chain) => {
                is_only_type(from, chain.certificate_type)
                    && chain.expires_at().is_none_or(|end| unix < end)
            }
            Form::Known(_) => is_only_type(from, CertificateType::X509),
        };
        let undisputed = known.iter().filter(|it| !it.disputed);
        let named = undisputed.map(|it| (public_id(&it.hash), &it.peer));
        let good = named.filter(|(id, peer)| unique(*id) && is_good(peer));
        good.map(|(id, peer)| (id, peer.clone())).collect()
    }

    fn offered(
        &self,
        known: Vec<(Id, Remembered)>,
        from: &FromClient<'_>,
    ) -> Vec<Offered<Remembered>> {
        let asked = asked_of(Role::Client, None, from.now);
        let all = known.len();
        let offer = |(id, peer): (Id, Remembered)| {
            let form = peer.form.clone();
            Offered::new(id, peer, &form, self.memory.as_deref(), asked)
        };
        let offered: Vec<_> = known.into_iter().filter_map(offer).collect();
        if offered.len() < all {
            self.count(|metrics| metrics.missed_forgotten += (all - offered.len()) as u64);
        }
        offered
    }
}

/// What a server's connection carries.
struct ServerCodec {
    cache: Arc<ServerCache>,
    psk: bool,
    /// What the client says, if it takes part.
    hello: Option<Hello>,
    /// The client's.
    random: [u8; 32],
    under: Under,
    /// The clients' chains that are offered, and their ids.
    offered: Vec<Offered<Remembered>>,
    ids: Vec<Id>,
    /// Whether this side's chain was sent as a hash, once it is sent.
    sent_cached: Option<bool>,
    /// The client's chain, if it came as a hash, and what is remembered of it.
    received: Option<(Received, Remembered)>,
}

impl CertificateCodec for ServerCodec {
    fn offers(&self) -> &[Id] {
        &self.ids
    }

    fn answer(&self) -> Option<(ExtensionType, &[u8])> {
        self.hello.map(|_| (ExtensionType::CACHED_CERTIFICATES, &[][..]))
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        self.sent_cached = Some(false);
        if offered.iter().all(|id| !ALL_IDS.contains(id)) {
            return None;
        }
        let sha256 = self.cache.sha256;
        let own = self.cache.own.hash(sha256, body)?;
        let id = match self.hello {
            Some(_) => salted_id(sha256, &self.random, &own),
            None => public_id(&own),
        };
        let content = offered.contains(&id).then(|| Content::write(&own, body))??;
        self.sent_cached = Some(true);
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(EncodedCertificate::new(id, content))
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<Decoded, CertificateNotDecoded> {
        let offered = self.offered.iter().find(|it| it.id == id).ok_or(CertificateNotDecoded)?;
        let expected = offered.form.hash(self.cache.sha256);
        let (received, decoded) = offered.decode(expected, encoded, body)?;
        self.cache.count(|metrics| metrics.received(received.matches, body.len(), encoded.len()));
        if self.hello.is_none() && !received.matches {
            self.cache.dispute_public(&expected);
        }
        self.received = Some((received, offered.peer.clone()));
        Ok(decoded)
    }

    fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|(received, _)| received.matches)
    }

    fn conceals_verdict(&self) -> bool {
        // Who copied a ticket must not learn from alerts whose it is.
        self.received.is_some()
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.count_end(end.peer.is_some());
        let identity = self.cache.identity(end.identity);
        let client = match end.peer {
            Some(peer) => self.shown(peer, identity, end),
            None if self.psk => self.presented(identity),
            None => None,
        };
        let Some((hash, client)) = client else { return };
        if self.hello.is_none() {
            self.cache.learn_public(hash, client);
        } else if let Some(tickets) = derive(end, &hash) {
            self.cache.learn(&client, &tickets, !self.ids.is_empty());
        }
    }
}

impl ServerCodec {
    /// A client that comes with a PSK shows nothing; its ticket says who it is, if the session that it resumes
    /// is of the same client. Else somebody has copied the ticket.
    fn presented(&self, identity: u32) -> Option<(ChainHash, Remembered)> {
        let client = &self.offered.first()?.peer;
        if identity == 0 || client.identity != identity {
            return None;
        }
        Some((client.form.hash(self.cache.sha256), client.clone()))
    }

    /// The client's chain, as it is remembered.
    fn shown(
        &self,
        peer: &PeerCertificate,
        identity: u32,
        end: &HandshakeEnd<'_>,
    ) -> Option<(ChainHash, Remembered)> {
        let expected = self.received.as_ref().map(|(received, _)| received.expected);
        let share = self.received.as_ref().map(|(_, known)| known.share);
        let asked = asked_of(Role::Client, None, end.now);
        let cache = &*self.cache;
        let (hash, form) =
            learned_form(cache.sha256, peer, expected, cache.memory.as_deref(), asked)?;
        let share = share.unwrap_or_else(|| cache.share_of(peer));
        Some((hash, Remembered { form, under: self.under, identity, share }))
    }

    fn count_end(&self, shown: bool) {
        self.cache.count(|metrics| {
            metrics.sent_cached += u64::from(self.sent_cached == Some(true));
            metrics.sent_whole += u64::from(self.sent_cached == Some(false));
            match &self.received {
                _ if !shown => (),
                Some(_) => metrics.received_cached += 1,
                None if !self.ids.is_empty() => metrics.missed_another_chain += 1,
                // Tickets that nobody knows are counted already.
                None if matches!(self.hello, Some(Hello::Tickets(_))) => (),
                None => metrics.missed_nothing_cached += 1,
            }
        });
    }
}

/// Whether certificates of this type alone can be agreed with a client (RFC 7250 §4.1). Of one that lists several
/// the server's verifier chooses, and another type than the chain's is read as something else.
fn is_only_type(from: &FromClient<'_>, typ: CertificateType) -> bool {
    match from.offer.extension(ExtensionType::CLIENT_CERTIFICATE_TYPE) {
        None => typ == CertificateType::X509,
        Some([_, listed @ ..]) => *listed == [typ.0],
        Some([]) => false,
    }
}

fn refusal(malformed: Malformed) -> CodecRefusal {
    match malformed {
        Malformed::Length => CodecRefusal::Malformed(
            "a client's cached_certificates is neither empty nor two tickets long",
        ),
        Malformed::EqualTickets => {
            CodecRefusal::Illegal("the two tickets of cached_certificates are the same")
        }
    }
}
