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

use crate::error::{LinkError, Prerequisite};
use crate::namespace::Namespace;
use crate::packets::{is_ipv4, is_syn_with_data};
use crate::parameters::{End, LinkAddresses, LinkParameters};
use crate::scheduler::{DirectionStatistics, Scheduler};

/// How long before a packet is due its thread stops sleeping and polls the clock.
///
/// An idle processor needs up to some 150 µs to wake, on a virtual machine in particular, and would delay the packet by
/// that. It happens once per burst: the processor is awake when the next packet is due soon after, and polling for that
/// one too would only take processor time from the endpoints under test.
const WATCH: Duration = Duration::from_micros(200);

/// The prefix that both addresses of a link share: it adds the route to the other end in each namespace, and no other.
const PREFIX: u8 = 30;

/// One end: a namespace and the interface in it.
struct Station {
    namespace: Arc<Namespace>,
    device: Arc<SyncDevice>,
}

/// An emulated link.
///
/// The fields are dropped in this order: first the threads that carry packets, then the interfaces, then the
/// namespaces.
pub(crate) struct TunLink {
    to_server: Forwarder,
    to_client: Forwarder,
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
        let to_server = Forwarder::start(End::Server, parameters, &client, &server)?;
        let to_client = Forwarder::start(End::Client, parameters, &server, &client)?;
        let addresses = LinkAddresses::tun(number);
        Ok(Self { to_server, to_client, client, server, addresses })
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
        self.to_server.set(to);
        self.to_client.set(to);
        Ok(())
    }

    /// Returns the packet counts towards one end.
    pub(crate) fn statistics(&self, towards: End) -> DirectionStatistics {
        lock(&self.forwarder(towards).shared.scheduler).statistics()
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
        let device = namespace.run(move || make_interface(number, address, mtu))?;
        let device = device.map_err(no_interface)?;
        let device = Arc::new(device);
        Ok(Self { namespace, device })
    }

    fn set_mtu(&self, mtu: u16) -> Result<(), LinkError> {
        let device = Arc::clone(&self.device);
        self.namespace
            .run(move || device.set_mtu(mtu))?
            .map_err(LinkError::system("changing an interface's mtu"))
    }
}

/// Makes an interface in the namespace of the calling thread.
fn make_interface(number: u8, address: IpAddr, mtu: u16) -> io::Result<SyncDevice> {
    let IpAddr::V4(address) = address else {
        return Err(ErrorKind::Unsupported.into());
    };
    let device = DeviceBuilder::new()
        .name(format!("link{number}"))
        .mtu(mtu)
        .ipv4(address, PREFIX, None)
        .build_sync()?;
    device.set_nonblocking(true)?;
    Ok(device)
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

/// State that the thread of one direction shares with the link.
struct Shared {
    clock: Instant,
    scheduler: Mutex<Scheduler<Vec<u8>>>,
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
        parameters: &LinkParameters,
        from: &Station,
        to: &Station,
    ) -> Result<Self, LinkError> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(io::Error::from)
            .map_err(LinkError::system("making an event descriptor"))?;
        let shared = Arc::new(Shared {
            clock: Instant::now(),
            scheduler: Mutex::new(Scheduler::new(parameters, towards)),
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

    fn set(&self, parameters: &LinkParameters) {
        // This makes no waiting packet due earlier, so the thread need not be woken.
        lock(&self.shared.scheduler).set(self.shared.clock.elapsed(), parameters);
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
    let clock = shared.clock;
    let mut watching = false;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    while !shared.stopping.load(Ordering::Acquire) {
        watching &= !deliver_due(shared, to, clock);
        // One packet at a time, so that no due packet waits while others are read.
        match from.recv(&mut buffer) {
            Ok(length) => {
                let packet = &buffer[..length];
                if is_ipv4(packet) {
                    let now = clock.elapsed();
                    let mut scheduler = lock(&shared.scheduler);
                    if !(is_syn_with_data(packet) && scheduler.loses_syn_data(length)) {
                        scheduler.offer(now, length, packet.to_vec());
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if watching {
                    hint::spin_loop();
                } else {
                    watching = wait(shared, from, clock)?;
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
fn deliver_due(shared: &Shared, to: &SyncDevice, clock: Instant) -> bool {
    let mut any = false;
    loop {
        let now = clock.elapsed();
        // A separate statement, so that the lock is not held while the kernel works.
        let packet = lock(&shared.scheduler).take_due(now);
        let Some(packet) = packet else { return any };
        any = true;
        // A packet that the kernel refuses is lost, as on any network.
        if to.send(&packet).is_err() {
            lock(&shared.scheduler).refused();
        }
    }
}

/// Waits until a packet arrives, a packet is due, or the link is to stop. After a long sleep it returns true shortly
/// before a packet is due, and the caller polls for it.
fn wait(shared: &Shared, from: &SyncDevice, clock: Instant) -> io::Result<bool> {
    let due = lock(&shared.scheduler).next_due();
    let until_due = due.map(|due| due.saturating_sub(clock.elapsed()));
    let to_watch = until_due.is_some_and(|until_due| until_due > WATCH);
    let sleep = until_due.map(|until_due| if to_watch { until_due - WATCH } else { until_due });
    let mut descriptors = [
        PollFd::new(from.as_fd(), PollFlags::POLLIN),
        PollFd::new(shared.wake.as_fd(), PollFlags::POLLIN),
    ];
    match ppoll(&mut descriptors, sleep.map(TimeSpec::from_duration), None) {
        Ok(0) => Ok(to_watch),
        Ok(_) | Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Locks, also after a panic elsewhere: the guarded values are consistent after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
