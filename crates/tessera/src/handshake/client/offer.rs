//! What a client offers in its ClientHello, and keeps until the server has chosen.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::config::{ClientConfig, Destination};
use super::progress::Progress;
use crate::auth::{ConnectionCodecs, PeerIdentity, PeerInfo, ServerInfo, VerifierDigest};
use crate::carrier::Carrier;
use crate::crypto::{Ephemeral, Secret, Suite};
use crate::error::{Error, require};
use crate::handshake::config::Checked;
use crate::handshake::context::{SecretLog, same_hash};
use crate::limits::{MAX_LISTS_OF_HELLO, MAX_PLAINTEXT, MAX_RECEIPTS};
use crate::linked::{KnownKeys, Sessions};
use crate::resume::{
    Beginning, ClientSession, ExternalPsk, FsIdentity, KnownServerKey, PskKind, SessionAge,
    SessionAuthentication, SessionState, answer_one_time_key, psk_for_flight,
};
use crate::schedule::{EarlySecret, KeyDerivation, Profile};
use crate::time::Time;
use crate::wire::{
    CipherSuite, CountEarlyRecords, FlightHandle, Grease, NamedGroup, OpaqueExtension, PskModes,
    SmallExtensions,
};

/// The client's side of a handshake until ServerHello.
pub(crate) struct Offer {
    pub(super) profile: &'static Profile,
    pub(crate) config: Checked<ClientConfig>,
    pub(crate) random: [u8; 32],
    pub(crate) session_id: [u8; 32],
    pub(crate) server_name: String,
    /// The same in every ClientHello.
    pub(super) grease: Option<Grease>,
    /// The same in every ClientHello.
    pub(super) small: SmallExtensions,
    /// Whether to send a GREASE share with the others, if there are any: not after the server asked for
    /// a particular share.
    pub(crate) greases_share: bool,
    pub(super) sends_server_name: bool,
    /// The ClientHellos sent.
    pub(super) progress: Progress,
    /// The ephemeral keys of the shares sent.
    pub(crate) ephemerals: Vec<(NamedGroup, Box<dyn Ephemeral>)>,
    pub(crate) psks: Vec<OfferedPsk>,
    /// The server whose static key one of them is from.
    pub(super) known_server: Option<KnownKeys<PeerIdentity>>,
    /// The certificate codecs for this server.
    pub(crate) codecs: ConnectionCodecs,
    /// Whether the last ClientHello had PSKs; `psks` itself is emptied at ServerHello.
    pub(super) offers_psks: bool,
    /// Whether every ClientHello has psk_key_exchange_modes: a second one has what the first had (RFC 8446
    /// §4.1.2), whichever PSKs remain.
    pub(super) offers_modes: bool,
    pub(crate) modes: PskModes,
    /// The session behind the PSKs that aren't external.
    pub(crate) session: Option<Sessions<Box<ClientSession>>>,
    /// Whether there is no date, and times are those of the monotonic clock.
    pub(crate) is_monotonic: bool,
    /// How much early data may go with the first identity; `None` if early data isn't offered.
    pub(crate) early_data: Option<Sessions<u32>>,
    /// The suite of the early data that the first ClientHello announced.
    pub(super) early_suite: Option<CipherSuite>,
    pub(crate) cookie: Option<Vec<u8>>,
    /// The kind of the one-time key behind a forward-secret identity.
    pub(crate) one_time_kind: Option<NamedGroup>,
    /// The name of the flight with early data under a one-time key.
    pub(crate) flight: Option<FlightHandle>,
    /// The flights that the server is asked about.
    pub(crate) ask_receipts: Vec<FlightHandle>,
    /// The owner's extensions.
    pub(crate) extensions: Vec<OpaqueExtension>,
    /// When the connection began; nothing was sent earlier.
    pub(crate) began: Beginning,
}

/// A PSK in the order of the identities.
pub(crate) struct OfferedPsk {
    pub(crate) kind: PskKind,
    pub(crate) suite: &'static Suite,
    pub(crate) early: EarlySecret,
    /// For an external PSK or a known key: the digest under which sessions that begin with it are accepted.
    pub(crate) digest: Option<VerifierDigest>,
    pub(crate) identity: Vec<u8>,
    pub(super) obfuscated_age: u32,
}

impl OfferedPsk {
    pub(super) fn new(
        kind: PskKind,
        suite: &'static Suite,
        kdf: KeyDerivation,
        psk: &[u8],
        identity: Vec<u8>,
    ) -> Self {
        let early = EarlySecret::new(kdf, psk);
        Self { kind, suite, early, digest: None, identity, obfuscated_age: 0 }
    }
}

