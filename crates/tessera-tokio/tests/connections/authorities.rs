//! Two listeners with the same tickets and keys, and different authorities for their clients.

use std::sync::Arc;

use crate::common::{Ends, connect, destination, finish, forward_secret};
use tessera::auth::Credential;
use tessera::handshake::ClientAuthentication;
use tessera::resume::{PskKind, Vault};
use tessera_tokio::{Acceptor, Connector, FileSessionStore, MemorySessionStore, SessionStore};
use tessera_vault::MemoryVault;
use tessera_webpki::WebPkiVerifier;
use tokio::io::duplex;

/// An authority, and a client that it vouches for.
struct Authority {
    verifier: Arc<WebPkiVerifier>,
    client: Credential,
}

impl Authority {
    fn new(name: &str) -> Self {
        let authority = tessera_pki::Authority::new(name);
        Self {
            verifier: Arc::new(WebPkiVerifier::new(&[authority.der()]).unwrap()),
            client: authority.issue("guest.example").credential(),
        }
    }
}

/// A client of the lax authority, a public listener that it may use, and the vault.
struct Site {
    ends: Ends,
    strict: Authority,
    vault: Arc<MemoryVault>,
}

fn site() -> Site {
    let (lax, strict) = (Authority::new("lax"), Authority::new("strict"));
    let mut ends = forward_secret();
    ends.client.credentials = vec![lax.client];
    ends.server.client_authentication = ClientAuthentication::Optional(lax.verifier);
    let vault = Arc::new(MemoryVault::new(100));
    if let Some(guard) = &mut ends.server.policy.early_data.forward_secret {
        guard.vault = vault.clone();
    }
    Site { ends, strict, vault }
}

impl Site {
    /// Returns a listener like the public one, with another verifier.
    fn admin(&self) -> Acceptor {
        let mut config = self.ends.server.clone();
        config.client_authentication = ClientAuthentication::Required(self.strict.verifier.clone());
        Acceptor::new(config.checked().unwrap())
    }

    /// Makes a connector with sessions of a connection to the public listener.
    async fn connector(&self, store: Arc<dyn SessionStore>) -> Connector {
        let connector = self.ends.connector().with_sessions(store);
        let (mut client, mut server) = connect(&connector, &self.ends.acceptor()).await;
        assert!(server.facts().peer.is_some());
        finish(&mut client, &mut server).await;
        connector
    }
}

/// Sends early data with a ticket of the public listener; returns the admin listener's error.
async fn knock(connector: &Connector, acceptor: &Acceptor) -> String {
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.start(destination(), near).await.unwrap();
    assert_eq!(client.write_early(b"delete everything").await.unwrap(), 17, "it has a ticket");
    let client = tokio::spawn(async move { client.handshake().await });
    let refused = acceptor.accept(far).await.err().expect("a client of another authority");
    client.abort();
    refused.to_string()
}

#[tokio::test]
async fn a_ticket_of_the_public_listener_opens_nothing_at_the_admin_listener() {
    let site = site();
    let connector = site.connector(Arc::new(MemorySessionStore::default())).await;
    let keys = site.vault.len();
    let error = knock(&connector, &site.admin()).await;
    assert!(error.contains("UNKNOWN_CA"), "{error}");
    // docs/0rtt-fs.md 7.1: the burned key allows the client to send its request again.
    assert_eq!(site.vault.len(), keys - 1, "the flight's one-time key is burned, and no other");
    // The public listener, which issued them, still accepts its other tickets.
    let (client, _server) = connect(&connector, &site.ends.acceptor()).await;
    assert_eq!(client.facts().psk, Some(PskKind::ForwardSecret));
}

#[tokio::test]
async fn a_replaced_verifier_of_clients_ends_their_tickets() {
    let site = site();
    let connector = site.connector(Arc::new(MemorySessionStore::default())).await;
    let acceptor = site.ends.acceptor();
    let mut stricter = site.ends.server.clone();
    stricter.client_authentication = ClientAuthentication::Required(site.strict.verifier.clone());
    acceptor.replace(stricter.checked().unwrap());
    let error = knock(&connector, &acceptor).await;
    assert!(error.contains("UNKNOWN_CA"), "{error}");
}

/// The same holds for a store of files.
#[tokio::test]
async fn a_replaced_verifier_of_servers_ends_the_sessions_with_them() {
    let site = site();
    let directory = std::env::temp_dir().join(format!("tessera-verifiers-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let store = Arc::new(FileSessionStore::open(&directory).unwrap());
    let connector = site.connector(store).await;
    let mut stricter = site.ends.client.clone();
    stricter.verifier = site.strict.verifier.clone();
    connector.replace(stricter.checked().unwrap());
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.start(destination(), near).await.unwrap();
    assert_eq!(client.write_early(b"a secret").await.unwrap(), 0, "nothing goes to a stranger");
    let acceptor = site.ends.acceptor();
    let server = tokio::spawn(async move { acceptor.accept(far).await.map(drop) });
    let error = client.handshake().await.expect_err("the server is another authority's");
    server.abort();
    let _ = std::fs::remove_dir_all(&directory);
    assert!(error.to_string().contains("UNKNOWN_CA"), "{error}");
}
