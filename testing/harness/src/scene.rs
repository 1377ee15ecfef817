//! Every way to connect and to reconnect, as ready configurations.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::{Provider, Suite};
use tessera::handshake::ClientAuthentication;
use tessera::resume::{ClientSession, Continuation, OneTimeKeyGuard, ReplayGuard};
use tessera::wire::NamedGroup;
use tessera::{ClientConfig, Destination, ServerConfig, Time};
use tessera_null_provider::{
    NULL_KEM_KEY, NullDecapsulator, NullKemVerifier, NullSigner, NullVerifier,
};

use crate::{Face, OneRegister, OneVault, Pair, Sealer, Secrets, UnsealedTickets, at};

/// A way to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A full handshake.
    Full,
    /// A full handshake in which the client has a certificate as well.
    Mutual,
    /// A full handshake with a HelloRetryRequest.
    Retry,
    /// A full handshake whose server authenticates with a KEM.
    Kem,
    /// The same, in which the client has a certificate as well.
    KemMutual,
    /// Resumption with psk_dhe_ke.
    PskDhe,
    /// Resumption with psk_ke.
    PskOnly,
    /// Resumption with replayable early data.
    Replayable,
    /// Forward-secret early data, then psk_dhe_ke.
    FsDhe,
    /// Forward-secret early data, then psk_ke.
    FsKe,
    /// Early data under a one-time PSK, then psk_ke.
    FsPsk,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Full,
        Self::Mutual,
        Self::Retry,
        Self::Kem,
        Self::KemMutual,
        Self::PskDhe,
        Self::PskOnly,
        Self::Replayable,
        Self::FsDhe,
        Self::FsKe,
        Self::FsPsk,
    ];

    /// Whether it needs a session of an earlier connection.
    pub fn resumes(self) -> bool {
        !matches!(self, Self::Full | Self::Mutual | Self::Retry) && !self.is_kem()
    }

    /// Whether the server authenticates with a KEM.
    pub fn is_kem(self) -> bool {
        matches!(self, Self::Kem | Self::KemMutual)
    }

    /// Whether the client has a certificate as well.
    pub fn is_mutual(self) -> bool {
        matches!(self, Self::Mutual | Self::KemMutual)
    }
}

/// The early data of a scene's client, if it can send any.
pub const EARLY_DATA: &[u8] = b"early";

/// The name of the scene's server.
pub const SERVER_NAME: &str = "server.example";

/// A client and a server that connect in one mode; change them at will.
#[derive(Clone)]
pub struct Scene {
    /// The face of the ends.
    face: Face,
    /// The way to connect.
    pub mode: Mode,
    /// The client.
    pub client: ClientConfig,
    /// The server.
    pub server: ServerConfig,
    /// The server's vault, if the mode has one.
    pub vault: Arc<OneVault>,
    /// The secrets of the last connection.
    pub secrets: Arc<Secrets>,
}

impl Scene {
    /// Returns the scene of a mode over records; tickets are unsealed.
    pub fn new(provider: Provider, mode: Mode) -> Self {
        Self::over(Face::Stream, provider, mode)
    }

