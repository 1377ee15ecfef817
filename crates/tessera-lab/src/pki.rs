//! The certificates of an experiment, created for it and discarded with it.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};

/// The name of the server.
pub(crate) const SERVER_NAME: &str = "server.example";
const CLIENT_NAME: &str = "client.example";
/// The names of two sites, for the channel between them alone.
pub(crate) const HOME_NAME: &str = "home.sites.example";
pub(crate) const AWAY_NAME: &str = "away.sites.example";

/// The credentials of one end: its own certificate and key, and its trust anchor. All as DER.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) certificate: Vec<u8>,
    pub(crate) private_key: Vec<u8>,
    pub(crate) root: Vec<u8>,
}

/// The identities of both ends, signed by one root.
pub(crate) struct Pki {
    pub(crate) client: Identity,
    pub(crate) server: Identity,
    /// The site that answers on the channel.
    pub(crate) home: Identity,
    /// The site that asks.
    pub(crate) away: Identity,
}

impl Pki {
    /// ECDSA on P-256 throughout: the most common kind of certificate.
    pub(crate) fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Tessera lab");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let identity = |name: &str, usage| -> Result<Identity, rcgen::Error> {
            let mut params = CertificateParams::new(vec![name.to_owned()])?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &root)?;
            Ok(Identity {
                certificate: certificate.der().to_vec(),
                private_key: key.serialize_der(),
                root: root.der().to_vec(),
            })
        };
        Ok(Self {
            client: identity(CLIENT_NAME, ExtendedKeyUsagePurpose::ClientAuth)?,
            server: identity(SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth)?,
            home: identity(HOME_NAME, ExtendedKeyUsagePurpose::ServerAuth)?,
            away: identity(AWAY_NAME, ExtendedKeyUsagePurpose::ClientAuth)?,
        })
    }
}
