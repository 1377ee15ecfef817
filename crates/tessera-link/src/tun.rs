//! The emulated link: two network namespaces, and packets carried between them.
//!
//! Each namespace has one TUN interface, which passes packets from its kernel to this process and back. One thread per
//! direction reads at one end, asks the scheduler, and writes at the other end when the packet is due.

use std::hint;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use thread_priority::ThreadPriority;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::LinkStatistics;
use crate::error::{LinkError, Prerequisite};
use crate::namespace::Namespace;
use crate::netlink;
use crate::packets::IpPacket;
use crate::parameters::{End, LinkAddresses, LinkParameters, SMALLEST_IPV6_MTU};
use crate::paths::Paths;

/// How long before a packet is due its thread stops sleeping and polls the clock.
///
/// An idle processor needs up to some 150 µs to wake, on a virtual machine in particular, and would delay the packet by
/// that. It happens once per burst: the processor is awake when the next packet is due soon after, and polling for that
/// one too would only take processor time from the endpoints under test.
const WATCH: Duration = Duration::from_micros(200);

/// The prefixes that all addresses of a link share: they are the route to the other end in each namespace, and there is
/// no other.
const IPV4_PREFIX: u8 = 24;
const IPV6_PREFIX: u8 = 64;

/// One end: a namespace and the interface in it.
struct Station {
    namespace: Arc<Namespace>,
    device: Arc<SyncDevice>,
    interface: u32,
}

/// An emulated link.
///
/// The fields are dropped in this order: first the threads that carry packets, then the interfaces, then the
/// namespaces.
pub(crate) struct TunLink {
    to_server: Forwarder,
    to_client: Forwarder,
    carried: Arc<Carried>,
    client: Station,
    server: Station,
    addresses: LinkAddresses,
}

/// Checks whether this machine allows emulated links.
pub(crate) fn check() -> Result<(), LinkError> {
    let namespace = Arc::new(Namespace::new("probe")?);
    Station::new(namespace, End::Client, 0, &LinkParameters::default()).map(drop)
}

impl TunLink {
    /// Makes the namespaces and starts carrying packets between them.
    pub(crate) fn open(parameters: &LinkParameters) -> Result<Self, LinkError> {
        let [client, server] = ["client", "server"].map(Namespace::new);
        Self::join(Arc::new(client?), Arc::new(server?), 0, parameters)
    }

    /// Starts carrying packets between two namespaces, over the link with this number in both.
    pub(crate) fn join(
        client: Arc<Namespace>,
        server: Arc<Namespace>,
        number: u8,
        parameters: &LinkParameters,
    ) -> Result<Self, LinkError> {
        let client = Station::new(client, End::Client, number, parameters)?;
        let server = Station::new(server, End::Server, number, parameters)?;
        let paths = Mutex::new(Paths::new(number, parameters));
        let carried = Arc::new(Carried { clock: Instant::now(), paths });
        let to_server = Forwarder::start(End::Server, &carried, &client, &server)?;
        let to_client = Forwarder::start(End::Client, &carried, &server, &client)?;
        let addresses = LinkAddresses::tun(number);
        Ok(Self { to_server, to_client, carried, client, server, addresses })
    }

    pub(crate) fn addresses(&self) -> LinkAddresses {
        self.addresses
    }

    /// Returns the namespace of one end.
    pub(crate) fn namespace(&self, end: End) -> &Namespace {
        &self.station(end).namespace
    }

    /// Changes from one set of parameters to another, and restarts both directions.
    pub(crate) fn set(&self, from: &LinkParameters, to: &LinkParameters) -> Result<(), LinkError> {
        if from.mtu != to.mtu {
            self.client.set_mtu(to.mtu)?;
            self.server.set_mtu(to.mtu)?;
        }
        // The kernel takes the addresses of IPv6 from an interface with a smaller mtu.
        if from.mtu < SMALLEST_IPV6_MTU && to.mtu >= SMALLEST_IPV6_MTU {
            let clients = self.paths().clients();
            clients.into_iter().try_for_each(|client| self.client.add_ipv6(client))?;
            self.server.add_ipv6(self.addresses.server)?;
        }
        self.paths().set(self.carried.clock.elapsed(), to);
        Ok(())
    }

    /// Gives the client one more address.
    pub(crate) fn add_client_address(
        &self,
        parameters: &LinkParameters,
    ) -> Result<IpAddr, LinkError> {
        let client = self.paths().add(self.carried.clock.elapsed(), parameters)?;
        let added = self.client.add_address(client, parameters.mtu);
        if added.is_err() {
            self.paths().remove(client)?;
        }
        added.map(|()| client)
    }

