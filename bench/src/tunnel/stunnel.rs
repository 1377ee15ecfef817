//! stunnel at either end.

use tessera_interop::{CLIENT_NAME, SERVER_NAME};
use tessera_link::End;

use crate::setting::{GROUP, ResumptionCount, SUITE, Setting};

pub(crate) fn configuration(end: End, setting: &Setting<'_>) -> String {
    let Setting { files, listen, connect, logs_connections, .. } = setting;
    // At `info` it logs whether each connection's session was resumed, among much else.
    let level = if *logs_connections { "info" } else { "err" };
    let (of_end, certificate) = match end {
        End::Server => (format!("client = no\ncheckHost = {CLIENT_NAME}"), &files.server),
        End::Client => {
            (format!("client = yes\ncheckHost = {SERVER_NAME}\nsni = {SERVER_NAME}"), &files.client)
        }
    };
    format!(
        "foreground = yes\npid =\ndebug = {level}\nsyslog = no\n\
         [tunnel]\n{of_end}\naccept = {listen}\nconnect = {connect}\ncert = {certificate}\n\
         CAfile = {ca}\nverifyChain = yes\nsslVersion = TLSv1.3\nciphersuites = {SUITE}\n\
         curves = {GROUP}\nsessionCacheSize = 20000\nsessionCacheTimeout = 3600\n",
        ca = files.ca,
    )
}

pub(crate) fn resumed(log: &str) -> ResumptionCount {
    ResumptionCount {
        yes: log.matches("previous session reused").count(),
        no: log.matches("new session negotiated").count(),
    }
}
