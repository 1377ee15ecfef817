//! The certificate flight, the same for client and server (RFC 8446 §4.4).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::below::Epoch;
use super::config::Config;
use super::context::Context;
use super::facts::CertificateTransfer;
use super::handover::{Handover, Part};
use crate::auth::{
    self, ConnectionCodecs, Credential, EncodedCertificate, PeerAcceptance, PeerIdentity,
    PeerRejected, PeerVerifier, Proof, Sign, VerifyPeer,
};
use crate::crypto::{Digest, SigningError};
use crate::error::{Error, illegal_parameter};
use crate::limits::copied;
use crate::linked::Certificates;
use crate::question::Reply;
use crate::role::Role;
use crate::schedule::Transcript;
use crate::wire::{
    AlertDescription, Certificate, CertificateCompressionAlgorithm, CertificateType,
    CertificateVerify, CompressedCertificate, EntryExtensions, HANDSHAKE_HEADER_LEN,
    HandshakeMessage, HandshakeType, SignatureScheme, Writer, write_message,
};

/// Sends Certificate and, once signed, CertificateVerify; then continues. The credential is an index into the
/// configuration.
pub(super) fn send_certificate<P: Part, K: Send + Sync + 'static>(
    mut handover: Handover<P, K>,
    (credential, scheme): (usize, SignatureScheme),
    requested: EntryExtensions,
    ctx: &mut Context<'_>,
    then: Next<P, K>,
) -> Result<P::State, Error> {
    Certificates::agreed()?;
    send_certificate_alone(&mut handover, credential, requested, Epoch::Handshake, ctx);
    let Handover { own, transcript, .. } = &mut handover;
    let credential = &own.config().common().credentials[credential];
    let certificate = credential.chain.first().cloned().unwrap_or_default();
    let message = signed_content(P::ROLE, &transcript.hash());
    let question = Sign { scheme, certificate, message };
    ctx.stack.reaches_agreement();
    let reply = credential.sign(&question);
    ctx.ask(question, reply, move |signature, ctx| {
        send_certificate_verify(ctx, &mut handover.transcript, scheme, signature)?;
        then(handover, ctx)
    })
}

/// Sends Certificate. The credential is an index into the configuration.
pub(super) fn send_certificate_alone<P: Part, K>(
    handover: &mut Handover<P, K>,
    credential: usize,
    requested: EntryExtensions,
    epoch: Epoch,
    ctx: &mut Context<'_>,
) {
    let Handover { own, transcript, codecs, .. } = handover;
    let credential = &own.config().common().credentials[credential];
    let mut encoded_with = None;
    ctx.send(epoch, transcript, |out| {
        encoded_with = write_certificate(credential, requested, codecs, out);
    });
    // `scratch` still holds the message sent last.
    ctx.facts.own_certificate = Some(CertificateTransfer::new(encoded_with, ctx.scratch.len()));
}

