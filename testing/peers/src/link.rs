//! Emulated links, which some machines forbid.

use std::process::Output;

use nix::unistd::geteuid;

/// Whether a program had its emulated link. `false`, with a line on standard error, only if the link failed and the
/// machine may forbid it: root is never forbidden, so then a failure is the test's.
#[track_caller]
pub fn has_link(output: &Output) -> bool {
    if output.status.success() {
        return true;
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(!geteuid().is_root(), "no link although root: {reason}");
    assert!(reason.contains("namespace") || reason.contains("TUN"), "{reason}");
    eprintln!("not run, this machine allows no emulated link: {reason}");
    false
}
