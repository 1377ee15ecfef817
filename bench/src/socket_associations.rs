//! What DTLS clients cost `tessera serve --udp`: `socket-associations PROGRAM [COUNT]`. Started by `bench/datagram-cost`.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, process};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tessera::{ClientConfig, Destination};
use tessera_bench::ServedProgram;
use tessera_bench::usage::resident;
use tessera_kit::SettingFile;
use tessera_kit::trust::roots;
use tessera_tokio::{ClientDatagramConnection, Connector, DatagramConnector};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (program, count) = match arguments.as_slice() {
        [program] => (program, 15_000),
        [program, count] => (program, count.parse()?),
        _ => return Err("socket-associations PROGRAM [COUNT]".into()),
    };
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(program, count))
}

async fn measure(program: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let certificate = env::temp_dir().join(format!("socket-associations-{}.pem", process::id()));
    let path = certificate.to_str().ok_or("a temporary directory with a readable name")?;
    // All clients come from one address.
    let most = (count + FIRST).to_string();
    let options = ["--udp", "--name", NAME, "--write-certificate", path];
    let limits = ["--max-connections", &most, "--max-connections-per-address", &most];
    let server = ServedProgram::start(program, &[&options[..], &limits[..]].concat())?;
    let connector = connector(&certificate)?;
    fs::remove_file(&certificate)?;
    let address = server.address.parse()?;
    // What the process allocates once for all. These stay.
    let first = associations(&connector, address, FIRST).await?;
    let before = resident(server.id())?;
    let began = Instant::now();
    let connections = associations(&connector, address, count).await?;
    let took = began.elapsed();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let each = resident(server.id())?.saturating_sub(before) / count as u64;
    let rate = count as f64 / took.as_secs_f64();
    println!(
        "{count} associations at `serve --udp`: {each} bytes of resident memory each, \
         {rate:.0} handshakes a second next to their clients"
    );
    for connection in first.iter().chain(&connections).step_by(STEP) {
        echo(connection).await?;
    }
    Ok(())
}

fn connector(certificate: &Path) -> Result<DatagramConnector, Box<dyn Error>> {
    let roots = roots(SettingFile { setting: "--write-certificate", path: certificate })?;
    let config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(roots));
    Ok(DatagramConnector::new(Connector::new(config.checked()?)))
}

/// Makes associations, each from a socket of its own; each sends something, and receives the echo.
async fn associations(
    connector: &DatagramConnector,
    address: SocketAddr,
    count: usize,
) -> Result<Vec<ClientDatagramConnection>, Box<dyn Error>> {
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        let destination = Destination { server_name: NAME.into(), ..Destination::default() };
        let connection = connector.connect(address, destination).await?;
        echo(&connection).await?;
        connections.push(connection);
    }
    Ok(connections)
}

async fn echo(connection: &ClientDatagramConnection) -> Result<(), Box<dyn Error>> {
    let sent = [7; 1000];
    connection.send(&sent).await?;
    let received = connection.recv().await?.ok_or("the server has closed")?;
    if *received != sent {
        return Err("another echo".into());
    }
    Ok(())
}

/// The name in the server's certificate.
const NAME: &str = "localhost";

/// How many associations come before the count.
const FIRST: usize = 200;

/// One of so many is used again at the end.
const STEP: usize = 100;