    /// Takes an address from the client.
    pub(crate) fn remove_client_address(&self, client: IpAddr) -> Result<(), LinkError> {
        let client = self.paths().remove(client)?;
        self.client.remove_address(client)
    }

    /// Returns what becomes of the packets.
    pub(crate) fn paths(&self) -> MutexGuard<'_, Paths<IpPacket>> {
        lock(&self.carried.paths)
    }

    /// Returns the packet counts of all paths.
    pub(crate) fn statistics(&self) -> LinkStatistics {
        self.paths().all_statistics()
    }

    /// Returns why packets towards one end are no longer carried, if they are not.
    pub(crate) fn failure(&self, towards: End) -> Option<String> {
        lock(&self.forwarder(towards).shared.failure).clone()
    }

    fn station(&self, end: End) -> &Station {
        match end {
            End::Client => &self.client,
            End::Server => &self.server,
        }
    }

    fn forwarder(&self, towards: End) -> &Forwarder {
        match towards {
            End::Client => &self.to_client,
            End::Server => &self.to_server,
        }
    }
}

impl Station {
    fn new(
        namespace: Arc<Namespace>,
        end: End,
        number: u8,
        parameters: &LinkParameters,
    ) -> Result<Self, LinkError> {
        let address = LinkAddresses::tun(number).of(end);
        let mtu = parameters.mtu;
        // The interface belongs to the namespace of the thread that makes it; any thread can read and write its
        // packets.
        let made = namespace.run(move || make_interface(number, mtu))?;
        let (device, interface) = made.map_err(no_interface)?;
        let station = Self { namespace, device: Arc::new(device), interface };
        station.add_address(address, mtu)?;
        Ok(station)
    }

    /// Adds an address, and where the mtu allows it the one of IPv6 that belongs to it.
    fn add_address(&self, address: IpAddr, mtu: u16) -> Result<(), LinkError> {
        let interface = self.interface;
        self.namespace
            .run(move || netlink::add_address(interface, address, IPV4_PREFIX))?
            .map_err(LinkError::system("adding an address"))?;
        if mtu >= SMALLEST_IPV6_MTU { self.add_ipv6(address) } else { Ok(()) }
    }

    /// Adds the address of IPv6 that belongs to another.
    fn add_ipv6(&self, address: IpAddr) -> Result<(), LinkError> {
        let interface = self.interface;
        let address = LinkAddresses::in_ipv6(address);
        let added =
            self.namespace.run(move || netlink::add_address(interface, address, IPV6_PREFIX))?;
        match added {
            Err(error) if netlink::lacks_ipv6(&error) => Ok(()),
            other => other.map_err(LinkError::system("adding an address of IPv6")),
        }
    }

    fn remove_address(&self, address: IpAddr) -> Result<(), LinkError> {
        let interface = self.interface;
        self.namespace
            .run(move || {
                // It may be absent.
                let _ = netlink::remove_address(interface, LinkAddresses::in_ipv6(address));
                netlink::remove_address(interface, address)
            })?
            .map_err(LinkError::system("removing an address"))
    }

    fn set_mtu(&self, mtu: u16) -> Result<(), LinkError> {
        let device = Arc::clone(&self.device);
        self.namespace
            .run(move || device.set_mtu(mtu))?
            .map_err(LinkError::system("changing an interface's mtu"))
    }
}

/// Makes an interface in the namespace of the calling thread; returns its index there too.
fn make_interface(number: u8, mtu: u16) -> io::Result<(SyncDevice, u32)> {
    let device = DeviceBuilder::new().name(format!("link{number}")).mtu(mtu).build_sync()?;
    device.set_nonblocking(true)?;
    let interface = device.if_index()?;
    Ok((device, interface))
}

/// Distinguishes a machine without TUN interfaces from a failure to make one.
fn no_interface(source: io::Error) -> LinkError {
    // The device may be forbidden, absent, or present without a driver.
    let absent = [Errno::EPERM, Errno::EACCES, Errno::ENOENT, Errno::ENODEV, Errno::ENXIO];
    if absent.iter().any(|errno| source.raw_os_error() == Some(*errno as i32)) {
        LinkError::Unavailable { missing: Prerequisite::TunDevice, source }
    } else {
        LinkError::System { doing: "making a TUN interface", source }
    }
}

/// What both directions share.
struct Carried {
    clock: Instant,
    paths: Mutex<Paths<IpPacket>>,
}

