//! A pool of two HAProxys with the program as their sidecars.

use tessera_stek_tests::{Fleet, RunningServer, Sidecar};
use tessera_test_peers::Directory;

use crate::program::PROGRAM;

/// The sidecars are `a` and `b`.
pub struct Pool {
    pub fleet: Fleet,
    pub servers: [RunningServer; 2],
    pub sidecars: [Sidecar; 2],
    _files: Directory,
}

impl Pool {
    /// Prepares a pool, which [`start`](Self::start) starts. `stores` returns the settings of each sidecar's store, given a
    /// directory for their files and the path of the authority. Keys rotate every `rotate_every`.
    pub fn new(
        rotate_every: &str,
        stores: impl FnOnce(&Fleet, &Directory, &str) -> [String; 2],
    ) -> Self {
        let fleet = Fleet::new();
        let servers = [RunningServer::haproxy(&fleet.pki), RunningServer::haproxy(&fleet.pki)];
        let files = Directory::new();
        let ca = files.write("ca.pem", fleet.pki.authority.pem());
        let times =
            ["rotate-every", "ticket-lifetime"].map(|it| format!("{it} = {rotate_every:?}"));
        let stores = stores(&fleet, &files, &ca);
        let sidecars = [0, 1].map(|at: usize| {
            let ring = format!("{}\n{}", times.join("\n"), stores[at]);
            Sidecar::new(PROGRAM, ["a", "b"][at], &ring, &servers[at].haproxy_section(&ca))
        });
        Self { fleet, servers, sidecars, _files: files }
    }

    /// Starts each sidecar, and then its server.
    pub async fn start(&mut self) {
        for (sidecar, server) in self.sidecars.iter_mut().zip(&mut self.servers) {
            sidecar.start();
            server.start_with_keys().await;
        }
    }

    /// Returns the keys of each server: the earlier one, the one that seals, the next one.
    pub fn keys(&self) -> [Vec<Vec<u8>>; 2] {
        self.servers.each_ref().map(RunningServer::haproxy_keys)
    }

    /// Returns the key that seals, if it is the same at both servers.
    pub fn sealing(&self) -> Option<Vec<u8>> {
        let [a, b] = self.keys();
        (a[1] == b[1]).then(|| a[1].clone())
    }

    pub async fn tickets_cross(&self) -> bool {
        let [a, b] = self.servers.each_ref().map(|server| server.address);
        self.fleet.crosses(a, b).await && self.fleet.crosses(b, a).await
    }

    pub fn is_well(&self) -> bool {
        self.sidecars.iter().all(Sidecar::is_well)
    }

    pub fn statuses(&self) -> [String; 2] {
        self.sidecars.each_ref().map(|sidecar| {
            let output = sidecar.task("status");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }

    /// Has a sidecar rotate.
    pub fn rotate(&self, at: usize) {
        let rotated = self.sidecars[at].task("rotate");
        assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
    }
}
