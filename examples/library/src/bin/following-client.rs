//! `following-client ROOTS URL`: asks twice, where the server wants it.

use std::env::args;
use std::error::Error;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use tessera_example_library::connector;
use tessera_follow::{FollowingClient, Route};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, roots, url] = &args().collect::<Vec<_>>()[..] else {
        return Err("ROOTS URL".into());
    };
    let client = FollowingClient::<Empty<Bytes>>::new(connector(roots.as_ref())?);
    for _ in 0..2 {
        // Errors are those of hyper-util's client: `first_flight_error` finds the verdict.
        let response = client.get(url.parse()?).await?;
        let by = match response.extensions().get::<Route>() {
            Some(Route::Alternative(alternative)) => alternative.to_string(),
            _ => "the origin".into(),
        };
        let body = response.into_body().collect().await?.to_bytes();
        println!("{}, by {by}", String::from_utf8_lossy(&body));
        // Waits until the next ticket has arrived.
        sleep(Duration::from_millis(250)).await;
    }
    Ok(())
}
