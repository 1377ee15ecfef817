//! What a client offers in its ClientHello, and remembers until the server has chosen.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::config::{ClientConfig, Destination};
use crate::auth::types_of;
use crate::crypto::{Ephemeral, Secret, Suite};
use crate::error::Error;
use crate::handshake::context::same_hash;
use crate::limits::{MAX_PLAINTEXT, MAX_POST_HANDSHAKE_IN_A_ROW, MAX_RECEIPTS};
use crate::resume::{
    ClientSession, ExternalPsk, FlightHandle, FsIdentity, PskKind, answer_one_time_key,
    psk_for_flight,
};
use crate::schedule::{EarlySecret, KeyDerivation, STREAM, Transcript};
use crate::time::Time;
use crate::wire::{
    CipherSuite, ExtensionType, Grease, HandshakeType, KeyShareEntry, NamedGroup, ProtocolVersion,
    PskIdentity, PskModes, Writer, need_listing, write_certificate_types, write_client_key_shares,
    write_code_points, write_empty, write_extension, write_message, write_offered_psks,
    write_protocols, write_record_size_limit, write_server_name,
};

/// The client's side of a handshake until ServerHello.
pub(crate) struct Offer {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) random: [u8; 32],
    pub(crate) session_id: [u8; 32],
    pub(crate) server_name: String,
    /// The same in every ClientHello.
    grease: Option<Grease>,
    /// Whether a GREASE share goes with the others, if there are any: not when the server asked for
    /// one share.
    pub(crate) greases_share: bool,
    /// The ephemeral keys of the shares that are sent.
    pub(crate) ephemerals: Vec<(NamedGroup, Box<dyn Ephemeral>)>,
    pub(crate) psks: Vec<OfferedPsk>,
    /// Whether the last ClientHello had PSKs; the list itself ends with ServerHello.
    offers_psks: bool,
    /// Whether every ClientHello has the modes: a second one has what the first had (RFC 8446 §4.1.2),
    /// whichever PSKs are left.
    offers_modes: bool,
    pub(crate) modes: PskModes,
    /// The session behind the PSKs that aren't external.
    pub(crate) session: Option<ClientSession>,
    /// How much early data goes with the first identity; `None` if early data isn't offered.
    pub(crate) early_data: Option<u32>,
    /// The suite of the early data that the first ClientHello announced.
    early_suite: Option<CipherSuite>,
    pub(crate) cookie: Option<Vec<u8>>,
    /// The kind of the one-time key behind a forward-secret identity.
    pub(crate) one_time_kind: Option<NamedGroup>,
    /// The name of the flight with early data under a one-time key.
    pub(crate) flight: Option<FlightHandle>,
    /// The flights that the server is asked about.
    pub(crate) ask_receipts: Vec<FlightHandle>,
    /// When the connection began: nothing was sent before.
    pub(crate) began: Time,
}

/// A PSK in the order of the identities.
pub(crate) struct OfferedPsk {
    pub(crate) kind: PskKind,
    pub(crate) suite: &'static Suite,
    pub(crate) early: EarlySecret,
    pub(crate) identity: Vec<u8>,
    obfuscated_age: u32,
}

