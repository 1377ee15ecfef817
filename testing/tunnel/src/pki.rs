//! Certificates for all parties, as PEM files that peers can read.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use tessera_pki::{Authority, Leaf};
use tessera_test_peers::Directory;

/// The name of every server.
pub const SERVER_NAME: &str = "server.example";

/// The name of every client.
pub const CLIENT_NAME: &str = "client.example";

/// An authority, and the directory with its files.
pub struct Pki {
    /// The directory; tests may put more files into it.
    pub directory: Directory,
    /// The path of the authority's certificate.
    pub ca: String,
    /// A server's, for [`SERVER_NAME`].
    pub server: Identity,
    /// A client's, for [`CLIENT_NAME`].
    pub client: Identity,
    issuer: Authority,
}

/// The paths of a certificate and its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key, PKCS#8.
    pub key: String,
    /// Both in one file, as HAProxy expects them.
    pub both: String,
}

impl Pki {
    /// Creates a new authority, with a certificate for a server and one for a client.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // Unique names: given two authorities of one name, verifiers report a wrong signature, not an unknown
        // authority.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let issuer = Authority::new(&format!("Tunnel test CA {number}"));
        let directory = Directory::new();
        let ca = directory.write("ca.pem", issuer.pem());
        let server = write(&directory, "server", &issuer.issue(SERVER_NAME));
        let client = write(&directory, "client", &issuer.issue(CLIENT_NAME));
        Self { directory, ca, server, client, issuer }
    }

    /// Returns a certificate for another name of a client, in files of this name.
    pub fn client_called(&self, file: &str, name: &str) -> Identity {
        write(&self.directory, file, &self.issuer.issue(name))
    }

    /// Returns a server's certificate that has expired, in files of this name.
    pub fn expired_server(&self, file: &str) -> Identity {
        write(&self.directory, file, &self.issuer.issue_expired(SERVER_NAME))
    }

    /// Writes a server's certificate that expires in this many days, to files of this name.
    pub fn server_for_days(&self, file: &str, days: u64) -> Identity {
        // Not exact to the second: a slow test must see the same number of days.
        let end = SystemTime::now() + Duration::from_secs(days * 86_400 - 3600);
        let leaf = self.issuer.issue_with(&[SERVER_NAME], |it| it.not_after = end.into());
        write(&self.directory, file, &leaf)
    }

    /// Returns a client's certificate that has expired, in files of this name.
    pub fn expired_client(&self, file: &str) -> Identity {
        write(&self.directory, file, &self.issuer.issue_expired(CLIENT_NAME))
    }
}

impl Default for Pki {
    fn default() -> Self {
        Self::new()
    }
}

fn write(directory: &Directory, file: &str, leaf: &Leaf) -> Identity {
    Identity {
        both: directory.write(&format!("{file}-both.pem"), leaf.both_pem()),
        certificate: directory.write(&format!("{file}.pem"), &leaf.pem),
        key: directory.write(&format!("{file}-key.pem"), leaf.key_pem()),
    }
}
