//! HAProxy and stunnel.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tessera_interop::Identity;

use crate::Failure;
use crate::ends::{End, Ends, PKI};

impl Ends {
    pub(crate) fn haproxy(threads: usize, backend: SocketAddr) -> Result<Self, Failure> {
        let global = format!(
            "global\n nbthread {threads}\n maxconn 1000\n ssl-default-bind-ciphersuites {SUITE}\n \
             ssl-default-server-ciphersuites {SUITE}\n\
             defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n"
        );
        let (pki, client, server) = &*PKI;
        let pem = |name: &str, identity: &Identity| {
            let certificate = fs::read_to_string(&identity.certificate_file)?;
            let key = fs::read_to_string(key_as_pem(identity)?)?;
            Ok::<_, Failure>(pki.directory.write(name, certificate + &key))
        };
        let (client_pem, server_pem) =
            (pem("haproxy-c.pem", client)?, pem("haproxy-s.pem", server)?);
        let (near, far) = (free_address()?, free_address()?);
        let ca = &pki.ca_file;
        let start = |name: &str, text: String| {
            let file = pki.directory.write(name, text);
            start(Command::new("/usr/sbin/haproxy").args(["-db", "-f", &file]))
        };
        let server_end = start(
            "haproxy-s.cfg",
            format!(
                "{global}listen x\n bind {far} ssl crt {server_pem} ca-file {ca} verify required ssl-min-ver TLSv1.3\n \
                 server y {backend}\n"
            ),
        )?;
        let client_end = start(
            "haproxy-c.cfg",
            format!(
                "{global}listen x\n bind {near}\n server y {far} ssl crt {client_pem} ca-file {ca} verify required \
                 sni str(server.example) verifyhost server.example ssl-min-ver TLSv1.3\n"
            ),
        )?;
        wait_for(far)?;
        wait_for(near)?;
        Ok(Self::new("haproxy", near, client_end, server_end))
    }

    pub(crate) fn stunnel(backend: SocketAddr) -> Result<Self, Failure> {
        let (pki, client, server) = &*PKI;
        let (near, far) = (free_address()?, free_address()?);
        let start = |name: &str, who: &Identity, role: String| {
            let text = format!(
                "foreground = yes\npid =\ndebug = 3\nsocket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n[x]\n{role}\n\
                 cert = {}\nkey = {}\nCAfile = {}\nverifyChain = yes\nciphersuites = {SUITE}\nsslVersionMin = TLSv1.3\n",
                who.certificate_file,
                key_as_pem(who)?,
                pki.ca_file
            );
            let file = pki.directory.write(name, text);
            start(Command::new("/usr/bin/stunnel4").arg(file))
        };
        let server_end =
            start("stunnel-s.conf", server, format!("accept = {far}\nconnect = {backend}"))?;
        let client_end = start(
            "stunnel-c.conf",
            client,
            format!("client = yes\naccept = {near}\nconnect = {far}\nsni = server.example"),
        )?;
        wait_for(far)?;
        wait_for(near)?;
        Ok(Self::new("stunnel", near, client_end, server_end))
    }
}

fn key_as_pem(identity: &Identity) -> Result<String, Failure> {
    let file = format!("{}.pem", identity.key_file);
    let done = Command::new("openssl")
        .args(["pkey", "-inform", "DER", "-in", &identity.key_file, "-out", &file])
        .status()?;
    if done.success() { Ok(file) } else { Err("openssl can't read a key".into()) }
}

fn start(command: &mut Command) -> Result<End, Failure> {
    Ok(End::Process(command.stdin(Stdio::null()).spawn()?))
}

fn free_address() -> Result<SocketAddr, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn wait_for(address: SocketAddr) -> Result<(), Failure> {
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        if started.elapsed() > Duration::from_secs(10) {
            return Err(format!("nobody listens on {address}").into());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

const SUITE: &str = "TLS_AES_128_GCM_SHA256";
