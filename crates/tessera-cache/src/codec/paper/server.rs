//! The codec of a server's connection.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::Time;
use tessera::auth::{
    AbbreviatedMessages, Abbreviations, CertificateCodec, ClientInfo, CodecOutcome, CodecRefusal,
    DecodedCertificate, HandshakeEnd, ServerFlight,
};
use tessera::wire::{CertificateType, ExtensionType, HandshakeType, OpaqueExtension};

use super::super::offered::OfferedChain;
use super::super::server_end::ServerEnd;
use super::wire::{
    CACHED_INFO, CachedInfo, CachedInfoAnswer, Hello, abbreviated, read_certificate,
    write_selected_ticket,
};
use super::{NO_ID, derive, expand};
use crate::chain_hash::first;
use crate::miss_reason::MissReason;
use crate::server::{ClientEntry, ServerCache};

/// Makes the codec of a connection with this client; `None` if the client doesn't take part in this form.
pub(crate) fn server_codec(
    cache: Arc<ServerCache>,
    ticket_extension: ExtensionType,
    from: &ClientInfo<'_>,
) -> Result<Option<PaperServer>, CodecRefusal> {
    let info = from.extensions.get(CACHED_INFO).map(CachedInfo::read).transpose()?;
    let hello = from.extensions.get(ticket_extension).map(Hello::read).transpose()?;
    if info.is_none() && hello.is_none() {
        return Ok(None);
    }
    let mut codec = PaperServer {
        end: ServerEnd::new(cache, from),
        now: from.now,
        ticket_extension,
        info: info.unwrap_or_default(),
        hello,
        selected: CachedInfoAnswer::default(),
        answers: Vec::new(),
        client: None,
    };
    if from.with_psk {
        codec.find(|_| true);
    }
    codec.answer_tickets(None);
    Ok(Some(codec))
}

/// A server's codec for one connection.
pub(crate) struct PaperServer {
    end: ServerEnd,
    now: Time,
    ticket_extension: ExtensionType,
    /// What the client knows of this server.
    info: CachedInfo,
    /// The client's tickets, if it takes part beyond RFC 7924.
    hello: Option<Hello>,
    /// What is abbreviated in response.
    selected: CachedInfoAnswer,
    /// How that is announced, and the answer to BiTHaC's extension.
    answers: Vec<OpaqueExtension>,
    /// The client that a ticket identified.
    client: Option<OfferedChain<ClientEntry>>,
}

impl CertificateCodec for PaperServer {
    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        match message {
            HandshakeType::ENCRYPTED_EXTENSIONS => &self.answers,
            _ => &[],
        }
    }

    fn peer_rejected(&mut self) {
        self.end.peer_rejected();
    }

    fn abbreviations(&mut self) -> Option<&mut dyn Abbreviations> {
        Some(self)
    }

    fn ended(mut self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        self.end.count(end, self.client.is_some());
        let found = self.client.as_ref().map(|found| &found.peer);
        // A client of plain RFC 7924 keeps no tickets.
        if self.hello.is_some()
            && let Some((hash, client)) = self.end.client(end, found)
            && let Some(ticket) = derive(end, &hash)
        {
            // Tickets of concurrent connections stay: a handshake yields only one.
            self.end.cache.learn(&client, &[ticket], false);
        }
        self.end.outcome(false)
    }
}

impl Abbreviations for PaperServer {
    fn sends(&mut self, flight: &ServerFlight<'_>) -> Option<Vec<u8>> {
        if flight.client_type.is_some() {
            self.find(|typ| Some(typ) == flight.client_type);
        }
        let sha256 = self.end.cache.sha256;
        let CachedInfo { certificates, requests } = &self.info;
        self.selected.certificate = !certificates.is_empty() && {
            let own = self.end.cache.hash_own(flight.certificate);
            own.is_some_and(|own| certificates.contains(&own))
        };
        let request = flight.request.filter(|_| !requests.is_empty());
        let request = request.map(|message| first(sha256.hash(message).as_ref()));
        let request = request.filter(|request| requests.contains(request));
        self.selected.request = request.is_some();
        let cached_info = self.selected.write();
        let cached_info =
            cached_info.map(|contents| OpaqueExtension { typ: CACHED_INFO, contents });
        self.answers.splice(0..0, cached_info);
        request.map(|hash: [u8; 32]| abbreviated(&hash))
    }

    fn agreed(&self) -> AbbreviatedMessages {
        let CachedInfoAnswer { certificate: own_certificate, request } = self.selected;
        let peer_certificate = self.client.is_some() && !self.end.psk;
        AbbreviatedMessages { request, own_certificate, peer_certificate }
    }

    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        self.end.send_whole(match self.info.certificates[..] {
            [] => MissReason::NothingCached,
            _ => MissReason::AnotherChain,
        });
        if !self.selected.certificate {
            return None;
        }
        let own = self.end.cache.hash_own(body)?;
        Some(abbreviated(&self.end.send(&own, body)?))
    }

    fn read_request(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal> {
        Ok(None)
    }

    fn read_certificate(&mut self, body: &[u8]) -> Result<DecodedCertificate, CodecRefusal> {
        let content = read_certificate(body)?;
        let refusal = CodecRefusal::Malformed("an abbreviated Certificate without a ticket");
        let client = self.client.as_ref().ok_or(refusal)?;
        let expected = client.form.hash(self.end.cache.sha256);
        let (mut decoded, len) = expand(client, expected, content)?;
        self.end.receive(client.peer.clone(), expected, &mut decoded, len, content.len());
        Ok(decoded)
    }
}

impl PaperServer {
    /// Finds the client whose certificate is of a type that may be used.
    fn find(&mut self, may_be: impl Fn(CertificateType) -> bool) {
        let Some(Hello::Tickets(tickets)) = &self.hello else { return };
        let shown: Vec<_> = tickets.iter().map(|(_, ticket)| *ticket).collect();
        let found = self.end.take(&shown, None, self.now, NO_ID..=NO_ID, may_be);
        let Some(found) = found else { return };
        self.client = self.end.offer(NO_ID, found.peer, self.now);
        let place = tickets.get(found.place).map(|(place, _)| *place);
        self.answer_tickets(place.filter(|_| self.client.is_some() && !self.end.psk));
    }

    /// Answers the client's tickets, if there are any: the one at this place was found.
    fn answer_tickets(&mut self, place: Option<u16>) {
        let contents = self.hello.as_ref().map(|hello| write_selected_ticket(hello, place));
        let answer = |contents| OpaqueExtension { typ: self.ticket_extension, contents };
        self.answers = contents.map(answer).into_iter().collect();
    }
}
