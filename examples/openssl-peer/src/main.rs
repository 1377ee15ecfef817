//! Shows a conversation between OpenSSL and Tessera, in both directions.

use std::sync::Arc;

use tessera::handshake::Handshake;
use tessera::resume::Vault;
use tessera_openssl_peer::{
    OpensslClient, OpensslEnd, OpensslServer, Result, Site, TesseraClient, TesseraEnd,
    TesseraServer, carry, openssl_version,
};
use tessera_vault::MemoryVault;

const REQUEST: &[u8] = b"a request";

fn main() -> Result<()> {
    println!("{}", openssl_version());
    let site = Site::make();
    openssl_client(&site)?;
    openssl_server(&site)
}

fn openssl_client(site: &Site) -> Result<()> {
    println!("\nOpenSSL as the client, Tessera as the server");
    let vault = Arc::new(MemoryVault::new(100));
    let config = site.tessera_server(vault.clone())?;
    let client = OpensslClient::new(site, "X25519:P-256")?;

    let mut openssl = client.connect()?;
    let mut server = TesseraServer::accept(&config)?;
    meet(&mut openssl, &mut server)?;
    println!("  first connection: {}", how(&openssl));
    println!("    one-time keys in the vault: {}", vault.len());

    let ticket = client.pop().ok_or("no forward-secret ticket came")?;
    let mut openssl = client.come_back(ticket, REQUEST)?;
    let flight = openssl.collect();
    let mut server = TesseraServer::accept(&config)?;
    server.deliver(&flight);
    println!("  second connection: a first flight of {} bytes", flight.len());
    println!("    early data: {}", heard(&server.early_data));
    meet(&mut openssl, &mut server)?;
    println!("    {}, early data {:?}", how(&openssl), openssl.early_data_status());

    let mut server = TesseraServer::accept(&config)?;
    server.deliver(&flight);
    println!("  the same flight again: early data: {}", heard(&server.early_data));
    Ok(())
}

fn openssl_server(site: &Site) -> Result<()> {
    println!("\nTessera as the client, OpenSSL as the server");
    let vault = Arc::new(MemoryVault::new(100));
    let server = OpensslServer::new(site, vault.clone(), "X25519")?;
    let config = site.tessera_client()?;

    let mut openssl = server.accept()?;
    let mut client = TesseraClient::connect(&config, None, b"")?;
    meet(&mut openssl, &mut client)?;
    println!("  first connection: {}", how(&openssl));
    println!("    one-time keys in the vault: {}", vault.len());

    let session = client.sessions.pop();
    let mut client = TesseraClient::connect(&config, session, REQUEST)?;
    let flight = client.collect();
    let mut openssl = server.accept()?;
    openssl.deliver(&flight);
    client.deliver(&openssl.collect());
    println!("  second connection: a first flight of {} bytes", flight.len());
    println!("    early data: {}", heard(&openssl.early_data));
    meet(&mut openssl, &mut client)?;
    println!("    {}, early data {:?}", how(&openssl), openssl.early_data_status());

    let mut openssl = server.accept()?;
    openssl.deliver(&flight);
    openssl.collect();
    println!("  the same flight again: early data: {}", heard(&openssl.early_data));
    Ok(())
}

/// Carries bytes until the handshake is complete.
fn meet<H: Handshake>(openssl: &mut OpensslEnd, tessera: &mut TesseraEnd<H>) -> Result<()> {
    carry(openssl, tessera);
    if let Some(error) = &tessera.error {
        return Err(error.to_string().into());
    }
    if let Some(error) = &openssl.error {
        return Err(error.clone().into());
    }
    Ok(())
}

fn how(openssl: &OpensslEnd) -> &'static str {
    if openssl.resumed() { "with a PSK" } else { "full handshake" }
}

fn heard(data: &[u8]) -> String {
    match data {
        [] => "none".to_owned(),
        data => format!("{:?}", String::from_utf8_lossy(data)),
    }
}
