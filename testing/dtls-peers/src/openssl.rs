//! OpenSSL, which has DTLS 1.2 alone: each end of ours refuses it, and reports it.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tessera_interop::{KeyKind, Pki, to};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use crate::cases::Case;
use crate::ours::{connector, listener};

const PATIENCE: Duration = Duration::from_secs(20);

/// Returns its version; an error if it isn't there.
pub fn version() -> Result<String, String> {
    let output = Command::new("openssl").arg("version").output();
    let output = output.map_err(|error| format!("openssl: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout);
    Ok(version.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// A process, killed when it is dropped.
struct OpenSsl(Child);

impl OpenSsl {
    fn start(arguments: &[&str]) -> Result<Self, String> {
        let mut command = Command::new("openssl");
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Self).map_err(|error| format!("openssl: {error}"))
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client of OpenSSL's is foreign to our server, which serves others.
pub async fn client() -> Result<String, String> {
    let pki = Pki::new();
    let listener = listener(Case::Full, &pki, false).await?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let _client = OpenSsl::start(&["s_client", "-dtls1_2", "-connect", &address.to_string()])?;
    let counted = timeout(PATIENCE, async {
        while listener.counts().foreign == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    });
    counted.await.map_err(|_| format!("not counted: {:?}", listener.counts()))?;
    let connector = connector(Case::Full, &pki)?;
    let connected = timeout(PATIENCE, connector.connect(address, to(None))).await;
    connected.map_err(|_| "no other client is served")?.map_err(|error| error.to_string())?;
    Ok(format!("{} foreign", listener.counts().foreign))
}

/// A server of OpenSSL's answers with an alert, which our client reports.
pub async fn server() -> Result<String, String> {
    let pki = Pki::new();
    let identity = pki.server(KeyKind::P256);
    let (certificate, key) = (&*identity.certificate_file, &*identity.key_pem());
    let unused = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let address: SocketAddr =
        unused.and_then(|it| it.local_addr()).map_err(|error| error.to_string())?;
    let at = address.to_string();
    let _server = OpenSsl::start(&[
        "s_server",
        "-dtls1_2",
        "-accept",
        &at,
        "-cert",
        certificate,
        "-key",
        key,
        "-quiet",
    ])?;
    // It may not listen yet.
    let connector = connector(Case::Full, &pki)?;
    let refused = timeout(PATIENCE, async {
        loop {
            match connector.connect(address, to(None)).await {
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    sleep(Duration::from_millis(50)).await;
                }
                result => return result,
            }
        }
    });
    match refused.await.map_err(|_| "our client waits")? {
        Ok(_) => Err("connected".into()),
        Err(error) if error.to_string().contains("no DTLS 1.3") => Ok(error.to_string()),
        Err(error) => Err(format!("not clear: {error}")),
    }
}
