//! One member: a process, its ports and its data.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{ClientTls, nothing};
use crate::{Network, Process, free_port};

pub(crate) struct Member {
    command: Vec<String>,
    dir: PathBuf,
    client: u16,
    /// The port for status requests without TLS.
    metrics: u16,
    tls: bool,
    process: Option<Process>,
}

impl Member {
    pub(crate) fn start(
        dir: &Path,
        index: usize,
        (peer, client, link): (u16, u16, u16),
        cluster: &str,
        tls: Option<Arc<ClientTls>>,
        quota: Option<u64>,
    ) -> io::Result<Self> {
        let data = dir.join(format!("m{index}"));
        // TLS clients use one port, this crate's requests another.
        let plain = if tls.is_some() { free_port()? } else { client };
        let mut listen = format!("http://127.0.0.1:{plain}");
        if tls.is_some() {
            listen.push_str(&format!(",https://127.0.0.1:{client}"));
        }
        let mut command: Vec<String> = [
            ("--name", format!("m{index}")),
            ("--data-dir", data.display().to_string()),
            ("--listen-peer-urls", format!("http://127.0.0.1:{peer}")),
            ("--initial-advertise-peer-urls", format!("http://127.0.0.1:{link}")),
            ("--listen-client-urls", listen.clone()),
            ("--advertise-client-urls", listen),
            ("--initial-cluster", cluster.into()),
            ("--initial-cluster-token", dir.display().to_string()),
            ("--heartbeat-interval", "50".into()),
            ("--election-timeout", "500".into()),
            ("--logger", "zap".into()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect();
        command.extend(quota.map(|bytes| format!("--quota-backend-bytes={bytes}")));
        if let Some(tls) = &tls {
            let files = [
                ("--cert-file", &tls.certificate),
                ("--key-file", &tls.key),
                ("--trusted-ca-file", &tls.client_authority),
            ];
            for (name, path) in files {
                command.extend([name.to_owned(), path.display().to_string()]);
            }
            command.push("--client-cert-auth".into());
        }
        let mut member =
            Self { command, dir: data, client, metrics: plain, tls: tls.is_some(), process: None };
        member.run();
        Ok(member)
    }

    pub(crate) fn restart(&mut self) -> io::Result<()> {
        match self.process {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => {
                self.run();
                Ok(())
            }
        }
    }

    fn run(&mut self) {
        self.process = Some(Process::start("etcd", Network::Loopback, &self.command));
    }

    pub(crate) fn endpoint(&self) -> String {
        debug_assert!(self.tls || self.client == self.metrics);
        format!("127.0.0.1:{}", self.client)
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.clone()
    }

    pub(crate) fn kill(&mut self) -> io::Result<()> {
        let process = self.process.take().ok_or(io::ErrorKind::NotFound)?;
        drop(process);
        Ok(())
    }

    pub(crate) fn stop(&self) -> io::Result<()> {
        self.process().map(Process::stop)
    }

    pub(crate) fn go_on(&self) -> io::Result<()> {
        self.process().map(Process::go_on)
    }

    /// Returns its output since the last start.
    pub(crate) fn log(&self) -> String {
        self.process().map(Process::output).unwrap_or_default()
    }

    fn process(&self) -> io::Result<&Process> {
        self.process.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(crate) fn answers(&self) -> bool {
        self.status().is_some()
    }

    /// Returns the id of this member, and of the one that leads.
    pub(crate) fn status(&self) -> Option<(u64, u64)> {
        let status = self.ask("/v3/maintenance/status", &nothing()).ok()?;
        let id = status["header"]["member_id"].as_str()?.parse().ok()?;
        let leader: u64 = status["leader"].as_str()?.parse().ok()?;
        (leader != 0).then_some((id, leader))
    }

    pub(crate) fn ask(&self, path: &str, body: &Value) -> io::Result<Value> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.metrics));
        let timeout = Duration::from_secs(2);
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        serde_json::from_str(body).map_err(io::Error::from)
    }
}
