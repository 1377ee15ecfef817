//! What a server remembers of a HelloRetryRequest, and the checks of the second ClientHello (RFC 8446 §4.1.2).

use alloc::vec::Vec;

use super::config::ServerConfig;
use super::hello::Hello;
use crate::crypto::{Digest, Suite};
use crate::error::{Error, illegal_parameter, protocol};
use crate::handshake::config::Checked;
use crate::schedule::{Profile, Transcript};
use crate::wire::{
    AlertDescription, CipherSuite, ClientHello, ExtensionType, HandshakeMessage, HelloRetryRequest,
    NamedGroup, Reader, Writer,
};

/// Everything that a server remembers of a HelloRetryRequest. It fits a cookie.
pub struct RetryState {
    pub(super) suite: &'static Suite,
    /// The group whose share the server asked for, if any.
    pub(super) group: Option<NamedGroup>,
    /// The cookie, if one was sent.
    pub(super) cookie: Option<Vec<u8>>,
    /// The first ClientHello had early data.
    pub(super) early_data: bool,
    /// The hash of the first ClientHello, with which the transcript continues.
    first_hello: Digest,
    /// The hash of what the second ClientHello may not change.
    lasting: Digest,
    /// The hash of the PSK identity found in the first ClientHello, if the server looked for one.
    psk: Option<Digest>,
}

impl RetryState {
    /// Restores the state from the cookie of a ClientHello; `None` if it has no cookie. `open` returns what
    /// [`seal`](Self::request) received, or `None` for a cookie that it can't authenticate.
    ///
    /// # Errors
    /// The ClientHello can't be read, or its cookie is not from this server.
    pub fn of_cookie(
        config: &Checked<ServerConfig>,
        profile: &'static Profile,
        hello: HandshakeMessage<'_>,
        open: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Option<Self>, Error> {
        let Some(cookie) = Hello::read(hello, profile)?.parsed.cookie else { return Ok(None) };
        let state = open(cookie).and_then(|encoded| Self::decode(&encoded, config).ok());
        let state = state.ok_or(STRANGE_COOKIE)?;
        Ok(Some(Self { cookie: Some(cookie.to_vec()), ..state }))
    }

    /// Creates the state to keep of the first ClientHello if the client is asked for a share of `group`.
    pub(super) fn new(
        suite: &'static Suite,
        group: Option<NamedGroup>,
        first: &Hello<'_>,
        psk_identity: Option<&[u8]>,
    ) -> Self {
        Self {
            suite,
            group,
            cookie: None,
            early_data: first.parsed.early_data,
            first_hello: suite.hash.hash(first.bytes),
            lasting: lasting(suite, &first.parsed, group.is_none()),
            psk: psk_identity.map(|identity| suite.hash.hash(identity)),
        }
    }

    /// Checks what must hold for a first ClientHello, or for one after a HelloRetryRequest.
    pub(super) fn check(retry: Option<&Self>, hello: &Hello<'_>) -> Result<(), Error> {
        if let Some(retry) = retry {
            let lasting = lasting(retry.suite, &hello.parsed, retry.group.is_none());
            if lasting.as_ref() != retry.lasting.as_ref() {
                return Err(illegal_parameter("the second ClientHello differs from the first"));
            }
            if hello.parsed.early_data {
                return Err(illegal_parameter("early_data after HelloRetryRequest"));
            }
        }
        if hello.parsed.cookie != retry.and_then(|retry| retry.cookie.as_deref()) {
            return Err(STRANGE_COOKIE);
        }
        retry.map_or(Ok(()), |retry| retry.check_psks(&hello.parsed))
    }

    /// Checks that the second ClientHello dropped only PSKs that don't fit the suite; the one that was found does.
    fn check_psks(&self, second: &ClientHello<'_>) -> Result<(), Error> {
        let Some(found) = &self.psk else { return Ok(()) };
        let psks = second.psks.ok_or(protocol(
            AlertDescription::MISSING_EXTENSION,
            "the second ClientHello has no pre_shared_key any more",
        ))?;
        let is_found = |identity| self.suite.hash.hash(identity).as_ref() == found.as_ref();
        if !psks.identities().any(|psk| is_found(psk.identity)) {
            return Err(illegal_parameter("the second ClientHello lacks a PSK that fits"));
        }
        Ok(())
    }

    /// Returns the transcript up to the second ClientHello, exclusive.
    pub(super) fn transcript(
        &self,
        session_id: &[u8],
        second_hello: &[u8],
        profile: &Profile,
    ) -> Transcript {
        let mut transcript = Transcript::after_retry(self.suite.hash, &self.first_hello);
        let mut request = Vec::new();
        self.write_request(session_id, profile, &mut request);
        transcript.add(&request);
        transcript.add(second_hello);
        transcript
    }

    /// Appends the HelloRetryRequest.
    pub(super) fn write_request(&self, session_id: &[u8], profile: &Profile, out: &mut Vec<u8>) {
        let request = HelloRetryRequest {
            session_id: profile.session_id(session_id),
            cipher_suite: self.suite.id,
            group: self.group,
            cookie: self.cookie.as_deref(),
        };
        request.write(out, &profile.versions);
    }

    /// Encodes the state that needs no connection, so without the PSK. It holds no secret.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(5 + 2 * self.suite.hash.len());
        out.u16(self.suite.id.0);
        // No group has the number 0.
        out.u16(self.group.map_or(0, |group| group.0));
        out.u8(self.early_data.into());
        out.bytes(self.first_hello.as_ref());
        out.bytes(self.lasting.as_ref());
        out
    }

