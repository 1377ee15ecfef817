//! Two SEPPs over a link: `tessera sepp run` twice, and the network functions of both sides in this process.
//!
//! ```text
//!   AMF, SMF ── visited SEPP ══ N32 over the link ══ home SEPP ── NRF, AUSF, UDM
//!   └──── client's end ────┘                        └──── server's end ───────┘
//! ```
//!
//! A sample is a connection of N32-f that comes back with a registration on it. The metrics of both SEPPs show its
//! mode: a sample of another mode is an error, never a number.
//!
//! The visited SEPP rebuilds its N32-f because its configuration is reloaded with its peer's address written in another
//! way ([`PairFiles::move_home`]). The association, its tickets and the link stay as they are, and there is no proxy
//! between the two. The cost of the reload is before the sample.

mod configuration;
mod functions;
mod option;
mod process;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use tessera_link::{End, Link, LinkParameters};
use tessera_proxy::demo::{HOME, OperatorIdentity, VISITED};

use self::configuration::{PairFiles, Places};
use self::functions::{AnsweredExchange, Consumer, Producers};
pub(crate) use self::option::SeppOption;
use self::process::{Counts, SeppProcess, check_program};
use crate::bench::{WARM_UP, us};
use crate::error::LabError;
use crate::experiment::Orphans;
use crate::registration::LOCAL_BREAKOUT;

/// Two SEPPs that have an association, and network functions at both.
pub(crate) struct SeppPair<'l> {
    // Dropped before the processes, whose numbers may be reused after them.
    _orphans: Orphans,
    // Dropped before the files and the link: the processes end first.
    visited: SeppProcess,
    home: SeppProcess,
    consumer: Consumer,
    producers: Producers,
    option: SeppOption,
    files: PairFiles,
    link: &'l Link,
}

/// A connection of N32-f that came back, with a registration on it. Times are those of the network functions, in
/// microseconds.
#[derive(Clone, Debug)]
pub(crate) struct SeppSample {
    /// From the beginning of the first exchange until the home network's function had the request: TCP and TLS between
    /// the SEPPs are in it.
    pub(crate) first_request_us: f64,
    /// From the same start until the visited network's function had the complete answer.
    pub(crate) first_response_us: f64,
    /// From the beginning of the first exchange to the end of the last.
    pub(crate) registration_us: f64,
    /// The cost at the visited network's SEPP.
    pub(crate) visited: SeppCost,
    /// The cost at the home network's SEPP.
    pub(crate) home: SeppCost,
}

/// The processor time of a SEPP's process, including the kernel's work for it, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeppCost {
    /// Until the consumer had the first answer. A SEPP's work after its own part (issuing or storing tickets) is
    /// included as far as it was done by then: over a link the home network's has half a round trip for it.
    pub(crate) first_cpu_us: f64,
    /// Until the end of the registration.
    pub(crate) cpu_us: f64,
}

/// The memory of both processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeppMemory {
    /// Resident, in bytes.
    pub(crate) visited: u64,
    /// Resident, in bytes.
    pub(crate) home: u64,
}

impl<'l> SeppPair<'l> {
    /// How many exchanges a registration has.
    pub(crate) const EXCHANGES: usize = LOCAL_BREAKOUT.len();

    /// Starts both, and reconnects often enough for a steady state. Afterwards the link has no delay:
    /// [`set_link`](Self::set_link) sets one.
    ///
    /// # Errors
    /// [`LabError::Options`] if this program is no SEPP; otherwise if something fails.
    pub(crate) fn start(link: &'l Link, option: &SeppOption) -> Result<Self, LabError> {
        check_program()?;
        link.set(&LinkParameters::default())?;
        let mut tries = if link.emulates() { 1 } else { TRIES_ON_LOOPBACK };
        let mut pair = loop {
            tries -= 1;
            match Self::try_start(link, option) {
                // Another process may have taken a port between the check and the start.
                Err(LabError::Endpoint { .. }) if tries > 0 => {}
                tried => break tried?,
            }
        };
        pair.warm_up()?;
        Ok(pair)
    }

