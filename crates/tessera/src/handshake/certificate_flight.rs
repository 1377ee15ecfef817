//! The certificate flight, the same for client and server (RFC 8446 §4.4).

use alloc::string::String;
use alloc::vec::Vec;

use super::below::Epoch;
use super::context::Context;
use super::facts::CertificateTransfer;
use super::lineage::Lineage;
use crate::auth::{
    ConnectionCodecs, Credential, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, Proof,
    Sign, VerifierDigest, VerifyPeer,
};
use crate::crypto::{Digest, SigningError};
use crate::error::{Error, illegal_parameter};
use crate::role::Role;
use crate::schedule::Transcript;
use crate::wire::{
    Certificate, CertificateCompressionAlgorithm, CertificateVerify, CompressedCertificate,
    EntryExtensions, HandshakeMessage, HandshakeType, SignatureScheme, Writer, write_message,
};

/// Sends Certificate and gives the question for the signature that follows it.
pub(crate) fn send_certificate(
    ctx: &mut Context<'_>,
    transcript: &mut Transcript,
    role: Role,
    credential: &Credential,
    scheme: SignatureScheme,
    requested: EntryExtensions,
    codecs: &mut ConnectionCodecs,
) -> Sign {
    let mut encoded_with = None;
    if codecs.may_encode() {
        encoded_with = send_encoded(ctx, transcript, credential, requested, codecs);
    } else {
        ctx.send(Epoch::Handshake, transcript, |out| {
            write_message(out, HandshakeType::CERTIFICATE, |out| {
                credential.write_body(out, requested);
            });
        });
    }
    // The message that was sent last.
    ctx.facts.own_certificate = Some(CertificateTransfer::new(encoded_with, ctx.scratch.len()));
    let certificate = credential.chain.first().cloned().unwrap_or_default();
    Sign { scheme, certificate, message: signed_content(role, &transcript.hash()) }
}

/// Sends Certificate as one of the codecs encodes it, and gives how; or whole if none does.
fn send_encoded(
    ctx: &mut Context<'_>,
    transcript: &mut Transcript,
    credential: &Credential,
    requested: EntryExtensions,
    codecs: &mut ConnectionCodecs,
) -> Option<CertificateCompressionAlgorithm> {
    let mut body = Vec::new();
    credential.write_body(&mut body, requested);
    if let Some(abbreviated) = codecs.abbreviated(&body) {
        ctx.send(Epoch::Handshake, transcript, |out| {
            write_message(out, HandshakeType::CERTIFICATE, |out| out.bytes(&abbreviated));
        });
        return None;
    }
    let encoded = codecs.encode(&body);
    match &encoded {
        Some(made) => ctx.send(Epoch::Handshake, transcript, |out| {
            let message = CompressedCertificate {
                algorithm: made.algorithm,
                uncompressed_len: body.len(),
                compressed: &made.encoded,
            };
            message.write(out);
        }),
        None => ctx.send(Epoch::Handshake, transcript, |out| {
            write_message(out, HandshakeType::CERTIFICATE, |out| out.bytes(&body));
        }),
    }
    encoded.map(|made| made.algorithm)
}

/// Sends the CertificateVerify with the signature.
pub(crate) fn send_certificate_verify(
    ctx: &mut Context<'_>,
    transcript: &mut Transcript,
    scheme: SignatureScheme,
    signature: Result<Vec<u8>, SigningError>,
) -> Result<(), Error> {
    // RFC 8446 §4.4.3: one that is longer has no place in the message.
    let signature = signature.ok().filter(|signature| signature.len() <= usize::from(u16::MAX));
    let signature = signature.ok_or(Error::Provider("the private key did not sign"))?;
    ctx.send(Epoch::Handshake, transcript, |out| {
        CertificateVerify { scheme, signature: &signature }.write(out);
    });
    Ok(())
}

/// Reads the peer's CertificateVerify and gives the question whether the peer is accepted. The
/// transcript ends with the peer's Certificate.
pub(crate) fn read_certificate_verify(
    message: HandshakeMessage<'_>,
    transcript: &Transcript,
    peer: Role,
    certificate: Certificate,
    server_name: Option<String>,
    verifier: &dyn PeerVerifier,
    now: crate::time::Time,
) -> Result<VerifyPeer, Error> {
    let verify = CertificateVerify::read(message.reader_for(HandshakeType::CERTIFICATE_VERIFY)?)?;
    // RFC 8446 §4.4.3: one of those offered in signature_algorithms, and never PKCS #1 v1.5.
    if !verifier.schemes().contains(&verify.scheme) || !verify.scheme.signs_handshakes() {
        return Err(illegal_parameter("a signature with a scheme that was not offered"));
    }
    let Certificate { certificate_type, chain, known, ocsp_response, sct_list } = certificate;
    let proof = Proof::Signature {
        scheme: verify.scheme,
        signed: signed_content(peer, &transcript.hash()),
        signature: verify.signature.to_vec(),
    };
    Ok(VerifyPeer {
        peer,
        server_name,
        certificate_type,
        chain,
        known,
        ocsp_response,
        sct_list,
        proof,
        unix: now.unix_secs(),
    })
}

/// From now on the peer has the identity that the verifier found.
pub(crate) fn accept_peer(
    answer: Result<PeerAcceptance, PeerRejected>,
    by: Option<VerifierDigest>,
    codecs: &mut ConnectionCodecs,
    lineage: &mut Lineage,
    ctx: &mut Context<'_>,
) -> Result<(), Error> {
    let PeerAcceptance { identity, public_key, chain_hash } =
        answer.map_err(|rejected| Error::PeerRejected(codecs.refusal(rejected)))?;
    if public_key.is_some() {
        // With a signature the verifier checks the proof itself. One that leaves it open is not believed.
        return Err(Error::Configuration("the verifier wants a proof that a signature is not"));
    }
    if identity.blob.len() > PeerIdentity::MAX_LEN {
        return Err(Error::Configuration("the verifier made an identity of more than 1,024 bytes"));
    }
    let by = by.ok_or(Error::Internal("a verifier that no configuration has"))?;
    codecs.accept(&identity, chain_hash)?;
    lineage.verified(identity, by, ctx.now);
    ctx.facts.note_lineage(lineage);
    Ok(())
}

/// What a CertificateVerify signs (RFC 8446 §4.4.3).
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
