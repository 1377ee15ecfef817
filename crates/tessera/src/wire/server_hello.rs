//! ServerHello and HelloRetryRequest (RFC 8446 §4.1.3, §4.1.4): one message, distinguished by its random.

use alloc::vec::Vec;

use super::code_points::{CipherSuite, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion};
use super::extensions::{read_extensions, refuse_response_extension, write_extension};
use super::handshake::write_message;
use super::key_share::{KeyShareEntry, write_retry_key_share, write_server_key_share};
use super::reader::Reader;
use super::versions::Versions;
use super::writer::Writer;
use crate::alert::AlertDescription;
use crate::error::{Error, decode_error, illegal_parameter, protocol};

/// The random of a HelloRetryRequest: SHA-256 of "HelloRetryRequest".
pub const HELLO_RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A server's answer to a ClientHello.
pub enum HelloAnswer<'a> {
    /// The handshake continues.
    Hello(ServerHello<'a>),
    /// The client must send ClientHello again.
    Retry(HelloRetryRequest<'a>),
}

/// A ServerHello.
pub struct ServerHello<'a> {
    /// server_random.
    pub random: &'a [u8; 32],
    /// The client's legacy_session_id.
    pub session_id: &'a [u8],
    /// The suite.
    pub cipher_suite: CipherSuite,
    /// The server's reply to a key share.
    pub key_share: Option<KeyShareEntry<'a>>,
    /// The index of the selected PSK identity.
    pub selected_identity: Option<u16>,
    /// The owner's extensions.
    pub opaque: Vec<(ExtensionType, &'a [u8])>,
}

/// A HelloRetryRequest.
pub struct HelloRetryRequest<'a> {
    /// The client's legacy_session_id.
    pub session_id: &'a [u8],
    /// The suite of the whole handshake.
    pub cipher_suite: CipherSuite,
    /// The group for which the server wants a share.
    pub group: Option<NamedGroup>,
    /// For the client to repeat.
    pub cookie: Option<&'a [u8]>,
}

impl<'a> HelloAnswer<'a> {
    /// Reads the body of the message; `offered` tests which extensions the client sent. The `owners` may be
    /// answered here.
    pub fn read(
        mut reader: Reader<'a>,
        versions: &Versions,
        owners: &[ExtensionType],
        offered: impl Fn(ExtensionType) -> bool,
    ) -> Result<Self, Error> {
        let legacy_version = ProtocolVersion(reader.u16()?);
        let random: &[u8; 32] = reader.array()?;
        let session_id = reader.vec8()?;
        let cipher_suite = CipherSuite(reader.u16()?);
        let compression = reader.u8()?;
        let retry = *random == HELLO_RETRY_RANDOM;

        let mut version = None;
        let mut key_share = None;
        let mut group = None;
        let mut selected_identity = None;
        let mut cookie = None;
        let mut opaque = Vec::new();
        let mut refused = None;
        if !reader.is_empty() {
            read_extensions(&mut reader, |typ, mut body| {
                match typ {
                    ExtensionType::SUPPORTED_VERSIONS => {
                        version = Some(ProtocolVersion(body.u16()?))
                    }
                    ExtensionType::KEY_SHARE if retry => group = Some(NamedGroup(body.u16()?)),
                    ExtensionType::KEY_SHARE if offered(typ) => {
                        key_share = Some(KeyShareEntry::read(&mut body)?);
                    }
                    ExtensionType::PRE_SHARED_KEY if !retry && offered(typ) => {
                        selected_identity = Some(body.u16()?);
                    }
                    ExtensionType::COOKIE if retry => cookie = Some(body.vec16()?),
                    _ if !retry && owners.contains(&typ) && offered(typ) => {
                        opaque.push((typ, body.rest()));
                    }
                    // A TLS 1.2 server answers other extensions here: see below.
                    _ => {
                        refused.get_or_insert(refuse_response_extension(offered(typ)));
                        return Ok(());
                    }
                }
                body.finish()
            })?;
        }
        reader.finish()?;

        if version.is_none() {
            // A server of TLS 1.2 or older: its extensions are absent or different.
            return Err(protocol(
                AlertDescription::PROTOCOL_VERSION,
                "the server speaks no TLS 1.3",
            ));
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        if version != Some(versions.selected) || legacy_version != versions.legacy {
            return Err(illegal_parameter("the server chose a version that was not offered"));
        }
        if compression != 0 {
            return Err(illegal_parameter("the server chose a compression method"));
        }
        if cookie.is_some_and(<[u8]>::is_empty) {
            return Err(decode_error("the cookie is empty"));
        }
        Ok(if retry {
            Self::Retry(HelloRetryRequest { session_id, cipher_suite, group, cookie })
        } else {
            Self::Hello(ServerHello {
                random,
                session_id,
                cipher_suite,
                key_share,
                selected_identity,
                opaque,
            })
        })
    }
}

impl ServerHello<'_> {
    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>, versions: &Versions) {
        let head = (self.random, self.session_id, self.cipher_suite);
        write_answer(out, versions, head, |out| {
            // The order of RFC 8448, so that its traces can be replayed byte for byte.
            if let Some(index) = self.selected_identity {
                write_extension(out, ExtensionType::PRE_SHARED_KEY, |out| out.u16(index));
            }
            if let Some(reply) = self.key_share {
                write_server_key_share(out, reply);
            }
            for (typ, contents) in &self.opaque {
                write_extension(out, *typ, |out| out.bytes(contents));
            }
        });
    }
}

impl HelloRetryRequest<'_> {
    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>, versions: &Versions) {
        let head = (&HELLO_RETRY_RANDOM, self.session_id, self.cipher_suite);
        write_answer(out, versions, head, |out| {
            if let Some(group) = self.group {
                write_retry_key_share(out, group);
            }
            if let Some(cookie) = self.cookie {
                write_extension(out, ExtensionType::COOKIE, |out| {
                    out.vec16(|out| out.bytes(cookie));
                });
            }
        });
    }
}

fn write_answer(
    out: &mut Vec<u8>,
    versions: &Versions,
    (random, session_id, suite): (&[u8; 32], &[u8], CipherSuite),
    extensions: impl FnOnce(&mut Vec<u8>),
) {
    write_message(out, HandshakeType::SERVER_HELLO, |out| {
        out.u16(versions.legacy.0);
        out.bytes(random);
        out.vec8(|out| out.bytes(session_id));
        out.u16(suite.0);
        out.u8(0);
        out.vec16(|out| {
            extensions(out);
            write_extension(out, ExtensionType::SUPPORTED_VERSIONS, |out| {
                out.u16(versions.selected.0);
            });
        });
    });
}