    fn try_start(link: &'l Link, option: &SeppOption) -> Result<Self, LabError> {
        let producers = Producers::start(link)?;
        let places = places(link, producers.address)?;
        let files = PairFiles::write(option, &places)?;
        let start = |name, end, operator: OperatorIdentity| {
            SeppProcess::start(name, link, end, &files.of(operator), files.admin(operator))
        };
        // The home SEPP is there when the visited one begins.
        let mut home = start("home SEPP", End::Server, HOME)?;
        home.listens()?;
        let mut visited = start("visited SEPP", End::Client, VISITED)?;
        let _orphans = Orphans::watch(&[home.pid(), visited.pid()], &files.directory())
            .map_err(LabError::system("starting `sh` next to the SEPPs"))?;
        visited.is_associated()?;
        home.is_associated()?;
        let consumer = Consumer::start(link, places.sbi)?;
        Ok(Self {
            _orphans,
            visited,
            home,
            consumer,
            producers,
            option: option.clone(),
            files,
            link,
        })
    }

    /// Reconnects until several in a row have the right mode. At first they may not: a new etcd has no ticket keys for
    /// a while, and without them there are no tickets.
    fn warm_up(&mut self) -> Result<(), LabError> {
        let (began, mut in_a_row) = (Instant::now(), 0);
        self.register(|| Ok(()))?;
        while in_a_row < WARM_UP {
            match self.reconnect() {
                Ok(_) => in_a_row += 1,
                Err(LabError::Connection(_)) if began.elapsed() < PATIENCE => in_a_row = 0,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Changes the link when the last packets have left it.
    pub(crate) fn set_link(&self, parameters: &LinkParameters) -> Result<(), LabError> {
        let present = self.link.parameters();
        if *parameters != present {
            if self.link.emulates() {
                thread::sleep(present.settling_time());
            }
            self.link.set(parameters)?;
        }
        Ok(())
    }

    /// Reconnects N32-f, with a registration on it.
    ///
    /// # Errors
    /// [`LabError::Connection`] if the registration failed or the connection was not of the option: the pair can
    /// continue. Other errors end it.
    pub(crate) fn reconnect(&mut self) -> Result<SeppSample, LabError> {
        self.files.move_home()?;
        self.visited.reload()?;
        self.settle()?;
        self.producers.take_arrivals();
        let counted = [self.visited.counts()?, self.home.counts()?];
        let used = self.used()?;
        let mut first = used;
        let asked = self.register(|| {
            first = self.used()?;
            Ok(())
        });
        let last = self.used()?;
        let arrivals = self.producers.take_arrivals();
        let asked = asked?;
        self.check(&counted)?;
        let ([first_asked, ..], Some(arrived), Some(end)) =
            (asked.as_slice(), arrivals.first(), asked.last())
        else {
            return Err(LabError::Connection("no request arrived".to_owned()));
        };
        if arrivals.len() != asked.len() {
            let what = format!("of {} requests {} arrived", asked.len(), arrivals.len());
            return Err(LabError::Connection(what));
        }
        let cost = |sepp: usize| SeppCost {
            first_cpu_us: us(first[sepp].saturating_sub(used[sepp])),
            cpu_us: us(last[sepp].saturating_sub(used[sepp])),
        };
        Ok(SeppSample {
            first_request_us: us(arrived.saturating_duration_since(first_asked.began)),
            first_response_us: us(first_asked.ended - first_asked.began),
            registration_us: us(end.ended - first_asked.began),
            visited: cost(0),
            home: cost(1),
        })
    }

    /// Returns the present memory of both processes.
    pub(crate) fn memory(&self) -> Result<SeppMemory, LabError> {
        Ok(SeppMemory { visited: self.visited.resident()?, home: self.home.resident()? })
    }

    /// Performs all exchanges of a registration in order, and calls a closure after the first.
    fn register(
        &self,
        after_first: impl FnOnce() -> Result<(), LabError>,
    ) -> Result<Vec<AnsweredExchange>, LabError> {
        let ask = |exchange| self.consumer.ask(exchange).map_err(|why| self.explain(&why));
        let [first, others @ ..] = &LOCAL_BREAKOUT;
        let mut asked = vec![ask(first)?];
        after_first()?;
        for exchange in others {
            asked.push(ask(exchange)?);
        }
        Ok(asked)
    }

    /// Explains a failure; a link that stopped is the more likely cause.
    fn explain(&self, why: &str) -> LabError {
        LabError::Connection(match self.link.failure() {
            Some(reason) => format!("the link failed: {reason}"),
            None => why.to_owned(),
        })
    }

    /// Waits until the connection of earlier has ended at both, so that its end is not in the sample.
    fn settle(&self) -> Result<(), LabError> {
        if self.link.emulates() {
            thread::sleep(self.link.parameters().settling_time());
        }
        let mut used = self.used()?;
        let mut alike = 0;
        for _ in 0..LOOKS {
            thread::sleep(BETWEEN_LOOKS);
            let now = self.used()?;
            alike = if now == used { alike + 1 } else { 0 };
            // A single quiet reading may only mean that another process had the processor.
            if alike == QUIET_LOOKS {
                return Ok(());
            }
            used = now;
        }
        Err(LabError::Connection("a SEPP never became idle".to_owned()))
    }

    fn used(&self) -> Result<[Duration; 2], LabError> {
        Ok([self.visited.processor_time()?, self.home.processor_time()?])
    }

    /// Checks a sample: there must have been one connection, of the option.
    fn check(&mut self, before: &[Counts; 2]) -> Result<(), LabError> {
        let [visited, home] = before;
        let all = handshakes(home, &[]);
        // It counts a handshake once it is done, which may be after the answer.
        self.home.until("it counts no new connection", |sepp| {
            Ok(handshakes(&sepp.counts()?, &[]) > all)
        })?;
        let now = [self.visited.counts()?, self.home.counts()?];
        let mode = self.option.letter();
        let moved =
            |labels: &[(&str, &str)]| handshakes(&now[1], labels) - handshakes(home, labels);
        let (of_mode, of_any) = (moved(&[("mode", mode), ("result", "ok")]), moved(&[]));
        if (of_mode, of_any) != (1, 1) {
            let modes = ["a", "b", "c", "d", "e"]
                .map(|mode| format!("{mode} {}", moved(&[("mode", mode)])));
            return Err(LabError::Connection(format!(
                "one connection of mode {mode} was expected; the home SEPP counted {}",
                modes.join(", ")
            )));
        }
        let sent_early = |counts: &Counts| counts.of("sepp_early_requests_total", &[]);
        let taken_early =
            |counts: &Counts| counts.of("sepp_early_data_total", &[("result", "accepted")]);
        let sent = sent_early(&now[0]) - sent_early(visited);
        let taken = taken_early(&now[1]) - taken_early(home);
        let wanted = u64::from(self.option.is_early());
        if (sent, taken) != (wanted, wanted) {
            return Err(LabError::Connection(format!(
                "{wanted} early requests were expected; {sent} were sent early, and {taken} accepted"
            )));
        }
        Ok(())
    }
}

/// How often to try to start a pair on ports of the machine.
const TRIES_ON_LOOPBACK: usize = 3;

/// How long a pair may take until it reconnects in the right way.
const PATIENCE: Duration = Duration::from_secs(30);

/// A pair that isn't quiet by then is not measured.
const LOOKS: usize = 1_000;
/// How many looks in a row find that nothing was used.
const QUIET_LOOKS: usize = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Handshakes of peers that came.
fn handshakes(counts: &Counts, labels: &[(&str, &str)]) -> u64 {
    counts.of("sepp_tls_handshakes_total", labels)
}

/// Picks free ports at both ends: each SEPP must know the other's before both run.
fn places(link: &Link, producers: SocketAddr) -> Result<Places, LabError> {
    let addresses = link.addresses();
    let nearby = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let [sbi, visited_n32c] = free(link, End::Client, [nearby, addresses.client])?;
    let [home_n32c, home_n32f] = free(link, End::Server, [addresses.server; 2])?;
    Ok(Places { sbi, visited_n32c, home_n32c, home_n32f, producers })
}

fn free(link: &Link, end: End, hosts: [IpAddr; 2]) -> Result<[SocketAddr; 2], LabError> {
    let failed = || LabError::system("looking for free ports at one end of the link");
    let look = move || -> io::Result<[SocketAddr; 2]> {
        let bound = [TcpListener::bind((hosts[0], 0))?, TcpListener::bind((hosts[1], 0))?];
        Ok([bound[0].local_addr()?, bound[1].local_addr()?])
    };
    let looked = link.spawn_thread(end, look).map_err(failed())?.join();
    looked.unwrap_or_else(|_| Err(io::Error::other("the thread failed"))).map_err(failed())
}