    /// Returns the scene of a mode over this face; tickets are unsealed.
    pub fn over(face: Face, provider: Provider, mode: Mode) -> Self {
        let secrets = Arc::new(Secrets::default());
        let vault = Arc::new(OneVault::default());
        let mut client = ClientConfig::new(provider, Arc::new(NullVerifier));
        let mut server = ServerConfig::new(provider, vec![credential()]);
        client.key_log = Some(secrets.clone());
        server.key_log = Some(secrets.clone());
        server.tickets = Some(Arc::new(UnsealedTickets));
        match mode {
            Mode::Full | Mode::PskDhe => (),
            Mode::Mutual => {
                client.credentials = vec![credential()];
                server.client_authentication =
                    ClientAuthentication::Required(Arc::new(NullVerifier));
            }
            Mode::Retry => {
                // To an unknown server a client sends no post-quantum share if its first group is a classical one.
                client.groups = vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768];
                server.groups = vec![NamedGroup::X25519MLKEM768];
            }
            Mode::Kem | Mode::KemMutual => {
                // The keys are the null provider's, so its KEMs go with every provider.
                client.provider.kems = tessera_null_provider::provider().kems;
                server.provider.kems = client.provider.kems;
                client.verifier = Arc::new(NullKemVerifier);
                server.credentials = vec![kem_credential()];
                if mode == Mode::KemMutual {
                    client.credentials = vec![kem_credential()];
                    server.client_authentication =
                        ClientAuthentication::Required(Arc::new(NullKemVerifier));
                }
            }
            Mode::PskOnly => {
                client.policy.psk_only_without_forward_secrecy = true;
                server.policy.psk_only_without_forward_secrecy = true;
            }
            Mode::Replayable => {
                client.policy.early_data.replayable_without_forward_secrecy = true;
                server.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
                    register: Arc::new(OneRegister::default()),
                    max_early_data_size: 16 * 1024,
                });
            }
            Mode::FsDhe | Mode::FsKe | Mode::FsPsk => {
                let continuation = match mode {
                    Mode::FsDhe => Continuation::PskDheKe,
                    _ => Continuation::PskKe,
                };
                client.policy.early_data.forward_secret = Some(continuation);
                let mut guard = OneTimeKeyGuard::new(vault.clone());
                guard.continuation = continuation;
                if mode == Mode::FsPsk {
                    let early_data = &mut client.policy.early_data;
                    early_data.one_time_psks_forward_secret_only_if_deleted = true;
                    guard.kinds = vec![NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED];
                }
                server.policy.early_data.forward_secret = Some(guard);
            }
        }
        Self { face, mode, client, server, vault, secrets }
    }

    /// Returns a session, if the mode needs one.
    pub fn session(&self) -> Option<ClientSession> {
        self.mode.resumes().then(|| self.sessions().pop()).flatten()
    }

    /// Sessions of one full handshake.
    pub fn sessions(&self) -> Vec<ClientSession> {
        let mut pair = self.start(None, at(0));
        pair.run();
        pair.to_client.sessions
    }

    /// Starts both ends at this time; writes early data if possible.
    pub fn start(&self, session: Option<ClientSession>, now: Time) -> Pair {
        self.start_to(to(session), now)
    }

    /// Starts both ends, to a destination.
    pub fn start_to(&self, destination: Destination, now: Time) -> Pair {
        self.secrets.forget();
        let started = Pair::start_over(self.face, &self.client, &self.server, destination, now);
        let mut pair = started.expect("starts");
        if pair.client.early_data_room() > 0 {
            let written = pair.client.write_early_data(EARLY_DATA, &mut pair.client_output);
            assert_eq!(written, Ok(EARLY_DATA.len()), "early data fits");
        }
        pair
    }

    /// Returns the suite that the scene's ends choose.
    pub fn suite(&self) -> &'static Suite {
        let provider = &self.server.provider;
        provider.suite(self.server.suites[0]).expect("a suite of the provider's")
    }

    /// Returns the server's sealers, from its newest ServerHello on.
    pub fn server_sealers(&self) -> Vec<Sealer> {
        self.sealers(&[
            "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            "SERVER_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET",
            "SERVER_TRAFFIC_SECRET_0",
        ])
    }

    /// Returns the client's sealers, from the newest ServerHello on. The scene's early data counts as sent.
    pub fn client_sealers(&self) -> Vec<Sealer> {
        let mut early = self.sealers(&["CLIENT_EARLY_TRAFFIC_SECRET"]);
        early.iter_mut().for_each(|sealer| sealer.number = 1);
        early.extend(self.sealers(&[
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            "CLIENT_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET",
            "CLIENT_TRAFFIC_SECRET_0",
        ]));
        early
    }

    fn sealers(&self, labels: &[&str]) -> Vec<Sealer> {
        labels.iter().filter_map(|label| self.secrets.sealer(self.suite(), label)).collect()
    }

    /// Starts both ends in the scene's mode.
    pub fn pair(&self) -> Pair {
        let session = self.session();
        self.start(session, at(0))
    }
}

/// Returns a certificate of the null provider.
pub fn credential() -> Credential {
    Credential::new(vec![vec![0x30; 300]], PrivateKey::Signs(Arc::new(NullSigner)))
}

/// Returns a certificate of the null provider's KEM.
pub fn kem_credential() -> Credential {
    let key = PrivateKey::Decapsulates(Arc::new(NullDecapsulator));
    Credential::new(vec![NULL_KEM_KEY.to_vec()], key)
}

/// Returns the scene's server as a destination, with or without a session.
pub fn to(session: Option<ClientSession>) -> Destination {
    Destination {
        server_name: SERVER_NAME.into(),
        session: session.map(Box::new),
        ..Destination::default()
    }
}
