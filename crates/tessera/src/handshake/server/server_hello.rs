//! The server's flight out: ServerHello to Finished (RFC 8446 §4.1.3, §4.3, §4.4).

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::ServerState;
use super::authentication::{Authentication, server_type};
use super::certificate::ReadCertificate;
use super::config::ServerConfig;
use super::decision::Decided;
use super::early_data::ReadEndOfEarlyData;
use super::finished::{ReadFinished, TicketWish};
use super::hello::Received;
use super::identities::Found;
use super::negotiation::Negotiation;
use crate::auth::{
    ConnectionCodecs, Credential, Role, send_certificate, send_certificate_verify, send_finished,
};
use crate::crypto::{SigningError, Suite};
use crate::error::{Error, handshake_failure};
use crate::handshake::context::{Context, Logged};
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::question::{Reply, Waiting};
use crate::handshake::secrets::{ApplicationSecrets, HandshakeSecrets};
use crate::handshake::transport::{Epoch, SkipEarlyData};
use crate::limits::MAX_RECORD_SIZE_LIMIT;
use crate::resume::{Continuation, KnownPsk, PskKind, Rejection, Verdict};
use crate::schedule::{EarlySecret, KeyDerivation, STREAM, Transcript};
use crate::wire::{
    CertificateRequest, CertificateType, ClientHello, EncryptedExtensions, EntryExtensions, Grease,
    HandshakeType, KeyShareEntry, NamedGroup, ServerHello, SignatureScheme,
};

/// What was decided.
pub(super) struct Selected {
    pub(super) psk: Option<SelectedPsk>,
    pub(super) with_share: bool,
    pub(super) early_data: EarlyDataAnswer,
    /// The kind of the one-time key behind a forward-secret PSK.
    pub(super) one_time_key: Option<NamedGroup>,
}

/// The PSK of the connection.
pub(super) struct SelectedPsk {
    pub(super) index: usize,
    pub(super) kind: PskKind,
    pub(super) early: EarlySecret,
}

/// What the client is told of its early data.
#[derive(Clone, Copy)]
pub(super) enum EarlyDataAnswer {
    NotOffered,
    Accepted { limit: u32 },
    Rejected { rejection: Option<Rejection> },
}