/// State that the thread of one direction shares with the link.
struct Shared {
    towards: End,
    carried: Arc<Carried>,
    stopping: AtomicBool,
    /// Wakes the thread from waiting for packets.
    wake: EventFd,
    failure: Mutex<Option<String>>,
}

/// One direction of the link, and the thread that carries its packets.
struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    fn start(
        towards: End,
        carried: &Arc<Carried>,
        from: &Station,
        to: &Station,
    ) -> Result<Self, LinkError> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(io::Error::from)
            .map_err(LinkError::system("making an event descriptor"))?;
        let shared = Arc::new(Shared {
            towards,
            carried: Arc::clone(carried),
            stopping: AtomicBool::new(false),
            wake,
            failure: Mutex::new(None),
        });
        let (theirs, from, to) =
            (Arc::clone(&shared), Arc::clone(&from.device), Arc::clone(&to.device));
        let thread = thread::Builder::new()
            .name(match towards {
                End::Client => "to-client".to_owned(),
                End::Server => "to-server".to_owned(),
            })
            .spawn(move || {
                if let Err(error) = carry(&theirs, &from, &to) {
                    *lock(&theirs.failure) = Some(error.to_string());
                }
            })
            .map_err(LinkError::system("starting a link's thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        // Fails only if the counter is full, and then the thread is about to wake anyway.
        let _ = self.shared.wake.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Carries packets until it is stopped.
fn carry(shared: &Shared, from: &SyncDevice, to: &SyncDevice) -> io::Result<()> {
    be_punctual()?;
    let Carried { clock, paths } = &*shared.carried;
    let mut watch_until = Duration::ZERO;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    while !shared.stopping.load(Ordering::Acquire) {
        if deliver_due(shared, to) {
            watch_until = Duration::ZERO;
        }
        // One packet at a time, so that no due packet waits while others are read.
        match from.recv(&mut buffer) {
            Ok(length) => {
                let packet = IpPacket(buffer[..length].to_vec());
                let now = clock.elapsed();
                // Kernels also announce themselves when an interface appears, from addresses without a path; these
                // packets would draw random numbers too, and make every run differ.
                lock(paths).offer(now, shared.towards, packet);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if clock.elapsed() < watch_until {
                    hint::spin_loop();
                } else {
                    watch_until = wait(shared, from)?;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes the calling thread wake on time, also on a busy machine.
fn be_punctual() -> io::Result<()> {
    // By default the kernel lets a thread sleep 50 µs longer than requested, to save power.
    set_timerslack(1)?;
    // Ahead of all threads of ordinary priority, among which a packet waits for up to a few milliseconds on a busy
    // machine. Only root may do this; other users need a quiet machine, and the statistics show how late packets were.
    let _ = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Min,
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    );
    Ok(())
}

/// Delivers the packets that are due; returns whether there were any.
fn deliver_due(shared: &Shared, to: &SyncDevice) -> bool {
    let Carried { clock, paths } = &*shared.carried;
    let mut any = false;
    loop {
        let now = clock.elapsed();
        // A separate statement, so that the lock is not held while the kernel works.
        let packet = lock(paths).take_due(now, shared.towards);
        let Some(packet) = packet else { return any };
        any = true;
        // A packet that the kernel refuses is lost, as on any network.
        if to.send(&packet.0).is_err() {
            lock(paths).refused(shared.towards, &packet);
        }
    }
}

/// Waits until a packet arrives, a packet is due, or the link is to stop. After a long sleep it returns shortly before a
/// packet is due, and the caller polls for it until the moment that is returned: no longer, since the packet is gone if
/// its address was removed meanwhile.
fn wait(shared: &Shared, from: &SyncDevice) -> io::Result<Duration> {
    let Carried { clock, paths } = &*shared.carried;
    let due = lock(paths).next_due(shared.towards);
    let until_due = due.map(|due| due.saturating_sub(clock.elapsed()));
    let to_watch = until_due.is_some_and(|until_due| until_due > WATCH);
    let sleep = until_due.map(|until_due| if to_watch { until_due - WATCH } else { until_due });
    let mut descriptors = [
        PollFd::new(from.as_fd(), PollFlags::POLLIN),
        PollFd::new(shared.wake.as_fd(), PollFlags::POLLIN),
    ];
    match ppoll(&mut descriptors, sleep.map(TimeSpec::from_duration), None) {
        Ok(0) if to_watch => Ok(due.unwrap_or_default()),
        Ok(_) | Err(Errno::EINTR) => Ok(Duration::ZERO),
        Err(errno) => Err(errno.into()),
    }
}

/// Locks, also after a panic elsewhere: the guarded values are consistent after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
