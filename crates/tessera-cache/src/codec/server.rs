//! The codec of a server's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, CodecRefusal, Decoded,
    EncodedCertificate, FromClient, HandshakeEnd, PeerCertificate, ToServer, VerifierDigest,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, ExtensionType};

use super::shown::Shown;
use super::{ALL_IDS, derive};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::{public_id, salted_id};
use crate::public_ids::PublicIds;
use crate::server::{Remembered, ServerCache};
use crate::wire::{Content, Hello, Malformed};

impl CertificateCodecFactory for ServerCache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        ALL_IDS
    }

    fn client_codec(self: Arc<Self>, _: &ToServer<'_>) -> Option<Box<dyn CertificateCodec>> {
        // A server's cache in a client's configuration does nothing.
        None
    }

    fn server_codec(
        self: Arc<Self>,
        from: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(self.codec(from, false)?.map(|codec| Box::new(codec) as _))
    }

    fn server_codec_with_psk(
        self: Arc<Self>,
        from: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(self.codec(from, true)?.map(|codec| Box::new(codec) as _))
    }
}

impl ServerCache {
    fn codec(
        self: Arc<Self>,
        from: &FromClient<'_>,
        psk: bool,
    ) -> Result<Option<ServerCodec>, CodecRefusal> {
        let hello = from.offer.extension(ExtensionType::CACHED_CERTIFICATES);
        let hello = hello.map(Hello::read).transpose().map_err(refusal)?;
        let chains = match hello {
            None if self.public_ids == PublicIds::Never => return Ok(None),
            None => self.recognisable(from),
            Some(Hello::TakesPart) => Vec::new(),
            Some(Hello::Tickets(tickets)) => {
                let found = self.take(&tickets, from.policy);
                let found = found.filter(|found| self.may_offer(&found.peer.form, from));
                found.into_iter().map(|found| (found.ticket.id, found.peer)).collect()
            }
        };
        let (offers, clients) = chains.into_iter().unzip();
        Ok(Some(ServerCodec {
            cache: self,
            psk,
            hello,
            random: *from.random,
            policy: from.policy,
            offers,
            clients,
            sent: None,
            received: None,
        }))
    }

    /// The clients that don't take part, by the ids that they may be offered.
    fn recognisable(&self, from: &FromClient<'_>) -> Vec<(Id, Remembered)> {
        let known = self.public(from.policy);
        let unique = |id: Id| known.iter().filter(|(hash, _)| public_id(hash) == id).count() == 1;
        let offered = known.iter().map(|(hash, peer)| (public_id(hash), peer));
        let offered = offered.filter(|(id, peer)| unique(*id) && self.may_offer(&peer.form, from));
        offered.map(|(id, peer)| (id, peer.clone())).collect()
    }

    /// Whether the verifier can judge what would come.
    fn may_offer(&self, form: &Form, from: &FromClient<'_>) -> bool {
        let Form::Known(hash, _) = form else { return true };
        let knows = self.memory_knows(hash, from.policy);
        if !knows {
            self.count(|metrics| metrics.missed_policy += 1);
        }
        knows
    }

    fn memory_knows(&self, chain: &ChainHash, policy: Option<VerifierDigest>) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.knows(chain, policy))
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
    policy: Option<VerifierDigest>,
    /// The ids that are offered, and the clients that they stand for.
    offers: Vec<Id>,
    clients: Vec<Remembered>,
    /// Whether this side's chain was sent as a hash.
    sent: Option<bool>,
    /// The client's chain, if it came as a hash, and what is remembered of it.
    received: Option<(Shown, Remembered)>,
}

impl CertificateCodec for ServerCodec {
    fn offers(&self) -> &[Id] {
        &self.offers
    }

    fn answer(&self) -> Option<(ExtensionType, &[u8])> {
        self.hello.map(|_| (ExtensionType::CACHED_CERTIFICATES, &[][..]))
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        self.sent = Some(false);
        let sha256 = self.cache.sha256;
        let own = self.cache.own.hash(sha256, body)?;
        let id = match self.hello {
            Some(_) => salted_id(sha256, &self.random, &own),
            None => public_id(&own),
        };
        let content = offered.contains(&id).then(|| Content::write(&own, body))??;
        self.sent = Some(true);
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(EncodedCertificate::new(id, content))
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<Decoded, CertificateNotDecoded> {
        let at = self.offers.iter().position(|offered| *offered == id);
        let client = at.and_then(|at| self.clients.get(at)).ok_or(CertificateNotDecoded)?;
        let hash = client.form.hash(self.cache.sha256);
        let (shown, decoded) = Shown::decode(hash, &client.form, encoded, body)?;
        self.cache.count(|metrics| shown.count(body.len(), encoded.len(), metrics));
        self.received = Some((shown, client.clone()));
        Ok(decoded)
    }

    fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|(shown, _)| shown.matches)
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.count_end(end.peer.is_some());
        let client = match end.peer {
            Some(peer) => self.shown(peer),
            // A client that comes with a PSK shows nothing; its ticket says who it is.
            None if self.psk => self.clients.pop().map(|it| (it.form.hash(self.cache.sha256), it)),
            None => None,
        };
        let Some((hash, client)) = client else { return };
        if self.hello.is_none() {
            self.cache.learn_public(hash, client);
        } else if let Some(tickets) = derive(end, &hash) {
            self.cache.learn(&client, tickets, !self.offers.is_empty());
        }
    }
}

impl ServerCodec {
    /// The client's chain, as it is remembered.
    fn shown(&self, peer: &PeerCertificate) -> Option<(ChainHash, Remembered)> {
        if let Some((shown, remembered)) = &self.received {
            return Some((shown.hash, remembered.clone()));
        }
        let chain = Chain::of_peer(peer)?;
        let hash = chain.hash(self.cache.sha256);
        let form = match self.cache.memory_knows(&hash, self.policy) {
            true => Form::Known(hash, chain.outline()),
            false => Form::Whole(Arc::new(chain)),
        };
        Some((hash, Remembered { form, policy: self.policy, share: None }))
    }

    fn count_end(&self, shown: bool) {
        self.cache.count(|metrics| {
            match self.sent {
                Some(true) => metrics.sent_cached += 1,
                Some(false) => metrics.sent_whole += 1,
                None => (),
            }
            match &self.received {
                _ if !shown => (),
                Some(_) => metrics.received_cached += 1,
                None if !self.offers.is_empty() => metrics.missed_another_chain += 1,
                // Tickets that nobody knows are counted already.
                None if matches!(self.hello, Some(Hello::Tickets(_))) => (),
                None => metrics.missed_nothing_cached += 1,
            }
        });
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