impl Decided {
    /// Sends ServerHello and what follows it.
    pub(super) fn answer(
        self,
        selected: Selected,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let hello = &received.hello;
        let receipts = self.receipts_on_the_wire();
        let Self { mut negotiation, suite, mut transcript, .. } = self;
        let log =
            Logged { key_log: negotiation.config.key_log.as_deref(), client_random: hello.random };
        let kdf = KeyDerivation { hash: suite.hash, profile: &STREAM };
        let psk_kind = selected.psk.as_ref().map(|psk| psk.kind);
        let selected_identity = selected.psk.as_ref().map(|psk| psk.index as u16);
        let early = selected.psk.map_or_else(|| EarlySecret::without_psk(kdf), |psk| psk.early);
        let early_traffic = matches!(selected.early_data, EarlyDataAnswer::Accepted { .. })
            .then(|| early.client_early_traffic(&transcript.hash()));
        if let Some(secret) = &early_traffic {
            log.secret("CLIENT_EARLY_TRAFFIC_SECRET", secret.expose());
        }

        // RFC 8446 §4.1.1: what can't be agreed on ends the handshake before a ServerHello, in plaintext.
        let mut authentication = match psk_kind {
            Some(_) => None,
            None => Some(Authentication::choose(&negotiation.config, hello, ctx.now)?),
        };
        let exchange = match negotiation.group.filter(|_| selected.with_share) {
            None if selected.with_share => return Err(handshake_failure("no group in common")),
            None => None,
            Some(group) => {
                let shares = hello.key_shares;
                let share = shares.and_then(|shares| shares.get(group.agreement.group()));
                let reply = group.agreement.encapsulate(share.unwrap_or_default())?;
                Some((group.agreement.group(), reply))
            }
        };
        let mut random = [0; 32];
        negotiation.config.provider.random.fill(&mut random)?;
        ctx.send(Epoch::Initial, &mut transcript, |out| {
            let key_share = exchange
                .as_ref()
                .map(|(group, (reply, _))| KeyShareEntry { group: *group, key_exchange: reply });
            let hello = ServerHello {
                random: &random,
                session_id: hello.session_id,
                cipher_suite: suite.id,
                key_share,
                selected_identity,
            };
            hello.write(out);
        });
        ctx.transport.change_cipher_spec();

        let shared_secret = exchange.as_ref().map(|(_, (_, secret))| secret);
        let secrets = HandshakeSecrets::new(early, shared_secret, &transcript, log);
        ctx.transport.install_write(Epoch::Handshake, suite, &secrets.server);

        ctx.facts.suite = Some(suite.id);
        let group = exchange.map(|(group, _)| group);
        negotiation.note_facts(
            psk_kind,
            group,
            selected.one_time_key,
            selected.early_data,
            hello,
            ctx,
        );
        let mut extensions = negotiation.encrypted_extensions(
            hello,
            authentication.as_ref(),
            selected.early_data,
            &receipts,
        );
        // RFC 6066 §3: a server that resumes does not say that it used the name.
        extensions.server_name = hello.server_name.is_some()
            && !matches!(psk_kind, Some(PskKind::Resumption | PskKind::ForwardSecret));
        if let Some((client, server)) = hello.record_size_limit.zip(extensions.record_size_limit) {
            ctx.transport.limit_records(client, server);
        }
        ctx.send(Epoch::Handshake, &mut transcript, |out| extensions.write(out));

        let receiving = match (selected.early_data, early_traffic) {
            (EarlyDataAnswer::Accepted { limit }, Some(secret)) => {
                ctx.transport.install_read(Epoch::EarlyData, suite, &secret)?;
                ctx.transport.limit_early_data(limit);
                Receiving::EarlyData
            }
            (answer, _) => {
                ctx.transport.install_read(Epoch::Handshake, suite, &secrets.client)?;
                if matches!(answer, EarlyDataAnswer::Rejected { .. })
                    && negotiation.retried.is_none()
                {
                    let limit = negotiation.early_data_to_skip();
                    ctx.transport.skip_early_data(SkipEarlyData::ThatDoesNotOpen, limit);
                }
                Receiving::Handshake
            }
        };
        let flight = Flight {
            suite,
            transcript,
            secrets,
            client_random: *hello.random,
            receiving,
            client_type: None,
            codecs: authentication.as_mut().map(|it| mem::take(&mut it.codecs)).unwrap_or_default(),
            tickets: TicketWish::of(hello, psk_kind.is_some(), &negotiation.config),
            config: negotiation.config,
        };
        match authentication {
            None => flight.finish(ctx),
            Some(authentication) => flight.send_certificates(&authentication, ctx),
        }
    }
}

impl Negotiation {
    fn note_facts(
        &mut self,
        psk: Option<PskKind>,
        group: Option<NamedGroup>,
        one_time_key: Option<NamedGroup>,
        early_data: EarlyDataAnswer,
        hello: &ClientHello<'_>,
        ctx: &mut Context<'_>,
    ) {
        let facts = &mut *ctx.facts;
        facts.group = group;
        facts.psk = psk;
        facts.one_time_key = one_time_key;
        facts.continuation = one_time_key.map(|_| match group {
            Some(_) => Continuation::PskDheKe,
            None => Continuation::PskKe,
        });
        facts.protocol = self.protocol.clone();
        facts.server_name = hello.server_name.map(String::from);
        facts.early_data = match early_data {
            EarlyDataAnswer::NotOffered => EarlyDataStatus::NotOffered,
            EarlyDataAnswer::Accepted { .. } => EarlyDataStatus::Accepted,
            EarlyDataAnswer::Rejected { rejection } => {
                EarlyDataStatus::Rejected(rejection.map_or(Verdict::Unknown, Rejection::verdict))
            }
        };
        facts.external_psk = match &self.found {
            Some(Found { psk: KnownPsk::External(known), .. }) if psk.is_some() => {
                Some(known.identity.clone())
            }
            _ => None,
        };
        let session = self.found.as_ref().and_then(|found| found.psk.session());
        facts.inherit(session.filter(|_| psk.is_some()));
    }