/// What is random in a ClientHello, from one draw: generators have a cost per call.
struct Drawn {
    random: [u8; 32],
    session_id: [u8; 32],
    grease: Option<Grease>,
}

impl Drawn {
    fn new(config: &ClientConfig) -> Result<Self, Error> {
        let mut drawn = [0; 64 + Grease::LEN];
        config.provider.random.fill(&mut drawn)?;
        let (mut random, mut session_id, mut grease) = ([0; 32], [0; 32], [0; Grease::LEN]);
        random.copy_from_slice(&drawn[..32]);
        session_id.copy_from_slice(&drawn[32..64]);
        grease.copy_from_slice(&drawn[64..]);
        Ok(Self {
            random,
            session_id,
            grease: config.grease.then(|| Grease::new(grease)).flatten(),
        })
    }
}

impl Offer {
    /// Decides what to offer to a destination. The offer stays in its box from state to state.
    pub(crate) fn new(
        config: Checked<ClientConfig>,
        destination: Destination,
        profile: &'static Profile,
        now: Time,
    ) -> Result<Box<Self>, Error> {
        let Drawn { random, session_id, grease } = Drawn::new(&config)?;
        let Destination {
            server_name,
            port,
            session,
            known_server_key,
            external_psks,
            ask_receipts,
            extensions,
            clock,
        } = destination;
        require(server_name.len() <= 255, "server_name: at most 255 bytes")?;
        let is_name = server_name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
        let is_address = is_address(&server_name);
        require(
            is_name || is_address,
            "server_name: a DNS name in ASCII or an IP address, without a port",
        )?;
        let identities_len = external_psks.iter().map(|psk| psk.identity.len()).sum::<usize>();
        let fit = identities_len <= MAX_PLAINTEXT;
        require(fit, "external_psks: identities of at most 16 KiB in all")?;
        let are_few =
            ask_receipts.len() <= if Sessions::linked().is_some() { MAX_RECEIPTS } else { 0 };
        require(are_few, "ask_receipts: at most eight flights at a time")?;
        OpaqueExtension::check_all(&extensions)?;
        let to = ServerInfo {
            server_name: &server_name,
            port,
            protocols: &config.protocols,
            random: &random,
            policy: config.authentication().verifier,
            now,
            credentials: &config.credentials,
        };
        let longest = config.limits.certificate_message;
        let codecs =
            ConnectionCodecs::new(&config.certificate_codecs, PeerInfo::Server(&to), longest)?;
        let are_free = !extensions.iter().any(|own| codecs.have(own.typ));
        require(are_free, "extensions: a certificate codec sends one of these types")?;
        let session = session.zip(Sessions::linked()).map(|(session, linked)| linked.with(session));
        let age = session.as_ref().map(|session| session.age(now));
        let session = session.filter(|session| {
            is_usable(&config, session, &server_name, profile.carrier, now)
                && is_authenticated(
                    &config,
                    &session.state,
                    known_server_key.as_deref(),
                    &external_psks,
                )
        });
        let known_keys = usize::from(known_server_key.is_some());
        let psks = external_psks.len() + known_keys + if session.is_some() { 2 } else { 0 };
        let mut offer = Box::new(Self {
            profile,
            codecs,
            ask_receipts,
            extensions,
            flight: None,
            session,
            is_monotonic: now.unix.is_none(),
            small: config.small_extensions(),
            // RFC 6066 §3: literal addresses are not host names.
            sends_server_name: !server_name.is_empty() && !is_address,
            config,
            random,
            session_id,
            server_name,
            grease,
            greases_share: true,
            progress: Progress::default(),
            ephemerals: Vec::new(),
            psks: Vec::with_capacity(psks),
            known_server: None,
            offers_psks: false,
            offers_modes: false,
            early_suite: None,
            modes: PskModes { psk_ke: false, psk_dhe_ke: true },
            early_data: None,
            cookie: None,
            one_time_kind: None,
            began: Beginning::new(clock),
        });
        if let Some(age) = &age {
            offer.add_session_psks(age, now)?;
        }
        if let Some(known) = known_server_key {
            offer.add_known_key(*known)?;
        }
        offer.add_external_psks(external_psks)?;
        offer.offers_psks = !offer.psks.is_empty();
        let resumes = offer.config.policy.resumption && Sessions::linked().is_some();
        offer.offers_modes = resumes || offer.offers_psks;
        offer.early_suite = offer.early_data.and(offer.psks.first()).map(|psk| psk.suite.id);
        let asks = offer.early_data.is_some() && profile.counts_early_records;
        offer.small.counts_early_records = asks.then_some(CountEarlyRecords);
        offer.choose_modes(age.is_none_or(|age| age.is_known) || offer.session.is_none());
        if offer.modes.psk_dhe_ke {
            offer.add_shares()?;
        }
        offer.check_len()?;
        Ok(offer)
    }

