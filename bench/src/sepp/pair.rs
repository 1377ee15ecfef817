//! Two proxies as processes, with N32-f between them, killed when the value is dropped.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tessera_bench::usage::{processor_time, resident};
use tessera_test_peers::{Directory, Network, Process, free_port};

use crate::files::Files;
use crate::options::Options;
use crate::setting::{End, Setting, Way};
use crate::{Failure, envoy, nghttpx, sepp};

const SEPP_FILE: &str = "sepp.toml";

/// Both ends.
pub(crate) struct Pair {
    pub(crate) way: Way,
    /// The address for network functions.
    pub(crate) sbi: SocketAddr,
    /// The second one's address for N32-f.
    pub(crate) n32f: SocketAddr,
    /// What else the second one listens on.
    pub(crate) at_home: SocketAddr,
    visited: Process,
    home: Process,
    /// Of the visited end and the home end; removed after the processes are killed.
    directories: [Directory; 2],
}

impl Pair {
    pub(crate) fn start(
        way: Way,
        options: &Options,
        files: &Files,
        network_function: SocketAddr,
    ) -> Result<Self, Failure> {
        let (sbi, n32f) = (local(free_port()?), local(free_port()?));
        let others = [local(free_port()?), local(free_port()?)];
        let directories = [Directory::new(), Directory::new()];
        let start = |end, listen, directory| {
            let setting =
                Setting { way, end, files, listen, n32f, others, network_function, directory };
            let process = launch(&setting, options)?;
            process.listens_on(listen.port());
            Ok::<_, Failure>(process)
        };
        // The home end runs before the other one connects.
        let home = start(End::Home, n32f, &directories[1])?;
        let visited = start(End::Visited, sbi, &directories[0])?;
        Ok(Self { way, sbi, n32f, at_home: others[1], visited, home, directories })
    }

    /// Returns the processor time of both ends since they were started.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        Ok(processor_time(self.visited.id())? + processor_time(self.home.id())?)
    }

    /// Returns the processor time of the home end since it was started.
    pub(crate) fn processor_time_at_home(&self) -> Result<Duration, Failure> {
        Ok(processor_time(self.home.id())?)
    }

    /// Returns the resident memory of the home end, in bytes.
    pub(crate) fn resident_at_home(&self) -> Result<u64, Failure> {
        Ok(resident(self.home.id())?)
    }

    /// Returns the configurations of both ends of ours.
    pub(crate) fn configurations(&self) -> Result<[String; 2], Failure> {
        let [visited, home] = &self.directories;
        let read = |directory: &Directory| fs::read_to_string(directory.path(SEPP_FILE));
        Ok([read(visited)?, read(home)?])
    }

    /// Returns the output of both, to explain a failure.
    pub(crate) fn output(&self) -> String {
        format!("visited: {}\nhome: {}", self.visited.output(), self.home.output())
    }
}

fn launch(setting: &Setting<'_>, options: &Options) -> Result<Process, Failure> {
    let directory = setting.directory;
    let compiled = |name, path: &str, arguments: Vec<String>| {
        Process::start_compiled(name, path, Network::Loopback, arguments)
    };
    Ok(match setting.way {
        Way::Envoy => {
            let program = options.envoy.as_deref().ok_or("--envoy names no program")?;
            let file = directory.write("envoy.json", envoy::configuration(setting));
            compiled("envoy", program, envoy::arguments(&file).into())
        }
        Way::Nghttpx => Process::start("nghttpx", Network::Loopback, nghttpx::arguments(setting)),
        Way::Sepp | Way::SeppOfMany | Way::SeppThatEnds { .. } => {
            let program = options.program.as_deref().ok_or("--program names no tessera")?;
            let file = directory.write(SEPP_FILE, sepp::configuration(setting));
            compiled("tessera", program, ["sepp", "run", &file].map(str::to_owned).into())
        }
    })
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
