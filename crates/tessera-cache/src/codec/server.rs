//! The codec of a server's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, ClientInfo, CodecOutcome,
    CodecRefusal, DecodedCertificate, EncodedCertificate, HandshakeEnd, PeerInfo,
};
use tessera::wire::{
    CertificateCompressionAlgorithm as Id, CertificateType, ExtensionType, HandshakeType,
    OpaqueExtension,
};

use super::offered::OfferedChains;
#[cfg(feature = "paper")]
use super::paper;
use super::server_end::ServerEnd;
use super::{ALL_IDS, derive};
use crate::form::Form;
use crate::ids::{TICKETS, TicketBytes, public_id, salted_id};
use crate::miss_reason::MissReason;
use crate::public_ids::PublicIds;
use crate::server::{AcceptanceConditions, ClientEntry, ServerCache};
use crate::wire::{Hello, Malformed};

impl CertificateCodecFactory for ServerCache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        ALL_IDS
    }

    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        // A server's cache in a client's configuration does nothing.
        let PeerInfo::Client(from) = peer else { return Ok(None) };
        #[cfg(feature = "paper")]
        if let Some(codec) = self.clone().paper_codec(from)? {
            return Ok(Some(codec));
        }
        Ok(match self.codec_for(from)? {
            Some(codec) => Some(Box::new(codec)),
            None => (!from.with_psk).then(|| Box::new(InertCodec) as _),
        })
    }
}

impl ServerCache {
    /// Makes the codec for a client that uses the carrier paper.
    #[cfg(feature = "paper")]
    fn paper_codec(
        self: Arc<Self>,
        from: &ClientInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        let takes_part = from.extensions.get(CACHED).is_some();
        let Some(ticket_extension) = self.carrier.paper().filter(|_| !takes_part) else {
            return Ok(None);
        };
        let codec = paper::server_codec(self, ticket_extension, from)?;
        Ok(codec.map(|codec| Box::new(codec) as _))
    }

    /// Makes the codec for any other client, if this cache can be of use to it.
    fn codec_for(
        self: Arc<Self>,
        from: &ClientInfo<'_>,
    ) -> Result<Option<ServerCodec>, CodecRefusal> {
        let hello = from.extensions.get(CACHED);
        let hello = hello.map(Hello::read).transpose().map_err(refusal)?;
        if hello.is_none() && (from.with_psk || self.public_ids == PublicIds::Never) {
            return Ok(None);
        }
        let mut end = ServerEnd::new(self, from);
        let recognisable = match hello {
            None => end.cache.recognisable(end.under, from),
            Some(_) => Vec::new(),
        };
        let found = match hello {
            Some(Hello::Tickets(tickets, sealed)) => find(&mut end, &tickets, sealed, from),
            _ => None,
        };
        let offer = |(id, client)| end.offer(id, client, from.now);
        let offered = recognisable.into_iter().chain(found).filter_map(offer).collect();
        let says = match hello {
            None => Announcement::Nothing,
            Some(Hello::TakesPart) => Announcement::TakesPart,
            Some(Hello::Tickets(..)) => Announcement::Tickets,
        };
        let takes_part = says != Announcement::Nothing;
        let answer = takes_part.then_some(OpaqueExtension { typ: CACHED, contents: Vec::new() });
        Ok(Some(ServerCodec { end, says, answer, random: *from.random, offered }))
    }

