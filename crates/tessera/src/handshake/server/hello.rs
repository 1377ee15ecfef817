//! ClientHello in, and the configuration for it (RFC 8446 §4.1.2).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::ServerState;
use super::config::ServerConfig;
use super::negotiation::{Negotiation, Retried};
use crate::error::{Error, illegal_parameter, protocol};
use crate::handshake::config::Checked;
use crate::handshake::context::Context;
use crate::handshake::question::{ChooseConfig, NoConfig, Reply, Waiting};
use crate::wire::{
    AlertDescription, ClientHello, ExtensionType, HANDSHAKE_HEADER_LEN, HandshakeMessage,
    HandshakeType, Reader, SignatureScheme,
};

/// A ClientHello as bytes and as what they say.
pub(crate) struct Received<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) hello: ClientHello<'a>,
}

impl<'a> Received<'a> {
    /// Reads the message again that was kept while a question was open.
    pub(crate) fn again(bytes: &'a [u8]) -> Result<Self, Error> {
        let body = bytes.get(HANDSHAKE_HEADER_LEN..).unwrap_or_default();
        Ok(Self { bytes, hello: ClientHello::read(Reader::new(body))? })
    }
}

/// A step that waits for an answer, with the ClientHello that it is about.
pub(crate) struct Paused<T> {
    pub(super) then: T,
    pub(super) hello: Vec<u8>,
}

impl<T> Paused<T> {
    pub(super) fn new(then: T, received: &Received<'_>) -> Self {
        Self { then, hello: received.bytes.to_vec() }
    }
}

/// Nothing was received, or a HelloRetryRequest was sent.
pub(crate) struct ReadClientHello {
    config: Arc<ServerConfig>,
    retried: Option<Retried>,
}

impl ReadClientHello {
    pub(crate) fn first(config: Arc<ServerConfig>) -> Box<Self> {
        Box::new(Self { config, retried: None })
    }

    pub(crate) fn second(config: Arc<ServerConfig>, retried: Retried) -> Box<Self> {
        Box::new(Self { config, retried: Some(retried) })
    }

    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        ctx.transport.end_of_flight()?;
        let hello = ClientHello::read(message.reader_for(HandshakeType::CLIENT_HELLO)?)?;
        let received = Received { bytes: message.bytes, hello };
        let Self { config, retried } = *self;
        if let Some(retried) = &retried {
            let first = Received::again(&retried.first_hello)?;
            check_second_hello(&first.hello, &received.hello)?;
            check_second_psks(&first.hello, &received.hello, retried.found)?;
        } else if received.hello.cookie.is_some() {
            return Err(illegal_parameter("a cookie that no HelloRetryRequest gave"));
        }
        match (config.chooser.clone(), &retried) {
            (Some(chooser), None) => {
                let question = choose_config(&received.hello);
                match chooser.choose(&question) {
                    Reply::Now(answer) => configured(answer, &received, ctx),
                    Reply::Later => {
                        let hello = received.bytes.to_vec();
                        Ok(ServerState::ChoosingConfig(Waiting::new(question, hello)))
                    }
                }
            }
            _ => Negotiation::begin(config, retried, &received, ctx),
        }
    }
}

/// Someone chose the configuration.
pub(super) fn configured(
    answer: Result<Checked<ServerConfig>, NoConfig>,
    received: &Received<'_>,
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    let config = answer.map_err(|NoConfig| {
        protocol(AlertDescription::UNRECOGNIZED_NAME, "no configuration for this server_name")
    })?;
    Negotiation::begin(config.shared(), None, received, ctx)
}

fn choose_config(hello: &ClientHello<'_>) -> ChooseConfig {
    let protocols = hello.protocols.into_iter().flat_map(|protocols| protocols.iter());
    let schemes =
        hello.certificates.signature_algorithms.into_iter().flat_map(|schemes| schemes.iter());
    ChooseConfig {
        server_name: hello.server_name.map(String::from),
        protocols: protocols.map(<[u8]>::to_vec).collect(),
        signature_schemes: schemes.map(SignatureScheme).collect(),
    }
}

/// RFC 8446 §4.1.2: the second ClientHello is the first but for what a HelloRetryRequest may change.
fn check_second_hello(first: &ClientHello<'_>, second: &ClientHello<'_>) -> Result<(), Error> {
    let lasts = |(typ, _): &(ExtensionType, &[u8])| !MAY_CHANGE.contains(typ);
    let mut lasting = first.extensions.iter().filter(lasts);
    let unchanged = first.random == second.random
        && first.session_id == second.session_id
        && first.cipher_suites.iter().eq(second.cipher_suites.iter())
        && second
            .extensions
            .iter()
            .filter(lasts)
            .all(|extension| lasting.next() == Some(extension))
        && lasting.next().is_none();
    if !unchanged {
        return Err(illegal_parameter("the second ClientHello differs from the first"));
    }
    if second.early_data {
        return Err(illegal_parameter("early_data after HelloRetryRequest"));
    }
    if second.cookie.is_some() {
        return Err(illegal_parameter("a cookie that no HelloRetryRequest gave"));
    }
    Ok(())
}

/// RFC 8446 §4.1.2: only PSKs that don't fit the suite of the HelloRetryRequest may go; the one that
/// was found does.
fn check_second_psks(
    first: &ClientHello<'_>,
    second: &ClientHello<'_>,
    found: Option<usize>,
) -> Result<(), Error> {
    let found = first.psks.zip(found).and_then(|(psks, index)| psks.identities().nth(index));
    let Some(found) = found else { return Ok(()) };
    let psks = second.psks.ok_or(protocol(
        AlertDescription::MISSING_EXTENSION,
        "the second ClientHello has no pre_shared_key any more",
    ))?;
    if !psks.identities().any(|psk| psk.identity == found.identity) {
        return Err(illegal_parameter("the second ClientHello lacks a PSK that fits"));
    }
    Ok(())
}

const MAY_CHANGE: [ExtensionType; 5] = [
    ExtensionType::KEY_SHARE,
    ExtensionType::EARLY_DATA,
    ExtensionType::COOKIE,
    ExtensionType::PRE_SHARED_KEY,
    ExtensionType::PADDING,
];