    /// Checks that the lists, each of which is bounded by itself, fit a ClientHello together.
    fn check_len(&self) -> Result<(), Error> {
        let psks = self.psks.iter().map(|psk| 7 + psk.identity.len() + psk.suite.hash.len());
        let authorities = self.config.verifier.authorities().iter().map(|name| 2 + name.len());
        let protocols = self.config.protocols.iter().map(|protocol| 1 + protocol.len());
        let lists = psks.chain(authorities).chain(protocols).sum::<usize>();
        let extensions = OpaqueExtension::len_of(&self.extensions) + self.codecs.extensions_len();
        require(
            lists + extensions <= MAX_LISTS_OF_HELLO,
            "external_psks, extensions, authorities, protocols: together more than a ClientHello \
             has room for",
        )
    }

    /// Adds the forward-secret ticket first, then the sealed ticket of the same pair (the fallback, and
    /// the proof that lets the server take the key).
    fn add_session_psks(&mut self, age: &SessionAge, now: Time) -> Result<(), Error> {
        let (Some(session), Some(linked)) = (&mut self.session, Sessions::linked()) else {
            return Ok(());
        };
        // Its tickets continue the chain on the clock of this connection.
        let now = now.on(self.is_monotonic).unwrap_or_default();
        session.state.authenticated_at = now.as_secs().wrapping_sub(age.authentication_secs);
        let Some(suite) = self.config.suite(session.state.suite) else { return Ok(()) };
        let kdf = KeyDerivation { hash: suite.hash, profile: self.profile };

        // §4.2.10: early data belongs to the protocol of its session; if that isn't offered any more,
        // no data would be sent under it.
        let protocol = session.state.protocol.as_ref();
        let keeps_protocol =
            protocol.is_none_or(|protocol| self.config.protocols.contains(protocol));
        let offers_kind = |kind| self.config.one_time_kinds().any(|offered| offered == kind);
        let ticket = session.forward_secret.take().filter(|ticket| {
            // An expired key would only cost the early data.
            age.is_known
                && offers_kind(ticket.kind)
                && age.millis < u64::from(ticket.lifetime) * 1000
        });
        if let Some(ticket) = ticket {
            // A one-time key that can't be answered is no reason to fail: the sealed ticket remains.
            let answer = answer_one_time_key(&self.config.provider, ticket.kind, &ticket.public);
            let flight = answer.and_then(|(encapsulated, agreed)| {
                let identity = FsIdentity { id: &ticket.id, encapsulated: &encapsulated }.encode();
                let psk = psk_for_flight(kdf, &ticket.secret, &agreed, &identity).ok()?;
                Some((identity, psk))
            });
            if let Some((identity, psk)) = flight {
                let kind = PskKind::ForwardSecret;
                self.psks.push(OfferedPsk::new(kind, suite, kdf, psk.expose(), identity));
                let size = ticket.max_early_data_size;
                self.early_data = (size > 0 && keeps_protocol).then_some(linked.with(size));
                self.flight = self.early_data.map(|_| ticket.handle);
                self.one_time_kind = Some(ticket.kind);
            }
        }
        let Some(session) = &mut self.session else { return Ok(()) };
        let replayable = self.config.policy.early_data.replayable_without_forward_secrecy;
        if self.psks.is_empty()
            && replayable
            && age.is_known
            && keeps_protocol
            && session.state.max_early_data_size > 0
        {
            self.early_data = Some(linked.with(session.state.max_early_data_size));
        }
        let (kind, identity) = (PskKind::Resumption, session.ticket.clone());
        let psk = OfferedPsk::new(kind, suite, kdf, session.state.psk.expose(), identity);
        // RFC 8446 §4.2.11.1.
        let obfuscated_age = (age.millis as u32).wrapping_add(session.state.age_add);
        self.psks.push(OfferedPsk { obfuscated_age, ..psk });
        // The rest of the handshake doesn't need the session's secret.
        session.state.psk = Secret::filled_by(0, |_| ());
        Ok(())
    }

    fn add_external_psks(&mut self, external: Vec<ExternalPsk>) -> Result<(), Error> {
        for psk in external {
            let suite = self.config.suite(psk.suite).ok_or(Error::Configuration(
                "external_psks: add the PSK's suite to the configuration's suites",
            ))?;
            require(
                (1..=8192).contains(&psk.identity.len()) && !psk.secret.is_empty(),
                "external_psks: an identity has 1 to 8,192 bytes, and a secret is not empty",
            )?;
            let kdf = KeyDerivation { hash: suite.hash, profile: self.profile };
            let digest = Sessions::linked().map(|_| psk.digest(&self.config.provider));
            let kind = psk.kind();
            let psk = OfferedPsk::new(kind, suite, kdf, &psk.secret, psk.identity);
            self.psks.push(OfferedPsk { digest, ..psk });
        }
        Ok(())
    }