impl Offer {
    /// Decides what is offered to a destination.
    pub(crate) fn new(
        config: Arc<ClientConfig>,
        destination: Destination,
        now: Time,
    ) -> Result<Self, Error> {
        let mut random = [0; 32];
        let mut session_id = [0; 32];
        config.provider.random.fill(&mut random)?;
        config.provider.random.fill(&mut session_id)?;
        let grease = Grease::draw(config.grease, config.provider.random)?;
        let Destination { server_name, session, external_psks, ask_receipts } = destination;
        if server_name.len() > 255 {
            return Err(Error::Configuration("server_name: at most 255 bytes"));
        }
        if external_psks.iter().map(|psk| psk.identity.len()).sum::<usize>() > MAX_PLAINTEXT {
            return Err(Error::Configuration("external_psks: identities of at most 16 KiB in all"));
        }
        if ask_receipts.len() > MAX_RECEIPTS {
            return Err(Error::Configuration("ask_receipts: at most eight flights at a time"));
        }
        let mut offer = Self {
            ask_receipts,
            flight: None,
            session: session.filter(|session| is_usable(&config, session, &server_name, now)),
            config,
            random,
            session_id,
            server_name,
            grease,
            greases_share: true,
            ephemerals: Vec::new(),
            psks: Vec::new(),
            offers_psks: false,
            offers_modes: false,
            early_suite: None,
            modes: PskModes { psk_ke: false, psk_dhe_ke: true },
            early_data: None,
            cookie: None,
            one_time_kind: None,
            began: now,
        };
        offer.add_session_psks(now)?;
        offer.add_external_psks(external_psks)?;
        offer.offers_psks = !offer.psks.is_empty();
        offer.offers_modes = offer.config.policy.resumption || offer.offers_psks;
        offer.early_suite = offer.early_data.and(offer.psks.first()).map(|psk| psk.suite.id);
        offer.choose_modes();
        if offer.modes.psk_dhe_ke {
            offer.add_shares()?;
        }
        Ok(offer)
    }

    /// The forward-secret ticket first, then the sealed ticket of the same pair (the fallback, and
    /// the proof that lets the server take the key).
    fn add_session_psks(&mut self, now: Time) -> Result<(), Error> {
        let (Some(session), Some(unix)) = (&mut self.session, now.unix) else { return Ok(()) };
        let Some(suite) = self.config.suite(session.state.suite) else { return Ok(()) };
        let kdf = KeyDerivation { hash: suite.hash, profile: &STREAM };

        // §4.2.10: early data belongs to the protocol of its session; if that isn't offered any more,
        // nothing would go out under it.
        let protocol = session.state.protocol.as_ref();
        let keeps_protocol =
            protocol.is_none_or(|protocol| self.config.protocols.contains(protocol));
        let offers_kind = |kind| self.config.one_time_kinds().any(|offered| offered == kind);
        let age = session.state.age_millis(unix);
        let ticket = session.forward_secret.take().filter(|ticket| {
            // A key that is gone would only cost the early data.
            offers_kind(ticket.kind) && age < u64::from(ticket.lifetime) * 1000
        });
        if let Some(ticket) = ticket {
            // A ticket key that can't be answered is no reason to fail: the sealed ticket remains.
            let answer = answer_one_time_key(&self.config.provider, ticket.kind, &ticket.public);
            let flight = answer.and_then(|(encapsulated, agreed)| {
                let identity = FsIdentity { id: &ticket.id, encapsulated: &encapsulated }.encode();
                let psk = psk_for_flight(kdf, &ticket.secret, &agreed, &identity).ok()?;
                Some((identity, psk))
            });
            if let Some((identity, psk)) = flight {
                self.psks.push(OfferedPsk {
                    kind: PskKind::ForwardSecret,
                    suite,
                    early: EarlySecret::new(kdf, psk.expose()),
                    identity,
                    obfuscated_age: 0,
                });
                let size = ticket.max_early_data_size;
                self.early_data = Some(size).filter(|size| *size > 0 && keeps_protocol);
                self.flight = self.early_data.map(|_| ticket.handle);
                self.one_time_kind = Some(ticket.kind);
            }
        }
        let Some(session) = &mut self.session else { return Ok(()) };
        let replayable = self.config.policy.early_data.replayable_without_forward_secrecy;
        if self.psks.is_empty()
            && replayable
            && keeps_protocol
            && session.state.max_early_data_size > 0
        {
            self.early_data = Some(session.state.max_early_data_size);
        }
        self.psks.push(OfferedPsk {
            kind: PskKind::Resumption,
            suite,
            early: EarlySecret::new(kdf, session.state.psk.expose()),
            identity: session.ticket.clone(),
            obfuscated_age: session.obfuscated_age(unix),
        });
        // What the handshake still needs of the session is no secret.
        session.state.psk = Secret::filled_by(0, |_| ());
        Ok(())
    }

