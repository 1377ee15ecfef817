//! An Envoy as a member of a pool: with `tessera edge` for its answers, and `tessera stek` for its ticket keys.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use tessera_test_peers::{Directory, Network, Process};

use crate::pool::Pool;
use crate::proxy::Places;
use crate::service::Instance;

/// The member `e`.
pub struct EnvoyMember {
    /// Where clients connect to.
    pub address: SocketAddr,
    /// The instance of its services.
    pub instance: Instance,
    envoy: Process,
    edge: Process,
    sidecar: Process,
    _directory: Directory,
}

impl EnvoyMember {
    /// Returns the section `[envoys]` of the pool's own proxies.
    pub const ENVOYS: &'static str =
        "[envoys]\npool = \"www\"\nkey = \"ring.key\"\nclock-skew = \"1s\"\n";

    /// Starts it next to the pool's first proxy, `a`. `ENVOY` names the program.
    pub async fn start(program: &'static str, pool: &Pool) -> Self {
        let directory = Directory::new();
        pool.write_files(&directory);
        for inner in ["sockets", "cache"] {
            let inner = directory.path(inner);
            fs::create_dir(&inner).unwrap();
            fs::set_permissions(&inner, Permissions::from_mode(0o700)).unwrap();
            // Peers own the directory itself.
            let owner = fs::metadata(directory.as_path()).unwrap();
            chown(&inner, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        let instance = Instance::start("e", &pool.executions).await;
        let Places { clients: address, peers, .. } = Places::at(3);
        let of = instance.address;
        let endpoints = pool.etcd.endpoints();
        let store = format!(
            "etcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}\n"
        );
        let edge = format!(
            "[pool]\n{store}key = \"pool.key\"\nma = 1\ndwell = 1\nclock-skew = \"100ms\"\nprepare = \"10s\"\n\
             [proxy]\nname = \"e\"\nannounce = \"{address}\"\ncertificate = \"www.pem\"\n\
             [ext-authz]\nsocket = \"sockets/authz\"\n\
             [peers]\nlisten = \"{peers}\"\naddress = \"localhost:{}\"\ncertificate = \"peer.pem\"\nca = \"pool.pem\"\n\
             [clients]\nnamed-by = \"cookie\"\n\
             [service.web]\ninstances = [\"{of}\"]\n\
             [service.cart]\npath = \"/cart\"\nstate = \"/state\"\ninstances = [\"{of}\"]\n",
            peers.port()
        );
        let sidecar = format!(
            "[ring]\nkey = \"ring.key\"\nmember = \"e\"\ncache = \"cache/ring\"\nclock-skew = \"1s\"\n{store}\
             [envoy.www]\nsocket = \"sockets/sds\"\nsecret = \"stek\"\ncertificate = \"www.pem\"\n"
        );
        let envoy = include_str!("envoy.yaml")
            .replace("ADDRESS", &address.ip().to_string())
            .replace("PORT", &address.port().to_string())
            .replace("PEER", &pool.proxies[0].places.peers.port().to_string())
            .replace("INSTANCE", &of.port().to_string())
            .replace("DIRECTORY/", &directory.path(""));
        let start = |task: &str, file: &str, text: &str| {
            let file = directory.write(file, text);
            Process::start_compiled(program_name(task), program, Network::Loopback, [task, &file])
        };
        let sidecar = start("stek", "stek.toml", &sidecar);
        let edge = start("run", "edge.toml", &edge);
        edge.listens_on(peers.port());
        let program = std::env::var("ENVOY").expect("ENVOY names the program");
        let file = directory.write("envoy.yaml", envoy);
        // Without --disable-hot-restart two Envoys would share memory.
        let options = ["-c", &file, "--disable-hot-restart", "--concurrency", "1", "-l", "warning"];
        let envoy = Process::start_compiled("envoy", &program, Network::Loopback, options);
        envoy.listens_on(address.port());
        Self { address, instance, envoy, edge, sidecar, _directory: directory }
    }

    /// Returns what its three processes have logged.
    pub fn log(&self) -> String {
        [&self.envoy, &self.edge, &self.sidecar].map(Process::output).concat()
    }

    /// Kills `tessera edge`.
    pub fn kill_edge(&mut self) {
        self.edge.kill();
    }
}

fn program_name(task: &str) -> &'static str {
    match task {
        "stek" => "tessera stek",
        _ => "tessera edge",
    }
}
