//! Both ends of a tunnel as processes, killed when the value is dropped.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use tessera_bench::usage::{processor_time, resident};
use tessera_link::{End, Link};
use tessera_test_peers::{Directory, Process, free_port};

use crate::files::Files;
use crate::setting::Setting;
use crate::ways::{Library, Programs, Tunnel, Way};
use crate::{Failure, haproxy, stunnel, tessera};

/// A tunnel from the client's end to a backend at the server's.
pub(crate) struct Proxies {
    pub(crate) way: Way,
    /// Where clients connect.
    pub(crate) address: SocketAddr,
    /// The server's end and the client's; empty without a tunnel.
    ends: Vec<RunningProxy>,
}

/// A program at one end.
struct RunningProxy {
    process: Process,
    // Removed after the process is killed.
    directory: Directory,
}

impl Proxies {
    /// Starts both ends.
    pub(crate) fn start(
        way: Way,
        link: &Link,
        backend: SocketAddr,
        files: &Files,
        programs: &Programs,
        logs_connections: bool,
    ) -> Result<Self, Failure> {
        if way.tunnel == Tunnel::None {
            return Ok(Self { way, address: backend, ends: Vec::new() });
        }
        let between = SocketAddr::from((link.addresses().server, free_port()?));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut ends = Vec::new();
        for (end, listen, connect) in
            [(End::Server, between, backend), (End::Client, address, between)]
        {
            let directory = Directory::new();
            let setting =
                Setting { way, files, listen, connect, logs_connections, directory: &directory };
            let spawn = |command| link.spawn(end, command);
            let process = match way.tunnel {
                Tunnel::None => break,
                Tunnel::Stunnel => {
                    let file = directory.write("conf", stunnel::configuration(end, &setting));
                    Process::start_by(spawn, "stunnel", [file])
                }
                Tunnel::Haproxy(library) => {
                    let text = haproxy::configuration(end, &setting, library);
                    let file = directory.write("conf", text);
                    let arguments = ["-db", "-f", &file];
                    match (library, &programs.haproxy_aws_lc) {
                        (Library::AwsLc, Some(program)) => {
                            Process::start_compiled_by(spawn, "haproxy", program, arguments)
                        }
                        _ => Process::start_by(spawn, "haproxy", arguments),
                    }
                }
                Tunnel::Tessera(ours) => {
                    let program = programs.tessera.as_ref();
                    let program = program.ok_or("--program names no tessera")?;
                    let text = tessera::configuration(end, &setting, ours);
                    let file = directory.write("conf", text);
                    Process::start_compiled_by(spawn, "tessera", program, ["tunnel", "run", &file])
                }
            };
            process.listens_on(listen.port());
            ends.push(RunningProxy { process, directory });
        }
        Ok(Self { way, address, ends })
    }

    /// Returns the processor time of both ends since they were started.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        let times = self.ends.iter().map(|end| processor_time(end.process.id()));
        Ok(times.sum::<Result<_, _>>()?)
    }

    /// Returns the resident memory of both ends, in bytes.
    pub(crate) fn resident(&self) -> Result<u64, Failure> {
        let sizes = self.ends.iter().map(|end| resident(end.process.id()));
        Ok(sizes.sum::<Result<_, _>>()?)
    }

    /// Fails unless all of this many connections, except for a few first ones, were resumed according to both ends,
    /// which must log that.
    pub(crate) fn check_resumption(&self, connections: usize) -> Result<(), Failure> {
        // HAProxy has a session per thread, and ours get as many as are used at once.
        const FIRST: usize = 8;
        for end in &self.ends {
            let resumed = match self.way.tunnel {
                Tunnel::None => continue,
                Tunnel::Stunnel => stunnel::resumed(&end.process.output()),
                Tunnel::Haproxy(_) => haproxy::resumed(&end.process.output()),
                Tunnel::Tessera(ours) => tessera::resumed(&end.directory, ours)?,
            };
            if resumed.yes + resumed.no < connections || resumed.no > FIRST {
                let name = self.way.name;
                return Err(format!("{name}: of {connections} connections {resumed:?}").into());
            }
        }
        Ok(())
    }

    /// Reloads both ends of ours, and waits until both have reloaded.
    pub(crate) fn reload(&self) -> Result<(), Failure> {
        for end in &self.ends {
            let (before, _) = tessera::reloads(&end.directory)?;
            end.process.hang_up();
            loop {
                let (done, failed) = tessera::reloads(&end.directory)?;
                if failed > 0 || !end.process.is_alive() {
                    return Err(format!("a reload failed: {}", end.process.output()).into());
                }
                if done > before {
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }
}