    fn add_external_psks(&mut self, external: Vec<ExternalPsk>) -> Result<(), Error> {
        for psk in external {
            let suite = self.config.suite(psk.suite).ok_or(Error::Configuration(
                "external_psks: add the PSK's suite to the configuration's suites",
            ))?;
            if psk.identity.is_empty() || psk.identity.len() > 8192 || psk.secret.is_empty() {
                return Err(Error::Configuration(
                    "external_psks: an identity has 1 to 8,192 bytes, and a secret is not empty",
                ));
            }
            let kdf = KeyDerivation { hash: suite.hash, profile: &STREAM };
            self.psks.push(OfferedPsk {
                kind: psk.kind(),
                suite,
                early: EarlySecret::new(kdf, &psk.secret),
                identity: psk.identity,
                obfuscated_age: 0,
            });
        }
        Ok(())
    }

    /// Where the PSK alone is wanted, no share is sent: should the server refuse, a
    /// HelloRetryRequest brings one, for a full handshake: the modes stay as they are (RFC 8446
    /// §4.1.2). With forward-secret 0-RTT the share is there for the fallback.
    fn choose_modes(&mut self) {
        let policy = &self.config.policy;
        // The modes hold for all identities, and the server may choose the first: what isn't allowed
        // for it isn't offered. After it, `check_mode` stands guard.
        let first = self.psks.first();
        let psk_ke = first.is_some_and(|psk| self.config.psk_modes(psk.kind).psk_ke);
        let alone = policy.psk_only_without_forward_secrecy
            && !self.psks.is_empty()
            && self.psks.iter().all(|psk| psk.kind != PskKind::ForwardSecret);
        self.modes = PskModes { psk_ke, psk_dhe_ke: !alone };
    }

    /// A share for the group that worked last time. To a server that isn't known a post-quantum share
    /// goes together with a classical one, so that no server needs a HelloRetryRequest.
    fn add_shares(&mut self) -> Result<(), Error> {
        let known = self.session.as_ref().and_then(|session| session.group);
        let groups: Vec<_> = match known.and_then(|group| self.config.group(group)) {
            Some(known) => alloc::vec![known],
            None => {
                let mut offered = self.config.groups.iter().filter_map(|id| self.config.group(*id));
                let first = offered.next().ok_or(Error::Internal("a client without groups"))?;
                let classical = Some(first).filter(|first| first.group().is_post_quantum());
                let classical =
                    classical.and_then(|_| offered.find(|g| !g.group().is_post_quantum()));
                core::iter::once(first).chain(classical).collect()
            }
        };
        for group in groups {
            self.ephemerals.push((group.group(), group.generate()?));
        }
        Ok(())
    }

    /// Whether the ClientHello has this extension.
    pub(crate) fn has(&self, typ: ExtensionType) -> bool {
        match typ {
            ExtensionType::SUPPORTED_VERSIONS
            | ExtensionType::SUPPORTED_GROUPS
            | ExtensionType::KEY_SHARE => true,
            ExtensionType::PSK_KEY_EXCHANGE_MODES => self.offers_modes,
            ExtensionType::TICKET_REQUEST => self.config.policy.resumption,
            ExtensionType::SERVER_NAME => self.sends_server_name(),
            ExtensionType::ALPN => !self.config.protocols.is_empty(),
            ExtensionType::RECORD_SIZE_LIMIT => self.config.record_size_limit.is_some(),
            ExtensionType::FORWARD_SECRET_EARLY_DATA => {
                self.config.one_time_kinds().next().is_some()
            }
            ExtensionType::FORWARD_SECRET_RECEIPTS => !self.ask_receipts.is_empty(),
            ExtensionType::COOKIE => self.cookie.is_some(),
            ExtensionType::CLIENT_CERTIFICATE_TYPE => {
                need_listing(&types_of(&self.config.credentials))
            }
            ExtensionType::SERVER_CERTIFICATE_TYPE => {
                need_listing(self.config.verifier.certificate_types())
            }
            ExtensionType::EARLY_DATA => self.early_data.is_some(),
            ExtensionType::PRE_SHARED_KEY => self.offers_psks,
            _ => {
                let is_grease = |grease: Grease| {
                    grease.empty_extension() == typ || grease.full_extension() == typ
                };
                self.grease.is_some_and(is_grease) || self.config.accepted_certificates().has(typ)
            }
        }
    }

