//! How both sides authenticate in a full handshake, chosen by the server (RFC 8446 §4.4.2.2).

use alloc::vec::Vec;

use super::config::ServerConfig;
use crate::auth::{
    ClientInfo, ConnectionCodecs, Credential, NO_COMMON_TYPE, PeerInfo, choose_credential,
};
use crate::error::{Error, handshake_failure, protocol};
use crate::handshake::config::Checked;
use crate::handshake::grease::draw_grease;
use crate::role::Role;
use crate::time::Time;
use crate::wire::{
    AlertDescription, CertificateRequest, CertificateType, CertificateTypes, ClientHello,
    EntryExtensions, HandshakeType, SignatureScheme, Writer, write_message,
};

/// The server's credential, and what it asks of the client.
pub(super) struct Authentication {
    /// The credential's index in the configuration.
    pub(super) credential: usize,
    pub(super) scheme: SignatureScheme,
    /// What the client wants with the certificates.
    pub(super) entry_extensions: EntryExtensions,
    /// The type of certificate that the client is asked for, if any.
    pub(super) client_type: Option<CertificateType>,
}

impl Authentication {
    pub(super) fn choose(config: &ServerConfig, hello: &ClientHello<'_>) -> Result<Self, Error> {
        if hello.certificates.signature_algorithms.is_none() {
            return Err(protocol(
                AlertDescription::MISSING_EXTENSION,
                "no PSK of the client's is known, and it offers no signature_algorithms",
            ));
        }
        let (credential, scheme) = choose_for(config, hello)?;
        let client_type = client_type(config, hello)?;
        let entry_extensions = hello.certificates.entry_extensions;
        Ok(Self { credential, scheme, entry_extensions, client_type })
    }

    /// Returns the CertificateRequest to send, if the client is asked. Reports the rest of the flight to the
    /// codecs, which answer the client earlier.
    pub(super) fn request(
        &self,
        config: &ServerConfig,
        codecs: &mut ConnectionCodecs,
    ) -> Result<Option<Vec<u8>>, Error> {
        let accepted = self.client_type.and_then(|_| config.accepted_certificates(codecs));
        let mut request = None;
        if let Some(accepted) = accepted {
            let grease = draw_grease(config.grease, config.provider.random)?;
            let room = Vec::with_capacity(FIRST_REQUEST);
            CertificateRequest::write_with(request.insert(room), |out| {
                accepted.write_extensions(HandshakeType::CERTIFICATE_REQUEST, grease, out);
                if let Some(grease) = grease {
                    grease.write_full_extension(out);
                }
            });
        }
        let credential = &config.credentials[self.credential];
        let abbreviated = codecs.sends(request.as_deref(), self.client_type, |out| {
            credential.write_body(out, self.entry_extensions);
        });
        if let (Some(message), Some(body)) = (&mut request, abbreviated) {
            message.clear();
            write_message(message, HandshakeType::CERTIFICATE_REQUEST, |out| out.bytes(&body));
        }
        Ok(request)
    }
}

/// The first size of a CertificateRequest, in bytes: a few lists of code points fit.
const FIRST_REQUEST: usize = 128;

/// Returns the certificate codecs for this client; with a PSK they only prepare later handshakes.
pub(super) fn codecs_for(
    config: &Checked<ServerConfig>,
    hello: &ClientHello<'_>,
    with_psk: bool,
    now: Time,
) -> Result<ConnectionCodecs, Error> {
    let from = ClientInfo::new(hello, with_psk, config.authentication().verifier, now);
    let longest = config.limits.certificate_message;
    ConnectionCodecs::new(&config.certificate_codecs, PeerInfo::Client(&from), longest)
}

/// Returns the type of certificate that the client is asked for, if any.
fn client_type(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
) -> Result<Option<CertificateType>, Error> {
    let authentication = &config.client_authentication;
    let Some(verifier) = authentication.verifier() else { return Ok(None) };
    let listed = hello.client_certificate_types;
    let mut types = verifier.certificate_types().iter().copied();
    match types.find(|typ| CertificateTypes::allow(listed, *typ)) {
        // RFC 7250 §4.2 ends the handshake of a client whose list has no common type. A client without
        // a list may have no certificate at all, and be welcome without one.
        None if listed.is_some() || authentication.is_required() => Err(NO_COMMON_TYPE),
        common => Ok(common),
    }
}

fn choose_for(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
) -> Result<(usize, SignatureScheme), Error> {
    let allowed = |credential: &Credential| {
        CertificateTypes::allow(hello.server_certificate_types, credential.certificate_type)
    };
    let chosen = choose_credential(&config.credentials, Role::Server, &hello.certificates, allowed);
    // A server without certificates, for PSKs alone, has no wrong type.
    let wrong_type = !config.credentials.is_empty() && !config.credentials.iter().any(allowed);
    chosen.ok_or_else(|| match wrong_type {
        true => NO_COMMON_TYPE,
        false => handshake_failure("no certificate that the client can check"),
    })
}

/// Returns the type of its own certificate that the server states to a client that lists types. Also stated on
/// resumption: clients that accept raw public keys alone would otherwise take its absence for X.509.
pub(super) fn server_type(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    chosen: Option<&Authentication>,
) -> Option<CertificateType> {
    hello.server_certificate_types?;
    let index = match chosen {
        Some(chosen) => chosen.credential,
        None => choose_for(config, hello).ok()?.0,
    };
    config.credentials.get(index).map(|credential| credential.certificate_type)
}
