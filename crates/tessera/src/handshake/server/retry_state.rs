//! What a server remembers of a HelloRetryRequest, and the second ClientHello (RFC 8446 §4.1.2).

use alloc::vec::Vec;

use super::hello::Hello;
use crate::crypto::{Digest, Provider, Suite};
use crate::error::{Error, illegal_parameter, protocol};
use crate::handshake::context::Context;
use crate::schedule::Transcript;
use crate::wire::{
    AlertDescription, CipherSuite, ClientHello, ExtensionType, HelloRetryRequest, NamedGroup,
    Reader, Versions, Writer,
};

/// All that a server remembers of a HelloRetryRequest. It [encodes](Self::encode), so that a cookie could
/// hold it.
pub(super) struct RetryState {
    pub(super) suite: &'static Suite,
    /// The group that the client was asked for.
    pub(super) group: NamedGroup,
    /// The first ClientHello had early data.
    pub(super) early_data: bool,
    /// The hash of the first ClientHello: what the transcript goes on with.
    first_hello: Digest,
    /// The hash of what the second may not change.
    lasting: Digest,
    /// The hash of the identity of the PSK that was found in the first ClientHello.
    psk: Option<Digest>,
}

impl RetryState {
    /// What lasts of the first ClientHello, where the client is asked for a share of `group`.
    pub(super) fn new(
        suite: &'static Suite,
        group: NamedGroup,
        first: &Hello<'_>,
        psk_identity: Option<&[u8]>,
    ) -> Self {
        Self {
            suite,
            group,
            early_data: first.parsed.early_data,
            first_hello: suite.hash.hash(first.bytes),
            lasting: lasting(suite, &first.parsed),
            psk: psk_identity.map(|identity| suite.hash.hash(identity)),
        }
    }

    /// Checks what holds for a first ClientHello, or for one after a HelloRetryRequest.
    pub(super) fn check(retry: Option<&Self>, hello: &Hello<'_>) -> Result<(), Error> {
        if let Some(retry) = retry {
            let lasting = lasting(retry.suite, &hello.parsed);
            if lasting.as_ref() != retry.lasting.as_ref() {
                return Err(illegal_parameter("the second ClientHello differs from the first"));
            }
            if hello.parsed.early_data {
                return Err(illegal_parameter("early_data after HelloRetryRequest"));
            }
        }
        if hello.parsed.cookie.is_some() {
            return Err(illegal_parameter("a cookie that no HelloRetryRequest gave"));
        }
        retry.map_or(Ok(()), |retry| retry.check_psks(&hello.parsed))
    }

    /// Only PSKs that don't fit the suite of the HelloRetryRequest may go; the one that was found does.
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

    /// The transcript up to the first bytes of the second ClientHello.
    pub(super) fn transcript(
        &self,
        session_id: &[u8],
        second_hello: &[u8],
        ctx: &Context<'_>,
    ) -> Transcript {
        let mut transcript = Transcript::after_retry(self.suite.hash, &self.first_hello);
        let mut request = Vec::new();
        self.write_request(session_id, &ctx.profile.versions, &mut request);
        transcript.add(&request);
        transcript.add(second_hello);
        transcript
    }

    /// Appends the HelloRetryRequest.
    pub(super) fn write_request(&self, session_id: &[u8], versions: &Versions, out: &mut Vec<u8>) {
        let request = HelloRetryRequest {
            session_id,
            cipher_suite: self.suite.id,
            group: Some(self.group),
            cookie: None,
        };
        request.write(out, versions);
    }

    /// Encodes the state. It holds no secret, but a party that could change it could change the handshake.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + 3 * (1 + self.suite.hash.len()));
        out.u16(self.suite.id.0);
        out.u16(self.group.0);
        out.u8(self.early_data.into());
        let digests = [Some(&self.first_hello), Some(&self.lasting), self.psk.as_ref()];
        for digest in digests.into_iter().flatten() {
            out.bytes(digest.as_ref());
        }
        out
    }

    /// Decodes what [`encode`](Self::encode) wrote.
    pub(super) fn decode(bytes: &[u8], provider: &Provider) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let suite = provider.suite(CipherSuite(reader.u16()?)).ok_or(NO_STATE)?;
        let group = NamedGroup(reader.u16()?);
        let early_data = reader.u8()? != 0;
        let mut digest = || Ok::<_, Error>(Digest::new(reader.take(suite.hash.len())?));
        let (first_hello, lasting) = (digest()?, digest()?);
        let psk = if reader.is_empty() { None } else { Some(reader.take(suite.hash.len())?) };
        reader.finish()?;
        let psk = psk.map(Digest::new);
        Ok(Self { suite, group, early_data, first_hello, lasting, psk })
    }
}

/// This side wrote it.
const NO_STATE: Error = Error::Internal("the state of a HelloRetryRequest");

/// The hash of what a HelloRetryRequest may not change (RFC 8446 §4.1.2: "without modification"). The
/// order of the extensions doesn't count: they may come in any (§4.2), and wolfSSL writes the second
/// ClientHello in another order than the first.
fn lasting(suite: &Suite, hello: &ClientHello<'_>) -> Digest {
    let lasts = |(typ, _): &(ExtensionType, &[u8])| !MAY_CHANGE.contains(typ);
    let mut extensions: Vec<_> = hello.extensions.iter().filter(lasts).collect();
    // No type comes twice.
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

const MAY_CHANGE: [ExtensionType; 5] = [
    ExtensionType::KEY_SHARE,
    ExtensionType::EARLY_DATA,
    ExtensionType::COOKIE,
    ExtensionType::PRE_SHARED_KEY,
    ExtensionType::PADDING,
];
