//! The programs, and the arms of each.

use std::path::Path;
use std::process::Command;

use tessera_pki::Authority;
use tessera_test_peers::{Directory, Network, Process};

/// A program with its files: an authority's certificate, and a server's with its key.
pub struct Program {
    path: String,
    directory: Directory,
}

/// What a client does when its path is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Its name in `--arm`.
    pub name: &'static str,
    /// What the second handshake is; `None` if the association goes on.
    pub second_handshake: Option<&'static str>,
    /// The most sockets of a server with one client, and the most ports.
    pub sockets_and_ports: (u64, u64),
}

impl Arm {
    /// OpenSSL's.
    pub const OPENSSL: [Self; 5] = [
        Self { name: "openssl-full", second_handshake: Some("full"), sockets_and_ports: (1, 1) },
        Self {
            name: "openssl-session-id",
            second_handshake: Some("resumed"),
            sockets_and_ports: (1, 1),
        },
        Self {
            name: "openssl-ticket",
            second_handshake: Some("resumed"),
            sockets_and_ports: (1, 1),
        },
        Self { name: "openssl-ipc", second_handshake: None, sockets_and_ports: (2, 2) },
        // The temporary socket has the port of the welcome socket.
        Self { name: "openssl-tcs", second_handshake: None, sockets_and_ports: (3, 2) },
    ];

    /// pion's, with connection IDs.
    pub const PION: Self = Self::of_one_socket("pion-cid");

    /// Scandium's, with connection IDs.
    pub const SCANDIUM: Self = Self::of_one_socket("scandium-cid");

    /// quinn's.
    pub const QUINN: Self = Self::of_one_socket("quinn-rebind");

    const fn of_one_socket(name: &'static str) -> Self {
        Self { name, second_handshake: None, sockets_and_ports: (1, 1) }
    }
}

impl Program {
    /// Compiles OpenSSL's with Debian's library, in this folder; returns its path.
    ///
    /// # Panics
    /// If there is no compiler, or no library.
    #[track_caller]
    pub fn compile_openssl(folder: &str) -> String {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("openssl");
        let path = format!("{folder}/openssl-peer");
        let build = Command::new(sources.join("build")).arg(&path).output();
        let build = build.expect("the repository has its script");
        assert!(
            build.status.success(),
            "run scripts/setup-tests, or install Debian's package libssl-dev: {}",
            String::from_utf8_lossy(&build.stderr)
        );
        path
    }

    /// The one at this path, with certificates.
    pub fn new(path: &str) -> Self {
        let directory = Directory::new();
        let authority = Authority::new("mobile peers");
        let server = authority.issue("server.example");
        directory.write("ca.pem", authority.pem());
        directory.write("stranger.pem", Authority::new("another").pem());
        directory.write("certificate.pem", server.chain_pem());
        directory.write_private("key.pem", server.key_pem());
        Self { path: path.to_owned(), directory }
    }

    /// Returns the path of one of its files.
    pub(crate) fn file(&self, name: &str) -> String {
        self.directory.path(name)
    }

    #[track_caller]
    pub(crate) fn start(&self, arguments: &[&str]) -> Process {
        Process::start_compiled("the program", &self.path, Network::Loopback, arguments)
    }
}
