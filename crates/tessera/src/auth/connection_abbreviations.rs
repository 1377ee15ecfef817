//! The abbreviated messages of a connection's codecs.

use alloc::vec::Vec;

use super::abbreviations::{Abbreviations, ServerFlight};
use super::codec_results::DecodedCertificate;
use super::connection_codecs::{ConnectionCodecs, abbreviations_of, abbreviations_of_mut};
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
        let bodies: Vec<_> = self.abbreviations_mut().map(|it| it.sends(&flight)).collect();
        bodies.into_iter().flatten().next().filter(|_| request.is_some())
    }

    /// Checks that nothing is abbreviated on a client whose PSK the server accepted.
    pub(crate) fn agreed_with_psk(&self) -> Result<(), Error> {
        let agreed = |it: &dyn Abbreviations| {
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
        self.abbreviations_mut().find_map(|it| it.certificate(body))
    }

    /// Returns the body that the server's CertificateRequest stands for, if it is abbreviated.
    pub(crate) fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut whole = None;
        for abbreviations in self.abbreviations_mut() {
            whole = abbreviations.read_request(body)?.or(whole);
        }
        Ok(whole)
    }

    /// Returns whether the peer's Certificate must arrive abbreviated.
    pub(super) fn expect_abbreviated(&self) -> bool {
        self.abbreviations().any(|it| it.agreed().peer_certificate)
    }

    /// Returns the Certificate that the peer's abbreviated one stands for.
    pub(super) fn read_abbreviated(&mut self, body: &[u8]) -> Result<DecodedCertificate, Error> {
        let codec = self
            .find(|it| abbreviations_of(&*it.codec).is_some_and(|it| it.agreed().peer_certificate));
        let codec = codec.ok_or(NOTHING)?;
        let abbreviations = abbreviations_of_mut(&mut *codec.codec).ok_or(NOTHING)?;
        let decoded = abbreviations.read_certificate(body)?;
        codec.decoded(&decoded);
        Ok(decoded)
    }
}

const NOTHING: Error = Error::Internal("nothing is abbreviated");
