//! The flight of a side that authenticates with a KEM, the same for client and server (docs/kem-auth.md §4): the peer
//! encapsulates to the key of its certificate, and it decapsulates.

use alloc::boxed::Box;

use super::below::{Direction, Epoch};
use super::certificate_flight::{judge_by_proof, verifier_of};
use super::config::Config;
use super::context::Context;
use super::handover::{Handover, Part};
use crate::auth::{AskedKey, Decapsulate, PeerPublicKey, Proof};
use crate::crypto::{AgreementError, SharedSecret};
use crate::error::{Error, illegal_parameter, protocol};
use crate::limits::copied;
use crate::linked::KemAuthentication;
use crate::role::Role;
use crate::schedule::{AuthenticatedHandshakeSecret, HandshakeSecret};
use crate::wire::{
    AlertDescription, Certificate, HandshakeMessage, HandshakeType, KemEncapsulation,
    SignatureScheme,
};

/// Returns the KEM of the peer's certificate; `None` if its holder signs.
pub(super) fn kem_of<P: Part>(
    own: &P,
    certificate: &Certificate,
    ctx: &Context<'_>,
) -> Result<Option<(SignatureScheme, KemAuthentication)>, Error> {
    let Some(linked) = KemAuthentication::linked() else { return Ok(None) };
    let verifier = verifier_of(own)?;
    let offered = verifier.schemes();
    if offered.iter().all(|scheme| scheme.kem().is_none()) {
        return Ok(None);
    }
    let Certificate { certificate_type, chain, known, .. } = certificate;
    let scheme = verifier.kem_scheme(&AskedKey {
        peer: P::ROLE.peer(),
        server_name: own.peer_name().as_deref(),
        certificate_type: *certificate_type,
        chain,
        known: known.as_ref(),
        unix: ctx.now.unix_secs(),
    });
    match scheme {
        Some(scheme) if scheme.kem().is_none() || !offered.contains(&scheme) => Err(protocol(
            AlertDescription::UNSUPPORTED_CERTIFICATE,
            "a certificate for a KEM that was not offered",
        )),
        scheme => Ok(scheme.map(|scheme| (scheme, linked))),
    }
}

/// [`Checked`](super::config::Checked) configurations name no such KEM.
const NO_KEM: Error = Error::Internal("a KEM that the provider lacks");

/// How the handshake continues with a secret that both sides have.
pub(super) type ThenShared<P, K> =
    fn(Handover<P, K>, SharedSecret, &mut Context<'_>) -> Result<<P as Part>::State, Error>;

/// Asks whether the peer is accepted, encapsulates to its key and sends KEMEncapsulation; then continues. The peer's
/// identity counts once its Finished has come.
pub(super) fn encapsulate_to_peer<P: Part, K: Send + Sync + 'static>(
    handover: Handover<P, K>,
    certificate: Certificate,
    scheme: SignatureScheme,
    epoch: Epoch,
    ctx: &mut Context<'_>,
    then: ThenShared<P, K>,
) -> Result<P::State, Error> {
    if P::ROLE == Role::Client {
        ctx.facts.signature_scheme = Some(scheme);
    }
    let verifier = verifier_of(&handover.own)?;
    let question = judge_by_proof(&handover.own, certificate, Proof::Kem { scheme }, ctx);
    let reply = verifier.verify(&question);
    let mut handover = Box::new(handover);
    ctx.ask(question, reply, move |answer, ctx| {
        let mut accepted = handover.accepted(answer)?;
        let key = accepted.public_key.take().filter(|key| key.scheme() == scheme).ok_or(
            Error::Configuration("the verifier accepted a KEM's certificate without its key"),
        )?;
        handover.unproved = Some(KemAuthentication::agreed()?.with(Box::new(accepted)));
        let shared = send_encapsulation(&mut handover, &key, epoch, ctx)?;
        then(*handover, shared, ctx)
    })
}

