//! Network namespaces, and the threads that own them.
//!
//! A namespace belongs to threads, not to a process: a thread that asks for a new one is alone in it, whatever it
//! starts afterwards (threads, processes, sockets) starts inside, and the namespace ends when nothing is left in it. So
//! each namespace here is one thread that stays and runs jobs.

use std::io::{self, Write};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::{fs, process};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Uid, getegid, geteuid};

use crate::error::{LinkError, Prerequisite};
use crate::netlink;

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace, which lives until this value is dropped and no process is left in it.
#[derive(Debug)]
pub(crate) struct Namespace {
    jobs: Option<Sender<Job>>,
    owner: Option<JoinHandle<()>>,
}

impl Namespace {
    /// Makes a namespace with nothing but its own loopback interface.
    pub(crate) fn new(name: &str) -> Result<Self, LinkError> {
        let (jobs, todo) = mpsc::channel::<Job>();
        let (ready, is_ready) = mpsc::channel();
        let owner = thread::Builder::new()
            .name(format!("netns-{name}"))
            .spawn(move || {
                let made = enter_new();
                let failed = made.is_err();
                if ready.send(made).is_err() || failed {
                    return;
                }
                for job in todo {
                    job();
                }
            })
            .map_err(LinkError::system("starting a namespace's thread"))?;
        let namespace = Self { jobs: Some(jobs), owner: Some(owner) };
        is_ready.recv().unwrap_or_else(|_| Err(gone()))?;
        Ok(namespace)
    }

    /// Runs a job inside the namespace, and waits for its result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LinkError> {
        let (done, is_done) = mpsc::channel();
        let job = Box::new(move || {
            // The caller may have stopped waiting.
            let _ = done.send(job());
        });
        self.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        is_done.recv().map_err(|_| gone())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The thread ends when no more jobs can come.
        drop(self.jobs.take());
        if let Some(owner) = self.owner.take() {
            let _ = owner.join();
        }
    }
}

/// Returns the error if the owner thread has ended, which it should not before the namespace is dropped.
fn gone() -> LinkError {
    LinkError::System {
        doing: "running in a network namespace",
        source: io::Error::other("the thread that owns the namespace has ended"),
    }
}

/// Moves the calling thread into a new network namespace.
fn enter_new() -> Result<(), LinkError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| LinkError::Unavailable {
        missing: Prerequisite::NetworkNamespaces,
        source: errno.into(),
    })?;
    netlink::raise_loopback()
        .map_err(LinkError::system("enabling a namespace's loopback interface"))
}

/// Whether [`enter_user_namespace_if_needed`] did anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserNamespace {
    /// The process may make network namespaces as it is.
    NotNeeded,
    /// The process is now in a user namespace, in which it may make network namespaces.
    Entered,
}

/// Moves a process that is not root into a new user namespace, with the rights that an emulated link needs, if the
/// system lets any user do that.
///
/// The kernel refuses this to a process with more than one thread, so call it first in `main`. The process keeps its
/// user and group, and gains no rights outside of the namespace.
///
/// # Errors
///
/// [`LinkError::Unavailable`] if the system does not let this user do that, in which case nothing has changed, and only
/// a loopback link is possible.
pub fn enter_user_namespace_if_needed() -> Result<UserNamespace, LinkError> {
    if may_make_networks().map_err(LinkError::system("reading this process's capabilities"))? {
        return Ok(UserNamespace::NotNeeded);
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| LinkError::Unavailable {
        missing: Prerequisite::UserNamespaces,
        source: errno.into(),
    })?;
    // A group map is accepted only from processes that have given up changing their groups.
    write_self("setgroups", "deny")?;
    // Mapped to themselves, so that children, which need no rights, get none.
    write_self("uid_map", &format!("{user} {user} 1"))?;
    write_self("gid_map", &format!("{group} {group} 1"))?;
    debug_assert_eq!(Uid::effective(), user);
    Ok(UserNamespace::Entered)
}

/// Writes a setting of the calling process.
fn write_self(name: &str, text: &str) -> Result<(), LinkError> {
    // These files must be written in a single write, and must exist.
    fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{}/{name}", process::id()))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(LinkError::system("setting up the user namespace"))
}

/// Whether the calling thread has the rights to make and set up network namespaces.
fn may_make_networks() -> io::Result<bool> {
    const CAP_NET_ADMIN: u64 = 1 << 12;
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(effective & CAP_NET_ADMIN != 0 && effective & CAP_SYS_ADMIN != 0)
}