    /// Chooses the modes. If only the PSK alone is wanted, sends no share: should the server refuse, its
    /// HelloRetryRequest asks for one, for a full handshake; the modes stay as they are (RFC 8446
    /// §4.1.2). With forward-secret 0-RTT the share is sent for the fallback.
    ///
    /// A session of unknown age is used with psk_dhe_ke only.
    fn choose_modes(&mut self, age_is_known: bool) {
        if !age_is_known {
            return;
        }
        let policy = &self.config.policy;
        // The modes hold for all identities, and the server may choose the first: what isn't allowed
        // for it isn't offered. `check_mode` enforces this for the others.
        let first = self.psks.first();
        let psk_ke = first.is_some_and(|psk| self.config.psk_modes(psk.kind).psk_ke);
        let alone = policy.psk_only_without_forward_secrecy
            && !self.psks.is_empty()
            && self.psks.iter().all(|psk| psk.kind.may_go_alone());
        self.modes = PskModes { psk_ke, psk_dhe_ke: !alone };
    }

    /// Adds a share for the group that worked last time. For an unknown server adds a classical share to a
    /// post-quantum one, so that no server needs a HelloRetryRequest; over datagrams the classical share alone.
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
                match classical {
                    Some(classical) if self.profile.one_share_for_strangers => {
                        alloc::vec![classical]
                    }
                    _ => core::iter::once(first).chain(classical).collect(),
                }
            }
        };
        for group in groups {
            self.ephemerals.push((group.group(), group.generate()?));
        }
        Ok(())
    }

    /// Returns where this handshake's secrets are logged.
    pub(super) fn secret_log(&self) -> SecretLog<'_> {
        SecretLog { key_log: self.config.key_log.as_deref(), client_random: &self.random }
    }

    /// Returns legacy_session_id, which the server echoes; empty if the protocol has none (RFC 8446 §D.4).
    pub(crate) fn legacy_session_id(&self) -> &[u8] {
        self.profile.session_id(&self.session_id)
    }

    /// Returns whether the first ClientHello offered early data.
    pub(crate) fn offered_early_data(&self) -> bool {
        self.early_suite.is_some() && Sessions::linked().is_some()
    }

    /// Drops the PSKs that can't be used with the suite of a HelloRetryRequest.
    pub(crate) fn keep_psks_of(&mut self, suite: &Suite) {
        self.psks.retain(|psk| same_hash(psk.suite, suite));
        self.offers_psks = !self.psks.is_empty();
    }
}

/// Returns whether a server is named by its address: no top-level domain consists of digits, and an IPv6 address has at
/// least two colons. A whole parser of addresses would be large for a device.
fn is_address(server_name: &str) -> bool {
    let colons = server_name.bytes().filter(|byte| *byte == b':').count();
    let is_part = |byte: u8| match colons {
        0 => byte.is_ascii_digit() || byte == b'.',
        _ => byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'),
    };
    colons != 1 && !server_name.is_empty() && server_name.bytes().all(is_part)
}

/// Returns whether a session fits this connection; otherwise it is ignored.
fn is_usable(
    config: &ClientConfig,
    session: &ClientSession,
    server_name: &str,
    carrier: Carrier,
    now: Time,
) -> bool {
    let state = &session.state;
    let same_server = state.server_name.as_deref().unwrap_or_default() == server_name;
    let age = &session.age(now);
    let fresh = (age.is_known || config.resume_sessions_of_unknown_age)
        && session.is_fresh(age, now, config.policy.max_authentication_age);
    // A ticket that would make the ClientHello larger than a record is not from a sane server.
    let sane = (1..=MAX_PLAINTEXT).contains(&session.ticket.len());
    let same_carrier = state.carrier == carrier;
    config.policy.resumption && same_server && fresh && sane && same_carrier
}

/// Returns whether the server behind a session was authenticated as this connection would do it: by the
/// configuration's verifier, or by a PSK that the destination still lists.
fn is_authenticated(
    config: &Checked<ClientConfig>,
    session: &SessionState,
    known_server_key: Option<&KnownServerKey>,
    external_psks: &[ExternalPsk],
) -> bool {
    if config.knows_key_behind(session, known_server_key) {
        return true;
    }
    match config.authentication().weigh(session) {
        SessionAuthentication::Here => true,
        SessionAuthentication::Nobody => {
            external_psks.iter().any(|psk| psk.began(session, &config.provider))
        }
        SessionAuthentication::Elsewhere => false,
    }
}
