//! Which servers a verifier accepts: handshakes in memory, with a fresh PKI.
//!
//! ```text
//! cargo run -p tessera-webpki --example verify
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, IsCa,
    KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tessera::auth::{Credential, PrivateKey};
use tessera::{ClientConfig, Destination, ServerConfig, Time};
use tessera_aws_lc::{SigningKey, provider};
use tessera_harness::Pair;
use tessera_webpki::{UnknownStatus, WebPkiVerifier};

fn main() -> Result<(), Box<dyn Error>> {
    let authority = authority()?;
    let server = server(&authority, 7)?;
    let trusting = || WebPkiVerifier::new(&[authority.der()]);

    connect("its name", trusting()?, &server, "server.example")?;
    connect("another name", trusting()?, &server, "elsewhere.example")?;
    connect("another root", WebPkiVerifier::new(&[self::authority()?.der()])?, &server, NAME)?;

    // Revocation is checked if there are lists; `UnknownStatus` decides about certificates that no list
    // covers.
    let list = revoked(&authority, 8)?;
    let checking = trusting()?.with_crls(&[list], UnknownStatus::Reject)?;
    connect("another certificate revoked", checking, &server, NAME)?;
    let list = revoked(&authority, 7)?;
    let checking = trusting()?.with_crls(&[list], UnknownStatus::Reject)?;
    connect("its certificate revoked", checking, &server, NAME)
}

const NAME: &str = "server.example";

/// Connects in memory, and prints the client's verdict on the server.
fn connect(
    what: &str,
    verifier: WebPkiVerifier,
    server: &ServerConfig,
    name: &str,
) -> Result<(), Box<dyn Error>> {
    let client = ClientConfig::new(provider(), Arc::new(verifier));
    let unix = Some(SystemTime::now().duration_since(UNIX_EPOCH)?);
    let destination = Destination { server_name: name.into(), ..Default::default() };
    let now = Time { monotonic: Duration::ZERO, unix };
    let mut pair = Pair::start(&client, server, destination, now)?;
    pair.run();
    match &pair.to_client.error {
        None => println!("{what}: accepted"),
        Some(error) => println!("{what}: {error}"),
    }
    Ok(())
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Result<Authority, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

/// Configures a server whose certificate has this serial number.
fn server(authority: &Authority, serial: u64) -> Result<ServerConfig, Box<dyn Error>> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([NAME.to_owned()])?;
    params.serial_number = Some(SerialNumber::from(serial));
    let certificate = params.signed_by(&key, authority)?;
    let signer = Arc::new(SigningKey::from_pkcs8(&key.serialize_der())?);
    let chain = vec![certificate.der().to_vec()];
    let credential = Credential::new(chain, PrivateKey::Signs(signer));
    Ok(ServerConfig::new(provider(), vec![credential]))
}

/// Makes the authority's list, with one revoked certificate.
fn revoked(authority: &Authority, serial: u64) -> Result<Vec<u8>, rcgen::Error> {
    let revoked = RevokedCertParams {
        serial_number: SerialNumber::from(serial),
        revocation_time: date_time_ymd(2026, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let params = CertificateRevocationListParams {
        this_update: date_time_ymd(2026, 1, 1),
        next_update: date_time_ymd(2126, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: vec![revoked],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    Ok(params.signed_by(authority)?.der().to_vec())
}
