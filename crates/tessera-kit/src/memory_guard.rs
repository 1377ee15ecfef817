//! Keeps the memory of a process with secrets private.

use std::fs;

use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

/// Disables core dumps, forbids other processes of the same user to trace this one or read its memory, and
/// keeps its memory out of swap. Returns a description of what failed, or `None`.
///
/// Root may still trace it (CAP_SYS_PTRACE), and a machine that hibernates writes all of its memory. To debug
/// the process, use root.
///
/// Memory is locked only if there is swap, since an allocator can't return locked pages (madvise(2)), and
/// only if there is no limit on locked memory, at which allocations would fail. Pages are locked when they
/// are touched.
#[must_use = "report the protections that are missing"]
pub fn raise() -> Option<String> {
    let no_core_dumps = setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(|error| {
        format!("core dumps of this process can't be forbidden ({error}): they hold its secrets")
    });
    let problems = [no_core_dumps, forbid_tracing(), lock()];
    let problems: Vec<_> = problems.into_iter().filter_map(Result::err).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

#[cfg(target_os = "linux")]
fn forbid_tracing() -> Result<(), String> {
    nix::sys::prctl::set_dumpable(false).map_err(|error| {
        format!(
            "other processes of this user can't be kept from reading this one's secrets ({error})"
        )
    })
}

/// Does nothing: on other systems the default applies.
#[cfg(not(target_os = "linux"))]
fn forbid_tracing() -> Result<(), String> {
    Ok(())
}

fn lock() -> Result<(), String> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let limit = getrlimit(Resource::RLIMIT_MEMLOCK).map_or(0, |(soft, _)| soft);
    match locking(&read("/proc/swaps"), &read("/proc/self/status"), limit) {
        Locking::Needless => Ok(()),
        Locking::Possible => mlockall(FLAGS).map_err(|error| in_swap(&error.to_string())),
        Locking::Limited => Err(in_swap(&format!("only {} KiB may be locked", limit / 1024))),
    }
}

fn in_swap(why: &str) -> String {
    format!(
        "secrets of this process may be written to swap, since its memory can't be locked ({why}): \
         encrypt swap or turn it off, or allow locking (ulimit -l unlimited, or CAP_IPC_LOCK)"
    )
}

/// Whether to lock the memory of this process.
#[derive(Debug, PartialEq, Eq)]
enum Locking {
    /// There is no swap.
    Needless,
    Possible,
    /// There is a limit, at which allocations would fail.
    Limited,
}

/// Decides by the kernel's list of swaps, the capabilities of this process, and the limit of locked memory in
/// bytes.
fn locking(swaps: &str, status: &str, limit: u64) -> Locking {
    // The first line is a header.
    if swaps.lines().count() < 2 {
        return Locking::Needless;
    }
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = capabilities.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    let may_lock_all = capabilities.unwrap_or_default() >> CAP_IPC_LOCK & 1 == 1;
    if limit == RLIM_INFINITY || may_lock_all { Locking::Possible } else { Locking::Limited }
}

/// The number of the capability (capabilities(7)).
const CAP_IPC_LOCK: u32 = 14;

/// Current and future mappings; each page when it is touched.
#[cfg(target_os = "linux")]
const FLAGS: MlockAllFlags = MlockAllFlags::MCL_CURRENT
    .union(MlockAllFlags::MCL_FUTURE)
    .union(MlockAllFlags::from_bits_retain(nix::libc::MCL_ONFAULT));
#[cfg(not(target_os = "linux"))]
const FLAGS: MlockAllFlags = MlockAllFlags::MCL_CURRENT.union(MlockAllFlags::MCL_FUTURE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_locked_where_there_is_swap_and_no_limit() {
        let none = "Filename\tType\tSize\tUsed\tPriority\n";
        let swap = &format!("{none}/dev/vda2 partition 1 0 -2\n");
        let (user, root) = ("Name:\tx\nCapEff:\t0000000000000000\n", "CapEff:\t0000000000004000\n");
        assert_eq!(locking(none, user, 8192), Locking::Needless);
        assert_eq!(locking("", user, 8192), Locking::Needless);
        assert_eq!(locking(swap, user, 8192), Locking::Limited);
        assert_eq!(locking(swap, "", 8192), Locking::Limited);
        assert_eq!(locking(swap, user, RLIM_INFINITY), Locking::Possible);
        assert_eq!(locking(swap, root, 8192), Locking::Possible);
    }

    /// Other tests in this process aren't affected, except that a crash leaves no core dump.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_other_process_reads_the_memory_of_a_guarded_one() {
        setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY).ok();
        let problem = raise();
        assert!(
            problem
                .is_none_or(|it| it.starts_with("secrets of this process may be written to swap"))
        );
        assert_eq!(getrlimit(Resource::RLIMIT_CORE), Ok((0, 0)));
        assert_eq!(nix::sys::prctl::get_dumpable(), Ok(false));
    }
}
