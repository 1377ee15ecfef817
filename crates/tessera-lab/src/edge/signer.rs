//! A signer that holds the proxy's key (`tessera-signer`).

use std::future::pending;
use std::num::NonZeroU32;
use std::sync::Arc;

use tessera::auth::{PrivateKey, Sign};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, ServerConfig};
use tessera_link::LinkKind;
use tessera_proxy::admin::Metrics;
use tessera_signer::server::{HeldKey, Keys, Rate, SignerServer, server_config};
use tessera_signer::{RemoteKey, RemoteSigner, SignerAddress, SignerLimits, client_config};
use tessera_tokio::{Acceptor, Answers, Connector, Limits};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use super::joined::Joined;
use crate::certificates::Party;
use crate::endpoint::{PATIENCE, Result, credential, verifier};
use crate::pki::{AWAY_NAME, HOME_NAME, Pki};

/// The key's name at the signer.
const KEY: &str = "proxy";

/// The signer has one client.
const CONNECTIONS: usize = 4;

/// A signer, and what joins the proxy with it.
pub(super) struct ProxySigner {
    key: Arc<BlockingKey>,
    pub(super) joined: Joined,
}

impl ProxySigner {
    /// Gives a party's key to a signer, over a link of this kind; returns when the signer answers.
    pub(super) fn open(kind: LinkKind, party: &Party) -> Result<Self> {
        let joined = Joined::open(kind)?;
        let pki = Pki::new()?;
        let provider = tessera_aws_lc::provider();
        let mut keys = Keys::default();
        let rate = Rate { per_second: NonZeroU32::MAX, burst: NonZeroU32::MAX };
        let PrivateKey::Signs(key) = &party.key else { return Err("a signer's key signs".into()) };
        keys.add(KEY, HeldKey::new(key.clone(), [AWAY_NAME], rate));
        let own = ServerConfig::new(provider, vec![credential(&pki.home)?]);
        let own = server_config(own, verifier(&pki.home)?)?;
        let limits = Limits::for_connections(CONNECTIONS);
        let server = SignerServer::new(keys, limits, CONNECTIONS, &Metrics::new());
        let at = (joined.link.addresses().server, 0);
        let answering = &joined.answering;
        let listener = answering.block_on(answering.spawn(TcpListener::bind(at)))??;
        let address = listener.local_addr()?.to_string();
        answering.spawn(async move { server.run(listener, Acceptor::new(own), pending()).await });

        let mut config = ClientConfig::new(provider, verifier(&pki.away)?);
        config.credentials = vec![credential(&pki.away)?];
        let connector = Connector::new(client_config(config)?);
        let mut limits = SignerLimits::default();
        (limits.deadline, limits.connect) = (PATIENCE, PATIENCE);
        let signers = vec![SignerAddress { address, server_name: HOME_NAME.to_owned() }];
        let key = RemoteKey::new(party.chain.clone(), KEY)?;
        let signer = {
            let _runtime = joined.asking.enter();
            RemoteSigner::open(&connector, signers, limits)
        };
        signer.add(&key);
        let key = BlockingKey {
            signer,
            certificate: party.identity.certificate.clone(),
            schemes: key.schemes().to_vec(),
            runtime: joined.asking.handle().clone(),
        };
        key.sign_once()?;
        Ok(Self { key: Arc::new(key), joined })
    }

    /// Returns the key, as one that signs here.
    pub(super) fn key(&self) -> PrivateKey {
        PrivateKey::Signs(self.key.clone())
    }
}

/// A key that blocks its one connection while the signer signs.
struct BlockingKey {
    signer: RemoteSigner,
    certificate: Vec<u8>,
    schemes: Vec<SignatureScheme>,
    runtime: Handle,
}

impl BlockingKey {
    /// Has something signed, which waits for the connection to the signer.
    fn sign_once(&self) -> Result<()> {
        // RFC 8446 §4.4.3, with a hash of nothing.
        let content = [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0", &[0; 32]].concat();
        let scheme = *self.schemes.first().ok_or("the key has no scheme")?;
        self.sign(scheme, &content).map_err(|_| "the signer can't be reached")?;
        Ok(())
    }
}

impl Signer for BlockingKey {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn sign(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
    ) -> std::result::Result<Vec<u8>, SigningError> {
        let question = Sign::new(scheme, self.certificate.clone(), message.to_vec());
        self.runtime.block_on(self.signer.sign(question))
    }
}
