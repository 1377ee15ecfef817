//! Takes from the process what it doesn't need any more, by Landlock: whoever gets into it finds its files alone.

mod needs;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, PathFd, RestrictSelfAttr, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use tessera_kit::ProgramError;

pub use self::needs::{Needs, explain};

/// What a process may still do. What is open already stays open, listeners among it.
///
/// Landlock confines the calling thread and those that it starts later; Linux 7.0 confines all. So this belongs before
/// a runtime's threads, and [`Enforced::threads_outside`] tells where it didn't. After it, nothing can be executed,
/// neither this program nor another. What the process finds out about the machine (how many processors its control
/// group has, for example) it has to find out before; so has [`Metrics`](crate::admin::Metrics), when it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Files and directories that may be read: all that is loaded again, by its directory where it may be replaced.
    pub read: Vec<PathBuf>,
    /// Directories in which files may be made, changed and removed, and sockets made.
    pub write: Vec<PathBuf>,
    /// Names are looked up: `/etc`, what the system's libraries need for it, and TCP port 53.
    pub names: bool,
    /// The ports that may be used; all where it is left out. Linux 6.7 has this.
    pub tcp: Option<TcpPorts>,
}

/// The TCP ports that a confined process may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpPorts {
    /// Others' ports, to connect to.
    pub connect: Vec<u16>,
    /// Own ports, to listen on.
    pub listen: Vec<u16>,
}

/// What the kernel does of a [`Confinement`]. It has a sentence for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enforced {
    /// Files can be reached as it says, and no others.
    pub files: bool,
    /// TCP ports too, if it says anything about them.
    pub tcp: bool,
    /// Other processes can't be sent signals, and their abstract Unix sockets can't be reached.
    pub processes: bool,
    /// Threads of this process that were there before, and aren't confined.
    pub threads_outside: usize,
    /// What the kernel lacks.
    missing: Vec<&'static str>,
}

impl Confinement {
    /// Takes everything else from this process, for good. A kernel without Landlock, or with an older one, enforces
    /// less, and the result says so.
    ///
    /// # Errors
    /// If a path isn't there, or a kernel that has Landlock refuses. Then nothing is confined.
    pub fn enforce(&self) -> Result<Enforced, ProgramError> {
        // Those that can't be opened are told before anything else.
        let mut rules = Vec::new();
        for (paths, access) in [(&self.read, READ), (&self.write, READ | WRITE)] {
            for path in paths {
                rules.push(rule(path, access)?);
            }
        }
        if self.names {
            let system = NAMES.iter().map(Path::new).filter(|path| path.exists());
            for path in system {
                rules.push(rule(path, READ)?);
            }
        }
        let threads = threads();
        let status =
            self.restrict(rules).map_err(|error| ProgramError::failed("Landlock", error))?;
        Ok(self.enforced(&status, threads))
    }

    fn restrict(&self, rules: Vec<PathBeneath<PathFd>>) -> Result<RestrictionStatus, RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?;
        if self.tcp.is_some() {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let mut created = ruleset.create()?;
        for rule in rules {
            created = created.add_rule(rule)?;
        }
        if let Some(TcpPorts { connect, listen }) = &self.tcp {
            // Long answers of name servers come over TCP (RFC 7766 §5).
            let connect = connect.iter().copied().chain(self.names.then_some(53));
            for port in connect {
                created = created.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
            }
            for &port in listen {
                created = created.add_rule(NetPort::new(port, AccessNet::BindTcp))?;
            }
        }
        created.all_threads(true)?.restrict_self()
    }

    fn enforced(&self, status: &RestrictionStatus, threads: usize) -> Enforced {
        let abi = match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi,
            _ => ABI::Unsupported,
        };
        let asks_tcp = self.tcp.is_some();
        let files = abi >= ABI::V1;
        let parts = [
            (ABI::V1, true, "files"),
            (ABI::V3, true, "truncating files"),
            (ABI::V4, asks_tcp, "TCP ports"),
            (ABI::V5, true, "commands to devices"),
            (ABI::V6, true, "signals and abstract sockets"),
        ];
        let missing = parts.into_iter().filter(|(since, asked, _)| *asked && abi < *since);
        Enforced {
            files,
            tcp: asks_tcp && abi >= ABI::V4,
            processes: abi >= ABI::V6,
            threads_outside: if !files {
                threads
            } else if status.all_threads {
                0
            } else {
                threads.saturating_sub(1)
            },
            missing: missing.map(|(_, _, what)| what).collect(),
        }
    }
}

/// The newest version whose rights are known here: Linux 6.12. A later one may forbid more, and is not asked to: version
/// 9 forbids to connect to Unix sockets, and backends have such.
const NEWEST: ABI = ABI::V6;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

/// Neither devices nor links are ever made.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    WriteFile | Truncate | MakeReg | MakeDir | MakeSock | RemoveFile | RemoveDir | Refer
});

/// What glibc reads to look up names, also after a change: it is replaced as a file, so its directory has to be here.
const NAMES: [&str; 7] =
    ["/etc", "/run/systemd/resolve", "/run/nscd", "/lib", "/lib64", "/usr/lib", "/usr/lib64"];

fn rule(path: &Path, access: BitFlags<AccessFs>) -> Result<PathBeneath<PathFd>, ProgramError> {
    let confine = |error: &dyn fmt::Display| {
        ProgramError::in_file(path, format_args!("the process can't be confined to it: {error}"))
    };
    let is_directory = fs::metadata(path).map_err(|error| confine(&error))?.is_dir();
    // Rights that only directories have would be refused on a file.
    let access = if is_directory { access } else { access & AccessFs::from_file(NEWEST) };
    let opened = PathFd::new(path).map_err(|error| confine(&error))?;
    Ok(PathBeneath::new(opened, access))
}

/// The threads of this process, one at least.
fn threads() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    threads.and_then(|count| count.trim().parse().ok()).unwrap_or(1)
}

impl fmt::Display for Enforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.files {
            return f.write_str(
                "this process is not confined: the kernel has no Landlock, or it is off",
            );
        }
        f.write_str("this process is confined")?;
        if !self.missing.is_empty() {
            write!(f, ", but not in {}: the kernel is too old", self.missing.join(", "))?;
        }
        match self.threads_outside {
            0 => Ok(()),
            1 => f.write_str("; 1 thread that was there before is not"),
            count => write!(f, "; {count} threads that were there before are not"),
        }
    }
}
