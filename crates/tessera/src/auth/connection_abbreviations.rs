//! The abbreviated messages of a connection's codecs.

use alloc::vec::Vec;

use super::abbreviations::{Abbreviations, ServerFlight};
use super::codec_results::DecodedCertificate;
use super::connection_codecs::{Codec, ConnectionCodecs};
use crate::error::{Error, illegal_parameter};
use crate::wire::CertificateType;

impl ConnectionCodecs {
    /// Called when a server that uses no PSK is about to send this; `certificate` writes the body of its Certificate.
    /// Returns the body to send as its CertificateRequest instead.
    pub(crate) fn sends(
        &mut self,
        request: Option<&[u8]>,
        client_type: Option<CertificateType>,
        certificate: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Vec<u8>> {
        self.abbreviations().next()?;
        let mut body = Vec::new();
        certificate(&mut body);
        let flight = ServerFlight { request, client_type, certificate: &body };
        // Collected first: each of them must see the flight.
        let bodies: Vec<_> = self.abbreviations().map(|it| it.sends(&flight)).collect();
        bodies.into_iter().flatten().next().filter(|_| request.is_some())
    }

    /// Checks that nothing is abbreviated on a client whose PSK the server accepted.
    pub(crate) fn agreed_with_psk(&mut self) -> Result<(), Error> {
        let agreed = |it: &mut dyn Abbreviations| {
            let agreed = it.agreed();
            agreed.request || agreed.own_certificate || agreed.peer_certificate
        };
        match self.abbreviations().any(agreed) {
            true => Err(illegal_parameter("abbreviated certificates in a handshake with a PSK")),
            false => Ok(()),
        }
    }

    /// Returns the body that this side's Certificate is abbreviated to, if it is.
    pub(crate) fn abbreviated(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        self.abbreviations().find_map(|it| it.certificate(body))
    }

    /// Returns the body that the server's CertificateRequest stands for, if it is abbreviated.
    pub(crate) fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut whole = None;
        for abbreviations in self.abbreviations() {
            whole = abbreviations.read_request(body)?.or(whole);
        }
        Ok(whole)
    }

    /// Returns whether the peer's Certificate must arrive abbreviated.
    pub(super) fn expect_abbreviated(&mut self) -> bool {
        self.abbreviations().any(|it| it.agreed().peer_certificate)
    }

    /// Returns the Certificate that the peer's abbreviated one stands for.
    pub(super) fn read_abbreviated(&mut self, body: &[u8]) -> Result<DecodedCertificate, Error> {
        for codec in self.codecs_mut() {
            if let Some(it) = abbreviations_of(codec).filter(|it| it.agreed().peer_certificate) {
                let decoded = it.read_certificate(body)?;
                codec.decoded(&decoded);
                return Ok(decoded);
            }
        }
        Err(Error::Internal("nothing is abbreviated"))
    }

    fn abbreviations(&mut self) -> impl Iterator<Item = &mut dyn Abbreviations> {
        self.codecs_mut().filter_map(abbreviations_of)
    }
}

#[cfg(feature = "abbreviations")]
fn abbreviations_of(codec: &mut Codec) -> Option<&mut dyn Abbreviations> {
    codec.codec.abbreviations()
}

#[cfg(not(feature = "abbreviations"))]
fn abbreviations_of(_: &mut Codec) -> Option<&mut dyn Abbreviations> {
    None
}