fn send_encapsulation<P: Part, K>(
    handover: &mut Handover<P, K>,
    key: &PeerPublicKey,
    epoch: Epoch,
    ctx: &mut Context<'_>,
) -> Result<SharedSecret, Error> {
    let Handover { own, transcript, .. } = handover;
    let kem = own.config().common().provider.kem(key.scheme());
    let kem = kem.ok_or(NO_KEM)?;
    ctx.stack.reaches_agreement();
    let (encapsulation, shared) = kem.encapsulate(key.as_bytes()).map_err(|error| match error {
        AgreementError::InvalidShare => protocol(
            AlertDescription::BAD_CERTIFICATE,
            "the certificate's key is not one of its KEM",
        ),
        AgreementError::Provider => Error::Provider("encapsulation"),
    })?;
    ctx.send(epoch, transcript, |out| {
        KemEncapsulation { encapsulation: &encapsulation }.write(out);
    });
    Ok(shared)
}

/// This side has sent its certificate, and awaits what the peer encapsulates to its key.
pub struct ReadEncapsulation<P: Part, K> {
    pub(super) handover: Handover<P, K>,
    /// An index into the configuration.
    pub(super) credential: usize,
    pub(super) scheme: SignatureScheme,
    pub(super) then: ThenShared<P, K>,
}

impl<P: Part, K: Send + Sync + 'static> ReadEncapsulation<P, K> {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<P::State, Error> {
        let Self { mut handover, credential, scheme, then } = *self;
        let reader = message.reader_for(HandshakeType::KEM_ENCAPSULATION)?;
        let KemEncapsulation { encapsulation } = KemEncapsulation::read(reader)?;
        let Handover { own, transcript, .. } = &mut handover;
        let common = own.config().common();
        let kem = common.provider.kem(scheme);
        let kem = kem.ok_or(NO_KEM)?;
        if encapsulation.len() != kem.reply_len() {
            return Err(illegal_parameter("an encapsulation of another length than the KEM's"));
        }
        transcript.add(message.bytes);
        let credential = &common.credentials[credential];
        let certificate = credential.chain.first().cloned().unwrap_or_default();
        let question = Decapsulate { scheme, certificate, encapsulation: copied(encapsulation)? };
        ctx.stack.reaches_agreement();
        let reply = credential.decapsulate(&question);
        ctx.ask(question, reply, move |answer, ctx| {
            let shared = match answer {
                // docs/kem-auth.md §6: the peer sees no more than a Finished that is wrong.
                Err(AgreementError::InvalidShare) => handover.unknown_secret()?,
                answer => answer.map_err(|_| Error::Provider("decapsulation"))?,
            };
            then(handover, shared, ctx)
        })
    }
}

impl<P: Part, K> Handover<P, K> {
    /// Returns a secret that no peer has.
    fn unknown_secret(&self) -> Result<SharedSecret, Error> {
        let mut secret = alloc::vec![0; 32];
        self.own.config().common().provider.random.fill(&mut secret)?;
        Ok(SharedSecret::new(secret))
    }
}

impl<P: Part> Handover<P, HandshakeSecret> {
    /// Changes to the keys of the authenticated handshake, in both directions.
    pub(super) fn absorb(
        self,
        shared: &SharedSecret,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, AuthenticatedHandshakeSecret>, Error> {
        let hash = self.transcript.hash();
        let handover = self.map(|secrets| secrets.absorb(shared, &hash));
        let (log, secrets, suite) = (handover.log(), &handover.secrets, handover.suite);
        let [read, write] = [P::ROLE.peer(), P::ROLE].map(|sender| secrets.traffic(sender));
        for (sender, label) in [
            (Role::Client, "CLIENT_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET"),
            (Role::Server, "SERVER_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET"),
        ] {
            log.secret(label, secrets.traffic(sender).expose());
        }
        ctx.install(Direction::Read, Epoch::AuthenticatedHandshake, suite, read)?;
        ctx.install(Direction::Write, Epoch::AuthenticatedHandshake, suite, write)?;
        Ok(handover)
    }
}