    /// Returns the clients that don't take part, by the ids to offer them.
    fn recognisable(
        &self,
        under: AcceptanceConditions,
        from: &ClientInfo<'_>,
    ) -> Vec<(Id, ClientEntry)> {
        let Some(unix) = from.now.unix.map(|unix| unix.as_secs()) else { return Vec::new() };
        let known = self.public(under);
        let unique = |id: Id| known.iter().filter(|it| public_id(&it.hash) == id).count() == 1;
        let is_good = |peer: &ClientEntry| match &peer.form {
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
}

/// Finds the client of these tickets. They aren't looked up if no certificate is requested.
fn find(
    end: &mut ServerEnd,
    tickets: &[TicketBytes; TICKETS],
    sealed: Option<&[u8]>,
    from: &ClientInfo<'_>,
) -> Option<(Id, ClientEntry)> {
    let psk = end.psk;
    if !psk && from.policy.is_none() {
        return None;
    }
    let may_be = |typ| psk || is_only_type(from, typ);
    let found = end.take(tickets, sealed, from.now, ALL_IDS, may_be)?;
    Some((found.id, found.peer))
}

/// What a client's ClientHello announces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announcement {
    /// It doesn't take part, or not in this form.
    Nothing,
    /// It takes part, but has no ticket.
    TakesPart,
    /// It has tickets.
    Tickets,
}

/// A server's codec for one connection.
struct ServerCodec {
    end: ServerEnd,
    says: Announcement,
    answer: Option<OpaqueExtension>,
    /// The client's.
    random: [u8; 32],
    /// The offered chains of clients.
    offered: OfferedChains<ClientEntry>,
}

impl CertificateCodec for ServerCodec {
    fn offers(&self) -> &[Id] {
        self.offered.ids()
    }

    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        match message {
            HandshakeType::ENCRYPTED_EXTENSIONS => self.answer.as_slice(),
            _ => &[],
        }
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        let offers = offered.iter().any(|id| ALL_IDS.contains(id));
        self.end.send_whole(match self.says {
            _ if offers => MissReason::AnotherChain,
            Announcement::Nothing => MissReason::TakesNoPart,
            Announcement::TakesPart | Announcement::Tickets => MissReason::NothingCached,
        });
        if !offers {
            return None;
        }
        let sha256 = self.end.cache.sha256;
        let own = self.end.cache.hash_own(body)?;
        let id = match self.says {
            Announcement::Nothing => public_id(&own),
            Announcement::TakesPart | Announcement::Tickets => {
                salted_id(sha256, &self.random, &own)
            }
        };
        let content = offered.contains(&id).then(|| self.end.send(&own, body))??;
        Some(EncodedCertificate::new(id, content))
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        let offered = self.offered.find(id).ok_or(CertificateNotDecoded::Malformed)?;
        let expected = offered.form.hash(self.end.cache.sha256);
        let mut decoded = offered.decode(expected, encoded, len)?;
        if self.says == Announcement::Nothing && !decoded.is_what_was_sent {
            self.end.cache.dispute_public(&expected);
        }
        self.end.receive(offered.peer.clone(), expected, &mut decoded, len, encoded.len());
        Ok(decoded)
    }

    fn peer_rejected(&mut self) {
        self.end.peer_rejected();
    }

    fn ended(mut self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let offered = !self.offered.is_empty();
        self.end.count(end, offered);
        let found = self.offered.first().map(|found| &found.peer);
        if let Some((hash, client)) = self.end.client(end, found) {
            if self.says == Announcement::Nothing {
                self.end.cache.learn_public(hash, client);
            } else if let Some(tickets) = derive(end, &hash) {
                self.end.cache.learn(&client, &tickets, offered);
            }
        }
        self.end.outcome(self.answer.is_some())
    }
}

/// The codec for a client that doesn't take part: the facts of the connection give the reason.
struct InertCodec;

impl CertificateCodec for InertCodec {
    fn ended(self: Box<Self>, _: &HandshakeEnd<'_>) -> CodecOutcome {
        let missed = Some(MissReason::TakesNoPart.name());
        CodecOutcome { own_missed: missed, peer_missed: missed, after: None }
    }
}

/// Whether this is the only type of certificate that can be agreed with a client (RFC 7250 §4.1). If a client
/// lists several, the server's verifier chooses, and another type than the chain's would be parsed as
/// something else.
fn is_only_type(from: &ClientInfo<'_>, typ: CertificateType) -> bool {
    match from.extensions.get(ExtensionType::CLIENT_CERTIFICATE_TYPE) {
        None => typ == CertificateType::X509,
        Some([_, listed @ ..]) => *listed == [typ.0],
        Some([]) => false,
    }
}

fn refusal(malformed: Malformed) -> CodecRefusal {
    match malformed {
        Malformed::Length => CodecRefusal::Malformed(
            "a client's cached_certificates is neither empty nor two tickets, with a fleet ticket or without",
        ),
        Malformed::EqualTickets => {
            CodecRefusal::Illegal("the two tickets of cached_certificates are the same")
        }
    }
}

const CACHED: ExtensionType = ExtensionType::CACHED_CERTIFICATES;