    /// Decodes what [`encode`](Self::encode) wrote.
    fn decode(bytes: &[u8], config: &ServerConfig) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let suite = config.suite(CipherSuite(reader.u16()?)).ok_or(STRANGE_COOKIE)?;
        let group = Some(NamedGroup(reader.u16()?)).filter(|group| group.0 != 0);
        let early_data = reader.u8()? != 0;
        let mut digest = || Ok::<_, Error>(Digest::new(reader.take(suite.hash.len())?));
        let (first_hello, lasting) = (digest()?, digest()?);
        reader.finish()?;
        Ok(Self { suite, group, cookie: None, early_data, first_hello, lasting, psk: None })
    }
}

const STRANGE_COOKIE: Error = illegal_parameter("a cookie that no HelloRetryRequest gave");

/// Returns the hash of what a HelloRetryRequest may not change (RFC 8446 §4.1.2: "without modification"); the key
/// shares are included if it asked for none. The order of the extensions doesn't count: any is allowed (§4.2), and
/// wolfSSL changes it in the second ClientHello.
fn lasting(suite: &Suite, hello: &ClientHello<'_>, with_shares: bool) -> Digest {
    let lasts = |(typ, _): &(ExtensionType, &[u8])| {
        !MAY_CHANGE.contains(typ) || with_shares && *typ == ExtensionType::KEY_SHARE
    };
    let mut extensions: Vec<_> = hello.extensions.iter().filter(lasts).collect();
    // No type occurs twice.
    extensions.sort_unstable_by_key(|(typ, _)| typ.0);
    let mut out = Vec::new();
    out.bytes(hello.random);
    out.vec8(|out| out.bytes(hello.session_id));
    out.vec16(|out| hello.cipher_suites.iter().for_each(|suite| out.u16(suite)));
    for (typ, body) in extensions {
        out.u16(typ.0);
        out.vec16(|out| out.bytes(body));
    }
    suite.hash.hash(&out)
}

const MAY_CHANGE: [ExtensionType; 6] = [
    ExtensionType::KEY_SHARE,
    ExtensionType::EARLY_DATA,
    ExtensionType::COOKIE,
    ExtensionType::PRE_SHARED_KEY,
    ExtensionType::PADDING,
    // RFC 9849 §6.1.5: the inner ClientHello is encrypted again. wolfSSL changes its GREASE, too.
    ENCRYPTED_CLIENT_HELLO,
];

/// Not one that the engine handles itself.
const ENCRYPTED_CLIENT_HELLO: ExtensionType = ExtensionType(0xfe0d);
