//! The codec of a server's connection.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::Time;
use tessera::auth::{
    Abbreviations, Agreed, CertificateCodec, CertificateNotDecoded, CodecRefusal, Decoded,
    DecodedCertificate, EncodedCertificate, FromClient, HandshakeEnd, PeerCertificate, Role,
    ServerFlight,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType, ExtensionType};

use super::super::learned_form;
use super::super::offered::{Offered, Received, asked_of};
use super::wire::{
    CACHED_INFO, CachedInfo, Hello, Selected, abbreviated, read_certificate, write_selected_ticket,
};
use super::{NO_ID, derive, expand};
use crate::chain_hash::{ChainHash, first};
use crate::server::{Remembered, ServerCache, Under};
use crate::wire::Content;

/// The codec of a connection of this client's; `None` if the client doesn't take part in this form.
pub(crate) fn server_codec(
    cache: Arc<ServerCache>,
    ticket_extension: ExtensionType,
    from: &FromClient<'_>,
    psk: bool,
) -> Result<Option<PaperServer>, CodecRefusal> {
    let info = from.offer.extension(CACHED_INFO).map(CachedInfo::read).transpose()?;
    let hello = from.offer.extension(ticket_extension).map(Hello::read).transpose()?;
    if info.is_none() && hello.is_none() {
        return Ok(None);
    }
    let mut codec = PaperServer {
        under: cache.under(from),
        cache,
        psk,
        now: from.now,
        ticket_extension,
        info: info.unwrap_or_default(),
        answer: hello.as_ref().map(|hello| write_selected_ticket(hello, None)),
        hello,
        selected: Selected::default(),
        cached_info: None,
        client: None,
        sent_cached: None,
        received: None,
    };
    if psk {
        codec.find(|_| true);
    }
    Ok(Some(codec))
}

/// What a server's connection carries.
pub(crate) struct PaperServer {
    cache: Arc<ServerCache>,
    psk: bool,
    now: Time,
    under: Under,
    ticket_extension: ExtensionType,
    /// What the client knows of this server.
    info: CachedInfo,
    /// The client's tickets, if it takes part beyond RFC 7924.
    hello: Option<Hello>,
    /// What is abbreviated of it, and how that is said.
    selected: Selected,
    cached_info: Option<Vec<u8>>,
    /// What BiTHaC's extension is answered with.
    answer: Option<Vec<u8>>,
    /// The client that a ticket was found of.
    client: Option<Offered<Remembered>>,
    /// Whether this side's chain was sent as a hash, once it is sent.
    sent_cached: Option<bool>,
    /// The client's chain, if it came as a hash.
    received: Option<Received>,
}

impl CertificateCodec for PaperServer {
    /// None: no CompressedCertificate stands for a chain here.
    fn offers(&self) -> &[Id] {
        &[]
    }

    fn answer(&self) -> Option<(ExtensionType, &[u8])> {
        self.answer.as_deref().map(|body| (self.ticket_extension, body))
    }

    fn encode(&mut self, _: &[u8], _: &[Id]) -> Option<EncodedCertificate> {
        None
    }

    fn decode(&mut self, _: Id, _: &[u8], _: &mut [u8]) -> Result<Decoded, CertificateNotDecoded> {
        Err(CertificateNotDecoded)
    }

    fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|received| received.matches)
    }

    fn conceals_verdict(&self) -> bool {
        // Who copied a ticket must not learn from alerts whose it is.
        self.received.is_some()
    }

    fn abbreviations(&self) -> Option<&dyn Abbreviations> {
        Some(self)
    }

    fn abbreviations_mut(&mut self) -> Option<&mut dyn Abbreviations> {
        Some(self)
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.count_end(end.peer.is_some());
        if self.hello.is_none() {
            // The client keeps no tickets.
            return;
        }
        let identity = self.cache.identity(end.identity);
        let client = match end.peer {
            Some(peer) => self.shown(peer, identity, end),
            None if self.psk => self.presented(identity),
            None => None,
        };
        let Some((hash, client)) = client else { return };
        if let Some(ticket) = derive(end, &hash) {
            // Those of connections side by side stay: a handshake gives no second one.
            self.cache.learn(&client, &[ticket], false);
        }
    }
}

impl Abbreviations for PaperServer {
    fn extension(&self) -> Option<(ExtensionType, &[u8])> {
        None
    }

    fn answered(&mut self, _: Option<&[u8]>) -> Result<(), CodecRefusal> {
        Ok(())
    }

