//! `twice ROOTS ADDRESS`: connects twice, to `tessera serve` or any other echo server.

use std::env::args;
use std::error::Error;
use std::sync::Arc;

use tessera::resume::Continuation;
use tessera::{ClientConfig, Destination};
use tessera_kit::{SettingFile, trust};
use tessera_tokio::{Connector, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, roots, address] = &args().collect::<Vec<_>>()[..] else {
        return Err("ROOTS ADDRESS".into());
    };
    // For servers on the public web, use `tessera_tokio::system_verifier()`.
    let verifier = trust::roots(SettingFile { setting: "ROOTS", path: roots.as_ref() })?;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    // Early data is off by default: only an application knows whether its first bytes may be sent early.
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let sessions = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(config.checked()?).with_sessions(sessions);
    for _ in 0..2 {
        let to = Destination { server_name: "localhost".into(), ..Default::default() };
        let mut stream = connector.first_flight(to, TcpStream::connect(address).await?).await?;
        stream.write_all(b"hello").await?;
        stream.shutdown().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        println!("{answer}, early data: {:?}", stream.facts().early_data);
    }
    Ok(())
}
