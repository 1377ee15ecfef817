//! `hyper-client ROOTS URL`: asks twice, in two connections.

use std::env::args;
use std::error::Error;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tessera_example_library::connector;
use tessera_tokio::hyper::{HttpsConnector, first_flight_error};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, roots, url] = &args().collect::<Vec<_>>()[..] else {
        return Err("ROOTS URL".into());
    };
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(HttpsConnector::new(connector(roots.as_ref())?));
    for _ in 0..2 {
        match client.get(url.parse()?).await {
            Ok(response) => {
                let body = response.into_body().collect().await?.to_bytes();
                println!("{}", String::from_utf8_lossy(&body));
            }
            Err(error) => match first_flight_error(&error) {
                // The request may have been executed: the caller decides whether to repeat it.
                // `flight()` returns the flight's name, by which a client can ask for a receipt.
                Some(flight) => return Err(format!("{flight}: {:?}", flight.flight()).into()),
                None => return Err(error.into()),
            },
        }
        // Waits until the connection has ended and its ticket has arrived.
        sleep(2 * IDLE).await;
    }
    Ok(())
}

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_millis(250);