    /// RFC 6066 §3: literal addresses are not host names.
    fn sends_server_name(&self) -> bool {
        !self.server_name.is_empty() && self.server_name.parse::<IpAddr>().is_err()
    }

    /// Writes the ClientHello into `out`, binders included. `before` is the transcript of the first
    /// ClientHello and the HelloRetryRequest, where there were any.
    pub(crate) fn write(&self, out: &mut Vec<u8>, before: Option<&mut Transcript>) {
        out.clear();
        let mut binders_len = 0;
        write_message(out, HandshakeType::CLIENT_HELLO, |out| {
            out.u16(ProtocolVersion::TLS1_2.0);
            out.bytes(&self.random);
            out.vec8(|out| {
                if STREAM.middlebox_compatibility {
                    out.bytes(&self.session_id);
                }
            });
            out.vec16(|out| {
                let grease = self.grease.map(|grease| grease.cipher_suite().0);
                grease.into_iter().chain(self.suites()).for_each(|suite| out.u16(suite));
            });
            out.bytes(&[1, 0]);
            out.vec16(|out| binders_len = self.write_extensions(out));
        });
        if binders_len > 0 {
            self.write_binders(out, binders_len, before);
        } else if let Some(transcript) = before {
            transcript.add(out);
        }
    }

    /// The configuration's suites, but that of early data first: the server may then choose it. The
    /// order is the same in every ClientHello (RFC 8446 §4.1.2), though early data ends with the first.
    fn suites(&self) -> impl Iterator<Item = u16> {
        let pinned = self.early_suite;
        let known = self.config.suites.iter().filter(|suite| self.config.suite(**suite).is_some());
        let rest = known.filter(move |suite| Some(**suite) != pinned);
        pinned.into_iter().chain(rest.copied()).map(|suite| suite.0)
    }

