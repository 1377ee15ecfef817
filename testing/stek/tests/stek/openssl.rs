//! OpenSSL's client crosses between two servers.

use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tessera_stek_tests::{Fleet, RunningServer, SERVER_NAME, settled};
use tessera_test_peers::Directory;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_client_resumes_at_the_other_haproxy_before_and_after_a_rotation() {
    let fleet = Fleet::new();
    let mut servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
    let rings = [0, 1].map(|at: usize| {
        let installer = servers[at].haproxy_installer(fleet.keys("haproxy"));
        fleet.join(["a", "b"][at], Arc::new(installer))
    });
    for server in &mut servers {
        server.start_with_keys().await;
    }
    let rings: Vec<_> = rings.iter().collect();
    settled(&rings).await;
    let [a, b] = [0, 1].map(|at: usize| servers[at].address);
    let files = Directory::new();
    let (first, second) = (files.path("first.pem"), files.path("second.pem"));
    assert!(s_client(a, &["-sess_out", &first]).unwrap().contains("New, TLSv1.3"));
    assert!(s_client(a, &["-sess_out", &second]).unwrap().contains("New, TLSv1.3"));
    assert!(s_client(b, &["-sess_in", &first]).unwrap().contains("Reused, TLSv1.3"));
    rings[1].rotate().await.unwrap();
    settled(&rings).await;
    assert!(s_client(b, &["-sess_in", &second]).unwrap().contains("Reused, TLSv1.3"));
    rings[0].revoke().await.unwrap();
    settled(&rings).await;
    assert!(s_client(b, &["-sess_in", &second]).unwrap().contains("New, TLSv1.3"));
}

/// Sends a request, reads to the end, and returns what the client prints.
pub fn s_client(server: SocketAddr, options: &[&str]) -> io::Result<String> {
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &server.to_string(), "-servername", SERVER_NAME, "-ign_eof"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(input) = &mut client.stdin {
        io::Write::write_all(input, b"GET / HTTP/1.0\r\n\r\n")?;
    }
    let output = client.wait_with_output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
