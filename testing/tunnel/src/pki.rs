//! Everybody's certificates, as PEM files that peers can read.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
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
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The paths of a certificate and its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key, PKCS#8.
    pub key: String,
    /// Both in one file, as HAProxy takes them.
    pub both: String,
}

impl Pki {
    /// A new authority, with a certificate for a server and one for a client.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let mut params = CertificateParams::default();
        // Whoever meets two authorities of one name blames the signature, not the authority.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(DnType::CommonName, format!("Tunnel test CA {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let directory = Directory::new();
        let ca = directory.write("ca.pem", issuer.pem());
        let server = issue(&directory, &issuer, "server", SERVER_NAME, |_| ());
        let client = issue(&directory, &issuer, "client", CLIENT_NAME, |_| ());
        Self { directory, ca, server, client, issuer }
    }

    /// A certificate for another name of a client, in files of this name.
    pub fn client_called(&self, file: &str, name: &str) -> Identity {
        issue(&self.directory, &self.issuer, file, name, |_| ())
    }

    /// A server's certificate that has expired, in files of this name.
    pub fn expired_server(&self, file: &str) -> Identity {
        issue(&self.directory, &self.issuer, file, SERVER_NAME, expired)
    }

    /// A server's certificate that ends in so many days, in files of this name.
    pub fn server_for_days(&self, file: &str, days: u64) -> Identity {
        // Not to the second: a test that takes long sees the same number of days.
        let end = SystemTime::now() + Duration::from_secs(days * 86_400 - 3600);
        issue(&self.directory, &self.issuer, file, SERVER_NAME, |it| it.not_after = end.into())
    }

    /// A client's certificate that has expired, in files of this name.
    pub fn expired_client(&self, file: &str) -> Identity {
        issue(&self.directory, &self.issuer, file, CLIENT_NAME, expired)
    }
}

impl Default for Pki {
    fn default() -> Self {
        Self::new()
    }
}

fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
}

fn issue(
    directory: &Directory,
    issuer: &CertifiedIssuer<'static, KeyPair>,
    file: &str,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> Identity {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    let usages = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.extended_key_usages = usages.into();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap().pem();
    let key = key.serialize_pem();
    Identity {
        both: directory.write(&format!("{file}-both.pem"), format!("{certificate}{key}")),
        certificate: directory.write(&format!("{file}.pem"), certificate),
        key: directory.write(&format!("{file}-key.pem"), key),
    }
}
