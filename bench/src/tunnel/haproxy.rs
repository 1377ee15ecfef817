//! HAProxy at either end.

use tessera_interop::SERVER_NAME;
use tessera_link::End;

use crate::setting::{GROUP, MOST_CONNECTIONS, ResumptionCount, SUITE, Setting};
use crate::ways::Library;

pub(crate) fn configuration(end: End, setting: &Setting<'_>, library: Library) -> String {
    let Setting { way, files, listen, connect, logs_connections, .. } = setting;
    let ca = &files.ca;
    // One line per connection, when it has ended.
    let (log, format) = match (logs_connections, end) {
        (false, _) => ("", ""),
        (true, End::Server) => (LOG, "log-format resumed=%[ssl_fc_is_resumed]"),
        (true, End::Client) => (LOG, "log-format resumed=%[ssl_bc_is_resumed]"),
    };
    let fast_open = if way.fast_open { "tfo" } else { "" };
    // Otherwise AWS-LC's client also offers a hybrid. HAProxy 2.6 lacks the key word, and OpenSSL 3.0 offers X25519 first.
    let curves = match library {
        Library::OpenSsl => String::new(),
        Library::AwsLc => format!("curves {GROUP}"),
    };
    let (bind, server) = match end {
        End::Server => (
            format!(
                "{fast_open} ssl crt {} ca-file {ca} verify required ssl-min-ver TLSv1.3 \
                 ciphersuites {SUITE} curves {GROUP}",
                files.server
            ),
            String::new(),
        ),
        End::Client => (
            String::new(),
            format!(
                "{fast_open} ssl crt {} ca-file {ca} verify required verifyhost {SERVER_NAME} \
                 sni str({SERVER_NAME}) ssl-min-ver TLSv1.3 ciphersuites {SUITE} {curves}",
                files.client
            ),
        ),
    };
    // Fast Open requires permission to reconnect (the manual, `tfo`).
    let retry = if way.fast_open { "retry-on conn-failure" } else { "" };
    format!(
        "global\n maxconn {MOST_CONNECTIONS}\n {log}\n\
         defaults\n mode tcp\n timeout connect 10s\n timeout client 1h\n timeout server 1h\n\
         frontend in\n bind {listen} {bind}\n log global\n {format}\n default_backend out\n\
         backend out\n {retry}\n server one {connect} {server}\n",
    )
}

const LOG: &str = "log stdout format raw local0";

pub(crate) fn resumed(log: &str) -> ResumptionCount {
    ResumptionCount { yes: log.matches("resumed=1").count(), no: log.matches("resumed=0").count() }
}