    fn sends(&mut self, flight: &ServerFlight<'_>) -> Option<Vec<u8>> {
        if flight.client_type.is_some() {
            self.find(|typ| Some(typ) == flight.client_type);
        }
        let sha256 = self.cache.sha256;
        let CachedInfo { certificates, requests } = &self.info;
        self.selected.certificate = !certificates.is_empty() && {
            let own = self.cache.own.hash(sha256, flight.certificate);
            own.is_some_and(|own| certificates.contains(&own))
        };
        let request = flight.request.filter(|_| !requests.is_empty());
        let request = request.map(|message| first(sha256.hash(message).as_ref()));
        let request = request.filter(|request| requests.contains(request));
        self.selected.request = request.is_some();
        self.cached_info = self.selected.write();
        request.map(|hash: [u8; 32]| abbreviated(&hash))
    }

    fn answer(&self) -> Option<(ExtensionType, &[u8])> {
        self.cached_info.as_deref().map(|body| (CACHED_INFO, body))
    }

    fn agreed(&self) -> Agreed {
        let Selected { certificate: own_certificate, request } = self.selected;
        let peer_certificate = self.client.is_some() && !self.psk;
        Agreed { request, own_certificate, peer_certificate }
    }

    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        self.sent_cached = Some(self.selected.certificate);
        if !self.selected.certificate {
            return None;
        }
        let own = self.cache.own.hash(self.cache.sha256, body)?;
        let content = Content::write(&own, body)?;
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(abbreviated(&content))
    }

    fn read_request(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal> {
        Ok(None)
    }

    fn read_certificate(&mut self, body: &[u8]) -> Result<DecodedCertificate, CodecRefusal> {
        let content = read_certificate(body)?;
        let refusal = CodecRefusal::Malformed("an abbreviated Certificate without a ticket");
        let client = self.client.as_ref().ok_or(refusal)?;
        let expected = client.peer.form.hash(self.cache.sha256);
        let (received, decoded, len) = expand(client, expected, content)?;
        self.cache.count(|metrics| metrics.received(received.matches, len, content.len()));
        self.received = Some(received);
        Ok(decoded)
    }
}

impl PaperServer {
    /// Looks for the client whose certificate is of a type that may be used. Without a clock nobody could tell
    /// whether what is known has expired.
    fn find(&mut self, may_be: impl Fn(CertificateType) -> bool) {
        let (Some(Hello::Tickets(tickets)), Some(unix)) = (&self.hello, self.now.unix) else {
            return;
        };
        let shown: Vec<_> = tickets.iter().map(|(_, ticket)| *ticket).collect();
        let found = self.cache.take(&shown, self.under, unix.as_secs(), may_be);
        // A ticket of the default carrier has an id, and is for nobody here.
        let Some(found) = found.filter(|found| found.id == NO_ID) else { return };
        let asked = asked_of(Role::Client, None, self.now);
        let form = found.peer.form.clone();
        let memory = self.cache.memory.as_deref();
        self.client = Offered::new(NO_ID, found.peer, &form, memory, asked);
        if self.client.is_none() {
            self.cache.count(|metrics| metrics.missed_forgotten += 1);
        }
        let place = tickets.get(found.place).map(|(place, _)| *place);
        let place = place.filter(|_| self.client.is_some() && !self.psk);
        self.answer = self.hello.as_ref().map(|hello| write_selected_ticket(hello, place));
    }

    /// A client that comes with a PSK shows nothing; its ticket says who it is, if the session that it resumes
    /// is of the same client. Else somebody has copied the ticket.
    fn presented(&self, identity: u32) -> Option<(ChainHash, Remembered)> {
        let client = &self.client.as_ref()?.peer;
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
        let expected = self.received.as_ref().map(|received| received.expected);
        let known = self.client.as_ref().filter(|_| self.received.is_some());
        let asked = asked_of(Role::Client, None, end.now);
        let cache = &*self.cache;
        let (hash, form) =
            learned_form(cache.sha256, peer, expected, cache.memory.as_deref(), asked)?;
        let share = known.map_or_else(|| cache.share_of(peer), |known| known.peer.share);
        Some((hash, Remembered { form, under: self.under, identity, share }))
    }

    fn count_end(&self, shown: bool) {
        self.cache.count(|metrics| {
            metrics.sent_cached += u64::from(self.sent_cached == Some(true));
            metrics.sent_whole += u64::from(self.sent_cached == Some(false));
            match (&self.received, &self.hello) {
                _ if !shown => (),
                (Some(_), _) => metrics.received_cached += 1,
                // Tickets that nobody knows are counted already.
                (None, Some(Hello::Tickets(_))) => (),
                (None, _) => metrics.missed_nothing_cached += 1,
            }
        });
    }
}
