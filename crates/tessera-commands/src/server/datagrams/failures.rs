//! Clients that came to nothing before they were accepted, reported to the server's owner.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tessera::Facts;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_tokio::DatagramListener;
use tokio::time::sleep;

/// Reports each, up to a number a second: anyone can cause some, and must not be able to flood the report.
pub(super) async fn report_all(
    listener: &DatagramListener,
    report: &Report,
) -> io::Result<Infallible> {
    let mut missed = 0;
    loop {
        for _ in 0..MOST {
            let failed = listener.failed().await?;
            let socket = SocketFacts {
                address: Some(failed.address),
                is_udp: true,
                error: Some(failed.error.to_string()),
                ..SocketFacts::default()
            };
            report.print(&ConnectionFacts::new(&Facts::default(), socket));
        }
        sleep(SECOND).await;
        let now = listener.missed_failures();
        if now != missed {
            report.line(&format_args!("{} more clients failed or were refused", now - missed));
            missed = now;
        }
    }
}

/// How many are reported without a pause.
const MOST: usize = 10;

const SECOND: Duration = Duration::from_secs(1);