/// How the handshake continues with a handover.
type Next<P, K> = fn(Handover<P, K>, &mut Context<'_>) -> Result<<P as Part>::State, Error>;

/// Appends Certificate, encoded by the first codec that does and otherwise whole; returns the encoding.
fn write_certificate(
    credential: &Credential,
    requested: EntryExtensions,
    codecs: &mut ConnectionCodecs,
    out: &mut Vec<u8>,
) -> Option<CertificateCompressionAlgorithm> {
    if !codecs.may_encode() {
        write_message(out, HandshakeType::CERTIFICATE, |out| credential.write_body(out, requested));
        return None;
    }
    // Written whole, and replaced if a codec has something shorter.
    let start = out.len();
    write_message(out, HandshakeType::CERTIFICATE, |out| credential.write_body(out, requested));
    let body = &out[start + HANDSHAKE_HEADER_LEN..];
    let uncompressed_len = body.len();
    if let Some(abbreviated) = codecs.abbreviated(body) {
        out.truncate(start);
        write_message(out, HandshakeType::CERTIFICATE, |out| out.bytes(&abbreviated));
        return None;
    }
    let EncodedCertificate { algorithm, encoded } = codecs.encode(body)?;
    out.truncate(start);
    CompressedCertificate { algorithm, uncompressed_len, compressed: &encoded }.write(out);
    Some(algorithm)
}

/// Sends the CertificateVerify with the signature.
fn send_certificate_verify(
    ctx: &mut Context<'_>,
    transcript: &mut Transcript,
    scheme: SignatureScheme,
    signature: Result<Vec<u8>, SigningError>,
) -> Result<(), Error> {
    // RFC 8446 §4.4.3: a longer one doesn't fit the message.
    let signature = signature.ok().filter(|signature| signature.len() <= usize::from(u16::MAX));
    let signature = signature.ok_or(Error::Provider("the private key did not sign"))?;
    ctx.send(Epoch::Handshake, transcript, |out| {
        CertificateVerify { scheme, signature: &signature }.write(out);
    });
    Ok(())
}

/// Reads the peer's Certificate of this type; it may be empty.
pub(super) fn read_certificate<P: Part, K>(
    handover: &mut Handover<P, K>,
    typ: CertificateType,
    message: HandshakeMessage<'_>,
    ctx: &mut Context<'_>,
) -> Result<Certificate, Error> {
    let Handover { own, transcript, codecs, .. } = handover;
    let verifier = verifier_of(own)?;
    let longest = own.config().limits().certificate_message;
    let (certificate, encoded_with) =
        auth::read_certificate(message, typ, verifier, codecs, longest)?;
    if !certificate.is_empty() {
        let transfer = CertificateTransfer::new(encoded_with, message.bytes.len());
        ctx.facts.peer_certificate = Some(transfer);
    }
    transcript.add(message.bytes);
    Ok(certificate)
}

/// Returns the verifier, which existed when the peer was asked.
pub(super) fn verifier_of(own: &impl Part) -> Result<&dyn PeerVerifier, Error> {
    own.config().common().verifier.ok_or(Error::Internal("a certificate without a verifier"))
}

/// Returns the question whether the peer with this certificate and proof is the expected one.
pub(super) fn judge_by_proof<P: Part>(
    own: &P,
    certificate: Certificate,
    proof: Proof,
    ctx: &Context<'_>,
) -> VerifyPeer {
    let Certificate { certificate_type, chain, known, ocsp_response, sct_list } = certificate;
    VerifyPeer {
        peer: P::ROLE.peer(),
        server_name: own.peer_name(),
        certificate_type,
        chain,
        known,
        ocsp_response,
        sct_list,
        proof,
        unix: ctx.now.unix_secs(),
    }
}

/// The peer's Certificate was read, and its key signs.
pub struct ReadCertificateVerify<P: Part> {
    pub(super) handover: Box<Handover<P, P::Secrets>>,
    pub(super) certificate: Certificate,
}

impl<P: Part> ReadCertificateVerify<P> {
    /// Asks whether the peer is accepted. The transcript ends with the peer's Certificate.
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<P::State, Error> {
        let Self { mut handover, certificate } = *self;
        let Handover { own, transcript, codecs, .. } = &mut *handover;
        let reader = message.reader_for(HandshakeType::CERTIFICATE_VERIFY)?;
        let CertificateVerify { scheme, signature } = CertificateVerify::read(reader)?;
        let verifier = verifier_of(own)?;
        // RFC 8446 §4.4.3: one of those offered in signature_algorithms, and never PKCS #1 v1.5.
        if !verifier.schemes().contains(&scheme) || !scheme.signs_handshakes() {
            return Err(illegal_parameter("a signature with a scheme that was not offered"));
        }
        let signed = signed_content(P::ROLE.peer(), &transcript.hash());
        let proof = Proof::Signature { scheme, signed, signature: copied(signature)? };
        let question = judge_by_proof(own, certificate, proof, ctx);
        transcript.add(message.bytes);
        let reply = verifier.verify(&question);
        match (P::ROLE, &reply) {
            (Role::Client, _) => ctx.facts.signature_scheme = Some(scheme),
            (Role::Server, Reply::Now(Err(rejected))) => {
                // A proof that the verifier has just found wrong isn't checked again.
                let is_wrong = rejected.alert == AlertDescription::DECRYPT_ERROR;
                codecs.peer_rejected(|| !is_wrong && verifier.is_proof_right(&question));
            }
            _ => (),
        }
        ctx.ask(question, reply, move |answer, ctx| {
            handover.accept_peer(answer, ctx)?;
            Ok(handover.into())
        })
    }
}

impl<P: Part, K> Handover<P, K> {
    /// Gives a peer whose signature the verifier checked the identity that it found.
    fn accept_peer(
        &mut self,
        answer: Result<PeerAcceptance, PeerRejected>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        let accepted = self.accepted(answer)?;
        if accepted.public_key.is_some() {
            // The verifier itself checks a signature. Don't trust one that leaves it open.
            return Err(Error::Configuration(
                "the verifier requires a proof other than a signature",
            ));
        }
        self.identify(accepted, ctx)
    }

    /// Returns what the verifier found.
    pub(super) fn accepted(
        &self,
        answer: Result<PeerAcceptance, PeerRejected>,
    ) -> Result<PeerAcceptance, Error> {
        let accepted =
            answer.map_err(|rejected| Error::PeerRejected(self.codecs.refusal(rejected)))?;
        if accepted.identity.blob.len() > PeerIdentity::MAX_LEN {
            return Err(Error::Configuration(
                "the verifier made an identity of more than 1,024 bytes",
            ));
        }
        Ok(accepted)
    }

    /// Gives the peer the identity that the verifier found.
    pub(super) fn identify(
        &mut self,
        accepted: PeerAcceptance,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        let PeerAcceptance { identity, chain_hash, .. } = accepted;
        let by = self.own.config().authentication().verifier;
        let by = by.ok_or(Error::Internal("a verifier that no configuration has"))?;
        self.codecs.accept(&identity, chain_hash)?;
        self.lineage.verified(identity, by, ctx.now);
        // The rest was noted when the handshake parameters were agreed.
        ctx.facts.peer = self.lineage.peer.clone();
        ctx.facts.authenticated_at = self.lineage.authenticated_at;
        Ok(())
    }
}

/// Returns what a CertificateVerify signs (RFC 8446 §4.4.3).
fn signed_content(signer: Role, transcript: &Digest) -> Vec<u8> {
    let context: &[u8] = match signer {
        Role::Client => b"TLS 1.3, client CertificateVerify\0",
        Role::Server => b"TLS 1.3, server CertificateVerify\0",
    };
    let mut content = Vec::with_capacity(64 + context.len() + transcript.as_ref().len());
    content.resize(64, b' ');
    content.extend_from_slice(context);
    content.extend_from_slice(transcript.as_ref());
    content
}