    /// Returns the length of the binders.
    fn write_extensions(&self, out: &mut Vec<u8>) -> usize {
        let (config, grease) = (&self.config, self.grease);
        if let Some(grease) = grease {
            grease.write_empty_extension(out);
        }
        if self.sends_server_name() {
            // RFC 6066 §3: without the dot of an absolute name.
            write_server_name(out, self.server_name.trim_end_matches('.'));
        }
        write_extension(out, ExtensionType::SUPPORTED_VERSIONS, |out| {
            let versions = grease.map(Grease::version).into_iter().chain([ProtocolVersion::TLS1_3]);
            out.vec8(|out| versions.for_each(|version| out.u16(version.0)));
        });
        let groups = config.groups.iter().copied().filter(|group| config.group(*group).is_some());
        let groups = grease.map(Grease::group).into_iter().chain(groups);
        write_code_points(out, ExtensionType::SUPPORTED_GROUPS, groups.map(|group| group.0));
        let accepted = config.accepted_certificates();
        accepted.write_extensions(HandshakeType::CLIENT_HELLO, grease, out);
        let own_types = types_of(&config.credentials);
        write_certificate_types(out, ExtensionType::CLIENT_CERTIFICATE_TYPE, &own_types);
        let server_types = config.verifier.certificate_types();
        write_certificate_types(out, ExtensionType::SERVER_CERTIFICATE_TYPE, server_types);
        if !config.protocols.is_empty() {
            let grease = grease.map(Grease::protocol);
            let grease = grease.iter().map(|protocol| &protocol[..]);
            write_protocols(out, config.protocols.iter().map(Vec::as_slice).chain(grease));
        }
        if let Some(limit) = config.record_size_limit {
            write_record_size_limit(out, limit);
        }
        let shares = self.ephemerals.iter().map(|(group, ephemeral)| KeyShareEntry {
            group: *group,
            key_exchange: ephemeral.share(),
        });
        // RFC 8446 §4.2.8: the shares stand in the order of their groups.
        let grease_share = grease
            .filter(|_| self.greases_share && !self.ephemerals.is_empty())
            .map(|grease| KeyShareEntry { group: grease.group(), key_exchange: &[0] });
        write_client_key_shares(out, grease_share.into_iter().chain(shares));
        if self.offers_modes {
            self.modes.write(out, grease.map(Grease::psk_mode));
        }
        if config.policy.resumption {
            // More in a row would look like a flood to this very client.
            config.policy.tickets.at_most(MAX_POST_HANDSHAKE_IN_A_ROW).write(out);
        }
        if self.has(ExtensionType::FORWARD_SECRET_EARLY_DATA) {
            let kinds = config.one_time_kinds().map(|kind| kind.0);
            write_code_points(out, ExtensionType::FORWARD_SECRET_EARLY_DATA, kinds);
        }
        if !self.ask_receipts.is_empty() {
            write_extension(out, ExtensionType::FORWARD_SECRET_RECEIPTS, |out| {
                out.vec16(|out| self.ask_receipts.iter().for_each(|handle| out.bytes(&handle.0)));
            });
        }
        if let Some(cookie) = &self.cookie {
            write_extension(out, ExtensionType::COOKIE, |out| out.vec16(|out| out.bytes(cookie)));
        }
        if self.early_data.is_some() {
            write_empty(out, ExtensionType::EARLY_DATA);
        }
        if let Some(grease) = grease {
            grease.write_full_extension(out);
        }
        if self.psks.is_empty() {
            return 0;
        }
        write_offered_psks(
            out,
            self.psks.iter().map(|psk| {
                let identity = PskIdentity {
                    identity: &psk.identity,
                    obfuscated_ticket_age: psk.obfuscated_age,
                };
                (identity, psk.suite.hash.len())
            }),
        )
    }

    /// Each binder covers everything before the binders (RFC 8446 §4.2.11.2).
    fn write_binders(&self, out: &mut [u8], binders_len: usize, before: Option<&mut Transcript>) {
        let (covered, binders) = out.split_at_mut(out.len() - binders_len);
        let after_retry = before.map(|transcript| {
            transcript.add(covered);
            (transcript.hash(), transcript)
        });
        let mut at = 2;
        for psk in &self.psks {
            let hash = match &after_retry {
                // All PSKs have the hash of the retry's suite; others were dropped.
                Some((hash, _)) => *hash,
                None => psk.suite.hash.hash(covered),
            };
            let binder = psk.early.binder(psk.kind, &hash);
            let binder = binder.as_ref();
            binders[at + 1..at + 1 + binder.len()].copy_from_slice(binder);
            at += 1 + binder.len();
        }
        if let Some((_, transcript)) = after_retry {
            transcript.add(binders);
        }
    }

    /// Drops the PSKs that can't be used with the suite of a HelloRetryRequest.
    pub(crate) fn keep_psks_of(&mut self, suite: &Suite) {
        self.psks.retain(|psk| same_hash(psk.suite, suite));
        self.offers_psks = !self.psks.is_empty();
    }
}

/// Whether a session fits this connection; one that doesn't is as good as none.
fn is_usable(config: &ClientConfig, session: &ClientSession, server_name: &str, now: Time) -> bool {
    let state = &session.state;
    let same_server = state.server_name.as_deref().unwrap_or_default() == server_name;
    let fresh =
        now.unix.is_some_and(|unix| state.is_fresh(unix, config.policy.max_authentication_age));
    // A ticket that would make the ClientHello larger than a record is no ticket of a sane server.
    let sane = (1..=MAX_PLAINTEXT).contains(&session.ticket.len());
    config.policy.resumption && same_server && fresh && sane
}
