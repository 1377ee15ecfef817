//! Changes of the machine's network, as Linux reports them (rtnetlink(7)).

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket,
};
use tokio::net::{UdpSocket, UnixDatagram};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::connection::ClientDatagramConnection;
use super::socket::any_address;

/// Changes of the machine's network: its interfaces, addresses and routes. Cheap to clone.
#[derive(Clone)]
pub struct NetworkChanges {
    seen: watch::Receiver<()>,
    _task: Arc<Task>,
}

/// Ends with its last user.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl NetworkChanges {
    /// Watches the network, with one socket of the system and one task.
    ///
    /// # Errors
    /// The system reports no changes.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn watch() -> io::Result<Self> {
        let netlink = NetlinkSocket::open()?;
        let (sender, seen) = watch::channel(());
        let task = tokio::spawn(async move {
            while settled(|| netlink.change()).await.is_ok() {
                sender.send_replace(());
            }
        });
        Ok(Self { seen, _task: Arc::new(Task(task.abort_handle())) })
    }
}

/// A socket of rtnetlink. A type of datagrams can hold it: it is received from alike.
struct NetlinkSocket(UnixDatagram);

impl NetlinkSocket {
    fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let protocol = SockProtocol::NetlinkRoute;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        UnixDatagram::from_std(fd.into()).map(Self)
    }

    /// Waits for a change. What has changed isn't read: the system is asked for the outcome.
    async fn change(&self) -> io::Result<()> {
        match self.0.recv(&mut [0; 64]).await {
            // More changes than the socket keeps.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
            received => received.map(drop),
        }
    }
}

/// Waits for a change, and until the network is quiet for a moment, or for a second: an interface that comes and goes ten
/// times in a second is looked at once.
async fn settled<F: Future<Output = io::Result<()>>>(change: impl Fn() -> F) -> io::Result<()> {
    change().await?;
    let latest = Instant::now() + LONGEST_UNREST;
    loop {
        let quiet = Instant::now() + QUIET;
        if quiet >= latest {
            sleep_until(latest).await;
            return Ok(());
        }
        match timeout_at(quiet, change()).await {
            Ok(changed) => changed?,
            Err(_) => return Ok(()),
        }
    }
}

impl ClientDatagramConnection {
    /// Follows the machine's network until the connection fails: when the system would send to the server from another
    /// address, the connection continues there, as by [`move_to`](Self::move_to) if the earlier address is still there,
    /// otherwise as by [`rebind`](Self::rebind). Run it together with what uses the connection.
    ///
    /// The system chooses the interface by the address of the server alone, unless it has rules for those of its own
    /// (ip-rule(8)).
    ///
    /// # Errors
    /// The connection has failed, or the system reports no changes any more.
    pub async fn follow_network(&self, changes: &NetworkChanges) -> io::Result<()> {
        let mut seen = changes.seen.clone();
        let mut used = self.source().await.ok();
        loop {
            seen.changed().await.map_err(|_| io::ErrorKind::BrokenPipe)?;
            // Without a route to the server, the next change may bring one.
            let Ok(source) = self.source().await else { continue };
            if used == Some(source) {
                continue;
            }
            let Ok(socket) = UdpSocket::bind((source, 0)).await else { continue };
            let is_still_there = match used {
                Some(used) => UdpSocket::bind((used, 0)).await.is_ok(),
                None => false,
            };
            match is_still_there {
                true => self.move_to(socket).await?,
                false => self.rebind(socket).await?,
            }
            used = Some(source);
        }
    }

    /// Returns the address from which the system would send to the server.
    async fn source(&self) -> io::Result<IpAddr> {
        let server = self.peer_addr().ok_or(io::ErrorKind::NotConnected)?;
        let socket = UdpSocket::bind(any_address(server)).await?;
        socket.connect(server).await?;
        Ok(socket.local_addr()?.ip())
    }
}

/// Interfaces, and the addresses and routes of both families.
const GROUPS: u32 = (libc::RTMGRP_LINK
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_IFADDR
    | libc::RTMGRP_IPV6_ROUTE) as u32;

/// How long the network is quiet once it has changed.
const QUIET: Duration = Duration::from_millis(150);

/// How long it may be in unrest before it is looked at.
const LONGEST_UNREST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::{sleep, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_interface_that_comes_and_goes_is_looked_at_once_a_second() {
        let began = Instant::now();
        for looks in 1..=10 {
            let flapping = async || {
                sleep(Duration::from_millis(100)).await;
                Ok(())
            };
            settled(flapping).await.expect("no error");
            let least = Duration::from_millis(900) * looks;
            assert!(began.elapsed() >= least, "{looks}: {:?}", began.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_change_is_looked_at_soon() {
        let began = Instant::now();
        let is_first = Cell::new(true);
        let change = async || {
            if !is_first.replace(false) {
                std::future::pending::<()>().await;
            }
            Ok(())
        };
        settled(change).await.expect("no error");
        assert_eq!(began.elapsed(), QUIET);
    }

    #[tokio::test]
    async fn the_system_reports_changes_and_none_where_there_are_none() {
        let netlink = NetlinkSocket::open().expect("Linux");
        let waited = timeout(Duration::from_millis(10), netlink.change()).await;
        assert!(waited.is_err() || waited.is_ok_and(|it| it.is_ok()));
    }
}
