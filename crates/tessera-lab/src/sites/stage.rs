//! A client and two sites: three processes, on three nodes, each joined with both others.

use std::net::SocketAddr;
use std::time::Duration;
use std::{mem, thread};

use tessera_link::{End, Link, LinkParameters, Network, Node};

use super::path::{Path, SiteKind, patience};
use crate::bench::{Bench, is_listening, listen};
use crate::control::{Preparation, ServerOrder, Site};
use crate::endpoint;
use crate::error::LabError;
use crate::pki::Identity;
use crate::processes::Process;

/// Both sites and their client.
pub(super) struct Stage {
    /// The client, and the site that it connects to next.
    pub(super) bench: Bench,
    at: SiteKind,
    /// The other one.
    elsewhere: RemoteSite,
    /// Joins the sites; the home is its server.
    between: Link,
}

struct RemoteSite {
    // Before the link: the process ends before it is taken away.
    server: Process,
    address: SocketAddr,
    link: Link,
}

impl Stage {
    pub(super) fn new(network: &Network) -> Result<Self, LabError> {
        let node = |name: &str| -> Result<Node, LabError> { Ok(network.node(name)?) };
        let (client, home, away) = (node("client")?, node("home")?, node("away")?);
        let join = |one: &Node, other: &Node| network.join(one, other, &LinkParameters::default());
        let (to_home, to_away) = (join(&client, &home)?, join(&client, &away)?);
        let between = join(&away, &home)?;
        let mut server = Process::start_as("other site", &to_away, End::Server)?;
        let address = listen(&mut server, &to_away)?;
        let elsewhere = RemoteSite { server, address, link: to_away };
        Ok(Self { bench: Bench::start(to_home)?, at: SiteKind::Home, elsewhere, between })
    }

    /// The client connects there from now on.
    pub(super) fn turn_to(&mut self, at: SiteKind) {
        if self.at != at {
            let (bench, other) = (&mut self.bench, &mut self.elsewhere);
            mem::swap(&mut bench.server, &mut other.server);
            mem::swap(&mut bench.address, &mut other.address);
            mem::swap(&mut bench.link, &mut other.link);
            self.at = at;
        }
    }

    /// Changes the links between the client and both sites, and the one between the sites.
    pub(super) fn set_links(
        &mut self,
        client: &LinkParameters,
        site_rtt: Duration,
    ) -> Result<(), LabError> {
        for at in [SiteKind::Home, SiteKind::Away] {
            self.turn_to(at);
            self.bench.set_link(client)?;
        }
        let between = LinkParameters { rtt: site_rtt, ..LinkParameters::default() };
        if self.between.parameters() != between {
            thread::sleep(self.between.parameters().rtt);
            self.between.set(&between)?;
        }
        Ok(())
    }

    /// Starts over: both sites with one ticket key, and the client with sessions of home.
    pub(super) fn prepare(
        &mut self,
        path: Path,
        site_rtt: Duration,
        sessions: usize,
        attacked: bool,
    ) -> Result<(), LabError> {
        let ticket_key = endpoint::new_ticket_key()
            .map_err(|error| LabError::Connection(format!("making a ticket key: {error}")))?;
        let address = self.between.addresses().server;
        let [home, away] = [&self.bench.pki.home, &self.bench.pki.away].map(Identity::clone);

        self.turn_to(SiteKind::Home);
        let site = Site::Home { ticket_key: ticket_key.clone(), identity: home, address };
        self.prepare_site(path, attacked, site)?;
        let home = is_listening(&mut self.bench.server)?;

        self.turn_to(SiteKind::Away);
        let (patience, acknowledges) = (patience(site_rtt), path.acknowledges());
        let site = Site::Away { ticket_key, identity: away, home, patience, acknowledges };
        self.prepare_site(path, attacked, site)?;
        self.bench.server_is_ready()?;
        self.reach_home()?;

        self.turn_to(SiteKind::Home);
        self.bench.prepare_client(path.way(), sessions, attacked, Some(Site::Visitor))
    }

    fn prepare_site(&mut self, path: Path, attacked: bool, site: Site) -> Result<(), LabError> {
        let identity = self.bench.pki.server.clone();
        let preparation =
            Preparation { attacked, site: Some(site), ..Preparation::new(path.way(), identity) };
        self.bench.server.tell(&ServerOrder::Prepare(Box::new(preparation)))
    }

    /// Waits until the channel between the sites carries requests.
    pub(super) fn reach_home(&mut self) -> Result<(), LabError> {
        let at = self.at;
        self.turn_to(SiteKind::Away);
        self.bench.server.tell(&ServerOrder::ReachHome)?;
        self.bench.server_is_ready()?;
        self.turn_to(at);
        Ok(())
    }

    /// Returns the home's process.
    pub(super) fn home(&mut self) -> &mut Process {
        match self.at {
            SiteKind::Home => &mut self.bench.server,
            SiteKind::Away => &mut self.elsewhere.server,
        }
    }

    /// Returns where a site listens.
    pub(super) fn address(&self, at: SiteKind) -> SocketAddr {
        if self.at == at { self.bench.address } else { self.elsewhere.address }
    }
}
