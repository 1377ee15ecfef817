//! How many files there are for connections.

use tessera_kit::open_files;

use crate::options::ServeOptions;

/// Returns how many files there are for connections. Some are reserved for other uses.
pub(super) fn files() -> usize {
    usize::try_from(open_files::raise()).unwrap_or(usize::MAX).saturating_sub(64)
}

/// Returns how many files there are for each of: connections over UDP that are forwarded, clients of DTLS 1.2, and
/// connections with a socket of their own.
pub(super) fn files_of_each(options: &ServeOptions) -> usize {
    let forwards = [options.forward, options.forward_dtls12].into_iter().flatten().count();
    files().checked_div(forwards + usize::from(options.sockets.is_some())).unwrap_or(usize::MAX)
}

/// Returns how many connections over UDP there may be for want of files: those without a socket of their own share one.
pub(super) fn files_for_datagrams(options: &ServeOptions) -> usize {
    match (options.forward, options.forward_dtls12) {
        (None, None) => usize::MAX,
        _ => files_of_each(options),
    }
}
