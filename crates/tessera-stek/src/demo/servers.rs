//! The servers of the demonstration: programs that are installed.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tessera_kit::ProgramError;
use tessera_proxy::demo::{Files, failed};
use tokio::time::sleep;

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    HaProxy,
    Nginx,
    Envoy,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::HaProxy, Self::Nginx, Self::Envoy];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HaProxy => "HAProxy",
            Self::Nginx => "nginx",
            Self::Envoy => "Envoy",
        }
    }

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::HaProxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Envoy => "envoy",
        }
    }

    /// Returns where its program is installed. Debian has some outside of users' `PATH`.
    pub(super) fn find(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
        directories.map(|directory| directory.join(self.program())).find(|path| path.is_file())
    }

    fn settings(self) -> &'static str {
        match self {
            Self::HaProxy => include_str!("haproxy.cfg"),
            Self::Nginx => include_str!("nginx.conf"),
            Self::Envoy => include_str!("envoy.yaml"),
        }
    }
}

/// A server of one host, running or not.
pub(super) struct HostServer {
    pub(super) kind: Kind,
    pub(super) host: &'static str,
    pub(super) address: SocketAddr,
    program: PathBuf,
    /// The beginning of the paths of its files.
    base: String,
    process: Option<Process>,
}

/// Killed when it is dropped.
struct Process(Child);

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

impl HostServer {
    /// Writes the server's configuration.
    pub(super) fn prepare(
        kind: Kind,
        program: PathBuf,
        host: &'static str,
        files: &Files,
    ) -> Result<Self, ProgramError> {
        // Free now; the server listens there in a moment.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let address = free.and_then(|listener| listener.local_addr()).map_err(failed)?;
        let name = format!("{host}-{}", kind.program());
        let base = files.path(&name).display().to_string();
        let certificate = files.path("server.pem").display().to_string();
        let settings = kind
            .settings()
            .replace("PORT", &address.port().to_string())
            .replace("CERTIFICATE", &certificate)
            .replace("PRIVATE", &certificate)
            .replace("KEYS", &format!("{base}-keys"))
            .replace("PID", &format!("{base}.pid"))
            .replace("TEMPORARY", &format!("{base}-temporary"))
            .replace("NODE", host)
            .replace("SOURCE", SIDECAR)
            .replace("SOCKET", &format!("{base}.sock"));
        // Envoy knows the language by the file's name.
        files.write(&format!("{name}.yaml"), &settings)?;
        Ok(Self { kind, host, address, program, base, process: None })
    }

    /// Returns its section of the sidecar's configuration.
    pub(super) fn section(&self) -> String {
        let base = &self.base;
        match self.kind {
            Kind::HaProxy => {
                format!("[haproxy.www]\nsocket = \"{base}.sock\"\nkeys = \"{base}-keys\"\n")
            }
            Kind::Nginx => format!(
                "[nginx.www]\npid = \"{base}.pid\"\nkeys = [\"{base}-keys0\", \"{base}-keys1\", \"{base}-keys2\"]\n"
            ),
            Kind::Envoy => format!("[envoy.www]\nsocket = \"{base}.sock\"\nsecret = \"stek\"\n"),
        }
    }

    /// Whether the files that it needs for its start are there.
    pub(super) fn can_start(&self) -> bool {
        let is_written = |name: &str| {
            fs::metadata(format!("{}{name}", self.base)).is_ok_and(|metadata| metadata.len() > 0)
        };
        match self.kind {
            Kind::HaProxy => is_written("-keys"),
            Kind::Nginx => ["-keys0", "-keys1", "-keys2"].into_iter().all(is_written),
            Kind::Envoy => true,
        }
    }

    /// Starts it, and waits until it listens.
    pub(super) async fn start(&mut self) -> Result<(), ProgramError> {
        let settings = format!("{}.yaml", self.base);
        let log = format!("{}.log", self.base);
        let mut command = Command::new(&self.program);
        match self.kind {
            Kind::HaProxy => command.args(["-f", &settings, "-db"]),
            Kind::Nginx => command.args(["-e", &log, "-c", &settings, "-g", "daemon off;"]),
            // Without --disable-hot-restart two Envoys would share memory.
            Kind::Envoy => {
                command.args(["-c", &settings, "--disable-hot-restart", "-l", "warning"])
            }
        };
        let output = File::options().create(true).append(true).open(&log).map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output).spawn();
        let mut process = Process(child.map_err(failed)?);
        let began = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let has_ended = process.0.try_wait().is_ok_and(|status| status.is_some());
            if has_ended || began.elapsed() > PATIENCE {
                let log = fs::read_to_string(&log).unwrap_or_default();
                let last = log.trim_end().lines().last().unwrap_or("it printed nothing");
                return Err(failed(format_args!("{} does not start: {last}", self.kind.name())));
            }
            sleep(Duration::from_millis(20)).await;
        }
        self.process = Some(process);
        Ok(())
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        self.process = None;
    }
}

/// Where Envoy gets its keys.
const SIDECAR: &str = "{ resource_api_version: V3, api_config_source: { api_type: GRPC, transport_api_version: V3, \
                       grpc_services: [{ envoy_grpc: { cluster_name: sidecar } }] } }";

/// How long a server may take to end, before it is killed.
const END: Duration = Duration::from_secs(2);

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL would leave nginx's workers behind.
        let id = i32::try_from(self.0.id()).map(Pid::from_raw);
        let asked = id.is_ok_and(|id| kill(id, Signal::SIGTERM).is_ok());
        let began = Instant::now();
        while asked && began.elapsed() < END && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