    fn encrypted_extensions<'a>(
        &'a self,
        hello: &ClientHello<'_>,
        authentication: Option<&Authentication>,
        early_data: EarlyDataAnswer,
        receipts: &'a [u8],
    ) -> EncryptedExtensions<'a> {
        let own_limit = self.config.record_size_limit.unwrap_or(MAX_RECORD_SIZE_LIMIT);
        EncryptedExtensions {
            server_name: false,
            protocol: self.protocol.as_deref(),
            // RFC 7250 §4.2: only where a certificate is asked for, and the client listed types.
            client_certificate_type: authentication
                .and_then(|chosen| chosen.client_type)
                .filter(|_| hello.client_certificate_types.is_some()),
            server_certificate_type: server_type(&self.config, hello, authentication),
            record_size_limit: hello.record_size_limit.map(|_| own_limit),
            early_data: matches!(early_data, EarlyDataAnswer::Accepted { .. }),
            rejection: match early_data {
                EarlyDataAnswer::Rejected { rejection } => rejection,
                _ => None,
            },
            receipts,
        }
    }
}

/// What the client sends first after its ClientHello.
enum Receiving {
    EarlyData,
    Handshake,
}

/// The server's flight after EncryptedExtensions.
pub(super) struct Flight {
    config: Arc<ServerConfig>,
    suite: &'static Suite,
    transcript: Transcript,
    secrets: HandshakeSecrets,
    client_random: [u8; 32],
    receiving: Receiving,
    /// The type of the certificate that the client was asked for, if it was.
    client_type: Option<CertificateType>,
    codecs: ConnectionCodecs,
    tickets: TicketWish,
}

impl Flight {
    fn send_certificates(
        mut self,
        authentication: &Authentication,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Authentication { credential, scheme, entry_extensions, client_type, .. } =
            authentication;
        let config = self.config.clone();
        self.client_type = *client_type;
        let accepted = client_type.and_then(|_| config.accepted_certificates(&self.codecs));
        if let Some(accepted) = accepted {
            let grease = Grease::draw(config.grease, config.provider.random)?;
            ctx.send(Epoch::Handshake, &mut self.transcript, |out| {
                CertificateRequest::write_with(out, |out| {
                    let request = HandshakeType::CERTIFICATE_REQUEST;
                    accepted.write_extensions(request, grease, out);
                    if let Some(grease) = grease {
                        grease.write_full_extension(out);
                    }
                });
            });
        }
        ctx.facts.signature_scheme = Some(*scheme);
        self.sign(&config.credentials[*credential], *scheme, *entry_extensions, ctx)
    }

    fn sign(
        mut self,
        credential: &Credential,
        scheme: SignatureScheme,
        requested: EntryExtensions,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let (transcript, codecs) = (&mut self.transcript, &mut self.codecs);
        let role = Role::Server;
        let question =
            send_certificate(ctx, transcript, role, credential, scheme, requested, codecs);
        let reply = credential.sign(&question);
        match reply {
            Reply::Now(answer) => self.signed(scheme, answer, ctx),
            Reply::Later => Ok(ServerState::Signing(Waiting::new(question, (self, scheme)))),
        }
    }

    /// Someone signed for the server.
    pub(super) fn signed(
        mut self,
        scheme: SignatureScheme,
        signature: Result<Vec<u8>, SigningError>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        send_certificate_verify(ctx, &mut self.transcript, scheme, signature)?;
        self.finish(ctx)
    }

    fn finish(mut self, ctx: &mut Context<'_>) -> Result<ServerState, Error> {
        send_finished(ctx, &mut self.transcript, &self.secrets.server);
        let log =
            Logged { key_log: self.config.key_log.as_deref(), client_random: &self.client_random };
        let (secrets, client_handshake) =
            ApplicationSecrets::new(self.secrets, &self.transcript, log);
        ctx.transport.install_write(Epoch::Application, self.suite, &secrets.server);

        let then = Box::new(ReadFinished {
            config: self.config,
            suite: self.suite,
            transcript: self.transcript,
            client_handshake,
            secrets,
            codecs: self.codecs,
            tickets: self.tickets,
        });
        Ok(match (self.receiving, self.client_type) {
            (Receiving::EarlyData, _) => {
                ServerState::ReadEndOfEarlyData(Box::new(ReadEndOfEarlyData { then }))
            }
            (Receiving::Handshake, Some(typ)) => {
                ServerState::ReadCertificate(Box::new(ReadCertificate { then, typ }))
            }
            (Receiving::Handshake, None) => ServerState::ReadFinished(then),
        })
    }
}
