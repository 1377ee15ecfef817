//! Drops the process's unneeded rights by Landlock, so that an attacker who takes it over can reach only its files.

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

/// What a process may still do. Open files stay open, listeners included.
///
/// Landlock confines the calling thread and those it starts later; Linux 7.0 confines all. So enforce it before a
/// runtime's threads start; [`Enforcement::threads_outside`] counts threads that it missed. Afterwards no program can
/// be executed, not even this one, unless [`programs`](Self::programs) allows it. What the process reads about the machine (such as its control group's number of
/// processors) it must read before; the same holds for creating [`Metrics`](crate::admin::Metrics).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Files and directories that may be read. For files that may be replaced and reloaded: their directories.
    pub read: Vec<PathBuf>,
    /// Directories in which files may be created, changed and removed, and sockets created.
    pub write: Vec<PathBuf>,
    /// Whether names are resolved: allows `/etc`, what the system's libraries need for it, and TCP port 53.
    pub names: bool,
    /// The ports that may be used; all if `None`. Needs Linux 6.7.
    pub tcp: Option<TcpPorts>,
    /// Whether other processes may be signalled, as far as the process's user may.
    pub signals: bool,
    /// Whether programs may be executed, and everything read for that: they inherit the other restrictions.
    pub programs: bool,
}

/// The TCP ports that a confined process may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpPorts {
    /// Remote ports to connect to.
    pub connect: Vec<u16>,
    /// Local ports to listen on.
    pub listen: Vec<u16>,
}

/// What the kernel enforces of a [`Confinement`], with a sentence for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enforcement {
    /// Only the listed files can be reached.
    pub files: bool,
    /// TCP ports are restricted too, if the confinement lists any.
    pub tcp: bool,
    /// Other processes can't be signalled, nor reached at their abstract Unix sockets.
    pub processes: bool,
    /// Threads of this process that existed before and aren't confined.
    pub threads_outside: usize,
    /// What the kernel lacks.
    missing: Vec<&'static str>,
}

impl Confinement {
    /// Drops all other rights of this process, for good. A kernel without Landlock, or with an older version, enforces
    /// less, which the result reports.
    ///
    /// # Errors
    /// If a path doesn't exist, or a kernel that has Landlock fails. Then nothing is confined.
    pub fn enforce(&self) -> Result<Enforcement, ProgramError> {
        // Report unreadable paths before anything else.
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
        if self.programs {
            rules.push(rule(Path::new("/"), READ | AccessFs::Execute)?);
            // Where their output goes.
            rules.push(rule(Path::new("/dev/null"), READ | WRITE)?);
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
            .scope(if self.signals {
                Scope::AbstractUnixSocket.into()
            } else {
                Scope::from_all(NEWEST)
            })?;
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

    fn enforced(&self, status: &RestrictionStatus, threads: usize) -> Enforcement {
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
        Enforcement {
            files,
            tcp: asks_tcp && abi >= ABI::V4,
            processes: abi >= ABI::V6 && !self.signals,
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

/// The newest version whose rights this code knows: Linux 6.12. Later versions may restrict more, and must not be
/// requested: version 9 forbids connecting to Unix sockets, which some backends have.
const NEWEST: ABI = ABI::V6;

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

/// Devices and links are never created.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    WriteFile | Truncate | MakeReg | MakeDir | MakeSock | RemoveFile | RemoveDir | Refer
});

/// What glibc reads to resolve names, also after a change: these files are replaced, so their directory must be listed.
const NAMES: [&str; 7] =
    ["/etc", "/run/systemd/resolve", "/run/nscd", "/lib", "/lib64", "/usr/lib", "/usr/lib64"];

fn rule(path: &Path, access: BitFlags<AccessFs>) -> Result<PathBeneath<PathFd>, ProgramError> {
    let confine = |error: &dyn fmt::Display| {
        let remedy = "check that it exists, and that this user can open it";
        ProgramError::in_file(
            path,
            format_args!("no Landlock rule can be made for it: {error}; {remedy}"),
        )
    };
    let is_directory = fs::metadata(path).map_err(|error| confine(&error))?.is_dir();
    // The kernel refuses rights of directories on a file.
    let access = if is_directory { access } else { access & AccessFs::from_file(NEWEST) };
    let opened = PathFd::new(path).map_err(|error| confine(&error))?;
    Ok(PathBeneath::new(opened, access))
}

/// Returns the number of this process's threads, at least one.
fn threads() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    threads.and_then(|count| count.trim().parse().ok()).unwrap_or(1)
}

impl fmt::Display for Enforcement {
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
            1 => f.write_str("; 1 thread that started earlier is not"),
            count => write!(f, "; {count} threads that started earlier are not"),
        }
    }
}
